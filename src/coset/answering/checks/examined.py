"""A proposal with all that its checks look at: the result, the statement taken apart, and ways to count.

In: a proposal, a session, a state. Out: `Examined`, made once for all checks. Counting statements are our own, run
through the same guarded session as any other, with a limit on time; one that cannot be run counts as not known.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from coset.answering.checks.known_tables import TablesOfState
from coset.answering.checks.proposal import Proposal
from coset.answering.checks.select_blocks import DIALECT, Node
from coset.answering.checks.statement import Statement, read_statement
from coset.errors import CosetError, LimitReached, NotAllowed, SourceUnreachable, TableVanished, UserError
from coset.evidence.state import EvidenceState
from coset.session.query_session import QuerySession, stays_at_source
from coset.session.result import Result

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
