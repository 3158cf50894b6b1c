"""How good memberships are: top 1, top 3, calibration.

In: memberships and annotated identities. Out: figures. Knows no model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coset.identities.prototypes import Array, Calibration

BINS = 15
ALIKE = 1.01
EXPONENTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
FACTORS: tuple[float, ...] = tuple(np.exp(np.linspace(np.log(0.2), np.log(5.0), 41)).tolist())


@dataclass(frozen=True)
class Quality:
    """Figures of one coordinate over one set of objects."""

    objects: int
    top_1: float
    top_3: float
    calibration_error: float

    def __str__(self) -> str:
        error = f"calibration error {self.calibration_error:.3f}"
        return f"top-1 {self.top_1:.3f}, top-3 {self.top_3:.3f}, {error} ({self.objects})"


def quality(profiles: Array, targets: NDArray[np.int64]) -> Quality:
    """Objects without a target (-1) do not count."""
    known = targets >= 0
    profiles, targets = profiles[known], targets[known]
    order = np.argsort(-profiles, axis=1, kind="stable")[:, :3]
    hits = order == targets[:, None]
    return Quality(
        len(targets), float(hits[:, 0].mean()), float(hits.any(axis=1).mean()),
        calibration_error(profiles.max(axis=1), hits[:, 0]),
    )  # fmt: skip


def calibration_error(confidence: Array, right: NDArray[np.bool_]) -> float:
    """Expected calibration error over 15 equal bins of confidence."""
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    error = 0.0
    for number in range(BINS):
        inside = bins == number
        if inside.any():
            error += inside.mean() * abs(float(confidence[inside].mean()) - float(right[inside].mean()))
    return float(error)


def best_calibration(distance: Array, temperature: float, targets: NDArray[np.int64]) -> Calibration:
    """Of the calibrations under which the memberships' likelihood of the targets is within `ALIKE` of the highest, the
    one with the least calibration error: likelihood alone is nearly flat there."""
    known = targets >= 0
    distance, targets = distance[known], targets[known]
    right = distance.argmin(axis=1) == targets
    found: list[tuple[float, float, Calibration]] = []
    for exponent in EXPONENTS:
        gaps = Calibration(1.0, exponent).temperatures(distance)
        for factor in FACTORS:
            scores = -distance / (temperature * factor * gaps)
            scores -= scores.max(axis=1, keepdims=True)
            total = np.exp(scores).sum(axis=1)
            loss = float((np.log(total) - scores[np.arange(len(scores)), targets]).mean())
            found.append((loss, calibration_error(1.0 / total, right), Calibration(factor, exponent)))
    lowest = min(loss for loss, _, _ in found)
    return min((each for each in found if each[0] <= ALIKE * lowest), key=lambda each: each[1])[2]
