"""The values that are held, in memory: found whole, and by rare words of longer ones.

In: values with the object that holds each and their normalised form. Out: for keys of a question, the rows of equal
values; for its words, the longer values that they cover best. Knows no question.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from coset.routing.anchors.hashed_texts import HashedTexts, Hashes, Rows, Words, weight_of_one

MOST_ROWS = 256
"""Of a value that more objects hold, so many are looked at: it is weak in any case."""
RARE = 48
"""A word that more values hold does not lead to any of them."""
MOST_WORDS = 12
"""A longer value is never found by some of its words."""


class HeldValues:
    """Values by row."""

    def __init__(self, objects: Rows, values: Any, normal: Any) -> None:
        """`values` and `normal` are Arrow arrays of strings, `objects` the numbers of those that hold them."""
        self.objects = objects
        self._values = values
        self.normal = HashedTexts(normal)
        self.words = Words(self.normal)
        self._weights = self.words.weights()
        self._totals = np.bincount(self.words.row_of, self._weights, minlength=self.normal.count)
        fitting = (self.words.per_text > 1) & (self.words.per_text <= MOST_WORDS)
        self._totals = np.where(fitting, self._totals, np.inf)

    def __len__(self) -> int:
        return len(self.objects)

    def value(self, row: int) -> str:
        return str(self._values[row].as_py())

    def equal(self, keys: list[str], hashes: Hashes) -> list[tuple[int, Rows, int]]:
        """(number of the key, rows of values with that form, how many there are in all)."""
        places = self.normal.whole.places(hashes)
        found = []
        for number in (places >= 0).nonzero()[0].tolist():
            place = int(places[number])
            rows = self.normal.whole.rows(place, MOST_ROWS)
            # A hash in common is not yet a text in common; equal hashes lie together, so one row tells.
            if self.normal.text(int(rows[0])) == keys[number]:
                found.append((number, rows, self.normal.whole.count(place)))
        return found

    def covered(self, words: list[str], places: Rows, least: float, most: int) -> list[tuple[int, float]]:
        """(row, share) of longer values of which the words make up the share, by weight, the best first. `places` are
        those of the telling words among the words of the values, or -1."""
        sums: dict[int, float] = {}
        for place in set(places[places >= 0].tolist()):
            count = self.words.postings.count(place)
            if count <= RARE:
                weight = weight_of_one(count)
                for row in dict.fromkeys(self.words.rows(place).tolist()):
                    sums[row] = sums.get(row, 0.0) + weight
        if not sums:
            return []
        together = np.array(sorted(sums))
        # What common words add is not known here: a candidate needs half of the share by its rare words alone.
        shares = np.array([sums[row] for row in together.tolist()]) / self._totals[together]
        likely = np.flatnonzero(shares >= least / 2)
        likely = likely[np.lexsort((together[likely], -shares[likely]))][:most]
        known = set(words)
        found = [(row, self._share(row, known)) for row in together[likely].tolist()]
        return sorted((each for each in found if each[1] >= least), key=lambda each: (-each[1], each[0]))

    def _share(self, row: int, known: set[str]) -> float:
        """The share exactly: the words are compared as texts."""
        first = int(np.searchsorted(self.words.begins, self.normal.offsets[row]))
        written = self.normal.text(row).split()
        weights = self._weights[first : first + len(written)].tolist()
        matched = sum(weight for word, weight in zip(written, weights, strict=True) if word in known)
        return float(matched / sum(weights))
