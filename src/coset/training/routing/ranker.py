"""The learned combination of routing: fit the four small networks on questions of databases that the routing encoder
did not learn from.

In: candidates with features, and which of them are gold. Out: a `Ranker`. Each question counts the same; objects learn
to stand before the others (a listwise loss) and to know how sure they are (a binary one). What the second round is told
of the first comes from networks that did not learn from that database: what a network says of its own examples is too
sure of itself, and the second round would learn to trust it.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from coset.routing.ranking.features import COLUMN_FEATURES, GROUP_FEATURES, TABLE_FEATURES, WORD_FEATURES, Candidates
from coset.routing.ranking.index import RoutingIndex
from coset.routing.ranking.ranker import INPUTS, Network, Ranker, context, log_chance
from coset.routing.schema_files import Key

Report = Callable[[str, float], None]


@dataclass(frozen=True)
class RankingSettings:
    hidden: tuple[int, ...] = (64, 24)
    epochs: int = 10
    batch: int = 16
    """Questions in a step."""
    rate: float = 2e-3
    weight_decay: float = 1e-2
    dropout: float = 0.1
    positive_weight: float = 2.0
    listwise: float = 1.0
    most_rows: int = 600
    """Rows of one question that are learned from."""
    folds: int = 3
    """Parts, by database, of the examples; what the second round is told of a part was learned from the others."""
    fold_epochs: int = 6
    members: int = 6
    members_of_columns: int = 3
    """So many networks, each from its own seed, speak as one. A question has a thousand columns, so theirs cost most
    of the time, and three rank as well as six."""

    def seeds(self, name: str, seed: int) -> list[int]:
        """Of one of the networks."""
        members = self.members_of_columns if name.startswith("columns") else self.members
        return [seed + 1000 * member for member in range(members)]


@dataclass(frozen=True)
class Example:
    """One question: its candidates, and what it needs, whether that is among the candidates or not."""

    found: Candidates
    index: RoutingIndex
    tables: frozenset[int]
    columns: frozenset[int]
    home: Key

    @property
    def corpus(self) -> str:
        return self.home[0]

    @property
    def gold_groups(self) -> np.ndarray:
        groups = np.zeros(len(self.found.group_features), dtype=bool)
        groups[self.found.group_at[self.gold_tables]] = True
        return groups

    @property
    def gold_tables(self) -> np.ndarray:
        return np.isin(self.found.tables, list(self.tables))

    @property
    def gold_columns(self) -> np.ndarray:
        return np.isin(self.found.columns, list(self.columns))

    def without(self, parts: Sequence[str]) -> Example:
        """The same with some of what is known hidden; the candidates stay those of the whole."""
        hidden = {name for part in parts for name in HIDEABLE.get(part, ())}
        index = replace(self.index, links=self.index.links[:0]) if "graph" in parts else self.index
        found = replace(
            self.found,
            column_features=self.found.column_features * [name not in hidden for name in COLUMN_FEATURES],
            table_features=self.found.table_features * [name not in hidden for name in TABLE_FEATURES],
            group_features=self.found.group_features
            * [name not in hidden and "groups" not in parts for name in GROUP_FEATURES],
        )
        return replace(self, found=found, index=index)


COMPETITION = (*WORD_FEATURES, "best_share", "share_of_columns")
HIDEABLE: dict[str, tuple[str, ...]] = {
    "meaning": (
        "whole", "by_word", "whole_behind", "by_word_behind", "by_word_in_table", "by_word_rank", "table_whole",
        "table_by_word", "table_best", "table_behind", "table_group_behind", "best", "best_three", "best_by_word",
        "best_three_by_word", "coarse_behind", "group_behind", "group_rank",
        *COMPETITION,
        *(name for name in GROUP_FEATURES if name.startswith(("cover_", "table_1", "table_3", "table_6", "column_"))),
    ),
    "words": (
        "name_of_object", "name_of_question", "description_of_question", "value_of_question", "value_of_object",
        "table_name", "best_name", "best_value",
        *(name for name in GROUP_FEATURES if name.startswith(("named", "found", "described", "valued", "table_named"))),
    ),
    "anchors": (
        "value_anchor", "name_anchor", *(name for name in GROUP_FEATURES if "_anchor" in name),
    ),
    "competition": COMPETITION,
    "demand": ("demand_entity", "demand_attribute", "demand_joint", "has_demand"),
}  # fmt: skip
"""What an ablation may hide: numbers that come from the encoder, from shared words, from anchors, from the demand, or
from the competition of objects for words."""


def train_ranker(examples: Sequence[Example], seed: int, settings: RankingSettings, report: Report) -> Ranker:
    networks = _first_round(examples, seed, settings, report)
    part_of = [_fold(example.home, settings.folds) for example in examples]
    quick = replace(settings, epochs=settings.fold_epochs, members=1, members_of_columns=1)
    rows: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    right: dict[int, np.ndarray] = {}
    for part in range(settings.folds):
        others = [example for example, own in zip(examples, part_of, strict=True) if own != part]
        first = _first_round(others, seed, quick, _of_fold(report, part))
        for number, example in enumerate(examples):
            if part_of[number] == part:
                columns, tables, groups = _said(first, example)
                rows[number] = context(example.found, example.index, columns, tables, groups)
                right[number] = log_chance(groups)[example.found.group_at]
    numbers = range(len(examples))
    for name, place in (("columns_together", 0), ("tables_together", 1)):
        gold = [example.gold_tables if place else example.gold_columns for example in examples]
        already = [right[number] if place else right[number][examples[number].found.table_at] for number in numbers]
        inputs = [rows[number][place] for number in numbers]
        networks[name] = _several(name, inputs, gold, seed, settings, report, already)
    return Ranker(networks)


def _first_round(
    examples: Sequence[Example], seed: int, settings: RankingSettings, report: Report
) -> dict[str, Network]:
    """What looks at groups, columns and tables each alone."""
    several = [example for example in examples if len(example.found.group_features) > 1]
    rows = {
        "groups": ([e.found.group_features for e in several], [e.gold_groups for e in several]),
        "columns_alone": ([e.found.column_features for e in examples], [e.gold_columns for e in examples]),
        "tables_alone": ([e.found.table_features for e in examples], [e.gold_tables for e in examples]),
    }
    return {name: _several(name, own, gold, seed, settings, report) for name, (own, gold) in rows.items()}


def _said(networks: Mapping[str, Network], example: Example) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return (
        networks["columns_alone"].logits(example.found.column_features),
        networks["tables_alone"].logits(example.found.table_features),
        networks["groups"].logits(example.found.group_features),
    )


def _of_fold(report: Report, part: int) -> Report:
    return lambda text, share: report(f"fold {part + 1}, {text}", share)


def _fold(home: Key, folds: int) -> int:
    return int(hashlib.blake2b("/".join(home).encode(), digest_size=4).hexdigest(), 16) // 64 % folds


def _several(
    name: str,
    rows: Sequence[np.ndarray],
    gold: Sequence[np.ndarray],
    seed: int,
    settings: RankingSettings,
    report: Report,
    already: Sequence[np.ndarray] | None = None,
) -> Network:
    return _mean_of([_fit(name, rows, gold, each, settings, report, already) for each in settings.seeds(name, seed)])


def _mean_of(networks: Sequence[Network]) -> Network:
    """Several networks side by side in one: its logit is the mean of theirs."""
    depth, count = len(networks[0].weights), len(networks)
    weights: list[np.ndarray] = [np.hstack([each.weights[0] for each in networks])]
    weights += [np.stack([each.weights[layer] for each in networks]) for layer in range(1, depth - 1)]
    weights.append(np.vstack([each.weights[-1] for each in networks]) / count)
    biases: list[np.ndarray] = [np.concatenate([each.biases[layer] for each in networks]) for layer in range(depth - 1)]
    biases.append(np.mean([each.biases[-1] for each in networks], axis=0))
    return Network(networks[0].mean, networks[0].scale, tuple(weights), tuple(biases))


def _fit(
    name: str,
    rows: Sequence[np.ndarray],
    gold: Sequence[np.ndarray],
    seed: int,
    settings: RankingSettings,
    report: Report,
    already: Sequence[np.ndarray] | None = None,
) -> Network:
    """`already` is added to what the network says: it learns what is missing."""
    torch.manual_seed(seed)
    stacked = np.concatenate([row[:: max(1, len(row) // 200)] for row in rows])
    mean, scale = stacked.mean(axis=0), np.maximum(stacked.std(axis=0), 1e-3)
    usable = [number for number, own in enumerate(gold) if own.any()]
    learned = {number: _telling(rows[number], gold[number], settings.most_rows) for number in usable}
    blocks = {
        number: torch.from_numpy(np.clip((rows[number][own] - mean) / scale, -6.0, 6.0).astype(np.float32))
        for number, own in learned.items()
    }
    targets = {number: torch.from_numpy(gold[number][own].astype(np.float32)) for number, own in learned.items()}
    known = {
        number: torch.from_numpy(already[number][own] if already is not None else np.zeros(len(own), dtype=np.float32))
        for number, own in learned.items()
    }
    sizes = (len(INPUTS[name]), *settings.hidden, 1)
    layers = [nn.Linear(before, after) for before, after in itertools.pairwise(sizes)]
    parameters = [parameter for layer in layers for parameter in layer.parameters()]
    optimiser = torch.optim.AdamW(parameters, lr=settings.rate, weight_decay=settings.weight_decay)
    order = np.random.default_rng(seed)
    steps = settings.epochs * (len(usable) // settings.batch + 1)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: max(0.02, 1 - step / steps))
    for epoch in range(settings.epochs):
        total = 0.0
        shuffled = order.permutation(usable)
        for begin in range(0, len(shuffled), settings.batch):
            chosen = shuffled[begin : begin + settings.batch].tolist()
            sizes_of = torch.tensor([len(blocks[number]) for number in chosen])
            owner = torch.repeat_interleave(torch.arange(len(chosen)), sizes_of)
            logits = _forward(layers, torch.cat([blocks[number] for number in chosen]), settings.dropout)
            logits = logits + torch.cat([known[number] for number in chosen])
            target = torch.cat([targets[number] for number in chosen])
            loss = _loss(logits, target, owner, len(chosen), settings, single=name != "groups")
            optimiser.zero_grad()
            loss.backward()
            optimiser.step(), schedule.step()
            total += loss.item() * len(chosen)
        report(f"{name}, epoch {epoch + 1}, loss {total / max(1, len(usable)):.4f}", (epoch + 1) / settings.epochs)
    return Network(
        mean.astype(np.float32),
        scale.astype(np.float32),
        tuple(layer.weight.detach().numpy().T.copy() for layer in layers),
        tuple(layer.bias.detach().numpy().copy() for layer in layers),
    )


def _telling(rows: np.ndarray, gold: np.ndarray, most: int) -> np.ndarray:
    """The rows to learn from: the gold, those that look most like it, and a few of the rest."""
    if len(rows) <= most:
        return np.arange(len(rows))
    order = np.argsort(-rows[:, 0], kind="stable")
    kept = np.concatenate([np.flatnonzero(gold), order[: most * 3 // 4], order[most * 3 // 4 :: 8][: most // 4]])
    return np.unique(kept)


def _forward(layers: Sequence[nn.Linear], rows: Tensor, dropout: float) -> Tensor:
    for layer in layers[:-1]:
        rows = functional.dropout(functional.relu(layer(rows)), dropout, True)
    logits: Tensor = layers[-1](rows)[:, 0]
    return logits


def _loss(
    logits: Tensor, target: Tensor, owner: Tensor, count: int, settings: RankingSettings, *, single: bool
) -> Tensor:
    """Per question: the mean over its gold of how far each is before the rest, and (`single`) how wrong each chance
    is. Groups exclude each other, so that theirs is the first alone."""
    weight = torch.tensor(settings.positive_weight)
    each = functional.binary_cross_entropy_with_logits(logits, target, pos_weight=weight, reduction="none")
    positives = torch.zeros(count).index_add(0, owner, target)
    chance = torch.zeros(count).index_add(0, owner, each) / positives
    highest = logits.detach().max()
    others = torch.zeros(count).index_add(0, owner, (logits - highest).exp() * (1 - target))
    others = others.clamp(min=1e-30).log() + highest
    ahead = (torch.logaddexp(logits, others[owner]) - logits) * target
    ahead = torch.zeros(count).index_add(0, owner, ahead) / positives
    return (chance + settings.listwise * ahead).mean() if single else ahead.mean()
