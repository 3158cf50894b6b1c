"""What is told of trained identities: how much was annotated, and how far roles survive that a database is renamed.

In: a training set, a model. Out: figures for the model card.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from coset.identities.inventory import COORDINATES, Coordinate, Inventory
from coset.identities.model import IdentityModel
from coset.identities.realise import realise_environment
from coset.readings.observed import ObservedEnvironment
from coset.training.annotation import FOLDER, Key, read_annotation, tab_separated
from coset.training.objects import TrainingSet, disguise_tables
from coset.training.written import INVENTED, RECALLED

Report = Callable[[str, float], None]


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
