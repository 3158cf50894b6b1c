"""The first steps of materialisation: wanted objects by name, the joins that connect them, their competitors.

In: a `Making`. Out: the same, with those taken. Each step may fill the budget up to a share, so that something is left
to be told of what was taken.
"""

from __future__ import annotations

from coset.routing.join_plan import join_plan
from coset.routing.making import Making

COVERING, CONNECTING, COMPETING = 0.4, 0.7, 0.75
"""The shares of the budget up to which wanted objects by name, then joins, then competitors may fill it."""
TABLE_ROOM = 220
"""A table needs about so many tokens to be told of, with its join: more tables by name alone would help nobody."""


def cover(making: Making) -> None:
    """Every wanted column by name, the most wanted first; a facet or path with its expression."""
    limit = int(making.budget * COVERING)
    most = max(2, making.budget // TABLE_ROOM)
    tables = making.draft.tables
    for number, pick in enumerate(making.wanted.picks):
        if pick.column.table in tables or len(tables) < most:
            making.take(pick, "name", making.budget if number == 0 else limit)
    if not tables:
        best = min(making.wanted.tables, key=lambda table: (-making.wanted.tables[table], table))
        making.draft.take_table(best, making.wanted.tables[best])


def connect(making: Making) -> None:
    """The plan that joins the tables taken so far, with its keys and the tables that only connect."""
    draft = making.draft
    making.plan = join_plan(
        sorted(draft.tables, key=lambda table: (-draft.tables[table], table)), making.objects.relations_of
    )
    making.objects.load(making.plan.connecting)
    limit = int(making.budget * CONNECTING)
    for relation in making.plan.joins:
        if making.fits(draft.plan_cost(relation), limit):
            draft.take_plan(relation)


def compete(making: Making) -> None:
    """The strongest competitor of each wanted column, by name."""
    limit = int(making.budget * COMPETING)
    for pick in making.wanted.competitors:
        making.take(pick, "name", limit)
