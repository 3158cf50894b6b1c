"""All deterministic checks of an answer, in one call: no model, the same outcome every time on the same data.

In: a proposal, the session it was made in, the evidence state. Out: one result for each check, in a fixed order. A
check that breaks says so as `not applicable`; it never takes the answer down with it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from coset.answering.checks.cleaning import CLEANING, UNITS, check_cleaning, check_units
from coset.answering.checks.examined import MOST_ROWS_COUNTED, CheckResult, Examined, Outcome, Proposal, examine
from coset.answering.checks.joins import FAN_OUT, JOIN_LOSS, check_fan_out, check_join_loss
from coset.answering.checks.knowledge import CODE_LISTS, COPIES, RULES, check_code_lists, check_copies, check_rules
from coset.answering.checks.result_shape import (
    EMPTY_RESULT,
    GRAIN,
    ROW_LIMIT,
    SHAPE,
    check_empty_result,
    check_grain,
    check_row_limit,
    check_shape,
)
from coset.answering.checks.result_values import (
    DUPLICATES,
    EXACT,
    NULLS,
    STORED_VALUES,
    check_duplicates,
    check_exact,
    check_nulls,
    check_stored_values,
)
from coset.entry_points import CHECKS as ADDED
from coset.entry_points import added
from coset.errors import CosetError
from coset.session.query_session import QuerySession
from coset.state import EvidenceState
from coset.state.names import names_of

CHECKS: dict[str, Callable[[Examined], CheckResult]] = {
    EMPTY_RESULT: check_empty_result,
    SHAPE: check_shape,
    GRAIN: check_grain,
    ROW_LIMIT: check_row_limit,
    JOIN_LOSS: check_join_loss,
    FAN_OUT: check_fan_out,
    COPIES: check_copies,
    RULES: check_rules,
    CODE_LISTS: check_code_lists,
    DUPLICATES: check_duplicates,
    NULLS: check_nulls,
    UNITS: check_units,
    CLEANING: check_cleaning,
    STORED_VALUES: check_stored_values,
    EXACT: check_exact,
}
ORDER: tuple[Outcome, ...] = ("failed", "doubt", "passed", "not applicable")


def run_checks(
    proposal: Proposal,
    session: QuerySession,
    state: EvidenceState,
    *,
    only: Collection[str] | None = None,
    most_rows: int = MOST_ROWS_COUNTED,
) -> tuple[CheckResult, ...]:
    """`only` names the checks to make; all, and those of installed packages, where it is not given.
    Joins of a table with more than `most_rows` rows are not counted."""
    examined = examine(proposal, session, state, most_rows)
    checks = {**added(ADDED), **CHECKS}  # those of installed packages come first, and replace none of ours
    results = [_run(name, check, examined) for name, check in checks.items() if only is None or name in only]
    told = names_of(state).told
    return tuple(replace(result, detail=told(result.detail)) for result in results)


def verdict(results: tuple[CheckResult, ...]) -> Outcome:
    """The worst that any check says; `passed` when all that apply passed."""
    outcomes = {result.outcome for result in results} - {"not applicable"}
    return next((each for each in ORDER if each in outcomes), "not applicable")


def _run(name: str, check: Callable[[Examined], CheckResult], examined: Examined) -> CheckResult:
    try:
        return check(examined)
    except CosetError as error:
        return CheckResult(name, "not applicable", f"could not be checked: {error}")
