"""Coverage: the words of a question that match nothing in the environment, and one figure for the whole question.

In: the telling words of a question with how well each was found by name and value; the vectors of tables and columns;
the roles that are played here. Out: `Coverage`: the words that nothing was found for, and one number for how much of
the question was found. A word is found by a name, a held value, a date, a role that something plays (`client` where
something is a customer's), or by a likeness of meaning to some table or column. A likeness is kept for each word, so
that it is computed once for a state. Long texts are not looked into for plain words: that is said where it matters.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from coset.identities.inventory import COORDINATES, Coordinate, Inventory
from coset.identities.text_encoder import TextEncoder
from coset.readings.words import singular
from coset.routing.anchors.match_texts import SAID, FoundWord
from coset.routing.anchors.spelling import normalised, stem
from coset.routing.ranking.index import RoutingIndex, Vectors
from coset.routing.request import Anchor

ALIKE = 0.42
"""From this cosine on a word is like a table or column. How often this errs: docs/routing_view.md."""
SURELY_ALIKE = 0.5
"""Below this a likeness is told as not found all the same: `source` is a little like any column."""
PLAYED = 0.5
"""What a word counts that names a role which something plays."""
MOST_PHRASES = 8
KEPT_WORDS = 50_000


@dataclass(frozen=True)
class Coverage:
    """`unfound` are phrases of the question as it has them; `strength` is how near it and its words are."""

    unfound: tuple[str, ...]
    strength: float | None
    told: tuple[str, ...] = ()
    """Those that a reader should know of: also what is only a little like something here; no words that only fill."""


@dataclass
class Vocabulary:
    """What words mean in one environment."""

    index: RoutingIndex
    encoder: TextEncoder
    roles: frozenset[str]
    """Stems of the words that name a role which something here plays."""
    _likeness: dict[str, float] = field(default_factory=dict)

    def coverage(self, whole: Vectors, words: Sequence[FoundWord], absent: Sequence[FoundWord] = ()) -> Coverage:
        """`absent` are words for a state of something that is named here, and dates, that nothing was found for."""
        open_words = [word for word in words if not word.is_found]
        self._learn([word.normal for word in open_words])
        strengths = {word.place: self._strength(word) for word in words if not word.is_dated}
        unfound = [word for word in open_words if strengths[word.place] < ALIKE]
        weak = [word for word in open_words if strengths[word.place] < SURELY_ALIKE and not word.is_filling]
        told = _phrases(sorted([*weak, *absent], key=lambda word: word.place))
        nearness = self._nearness(whole)
        if nearness is None:
            return Coverage(_phrases(unfound), None, told)
        found = list(strengths.values()) or [0.0]
        # One word that is found by chance lifts the best, not the mean; one rare word among found ones the reverse.
        return Coverage(_phrases(unfound), nearness + (max(found) + sum(found) / len(found)) / 2, told)

    def _strength(self, word: FoundWord) -> float:
        played = PLAYED if stem(word.normal) in self.roles else 0.0
        return max(0.9 * word.named, 0.8 * word.held, played, self._likeness.get(word.normal, 0.0))

    def _learn(self, words: Sequence[str]) -> None:
        """The likeness of each new word to the table or column that is most like it."""
        new = [word for word in dict.fromkeys(words) if word not in self._likeness]
        if not new:
            return
        if len(self._likeness) + len(new) > KEPT_WORDS:
            self._likeness.clear()
        vectors = self.encoder.encode(new)
        best = np.full(len(new), 0.0, dtype=np.float32)
        for objects in (self.index.table_vectors, self.index.column_vectors):
            if len(objects):
                best = np.maximum(best, (objects @ vectors.T).max(axis=0))
        self._likeness |= {word: float(each) for word, each in zip(new, best, strict=True)}

    def _nearness(self, whole: Vectors) -> float | None:
        """The mean of the question's cosine with the nearest table and with the nearest column."""
        parts = (self.index.table_vectors, self.index.column_vectors)
        if not all(map(len, parts)):
            return None
        return sum(float((vectors @ whole).max()) for vectors in parts) / len(parts)


def role_words(inventory: Inventory, played: Collection[tuple[Coordinate, str]]) -> frozenset[str]:
    """Stems of the single words that name the roles which are played: their ids and the inventory's examples."""
    found: set[str] = set()
    for coordinate in COORDINATES:
        for identity in inventory.of(coordinate):
            if (coordinate, identity.id) in played:
                names = [identity.id.replace("_", " "), *identity.examples]
                found |= {stem(singular(normalised(name))) for name in names if " " not in normalised(name)}
    return frozenset(found)


def without_chance(anchors: Sequence[Anchor], unfound: Sequence[str]) -> tuple[Anchor, ...]:
    """Anchors but for those that say a plain word stands in texts, where that word was found otherwise."""
    words = {word for phrase in unfound for word in phrase.split()}
    return tuple(
        anchor
        for anchor in anchors
        if anchor.value is not None or anchor.kind != "value" or anchor.score > SAID or anchor.phrase in words
    )


def _phrases(words: Sequence[FoundWord]) -> tuple[str, ...]:
    """Words with nothing but a blank between are one phrase; each phrase once, in the question's order."""
    runs: list[list[FoundWord]] = []
    for word in words:
        if runs and runs[-1][-1].place + 1 == word.place and runs[-1][-1].end + 1 == word.begin:
            runs[-1].append(word)
        else:
            runs.append([word])
    return tuple(dict.fromkeys(" ".join(word.text for word in run) for run in runs))[:MOST_PHRASES]
