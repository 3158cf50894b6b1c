"""The query side: a question as vectors, as requirements over prototypes, as demand over identities (paper, 3.4).

In: a question's words, trained weights, an inventory. Out: beta(q), and gamma(q) per coordinate, both from the same
beta. NumPy alone. Knows no environment: nothing of a dataset can enter, so a question has one demand everywhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coset.errors import CosetError, UserError
from coset.identities.encoder import gelu
from coset.identities.inventory import COORDINATES, Coordinate, Inventory
from coset.identities.model import IdentityModel
from coset.identities.prototypes import Array, lengths, memberships
from coset.identities.text_encoder import TextEncoder, Vectors
from coset.routing.request import Demand

VERSION = 1
QUERY_FILE = "query.safetensors"
NEIGHBOURS = 3
"""From so many known identities an identity of the user's takes its compatibility."""
WINDOW_WORDS, LONGEST_WORD, EPSILON = 28, 100, 1e-5
"""A window is as long as 99 of 100 training questions, and short enough for the text encoder to see all of it."""
AGAIN = "reinstall coset, or make them again with `python -m coset.training.routing.query_stage`"


@dataclass(frozen=True)
class Projection:
    """g_phi after the text encoder: u = layer norm(gelu(x W + b)), so that all u_q have one scale."""

    weight: Array
    bias: Array
    gain: Array
    shift: Array

    def project(self, vectors: Array) -> Array:
        hidden = gelu(_rows_times(vectors, self.weight) + self.bias)
        centred = hidden - hidden.mean(axis=1, keepdims=True)
        spread = np.sqrt((centred**2).mean(axis=1, keepdims=True) + EPSILON)
        result: Array = centred / spread * self.gain + self.shift
        return result


@dataclass(frozen=True)
class QueryModel:
    """Everything that turns a question into demand."""

    projection: Projection
    prototypes: Array
    """eta_k: K x p"""
    temperature: float
    """tau_Q"""
    compatibility: dict[Coordinate, Array]
    """M per coordinate, K x identities in the inventory's order"""
    identities: dict[Coordinate, tuple[str, ...]]
    made_with: str
    """Names the text encoder that it was trained on."""

    def requirements(self, vectors: NDArray[np.floating[Any]]) -> Array:
        """beta: for each vector of a question its soft profile over the query prototypes."""
        return self.profile(self.projection.project(vectors.astype(np.float64)))

    def profile(self, embedded: Array) -> Array:
        """softmax(-d_Q(u, eta_k) / tau_Q) with d_Q the Euclidean distance."""
        distance = lengths(embedded, self.prototypes, np.ones((len(self.prototypes), 1)))
        return memberships(distance, self.temperature)

    def demand(self, requirements: Array) -> Demand:
        """gamma = softmax(M^T beta) in each coordinate, for one profile (K) or several (questions x K)."""
        profiles = np.atleast_2d(requirements)
        found: dict[Coordinate, Array] = {}
        for coordinate, matrix in self.compatibility.items():
            activations = memberships(-_rows_times(profiles, matrix), 1.0)
            found[coordinate] = activations[0] if requirements.ndim == 1 else activations
        return Demand(requirements, found)

    def demand_of(self, vector: NDArray[np.floating[Any]]) -> Demand:
        """The demand of one question, from its vector."""
        return self.demand(self.requirements(vector[None])[0])

    def ask(self, question: str, text_encoder: TextEncoder) -> Demand:
        """The demand of one question."""
        return self.demand(self.requirements(question_vectors([question], text_encoder))[0])

    @classmethod
    def load(cls, model: IdentityModel, folder: Path) -> QueryModel:
        """The query model in `folder`, for the inventory, text encoder and name of `model`; other ones are refused.

        Identities of the user's own get the mean compatibility of the known identities whose words are nearest.
        """
        path = folder / QUERY_FILE
        tensors, about = _read(path)
        if about.get("inventory") != inventory_digest(model.inventory):
            raise CosetError(f"the query weights '{path.name}' belong to another inventory: {AGAIN}")
        if about.get("made_with") != model.name:
            raise CosetError(
                f"the query weights '{path.name}' were made with {about.get('made_with')}, "
                f"this is {model.name}: {AGAIN}"
            )
        try:
            known = cls(
                Projection(**{field.name: tensors[f"projection.{field.name}"] for field in fields(Projection)}),
                tensors["prototypes"],
                float(about["temperature"]),
                {coordinate: tensors[f"compatibility.{coordinate}"] for coordinate in COORDINATES},
                {coordinate: _shipped(model.inventory, coordinate) for coordinate in COORDINATES},
                model.name,
            )
        except (KeyError, TypeError, ValueError):
            raise CosetError(f"the query weights '{path.name}' are incomplete: {AGAIN}") from None
        _check_shapes(known, path.name)
        return _extended(known, model.inventory, model.text_encoder)

    def save(self, folder: Path, inventory: Inventory) -> Path:
        """Write `query.safetensors`: tensors, and in its header what they belong to."""
        from safetensors.numpy import save_file

        tensors = {f"projection.{field.name}": getattr(self.projection, field.name) for field in fields(Projection)}
        tensors["prototypes"] = self.prototypes
        for coordinate in COORDINATES:
            shipped = len(_shipped(inventory, coordinate))
            tensors[f"compatibility.{coordinate}"] = self.compatibility[coordinate][:, :shipped]
        about = {
            "version": VERSION, "made_with": self.made_with, "inventory": inventory_digest(inventory),
            "temperature": self.temperature,
        }  # fmt: skip
        folder.mkdir(parents=True, exist_ok=True)
        # Half precision is enough for what is weighed in sums.
        small = {
            name: np.ascontiguousarray(array, dtype=np.float16 if array.ndim > 1 else np.float32)
            for name, array in tensors.items()
        }
        save_file(small, folder / QUERY_FILE, metadata={"coset": json.dumps(about, sort_keys=True)})
        return folder / QUERY_FILE


def question_vectors(questions: Sequence[str], text_encoder: TextEncoder) -> NDArray[np.float32]:
    """The text encoder's vector of each question; a question of several windows has the direction of their mean.

    One text at a time: the encoder is quantised by the batch, so beside others a question would get another vector.
    """
    found = []
    for number, question in enumerate(questions):
        windows = windows_of(question)
        if not windows:
            where = f"question {number + 1}" if len(questions) > 1 else "the question"
            raise UserError(f"{where} is empty: ask for something in words")
        parts = np.vstack([text_encoder.encode([window]) for window in windows])
        middle = parts.mean(axis=0)
        found.append(parts[0] if len(parts) == 1 else middle / max(float(np.linalg.norm(middle)), 1e-12))
    return np.array(found, dtype=np.float32).reshape(len(questions), -1)


def inventory_digest(inventory: Inventory) -> str:
    """Names the shipped identities and their order; the user's own stand after them and do not count."""
    ids = [_shipped(inventory, coordinate) for coordinate in COORDINATES]
    return hashlib.sha256(json.dumps(ids).encode()).hexdigest()[:16]


def _shipped(inventory: Inventory, coordinate: Coordinate) -> tuple[str, ...]:
    return tuple(identity.id for identity in inventory.of(coordinate) if not identity.own)


def windows_of(question: str) -> list[str]:
    """The question in pieces that the text encoder sees whole; written without spaces, it is cut by letters."""
    words = [word[at : at + LONGEST_WORD] for word in question.split() for at in range(0, len(word), LONGEST_WORD)]
    return [" ".join(words[at : at + WINDOW_WORDS]) for at in range(0, len(words), WINDOW_WORDS)]


def _rows_times(rows: Array, matrix: Array) -> Array:
    """rows @ matrix, each row by itself: a matrix product rounds a row otherwise beside others or on more threads."""
    out = np.empty((len(rows), matrix.shape[1]))
    for number, row in enumerate(rows):
        np.einsum("i,ij->j", row, matrix, out=out[number])
    return out


def _read(path: Path) -> tuple[dict[str, Array], dict[str, Any]]:
    from safetensors import safe_open

    if not path.exists():
        raise CosetError(f"the query weights '{path.name}' are not in '{path.parent}': {AGAIN}")
    try:
        with safe_open(path, framework="numpy") as stored:
            about = json.loads((stored.metadata() or {})["coset"])
            names = list(stored.keys())
            tensors = {name: np.ascontiguousarray(stored.get_tensor(name), dtype=np.float64) for name in names}
        version = about["version"]
    except Exception:
        raise CosetError(f"the query weights '{path.name}' cannot be read: {AGAIN}") from None
    if version != VERSION:
        raise CosetError(
            f"the query weights '{path.name}' are of version {version}, this coset reads version {VERSION}: {AGAIN}"
        )
    return tensors, about


def _check_shapes(model: QueryModel, name: str) -> None:
    prototypes, width = model.prototypes.shape if model.prototypes.ndim == 2 else (0, 0)
    fits = prototypes > 0 and model.temperature > 0 and model.projection.gain.shape == (width,)
    fits = fits and all(
        model.compatibility[coordinate].shape == (prototypes, len(model.identities[coordinate]))
        for coordinate in COORDINATES
    )
    arrays = [model.prototypes, *model.compatibility.values(), *vars(model.projection).values()]
    if not fits or not all(np.isfinite(array).all() for array in arrays):
        raise CosetError(f"the query weights '{name}' do not fit together: {AGAIN}")


def _extended(model: QueryModel, inventory: Inventory, text_encoder: TextEncoder) -> QueryModel:
    """The model over the inventory with the user's own identities; what was known keeps its compatibility."""
    compatibility: dict[Coordinate, Array] = {}
    for coordinate in COORDINATES:
        matrix = model.compatibility[coordinate]
        wanted = inventory.of(coordinate)
        places = {identity: number for number, identity in enumerate(model.identities[coordinate])}
        own = [identity for identity in wanted if identity.own]
        if own:
            shipped = [identity for identity in wanted if not identity.own]
            known = np.vstack([text_encoder.encode([f"{each.name}: {each.meaning}"]) for each in shipped])
            columns = []
            for identity in own:
                likeness = known @ text_encoder.encode([f"{identity.name}: {identity.meaning}"])[0]
                if identity.parent in places:
                    likeness[places[identity.parent]] = np.inf
                near = np.argsort(-likeness, kind="stable")[:NEIGHBOURS]
                columns.append(matrix[:, near].mean(axis=1))
            matrix = np.ascontiguousarray(np.column_stack([matrix, *columns]))
        compatibility[coordinate] = matrix
    ids = {coordinate: inventory.ids(coordinate) for coordinate in COORDINATES}
    return replace(model, compatibility=compatibility, identities=ids)


MOST_WINDOWS = 12
"""Beyond so many windows a text is no question any more; what follows is not read."""


@dataclass(frozen=True)
class EncodedQuestion:
    """The vectors of a question, all of length 1."""

    text: str
    whole: Vectors
    words: Vectors


def encode_question(text: str, encoder: TextEncoder) -> EncodedQuestion:
    windows = windows_of(text)[:MOST_WINDOWS]
    if not windows:
        raise UserError("the question is empty: ask for something in words")
    parts = [encoder.encode_words(window) for window in windows]
    if len(parts) == 1:
        return EncodedQuestion(text, *parts[0])
    middle = np.mean([whole for whole, _ in parts], axis=0)
    return EncodedQuestion(
        text,
        (middle / max(float(np.linalg.norm(middle)), 1e-12)).astype(np.float32),
        np.concatenate([words for _, words in parts]),
    )
