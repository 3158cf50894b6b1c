"""The tools: what each is called, what an agent is told of it, and what carries it out.

In: an open environment and checked arguments. Out: an output model. Every word of a description is sent to every agent
with every conversation: a test counts them. A tool that fails raises a `CosetError`; `server` knows how that is told.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from coset.answering.quoting import one_line
from coset.api.environment import Environment
from coset.errors import UserError
from coset.people import Right
from coset.surfaces.mcp import messages
from coset.use_cases.ask import has_model
from coset.use_cases.cancellation import Report
from coset.use_cases.evidence import recover_or_search
from coset.use_cases.relations import known_entities

Run = Callable[[Environment, Any, Report], Awaitable[messages.Output]]
MOST_CHANGES = 50
WORST_FIRST = ("failed", "doubt", "passed")


@dataclass(frozen=True)
class Tool:
    """One tool. `reads_only` is False for the one that keeps what it is told."""

    name: str
    description: str
    arguments: type[BaseModel]
    output: type[messages.Output]
    run: Run
    reads_only: bool = True
    right: Right = "look"
    """What a person needs to use it."""


async def view(environment: Environment, asked: messages.ViewArguments, report: Report) -> messages.Output:
    found = await _quick(environment, lambda: environment.view(asked.question, asked.budget))
    return messages.ViewOutput(text=found.text, matched=found.matched, cost=found.cost)


async def sql(environment: Environment, asked: messages.SqlArguments, report: Report) -> messages.Output:
    result = await environment.sql_async(asked.query, max_rows=asked.rows, report=report)
    rows, cut = messages.bounded_rows(result.rows)
    return messages.SqlOutput(
        columns=list(result.columns), types=list(result.types), rows=rows, truncated=result.truncated or cut
    )


async def calc(environment: Environment, asked: messages.CalcArguments, report: Report) -> messages.Output:
    from coset.session.calculator import calculate, format_value

    value = await _quick(environment, lambda: format_value(calculate(asked.expression)))
    return messages.CalcOutput(value=value[: messages.LETTERS])


async def recover(environment: Environment, asked: messages.RecoverArguments, report: Report) -> messages.Output:
    known = await _quick(environment, lambda: recover_or_search(environment.workspace, asked.what, asked.budget))
    return messages.RecoverOutput(text=known.text, left_out=known.left_out)


async def relations(environment: Environment, asked: messages.RelationsArguments, report: Report) -> messages.Output:
    rows = await _quick(environment, lambda: environment.relations(asked.about or None, least=asked.least))
    names = list(messages.JoinOutput.model_fields)
    joins = [messages.JoinOutput(**{name: row[name] for name in names}) for row in rows.dictionaries()[: asked.most]]
    return messages.RelationsOutput(joins=joins, total=len(rows))


async def teach(environment: Environment, asked: messages.TeachArguments, report: Report) -> messages.Output:
    if asked.revoke:
        number = asked.revoke
        done = await _quick(environment, lambda: environment.revoke(number))
        kept = []
    else:
        if not asked.reference or not asked.role:
            raise UserError("give `reference` and `role`, or `revoke` with the number of a statement")
        done = await _quick(
            environment, lambda: environment.teach(asked.reference, asked.role, negative=asked.negative)
        )
        kept = [statement.number for statement in done.statements]
    told = environment.workspace.names().told
    changes = [f"{told(change.reference)}: {change.before} -> {change.after}" for change in done.changes]
    more = len(changes) - MOST_CHANGES
    return messages.TeachOutput(
        statements=kept, changes=[*changes[:MOST_CHANGES], *([f"and {more} more"] if more > 0 else [])]
    )


async def open_tables(environment: Environment, asked: messages.OpenArguments, report: Report) -> messages.Output:
    found = await _quick(environment, lambda: environment.open_tables(asked.tables))
    return messages.TextOutput(text=found.details)


async def sources(environment: Environment, asked: messages.SourcesArguments, report: Report) -> messages.Output:
    rows = await _quick(environment, lambda: environment.sources().dictionaries())
    described = environment.configuration.sources
    lines = []
    for row in rows:
        description = described[row["source"]].description if row["source"] in described else None
        parts = (
            f"{row['source']} ({row['kind']}): {row['tables']} tables",
            "schema only" if row["schema_only"] else "",
            one_line(description or "", 300),
            f"PROBLEM: {row['problem']}" if row["problem"] else "",
        )
        lines.append("; ".join(part for part in parts if part))
    entities = await _quick(environment, lambda: known_entities(environment.workspace))
    told = environment.workspace.names().told
    lines += [
        f"linked.{each.entity}(cluster, source, table_name, key, evidence, flags): one cluster is one thing, "
        f"{each.clusters:,} in {', '.join(map(told, each.tables))}"
        for each in entities
    ]
    return messages.SourcesOutput(sources=lines)


async def correct(environment: Environment, asked: messages.CorrectArguments, report: Report) -> messages.Output:
    from coset.environment.corrections import Copy, Correction, Join, Reading

    entries: list[Correction] = []
    if asked.reading:
        entries.append(
            Reading(reference=asked.about, name=asked.reading, meaning=asked.meaning or None, reader="agent")
        )
    if asked.join_with:
        entries += [Join(left=(asked.about,), right=(other,), rejected=asked.reject) for other in asked.join_with]
    if asked.copy_of or (asked.reject and not asked.join_with):
        entries.append(Copy(table=asked.about, original=asked.copy_of or None, rejected=asked.reject))
    if not entries and not asked.note:
        raise UserError("give `note`, `reading`, `join_with` or `copy_of`")

    def work() -> None:
        environment.declare(*entries)
        if asked.note:
            environment.note(asked.about, asked.note)

    await _quick(environment, work)
    kept = len(entries) + bool(asked.note)
    return messages.TextOutput(
        text=f"{kept} kept in coset.corrections.yaml; joins and copies hold after `coset comprehend`"
    )


async def read(environment: Environment, asked: messages.ReadArguments, report: Report) -> messages.Output:
    kept = ""
    if asked.page:
        reply = await _quick(environment, lambda: environment.hand_in_page(asked.page, asked.lines))
        problems = "".join(f"; {one_line(each, 200)}" for each in reply.problems[:5])
        kept = f"{len(reply.readings)} readings kept{problems}\n"
    page = await _quick(environment, environment.next_page)
    if page is None:
        return messages.ReadOutput(text=f"{kept}every table is read", page="", left=0)
    return messages.ReadOutput(text=f"{kept}{page.text}", page=page.key, left=page.pages_left)


async def answer_check(environment: Environment, asked: messages.CheckArguments, report: Report) -> messages.Output:
    from coset.answering.checks import PinnedShape, verdict

    shape = None
    if asked.form != "table" or asked.grain or asked.rows or asked.unit:
        shape = PinnedShape(form=asked.form, rows=asked.rows or None, grain=asked.grain, unit=asked.unit)
    checks = await environment.check_async(asked.sql, asked.answer, shape, report=report)
    told = [check for check in checks if check.outcome != "not applicable"]
    told.sort(key=lambda check: WORST_FIRST.index(check.outcome))
    return messages.CheckOutput(
        verdict=verdict(checks), checks=[f"{check.outcome}: {check.name}: {check.detail}" for check in told]
    )


async def ask(environment: Environment, asked: messages.AskArguments, report: Report) -> messages.Output:
    answer = await environment.ask_async(asked.question, report=report)
    rows, cut = messages.bounded_rows(answer.rows) if not answer.text or answer.stopped else ([], False)
    instead = "; use `view` and `sql`" if answer.is_declined else ""
    return messages.AskOutput(
        answer=f"no answer: {answer.stopped}{instead}" if answer.stopped else answer.text,
        columns=list(answer.columns) if rows else [],
        rows=rows,
        truncated=bool(rows) and (answer.truncated or cut),
        sql=[] if answer.is_declined else list(answer.sql),
        assumptions=[*answer.assumptions, *answer.reading, *answer.doubts],
        confidence=0.0 if answer.is_declined else answer.confidence,
        mode=answer.mode,
        run=answer.run,
    )


async def _quick(environment: Environment, work: Callable[[], Any]) -> Any:
    """A call that is over in a moment, in a thread, so that other clients are served meanwhile."""

    return await environment.run_in_thread(lambda call: work())


TOOLS = (
    Tool(
        "view",
        "START HERE. The evidence for a question: the tables, columns, values, cleaning expressions and tested joins "
        "that answer it, as SQL that runs in `sql` as written. Ask once per question.",
        messages.ViewArguments,
        messages.ViewOutput,
        view,
    ),
    Tool(
        "sql",
        "Run one read-only SELECT (DuckDB SQL) across all sources; tables are source.table. No rows is a finding; "
        "`not allowed` is not.",
        messages.SqlArguments,
        messages.SqlOutput,
        sql,
    ),
    Tool(
        "calc",
        "Work out an expression exactly: arithmetic, statistics, dates, sets. Example: round(100 * 7 / 30, 2)",
        messages.CalcArguments,
        messages.CalcOutput,
        calc,
    ),
    Tool(
        "recover",
        "What a view left out: all about one reference, or a search of names, stored values and documents.",
        messages.RecoverArguments,
        messages.RecoverOutput,
        recover,
    ),
    Tool(
        "open",
        "All columns, values and joins of tables that the view's directory names.",
        messages.OpenArguments,
        messages.TextOutput,
        open_tables,
    ),
    Tool("sources", "The databases and folders there are.", messages.SourcesArguments, messages.SourcesOutput, sources),
    Tool(
        "relations",
        "The joins that were found and tested, the surest first, as ON conditions.",
        messages.RelationsArguments,
        messages.RelationsOutput,
        relations,
    ),
    Tool(
        "teach",
        "Correct which role a table or column plays. Only when the user says so, never because data says so.",
        messages.TeachArguments,
        messages.TeachOutput,
        teach,
        reads_only=False,
        right="correct",
    ),
    Tool(
        "correct",
        "Keep what the user, never the data, says of a table or column: a note, what it is, joins or copies.",
        messages.CorrectArguments,
        messages.TextOutput,
        correct,
        reads_only=False,
        right="correct",
    ),
    Tool(
        "read",
        "Where the user wants cryptic names read by you: gives a page of tables; send its key and your lines.",
        messages.ReadArguments,
        messages.ReadOutput,
        read,
        reads_only=False,
        right="correct",
    ),
    Tool(
        "answer_check",
        "Check an answer and its SQL by counting, before giving it: rows lost or multiplied by joins, uncleaned "
        "values, duplicates, nulls, units, shape. Mend what failed.",
        messages.CheckArguments,
        messages.CheckOutput,
        answer_check,
    ),
    Tool(
        "ask",
        "Let coset answer a question itself, with the SQL behind it; it says when it is not sure.",
        messages.AskArguments,
        messages.AskOutput,
        ask,
        right="ask",
    ),
)


def offered(environment: Environment, *, read_only: bool) -> dict[str, Tool]:
    """The tools of this environment by name: nothing that keeps anything where only reading is allowed. Raises
    `UserError` for a model that is configured wrongly."""
    from coset.answering.models.choices import choose_models

    if has_model(environment.configuration):
        choose_models(None, configured=environment.configuration.models)
    return {tool.name: tool for tool in TOOLS if tool.reads_only or not read_only}
