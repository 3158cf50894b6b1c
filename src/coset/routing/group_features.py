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
from coset.routing.question import EncodedQuestion

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
    question: EncodedQuestion,
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
    by_column, by_table = _highest(column_words, own.of_column, count), _highest(table_words, own.of_table, count)
    rows: list[Numbers] = []
    for near in (np.maximum(by_column, by_table), by_column, by_table):
        rows += _cover(near)
    for index_of_words in (
        index.group_words.names, index.group_words.all, index.group_words.descriptions, index.group_words.values,
        index.group_words.tables,
    ):  # fmt: skip
        rows += _and_behind(index_of_words.overlap(words).of_question[own.groups])
    for whole, of in ((table_whole, own.of_table), (column_whole, own.of_column)):
        for mean in _best_means(whole, of, count):
            rows += _and_behind(mean)
    rows += _and_behind(_highest(value_anchor[:, None], own.of_column, count)[:, 0])
    rows += _and_behind(_highest(name_anchor[:, None], own.of_column, count)[:, 0])
    rows += _and_behind(np.bincount(own.of_column, weights=name_anchor, minlength=count))
    tables = index.group_tables[own.groups]
    rows += [
        np.bincount(own.of_column, weights=value_anchor, minlength=count),
        np.log1p(tables),
        np.log1p(index.group_columns[own.groups]),
        np.bincount(own.of_table, minlength=count) / np.maximum(tables, 1),
        np.full(count, np.log1p(len(words))),
    ]
    return np.stack(rows, axis=1).astype(np.float32)


def _cover(near: Vectors) -> list[Numbers]:
    """Of groups by words: how near the group comes to each word, by itself and beside the best group."""
    behind = near - near.max(axis=0)
    # A word that tells the groups apart counts more than one that all of them have, or none.
    telling = near.max(axis=0) - np.median(near, axis=0)
    telling = telling / max(float(telling.sum()), 1e-9)
    weakest = np.sort(near, axis=1)[:, : max(1, near.shape[1] // 3)]
    return [
        near.mean(axis=1), near.min(axis=1), behind.mean(axis=1), behind.min(axis=1),
        (behind > -LEADS).mean(axis=1), (behind > -NEARLY_LEADS).mean(axis=1), weakest.mean(axis=1),
        near @ telling, behind @ telling,
    ]  # fmt: skip


def _and_behind(values: Numbers) -> list[Numbers]:
    return [values, values - values.max(initial=-9.0)]


def _highest(values: Vectors, of: NDArray[np.int64], count: int) -> Vectors:
    """The greatest row of each group; -1 where it has none."""
    found = np.full((count, values.shape[1]), -1.0, dtype=np.float32)
    if len(of):
        order = np.argsort(of, kind="stable")
        begins = np.flatnonzero(np.concatenate([[True], np.diff(of[order]) > 0]))
        found[of[order][begins]] = np.maximum.reduceat(values[order], begins, axis=0)
    return found


def _best_means(values: Vectors, of: NDArray[np.int64], count: int) -> list[Numbers]:
    """Per group: its greatest value, the mean of its three greatest, and of its six; what is missing counts a little
    less than the least it has."""
    order = np.lexsort((-values, of))
    owner = of[order]
    place = np.arange(len(order)) - np.searchsorted(owner, owner)
    total, before = np.zeros(count), np.zeros(count)
    means: list[Numbers] = []
    for step in range(6):
        here = before - 0.1
        here[owner[place == step]] = values[order][place == step]
        total, before = total + here, here
        if step in (0, 2, 5):
            means.append(total / (step + 1))
    return means
