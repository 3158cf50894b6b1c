"""The routing encoder: MiniLM fine-tuned so that a question lies near the columns and tables that answer it.

In: questions with their gold tables and columns, the schemas they were asked of, a text model. Out: it, trained so that
its pooled vector and its word vectors both find the gold. A column stays one vector; a question is one pooled vector
and one vector a word, because a question speaks of several columns and each by few of its words. Negatives come from
the same database and from the other questions of the batch. The lower layers stay as published, so that it learns what
transfers; a shallow model stays near a deeper one instead.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional

from coset.identities.text_encoder import WordPieces
from coset.readings.observed import ObservedEnvironment, ObservedTable
from coset.routing.ranking.index import column_text, table_text
from coset.routing.schema_files import Key
from coset.training.data.corpora import Question
from coset.training.encoders.distil import apart, without_words
from coset.training.encoders.text_model import Pace, Report, TextModel, learn_in_steps

LONGEST_QUESTION, LONGEST_OBJECT = 48, 40


@dataclass(frozen=True)
class RetrievalSettings:
    frozen_layers: int = 3
    batch: int = 16
    per_database: int = 70
    """Questions of one database in an epoch, so that no database dominates."""
    epochs: int = 1
    rate: float = 1e-4
    scale: float = 20.0
    gold_columns: int = 2
    other_columns: int = 3
    hide_words: float = 0.4
    """How often labels and descriptions are hidden: many schemas have none."""
    nearness: float = 8.0
    """How much it counts to stay near a deeper model, where there is one."""


FURTHER = RetrievalSettings(frozen_layers=0, per_database=30, rate=6e-5)
"""For a shallow model that says what a deeper one says. Without it all gold tables of .964 of the validation questions
were among the first fifteen, with it of .971."""
COMPARED = 24
"""Objects of a batch that are compared with what a deeper model says of them, beside all questions."""


@dataclass(frozen=True)
class Batch:
    """Texts of questions and of schema objects, which objects are gold for which question, and which count at all."""

    questions: list[str]
    objects: list[str]
    gold: Tensor
    counted: Tensor


def train_retrieval(
    model: TextModel,
    questions: Sequence[Question],
    environments: Mapping[Key, ObservedEnvironment],
    pieces: WordPieces,
    seed: int,
    settings: RetrievalSettings,
    report: Report,
    checkpoint: Path | None = None,
    deeper: TextModel | None = None,
) -> TextModel:
    """Train `model` on these questions, near to `deeper`. Goes on from `checkpoint` where there is one."""
    torch.manual_seed(seed)
    frozen = [model.words, model.positions, *list(model.layers)[: settings.frozen_layers]]
    if settings.frozen_layers:
        model.kinds.requires_grad_(False)
        frozen.append(model.norm)
    for part in frozen:
        part.requires_grad_(False)
    plan = [
        batch
        for epoch in range(settings.epochs)
        for batch in _batches(questions, environments, settings, random.Random(f"{seed}:{epoch}"))
    ]

    def loss_of(step: int) -> Tensor:
        torch.manual_seed(seed * 100_000 + step)
        loss = _loss(model, plan[step], pieces, settings)
        if deeper is not None:
            texts = [*plan[step].questions, *plan[step].objects[:COMPARED]]
            encoded = [pieces.encode(text, LONGEST_QUESTION) for text in texts]
            loss = loss + settings.nearness * apart(model, deeper, encoded, pieces)
        return loss

    pace = Pace(settings.rate, weight_decay=0.0 if deeper else 0.01)
    learn_in_steps(model, len(plan), loss_of, pace, "routing encoder", report, checkpoint)
    return model


def _loss(model: TextModel, batch: Batch, pieces: WordPieces, settings: RetrievalSettings) -> Tensor:
    tokens, mask = pieces.batch([pieces.encode(text, LONGEST_QUESTION) for text in batch.questions])
    question_mask = torch.from_numpy(mask)
    words = model.hidden(torch.from_numpy(tokens), question_mask)
    pooled = model.pooled(words, question_mask)
    tokens, mask = pieces.batch([pieces.encode(text, LONGEST_OBJECT) for text in batch.objects])
    objects = model(torch.from_numpy(tokens), torch.from_numpy(mask))
    whole = pooled @ objects.T
    by_word = functional.normalize(words, dim=-1) @ objects.T
    by_word = by_word.masked_fill(question_mask[:, :, None] == 0, -1.0).amax(dim=1)
    losses = [_contrast(settings.scale * scores, batch.gold, batch.counted) for scores in (whole, by_word)]
    return losses[0] + losses[1]


def _contrast(logits: Tensor, gold: Tensor, counted: Tensor) -> Tensor:
    """Each gold object against all objects of the batch that are not gold for its question."""
    against = logits.masked_fill(gold | ~counted, -math.inf).logsumexp(dim=1, keepdim=True)
    return (torch.logaddexp(logits, against) - logits)[gold].mean()


def _batches(
    questions: Sequence[Question],
    environments: Mapping[Key, ObservedEnvironment],
    settings: RetrievalSettings,
    generator: random.Random,
) -> list[Batch]:
    homes: dict[Key, list[Question]] = {}
    for question in questions:
        if question.columns:
            homes.setdefault(question.database, []).append(question)
    chosen: list[Question] = []
    for _, own in sorted(homes.items()):
        chosen += generator.sample(own, min(settings.per_database, len(own)))
    generator.shuffle(chosen)
    return [
        _batch(chosen[begin : begin + settings.batch], environments, settings, generator)
        for begin in range(0, len(chosen) - settings.batch + 1, settings.batch)
    ]


def _batch(
    questions: Sequence[Question],
    environments: Mapping[Key, ObservedEnvironment],
    settings: RetrievalSettings,
    generator: random.Random,
) -> Batch:
    objects: dict[tuple[Key, str, str | None], str] = {}
    hidden: dict[Key, bool] = {}
    for question in questions:
        hide = hidden.setdefault(question.database, generator.random() < settings.hide_words)
        tables = {table.name: table for table in environments[question.database].tables}
        gold = [(t, c) for t, c in question.columns if t in tables and c in tables[t].names]
        wanted: list[tuple[str, str | None]] = list(generator.sample(gold, min(len(gold), settings.gold_columns)))
        gold_tables = [name for name in question.tables if name in tables]
        wanted += [(generator.choice(gold_tables), None)] if gold_tables else []
        others = [(t.name, c) for t in tables.values() for c in t.names if (t.name, c) not in gold]
        near = [(t, c) for t, c in others if t in gold_tables]
        wanted += generator.sample(near, min(1, len(near)))
        wanted += generator.sample(others, min(settings.other_columns - 1, len(others)))
        other_tables = [name for name in tables if name not in gold_tables]
        wanted += [(generator.choice(other_tables), None)] if other_tables else []
        for table, column in wanted:
            objects.setdefault((question.database, table, column), _text(tables[table], column, hide))
    keys = list(objects)
    gold_matrix = torch.zeros(len(questions), len(keys), dtype=torch.bool)
    counted = torch.ones_like(gold_matrix)
    for row, question in enumerate(questions):
        columns, names = set(question.columns), set(question.tables)
        for at, (database, table, column) in enumerate(keys):
            if database == question.database:
                gold_matrix[row, at] = (table, column) in columns if column is not None else table in names
    return Batch([question.text for question in questions], list(objects.values()), gold_matrix, counted)


def _text(table: ObservedTable, column: str | None, hide: bool) -> str:
    table = without_words(table) if hide else table
    if column is None:
        return table_text(table)
    return column_text(table, table.columns[table.names.index(column)])
