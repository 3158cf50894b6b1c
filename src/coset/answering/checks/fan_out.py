"""Does a join multiply rows that are then added up?

A table whose rows meet several partners appears several times in the joined rows. Adding up its own columns then counts
them several times; counting the joined rows counts nothing in particular when no table keeps its rows single. Counted
on the data as it is now: a key that should be unique and is not shows here.
"""

from __future__ import annotations

from collections.abc import Sequence

from coset.answering.checks.examined import Examined
from coset.answering.checks.join_counts import BlockJoins, JoinCount, counted_joins
from coset.answering.checks.proposal import CheckResult, Outcome
from coset.answering.checks.select_blocks import aliases_of, name_of_aggregate, text_of

NAME = "fan-out"
ADDING = {"sum", "avg", "product", "fsum"}
COUNTING = {"count", "countif"}


def check(examined: Examined) -> CheckResult:
    if examined.statement is None or examined.error is not None:
        return CheckResult(NAME, "not applicable", "there is no statement that can be read")
    counted = counted_joins(examined)
    if counted == ():
        return CheckResult(NAME, "not applicable", "the statement joins nothing")
    if counted is None:
        return CheckResult(NAME, "not applicable", "the joins are too large to count, or cannot be counted apart")
    wrong = [found for each in counted for found in _of_block(each)]
    if not wrong:
        return CheckResult(NAME, "passed", "no row is counted or added more than once")
    outcome: Outcome = "failed" if any(each.outcome == "failed" for each in wrong) else "doubt"
    said = "; ".join(dict.fromkeys(each.detail for each in wrong if each.outcome == outcome))
    references = tuple(dict.fromkeys(reference for each in wrong for reference in each.references))
    return CheckResult(NAME, outcome, said, references)


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
                found.append(CheckResult(NAME, "doubt", detail, _references(by[0])))
        elif name in ADDING and used:
            by = [multiplied(alias, joins) for alias in sorted(used)]
            if all(by) and by[0] is not None:
                detail = f"{text_of(node)} takes rows of {' and '.join(sorted(used))} several times: {_more(by[0])}"
                outcome: Outcome = "failed" if name == "sum" else "doubt"
                found.append(CheckResult(NAME, outcome, detail, _references(by[0])))
    return found


def _more(join: JoinCount) -> str:
    return (
        f"{join.condition} makes {join.pairs:,} rows of {join.left.matched:,} of {join.left.alias} and "
        f"{join.right.matched:,} of {join.right.alias}"
    )


def _references(join: JoinCount) -> tuple[str, ...]:
    return (*join.left.references, *join.right.references)
