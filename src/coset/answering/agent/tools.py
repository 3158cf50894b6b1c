"""The agent's tools: run SQL, work out an expression, recover evidence, ask the person.

In: a tool call. Out: an `Outcome`: a short text for the model, and what the audit keeps. A tool that fails says in one
sentence what to do. Every value out of a database stands in a data block. No tool writes, reaches a file or a network,
or runs code; `answer` is the agent's own affair and not handled here.
"""

from __future__ import annotations

import difflib
import re
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from coset.answering.agent.results import NamedResult, NamedResults
from coset.answering.answer import Proposal
from coset.answering.arbiter.records import References
from coset.answering.checks import CheckResult
from coset.answering.evidence.recover import RECOVERED, recover_all
from coset.answering.models.client import Call, Tool, schema_of
from coset.answering.prompt import RE2, TOOLS
from coset.answering.quoting import data_block, grid, name, one_line
from coset.errors import CosetError, NotAllowed, SourceUnreachable
from coset.session.query_session import QuerySession
from coset.session.result import Result

SHOWN_LETTERS = 6_000
"""About 1,500 tokens of a result: smaller ones are shown whole."""
SAMPLE_LETTERS = 2_500
COUNT_SECONDS = 5.0
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
    what: Annotated[References, Field(description="names, or words; several at once")]
    budget: Annotated[int, Field(description="tokens in all", ge=100, le=12_000)] = RECOVERED


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


class Statements:
    """Statements of one question, run over all sources; each result keeps a name."""

    def __init__(self, session: QuerySession, results: NamedResults) -> None:
        self.session, self.results = session, results

    def run(self, query: str) -> NamedResult:
        """Run a statement, or take the result it gave before. Raises a `CosetError`."""
        whole = self.results.whole(query)
        return self.results.ran(whole) or self.results.add(query, whole, self.session.sql(whole))

    def why_not(self, query: str) -> str | None:
        """Why a statement does not run, in words for who wrote it. One that runs has its result kept."""
        try:
            self.run(query)
        except CosetError as error:
            return self.told_error(error, query)
        return None

    def told_error(self, error: CosetError, query: str) -> str:
        """Why a statement did not run, and what to do about it where that is known."""
        whole = self.results.whole(query)
        hint = RE2 if _LOOKAROUND.search(whole) else column_hint(self.session, whole, str(error))
        return f"{told(error)} {one_line(hint, LONGEST_HINT)}".strip()

    def shown(self, named: NamedResult) -> str:
        """A result for the model. Of one that was cut off the rows are counted, where that is cheap."""
        count: int | None = None
        if named.result is not None and named.result.truncated:
            try:
                counted = self.session.sql(f"SELECT count(*) FROM (\n{named.whole}\n)", seconds=COUNT_SECONDS)
                count = int(counted.rows()[0][0])
            except CosetError:
                count = None
        return shown(named, count)

    def cut(self, name: str, columns: Sequence[str], order: Sequence[str], limit: int | None) -> NamedResult:
        """A result with only these columns, in this order, and so many rows. Raises a `CosetError`."""
        if not order and limit is None:
            return self.results.narrowed(name, columns)
        return self.run(self.results.cut_statement(name, columns, order, limit))


class Toolbox:
    """The tools of one question."""

    def __init__(
        self,
        statements: Statements,
        recover: Recover,
        ask_user: AskUser | None = None,
        more: Mapping[str, ToolOffer] | None = None,
        words: Mapping[str, str] = TOOLS,
        remarks: Remarks | None = None,
        computed: list[Any] | None = None,
        left_out: Collection[str] = (),
    ) -> None:
        """`more` are offers of other parts: text operations. `words` describe the tools to the model. What the
        calculator gives is added to `computed`. Tools in `left_out` are of no use for this question and not told of."""
        self.statements, self.results, self.session = statements, statements.results, statements.session
        self.recover = recover
        self.computed = computed if computed is not None else []
        self._words, self._ask_user, self._remarks, self._left_out = words, ask_user, remarks, frozenset(left_out)
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
            if name not in self._left_out
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

    async def _sql(self, arguments: SqlArguments) -> Outcome:
        whole = self.results.whole(arguments.query)
        if before := self.results.ran(whole):
            return Outcome(f"This ran before: its rows are {before.name}. Do something else, or answer.", True)
        try:
            named = self.statements.run(arguments.query)
        except CosetError as error:
            text = self.statements.told_error(error, arguments.query)
            return Outcome(text, True, {"sql": whole, "error": type(error).__name__})
        return Outcome(self._told(named), False, _kept(named))

    def _told(self, named: NamedResult) -> str:
        """A result for the model with what the checks remark of it."""
        remarks = self._remarks(named) if self._remarks and named.result is not None else ()
        lines = "\n".join(one_line(f"{each.name}, {each.outcome}: {each.detail}", 300) for each in remarks)
        text = self.statements.shown(named)
        return f"{text}\n{data_block('checks', lines)}" if lines else text

    async def _calc(self, arguments: CalcArguments) -> Outcome:
        from coset.session.calculator import calculate, format_value

        value = calculate(arguments.expression)
        self.computed.append(value)
        return Outcome(one_line(format_value(value), 2_000))

    async def _recovered(self, arguments: RecoverArguments) -> Outcome:
        if len(arguments.what) > 1:
            text = "\n".join(each for _, each in recover_all(self.recover, arguments.what, arguments.budget))
        else:
            text = self.recover("".join(arguments.what), arguments.budget)
        longest = LETTERS_A_TOKEN * arguments.budget
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


def shown(named: NamedResult, count: int | None = None) -> str:
    """A result for the model: how large it is, its rows as far as they fit, and whether that is all. `count` is "
    "how many
    rows there are where the result was cut off."""
    result = named.result
    if result is None:
        return f"{named.name}: known by its statement"
    rows_there, columns = size(result) if count is None else f"{count:,} rows", len(result.columns)
    if result.table.num_rows == 0:
        return f"{named.name}: 0 rows; the statement ran and found nothing. Columns: {', '.join(result.columns)[:400]}"
    text, rows = grid(result.columns, result.types, result.rows(), SHOWN_LETTERS)
    if rows < result.table.num_rows:  # What does not fit whole is a sample, and a sample need not be large.
        text, rows = grid(result.columns, result.types, result.rows()[:rows], SAMPLE_LETTERS)
    head = f"{named.name}: {rows_there} x {columns}"
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
