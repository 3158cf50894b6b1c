"""What each part is worth: the same training without it, measured on the same validation databases.

In: prepared objects and settings. Out: one row of figures per ablation. Names only and values only hide the rest from
the text and the numbers, in training and in measuring; the flat inventory has one identity per pair seen in training.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from coset.identities.features import numbers_of, text_of
from coset.identities.inventory import COORDINATES, Coordinate, Inventory
from coset.identities.model import CoordinateModel, IdentityModel
from coset.identities.prototypes import RealisationSettings, distances, joint, memberships, realise
from coset.identities.text_encoder import ObjectTexts, TextEncoder
from coset.readings.observed import ObservedColumn
from coset.training.data.labelled_objects import Seen, TrainingObject, TrainingSet
from coset.training.identities.evaluate import quality
from coset.training.identities.fit import fit
from coset.training.identities.stage import Prepared, RecipeSettings, encode_seen, train_coordinate, weigh
from coset.training.settings import Database, FitSettings

Report = Callable[[str, float], None]


def ablations_of(
    training: TrainingSet,
    prepared: Prepared,
    inventory: Inventory,
    model: IdentityModel,
    settings: RecipeSettings,
    report: Report,
) -> list[dict[str, Any]]:
    """Every ablation is trained as the whole is, and measured on the same validation databases."""
    no_soft = replace(settings, entity=_without_soft(settings.entity), attribute=_without_soft(settings.attribute))
    seen: list[tuple[str, Prepared, RecipeSettings, dict[str, bool]]] = [
        ("whole", prepared, settings, {}),
        ("without opposition", prepared, settings, {"opposition": False}),
        ("without support realisation (prior only)", prepared, settings, {"support": False}),
        ("without soft profiles", prepared, no_soft, {}),
    ]
    for name, look in (("names only", names_only), ("values only", values_only)):
        texts, numbers = encode_as(training, look, model.text_encoder, model.table_encoder)
        seen.append((name, replace(prepared, texts=texts, numbers=numbers), settings, {}))
    rows = []
    for name, data, chosen, flags in seen:
        row: dict[str, Any] = {"name": name}
        models: dict[Coordinate, CoordinateModel] = {}
        distances_of: dict[Coordinate, np.ndarray] = {}
        for coordinate in COORDINATES:
            if name == "whole":
                models[coordinate] = model.coordinates[coordinate]
                figures = None
            else:
                models[coordinate], figures = train_coordinate(
                    training, data, inventory, coordinate, chosen,
                    _named(report, name), **flags,
                )  # fmt: skip
            weighed = weigh(training, data, inventory, coordinate, models[coordinate].labels, **flags)
            distance, targets = weighed.measured("validation", models[coordinate])
            found = quality(models[coordinate].profile(distance), targets)
            row[coordinate] = figures["validation"] if figures else asdict(found)
            distances_of[coordinate] = distance
        columns = _columns_of_entity(training)
        row["joint"] = joint_quality(
            {"entity": distances_of["entity"][columns], "attribute": distances_of["attribute"]},
            _column_targets(training, prepared),
            models,
            inventory,
        )
        rows.append(row)
    flat = flat_quality(
        training, prepared.texts, prepared.numbers, prepared.targets, settings.entity, settings.seed, report
    )
    return [*rows, {"name": "flat inventory (pairs seen in training)", "joint": flat}]


def _without_soft(settings: FitSettings) -> FitSettings:
    return replace(settings, objective=replace(settings.objective, soft=0.0))


def _named(report: Report, name: str) -> Report:
    return lambda text, share: report(f"{name}: {text}", share)


def _validation_order(training: TrainingSet, columns_alone: bool) -> list[int]:
    """Validation objects in the order in which `Weighed.measured` gives them: database by database."""
    groups: dict[tuple[str, str], list[int]] = {}
    for number, item in enumerate(training.objects):
        if item.part == "validation" and (item.label.attribute is not None or not columns_alone):
            groups.setdefault(item.label.database, []).append(number)
    return [number for _, members in sorted(groups.items()) for number in members]


def _columns_of_entity(training: TrainingSet) -> np.ndarray:
    """Which of the entity coordinate's validation rows are columns."""
    return np.array([training.objects[n].column is not None for n in _validation_order(training, False)])


def _column_targets(training: TrainingSet, prepared: Prepared) -> dict[Coordinate, np.ndarray]:
    order = _validation_order(training, True)
    return {coordinate: prepared.targets[coordinate][order] for coordinate in COORDINATES}


def names_only(item: TrainingObject) -> Seen:
    """The object with its names alone: no type, value, key or description."""
    table = replace(
        item.table,
        description="",
        columns=tuple(ObservedColumn(name=column.name) for column in item.table.columns[:40]),
    )
    column = None if item.column is None else ObservedColumn(name=item.column.name)
    texts = ObjectTexts(text_of(table, column, max(0, item.position)), text_of(table, None))
    return Seen(texts, np.zeros_like(numbers_of(table, column)))


def values_only(item: TrainingObject) -> Seen:
    """The object without any name: type, values and keys alone."""
    nothing = replace(item.table, name="", label="", description="", columns=())
    if item.column is None:
        return Seen(ObjectTexts("table", "table"), numbers_of(item.table, None))
    column = replace(item.column, name="", label="", description="", refers_to=None)
    seen = replace(nothing, columns=(column,))
    return Seen(ObjectTexts(text_of(seen, column, 0), "table"), numbers_of(item.table, column, item.position))


def encode_as(
    training: TrainingSet, look: Callable[[TrainingObject], Seen], text_encoder: TextEncoder, table_encoder: TextEncoder
) -> tuple[np.ndarray, np.ndarray]:
    seen = [look(item) for item in training.objects]
    return encode_seen(seen, text_encoder, table_encoder)[None], np.stack([each.numbers for each in seen])[None]


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
    profiles = {coordinate: models[coordinate].profile(distances_of[coordinate]) for coordinate in COORDINATES}
    width = len(inventory.of("attribute"))
    found: list[np.ndarray] = []
    pairs = targets["entity"] * width + targets["attribute"]
    for begin in range(0, len(pairs), 500):
        part = slice(begin, begin + 500)
        found.append(joint(profiles["entity"][part], profiles["attribute"][part]).astype(np.float32))
    return asdict(quality(np.concatenate(found), pairs))
