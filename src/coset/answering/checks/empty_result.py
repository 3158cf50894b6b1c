"""Is an empty result told as empty, and one that could not be had told as that?

"No rows", "not allowed" and "not reachable" are three different answers. A value that is given though the statement
found nothing was made up; nothing that is given though it found something was not looked at.
"""

from __future__ import annotations

import re
from typing import Any

from coset.answering.checks.examined import Examined, kind_of_failure
from coset.answering.checks.proposal import CheckResult

NAME = "empty result"
SAYS_NOTHING = re.compile(
    r"\b(no|none|nothing|not any|without|never|zero|empty|nobody|not found|does not exist|do not exist|"
    r"not available|unknown|null)\b|^\s*(0|n/?a|-|\[\]|\{\})?\s*$",
    re.IGNORECASE,
)


def check(examined: Examined) -> CheckResult:
    value, error = examined.proposal.value, examined.error
    if error is not None:
        return CheckResult(NAME, "failed", f"the statement behind the answer is {_said(error)}")
    if not examined.proposal.sql:
        outcome = "passed" if says_nothing(value) else "doubt"
        return CheckResult(NAME, outcome, "no statement stands behind the answer")  # type: ignore[arg-type]
    if not examined.rows:
        if says_nothing(value):
            return CheckResult(NAME, "passed", "the statement found no rows, and the answer says so")
        return CheckResult(
            NAME, "failed", "the statement found no rows, but the answer gives a value: say that there are none"
        )
    if all(cell is None for row in examined.rows for cell in row):
        if says_nothing(value):
            return CheckResult(NAME, "passed", "the statement found only NULL, and the answer says so")
        return CheckResult(NAME, "failed", "the statement gives only NULL, but the answer gives a value")
    if is_empty(value):
        return CheckResult(
            NAME, "failed", f"the answer is empty, but the statement found {len(examined.rows):,} rows: give them"
        )
    return CheckResult(NAME, "passed", f"the statement found {len(examined.rows):,} rows")


def is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str | list | tuple | dict) and not value) or (
        isinstance(value, str) and not value.strip()
    )  # fmt: skip


def says_nothing(value: Any) -> bool:
    """Whether an answer says that there is nothing."""
    if is_empty(value) or value == 0:
        return True
    if isinstance(value, list | tuple):
        return all(says_nothing(each) for each in value)
    return isinstance(value, str) and SAYS_NOTHING.search(value) is not None


def _said(error: Exception) -> str:
    return f"{kind_of_failure(error)}: {error}"  # type: ignore[arg-type]
