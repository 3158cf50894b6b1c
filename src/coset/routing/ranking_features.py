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

import numpy as np
from numpy.typing import NDArray

from coset.routing.group_features import GROUP_FEATURES, group_rows, grouped
from coset.routing.index import FACTS, RoutingIndex, Vectors
from coset.routing.question import EncodedQuestion
from coset.routing.request import Anchor, Demand
from coset.routing.word_index import stems_of

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
    "question_length",
)  # fmt: skip
TABLE_FEATURES = (
    "whole", "by_word", "name_of_object", "name_of_question", "best", "best_three", "best_by_word",
    "best_three_by_word", "best_name", "best_value", "value_anchor", "name_anchor", "coarse_behind", "group_behind",
    "group_rank", "demand_entity", "has_demand", "columns", "tables",
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
    begins = index.begins[:-1]
    best = _segment_max(whole, index)
    best_name = _segment_max(names.of_object * np.minimum(1.0, 4 * names.of_question), index)
    coarse = (
        table_whole + best + 0.5 * table_names.of_object + 0.4 * best_name
        + 0.6 * _segment_max(value_anchor, index) + 0.3 * np.maximum(table_name, table_value)
    )  # fmt: skip
    chosen = _chosen(coarse, index)
    count = len(chosen)
    sizes = index.begins[chosen + 1] - begins[chosen]
    columns = np.concatenate([np.arange(begins[t], index.begins[t + 1]) for t in chosen]) if count else np.zeros(0, int)
    at = np.repeat(np.arange(count), sizes)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    near_words, table_near_words = (
        index.column_vectors[columns] @ question.words.T,
        index.table_vectors[chosen] @ question.words.T,
    )
    by_word, table_by_word = near_words.max(axis=1, initial=-1.0), table_near_words.max(axis=1, initial=-1.0)
    own_whole, own_names = whole[columns], names.of_object[columns]
    described = index.described_words.overlap(words).of_question[columns]
    own_values = value_anchor[columns]
    demand_entity, demand_attribute, table_entity = _demanded(demand, index, chosen, columns)
    has_demand = float(demand is not None and index.memberships is not None)

    group = index.group_of[chosen]
    group_sum = _group_strength(coarse[chosen], group, len(index.groups))
    leading = float(group_sum.max(initial=-9.0))
    group_behind = group_sum[group] - leading
    group_rank = np.argsort(np.argsort(-group_sum, kind="stable"), kind="stable")[group]
    coarse_behind = coarse[chosen] - float(coarse[chosen].max(initial=0.0))

    best_by_word, three_by_word = _best_three(by_word, offsets)
    best_whole, three_whole = _best_three(own_whole, offsets)
    best_own_name, _ = _best_three(own_names, offsets)
    best_value, _ = _best_three(values.of_question[columns], offsets)
    best_value_anchor, _ = _best_three(own_values, offsets)
    many = np.log1p(sizes.astype(np.float64))
    table_rows = np.stack(
        [
            table_whole[chosen], table_by_word, table_names.of_object[chosen], table_names.of_question[chosen],
            best_whole, three_whole, best_by_word, three_by_word, best_own_name, best_value, best_value_anchor,
            np.maximum(table_name[chosen], table_value[chosen]), coarse_behind, group_behind, np.log1p(group_rank),
            table_entity, np.full(count, has_demand), many, np.full(count, np.log1p(len(index.tables))),
        ], axis=1,
    ) if count else np.zeros((0, len(TABLE_FEATURES)))  # fmt: skip
    asks = np.array(
        [*(float(bool(pattern.search(question.text[:LONGEST]))) for pattern in _ASKS), np.log1p(len(words))]
    )
    rows = np.column_stack(
        [
            own_whole, by_word, own_whole - own_whole.max(initial=-1.0), by_word - by_word.max(initial=-1.0),
            by_word - best_by_word[at], _rank_in_table(by_word, at),
            own_names, names.of_question[columns], described, values.of_question[columns], values.of_object[columns],
            own_values, name_anchor[columns], demand_entity, demand_attribute, demand_entity * demand_attribute,
            np.full(len(columns), has_demand), index.facts[columns],
            table_whole[chosen][at], table_by_word[at], best_by_word[at], table_names.of_object[chosen][at],
            coarse_behind[at], group_behind[at], many[at], np.full(len(columns), np.log1p(len(index.tables))),
            np.broadcast_to(asks, (len(columns), len(asks))),
        ]
    ) if len(columns) else np.zeros((0, len(COLUMN_FEATURES)))  # fmt: skip
    own = grouped(chosen, at, index)
    groups = (
        group_rows(
            question, words, own, near_words, table_near_words, own_whole, table_whole[chosen], own_values,
            name_anchor[columns], index,
        )
        if count and len(columns) else np.zeros((len(own.groups), len(GROUP_FEATURES)), dtype=np.float32)
    )  # fmt: skip
    return Candidates(
        chosen, columns, at, table_rows.astype(np.float32), rows.astype(np.float32), own.of_table, groups
    )  # fmt: skip


def _chosen(coarse: Vectors, index: RoutingIndex) -> NDArray[np.int64]:
    """The candidate tables: a bridge or a code table is named by no word, but lies beside what is."""
    order = np.argsort(-coarse, kind="stable")
    strongest = order[:STRONGEST_TABLES]
    if len(strongest) == len(order):
        return np.arange(len(order))
    leading = np.zeros(len(order), dtype=bool)
    leading[order[:LEADING_TABLES]] = True
    beside = index.table_links[leading[index.table_links[:, 0]], 1]
    strength = _group_strength(coarse, index.group_of, len(index.groups))
    leading_groups = np.argsort(-strength, kind="stable")[:LEADING_GROUPS]
    owner = index.group_of[order]
    near = [order[owner == group][:GROUP_TABLES] for group in leading_groups]
    chosen = np.unique(np.concatenate([strongest, beside, *near]))
    by_strength = chosen[np.argsort(-coarse[chosen], kind="stable")]
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
    found = np.zeros(len(index.tables), dtype=np.float32)
    filled = np.flatnonzero(index.begins[1:] > index.begins[:-1])
    if len(filled):
        found[filled] = np.maximum.reduceat(values, index.begins[filled])
    return found


def _best_three(values: Vectors, offsets: NDArray[np.int64]) -> tuple[Vectors, Vectors]:
    """Per table: its greatest value, and the mean of its three greatest."""
    count = len(offsets) - 1
    owner = np.repeat(np.arange(count), np.diff(offsets))
    order = np.lexsort((-values, owner))
    place = np.arange(len(values)) - offsets[owner]
    kept = place < 3
    sums = np.bincount(owner[kept], weights=values[order][kept], minlength=count)
    best = np.zeros(count)
    best[owner[place == 0]] = values[order][place == 0]
    return best.astype(np.float32), (sums / np.clip(np.diff(offsets), 1, 3)).astype(np.float32)


def _rank_in_table(values: Vectors, owner: NDArray[np.int64]) -> Vectors:
    order = np.lexsort((-values, owner))
    begins = np.searchsorted(owner, owner)
    rank = np.empty(len(values), dtype=np.float32)
    rank[order] = np.arange(len(values)) - begins
    return np.log1p(rank)


def _group_strength(values: Vectors, group: NDArray[np.int64], groups: int) -> NDArray[np.float64]:
    """Per group: its greatest value and half of its second greatest, so that a lone lucky table does not lead."""
    order = np.lexsort((-values, group))
    owner = group[order]
    place = np.arange(len(order)) - np.searchsorted(owner, owner)
    best, second = np.full(groups, -9.0), np.full(groups, np.nan)
    best[owner[place == 0]] = values[order][place == 0]
    second[owner[place == 1]] = values[order][place == 1]
    return best + 0.5 * np.where(np.isnan(second), best - 0.3, second)
