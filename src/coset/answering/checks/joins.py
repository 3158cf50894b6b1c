"""Does a join lose rows that it should keep, or multiply rows that are then added up?

In: an examined proposal with its counted joins. Out: one result for each of the two checks. Where tables are too large
to count, the rates that comprehension tested stand in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coset.answering.checks.examined import CheckResult, Examined, Outcome
from coset.answering.checks.join_counts import BlockJoins, JoinCount, Side, counted_joins, outer_aliases, pairs_of
from coset.answering.checks.statement import aliases_of, columns_of, name_of_aggregate, origins_in, text_of
from coset.state.relations import RelationRow, joins_between

JOIN_LOSS = "join loss"
WHOLE = 0.99
TOLERANCE = 0.05
"""A condition of the statement may keep a part of the rows that matches less well than all of them."""


@dataclass(frozen=True)
class TestedJoin:
    """What the state knows of a join, seen from one of its sides."""

    share: float
    condition: str
    reference: str


def check_join_loss(examined: Examined) -> CheckResult:
    if examined.statement is None or examined.error is not None:
        return CheckResult(JOIN_LOSS, "not applicable", "there is no statement that can be read")
    counted = counted_joins(examined)
    if counted == ():
        return CheckResult(JOIN_LOSS, "not applicable", "the statement joins nothing")
    if counted is None:
        return _by_tested_rates(examined)
    found = [
        _judge(examined, count, count.right.alias in outer_aliases(each.block))
        for each in counted
        for count in each.joins
    ]
    order = {"failed": 0, "doubt": 1, "passed": 2, "not applicable": 3}
    worst = min(found, key=lambda result: order[result.outcome])
    same = [result for result in found if result.outcome == worst.outcome]
    references = tuple(dict.fromkeys(reference for result in same for reference in result.references))
    return CheckResult(JOIN_LOSS, worst.outcome, "; ".join(dict.fromkeys(result.detail for result in same)), references)


def _judge(examined: Examined, count: JoinCount, outer: bool) -> CheckResult:
    """`outer`: a LEFT JOIN and its like, which keeps the rows that find no partner."""
    side, other = watched(count)
    references = (*side.references, *other.references)
    if not side.keyed or not other.keyed:
        return CheckResult(JOIN_LOSS, "passed", f"a side of {count.condition} has no rows with a key", references)
    tested = tested_join(examined, side.references, other.references)
    if not side.joinable and not other.joinable:
        hint = f"; tested: {tested.condition}" if tested else ""
        return CheckResult(
            JOIN_LOSS, "failed", f"the join {count.condition} finds no partner for any row{hint}", references
        )
    lost = f"{1 - side.share:.1%} of {side.keyed:,} rows of {side.alias} find no partner by {count.condition}"
    if side.rows - side.keyed > 0.01 * side.rows:
        lost += f", and {side.rows - side.keyed:,} more have no key"
    if tested is not None and side.share < tested.share - TOLERANCE:
        detail = f"{lost}; the tested join loses {1 - tested.share:.1%}: {tested.condition}"
        return CheckResult(JOIN_LOSS, "failed", detail, (*references, tested.reference))
    if side.share >= WHOLE:
        return CheckResult(JOIN_LOSS, "passed", lost, references)
    if tested is not None:
        return CheckResult(
            JOIN_LOSS, "passed", f"{lost}, as was found when it was tested", (*references, tested.reference)
        )
    if outer:
        return CheckResult(JOIN_LOSS, "passed", f"{lost}; they are kept, for the join is an outer one", references)
    if not side.references or not other.references:
        return CheckResult(JOIN_LOSS, "passed", f"{lost}; its key is computed, so no join of it was tested", references)
    return CheckResult(JOIN_LOSS, "doubt", f"{lost}; no better join is known", references)


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
    rows = joins_between(examined.state, one, other)
    found = [_tested(row, one) for row in rows]
    return max(found, key=lambda each: each.share) if found else None


def _tested(row: RelationRow, one: tuple[str, ...]) -> TestedJoin:
    is_left = bool(set(row.left_columns) & set(one))
    condition = f"{row.left_expression[:300]} = {row.right_expression[:300]}"
    return TestedJoin(row.left_match if is_left else row.right_match, condition, row.id)


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
    if not said:
        return CheckResult(JOIN_LOSS, "not applicable", "the joins could not be counted, and none of them was tested")
    return CheckResult(JOIN_LOSS, "passed", "the joins could not be counted; " + "; ".join(said), tuple(references))


FAN_OUT = "fan-out"
ADDING = {"sum", "avg", "product", "fsum"}
COUNTING = {"count", "countif"}


def check_fan_out(examined: Examined) -> CheckResult:
    if examined.statement is None or examined.error is not None:
        return CheckResult(FAN_OUT, "not applicable", "there is no statement that can be read")
    counted = counted_joins(examined)
    if counted == ():
        return CheckResult(FAN_OUT, "not applicable", "the statement joins nothing")
    if counted is None:
        return CheckResult(FAN_OUT, "not applicable", "the joins are too large to count, or cannot be counted apart")
    wrong = [found for each in counted for found in _of_block(each)]
    if not wrong:
        return CheckResult(FAN_OUT, "passed", "no row is counted or added more than once")
    outcome: Outcome = "failed" if any(each.outcome == "failed" for each in wrong) else "doubt"
    said = "; ".join(dict.fromkeys(each.detail for each in wrong if each.outcome == outcome))
    references = tuple(dict.fromkeys(reference for each in wrong for reference in each.references))
    return CheckResult(FAN_OUT, outcome, said, references)


def multiplied(alias: str, joins: Sequence[JoinCount]) -> JoinCount | None:
    """A join that makes several rows of one row of this table, directly or by way of a table joined to it."""
    waiting, walked = [alias], set()
    while waiting:
        current = waiting.pop()
        for number, join in enumerate(joins):
            left, right = join.left.alias, join.right.alias
            # A join is walked away from the table only: that many orders share a customer multiplies no order.
            if number in walked or current not in (left, right):
                continue
            walked.add(number)
            if join.multiplies_left if current == left else join.multiplies_right:
                return join
            waiting.append(right if current == left else left)
    return None


def _of_block(counted: BlockJoins) -> list[CheckResult]:
    joins = counted.joins
    aliases = {side.alias for join in joins for side in (join.left, join.right)}
    found: list[CheckResult] = []
    for node in counted.block.aggregates:
        name, used = name_of_aggregate(node), aliases_of(node) & aliases
        if name in COUNTING:
            # The joined rows are the rows of the one table that keeps its rows single, if there is one.
            by = [multiplied(alias, joins) for alias in sorted(aliases)]
            if all(by) and by[0] is not None:
                detail = f"{text_of(node)} counts the rows of a join of many to many: {_more(by[0])}"
                found.append(CheckResult(FAN_OUT, "doubt", detail, _references(by[0])))
        elif name in ADDING and used:
            by = [multiplied(alias, joins) for alias in sorted(used)]
            if all(by) and by[0] is not None:
                detail = f"{text_of(node)} takes rows of {' and '.join(sorted(used))} several times: {_more(by[0])}"
                # A sum over columns of several tables is often meant for each pair.
                outcome: Outcome = "failed" if name == "sum" and len(used) == 1 else "doubt"
                found.append(CheckResult(FAN_OUT, outcome, detail, _references(by[0])))
    return found


def _more(join: JoinCount) -> str:
    return (
        f"{join.condition} makes {join.pairs:,} rows of {join.left.matched:,} of {join.left.alias} and "
        f"{join.right.matched:,} of {join.right.alias}"
    )


def _references(join: JoinCount) -> tuple[str, ...]:
    return (*join.left.references, *join.right.references)
