"""A shallower text encoder that says what a deeper one says: fewer layers, the same vectors.

In: a trained text model, the layers to begin with, texts. Out: a model of so few layers whose vectors, of whole texts
and of single words, lie where the deeper model's lie. No label is needed.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from coset.identities.text_encoder import WordPieces
from coset.readings.observed import ObservedColumn, ObservedTable
from coset.routing.ranking.index import column_text, table_text
from coset.routing.schema_files import read_schemas
from coset.training.data.corpora import SCHEMAS
from coset.training.encoders.text_model import Pace, Report, TextModel, batches_of_like_length, learn_in_steps
from coset.training.routing.examples import RoutingCorpus


@dataclass(frozen=True)
class DistilSettings:
    layers: tuple[int, ...] = (0, 4, 5)
    """The layers of the deeper model that the shallower one begins with. Of all choices of three these say most like
    the whole before anything is learned."""
    questions: int = 160
    columns: int = 220
    """Of one database, at most."""
    tables: int = 5000
    """In all."""
    bare: float = 0.4
    """How often labels and descriptions are hidden: many schemas have none."""
    epochs: int = 1
    batch: int = 48
    pace: Pace = field(default_factory=lambda: Pace(4e-4, rising=0.04, lowest=0.01))
    longest: int = 44


def distil(
    deeper: TextModel,
    texts: Sequence[str],
    pieces: WordPieces,
    seed: int,
    settings: DistilSettings,
    report: Report,
    checkpoint: Path | None = None,
) -> TextModel:
    """Goes on from `checkpoint` where there is one."""
    deeper = deeper.eval()
    model = shallower(deeper, settings.layers)
    encoded, generator = [pieces.encode(text, settings.longest) for text in texts], random.Random(seed)
    plan = [
        batch
        for _ in range(settings.epochs)
        for batch in batches_of_like_length(encoded, settings.batch, generator, len)
    ]
    learn_in_steps(
        model, len(plan), lambda step: apart(model, deeper, plan[step], pieces), settings.pace, "shallower", report,
        checkpoint,
    )  # fmt: skip
    return model


def shallower(deeper: TextModel, layers: Sequence[int]) -> TextModel:
    """The model with these of its layers alone; its words and places stay, the layers may learn."""
    model = TextModel(len(layers), dropout=0.0)
    for name in ("words", "positions", "norm", "kinds"):
        setattr(model, name, copy.deepcopy(getattr(deeper, name)))
    model.layers = nn.ModuleList(copy.deepcopy(deeper.layers[number]) for number in layers)
    model.requires_grad_(True)
    model.words.requires_grad_(False), model.positions.requires_grad_(False)
    return model


def texts_to_learn(corpus: Path, data: RoutingCorpus, seed: int, settings: DistilSettings) -> list[str]:
    """Questions, with their hints and without, columns and tables of all databases but those of validation."""
    generator = random.Random(f"texts:{seed}")
    texts: dict[str, None] = {}
    for key, asked in sorted(data.questions.items()):
        if data.parts[key] != "validation":
            for question in generator.sample(asked, min(len(asked), settings.questions)):
                texts |= dict.fromkeys((question.text, question.hinted))
    tables = []
    for database in read_schemas(corpus / SCHEMAS):
        if data.parts[database.key] == "validation":
            continue
        own = [without_words(t) if generator.random() < settings.bare else t for t in database.environment.tables]
        tables += own
        columns = [(table, column) for table in own for column in table.columns]
        for table, column in generator.sample(columns, min(len(columns), settings.columns)):
            texts[column_text(table, column)] = None
    texts |= dict.fromkeys(map(table_text, generator.sample(tables, min(len(tables), settings.tables))))
    return list(texts)


def without_words(table: ObservedTable) -> ObservedTable:
    """A table without the labels and descriptions that people gave it and its columns."""
    return replace(table, label="", description="", columns=tuple(map(_bare, table.columns)))


def _bare(column: ObservedColumn) -> ObservedColumn:
    return replace(column, label="", description="")


def apart(model: TextModel, deeper: TextModel, batch: Sequence[Sequence[int]], pieces: WordPieces) -> Tensor:
    """How far the vectors of words and of whole texts are from where they should be: one minus the cosine."""
    tokens, mask = (torch.from_numpy(each) for each in pieces.batch(batch))
    with torch.no_grad():
        wanted = deeper.hidden(tokens, mask)
        wanted_whole = deeper.pooled(wanted, mask)
    hidden = model.hidden(tokens, mask)
    known = mask.bool()
    by_word = 1 - functional.cosine_similarity(hidden[known], wanted[known], dim=-1)
    whole = 1 - functional.cosine_similarity(model.pooled(hidden, mask), wanted_whole, dim=-1)
    return by_word.mean() + whole.mean()
