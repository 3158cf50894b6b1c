"""The recipe: from the corpora to the weights that ship, in one run of stages that each keep their result.

In: a corpus folder, an output folder, a seed. Out: weights and a model card in the output folder. A stage whose result
is there already is not run again, so an interrupted run goes on where it stopped. Deterministic under its seed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from coset.errors import UserError
from coset.identities.inventory import COORDINATES, Coordinate, Inventory, shipped_inventory
from coset.identities.model import (
    TABLE_FILE,
    TEXT_FILE,
    WORDS_FILE,
    CoordinateModel,
    IdentityModel,
    save_model,
    text_encoders,
)
from coset.training.data.labelled_objects import TrainingSet, read_training_set
from coset.training.encoders.stage import train_encoders
from coset.training.identities.ablations import ablations_of
from coset.training.identities.evaluate import data_figures, renamed
from coset.training.identities.stage import Encoders, Prepared, RecipeSettings, prepare, train_coordinate
from coset.training.model_card import model_card
from coset.training.routing.recipe import RoutingSettings, train_routing

Report = Callable[[str, float], None]
CARD, FIGURES, SETTINGS = "MODEL_CARD.md", "figures.json", "settings.json"


def train(
    corpus: Path,
    out: Path,
    settings: RecipeSettings,
    routing: RoutingSettings,
    report: Report,
    command: str,
    *,
    ablations: bool = False,
) -> dict[str, Any]:
    """All stages. Returns the figures on validation databases. `command` is what the cards say they were made by."""
    if not corpus.is_dir():
        raise UserError(f"'{corpus}' is no folder")
    for file in (TEXT_FILE, TABLE_FILE) if settings.begin_with else ():
        if not (Path(settings.begin_with) / file).is_file():
            raise UserError(f"'{settings.begin_with}' has no {file}: name a folder of trained weights to begin with")
    out.mkdir(parents=True, exist_ok=True)
    inventory = shipped_inventory()
    report("reading the corpora", 0.0)
    training = read_training_set(corpus, inventory, written=settings.written)
    _same_run(out, {
        "objects": len(training.objects), "identities": asdict(settings), "routing": asdict(routing),
    })  # fmt: skip
    train_encoders(corpus, out, settings, routing, report)
    encoders = text_encoders(out)
    prepared = prepare(training, encoders, inventory, out, settings, report)
    model, figures = _identity_stage(training, prepared, inventory, encoders, settings, report)
    figures["data"] = data_figures(training, inventory)
    figures["renamed"] = renamed(training, model, settings.seed, report)
    if ablations:
        figures["ablations"] = ablations_of(training, prepared, inventory, model, settings, report)
    save_model(out, model)
    figures["routing"] = train_routing(corpus, out, training, model, routing, report, command, ablations=ablations)
    (out / CARD).write_text(model_card(figures, command), encoding="utf-8")
    (out / FIGURES).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return figures


def _same_run(out: Path, begun_with: dict[str, Any]) -> None:
    """What is in a folder is gone on from only with the corpus and the settings that it was begun with."""
    path, told = out / SETTINGS, json.dumps(begun_with, indent=1) + "\n"
    if not path.exists() and not (out / WORDS_FILE).exists():
        path.write_text(told, encoding="utf-8")
    elif not path.exists() or path.read_text(encoding="utf-8") != told:
        raise UserError(f"'{out}' was begun with another corpus or other settings: choose another folder")


def _identity_stage(
    training: TrainingSet,
    prepared: Prepared,
    inventory: Inventory,
    encoders: Encoders,
    settings: RecipeSettings,
    report: Report,
) -> tuple[IdentityModel, dict[str, Any]]:
    parts: dict[Coordinate, CoordinateModel] = {}
    figures: dict[str, Any] = {"seed": settings.seed, "settings": asdict(settings)}
    for coordinate in COORDINATES:
        parts[coordinate], found = train_coordinate(training, prepared, inventory, coordinate, settings, report)
        figures[coordinate] = found
    name = f"identities-{settings.seed}-{_digest(parts)}"
    figures["name"] = name
    return IdentityModel(inventory, *encoders, parts, name), figures


def _digest(parts: dict[Coordinate, CoordinateModel]) -> str:
    digest = hashlib.sha256()
    for coordinate in COORDINATES:
        digest.update(parts[coordinate].prior.centres.astype(np.float32).tobytes())
    return digest.hexdigest()[:8]
