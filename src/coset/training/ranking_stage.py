"""The learned combination of routing: fit the four small networks on questions of databases that the routing encoder
did not learn from.

In: candidates with features, and which of them are gold. Out: a `Ranker`. Each question counts the same; objects learn
to stand before the others (a listwise loss) and to know how sure they are (a binary one).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from coset.routing.index import RoutingIndex
from coset.routing.ranking import INPUTS, Network, Ranker, context
from coset.routing.ranking_features import COLUMN_FEATURES, TABLE_FEATURES, Candidates

Report = Callable[[str, float], None]


@dataclass(frozen=True)
class RankingSettings:
    hidden: tuple[int, ...] = (48, 24)
    epochs: int = 10
    batch: int = 16
    """Questions in a step."""
    rate: float = 2e-3
    weight_decay: float = 1e-2
    dropout: float = 0.1
    positive_weight: float = 2.0
    listwise: float = 1.0
    most_rows: int = 700
    """Rows of one question that are learned from."""


@dataclass(frozen=True)
class Example:
    """One question: its candidates, and what it needs, whether that is among the candidates or not."""

    found: Candidates
    index: RoutingIndex
    tables: frozenset[int]
    columns: frozenset[int]
    corpus: str

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
        )
        return replace(self, found=found, index=index)


HIDEABLE: dict[str, tuple[str, ...]] = {
    "meaning": (
        "whole", "by_word", "whole_behind", "by_word_behind", "by_word_in_table", "by_word_rank", "table_whole",
        "table_by_word", "table_best", "table_behind", "table_group_behind", "best", "best_three", "best_by_word",
        "best_three_by_word", "coarse_behind", "group_behind", "group_rank",
    ),
    "words": (
        "name_of_object", "name_of_question", "description_of_question", "value_of_question", "value_of_object",
        "table_name", "best_name", "best_value",
    ),
    "anchors": ("value_anchor", "name_anchor"),
    "demand": ("demand_entity", "demand_attribute", "demand_joint", "has_demand"),
}  # fmt: skip
"""What an ablation may hide: numbers that come from the encoder, from shared words, from anchors, from the demand."""


def train_ranker(examples: Sequence[Example], seed: int, settings: RankingSettings, report: Report) -> Ranker:
    networks: dict[str, Network] = {}
    columns = [example.found.column_features for example in examples]
    tables = [example.found.table_features for example in examples]
    gold_columns = [example.gold_columns for example in examples]
    gold_tables = [example.gold_tables for example in examples]
    networks["columns_alone"] = _fit("columns_alone", columns, gold_columns, seed, settings, report)
    networks["tables_alone"] = _fit("tables_alone", tables, gold_tables, seed, settings, report)
    together = [
        context(
            example.found,
            example.index,
            networks["columns_alone"].logits(example.found.column_features),
            networks["tables_alone"].logits(example.found.table_features),
        )
        for example in examples
    ]
    networks["columns_together"] = _fit(
        "columns_together", [rows for rows, _ in together], gold_columns, seed, settings, report
    )
    networks["tables_together"] = _fit(
        "tables_together", [rows for _, rows in together], gold_tables, seed, settings, report
    )
    return Ranker(networks)


def _fit(
    name: str,
    rows: Sequence[np.ndarray],
    gold: Sequence[np.ndarray],
    seed: int,
    settings: RankingSettings,
    report: Report,
) -> Network:
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
            loss = _loss(logits, torch.cat([targets[number] for number in chosen]), owner, len(chosen), settings)
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


def _loss(logits: Tensor, target: Tensor, owner: Tensor, count: int, settings: RankingSettings) -> Tensor:
    """Per question: the mean over its gold of how far each is before the rest, and how wrong each chance is."""
    weight = torch.tensor(settings.positive_weight)
    single = functional.binary_cross_entropy_with_logits(logits, target, pos_weight=weight, reduction="none")
    positives = torch.zeros(count).index_add(0, owner, target)
    chance = torch.zeros(count).index_add(0, owner, single) / positives
    highest = logits.detach().max()
    others = torch.zeros(count).index_add(0, owner, (logits - highest).exp() * (1 - target))
    others = others.clamp(min=1e-30).log() + highest
    ahead = (torch.logaddexp(logits, others[owner]) - logits) * target
    ahead = torch.zeros(count).index_add(0, owner, ahead) / positives
    return (chance + settings.listwise * ahead).mean()
