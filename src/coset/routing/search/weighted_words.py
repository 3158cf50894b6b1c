"""BM25 over texts whose words have weights.

In: for each text its words with weights. Out: for weighted words a score of every text. An inverted index: the cost
follows the matches, not the number of texts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float32]
SATURATION, LENGTH = 1.2, 0.5
"""k1 and b of BM25."""
_NONE = np.zeros(0, dtype=np.int64)


class WeightedWords:
    """An index of texts by their words."""

    def __init__(self, texts: Sequence[Mapping[str, float]]) -> None:
        places: dict[str, list[int]] = defaultdict(list)
        weights: dict[str, list[float]] = defaultdict(list)
        for number, words in enumerate(texts):
            for word, weight in words.items():
                places[word].append(number)
                weights[word].append(weight)
        lengths = np.array([sum(words.values()) for words in texts], dtype=np.float32)
        mean = float(lengths.mean()) if len(texts) else 1.0
        norm = SATURATION * (1 - LENGTH + LENGTH * lengths / max(mean, 1e-6))
        self.size = len(texts)
        self._places = {word: np.array(own, dtype=np.int64) for word, own in places.items()}
        self._worth = {}
        for word, own in self._places.items():
            times = np.array(weights[word], dtype=np.float32)
            worth = self.rarity(word) * times * (SATURATION + 1) / (times + norm[own])
            self._worth[word] = worth.astype(np.float32)

    def __contains__(self, word: str) -> bool:
        return word in self._places

    def places(self, word: str) -> NDArray[np.int64]:
        """The texts that have a word."""
        return self._places.get(word, _NONE)

    def rarity(self, word: str) -> float:
        """The inverse frequency of a word; 0 for one that no text has."""
        count = len(self.places(word))
        return float(np.log1p((self.size - count + 0.5) / (count + 0.5))) if count else 0.0

    def scores(self, words: Mapping[str, float]) -> Scores:
        found = np.zeros(self.size, dtype=np.float32)
        for word, weight in words.items():
            if word in self._places:
                found[self._places[word]] += weight * self._worth[word]
        return found
