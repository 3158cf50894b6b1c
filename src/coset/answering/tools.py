"""The agent's tools: run SQL, work out an expression, recover evidence, ask the person.

In: a tool call. Out: an `Outcome`: a short text for the model, and what the audit keeps. A tool that fails says in one
sentence what to do. Every value out of a database stands in a data block. No tool writes, reaches a file or a network,
or runs code; `answer` is the agent's own affair and not handled here.
"""

from __future__ import annotations

import difflib
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from coset.answering.answer import Proposal
from coset.answering.checks import CheckResult
from coset.answering.model_client import Call, Tool, schema_of
from coset.answering.prompt import RE2, TOOLS
from coset.answering.quoting import data_block, grid, name, one_line
from coset.answering.results import NamedResult, NamedResults
from coset.errors import CosetError, NotAllowed, SourceUnreachable
from coset.session.query_session import QuerySession
from coset.session.result import Result

SHOWN_LETTERS = 2_500
SHOWN_ROWS = 20
LETTERS_A_TOKEN = 6
LONGEST_ERROR = 400
LONGEST_HINT = 800
_LOOKAROUND = re.compile(r"\(\?<?[!=]")


class Recover(Protocol):
    """Evidence for a reference, or for words to search by. Raises a `CosetError` that says what to do."""

    def __call__(self, what: str, budget: int = ...) -> str: ...


AskUser = Callable[[str, tuple[str, ...]], str]
"""A question to the person, with the answers to choose from where there are some."""

Remarks = Callable[[NamedResult], Sequence[CheckResult]]
"""What may be wrong with a result that has just come."""


class Arguments(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class SqlArguments(Arguments):
    query: str


class CalcArguments(Arguments):
    expression: str


class RecoverArguments(Arguments):
    what: Annotated[str, Field(description="a name, or words")]
    budget: Annotated[int, Field(description="tokens", ge=100, le=4_000)] = 1_000


class AskArguments(Arguments):
    question: str


@dataclass(frozen=True)
class Outcome:
    """What a tool gave."""

    text: str
    failed: bool = False
    kept: Mapping[str, Any] = field(default_factory=dict)
    """For the audit: rows, seconds, the statement as it ran."""


Handler = Callable[[Any], Awaitable[Outcome]]


@dataclass(frozen=True)
class ToolOffer:
    """A tool with the form of its arguments and what carries it out."""

    arguments: type[BaseModel]
    handler: Handler


class Toolbox:
    """The tools of one question. `more` are offers of other parts: text operations."""

    def __init__(
        self,
        session: QuerySession,
        results: NamedResults,
        recover: Recover,
        ask_user: AskUser | None = None,
        more: Mapping[str, ToolOffer] | None = None,
        words: Mapping[str, str] = TOOLS,
    ) -> None:
        """`words` describe the tools to the model."""
        self._words = words
        self.session = session
        self.results = results
        self.recover = recover
        self._ask_user = ask_user
        self.remarks: Remarks | None = None
        self.left_out: frozenset[str] = frozenset()
        """Tools that this question has no use for, and need not be told of."""
        self.computed: list[Any] = []
        """What the calculator gave, in order."""
        self.offers: dict[str, ToolOffer] = {
            "sql": ToolOffer(SqlArguments, self._sql),
            "calc": ToolOffer(CalcArguments, self._calc),
            "recover": ToolOffer(RecoverArguments, self._recovered),
            **(more or {}),
        }
        if ask_user is not None:
            self.offers["ask_user"] = ToolOffer(AskArguments, self._asked)

    @property
    def tools(self) -> list[Tool]:
        """In an order that never changes, `answer` last."""
        offered = [
            Tool(name, self._words[name], schema_of(offer.arguments))
            for name, offer in self.offers.items()
            if name not in self.left_out
        ]
        return [*offered, Tool("answer", self._words["answer"], schema_of(Proposal))]

    async def run(self, call: Call) -> Outcome:
        """Carry out a call. Never raises for what a model did wrong."""
        offer = self.offers.get(call.name)
        if offer is None:
            return Outcome(
                f"There is no tool '{one_line(call.name, 40)}'. Use: {', '.join(self.offers)}, answer.", True
            )
        if call.arguments is None:
            return Outcome("The arguments are not a JSON object: send them again, shorter if they were cut off.", True)
        started = time.monotonic()
        try:
            outcome = await offer.handler(offer.arguments.model_validate(call.arguments))
        except ValidationError as error:
            wrong = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()[:3])
            return Outcome(f"Wrong arguments: {one_line(wrong, LONGEST_ERROR)}", True)
        except CosetError as error:
            outcome = Outcome(told(error), True, {"error": type(error).__name__})
        return Outcome(outcome.text, outcome.failed, {**outcome.kept, "seconds": round(time.monotonic() - started, 3)})

    def run_sql(self, query: str) -> NamedResult:
        """Run a statement, give its result a name. Raises a `CosetError`."""
        whole = self.results.whole(query)
        return self.results.add(query, whole, self.session.sql(whole))

    async def _sql(self, arguments: SqlArguments) -> Outcome:
        whole = self.results.whole(arguments.query)
        if before := self.results.ran(whole):
            return Outcome(f"This ran before: its rows are {before.name}. Do something else, or answer.", True)
        try:
            named = self.run_sql(arguments.query)
        except CosetError as error:
            text = self.told_error(error, arguments.query)
            return Outcome(text, True, {"sql": whole, "error": type(error).__name__})
        return Outcome(self.told_result(named)[0], False, _kept(named))

    def told_error(self, error: CosetError, query: str) -> str:
        """Why a statement did not run, and what to do about it where that is known."""
        whole = self.results.whole(query)
        hint = RE2 if _LOOKAROUND.search(whole) else column_hint(self.session, whole, str(error))
        return f"{told(error)} {one_line(hint, LONGEST_HINT)}".strip()

    def told_result(self, named: NamedResult) -> tuple[str, Sequence[CheckResult]]:
        """A result for the model with what the checks remark of it, if there is something that checks; the remarks."""
        remarks = self.remarks(named) if self.remarks and named.result is not None else ()
        lines = "\n".join(one_line(f"{each.name}, {each.outcome}: {each.detail}", 240) for each in remarks)
        return (f"{shown(named)}\n{data_block('checks', lines)}" if lines else shown(named)), remarks

    async def _calc(self, arguments: CalcArguments) -> Outcome:
        from coset.session.calculator import calculate, format_value

        value = calculate(arguments.expression)
        self.computed.append(value)
        return Outcome(one_line(format_value(value), 2_000))

    async def _recovered(self, arguments: RecoverArguments) -> Outcome:
        text, longest = self.recover(arguments.what, arguments.budget), LETTERS_A_TOKEN * arguments.budget
        cut = text if len(text) <= longest else text[:longest] + "\n… (truncated: name one part)"
        return Outcome(data_block("evidence", cut))

    async def _asked(self, arguments: AskArguments) -> Outcome:
        if self._ask_user is None:
            return Outcome("Nobody can be asked: answer the likelier reading and list the others.", True)
        return Outcome(f"The person says: {one_line(self._ask_user(arguments.question, ()), 1_000)}")


def told(error: CosetError) -> str:
    """An error for the model: what kind it is, told apart from an empty result, and the sentence itself."""
    kind = ""  # That it is an error is told with it.
    if isinstance(error, NotAllowed):
        kind = "not allowed: "
    elif isinstance(error, SourceUnreachable):
        kind = "not reachable: "
    return f"{kind}{one_line(str(error), LONGEST_ERROR)}"


def shown(named: NamedResult) -> str:
    """A result for the model: how large it is, its first rows, and whether that is all."""
    result = named.result
    if result is None:
        return f"{named.name}: known by its statement"
    count, columns = size(result), len(result.columns)
    if result.table.num_rows == 0:
        return f"{named.name}: 0 rows; the statement ran and found nothing. Columns: {', '.join(result.columns)[:400]}"
    text, rows = grid(result.columns, result.types, result.rows()[:SHOWN_ROWS], SHOWN_LETTERS)
    head = f"{named.name}: {count} x {columns}"
    if rows < result.table.num_rows or result.truncated:
        head += f"; truncated: the first {rows} shown, all are in {named.name}"
    return f"{head}\n{data_block(named.name, text)}"


def size(result: Result) -> str:
    count = result.table.num_rows
    return f"{'more than ' if result.truncated else ''}{count:,} {'row' if count == 1 else 'rows'}"


def _kept(named: NamedResult) -> dict[str, Any]:
    result = named.result
    if result is None:
        return {"name": named.name, "sql": named.whole}
    return {
        "name": named.name, "sql": named.whole, "rows": result.table.num_rows, "bytes": result.table.nbytes,
        "truncated": result.truncated, "tables": [use.table for use in result.uses],
    }  # fmt: skip


_MISSING = re.compile(r'(?:Referenced column|column named) "([^"]+)"', re.IGNORECASE)
MOST_COLUMNS = 25


def column_hint(session: QuerySession, sql: str, error: str) -> str:
    """` crm.customers has customer_id, name, ...`, the nearest names first; empty where the error is another one."""
    missing = _MISSING.search(error)
    if missing is None:
        return ""
    import sqlglot
    from sqlglot import errors, exp

    try:
        tables = list(sqlglot.parse_one(sql, dialect="duckdb").find_all(exp.Table))
    except (errors.SqlglotError, RecursionError):
        return ""
    told = []
    for parts in dict.fromkeys(tuple(part.name.lower() for part in table.parts) for table in tables):
        try:
            _, table = session.catalogue.find(parts)
        except CosetError:
            continue  # A common table expression, or a named result.
        columns = [column.name for column in table.columns]
        nearest = difflib.get_close_matches(missing[1], columns, n=3, cutoff=0.4)
        ordered = [*nearest, *(column for column in columns if column not in nearest)]
        more = f" and {len(ordered) - MOST_COLUMNS} more" if len(ordered) > MOST_COLUMNS else ""
        told.append(f"{'.'.join(parts)} has {', '.join(map(name, ordered[:MOST_COLUMNS]))}{more}")
    return f" {'; '.join(told)}." if told else ""
