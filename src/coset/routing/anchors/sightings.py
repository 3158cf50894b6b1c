"""A sighting: one phrase of a question that may name one object, before the strongest are chosen.

In: nothing. Out: the type that the matchers hand to `choose`, and what they all know of a question being looked up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coset.readings.words import singular
from coset.routing.anchors.hashed_texts import Hashes, Rows, hashes_of
from coset.routing.anchors.index import AnchorIndex
from coset.routing.anchors.phrases import Phrase, ReadQuestion
from coset.routing.anchors.spelling import ASKING_WORDS, SHORTEST, STOP_WORDS, shortened, stem
from coset.routing.request import Anchor, AnchorKind, AnchorMatch

LIKE = 0.75
"""From this likeness on a word may be a slip for another."""

NOTHING = -1


class Sighting(NamedTuple):
    """`first` and `last` are the words of the question that it covers. A question has hundreds: they must be cheap."""

    phrase: str
    first: int
    last: int
    object: int
    """The number of the object, or `NOTHING` for a document."""
    reference: str
    kind: AnchorKind
    match: AnchorMatch
    score: float
    value: str | None = None
    note: str = ""
    variants: tuple[str, ...] = ()

    def anchor(self, score: float) -> Anchor:
        phrase, _, _, _, reference, kind, match, _, value, note, variants = self
        return Anchor(phrase, reference, kind, match, round(min(1.0, score), 3), value, note, variants)


@dataclass
class Lookup:
    """A question being looked up in an index."""

    question: ReadQuestion
    index: AnchorIndex
    named: dict[int, float] = field(default_factory=dict)
    """How strongly each object is named by the question, as far as that was found."""

    named_spans: dict[tuple[int, int], float] = field(default_factory=dict)
    """How strongly the words from one place to another are a name."""

    @cached_property
    def named_tables(self) -> dict[int, float]:
        """How strongly each table is named, by itself or by a column of it that no other table has."""
        tables: list[int] = self.index.objects.tables[list(self.named)].tolist() if self.named else []
        found: dict[int, float] = {}
        for (number, score), table in zip(self.named.items(), tables, strict=True):
            if table >= 0:
                found[table] = max(found.get(table, 0.0), score if table == number else 0.6 * score)
        return found

    def closeness(self, number: int) -> float:
        """How strongly the question names an object or its table: what decides between equals."""
        table = int(self.index.objects.tables[number])
        return max(self.named.get(number, 0.0), 0.8 * self.named_tables.get(table, 0.0))

    def names_apart(self, first: int, last: int, found: Sequence[str]) -> set[int]:
        """Places of names that stand among the words of a loose finding without being what was found: of `exchange is
        Starbucks listed`, the column `Listing Exchange` says nothing of Starbucks."""
        places = [place for place in self.capitals if first <= place < last]
        if not places:
            return set()
        stems = {stem(word) for word in found}
        words = [(place, self.question.words[place].normal) for place in places]
        return {
            place
            for place, word in words
            if stem(word) not in stems and not get_close_matches(word, found, 1, LIKE)
        }  # fmt: skip

    @cached_property
    def capitals(self) -> tuple[int, ...]:
        """The places of the words that are written as names are, and tell something."""
        return tuple([
            place for place, word in enumerate(self.question.words) if word.is_capital and not word.is_stop
        ])  # fmt: skip

    @cached_property
    def _strengths(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """How strongly each object is named, and each table; the last stands for the table of a source: none."""
        found = []
        for named in (self.named, self.named_tables):
            strength = np.zeros(len(self.index.objects) + 1)
            strength[np.fromiter(named, np.int64, len(named))] = np.fromiter(named.values(), float, len(named))
            found.append(strength)
        return found[0], found[1]

    def nearest(self, numbers: Rows, most: int) -> list[int]:
        """The objects that the question names most strongly, or whose tables it names; then the first ones."""
        objects, tables = self._strengths
        closeness = np.maximum(objects[numbers], 0.8 * tables[self.index.objects.tables[numbers]])
        likely = np.concatenate((closeness.nonzero()[0], (closeness == 0.0).nonzero()[0][:most]))
        found: list[int] = numbers[likely[np.lexsort((numbers[likely], -closeness[likely]))][:most]].tolist()
        return found

    @cached_property
    def runs(self) -> tuple[Phrase, ...]:
        """The phrases that may be names or values: all but numbers and dates."""
        return tuple(phrase for phrase in self.question.phrases if phrase.kind not in ("number", "date"))

    @cached_property
    def _hashes(self) -> tuple[Hashes, Hashes, Hashes, Hashes]:
        """Of the runs, of the telling words, of their stems, and of what shortens them: all are made at once."""
        texts = [phrase.normal for phrase in self.runs]
        texts += [word for _, word, _ in self.telling]
        texts += [root for _, _, root in self.telling]
        texts += [way for _, way in self.shortened]
        runs, words = len(self.runs), len(self.telling)
        hashes = hashes_of(texts)
        stems, ways = runs + words, runs + 2 * words
        return hashes[:runs], hashes[runs:stems], hashes[stems:ways], hashes[ways:]

    @property
    def run_hashes(self) -> Hashes:
        return self._hashes[0]

    @property
    def word_hashes(self) -> Hashes:
        """Of the telling words, in their order."""
        return self._hashes[1]

    @cached_property
    def places_in_values(self) -> Rows:
        """The places of the telling words among the words of held values, or -1."""
        return self.index.values.words.postings.places(self.word_hashes)

    @property
    def shortened_hashes(self) -> Hashes:
        return self._hashes[3]

    @cached_property
    def shortened(self) -> list[tuple[int, str]]:
        """(place, way) of the ways in which names may shorten the telling words."""
        return [(place, way) for place, word, _ in self.telling for way in shortened(singular(word))]

    @cached_property
    def telling(self) -> tuple[tuple[int, str, str], ...]:
        """(place, word, stem) of the words that tell something by themselves."""
        return tuple([
            (place, word, stem(word))
            for place, (_, word, _, _) in enumerate(self.question.words)
            if word not in STOP_WORDS and word not in ASKING_WORDS and len(word) > 1
        ])  # fmt: skip

    @cached_property
    def roots(self) -> dict[str, int]:
        """The stems of the telling words, each with the place where it stands first."""
        found: dict[str, int] = {}
        for place, _, root in self.telling:
            found.setdefault(root, place)
        return found

    @cached_property
    def root_hashes(self) -> Hashes:
        numbers = {place: number for number, (place, _, _) in enumerate(self.telling)}
        return self._hashes[2][[numbers[place] for place in self.roots.values()]]

    @cached_property
    def corrected(self) -> dict[int, tuple[tuple[str, int], ...]]:
        """By place: what an unknown word may be a slip for, and how many slips that takes."""
        names = self.index.objects.vocabulary.postings.places(self.word_hashes) >= 0
        stems = self.index.objects.stems.places(self._hashes[2]) >= 0
        known: list[bool] = (names | stems | (self.places_in_values >= 0)).tolist()
        words = [(place, word, here) for (place, word, _), here in zip(self.telling, known, strict=True)]
        found = {}
        for place, word, is_known in [each for each in words if not each[1].isdigit()][:MOST_UNKNOWN]:
            if is_known or len(word) < SHORTEST:
                continue
            spelling, alone = self.index.spelling, singular(word)
            near = spelling.corrections(word)
            if not near and alone != word:
                near = spelling.corrections(alone)
            if near:
                found[place] = tuple((each.word, each.slips) for each in near)
        return found

    @cached_property
    def corrected_runs(self) -> list[tuple[Phrase, str, int]]:
        """(phrase, its words with one corrected, slips) of the phrases that hold an unknown word."""
        corrected = self.corrected
        if not corrected:
            return []
        found = []
        for phrase in self.runs:
            places = [place for place in range(phrase.first, phrase.last) if place in corrected]
            if not places or phrase.last - phrase.first > MOST_CORRECTED:
                continue
            for place in places:
                for word, slips in corrected[place]:
                    words = [each.normal for each in self.question.words[phrase.first : phrase.last]]
                    # Where several words are unknown, the others take their nearest correction.
                    for other in places:
                        words[other - phrase.first] = corrected[other][0][0]
                    words[place - phrase.first] = word
                    found.append((phrase, " ".join(words), slips + len(places) - 1))
        return found[:MOST_VARIANTS]


MOST_UNKNOWN = 40
MOST_CORRECTED = 5
MOST_VARIANTS = 200


def rarity(count: int, common: int = 3, power: float = 0.3) -> float:
    """What a match is worth that is shared by so many: 1 up to `common`, then falling."""
    return min(1.0, float((common / max(1, count)) ** power))


LEAST_SCORE = 0.12
SOLID = 0.5
"""A phrase that is found so well takes its parts along."""
PART = 0.5
LITERALS = ("value", "code")
MOST_OF_PHRASE = 10
"""One phrase has so many anchors at most, so that the others are heard."""


def choose(sightings: Iterable[Sighting], most: int) -> tuple[Anchor, ...]:
    best: dict[tuple[int, int, str, str, str], Sighting] = {}
    for sighting in sightings:
        _, first, last, _, reference, kind, _, score, value, _, _ = sighting
        # Members of a family of tables are told apart by their names alone.
        member = (value or "") if kind == "name" else ""
        place = (first, last, reference, "literal" if kind in LITERALS else kind, member)
        known = best.get(place)
        if known is None or score > known.score or (score == known.score and _order(sighting) < _order(known)):
            best[place] = sighting
    alike = [(first, last, kind, match) for _, first, last, _, _, kind, match, _, _, _, _ in best.values()]
    solid = {
        like
        for like, each in zip(alike, best.values(), strict=True)
        if each.score >= SOLID and each.kind not in ("number", "document")
    }
    # What lies around it is the same for all objects of a phrase that were found alike.
    shares = {like: _share(like, solid) for like in set(alike)}
    weighed = [(each.score * shares[like], each) for like, each in zip(alike, best.values(), strict=True)]
    # What comes first in a row decides; the number keeps equals as they are.
    ordered = sorted([
        (-round(score, 6), first, -last, reference, kind, value or "", number)
        for number, (score, (_, first, last, _, reference, kind, _, _, value, _, _)) in enumerate(weighed)
        if score >= LEAST_SCORE
    ])  # fmt: skip
    chosen: list[Anchor] = []
    counts: dict[tuple[int, int], int] = {}
    seen: set[tuple[str, str, str | None]] = set()
    for *_, number in ordered:
        score, sighting = weighed[number]
        phrase, first, last, _, reference, kind, _, _, value, _, _ = sighting
        span = (first, last)
        # A mention in texts has no value of its own: what is mentioned tells it apart.
        said = phrase if kind == "value" and value is None else value
        same = (reference, "literal" if kind in LITERALS else kind, said)
        count = counts.get(span, 0)
        # The same thing said twice, or by a part of the phrase that named it already, is one anchor.
        if same in seen or count >= MOST_OF_PHRASE:
            continue
        seen.add(same)
        counts[span] = count + 1
        chosen.append(sighting.anchor(score))
        if len(chosen) == most:
            break
    return tuple(chosen)


def _order(sighting: Sighting) -> tuple[float, str, str]:
    return (-sighting.score, sighting.kind, sighting.value or "")


Alike = tuple[int, int, AnchorKind, AnchorMatch]


def _share(alike: Alike, solid: Iterable[Alike]) -> float:
    """How much of the score is left, where a longer phrase around it was found well. A value within a longer value is
    not meant at all; a name within another may still tell the table."""
    first, last, kind, match = alike
    share = 1.0
    for other_first, other_last, other_kind, other_match in solid:
        inside = other_first <= first and last <= other_last
        if not inside or other_last - other_first <= last - first:
            continue
        if other_kind == "date":
            if kind in (*LITERALS, "number"):
                return 0.0
            continue
        if kind in LITERALS and other_kind in LITERALS and other_match != "fuzzy":
            return 0.0
        if other_match != "fuzzy" or match == "fuzzy":
            share = PART
    return share
