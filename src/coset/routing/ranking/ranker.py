"""The learned combination: how likely each table and column is needed for a question.

In: the features of the candidates and the links between their columns. Out: one probability each. Two small networks
look at each object alone; two more see what the first found of its table, of what it joins with, and of its source, so
that bridge tables and join keys are found though no word of the question names them. A fifth looks at groups of tables
as wholes: which database speaks of all that the question speaks of. Tables are ordered
so that the chance that all needed ones are among the first is highest. Runs on NumPy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coset.routing.ranking.features import (
    COLUMN_FEATURES,
    GROUP_FEATURES,
    TABLE_FEATURES,
    Candidates,
    by_owner,
    descending,
    log_of_places,
)
from coset.routing.ranking.index import RoutingIndex, Vectors

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


COLUMN_CONTEXT = (
    "alone", "table_alone", "best_in_table", "sum_in_table", "rank_in_table", "linked", "linked_table",
    "linked_column", "both_tables", "group_best", "group_behind", "group_chance", "group_rank", "strong_tables",
    "place_in_question",
)  # fmt: skip
TABLE_CONTEXT = (
    "alone", "best_column", "sum_of_columns", "linked_tables", "best_linked", "second_linked", "sum_linked",
    "group_best", "group_behind", "group_sum", "group_chance", "group_rank", "strong_tables", "rank", "rank_in_group",
)  # fmt: skip
HOLDS_VALUE, HOLDS_MORE = 0.5, 1.0
MANY = 200
"""From so many objects on it pays to look for features that are the same for all of them."""
UNSEEN = 0.04
"""The chance that a table is needed, if its group is right, though it is no candidate."""
LOOKED_AGAIN = 24
"""The columns of so many of the strongest tables are looked at again in their surroundings."""
PARTS = ("groups", "columns_alone", "tables_alone", "columns_together", "tables_together")


@dataclass(frozen=True)
class Network:
    """A small feed-forward network with standardised inputs; its last layer gives one logit. Several of them may stand
    side by side: a layer between has then one matrix for each, and the last layer gives their mean."""

    mean: Vectors
    scale: Vectors
    weights: tuple[Vectors, ...]
    biases: tuple[Vectors, ...]

    def logits(self, rows: Vectors) -> Vectors:
        # The numbers of one feature stand together in memory, and so they stay: that is four times as fast.
        weight, hidden = self._first_layer(rows.T)
        hidden = weight.T @ hidden
        for weight, bias in zip(self.weights[1:], self.biases[1:], strict=True):
            hidden.clip(0.0, np.inf, out=hidden)  # Twice as fast as a maximum.
            if weight.ndim == 2:
                hidden = weight.T @ hidden
            else:
                networks, before, after = weight.shape
                own = hidden.reshape(networks, before, -1)
                hidden = (weight.transpose(0, 2, 1) @ own).reshape(networks * after, -1)
            hidden += bias[:, None]
        logits: Vectors = hidden[0]
        return logits

    def _first_layer(self, features: Vectors) -> tuple[Vectors, Vectors]:
        """The matrix of the first layer, and what it takes: the standardised features and a row of ones, for its bias.
        Half of the features of many objects are the same for all: what those say is part of the bias then."""
        weight, bias, mean, scale = self.weights[0], self.biases[0], self.mean, self.scale
        if features.shape[1] >= MANY:
            same = (features == features[:, :1]).all(axis=1)
            shared = ((features[same, 0] - mean[same]) / scale[same]).clip(-6.0, 6.0)
            bias = bias + shared @ weight[same]
            features, weight, mean, scale = features[~same], weight[~same], mean[~same], scale[~same]
        taken = np.empty((len(features) + 1, features.shape[1]), dtype=np.float32)
        standardised = np.subtract(features, mean[:, None], out=taken[:-1])
        standardised /= scale[:, None]
        standardised.clip(-6.0, 6.0, out=standardised)
        taken[-1] = 1.0
        return np.concatenate((weight, bias[None])), taken


@dataclass(frozen=True)
class Ranking:
    """Candidates with the probability that the question needs them, in the order of the index."""

    tables: NDArray[np.int64]
    columns: NDArray[np.int64]
    table_at: NDArray[np.int64]
    table_scores: Vectors
    column_scores: Vectors
    table_chance: Vectors
    """The probability that a table is needed if its group is the right one."""
    group_at: NDArray[np.int64]
    group_chance: Vectors
    rest: NDArray[np.int64]
    rest_group_at: NDArray[np.int64]

    def best_tables(self) -> NDArray[np.int64]:
        """Tables in the order in which all that is needed is found soonest; ties in the order of the index. A table of
        a likely group that nobody looked at closely may be needed too."""
        tables = np.concatenate((self.tables, self.rest))
        chance = np.concatenate((self.table_chance, np.full(len(self.rest), UNSEEN, dtype=np.float32)))
        group_at = np.concatenate((self.group_at, self.rest_group_at))
        return tables[order_of_tables(chance, group_at, self.group_chance)]

    def best_columns(self) -> NDArray[np.int64]:
        return self.columns[descending(self.column_scores)]


@dataclass(frozen=True)
class Ranker:
    """The five networks."""

    networks: Mapping[str, Network]

    def rank(self, found: Candidates, index: RoutingIndex) -> Ranking:
        columns = self.networks["columns_alone"].logits(found.column_features)
        tables = self.networks["tables_alone"].logits(found.table_features)
        groups = self.networks["groups"].logits(found.group_features)
        of_columns, of_tables = surroundings(found, index, columns, tables, groups)
        # The last networks say how likely an object is needed if its group is the right one.
        right = log_chance(groups)
        own = right[found.group_at]
        tables_given = self.networks["tables_together"].logits(beside(found.table_features, *of_tables))
        strongest = np.zeros(len(found.tables), dtype=bool)
        strongest[(-(tables_given + own)).argsort(kind="stable")[:LOOKED_AGAIN]] = True
        again = np.flatnonzero(strongest[found.table_at])
        columns_given = columns.copy()
        looked_at = beside(
            found.column_features.T.take(again, axis=1).T,
            *(each[again] if isinstance(each, np.ndarray) else each for each in of_columns),
        )
        columns_given[again] = self.networks["columns_together"].logits(looked_at)
        columns_given += own[found.table_at]
        anchored = found.column_features[:, COLUMN_FEATURES.index("value_anchor")]
        column_chance = probability(columns_given + HOLDS_MORE * anchored)
        # The corpora hold few values, so the networks learned little of them: a column that holds a value of the
        # question is likely needed, whatever they say. Not its table: in a pool of many the same value is everywhere
        # (doing so lost .03 of the tables in the first five).
        held = HOLDS_VALUE * anchored
        return Ranking(
            found.tables,
            found.columns,
            found.table_at,
            probability(tables_given + own),
            np.maximum(column_chance, held),
            probability(tables_given),
            found.group_at,
            np.exp(right),
            found.rest,
            found.rest_group_at,
        )


def context(
    found: Candidates, index: RoutingIndex, columns: Vectors, tables: Vectors, groups: Vectors
) -> tuple[Vectors, Vectors]:
    """The features again, beside what the first networks said of each object and of its surroundings."""
    of_columns, of_tables = surroundings(found, index, columns, tables, groups)
    return beside(found.column_features, *of_columns), beside(found.table_features, *of_tables)


def surroundings(
    found: Candidates, index: RoutingIndex, columns: Vectors, tables: Vectors, groups: Vectors
) -> tuple[Context, Context]:
    """What the first networks said of each column and of its surroundings, as `COLUMN_CONTEXT` has it; and of each
    table."""
    at, count = found.table_at, len(found.tables)
    column_chance, table_chance = probability(columns), probability(tables)
    best, total = np.zeros(count, dtype=np.float32), np.zeros(count, dtype=np.float32)
    np.maximum.at(best, at, column_chance)
    np.add.at(total, at, column_chance)
    logs = log_of_places(len(columns))
    order = descending(columns)
    place = np.empty(len(columns), dtype=np.float32)
    place[order] = logs
    rank = np.empty(len(columns), dtype=np.float32)
    rank[by_owner(order, at, count)] = logs[np.arange(len(at)) - at.searchsorted(np.arange(count))[at]]

    left, right = _links(found, index)
    linked = np.zeros((4, len(columns)), dtype=np.float32)
    degree, first, second, reach = np.zeros((4, count), dtype=np.float32)
    if len(left):
        other = table_chance[at[right]]
        linked[0, left] = 1.0
        np.maximum.at(linked[1], left, other)
        np.maximum.at(linked[2], left, column_chance[right])
        np.maximum.at(linked[3], left, np.sqrt(other * table_chance[at[left]]))
        degree, first, second, reach = _neighbours(at[left], at[right], table_chance, count)

    group, groups_here = found.group_at, len(groups)
    group_best, group_sum = np.zeros(groups_here, dtype=np.float32), np.zeros(groups_here, dtype=np.float32)
    np.maximum.at(group_best, group, table_chance)
    np.add.at(group_sum, group, table_chance)
    behind = (group_sum - group_sum.max(initial=0.0))[group]
    group_chance = log_chance(groups)[group]
    group_rank = np.empty(groups_here, dtype=np.float32)
    group_rank[(-groups).argsort(kind="stable")] = np.log1p(np.arange(groups_here))
    strong = float(np.log1p((table_chance > 0.5).sum()))
    order = (-tables).argsort(kind="stable")
    table_rank = np.empty(count, dtype=np.float32)
    table_rank[order] = log_of_places(count)
    by_group = by_owner(order, group, groups_here)
    in_group = np.empty(count, dtype=np.float32)
    owner = group[by_group]
    in_group[by_group] = log_of_places(count)[np.arange(count) - owner.searchsorted(owner)]
    group_best, group_sum, group_rank = group_best[group], group_sum[group], group_rank[group]
    return (
        columns, tables[at], best[at], total[at], rank, *linked, group_best[at], behind[at], group_chance[at],
        group_rank[at], strong, place,
    ), (
        tables, best, total, np.log1p(degree), first, second, reach, group_best, behind, group_sum, group_chance,
        group_rank, strong, table_rank, in_group,
    )  # fmt: skip


Context = tuple[Vectors | float, ...]
"""Numbers for each object, or one number for all of them."""


def beside(features: Vectors, *context: Vectors | float) -> Vectors:
    """The features with their context after them; a number stands for all rows. As with the features, the numbers of
    one kind stand together in memory."""
    together = np.empty((features.shape[1] + len(context), len(features)), dtype=np.float32)
    together[: features.shape[1]] = features.T
    for number, column in enumerate(context, start=features.shape[1]):
        together[number] = column
    return together.T


def log_chance(logits: Vectors) -> Vectors:
    """The logarithm of the chance of each group, if one of them is the right one; never below -12."""
    if not len(logits):
        return logits
    highest = logits.max()
    chance: Vectors = np.maximum(logits - highest - np.log(np.exp(logits - highest).sum()), -12.0).astype(np.float32)
    return chance


def probability(logits: Vectors) -> Vectors:
    chances: Vectors = (1.0 / (1.0 + np.exp(-logits.clip(-30.0, 30.0)))).astype(np.float32, copy=False)
    return chances


def _links(found: Candidates, index: RoutingIndex) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The links whose two columns are candidates, as places among them."""
    if not len(index.links) or not len(found.columns):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    place = np.full(len(index.columns), -1, dtype=np.int64)
    place[found.columns] = np.arange(len(found.columns))
    pairs = place[index.links]
    pairs = pairs[(pairs >= 0).all(axis=1)]
    return pairs[:, 0], pairs[:, 1]


def _neighbours(
    left: NDArray[np.int64], right: NDArray[np.int64], chance: Vectors, count: int
) -> tuple[Vectors, Vectors, Vectors, Vectors]:
    """Per table: how many tables it joins with, the two strongest of them, and their sum."""
    apart = left != right
    pairs = np.sort(left[apart] * count + right[apart])
    owner, other = np.divmod(pairs[np.append(True, pairs[1:] != pairs[:-1])[: len(pairs)]], max(1, count))
    value = chance[other]
    degree = np.bincount(owner, minlength=count).astype(np.float32)
    reach = np.bincount(owner, weights=value, minlength=count).astype(np.float32)
    value = value[np.lexsort((-value, owner))]  # Within each owner; the owners are in order already.
    place = np.arange(len(owner)) - owner.searchsorted(owner)
    first, second = np.zeros(count, dtype=np.float32), np.zeros(count, dtype=np.float32)
    first[owner[place == 0]] = value[place == 0]
    second[owner[place == 1]] = value[place == 1]
    return degree, first, second, reach


INPUTS = {
    "groups": GROUP_FEATURES,
    "columns_alone": COLUMN_FEATURES,
    "tables_alone": TABLE_FEATURES,
    "columns_together": (*COLUMN_FEATURES, *COLUMN_CONTEXT),
    "tables_together": (*TABLE_FEATURES, *TABLE_CONTEXT),
}


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
