"""SQL over all sources, and what counting can tell of an answer.

In: a statement. Out: its rows, or the results of checks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coset.use_cases.cancellation import Cancellation
from coset.use_cases.results import SqlResult
from coset.use_cases.workspace import Workspace

if TYPE_CHECKING:
    from coset.answering.checks import CheckResult, PinnedShape


def sql(
    workspace: Workspace,
    text: str,
    *,
    max_rows: int | None = None,
    seconds: float | None = None,
    call: Cancellation | None = None,
) -> SqlResult:
    """Run one read-only SELECT."""
    with workspace.sessions.lent(call) as session:
        return SqlResult.of(session.sql(text, max_rows=max_rows, seconds=seconds))


def check(
    workspace: Workspace, statement: str, answer: Any, shape: PinnedShape | None, call: Cancellation | None = None
) -> tuple[CheckResult, ...]:
    """Run the deterministic checks on a statement and its answer; None where the rows themselves are the answer."""
    from coset.answering.checks import Proposal, run_checks

    call = call or Cancellation()
    with workspace.sessions.lent(call) as session, workspace.reading() as state:
        call.tell("running the statement")
        result = session.sql(statement)
        call.tell("counting")
        value = [list(row) for row in result.rows()] if answer is None else answer
        return run_checks(Proposal(value, (statement,), shape, result), session, state)
