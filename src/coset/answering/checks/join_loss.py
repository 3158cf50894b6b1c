"""Does a join lose rows that it should keep?

Counted on the data as it is now, by the keys alone: what a condition on the other side leaves out is not lost. Of
a join of many to one, the many should all find their one: rows without a partner are lost from every sum. Where the
state knows a tested way to join the same columns, its match rate says how many rows can find a partner: a join that
stays below it fails, one that reaches it passes, however low the rate is by nature.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from coset.answering.checks.examined import Examined
from coset.answering.checks.join_counts import JoinCount, Side, counted_joins, pairs_of
from coset.answering.checks.proposal import CheckResult, Outcome
from coset.answering.checks.select_blocks import columns_of
from coset.answering.checks.statement import origins_in

NAME = "join loss"
WHOLE = 0.99
TOLERANCE = 0.05
"""A condition of the statement may keep a part of the rows that matches less well than all of them."""


@dataclass(frozen=True)
class TestedJoin:
    """What the state knows of a join, seen from one of its sides."""

    share: float
    condition: str
    reference: str


def check(examined: Examined) -> CheckResult:
    if examined.statement is None or examined.error is not None:
        return CheckResult(NAME, "not applicable", "there is no statement that can be read")
    counted = counted_joins(examined)
    if counted == ():
        return CheckResult(NAME, "not applicable", "the statement joins nothing")
    if counted is None:
        return _by_tested_rates(examined)
    found = [_judge(examined, count) for each in counted for count in each.joins]
    order = {"failed": 0, "doubt": 1, "passed": 2, "not applicable": 3}
    worst = min(found, key=lambda result: order[result.outcome])
    same = [result for result in found if result.outcome == worst.outcome]
    references = tuple(dict.fromkeys(reference for result in same for reference in result.references))
    return CheckResult(NAME, worst.outcome, "; ".join(dict.fromkeys(result.detail for result in same)), references)


def _judge(examined: Examined, count: JoinCount) -> CheckResult:
    side, other = watched(count)
    references = (*side.references, *other.references)
    if not side.keyed or not other.keyed:
        return CheckResult(NAME, "passed", f"a side of {count.condition} has no rows with a key", references)
    tested = tested_join(examined, side.references, other.references)
    if not side.joinable and not other.joinable:
        hint = f"; tested: {tested.condition}" if tested else ""
        return CheckResult(NAME, "failed", f"the join {count.condition} finds no partner for any row{hint}", references)
    lost = f"{1 - side.share:.1%} of {side.keyed:,} rows of {side.alias} find no partner by {count.condition}"
    if side.rows - side.keyed > 0.01 * side.rows:
        lost += f", and {side.rows - side.keyed:,} more have no key"
    if tested is not None and side.share < tested.share - TOLERANCE:
        detail = f"{lost}; the tested join loses {1 - tested.share:.1%}: {tested.condition}"
        return CheckResult(NAME, "failed", detail, (*references, tested.reference))
    if side.share >= WHOLE:
        return CheckResult(NAME, "passed", lost, references)
    if tested is not None:
        return CheckResult(NAME, "passed", f"{lost}, as was found when it was tested", (*references, tested.reference))
    return CheckResult(NAME, "doubt", f"{lost}; no better join is known", references)


def watched(count: JoinCount) -> tuple[Side, Side]:
    """The side whose rows should all find a partner: the many of many to one; of one to one, the smaller."""
    left, right = count.left, count.right
    if count.multiplies_right and not count.multiplies_left:
        return left, right
    if count.multiplies_left and not count.multiplies_right:
        return right, left
    return (left, right) if left.share >= right.share else (right, left)


def tested_join(examined: Examined, one: tuple[str, ...], other: tuple[str, ...]) -> TestedJoin | None:
    """The best join that the state knows between these columns, as a share of the rows of `one`."""
    rows = examined.state.rows(
        "SELECT id, left_columns, right_columns, left_expression, right_expression, left_match, right_match "
        "FROM relations WHERE "
        "(list_has_any(left_columns, $1::VARCHAR[]) AND list_has_any(right_columns, $2::VARCHAR[]))"
        " OR (list_has_any(left_columns, $2::VARCHAR[]) AND list_has_any(right_columns, $1::VARCHAR[])) ORDER BY id",
        [list(one), list(other)],
    )
    found = [_tested(row, one) for row in rows]
    return max(found, key=lambda each: each.share) if found else None


def _tested(row: dict[str, Any], one: tuple[str, ...]) -> TestedJoin:
    is_left = bool(set(row["left_columns"]) & set(one))
    condition = f"{row['left_expression'][:300]} = {row['right_expression'][:300]}"
    return TestedJoin(row["left_match"] if is_left else row["right_match"], condition, row["id"])


def _by_tested_rates(examined: Examined) -> CheckResult:
    """What the state knows of the joins, where they may not be counted."""
    assert examined.statement is not None  # noqa: S101
    said, references = [], []
    for block in examined.statement.blocks:
        for left, right, condition in pairs_of(block):
            one, other = (
                tuple(
                    reference
                    for column in columns_of(condition)
                    if column.table == alias
                    for reference in origins_in(examined.statement, column, block)
                )
                for alias in (left, right)
            )
            tested = tested_join(examined, one, other)
            if tested is not None:
                said.append(f"{left} and {right}: {1 - tested.share:.1%} of {left} had no partner when it was tested")
                references.append(tested.reference)
            else:
                said.append(f"{left} and {right}: no join of these columns was tested")
    outcome: Outcome = "doubt" if any("no join" in each for each in said) else "passed"
    detail = "the joins are too large to count; " + "; ".join(said)
    return CheckResult(NAME, outcome, detail, tuple(references))
