"""What speaks for each group of tables as a whole: how well its tables together speak of every word of the question.

In: an encoded question, the candidates by group, a routing index. Out: a row of numbers for each group. A single table
or column may look right by chance; the right database is the one that has something for all the words. A group is what
belongs together: a database of a pool, or the sources of an environment that joins connect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coset.routing.ranking.index import RoutingIndex, Vectors

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


@dataclass(frozen=True)
class Grouped:
    """The groups that have candidates, and the candidates as objects by group: all tables, then all columns, so that
    the tables of a group and its columns are two stretches."""

    groups: NDArray[np.int64]
    of_table: NDArray[np.int64]
    """The group of each candidate table, as a place among them."""
    stretch: NDArray[np.int64]
    """The stretch of each table, then of each column."""
    order: NDArray[np.int64]
    """The places of the tables by group, then of the columns, which are counted on from the tables."""
    back: NDArray[np.int64]
    """Where each table, then each column, stands in that order."""
    sizes: NDArray[np.int64]
    """How many tables each group has, then how many columns."""
    bounds: NDArray[np.int64]
    """Where each stretch begins, and where the last one ends."""


def grouped(tables: NDArray[np.int64], table_at: NDArray[np.int64], index: RoutingIndex) -> Grouped:
    group = index.group_of[tables]
    is_here = np.zeros(len(index.groups), dtype=bool)
    is_here[group] = True
    groups = np.flatnonzero(is_here)
    of_table = (is_here.cumsum() - 1)[group]
    stretch = np.concatenate((of_table, len(groups) + of_table[table_at]))
    order = by_owner(np.arange(len(stretch)), stretch, 2 * len(groups))
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    sizes = np.bincount(stretch, minlength=2 * len(groups))
    return Grouped(groups, of_table, stretch, order, back, sizes, bounds_of(sizes))


def bounds_of(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where stretches of these sizes begin, one after the other, and where the last one ends."""
    bounds = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=bounds[1:])
    return bounds


def highest(values: Vectors, bounds: NDArray[np.int64], otherwise: float, axis: int = -1) -> Vectors:
    """The greatest value of each stretch along an axis; `otherwise` where it is empty."""
    filled = bounds[1:] > bounds[:-1]
    if len(filled) and filled.all():
        return np.maximum.reduceat(values, bounds[:-1], axis=axis)
    if not filled.any():
        return np.full((*values.shape[:axis], len(filled), *values.shape[axis:][1:]), otherwise, dtype=np.float32)
    found: Vectors = np.maximum.reduceat(values, bounds[:-1][filled], axis=axis)
    # One more at the end, which the empty ones take.
    found = np.concatenate((found, np.full_like(found.take([0], axis=axis), otherwise)), axis=axis)
    return found.take(np.where(filled, filled.cumsum() - 1, -1), axis=axis)


def by_owner(order: NDArray[np.int64], owner: NDArray[np.int64], owners: int) -> NDArray[np.int64]:
    """An order of all as an order within each owner, one owner after the other."""
    key = owner[order]
    # Numbers of 16 bits are sorted digit by digit, several times as fast.
    return order[(key.astype(np.uint16) if owners <= 1 << 16 else key).argsort(kind="stable")]


def first_of_each(
    values: Vectors, bounds: NDArray[np.int64], count: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The first value of each stretch, the second, and so on, a row for each; and whether there is one."""
    places = bounds[:-1] + np.arange(count)[:, None]
    return values.take(places, axis=-1, mode="clip").astype(np.float64), places < bounds[1:]


def group_rows(
    words: Sequence[str],
    own: Grouped,
    nearest: Vectors,
    whole: Vectors,
    anchored: Vectors,
    index: RoutingIndex,
) -> Vectors:
    """`nearest`: how near each stretch comes to each word of the question. `whole`: how near the tables and columns are
    to the question as a whole, the greatest of each stretch first. `anchored`: of the columns by group, their anchors
    by value, and by name."""
    count = len(own.groups)
    by_table, by_column = nearest[:count], nearest[count:]
    cover = _cover(np.array([np.maximum(by_column, by_table), by_column, by_table]))
    tables, columns = index.group_tables[own.groups], own.sizes[count:]
    of_column = np.arange(count).repeat(columns)
    means = _best_means(whole, own)
    pairs = np.concatenate([
        index.group_words.together.overlap(words).of_question[:, own.groups], means[:, :count], means[:, count:],
        highest(anchored, bounds_of(columns), -1.0),
        [np.bincount(of_column, weights=anchored[1], minlength=count)],
    ])  # fmt: skip
    rows = np.empty((len(GROUP_FEATURES), count), dtype=np.float32)
    first, last = len(cover), len(cover) + 2 * len(pairs)
    rows[:first] = cover
    rows[first:last:2] = pairs
    rows[first + 1 : last : 2] = pairs - pairs.max(axis=1, initial=-9.0, keepdims=True)
    rows[last] = np.bincount(of_column, weights=anchored[0], minlength=count)
    rows[last + 1] = np.log1p(tables)
    rows[last + 2] = np.log1p(index.group_columns[own.groups])
    rows[last + 3] = own.sizes[:count] / np.maximum(tables, 1)
    rows[last + 4] = np.log1p(len(words))
    return rows.T


def _cover(near: Vectors) -> Vectors:
    """Of ways of being near, by groups, by words: how near the group comes to each word, by itself and beside the best
    group; the numbers of one way after those of the other."""
    ways, groups, words = near.shape
    ordered = np.sort(near, axis=1)
    leading = ordered[:, -1]
    behind = near - leading[:, None]
    # A word that tells the groups apart counts more than one that all of them have, or none.
    telling = leading - (ordered[:, (groups - 1) // 2] + ordered[:, groups // 2]) / 2
    telling = (telling / np.maximum(telling.sum(axis=1, keepdims=True), 1e-9))[:, :, None]
    weakest = np.sort(near, axis=2)[:, :, : max(1, words // 3)]
    made = np.empty((ways, len(_COVER), groups), dtype=np.float32)
    made[:, 0] = near.sum(axis=2) / words
    made[:, 1] = weakest[:, :, 0]
    made[:, 2] = behind.sum(axis=2) / words
    made[:, 3] = behind.min(axis=2)
    made[:, 4] = (behind > -LEADS).sum(axis=2, dtype=np.float32) / words
    made[:, 5] = (behind > -NEARLY_LEADS).sum(axis=2, dtype=np.float32) / words
    made[:, 6] = weakest.sum(axis=2) / weakest.shape[2]
    made[:, 7] = (near @ telling)[:, :, 0]
    made[:, 8] = (behind @ telling)[:, :, 0]
    return made.reshape(-1, groups)


def _best_means(descending: Vectors, own: Grouped) -> NDArray[np.float64]:
    """Per stretch: its greatest value, the mean of its three greatest, and of its six; what is missing counts a little
    less than the least it has, and that of nothing a little less than 0."""
    steps = np.arange(6)[:, None]
    places = own.bounds[:-1] + np.minimum(steps, own.sizes - 1)
    best = descending.take(places, mode="clip").astype(np.float64)
    if not own.sizes.all():
        best[:, own.sizes == 0] = 0.0
    best -= 0.1 * np.maximum(steps + 1 - own.sizes, 0)
    totals = best.cumsum(axis=0)
    return np.array([totals[0], totals[2] / 3, totals[5] / 6])
