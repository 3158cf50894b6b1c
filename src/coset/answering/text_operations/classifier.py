"""A small classifier: ridge regression onto the classes, with what it is worth measured on labels it did not see.

In: rows of features with labels. Out: a `Classifier` whose probabilities are calibrated, and for every labelled row
what a classifier without that row says of it: for ridge regression that is a formula, not a second fit. A few hundred
labels take milliseconds. Logistic regression was tried on one task (226 texts, 60 labels): 87.2 % against 86.7 %, for
many times the work. Does not know what the rows are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
STRENGTHS = np.geomspace(0.01, 30.0, 9)
"""Regularisation to choose from."""
TEMPERATURES = np.geomspace(0.02, 1.0, 14)


@dataclass(frozen=True)
class Classifier:
    means: Floats
    weights: Floats
    """(features, classes)."""
    shares: Floats
    """How often each class was given: what is said of a row that is like no other."""
    temperature: float
    left_out: Floats
    """For each labelled row, the calibrated probabilities of a classifier that did not see it."""

    def probabilities(self, features: NDArray[np.float32]) -> Floats:
        return softmax((self.shares + (features - self.means) @ self.weights) / self.temperature)


def fit_classifier(features: NDArray[np.float32], labels: Integers, classes: int) -> Classifier:
    """`labels` are numbers of classes; every class need not occur."""
    means = features.mean(axis=0, dtype=np.float64)
    inputs = features - means
    targets = np.eye(classes)[labels]
    shares = targets.mean(axis=0)
    values, vectors = np.linalg.eigh(inputs @ inputs.T)
    values = np.maximum(values, 0.0)
    rotated = vectors.T @ (targets - shares)
    best: tuple[float, float, float, Floats] | None = None
    for strength in STRENGTHS:
        kept = values / (values + strength)
        fitted = shares + vectors @ (kept[:, None] * rotated)
        # The pull of a row on its own prediction, by the weights and by the means.
        pull = np.minimum((vectors**2) @ kept + 1 / len(labels), 1 - 1e-6)[:, None]
        left_out = (fitted - pull * targets) / (1 - pull)
        for temperature in TEMPERATURES:
            loss = _loss(left_out, labels, temperature)
            if best is None or loss < best[0] - 1e-12:
                best = (loss, float(strength), float(temperature), left_out)
    assert best is not None  # noqa: S101
    _, strength, temperature, left_out = best
    weights = inputs.T @ (vectors @ (rotated / (values + strength)[:, None]))
    return Classifier(means, weights, shares, temperature, softmax(left_out / temperature))


def softmax(logits: Floats) -> Floats:
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def _loss(scores: Floats, labels: Integers, temperature: float) -> float:
    chosen = softmax(scores / temperature)[np.arange(len(labels)), labels]
    return float(-np.log(np.maximum(chosen, 1e-6)).mean())
