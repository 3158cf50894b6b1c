"""What every check gets and returns: the proposed answer, its parsed statement, its rows, and ways to count.

In: a `Proposal` (an answer's value, the SQL behind it, the shape that was pinned), a session, a state. Out: `Examined`,
made once for all checks, and the `CheckResult` that each returns. Counting statements run through the same guarded
session as any other, with a limit on time; one that cannot be run counts as not known.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from coset.answering.checks.statement import DIALECT, Node, Statement, TablesOfState, read_statement
from coset.errors import CosetError, LimitReached, NotAllowed, SourceUnreachable, TableVanished, UserError
from coset.session.query_session import QuerySession, stays_at_source
from coset.session.result import Result
from coset.state import EvidenceState

Outcome = Literal["passed", "doubt", "failed", "not applicable"]
"""passed: looked at and fine; doubt: may be wrong, worth a second computation; failed: is wrong, or cannot be told."""
Form = Literal["value", "row", "list", "table", "text"]


@dataclass(frozen=True)
class PinnedShape:
    """What the answer was to look like, decided before it was computed."""

    form: Form = "table"
    columns: tuple[str, ...] = ()
    rows: int | None = None
    """How many rows were asked for (`the five largest`), where the question says so."""
    grain: str = ""
    """One row per what, in words or as names of the result's columns."""
    keys: tuple[str, ...] = ()
    """The result's columns, or the references of columns, that tell its rows apart; guessed from `grain` when empty."""
    unit: str = ""


@dataclass(frozen=True)
class Proposal:
    """An answer that somebody is about to give."""

    value: Any
    """A text, a number, a list of values, or a list of rows; None or empty says that there is nothing."""
    sql: tuple[str, ...]
    """The statements behind it, each standing alone, the one that gives the answer last."""
    shape: PinnedShape | None = None
    result: Result | None = None
    """What the last statement gave; it is run when this is None."""
    computed: tuple[Any, ...] = ()
    """Values worked out of results by the calculator."""
    question: str = ""
    """What was asked, where it is known."""


@dataclass(frozen=True)
class CheckResult:
    """What one check says, in one sentence, with the references of what it speaks of."""

    name: str
    outcome: Outcome
    detail: str
    references: tuple[str, ...] = ()


SECONDS = 20.0
MOST_ROWS_COUNTED = 5_000_000


@dataclass(frozen=True)
class Examined:
    """What every check is given."""

    proposal: Proposal
    session: QuerySession
    state: EvidenceState
    result: Result | None
    """What the answering statement gives; None when there is none or it cannot be run."""
    error: CosetError | None
    statement: Statement | None
    rows: list[tuple[Any, ...]]
    most_rows: int = MOST_ROWS_COUNTED
    """A table with more rows is not counted."""
    memory: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """What was counted for one check and serves another."""

    def count(self, query: Node) -> tuple[Any, ...] | None:
        """The one row that a counting statement gives, or None when it cannot be run."""
        try:
            rows = self.session.sql(query.sql(dialect=DIALECT), max_rows=1, seconds=SECONDS).rows()
        except CosetError:
            return None
        return rows[0] if rows else None

    def may_count(self) -> bool:
        """Whether the statement's tables may be read whole: none stays at its source, none is very large."""
        if self.statement is None:
            return False
        for table in self.statement.tables.values():
            parts = (table.source, table.schema, table.name) if table.schema else (table.source, table.name)
            try:
                source, found = self.session.catalogue.find(tuple(part for part in parts if part))
            except CosetError:
                return False
            if stays_at_source(source, found) or (found.rows or table.rows or 0) > self.most_rows:
                return False
        return True


def examine(
    proposal: Proposal, session: QuerySession, state: EvidenceState, most_rows: int = MOST_ROWS_COUNTED
) -> Examined:
    result, error, statement = proposal.result, None, None
    if proposal.sql:
        statement = read_statement(proposal.sql[-1], TablesOfState(state))
        if result is None:
            try:
                result = session.sql(proposal.sql[-1])
            except CosetError as raised:
                error = raised
    rows = result.rows() if result is not None else []
    return Examined(proposal, session, state, result, error, statement, rows, most_rows)


def kind_of_failure(error: CosetError) -> str:
    """Why there is no result, told apart: refused, wrong, over a limit, or not there."""
    if isinstance(error, NotAllowed):
        return "not allowed"
    if isinstance(error, LimitReached):
        return "stopped by a limit"
    if isinstance(error, SourceUnreachable):
        return "not reachable"
    if isinstance(error, UserError | TableVanished):
        return "cannot be run"
    return "not reachable" if "not reachable" in str(error) else "failed"
