"""The encoders of a coordinate as named arrays, and back: what the weights file holds of them.

In: a committee of encoders, or arrays by name. Out: the other. A matrix is stored in whole numbers of one byte, each
column with its scale: what a role is turns on differences a hundred times as large.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coset.identities.encoder import Committee, Encoder, Mixture, Perceptron
from coset.identities.prototypes import Array

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
