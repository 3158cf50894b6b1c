"""How good trained identities are: top 1, top 3, calibration; how far roles survive that a database is renamed.

In: memberships and annotated identities; for the model card also a training set and a model. Out: figures. Needs no
torch.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coset.identities.inventory import COORDINATES, Coordinate, Inventory
from coset.identities.model import IdentityModel
from coset.identities.prototypes import Array, Calibration
from coset.identities.realise import realise_environment
from coset.readings.observed import ObservedEnvironment
from coset.training.annotation import FOLDER, Key, read_annotation, tab_separated
from coset.training.data.labelled_objects import TrainingSet, disguise_tables
from coset.training.data.written_databases import INVENTED, RECALLED

Report = Callable[[str, float], None]
BINS = 15
ALIKE = 1.01
EXPONENTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
FACTORS: tuple[float, ...] = tuple(np.exp(np.linspace(np.log(0.2), np.log(5.0), 41)).tolist())


@dataclass(frozen=True)
class Quality:
    """Figures of one coordinate over one set of objects."""

    objects: int
    top_1: float
    top_3: float
    calibration_error: float

    def __str__(self) -> str:
        error = f"calibration error {self.calibration_error:.3f}"
        return f"top-1 {self.top_1:.3f}, top-3 {self.top_3:.3f}, {error} ({self.objects})"


def quality(profiles: Array, targets: NDArray[np.int64]) -> Quality:
    """Objects without a target (-1) do not count."""
    known = targets >= 0
    profiles, targets = profiles[known], targets[known]
    order = np.argsort(-profiles, axis=1, kind="stable")[:, :3]
    hits = order == targets[:, None]
    return Quality(
        len(targets), float(hits[:, 0].mean()), float(hits.any(axis=1).mean()),
        calibration_error(profiles.max(axis=1), hits[:, 0]),
    )  # fmt: skip


def calibration_error(confidence: Array, right: NDArray[np.bool_]) -> float:
    """Expected calibration error over 15 equal bins of confidence."""
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    error = 0.0
    for number in range(BINS):
        inside = bins == number
        if inside.any():
            error += inside.mean() * abs(float(confidence[inside].mean()) - float(right[inside].mean()))
    return float(error)


def best_calibration(distance: Array, temperature: float, targets: NDArray[np.int64]) -> Calibration:
    """Of the calibrations under which the memberships' likelihood of the targets is within `ALIKE` of the highest, the
    one with the least calibration error: likelihood alone is nearly flat there."""
    known = targets >= 0
    distance, targets = distance[known], targets[known]
    right = distance.argmin(axis=1) == targets
    found: list[tuple[float, float, Calibration]] = []
    for exponent in EXPONENTS:
        gaps = Calibration(1.0, exponent).temperatures(distance)
        for factor in FACTORS:
            scores = -distance / (temperature * factor * gaps)
            scores -= scores.max(axis=1, keepdims=True)
            total = np.exp(scores).sum(axis=1)
            loss = float((np.log(total) - scores[np.arange(len(scores)), targets]).mean())
            found.append((loss, calibration_error(1.0 / total, right), Calibration(factor, exponent)))
    lowest = min(loss for loss, _, _ in found)
    return min((each for each in found if each[0] <= ALIKE * lowest), key=lambda each: each[1])[2]


def data_figures(training: TrainingSet, inventory: Inventory) -> dict[str, Any]:
    """How much was annotated, and how far two annotators agree."""
    annotated = read_annotation(inventory)
    first = {(item.label.database, item.label.table, item.label.column): item.label for item in training.objects}
    second = read_annotation(inventory, FOLDER / "second.tsv")
    twice = [(first[key], label) for label in second if (key := (label.database, label.table, label.column)) in first]
    both, tables = ([pair for pair in twice if (pair[0].column is None) == of] for of in (False, True))
    return {
        "columns": sum(label.column is not None for label in annotated),
        "tables": sum(label.column is None for label in annotated),
        "databases": len({label.database for label in annotated}),
        "parts": {part: len(training.part(part)) for part in ("train", "dev", "validation")},
        "written": _written_figures(training, INVENTED),
        "recalled": _written_figures(training, RECALLED),
        "second": len(both),
        "second_tables": len(tables),
        "agreement": {
            "entity": sum(one.entity == other.entity for one, other in both) / max(1, len(both)),
            "attribute": sum(one.attribute == other.attribute for one, other in both) / max(1, len(both)),
            "tables": sum(one.entity == other.entity for one, other in tables) / max(1, len(tables)),
        },
    }


def _written_figures(training: TrainingSet, corpus: str) -> dict[str, int]:
    written = [item for item in training.objects if item.label.database[0] == corpus]
    return {
        "databases": len({item.label.database for item in written}),
        "tables": sum(item.column is None for item in written),
        "columns": sum(item.column is not None for item in written),
    }


def renamed(training: TrainingSet, model: IdentityModel, seed: int, report: Report) -> dict[str, float]:
    """The share of validation columns that keep their top-1 identities when their whole database is renamed.

    Disguises: another case; abbreviations; where Spider-Syn has them, synonyms that training did not see; and other
    words for every name, as language models wrote them for another team of the same trade.
    """
    reworded = read_reworded()
    chosen: dict[tuple[str, str], set[str]] = {}
    for item in training.objects:
        if item.part == "validation":
            chosen.setdefault(item.label.database, set()).add(item.table.name)
    kept: dict[str, list[bool]] = {}
    for number, (key, names) in enumerate(sorted(chosen.items())):
        report(f"renaming, database {number + 1} of {len(chosen)}", number / len(chosen))
        whole = training.environments[key]
        tables = tuple(replace(table, columns=table.columns[:24]) for table in whole.tables if table.name in names)
        before = _top(ObservedEnvironment(whole.name, tables), model)
        names_of = {"synonyms": training.held_out_synonyms(key), "reworded": reworded.get(key)}
        for disguise in ("case", "abbreviations", "synonyms", "reworded"):
            others = names_of.get(disguise)
            if disguise in names_of and not others:
                continue
            renamed = disguise_tables(tables, disguise, random.Random(f"{seed}:{key}:{disguise}"), others)
            after = _top(ObservedEnvironment(whole.name, renamed), model)
            for coordinate in COORDINATES:
                kept.setdefault(f"{disguise} {coordinate}", []).extend(before[coordinate] == after[coordinate])
    return {name: float(np.mean(values)) for name, values in sorted(kept.items())}


def read_reworded(path: Path = FOLDER / "reworded.tsv") -> dict[Key, dict[str, list[str]]]:
    """Other words for the names of validation databases, by database and name: only to measure by."""
    found: dict[Key, dict[str, list[str]]] = {}
    for _, (corpus, database, name, other) in tab_separated(path, 4):
        found.setdefault((corpus, database), {})[name] = [other]
    return found


def _top(environment: ObservedEnvironment, model: IdentityModel) -> dict[Coordinate, np.ndarray]:
    embedded, _, realised = realise_environment(environment, model)
    return {coordinate: part.assignment[~embedded.is_table] for coordinate, part in realised.items()}
