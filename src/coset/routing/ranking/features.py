"""What speaks for each table and column, seen from one question: the numbers that the learned combination weighs.

In: an encoded question, its demand and anchors, a routing index. Out: a row of numbers for each candidate column and
each candidate table. A coarse score over everything picks the candidates; the rest is computed for them alone, so the
cost of a question hardly grows with the environment. Few numbers, all about the fit of question and object, none about
what a database is called: that is what transfers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coset.routing.ranking.index import FACTS, RoutingIndex, Vectors
from coset.routing.ranking.query_model import EncodedQuestion
from coset.routing.request import Anchor, Demand
from coset.routing.search.words import Overlap, stems_of

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


WORD_FEATURES = ("word_behind", "word_above", "word_share", "words_led")
SHARPNESS = 20.0
"""How fast the share of a word falls with the distance to the object that answers it best: the encoder's own scale."""


def features_by_group(near: Vectors, sizes: NDArray[np.int64], nearest: Vectors) -> Vectors:
    """A row for each of `WORD_FEATURES`: how far behind the best for the word it fits best; how far above the mean for
    the word it stands out by; its share of the words; the words that it leads or nearly leads.

    `near`: a row for each object, by group; `nearest`: a row for each group, how near it comes to each word. It is
    quickest where the numbers of one word stand together in memory.
    """
    if not near.size:
        return np.zeros((len(WORD_FEATURES), len(near)), dtype=np.float32)
    if not sizes.all():
        sizes, nearest = sizes[sizes > 0], nearest[sizes > 0]
    begins = sizes.cumsum() - sizes
    near, nearest = near.T, nearest.T
    mean: Vectors = np.add.reduceat(near, begins, axis=1)
    mean /= sizes.astype(np.float32)
    telling = nearest - mean + 1e-6
    telling /= telling.sum(axis=0)
    behind = near - nearest.repeat(sizes, axis=1)
    made = np.empty((len(WORD_FEATURES), near.shape[1]), dtype=np.float32)
    behind.max(axis=0, out=made[0])
    (near - mean.repeat(sizes, axis=1)).max(axis=0, out=made[1])
    led = telling.repeat(sizes, axis=1)
    led *= behind > -LEADS
    led.sum(axis=0, out=made[3])
    share = behind
    share *= SHARPNESS
    np.exp(share, out=share)
    share *= (telling / np.add.reduceat(share, begins, axis=1)).repeat(sizes, axis=1)
    share.sum(axis=0, out=made[2])
    return made


BITS = 32
"""Of a number in single precision."""
FEW = 200
"""Fewer numbers are sorted faster as they are."""
_ALL_BUT_SIGN = np.int32(0x7FFFFFFF)


def descending(
    values: NDArray[np.float32], owner: NDArray[np.int64] | None = None, owners: int = 1
) -> NDArray[np.int64]:
    """The places of the values, the greatest first; where owners are given, those of the first owner first. No value is
    NaN."""
    count = len(values)
    if count < FEW or owners.bit_length() + BITS + count.bit_length() >= 63:
        return _one_after_the_other(values, owner)
    # The bits of positive floats are in the order of the floats, those of negative ones in the opposite order. Taking
    # the values from zero leaves no negative zero.
    bits = (np.float32(0.0) - values).view(np.int32)
    bits ^= (bits >> 31) & _ALL_BUT_SIGN
    key = bits.astype(np.int64)
    if owner is not None:
        key += owner << BITS
    places = count.bit_length()
    key <<= places
    key += np.arange(count)
    key.sort()
    key &= (1 << places) - 1
    return key


def _one_after_the_other(values: NDArray[np.float32], owner: NDArray[np.int64] | None) -> NDArray[np.int64]:
    order = (-values).argsort(kind="stable")
    return order if owner is None else order[owner[order].argsort(kind="stable")]


STRONGEST_TABLES, LEADING_TABLES, LEADING_GROUPS, GROUP_TABLES = 60, 24, 10, 20
"""Candidates: the strongest tables; what joins with the leading ones; the strongest of the leading groups."""
MOST_COLUMNS = 1200
"""Of wide tables fewer are candidates: so many columns are looked at closely, or those of the leading tables."""
LONGEST = 4000
"""Characters of a question that are read for words."""

COLUMN_FEATURES = (
    "whole", "by_word", "whole_behind", "by_word_behind", "by_word_in_table", "by_word_rank",
    "name_of_object", "name_of_question", "description_of_question", "value_of_question", "value_of_object",
    "value_anchor", "name_anchor", "demand_entity", "demand_attribute", "demand_joint", "has_demand",
    *FACTS, *(f"table_{name}" for name in ("whole", "by_word", "best", "name", "behind", "group_behind")),
    "columns_in_table", "tables", "asks_how_many", "asks_who", "asks_when", "asks_where", "superlative", "has_number",
    "question_length", *WORD_FEATURES,
)  # fmt: skip
TABLE_FEATURES = (
    "whole", "by_word", "name_of_object", "name_of_question", "best", "best_three", "best_by_word",
    "best_three_by_word", "best_name", "best_value", "value_anchor", "name_anchor", "coarse_behind", "group_behind",
    "group_rank", "demand_entity", "has_demand", "columns", "tables", *WORD_FEATURES, "best_share", "share_of_columns",
)  # fmt: skip
_ASKS = (
    re.compile(r"\bhow (many|much)\b|\bnumber of\b|\bcount\b", re.I),
    re.compile(r"\bwho(se|m)?\b", re.I),
    re.compile(r"\bwhen\b|\bdate\b|\byears?\b|\bmonth\b|\bday\b", re.I),
    re.compile(r"\bwhere\b|\bcit(y|ies)\b|\bcountr(y|ies)\b|\blocation\b|\baddress\b", re.I),
    re.compile(r"\b(most|least|highest|lowest|largest|smallest|oldest|youngest|top|best|maximum|minimum)\b", re.I),
    re.compile(r"\d"),
)


@dataclass(frozen=True)
class Candidates:
    """The candidates of a question with their features, tables and columns by their numbers in the index."""

    tables: NDArray[np.int64]
    columns: NDArray[np.int64]
    table_at: NDArray[np.int64]
    """For each candidate column, the place of its table among the candidate tables."""
    table_features: Vectors
    column_features: Vectors
    group_at: NDArray[np.int64]
    """For each candidate table, the place of its group among the groups that have candidates."""
    group_features: Vectors
    rest: NDArray[np.int64]
    """The other tables of those groups, which nobody looks at closely, by their coarse score."""
    rest_group_at: NDArray[np.int64]


def candidates(
    question: EncodedQuestion, demand: Demand | None, anchors: Sequence[Anchor], index: RoutingIndex
) -> Candidates:
    """The strongest tables by a coarse score, all their columns, and the features of both."""
    words = stems_of(question.text[:LONGEST])
    column_words, table_words = index.words_of_columns.overlap(words), index.table_words.overlap(words)
    whole, table_whole = index.column_vectors @ question.whole, index.table_vectors @ question.whole
    column_anchors, table_anchors, held_by_table = _anchored(anchors, index)
    best = highest(np.array([whole, _named(column_words)]), index.begins, 0.0)
    coarse = (
        table_whole + best[0] + 0.5 * table_words.of_object + 0.4 * best[1] + 0.6 * held_by_table + 0.3 * table_anchors
    )  # fmt: skip
    chosen = _chosen(coarse, index)
    count = len(chosen)
    begins = index.begins[chosen]
    sizes = index.begins[chosen + 1] - begins
    bounds = bounds_of(sizes)
    at = np.arange(count).repeat(sizes)
    place = np.arange(len(at)) - bounds[at]
    columns = begins[at] + place

    # Tables and columns in one array are objects here: first all tables, then all columns.
    own = grouped(chosen, at, index)
    near = np.ascontiguousarray(_near_words(question, chosen, columns, index).take(own.order, axis=0).T)
    nearest = highest(near, own.bounds, -1.0).T
    answers = features_by_group(near.T, own.sizes, nearest)
    by_words = np.concatenate((near.max(axis=0, initial=-1.0, keepdims=True), answers)).take(own.back, axis=1)
    for_tables, for_columns = by_words[:, :count], by_words[:, count:]
    near_whole = np.concatenate((table_whole[chosen], whole[columns]))
    own_table_whole, own_whole, by_word = near_whole[:count], near_whole[count:], for_columns[0]
    shared, own_names = column_words.at(columns), table_words.at(chosen)
    anchored = column_anchors.take(columns, axis=1)
    demand_entity, demand_attribute, table_entity = _demanded(demand, index, chosen, columns)
    has_demand = float(demand is not None and index.memberships is not None)

    own_coarse = coarse[chosen]
    by_coarse = descending(own_coarse, own.of_table, len(own.groups))
    strength = _group_strength(own_coarse[by_coarse], own.bounds[: len(own.groups) + 1])
    group_behind = (strength - strength.max(initial=-9.0))[own.of_table]
    group_rank = (-strength).argsort(kind="stable").argsort(kind="stable")[own.of_table]
    coarse_behind = own_coarse - own_coarse.max(initial=0.0)

    # The columns of each table by how near they are to the nearest word, and to the whole.
    own_by_word = descending(by_word, at, count)
    rank_by_word = np.empty(len(at), dtype=np.float32)
    rank_by_word[own_by_word] = log_of_places(len(at))[place]
    own_by_whole = descending(own_whole, at, count)
    three_by_word, three_whole = _means_of_three(np.array([by_word[own_by_word], own_whole[own_by_whole]]), bounds)
    best = highest(
        np.array([own_whole, by_word, shared.of_object[0], shared.of_question[2], anchored[0], for_columns[3]]),
        bounds, 0.0,
    )  # fmt: skip
    many, all_tables = np.log1p(sizes), np.log1p(len(index.tables))
    table_rows = _rows(
        count, len(TABLE_FEATURES),
        own_table_whole, for_tables[0], own_names.of_object, own_names.of_question, best[0], three_whole, best[1],
        three_by_word, best[2:5], table_anchors[chosen], coarse_behind, group_behind, np.log1p(group_rank),
        table_entity, has_demand, many, all_tables, for_tables[1:], best[5],
        np.bincount(at, weights=for_columns[3], minlength=count),
    )  # fmt: skip
    of_table = np.array(
        [own_table_whole, for_tables[0], best[1], own_names.of_object, coarse_behind, group_behind, many]
    ).repeat(sizes, axis=1)
    asks = [float(bool(pattern.search(question.text[:LONGEST]))) for pattern in _ASKS]
    rows = _rows(
        len(columns), len(COLUMN_FEATURES),
        own_whole, by_word, own_whole - own_whole.max(initial=-1.0), by_word - by_word.max(initial=-1.0),
        by_word - of_table[2], rank_by_word, shared.of_object[0], shared.of_question, shared.of_object[2],
        anchored, demand_entity, demand_attribute, demand_entity * demand_attribute, has_demand,
        index.facts_by_name.take(columns, axis=1), of_table, all_tables, *asks, np.log1p(len(words)), for_columns[1:],
    )  # fmt: skip
    groups = np.zeros((len(own.groups), len(GROUP_FEATURES)), dtype=np.float32)
    if len(columns):
        by_whole = near_whole[descending(near_whole, own.stretch, len(own.sizes))]
        groups = group_rows(words, own, nearest, by_whole, anchored.take(own.order[count:] - count, axis=1), index)
    rest = _rest(coarse, chosen, own.groups, index)
    rest_group_at = own.groups.searchsorted(index.group_of[rest])
    return Candidates(chosen, columns, at, table_rows, rows, own.of_table, groups, rest, rest_group_at)


def _near_words(
    question: EncodedQuestion, tables: NDArray[np.int64], columns: NDArray[np.int64], index: RoutingIndex
) -> Vectors:
    """How near each of some tables, then of some columns, is to each word of the question."""
    near = np.empty((len(tables) + len(columns), len(question.words)), dtype=np.float32)
    words = np.ascontiguousarray(question.words.T)  # The product is a third faster for it.
    np.matmul(index.table_vectors.take(tables, axis=0), words, out=near[: len(tables)])
    np.matmul(index.column_vectors.take(columns, axis=0), words, out=near[len(tables) :])
    return near


def _rows(count: int, width: int, *features: NDArray[Any] | float) -> Vectors:
    """Features side by side, one row for each object; a number stands for all of them, an array may hold several.
    The numbers of one feature stand together in memory: that is how they are made, and how the networks take them."""
    together = np.empty((width, count), dtype=np.float32)
    number = 0
    for feature in features:
        several = len(feature) if isinstance(feature, np.ndarray) and feature.ndim == 2 else 1
        together[number : number + several] = feature
        number += several
    return together.T


def _chosen(coarse: Vectors, index: RoutingIndex) -> NDArray[np.int64]:
    """The candidate tables: a bridge or a code table is named by no word, but lies beside what is."""
    order = descending(coarse)
    if len(order) <= STRONGEST_TABLES:
        return np.arange(len(order))
    leading, wanted = np.zeros(len(order), dtype=bool), np.zeros(len(order), dtype=bool)
    leading[order[:LEADING_TABLES]] = True
    wanted[order[:STRONGEST_TABLES]] = True
    wanted[index.table_links[leading[index.table_links[:, 0]], 1]] = True
    by_group = by_owner(order, index.group_of, len(index.groups))
    strength = _group_strength(coarse[by_group], index.group_bounds)
    leads = np.zeros(len(index.groups), dtype=bool)
    leads[(-strength).argsort(kind="stable")[:LEADING_GROUPS]] = True
    wanted[by_group[leads.repeat(index.group_tables) & (index.places_in_groups < GROUP_TABLES)]] = True
    by_strength = order[wanted[order]]
    so_far = (index.begins[by_strength + 1] - index.begins[by_strength]).cumsum()
    count = max(LEADING_TABLES, int((so_far <= MOST_COLUMNS).sum()))
    return np.sort(by_strength[:count])


def _rest(
    coarse: Vectors, chosen: NDArray[np.int64], groups: NDArray[np.int64], index: RoutingIndex
) -> NDArray[np.int64]:
    """The tables of these groups that were not chosen, the strongest first."""
    has_chosen = np.zeros(len(index.groups), dtype=bool)
    has_chosen[groups] = True
    is_left = has_chosen[index.group_of]
    is_left[chosen] = False
    left = np.flatnonzero(is_left)
    return left[descending(coarse[left])]


def _anchored(anchors: Sequence[Anchor], index: RoutingIndex) -> tuple[Vectors, Vectors, Vectors]:
    """The strongest anchor of each column by value, and by name, a row each; of each table; and of the values in each
    table's columns."""
    columns = np.zeros((2, len(index.columns)), dtype=np.float32)
    tables = np.zeros(len(index.tables), dtype=np.float32)
    in_tables = np.zeros(len(index.tables), dtype=np.float32)
    # From the weakest to the strongest, so that the last one that is written is the strongest.
    for anchor in sorted(anchors, key=lambda each: each.score):
        number = index.column_numbers.get(anchor.reference)
        if number is None:
            table = index.table_numbers.get(anchor.reference)
            if table is not None:
                tables[table] = anchor.score
        elif anchor.kind == "name":
            columns[1, number] = anchor.score
        else:
            columns[0, number] = anchor.score
            in_tables[index.table_of[number]] = anchor.score
    return columns, tables, in_tables


def _demanded(
    demand: Demand | None, index: RoutingIndex, tables: NDArray[np.int64], columns: NDArray[np.int64]
) -> tuple[Vectors, Vectors, Vectors]:
    """How far each column plays what is demanded: expected demand under its profile, against the strongest demand."""
    if demand is None or index.memberships is None:
        return tuple(np.zeros(size, dtype=np.float32) for size in (len(columns), len(columns), len(tables)))  # type: ignore[return-value]
    scaled = {name: (part / part.max()).astype(np.float32) for name, part in demand.identities.items()}
    entity = index.memberships["entity"][columns] @ scaled["entity"]
    attribute = index.memberships["attribute"][columns] @ scaled["attribute"]
    table = np.zeros(len(tables), dtype=np.float32)
    if index.table_entities is not None:
        table = index.table_entities[tables] @ scaled["entity"]
    return entity, attribute, table


def _named(words: Overlap) -> Vectors:
    """How well the name of each column fits."""
    found, own, asked = words.found[0], words.own[0], words.asked[0]
    fit: Vectors = found / own * np.minimum(1.0, 4 * (found / asked))
    return fit


def _means_of_three(by_table: Vectors, bounds: NDArray[np.int64]) -> NDArray[np.float64]:
    """Per table the mean of its three greatest values, from rows of values by table, the greatest of each first."""
    if not by_table.size:
        return np.zeros((len(by_table), len(bounds) - 1))
    best, is_there = first_of_each(by_table, bounds, 3)
    means: NDArray[np.float64] = (best * is_there).sum(axis=1) / np.maximum(is_there.sum(axis=0), 1)
    return means


def log_of_places(count: int) -> Vectors:
    """The logarithms of so many places, counted from 1."""
    return _LOGS[:count] if count <= len(_LOGS) else np.log1p(np.arange(count, dtype=np.float32))


_LOGS: Vectors = np.log1p(np.arange(2 * MOST_COLUMNS, dtype=np.float32))


def _group_strength(by_group: Vectors, bounds: NDArray[np.int64]) -> NDArray[np.float64]:
    """Per group: its greatest value and half of its second greatest, so that a lone lucky table does not lead. The
    values stand by group, the greatest of each first; no group is empty."""
    if not len(by_group):
        return np.zeros(0)
    best, is_there = first_of_each(by_group, bounds, 2)
    strength: NDArray[np.float64] = best[0] + 0.5 * np.where(is_there[1], best[1], best[0] - 0.3)
    return strength
