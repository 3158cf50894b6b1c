"""Doubts that the data itself can settle: a tie at the last place, rows that repeat, more partners than one.

In: a plan, what is known, a session to count with. Out: whether two readings of the question differ on these rows. A
doubt between readings that give the same rows is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from coset.answering.offline.compose import compose
from coset.answering.offline.expressions import DIALECT
from coset.answering.offline.known import Known
from coset.answering.offline.plan import Condition, Linked, Output, Plan
from coset.session.query_session import QuerySession

SECONDS = 60.0


def is_tied(plan: Plan, known: Known, session: QuerySession) -> bool:
    """Whether the row after the last one asked for is as good as the last."""
    if plan.limit is None or plan.order is None:
        return False
    tree = compose(replace(plan, limit=plan.limit + 1, ties=False), known)
    order = tree.args["order"].expressions[0].this
    tree.set("expressions", [exp.alias_(order.copy(), "place")])
    tree.set("distinct", None)
    places = [row[0] for row in session.sql(tree.sql(dialect=DIALECT), seconds=SECONDS).rows()]
    return len(places) > plan.limit and places[-1] == places[-2]


def have_several_partners(plan: Plan, known: Known, session: QuerySession) -> bool:
    """Whether a row that is listed has more than one of the partners that it is listed for: only then does it matter
    whether it is meant once, or once for each."""
    if plan.both or plan.without or any(isinstance(each, Condition) and each.apart for each in plan.filters):
        return True
    ways = known.ways(plan.table)
    partners: dict[str, list[Condition]] = {}
    for each in plan.filters:
        if isinstance(each, Condition) and not each.negated:
            partners.setdefault(known.columns[each.column].table, []).append(each)
        elif isinstance(each, Linked) and not each.negated and each.comparison is None:
            partners.setdefault(each.table, [])
        elif not (isinstance(each, Linked) and each.negated):
            return True
    listed = replace(plan, outputs=(Output(None, "count"),), order=None, limit=None, distinct=False, entities=False)
    for table, conditions in partners.items():
        if table in ways and ways[table].steps and not ways[table].to_one:
            several = listed.having(Linked(table, tuple(conditions), comparison=">", number=1))
            counted = session.sql(compose(several, known).sql(dialect=DIALECT), seconds=SECONDS).rows()
            if counted[0][0]:
                return True
    return False


def repetition(plan: Plan, rows: Sequence[tuple[Any, ...]]) -> str:
    """The doubt that rows which repeat leave: an order, or a second column, says that rows are meant, not values."""
    if len(set(map(repr, rows))) == len(rows):
        return ""
    if plan.order is not None:
        return "repeated rows in an order"
    return "repeated rows of several columns" if len(plan.outputs) > 1 else "repeated rows"
