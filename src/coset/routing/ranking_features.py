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

from coset.routing.group_features import GROUP_FEATURES, group_rows, grouped
from coset.routing.index import FACTS, RoutingIndex, Vectors
from coset.routing.question import EncodedQuestion
from coset.routing.request import Anchor, Demand
from coset.routing.word_features import WORD_FEATURES, word_features
from coset.routing.word_index import Overlap, stems_of

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


def candidates(
    question: EncodedQuestion, demand: Demand | None, anchors: Sequence[Anchor], index: RoutingIndex
) -> Candidates:
    """The strongest tables by a coarse score, all their columns, and the features of both."""
    words = stems_of(question.text[:LONGEST])
    names, table_names = index.column_words.overlap(words), index.table_words.overlap(words)
    values = index.value_words.overlap(words)
    whole, table_whole = index.column_vectors @ question.whole, index.table_vectors @ question.whole
    value_anchor, name_anchor, table_value, table_name = _anchored(anchors, index)
    best = _segment_max(whole, index)
    coarse = (
        table_whole + best + 0.5 * table_names.of_object + 0.4 * _best_name(names, index)
        + 0.6 * _best_of_few(value_anchor, index) + 0.3 * np.maximum(table_name, table_value)
    )  # fmt: skip
    chosen = _chosen(coarse, index)
    count = len(chosen)
    begins = index.begins[chosen]
    sizes = index.begins[chosen + 1] - begins
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    at = np.repeat(np.arange(count), sizes)
    place = np.arange(len(at)) - offsets[at]
    columns = begins[at] + place

    near_words, table_near_words = (
        index.column_vectors[columns] @ question.words.T,
        index.table_vectors[chosen] @ question.words.T,
    )
    by_word, table_by_word = near_words.max(axis=1, initial=-1.0), table_near_words.max(axis=1, initial=-1.0)
    own = grouped(chosen, at, index)
    answers = word_features(near_words, own.of_column, len(own.groups))
    table_answers = word_features(table_near_words, own.of_table, len(own.groups))
    own_whole, own_names, own_values = whole[columns], names.at(columns), values.at(columns)
    described = index.described_words.overlap(words).at(columns).of_question
    held, named = value_anchor[columns], name_anchor[columns]
    demand_entity, demand_attribute, table_entity = _demanded(demand, index, chosen, columns)
    has_demand = float(demand is not None and index.memberships is not None)

    group = index.group_of[chosen]
    group_sum, _ = _group_strength(coarse[chosen], group, len(index.groups))
    leading = float(group_sum.max(initial=-9.0))
    group_behind = group_sum[group] - leading
    group_rank = np.argsort(np.argsort(-group_sum, kind="stable"), kind="stable")[group]
    coarse_behind = coarse[chosen] - float(coarse[chosen].max(initial=0.0))

    order = np.lexsort((-by_word, at))
    rank_by_word = np.empty(len(at), dtype=np.float32)
    rank_by_word[order] = place
    best_by_word, three_by_word = _greatest(by_word, offsets), _mean_of_three(by_word[order], place, at, sizes)
    three_whole = _mean_of_three(own_whole[np.lexsort((-own_whole, at))], place, at, sizes)
    many = np.log1p(sizes.astype(np.float64))
    all_tables = np.log1p(len(index.tables))
    table_rows = _rows(
        count, len(TABLE_FEATURES),
        table_whole[chosen], table_by_word, table_names.of_object[chosen], table_names.of_question[chosen],
        _greatest(own_whole, offsets), three_whole, best_by_word, three_by_word,
        _greatest(own_names.of_object, offsets), _greatest(own_values.of_question, offsets), _greatest(held, offsets),
        np.maximum(table_name[chosen], table_value[chosen]), coarse_behind, group_behind, np.log1p(group_rank),
        table_entity, has_demand, many, all_tables, *table_answers, _greatest(answers[2], offsets),
        np.bincount(at, weights=answers[2], minlength=count),
    )  # fmt: skip
    asks = [float(bool(pattern.search(question.text[:LONGEST]))) for pattern in _ASKS]
    rows = _rows(
        len(columns), len(COLUMN_FEATURES),
        own_whole, by_word, own_whole - own_whole.max(initial=-1.0), by_word - by_word.max(initial=-1.0),
        by_word - best_by_word[at], np.log1p(rank_by_word), own_names.of_object, own_names.of_question, described,
        own_values.of_question, own_values.of_object, held, named, demand_entity, demand_attribute,
        demand_entity * demand_attribute, has_demand, *index.facts[columns].T,
        table_whole[chosen][at], table_by_word[at], best_by_word[at], table_names.of_object[chosen][at],
        coarse_behind[at], group_behind[at], many[at], all_tables, *asks, np.log1p(len(words)),
        *answers,
    )  # fmt: skip
    groups = (
        group_rows(
            words, own, near_words, table_near_words, own_whole, table_whole[chosen], held, named, index
        )
        if count and len(columns) else np.zeros((len(own.groups), len(GROUP_FEATURES)), dtype=np.float32)
    )  # fmt: skip
    return Candidates(chosen, columns, at, table_rows, rows, own.of_table, groups)


def _rows(count: int, width: int, *features: NDArray[Any] | float) -> Vectors:
    """Features side by side, one row for each object; a number stands for all of them."""
    together = np.empty((width, count), dtype=np.float32)
    for number, feature in enumerate(features):
        together[number] = feature
    return np.ascontiguousarray(together.T)


def _chosen(coarse: Vectors, index: RoutingIndex) -> NDArray[np.int64]:
    """The candidate tables: a bridge or a code table is named by no word, but lies beside what is."""
    order = np.argsort(-coarse, kind="stable")
    strongest = order[:STRONGEST_TABLES]
    if len(strongest) == len(order):
        return np.arange(len(order))
    leading = np.zeros(len(order), dtype=bool)
    leading[order[:LEADING_TABLES]] = True
    wanted = np.zeros(len(order), dtype=bool)
    wanted[strongest] = True
    wanted[index.table_links[leading[index.table_links[:, 0]], 1]] = True
    strength, place = _group_strength(coarse, index.group_of, len(index.groups))
    leads = np.zeros(len(index.groups), dtype=bool)
    leads[np.argsort(-strength, kind="stable")[:LEADING_GROUPS]] = True
    wanted |= leads[index.group_of] & (place < GROUP_TABLES)
    by_strength = order[wanted[order]]
    so_far = np.cumsum(index.begins[by_strength + 1] - index.begins[by_strength])
    count = max(LEADING_TABLES, int((so_far <= MOST_COLUMNS).sum()))
    return np.sort(by_strength[:count])


def _anchored(anchors: Sequence[Anchor], index: RoutingIndex) -> tuple[Vectors, Vectors, Vectors, Vectors]:
    """The strongest anchor of each column and table: by value, by name."""
    columns, tables = index.column_numbers, index.table_numbers
    found = [np.zeros(size, dtype=np.float32) for size in (len(columns), len(columns), len(tables), len(tables))]
    for anchor in anchors:
        by_name = anchor.kind == "name"
        number = columns.get(anchor.reference)
        if number is not None:
            row = found[1] if by_name else found[0]
        else:
            number = tables.get(anchor.reference)
            row = found[3] if by_name else found[2]
        if number is not None:
            row[number] = max(row[number], anchor.score)
    return found[0], found[1], found[2], found[3]


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


def _segment_max(values: Vectors, index: RoutingIndex) -> Vectors:
    """The greatest value among the columns of each table; 0 for a table without columns."""
    return _greatest(values, index.begins)


def _greatest(values: Vectors, offsets: NDArray[np.int64]) -> Vectors:
    found = np.zeros(len(offsets) - 1, dtype=np.float32)
    filled = np.flatnonzero(offsets[1:] > offsets[:-1])
    if len(filled):
        found[filled] = np.maximum.reduceat(values, offsets[filled])
    return found


def _best_of_few(values: Vectors, index: RoutingIndex) -> Vectors:
    """The same for values of which most are 0 and none is less."""
    some = np.flatnonzero(values)
    found = np.zeros(len(index.tables), dtype=np.float32)
    np.maximum.at(found, index.table_of[some], values[some])
    return found


def _best_name(names: Overlap, index: RoutingIndex) -> Vectors:
    """How well the best column name of each table fits; most names have no word of the question."""
    some = np.flatnonzero(names.found)
    own = names.at(some)
    found = np.zeros(len(index.tables), dtype=np.float32)
    np.maximum.at(found, index.table_of[some], own.of_object * np.minimum(1.0, 4 * own.of_question))
    return found


def _mean_of_three(
    descending: Vectors, place: NDArray[np.int64], owner: NDArray[np.int64], sizes: NDArray[np.int64]
) -> Vectors:
    """Per table the mean of its three greatest values, from all values by table, the greatest of each first."""
    kept = place < 3
    sums = np.bincount(owner[kept], weights=descending[kept], minlength=len(sizes))
    return (sums / np.clip(sizes, 1, 3)).astype(np.float32)


def _group_strength(
    values: Vectors, group: NDArray[np.int64], groups: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Per group: its greatest value and half of its second greatest, so that a lone lucky table does not lead. And the
    place of each table in its group."""
    order = np.lexsort((-values, group))
    owner, ordered = group[order], values[order]
    place = np.arange(len(order)) - np.searchsorted(owner, np.arange(groups))[owner]
    best, second = np.full(groups, -9.0), np.full(groups, np.nan)
    first, next_to = place == 0, place == 1
    best[owner[first]] = ordered[first]
    second[owner[next_to]] = ordered[next_to]
    place_of = np.empty(len(order), dtype=np.int64)
    place_of[order] = place
    return best + 0.5 * np.where(np.isnan(second), best - 0.3, second), place_of
