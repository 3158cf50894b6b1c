"""Which columns a view keeps: those that are likely needed, and the keys of the joins between the tables they lie in.

In: a ranking and the links of the index. Out: columns by their numbers. A cut by probability, not a fixed number: an
easy question keeps few columns, a vague one many. Knows no budget; that is for materialisation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coset.routing.ranking.index import RoutingIndex
from coset.routing.ranking.ranker import Ranking


@dataclass(frozen=True)
class SelectionSettings:
    least_column: float = 0.03
    """The probability from which a column is kept. Chosen on development databases for 17 columns on average."""
    least_table: float = 0.3
    """The probability, its own or that of one of its columns, from which a table counts as chosen, so that the keys
    that join it are kept."""
    most_columns: int = 40
    least_columns: int = 4


def kept_columns(ranking: Ranking, index: RoutingIndex, settings: SelectionSettings) -> NDArray[np.int64]:
    """The columns to keep, the likeliest first, then the join keys that were not among them."""
    order = np.argsort(-ranking.column_scores, kind="stable")
    likely = int((ranking.column_scores >= settings.least_column).sum())
    count = min(len(order), max(settings.least_columns, min(settings.most_columns, likely)))
    kept = ranking.columns[order[:count]]
    # What a needed column stands in is needed too.
    needed = ranking.columns[ranking.column_scores >= settings.least_table]
    strong = set(ranking.tables[ranking.table_scores >= settings.least_table].tolist())
    strong.update(index.table_of[needed].tolist())
    keys = join_keys(strong, index)
    return np.concatenate([kept, keys[~np.isin(keys, kept)]])


def join_keys(tables: set[int], index: RoutingIndex) -> NDArray[np.int64]:
    """The columns that join two of these tables."""
    if len(tables) < 2 or not len(index.links):
        return np.zeros(0, dtype=np.int64)
    owner = index.table_of[index.links]
    member = np.zeros(len(index.tables), dtype=bool)
    member[list(tables)] = True
    inside = member[owner].all(axis=1) & (owner[:, 0] != owner[:, 1])
    return np.unique(index.links[inside])
