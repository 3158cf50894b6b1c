"""Stage 2: features and signals of all annotated objects, and one encoder, prior and calibration per coordinate.

In: the training set, trained text encoders, settings. Out: coordinate models with their quality on dev and validation.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from coset.identities.encoder import WAYS, Committee, as_one
from coset.identities.inventory import Coordinate, Inventory, Lexicon
from coset.identities.labelers import LABELERS
from coset.identities.model import CoordinateModel
from coset.identities.prototypes import Prior, RealisationSettings, distances, realise
from coset.identities.signals import LabelModel, Look, Signal, fit_label_model, signed_evidence
from coset.identities.text_encoder import WIDTH, TextEncoder, encode_in_tables
from coset.readings.observed import ObservedEnvironment
from coset.training.annotation import Key
from coset.training.data.labelled_objects import Seen, TrainingSet, plain, variant
from coset.training.identities.evaluate import best_calibration, quality
from coset.training.settings import (
    OF_ATTRIBUTES,
    OF_COLUMNS,
    OF_ENTITIES,
    OF_TABLES,
    Database,
    FineTuneSettings,
    FitSettings,
)

Report = Callable[[str, float], None]
Encoders = tuple[TextEncoder, TextEncoder]
"""Of columns and of tables."""
VECTORS = "vectors.npz"


@dataclass(frozen=True)
class RecipeSettings:
    seed: int = 1
    written: int = 1
    """One in so many of the databases that language models wrote is learned from."""
    variants: int = 1
    """Disguised variants of each object that stage 2 sees beside the plain one."""
    columns: FineTuneSettings = OF_COLUMNS
    tables: FineTuneSettings = OF_TABLES
    begin_with: str = ""
    """Folder of trained encoders of columns and tables that learn further; without it they begin as published."""
    entity: FitSettings = OF_ENTITIES
    attribute: FitSettings = OF_ATTRIBUTES

    def fit_of(self, coordinate: Coordinate) -> FitSettings:
        return self.entity if coordinate == "entity" else self.attribute

    def short(self) -> RecipeSettings:
        """As much of it as two cores do in three quarters of an hour, routing included."""
        return replace(
            self, written=8,
            columns=replace(self.columns, epochs=1, rotation=1), tables=replace(self.tables, epochs=2),
            entity=replace(self.entity, members=1), attribute=replace(self.attribute, epochs=11, members=1),
        )  # fmt: skip


@dataclass(frozen=True)
class Prepared:
    """Features, signals and targets of all annotated objects, in the order of the training set."""

    texts: np.ndarray
    numbers: np.ndarray
    signals: list[list[Signal]]
    targets: dict[Coordinate, np.ndarray]


@dataclass(frozen=True)
class Weighed:
    """All objects in one coordinate with their signed evidence."""

    training: TrainingSet
    prepared: Prepared
    coordinate: Coordinate
    supporting: np.ndarray
    opposing: np.ndarray

    def databases(self, part: str) -> list[Database]:
        """The objects of a part that have a target, by database. A database of which only tables are known is no
        environment to realise: without them stage 2 is a little better."""
        targets, environments = self.prepared.targets[self.coordinate], with_columns(self.training)
        groups: dict[tuple[str, str], list[int]] = {}
        for number, item in enumerate(self.training.objects):
            if item.part == part and targets[number] >= 0:
                groups.setdefault(item.label.database, []).append(number)
        return [
            Database(
                self.prepared.texts[:, numbers], self.prepared.numbers[:, numbers],
                self.supporting[numbers].astype(np.float32), self.opposing[numbers].astype(np.float32),
                targets[numbers],
            )
            for database, numbers in sorted(groups.items())
            if part != "train" or database in environments
        ]  # fmt: skip

    def measured(self, part: str, model: CoordinateModel) -> tuple[np.ndarray, np.ndarray]:
        """Distances and targets of one part, each database realised by itself from its own signed evidence."""
        found, targets = [], []
        for database in self.databases(part):
            embeddings, precisions = model.encoder.encode(database.texts[0], database.numbers[0])
            bank = realise(embeddings, precisions, database.supporting.astype(np.float64), model.prior, model.settings)
            found.append(distances(embeddings, bank))
            targets.append(database.targets)
        return np.concatenate(found), np.concatenate(targets)


def prepare(
    training: TrainingSet,
    encoders: Encoders,
    inventory: Inventory,
    out: Path,
    settings: RecipeSettings,
    report: Report,
) -> Prepared:
    """What the quantised text encoders say of every object, plain and disguised; and what the labelers say."""
    signals = signals_of(training, inventory)
    if (out / VECTORS).exists():
        stored = np.load(out / VECTORS)
        texts, numbers = stored["texts"], stored["numbers"]
    else:
        generator = random.Random(f"variants:{settings.seed}")
        layers = [[plain(item) for item in training.objects]]
        for _ in range(settings.variants):
            layers.append(disguised(training, generator))
        numbers = np.stack([np.stack([look.numbers for look in layer]) for layer in layers])
        known = with_columns(training)
        asked = [number for number, item in enumerate(training.objects) if item.label.database in known]
        texts = np.zeros((len(layers), len(training.objects), WAYS * WIDTH), dtype=np.float32)
        for number, layer in enumerate(layers):
            report(f"encoding variant {number + 1} of {len(layers)}", number / len(layers))
            texts[number, asked] = encode_seen([layer[place] for place in asked], *encoders)
        np.savez(out / VECTORS, texts=texts, numbers=numbers)
    return Prepared(texts, numbers, signals, targets_of(training))


def seen_plainly(training: TrainingSet, encoders: Encoders, inventory: Inventory) -> Prepared:
    """All objects as they are, in one variant: what a set that is in disguise already needs."""
    looks = [plain(item) for item in training.objects]
    return Prepared(
        encode_seen(looks, *encoders)[None], np.stack([look.numbers for look in looks])[None],
        signals_of(training, inventory), targets_of(training),
    )  # fmt: skip


def signals_of(training: TrainingSet, inventory: Inventory) -> list[list[Signal]]:
    """What the labelers say of every object."""
    lexicon, empty = Lexicon(inventory), ObservedEnvironment("", ())
    found = []
    for item in training.objects:
        look = Look(inventory, lexicon, empty, item.table, item.column, item.position)
        found.append([signal for labeler in LABELERS for signal in labeler.look(look)])
    return found


def targets_of(training: TrainingSet) -> dict[Coordinate, np.ndarray]:
    """The annotated identities; -1 where there is none."""
    return {
        "entity": np.array([item.label.entity for item in training.objects]),
        "attribute": np.array(
            [-1 if item.label.attribute is None else item.label.attribute for item in training.objects]
        ),
    }


def with_columns(training: TrainingSet) -> set[Key]:
    """The databases of which not only tables are known."""
    return {item.label.database for item in training.objects if item.column is not None}


def disguised(training: TrainingSet, generator: random.Random) -> list[Seen]:
    """A variant of every object. The objects of a table see the same variant of it."""
    looks = [variant(item, generator, training.synonyms) for item in training.objects]
    tables = {
        (item.label.database, item.label.table): look.text
        for item, look in zip(training.objects, looks, strict=True)
        if item.column is None
    }
    whole = [tables.get((item.label.database, item.label.table), "") for item in training.objects]
    return [
        replace(look, texts=replace(look.texts, table=table or look.texts.table))
        for look, table in zip(looks, whole, strict=True)
    ]


def train_coordinate(
    training: TrainingSet,
    prepared: Prepared,
    inventory: Inventory,
    coordinate: Coordinate,
    settings: RecipeSettings,
    report: Report,
    *,
    opposition: bool = True,
    support: bool = True,
) -> tuple[CoordinateModel, dict[str, Any]]:
    """One coordinate: label model, encoder and prior, calibration on dev, quality on dev and validation."""
    own = own_signals(prepared, coordinate, opposition)
    labels = fit_label_model([own[number] for number in training.part("train")], len(inventory.of(coordinate)))
    weighed = weigh(training, prepared, inventory, coordinate, labels, opposition=opposition, support=support)
    from coset.training.identities.fit import fit

    chosen = settings.fit_of(coordinate)
    databases = weighed.databases("train")
    members = [
        fit(databases, len(inventory.of(coordinate)), settings.seed + number, chosen,
            lambda text, share: report(f"{coordinate}: {text}", share))
        for number in range(chosen.members)
    ]  # fmt: skip
    wanted = chosen.objective
    model = CoordinateModel(
        Committee(tuple(encoder for encoder, _ in members)),
        Prior(*as_one([(prior.centres, prior.precisions) for _, prior in members])),
        labels,
        RealisationSettings(wanted.temperature, wanted.shrinkage, wanted.support_cap, wanted.epsilon),
        wanted.opposition_margin,
    )
    distance, targets = weighed.measured("dev", model)
    model = replace(model, calibration=best_calibration(distance, wanted.temperature, targets))
    found: dict[str, Any] = {}
    for part in ("dev", "validation"):
        distance, targets = weighed.measured(part, model)
        found[part] = asdict(quality(model.profile(distance), targets))
    return model, found


def weigh(
    training: TrainingSet,
    prepared: Prepared,
    inventory: Inventory,
    coordinate: Coordinate,
    labels: LabelModel,
    *,
    opposition: bool = True,
    support: bool = True,
) -> Weighed:
    """What the labelers say in one coordinate, weighed; an ablation leaves out one side of it."""
    own = own_signals(prepared, coordinate, opposition)
    supporting, opposing, _ = signed_evidence(own, len(inventory.of(coordinate)), labels)
    if not support:
        supporting = np.zeros_like(supporting)
    if not opposition:
        opposing = np.zeros_like(opposing)
    return Weighed(training, prepared, coordinate, supporting, opposing)


def own_signals(prepared: Prepared, coordinate: Coordinate, opposition: bool) -> list[list[Signal]]:
    return [
        [signal for signal in each if signal.coordinate == coordinate and (opposition or signal.supports)]
        for each in prepared.signals
    ]


def encode_seen(seen: Sequence[Seen], text_encoder: TextEncoder, table_encoder: TextEncoder) -> np.ndarray:
    """The vectors of objects beside those of the tables about them."""
    return encode_in_tables(text_encoder, table_encoder, [look.texts for look in seen])
