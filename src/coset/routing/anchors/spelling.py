"""Misspelt words: which known words are one slip away (a letter wrong, missing, doubled, or two swapped).

In: the words of names and values. Out: for an unknown word, the known words near it, nearest first. Each known word is
kept under the hashes of itself with one letter taken out, and so is the unknown one when it is looked up: no word is
ever compared with all others. Letters are bytes here, so slips are found in Latin script, which values are folded to.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from rapidfuzz.distance import OSA

from coset.routing.anchors.hashed_texts import POWERS, Bytes, Hashes, Postings, Rows, Words, hashes_of, mixed

SHORTEST, LONGEST = 5, 20
"""A shorter word is too easily another word; a longer one is a code."""
ANY_SLIP = 6
"""In a shorter word no letter may be another one: `stage` is not a slip for `state`."""
TWO_SLIPS = 10
"""A word of so many letters may have two slips."""
MOST_COMPARED = 64
MOST_WORDS = 200_000
"""Of a larger vocabulary the first words are kept: what is kept does not depend on the question."""


@dataclass(frozen=True)
class Correction:
    word: str
    slips: int


class Spelling:
    """The known words of some length, by the hashes of their deletions."""

    def __init__(self, sources: tuple[Words, ...]) -> None:
        self._letters, self._lengths = _distinct_words(sources)
        self._postings = Postings(*_deletions(self._letters, self._lengths))

    def __len__(self) -> int:
        return len(self._lengths)

    def corrections(self, word: str, most: int = 4) -> tuple[Correction, ...]:
        """The nearest known words; those with the same first letter first among equals."""
        if not SHORTEST - 1 <= len(word) <= LONGEST or not word.isascii() or not word.isalpha():
            return ()
        deletions = [word[:place] + word[place + 1 :] for place in range(len(word))]
        places = self._postings.places(hashes_of([word, *deletions]))
        near: set[int] = set()
        for place in places[places >= 0].tolist():
            near.update(self._postings.rows(place, MOST_COMPARED).tolist())
        allowed = 2 if len(word) >= TWO_SLIPS else 1
        found = []
        for row in sorted(near)[:MOST_COMPARED]:
            known = self._letters[row, : self._lengths[row]].tobytes().decode("ascii")
            slips = OSA.distance(word, known, score_cutoff=allowed)
            replaced = len(known) == len(word) and sorted(known) != sorted(word)
            if 0 < slips <= allowed and not (replaced and len(word) < ANY_SLIP):
                found.append(Correction(known, slips))
        return tuple(sorted(found, key=lambda item: (item.slips, item.word[0] != word[0], item.word))[:most])


def _distinct_words(sources: tuple[Words, ...]) -> tuple[Bytes, Rows]:
    """The words of fitting length that are letters alone, each once, as rows of letters."""
    parts = [np.zeros((0, LONGEST), dtype=np.uint8)]
    for words in sources:
        places = words.first_places()
        begins, lengths = words.begins[places], (words.ends - words.begins)[places]
        fitting = (lengths >= SHORTEST) & (lengths <= LONGEST)
        begins, lengths = begins[fitting][:MOST_WORDS], lengths[fitting][:MOST_WORDS]
        content = words.texts.content
        if len(begins):
            columns = np.minimum(begins[:, None] + np.arange(LONGEST), len(content) - 1)
            letters = np.where(np.arange(LONGEST) < lengths[:, None], content[columns], 0).astype(np.uint8)
            spelled = ((letters >= ord("a")) & (letters <= ord("z"))).sum(axis=1) == lengths
            parts.append(letters[spelled])
    together = np.ascontiguousarray(np.concatenate(parts))
    _, once = np.unique(together.view(f"S{LONGEST}").ravel(), return_index=True)
    letters = together[np.sort(once)]
    return letters, (letters > 0).sum(axis=1)


def _deletions(letters: Bytes, lengths: Rows) -> tuple[Hashes, Rows]:
    """The hashes of each word as it is and with each of its letters taken out, and the rows of the words.

    With h the sum of letter_i * p^i, taking out letter j leaves the sum before j as it is and divides the sum after j
    by p: both sums are running sums, so all deletions of all words cost two of them.
    """
    if not len(letters):
        return np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64)
    values = letters.astype(np.uint64)
    powers = POWERS[:LONGEST]
    kept = np.cumsum(values * powers, axis=1, dtype=np.uint64)
    shifted = values
    shifted[:, 1:] *= powers[:-1]
    shifted[:, 0] = 0
    moved = np.cumsum(shifted, axis=1, dtype=np.uint64)
    without = moved[:, -1:] - moved
    without[:, 1:] += kept[:, :-1]
    present = np.arange(LONGEST) < lengths[:, None]
    numbers = np.arange(len(values))
    rows = np.repeat(numbers, lengths)
    return mixed(np.concatenate((kept[:, -1], without[present]))), np.concatenate((numbers, rows))
