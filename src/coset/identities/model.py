"""The trained model of both coordinates, as it ships: text encoder, encoders, priors, label models, settings.

In: the weights folder and an inventory. Out: an `IdentityModel` aligned with that inventory. Identities that the
weights do not know (a user's own) get a prior from their example names. Weights of another version are refused in one
sentence.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from coset.errors import CosetError
from coset.identities.encoder import Encoder, Mixture, Perceptron
from coset.identities.features import NUMBER_NAMES, features_of
from coset.identities.inventory import COORDINATES, Coordinate, Inventory, load_inventory
from coset.identities.label_model import LabelModel
from coset.identities.observed import ObservedColumn, ObservedEnvironment, ObservedTable
from coset.identities.prototypes import Array, Calibration, Prior, RealisationSettings, memberships
from coset.identities.text_encoder import LONGEST_TABLE, TextEncoder, encode_in_tables

VERSION = 3
MODEL_FILE, TENSOR_FILE, TEXT_FILE, TABLE_FILE, VOCABULARY_FILE, WORDS_FILE = (
    "model.json", "identities.safetensors", "text_encoder.onnx", "table_encoder.onnx", "vocabulary.txt",
    "words.safetensors",
)  # fmt: skip


@dataclass(frozen=True)
class CoordinateModel:
    """One coordinate: its encoder, prior, label model and settings."""

    encoder: Encoder
    prior: Prior
    labels: LabelModel
    settings: RealisationSettings
    opposition_margin: float
    calibration: Calibration = field(default_factory=Calibration)

    def profile(self, distance: Array) -> Array:
        """The memberships of objects at these distances, calibrated."""
        return memberships(distance, self.settings.temperature * self.calibration.temperatures(distance))


@dataclass(frozen=True)
class IdentityModel:
    """Everything that is needed to realise an environment."""

    inventory: Inventory
    text_encoder: TextEncoder
    """Of columns, and of any other short text."""
    table_encoder: TextEncoder
    coordinates: dict[Coordinate, CoordinateModel]
    name: str
    """Says which training made it; rows of a state remember it."""


@lru_cache(maxsize=4)
def load_model(own_inventory: Path | None = None, folder: Path | None = None, threads: int = 0) -> IdentityModel:
    """The model that ships, or the one in `folder`, over the shipped inventory and the user's own."""
    folder = folder or Path(str(files("coset.identities").joinpath("weights")))
    inventory = load_inventory(own_inventory)
    description = _description(folder)
    tensors = _tensors(folder)
    text_encoder, table_encoder = text_encoders(folder, threads)
    coordinates: dict[Coordinate, CoordinateModel] = {}
    for coordinate in COORDINATES:
        trained = description["coordinates"][coordinate]
        encoder = _encoder(tensors, coordinate, trained["lowest_precision"], trained["highest_precision"])
        prior = Prior(
            tensors[f"{coordinate}.prior_centres"].astype(np.float64),
            tensors[f"{coordinate}.prior_precisions"].astype(np.float64),
        )
        coordinates[coordinate] = CoordinateModel(
            encoder,
            _aligned(prior, trained["identities"], inventory, coordinate, encoder, text_encoder, table_encoder),
            LabelModel({(name, bool(supports)): value for name, supports, value in trained["labelers"]}),
            RealisationSettings(**trained["settings"]),
            trained["opposition_margin"],
            Calibration(**trained["calibration"]),
        )
    return IdentityModel(inventory, text_encoder, table_encoder, coordinates, description["name"])


def text_encoders(folder: Path, threads: int = 0) -> tuple[TextEncoder, TextEncoder]:
    """The encoder of columns and that of tables."""
    shared = folder / VOCABULARY_FILE, folder / WORDS_FILE, threads
    return TextEncoder(folder / TEXT_FILE, *shared), TextEncoder(folder / TABLE_FILE, *shared, LONGEST_TABLE)


def save_model(folder: Path, model: IdentityModel) -> None:
    """Write encoders, priors, label models and settings; the text encoder's files are written by its training."""
    from safetensors.numpy import save_file

    tensors: dict[str, Any] = {}
    coordinates: dict[str, Any] = {}
    for coordinate, part in model.coordinates.items():
        for name, array in _arrays(part.encoder, coordinate).items():
            # Half precision is enough: what a role is turns on differences a thousand times as large.
            tensors[name] = np.ascontiguousarray(array.astype(np.float16))
        tensors[f"{coordinate}.prior_centres"] = part.prior.centres.astype(np.float32)
        tensors[f"{coordinate}.prior_precisions"] = part.prior.precisions.astype(np.float32)
        coordinates[coordinate] = {
            "identities": list(model.inventory.ids(coordinate)),
            "lowest_precision": part.encoder.lowest_precision,
            "highest_precision": part.encoder.highest_precision,
            "settings": asdict(part.settings),
            "opposition_margin": part.opposition_margin,
            "calibration": asdict(part.calibration),
            "labelers": [
                [name, supports, round(value, 4)] for (name, supports), value in part.labels.accuracies.items()
            ],
        }
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors, folder / TENSOR_FILE)
    description = {"version": VERSION, "name": model.name, "numbers": list(NUMBER_NAMES), "coordinates": coordinates}
    (folder / MODEL_FILE).write_text(json.dumps(description, indent=1) + "\n", encoding="utf-8")


def _arrays(part: Encoder | Mixture | Perceptron, name: str) -> dict[str, Array]:
    """All arrays of a part of an encoder under their path."""
    found: dict[str, Array] = {}
    for each in fields(part):
        value = getattr(part, each.name)
        if isinstance(value, np.ndarray):
            found[f"{name}.{each.name}"] = value
        elif isinstance(value, (Mixture, Perceptron)):
            found |= _arrays(value, f"{name}.{each.name}")
    return found


def _encoder(tensors: Mapping[str, Any], name: str, lowest: float, highest: float) -> Encoder:
    arrays = {path: array.astype(np.float64) for path, array in tensors.items() if path.startswith(f"{name}.")}

    def perceptron(path: str) -> Perceptron:
        return Perceptron(*(arrays[f"{path}.{each.name}"] for each in fields(Perceptron)))

    def mixture(path: str) -> Mixture:
        gate = (arrays[f"{path}.{each.name}"] for each in fields(Mixture) if each.name != "tables")
        return Mixture(perceptron(f"{path}.tables"), *gate)

    return Encoder(
        arrays[f"{name}.number_mean"], arrays[f"{name}.number_scale"], perceptron(f"{name}.own"),
        arrays[f"{name}.precision_weight"], arrays[f"{name}.precision_bias"],
        mixture(f"{name}.mixture") if f"{name}.mixture.share_bias" in arrays else None, lowest, highest,
    )  # fmt: skip


def _description(folder: Path) -> dict[str, Any]:
    try:
        description: dict[str, Any] = json.loads((folder / MODEL_FILE).read_text(encoding="utf-8"))
        version = description["version"]
    except (OSError, ValueError, KeyError, TypeError):
        raise CosetError(f"the weights in '{folder}' cannot be read: reinstall coset, or run `coset train`") from None
    if version != VERSION or description.get("numbers") != list(NUMBER_NAMES):
        raise CosetError(
            f"the weights in '{folder}' were made for version {version} of the features, this coset has {VERSION}: "
            "install the release they came with, or run `coset train` again"
        )
    return description


def _tensors(folder: Path) -> dict[str, Any]:
    from safetensors.numpy import load_file

    try:
        return dict(load_file(folder / TENSOR_FILE))
    except Exception:
        raise CosetError(f"the weights in '{folder}' cannot be read: reinstall coset, or run `coset train`") from None


def _aligned(
    prior: Prior,
    trained: list[str],
    inventory: Inventory,
    coordinate: Coordinate,
    encoder: Encoder,
    text_encoder: TextEncoder,
    table_encoder: TextEncoder,
) -> Prior:
    """The prior in the inventory's order; identities without trained weights get one from their example names."""
    places = {identity: number for number, identity in enumerate(trained)}
    wanted = inventory.of(coordinate)
    missing = [identity for identity in wanted if identity.id not in places]
    if any(not identity.own for identity in missing):
        names = ", ".join(identity.id for identity in missing if not identity.own)
        raise CosetError(f"the weights do not know {names}: they belong to another inventory, run `coset train` again")
    centres = np.empty((len(wanted), prior.centres.shape[1]))
    precisions = np.empty((len(wanted), prior.precisions.shape[1]))
    for number, identity in enumerate(wanted):
        if identity.id in places:
            centres[number], precisions[number] = (
                prior.centres[places[identity.id]],
                prior.precisions[places[identity.id]],
            )
            continue
        words = (identity.name, *identity.examples)
        if coordinate == "attribute":
            tables = [ObservedTable("", (ObservedColumn(name=name, label=identity.name),)) for name in words]
        else:
            tables = [ObservedTable(name, (ObservedColumn(name="id"), ObservedColumn(name="name"))) for name in words]
        features = features_of(ObservedEnvironment("", tuple(tables)))
        is_table = np.array([each.own == each.table for each in features.texts])
        vectors = encode_in_tables(text_encoder, table_encoder, features.texts)
        embeddings, _ = encoder.encode(vectors, features.numbers)
        centres[number] = embeddings[is_table if coordinate == "entity" else ~is_table].mean(axis=0)
        precisions[number] = prior.precisions.mean(axis=0)
    return replace(prior, centres=centres, precisions=precisions)
