"""What each part is worth: the same training without it, measured on the same validation databases.

In: prepared objects and settings. Out: one row of figures per ablation. Names only and values only hide the rest from
the text and the numbers, in training and in measuring; the flat inventory has one identity per pair seen in training.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from coset.identities.features import numbers_of, text_of
from coset.identities.inventory import COORDINATES, Coordinate, Inventory
from coset.identities.model import CoordinateModel
from coset.identities.observed import ObservedColumn
from coset.identities.prototypes import RealisationSettings, distances, joint, memberships, realise
from coset.identities.text_encoder import TextEncoder
from coset.training.evaluate import quality
from coset.training.fit import Database, FitSettings, fit
from coset.training.objects import Seen, TrainingObject, TrainingSet

Report = Callable[[str, float], None]


def names_only(item: TrainingObject) -> Seen:
    """The object with its names alone: no type, value, key or description."""
    table = replace(
        item.table,
        description="",
        columns=tuple(ObservedColumn(name=column.name) for column in item.table.columns[:40]),
    )
    column = None if item.column is None else ObservedColumn(name=item.column.name)
    return Seen(
        text_of(table, column, max(0, item.position)), text_of(table, None), np.zeros_like(numbers_of(table, column))
    )


def values_only(item: TrainingObject) -> Seen:
    """The object without any name: type, values and keys alone."""
    nothing = replace(item.table, name="", label="", description="", home="", columns=())
    if item.column is None:
        return Seen("table", "table", numbers_of(item.table, None))
    column = replace(item.column, name="", label="", description="", refers_to=None)
    seen = replace(nothing, columns=(column,))
    return Seen(text_of(seen, column, 0), "table", numbers_of(item.table, column, item.position))


def encode_seen(seen: Sequence[Seen], text_encoder: TextEncoder) -> np.ndarray:
    """The vectors of objects beside those of their tables."""
    vectors = text_encoder.encode([look.text for look in seen] + [look.table for look in seen])
    return np.hstack([vectors[: len(seen)], vectors[len(seen) :]]).astype(np.float32)


def encode_as(
    training: TrainingSet, look: Callable[[TrainingObject], Seen], text_encoder: TextEncoder
) -> tuple[np.ndarray, np.ndarray]:
    seen = [look(item) for item in training.objects]
    return encode_seen(seen, text_encoder)[None], np.stack([each.numbers for each in seen])[None]


def flat_quality(
    training: TrainingSet,
    texts: np.ndarray,
    numbers: np.ndarray,
    targets: dict[Coordinate, np.ndarray],
    settings: FitSettings,
    seed: int,
    report: Report,
) -> dict[str, Any]:
    """Top-1 and top-3 of pairs with one identity per pair seen in training, prior alone."""
    columns = [
        number for number, item in enumerate(training.objects)
        if item.label.attribute is not None and item.label.entity >= 0
    ]  # fmt: skip
    train = [number for number in columns if training.objects[number].part == "train"]
    pair = [(int(targets["entity"][n]), int(targets["attribute"][n])) for n in range(len(training.objects))]
    known = {seen: place for place, seen in enumerate(sorted({pair[number] for number in train}))}
    groups: dict[tuple[str, str], list[int]] = {}
    for number in train:
        groups.setdefault(training.objects[number].label.database, []).append(number)
    databases = []
    for _, members in sorted(groups.items()):
        nothing = np.zeros((len(members), len(known)), dtype=np.float32)
        places = np.array([known[pair[number]] for number in members])
        databases.append(Database(texts[:, members], numbers[:, members], nothing, nothing, places))
    encoder, prior = fit(databases, len(known), seed, settings, lambda text, share: report(f"flat: {text}", share))
    asked = [number for number in columns if training.objects[number].part == "validation"]
    embeddings, precisions = encoder.encode(texts[0][asked], numbers[0][asked])
    bank = realise(embeddings, precisions, np.zeros((len(asked), len(known))), prior, RealisationSettings())
    profile = memberships(distances(embeddings, bank), settings.objective.temperature)
    # A pair that training never saw can not be right, and counts as wrong.
    places = np.array([known.get(pair[number], len(known)) for number in asked])
    padded = np.hstack([profile, np.zeros((len(profile), 1))])
    return asdict(quality(padded, places))


def joint_quality(
    distances_of: dict[Coordinate, np.ndarray],
    targets: dict[Coordinate, np.ndarray],
    models: dict[Coordinate, CoordinateModel],
    inventory: Inventory,
) -> dict[str, Any]:
    """Top-1 and top-3 of pairs by the product of both coordinates, over the same columns."""
    profiles = {
        coordinate: memberships(
            distances_of[coordinate], models[coordinate].settings.temperature * models[coordinate].calibration
        )
        for coordinate in COORDINATES
    }
    width = len(inventory.of("attribute"))
    found: list[np.ndarray] = []
    pairs = targets["entity"] * width + targets["attribute"]
    for begin in range(0, len(pairs), 500):
        part = slice(begin, begin + 500)
        found.append(joint(profiles["entity"][part], profiles["attribute"][part]).astype(np.float32))
    return asdict(quality(np.concatenate(found), pairs))
