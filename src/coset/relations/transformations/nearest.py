"""The left values that are nearest to each right value, by weighted n-gram overlap.

In go the features (words or n-grams) of every value of both columns, out come for each right value the few left
values with the highest TF-IDF cosine. An inverted index with capped posting lists keeps it fast on long columns: a
feature that most values have tells nothing and is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

# A posting list longer than this is skipped once a value has rarer features to go by.
LONGEST_POSTINGS = 4000


@dataclass(frozen=True)
class Nearest:
    """For one right value: positions in the left column, best first, and their cosines."""

    positions: Integers
    cosines: Floats


class Index:
    """TF-IDF vectors of the left column; `weights` of features count both columns, so that both sides weigh alike."""

    def __init__(self, left: Sequence[Sequence[str]], right: Sequence[Sequence[str]]) -> None:
        counts: dict[str, int] = {}
        for features in (*left, *right):
            for feature in set(features):
                counts[feature] = counts.get(feature, 0) + 1
        total = len(left) + len(right)
        self.weights = {feature: math.log(1 + total / count) for feature, count in counts.items()}
        self.size = len(left)
        self.vectors = [self.vector(features) for features in left]
        postings: dict[str, tuple[list[int], list[float]]] = {}
        for position, vector in enumerate(self.vectors):
            for feature, weight in vector.items():
                places, weights = postings.setdefault(feature, ([], []))
                places.append(position)
                weights.append(weight)
        self.postings: dict[str, tuple[Integers, Floats]] = {
            feature: (np.array(places, dtype=np.int64), np.array(weights))
            for feature, (places, weights) in postings.items()
        }

    def vector(self, features: Iterable[str]) -> dict[str, float]:
        """The unit-length TF-IDF vector of one value."""
        vector: dict[str, float] = {}
        for feature in features:
            vector[feature] = vector.get(feature, 0.0) + self.weights.get(feature, 0.0)
        norm = math.sqrt(sum(weight * weight for weight in vector.values()))
        return {feature: weight / norm for feature, weight in vector.items()} if norm else {}

    def nearest(self, features: Sequence[str], count: int) -> Nearest:
        vector = self.vector(features)
        known = sorted((len(self.postings[name][0]), name) for name in vector if name in self.postings)
        used: list[str] = []
        read = 0
        for length, name in known:
            if used and read + length > LONGEST_POSTINGS * 4 and length > LONGEST_POSTINGS:
                break
            used.append(name)
            read += length
        if not used:
            return Nearest(np.empty(0, dtype=np.int64), np.empty(0))
        places = np.concatenate([self.postings[name][0] for name in used])
        weights = np.concatenate([self.postings[name][1] * vector[name] for name in used])
        if self.size <= 20_000:
            cosines = np.asarray(np.bincount(places, weights=weights, minlength=self.size), dtype=np.float64)
            found = np.flatnonzero(cosines)
            cosines = cosines[found]
        else:
            found, inverse = np.unique(places, return_inverse=True)
            cosines = np.asarray(np.bincount(inverse, weights=weights), dtype=np.float64)
        if len(found) > count:
            # Ties at the border are broken by position, so that the outcome never depends on the sort's inner order.
            border = np.partition(cosines, len(cosines) - count)[len(cosines) - count]
            keep = np.flatnonzero(cosines >= border)
            found, cosines = found[keep], cosines[keep]
        order = np.lexsort((found, -cosines))[:count]
        return Nearest(found[order], cosines[order])
