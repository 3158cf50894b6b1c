"""psi_theta: features to an embedding and its precision, in NumPy.

In: for each object its own text vector, that of its table, that of the table it refers to, and its number features;
trained weights. Out: z_e and s_e for one coordinate. The vectors come from `text_encoder`; training builds the same
function in torch, and a test holds both together.

A column plays its part in one of three ways: it states a fact of its row, and is about what its table is about; it
refers to another table's rows, and is about those; or it speaks for itself. Where the encoder knows what tables are
about, the embedding of a column is a mixture of these three places, and its shares are told by the column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coset.identities.prototypes import Array

WAYS = 3
"""Of its table, of the table it refers to, for itself."""


@dataclass(frozen=True)
class Perceptron:
    """Two layers, the second with a residual around it, and an output."""

    first_weight: Array
    first_bias: Array
    hidden_weight: Array
    hidden_bias: Array
    out_weight: Array
    out_bias: Array

    def run(self, rows: Array) -> tuple[Array, Array]:
        """The output and the hidden layer before it."""
        first = gelu(rows @ self.first_weight + self.first_bias)
        hidden = first + gelu(first @ self.hidden_weight + self.hidden_bias)
        return hidden @ self.out_weight + self.out_bias, hidden


@dataclass(frozen=True)
class Mixture:
    """What tables are about, from their texts alone, and which share of a column lies where."""

    tables: Perceptron
    first_weight: Array
    first_bias: Array
    share_weight: Array
    share_bias: Array

    def places(self, vectors: Array) -> tuple[Array, Array]:
        """Where tables lie; each distinct one is computed once, because the columns of a table share it."""
        rows = np.ascontiguousarray(vectors).view(np.dtype((np.void, vectors.shape[1] * vectors.itemsize)))[:, 0]
        _, first, inverse = np.unique(rows, return_index=True, return_inverse=True)
        place, hidden = self.tables.run(vectors[first])
        return place[inverse], hidden[inverse]

    def shares(self, rows: Array, is_table: NDArray[np.bool_], refers: NDArray[np.bool_]) -> Array:
        """The shares of the three ways. A table is at its own place; what refers to nothing is at nobody else's."""
        scores = gelu(rows @ self.first_weight + self.first_bias) @ self.share_weight + self.share_bias
        scores[~refers, 1] = -np.inf
        scores[is_table, 1:] = -np.inf
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        result: Array = weights / weights.sum(axis=1, keepdims=True)
        return result


@dataclass(frozen=True)
class Encoder:
    """Objects to embeddings, directly or as a mixture with the places of tables; one output more for the precision."""

    number_mean: Array
    number_scale: Array
    own: Perceptron
    precision_weight: Array
    precision_bias: Array
    mixture: Mixture | None = None
    lowest_precision: float = 0.25
    highest_precision: float = 4.0

    def encode(self, vectors: NDArray[np.float32], numbers: NDArray[np.float32]) -> tuple[Array, Array]:
        """Embeddings (objects x p) and precisions (objects x 1 or p), the latter within fixed bounds.

        `vectors` has three vectors a row, as `encode_in_tables` makes them; the first two are equal for a table.
        """
        scaled = (numbers.astype(np.float64) - self.number_mean) / self.number_scale
        own, table, referred = np.split(vectors.astype(np.float64), WAYS, axis=1)
        embedding, hidden = self.own.run(np.hstack([own, table, scaled]))
        if self.mixture is not None:
            refers, is_table = np.any(referred != 0, axis=1), np.all(own == table, axis=1)
            share = self.mixture.shares(np.hstack([own, table, referred, scaled]), is_table, refers)
            of_table, hidden_of_table = self.mixture.places(table)
            of_referred, _ = self.mixture.places(referred)
            embedding = share[:, :1] * of_table + share[:, 1:2] * of_referred + share[:, 2:] * embedding
            hidden = share[:, :1] * hidden_of_table + (1 - share[:, :1]) * hidden
        # The logistic function, in the form that cannot overflow.
        share_of_range = 0.5 + 0.5 * np.tanh((hidden @ self.precision_weight + self.precision_bias) / 2)
        precision = self.lowest_precision * (self.highest_precision / self.lowest_precision) ** share_of_range
        return embedding, precision


@dataclass(frozen=True)
class Committee:
    """Several encoders of one coordinate, each from its own seed, as one: their embeddings side by side, so that the
    squared distance of two objects is the mean of what the members say, and their precisions in the mean."""

    members: tuple[Encoder, ...]

    def encode(self, vectors: NDArray[np.float32], numbers: NDArray[np.float32]) -> tuple[Array, Array]:
        """As each member does."""
        return as_one([member.encode(vectors, numbers) for member in self.members])


def as_one(found: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Places and precisions, of objects or of priors, in several spaces as those in one space of the same scale.
    Precisions that are one number stay one number."""
    places, precisions = zip(*found, strict=True)
    scalar = precisions[0].shape[1] == 1
    return np.hstack(places) / np.sqrt(len(found)), np.mean(precisions, axis=0) if scalar else np.hstack(precisions)


def gelu(values: Array) -> Array:
    """The smooth rectifier, in its tanh form."""
    result: Array = 0.5 * values * (1 + np.tanh(0.7978845608028654 * (values + 0.044715 * values**3)))
    return result


SCALE = ".scale"
LEAST = 1000
"""Smaller matrices are not worth a scale for each column."""


def rounded(arrays: Mapping[str, Array]) -> dict[str, NDArray[Any]]:
    """Arrays as they are stored: a matrix in whole numbers with a scale for each column, the rest in half precision."""
    found: dict[str, NDArray[Any]] = {}
    for path, array in arrays.items():
        if array.ndim < 2 or array.size < LEAST:
            found[path] = array.astype(np.float16)
            continue
        scale = np.maximum(np.abs(array).max(axis=0), 1e-12) / 127
        found[path] = np.rint(array / scale).astype(np.int8)
        found[path + SCALE] = scale.astype(np.float32)
    return found


def restored(stored: Mapping[str, NDArray[Any]]) -> dict[str, Array]:
    """The arrays that were stored."""
    return {
        path: array.astype(np.float64) * stored.get(path + SCALE, np.float32(1.0))
        for path, array in stored.items()
        if not path.endswith(SCALE)
    }


def arrays_of(committee: Committee, name: str) -> dict[str, Array]:
    """All arrays of a committee under their path."""
    found: dict[str, Array] = {}
    for number, member in enumerate(committee.members):
        found |= _arrays(member, f"{name}.{number}")
    return found


def committee_of(arrays: Mapping[str, Array], name: str, lowest: float, highest: float) -> Committee:
    """The committee whose arrays stand under a name."""
    count = sum(path.startswith(f"{name}.") and path.endswith(".number_mean") for path in arrays)
    return Committee(tuple(_encoder(arrays, f"{name}.{number}", lowest, highest) for number in range(count)))


def _arrays(part: Encoder | Mixture | Perceptron, name: str) -> dict[str, Array]:
    found: dict[str, Array] = {}
    for each in fields(part):
        value = getattr(part, each.name)
        if isinstance(value, np.ndarray):
            found[f"{name}.{each.name}"] = value
        elif isinstance(value, (Mixture, Perceptron)):
            found |= _arrays(value, f"{name}.{each.name}")
    return found


def _encoder(arrays: Mapping[str, Array], name: str, lowest: float, highest: float) -> Encoder:
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
