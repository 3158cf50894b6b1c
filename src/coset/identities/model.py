"""The trained model of both coordinates, as it ships: text encoder, encoders, priors, label models, settings.

In: the weights folder and an inventory. Out: an `IdentityModel` aligned with that inventory. Identities that the
weights do not know (a user's own) get a prior from their example names. Weights of another version are refused in one
sentence.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from coset.errors import CosetError
from coset.identities.encoder import Committee, arrays_of, committee_of, restored, rounded
from coset.identities.features import NUMBER_NAMES, features_of
from coset.identities.inventory import COORDINATES, Coordinate, Inventory, load_inventory
from coset.identities.prototypes import Array, Calibration, Prior, RealisationSettings, memberships
from coset.identities.signals import LabelModel
from coset.identities.text_encoder import LONGEST_TABLE, TextEncoder, encode_in_tables
from coset.readings.observed import ObservedColumn, ObservedEnvironment, ObservedTable

VERSION = 4
MODEL_FILE, TENSOR_FILE, TEXT_FILE, TABLE_FILE, VOCABULARY_FILE, WORDS_FILE = (
    "model.json", "identities.safetensors", "text_encoder.onnx", "table_encoder.onnx", "vocabulary.txt",
    "words.safetensors",
)  # fmt: skip


@dataclass(frozen=True)
class CoordinateModel:
    """One coordinate: its encoder, prior, label model and settings."""

    encoder: Committee
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
    arrays = _arrays(folder)
    text_encoder, table_encoder = text_encoders(folder, threads)
    coordinates: dict[Coordinate, CoordinateModel] = {}
    for coordinate in COORDINATES:
        trained = description["coordinates"][coordinate]
        encoder = committee_of(arrays, coordinate, trained["lowest_precision"], trained["highest_precision"])
        prior = Prior(arrays[f"{coordinate}.prior_centres"], arrays[f"{coordinate}.prior_precisions"])
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

    arrays: dict[str, Array] = {}
    coordinates: dict[str, Any] = {}
    for coordinate, part in model.coordinates.items():
        arrays |= arrays_of(part.encoder, coordinate)
        arrays[f"{coordinate}.prior_centres"] = part.prior.centres
        arrays[f"{coordinate}.prior_precisions"] = part.prior.precisions
        coordinates[coordinate] = {
            "identities": list(model.inventory.ids(coordinate)),
            "lowest_precision": part.encoder.members[0].lowest_precision,
            "highest_precision": part.encoder.members[0].highest_precision,
            "settings": asdict(part.settings),
            "opposition_margin": part.opposition_margin,
            "calibration": asdict(part.calibration),
            "labelers": [
                [name, supports, round(value, 4)] for (name, supports), value in part.labels.accuracies.items()
            ],
        }
    folder.mkdir(parents=True, exist_ok=True)
    save_file({name: np.ascontiguousarray(array) for name, array in rounded(arrays).items()}, folder / TENSOR_FILE)
    description = {"version": VERSION, "name": model.name, "numbers": list(NUMBER_NAMES), "coordinates": coordinates}
    (folder / MODEL_FILE).write_text(json.dumps(description, indent=1) + "\n", encoding="utf-8")


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


def _arrays(folder: Path) -> dict[str, Array]:
    from safetensors.numpy import load_file

    try:
        return restored(load_file(folder / TENSOR_FILE))
    except Exception:
        raise CosetError(f"the weights in '{folder}' cannot be read: reinstall coset, or run `coset train`") from None


def _aligned(
    prior: Prior,
    trained: list[str],
    inventory: Inventory,
    coordinate: Coordinate,
    encoder: Committee,
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
