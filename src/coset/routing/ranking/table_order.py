"""In which order tables are taken, so that the chance that all needed ones are among the first is highest.

In: for each candidate table its group, the chance of that group, and the chance that the table is needed if its group
is the right one. Out: an order. A question needs several tables of one group: the second table of a likely group helps
only where the first was taken, and a group of which nothing is taken is lost as a whole. So groups share the first
places: whoever gains most chance per place comes next. Within one group it is the order of the chances.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coset.routing.ranking.index import Vectors

PLACES, GROUPS, AHEAD = 20, 12, 4
"""So many places are shared, among so many groups, looking so many tables ahead; the rest stand by their chance."""
LEAST_GROUP, SUREST = 0.002, 0.98


def order_of_tables(chance: Vectors, group_at: NDArray[np.int64], group_chance: Vectors) -> NDArray[np.int64]:
    """Places of the candidate tables, the first to take first. `chance` is that of a table if its group is right."""
    by_chance = np.argsort(-(chance * group_chance[group_at]), kind="stable")
    leading = [g for g in dict.fromkeys(group_at[by_chance].tolist()) if group_chance[g] >= LEAST_GROUP][:GROUPS]
    own = {group: by_chance[group_at[by_chance] == group] for group in leading}
    worth = {group: float(group_chance[group]) * _all_taken(chance[tables]) for group, tables in own.items()}
    taken, now = dict.fromkeys(leading, 0), dict.fromkeys(leading, 0.0)
    order: list[int] = []
    while len(order) < PLACES:
        rates = [
            ((worth[group][upto] - now[group]) / (upto - taken[group] + 1), -place, upto)
            for place, group in enumerate(leading)
            for upto in range(taken[group], min(len(own[group]), taken[group] + AHEAD))
        ]
        if not rates:
            break
        _, place, upto = max(rates)
        group = leading[-place]
        order += own[group][taken[group] : upto + 1].tolist()
        taken[group], now[group] = upto + 1, worth[group][upto]
    first = np.array(order, dtype=np.int64)
    return np.concatenate([first, by_chance[~np.isin(by_chance, first)]])


def _all_taken(chance: Vectors) -> NDArray[np.float64]:
    """For each number of tables taken: the chance that none of the others is needed."""
    left_out = np.cumprod((1.0 - np.minimum(chance.astype(np.float64), SUREST))[::-1])[::-1]
    return np.concatenate([left_out[1:], [1.0]])
