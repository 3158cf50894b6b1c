"""What speaks for each group of tables as a whole: how well its tables together speak of every word of the question.

In: an encoded question, the candidates by group, a routing index. Out: a row of numbers for each group. A single table
or column may look right by chance; the right database is the one that has something for all the words. A group is what
belongs together: a database of a pool, or the sources of an environment that joins connect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coset.routing.index import RoutingIndex, Vectors

_COVER = (
    "mean",
    "least",
    "behind",
    "most_behind",
    "leads",
    "nearly_leads",
    "weakest_third",
    "telling",
    "telling_behind",
)
GROUP_FEATURES = (
    *(f"{what}_{name}" for what in ("cover", "cover_columns", "cover_tables") for name in _COVER),
    *(f"{what}{name}" for what in ("named", "found", "described", "valued", "table_named") for name in ("", "_behind")),
    *(f"{what}_{count}{name}" for what in ("table", "column") for count in (1, 3, 6) for name in ("", "_behind")),
    *(f"{what}{name}" for what in ("value_anchor", "name_anchor", "name_anchors") for name in ("", "_behind")),
    "value_anchors", "tables", "columns", "share", "question_length",
)  # fmt: skip
LEADS, NEARLY_LEADS = 0.02, 0.05
Numbers = NDArray[Any]


@dataclass(frozen=True)
class Grouped:
    """The groups that have candidates, the group of each candidate table and column as a place among them."""

    groups: NDArray[np.int64]
    of_table: NDArray[np.int64]
    of_column: NDArray[np.int64]


def grouped(tables: NDArray[np.int64], table_at: NDArray[np.int64], index: RoutingIndex) -> Grouped:
    groups, of_table = np.unique(index.group_of[tables], return_inverse=True)
    return Grouped(groups, of_table, of_table[table_at])


def group_rows(
    words: Sequence[str],
    own: Grouped,
    column_words: Vectors,
    table_words: Vectors,
    column_whole: Vectors,
    table_whole: Vectors,
    value_anchor: Vectors,
    name_anchor: Vectors,
    index: RoutingIndex,
) -> Vectors:
    """`column_words` and `table_words`: how near each candidate is to each word of the question."""
    count = len(own.groups)
    highest = _highest(np.column_stack([column_words, value_anchor, name_anchor]), own.of_column, count)
    by_column, by_table = highest[:, :-2], _highest(table_words, own.of_table, count)
    rows: list[Numbers] = _cover(np.stack([np.maximum(by_column, by_table), by_column, by_table]))
    for index_of_words in (
        index.group_words.names, index.group_words.all, index.group_words.descriptions, index.group_words.values,
        index.group_words.tables,
    ):  # fmt: skip
        rows += _and_behind(index_of_words.overlap(words).at(own.groups).of_question)
    for whole, of in ((table_whole, own.of_table), (column_whole, own.of_column)):
        for mean in _best_means(whole, of, count):
            rows += _and_behind(mean)
    rows += _and_behind(highest[:, -2])
    rows += _and_behind(highest[:, -1])
    rows += _and_behind(np.bincount(own.of_column, weights=name_anchor, minlength=count))
    tables = index.group_tables[own.groups]
    rows += [
        np.bincount(own.of_column, weights=value_anchor, minlength=count),
        np.log1p(tables),
        np.log1p(index.group_columns[own.groups]),
        np.bincount(own.of_table, minlength=count) / np.maximum(tables, 1),
        np.full(count, np.log1p(len(words))),
    ]
    return np.ascontiguousarray(np.array(rows, dtype=np.float32).T)


def _cover(near: Vectors) -> list[Numbers]:
    """Of ways of being near, by groups, by words: how near the group comes to each word, by itself and beside the best
    group; one way after the other."""
    ordered = np.sort(near, axis=1)
    highest, groups = ordered[:, -1], near.shape[1]
    behind = near - highest[:, None]
    # A word that tells the groups apart counts more than one that all of them have, or none.
    telling = highest - (ordered[:, (groups - 1) // 2] + ordered[:, groups // 2]) / 2
    telling = (telling / np.maximum(telling.sum(axis=1, keepdims=True), 1e-9))[:, :, None]
    weakest = np.sort(near, axis=2)[:, :, : max(1, near.shape[2] // 3)]
    made = [
        near.mean(axis=2), weakest[:, :, 0], behind.mean(axis=2), behind.min(axis=2),
        (behind > -LEADS).mean(axis=2), (behind > -NEARLY_LEADS).mean(axis=2), weakest.mean(axis=2),
        (near @ telling)[:, :, 0], (behind @ telling)[:, :, 0],
    ]  # fmt: skip
    return [each[way] for way in range(len(near)) for each in made]


def _and_behind(values: Numbers) -> list[Numbers]:
    return [values, values - values.max(initial=-9.0)]


def _highest(values: Vectors, of: NDArray[np.int64], count: int) -> Vectors:
    """The greatest row of each group; -1 where it has none."""
    found = np.full((count, values.shape[1]), -1.0, dtype=np.float32)
    if len(of):
        # Neighbours are mostly of one group: first the greatest of each run, then of all runs of a group.
        begins = np.flatnonzero(np.append(True, of[1:] != of[:-1]))
        values, of = np.maximum.reduceat(values, begins, axis=0), of[begins]
        order = np.argsort(of, kind="stable")
        begins = np.flatnonzero(np.append(True, np.diff(of[order]) > 0))
        found[of[order][begins]] = np.maximum.reduceat(values[order], begins, axis=0)
    return found


def _best_means(values: Vectors, of: NDArray[np.int64], count: int) -> list[Numbers]:
    """Per group: its greatest value, the mean of its three greatest, and of its six; what is missing counts a little
    less than the least it has."""
    order = np.lexsort((-values, of))
    owner = of[order]
    place = np.arange(len(order)) - np.searchsorted(owner, np.arange(count))[owner]
    first = place < 6
    best = np.full((7, count), np.nan)
    best[0] = 0.0
    best[place[first] + 1, owner[first]] = values[order][first]
    for step in range(1, 7):
        missing = np.isnan(best[step])
        if missing.any():
            best[step, missing] = best[step - 1, missing] - 0.1
    totals = np.cumsum(best[1:], axis=0)
    return [totals[0], totals[2] / 3, totals[5] / 6]
