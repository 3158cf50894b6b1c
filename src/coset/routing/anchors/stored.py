"""What an environment holds for linking: names of its objects, values of its columns, ranges of its numbers and dates.

In: names, values and ranges as the state has them. Out: structures that find the bearers of a phrase at once. Knows no
question.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from coset.readings.words import singular
from coset.routing.anchors.dates import DateRange
from coset.routing.anchors.hashed_texts import (
    HashedTexts,
    Hashes,
    Postings,
    Rows,
    Words,
    hashes_of,
    joined_hashes,
    sums_of,
    weight_of,
    weight_of_one,
)
from coset.routing.anchors.spelling import STOP_WORDS, in_full, normalised, plain_words, stem

ObjectKind = Literal["source", "table", "column", "path", "facet"]
Form = Literal["plain", "singular", "compact", "in full", "stem", "initials"]
FORMS: tuple[Form, ...] = ("plain", "singular", "compact", "in full", "stem", "initials")
"""From the strongest to the weakest; a name is kept in each form that differs from all stronger ones."""
ORIGIN_WEIGHTS = {"name": 1.0, "label": 0.97, "description": 0.8}
KIND_WEIGHTS = {"source": 0.6, "table": 1.0, "column": 1.0, "path": 0.95, "facet": 0.7}
LONGEST_LABEL = 5
"""A description of so many words is as good as a label."""
DESCRIBING_WORDS = 16
MOST_NAMES = 64
"""So many different names may share one form; those that come first are looked at."""


@dataclass
class ObjectList:
    """Objects as they are collected, by number."""

    references: list[str] = field(default_factory=list)
    kinds: list[ObjectKind] = field(default_factory=list)
    tables: list[int] = field(default_factory=list)
    """The number of the table that each belongs to; its own for a table, -1 for a source."""
    names: list[str] = field(default_factory=list)
    labels: list[tuple[int, str]] = field(default_factory=list)
    descriptions: list[tuple[int, str]] = field(default_factory=list)

    def add(self, kind: ObjectKind, reference: str, name: str, table: int = -1) -> int:
        number = len(self.references)
        self.references.append(reference)
        self.kinds.append(kind)
        self.names.append(name)
        self.tables.append(number if kind == "table" else table)
        return number

    def describe(self, number: int, label: str, description: str) -> None:
        if label and label != self.names[number]:
            self.labels.append((number, label))
        if description:
            self.descriptions.append((number, description))


class NamedObjects:
    """The objects of an environment, ready to be looked up by name."""

    def __init__(self, objects: ObjectList) -> None:
        self.references = objects.references
        self.kinds = objects.kinds
        self.tables: Rows = np.asarray(objects.tables, dtype=np.int64)
        short = [(number, text) for number, text in objects.descriptions if len(text) <= 60]
        short = [(number, text) for number, text in short if len(text.split()) <= LONGEST_LABEL]
        borne = [*objects.names, *(f"{label}\0label" for _, label in objects.labels)]
        borne += [f"{text}\0description" for _, text in short]
        bearers = [*range(len(objects.names)), *(each[0] for each in objects.labels), *(each[0] for each in short)]
        numbers = {name: number for number, name in enumerate(dict.fromkeys(borne))}
        ids = np.fromiter(map(numbers.__getitem__, borne), np.int64, len(borne))
        plain = len(dict.fromkeys(objects.names))  # Labels and descriptions come after all names.
        marked = [name.rpartition("\0") for name in list(numbers)[plain:]]
        self.names = [*list(numbers)[:plain], *(name for name, _, _ in marked)]
        self.origins = ["name"] * plain + [origin for _, _, origin in marked]
        order = np.argsort(ids, kind="stable")
        self._bearers: Rows = np.asarray(bearers, dtype=np.int64)[order]
        self._starts: Rows = np.searchsorted(ids[order], np.arange(len(numbers) + 1))
        self._add_forms()
        self._add_descriptions(objects)

    def _add_forms(self) -> None:
        split = [plain_words(name) for name in self.names]
        per_name = np.fromiter(map(len, split), np.int64, len(split))
        vocabulary = {word: number for number, word in enumerate(dict.fromkeys(chain.from_iterable(split)))}
        flat = np.fromiter(map(vocabulary.__getitem__, chain.from_iterable(split)), np.int64, int(per_name.sum()))
        words = list(vocabulary)
        alone = [singular(word) for word in words]
        full = [" ".join(map(singular, in_full((word,)))) for word in alone]
        stems = [" ".join(map(stem, in_full((word,)))) for word in alone]
        made = [
            _joined(words, flat, per_name), _joined(alone, flat, per_name), _joined(alone, flat, per_name, ""),
            _joined(full, flat, per_name), _joined(stems, flat, per_name),
            np.where(per_name >= 3, _joined([word[0] for word in words], flat, per_name, ""), np.uint64(0)),
        ]  # fmt: skip
        kept = [key != 0 for key in made]
        for form, key in enumerate(made):
            for stronger in made[:form]:
                kept[form] &= key != stronger
        self._keys = Postings(np.concatenate([key[keep] for key, keep in zip(made, kept, strict=True)]))
        self._name_of_key: Rows = np.concatenate([np.flatnonzero(keep) for keep in kept])
        self._form_of_key = np.repeat(np.arange(len(FORMS)), [int(keep.sum()) for keep in kept])
        self.vocabulary = Words(HashedTexts(words))
        self._add_stems([text.split() for text in stems], flat, per_name)

    def _add_stems(self, stems: list[list[str]], flat: Rows, per_name: Rows) -> None:
        """Which names hold a word, whatever its ending, and what all words of a name weigh together."""
        counts = np.fromiter(map(len, stems), np.int64, len(stems))
        starts = np.cumsum(counts) - counts
        hashes = hashes_of(list(chain.from_iterable(stems)))
        repeated = counts[flat]
        places = np.repeat(starts[flat] - np.cumsum(repeated) + repeated, repeated) + np.arange(int(repeated.sum()))
        rows = np.repeat(np.repeat(np.arange(len(per_name)), per_name), repeated)
        self.stems = Postings(hashes[places], rows)
        per_key = np.diff(self.stems.starts)
        weights = np.repeat(weight_of(per_key), per_key)
        self.name_weights: NDArray[np.float64] = np.zeros(len(per_name))
        np.add.at(self.name_weights, self.stems.members, weights)

    def _add_descriptions(self, objects: ObjectList) -> None:
        self.described = [number for number, _ in objects.descriptions]
        texts = [
            " ".join(
                [stem(word) for word in normalised(text[:400]).split() if word not in STOP_WORDS][:DESCRIBING_WORDS]
            )
            for _, text in objects.descriptions
        ]
        self.describing = Words(HashedTexts(texts))
        weights = self.describing.weights()
        totals = np.bincount(self.describing.row_of, weights, minlength=len(texts))
        self.description_weights: NDArray[np.float64] = totals.astype(np.float64)

    def __len__(self) -> int:
        return len(self.references)

    def bearers(self, names: Sequence[int]) -> list[Rows]:
        """For each name the objects that bear it."""
        at = np.array(names, dtype=np.int64)
        bounds = zip(self._starts[at].tolist(), self._starts[at + 1].tolist(), strict=True)
        return [self._bearers[begin:end] for begin, end in bounds]

    def found(self, hashes: Hashes) -> list[tuple[int, int, Form]]:
        """(number of the key, name, form) of the keys that are a form of a name."""
        if not len(hashes):
            return []
        places = self._keys.places(hashes)
        found = []
        for key in (places >= 0).nonzero()[0].tolist():
            rows = self._keys.rows(places[key], MOST_NAMES)
            for name, form in zip(self._name_of_key[rows].tolist(), self._form_of_key[rows].tolist(), strict=True):
                found.append((key, name, FORMS[form]))
        return found


def _joined(words: list[str], flat: Rows, per_name: Rows, separator: str = " ") -> Hashes:
    sums, lengths = sums_of(words)
    return joined_hashes(sums[flat], lengths[flat], per_name, separator)


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


Numbers = NDArray[np.float64]


@dataclass
class RangeList:
    """Ranges as they are collected: (object, low, high); days are ordinals."""

    numbers: list[tuple[int, float, float]] = field(default_factory=list)
    keys: set[int] = field(default_factory=set)
    """Objects whose numbers are ids: whole, and different in every row."""
    days: list[tuple[int, float, float]] = field(default_factory=list)
    unknown_days: list[int] = field(default_factory=list)
    """Objects that hold times in a form whose extremes are not known."""
    years: set[int] = field(default_factory=set)


class Ranges:
    def __init__(self, found: RangeList) -> None:
        self.number_objects, self._low, self._high = _arrays(found.numbers)
        self.keys, self.years = frozenset(found.keys), frozenset(found.years)
        self._is_key = np.isin(self.number_objects, sorted(found.keys))
        unknown = [(number, -np.inf, np.inf) for number in found.unknown_days]
        self.day_objects, self._first, self._last = _arrays([*found.days, *unknown])
        self._number_place = {int(number): place for place, number in enumerate(self.number_objects)}
        self._day_place = {int(number): place for place, number in enumerate(self.day_objects)}

    def keys_with(self, value: float) -> Rows:
        """The id columns whose range holds the number."""
        return self.number_objects[self._is_key & (self._low <= value) & (value <= self._high)]

    def holds_number(self, number: int, value: float) -> bool:
        """Whether an object holds numbers and its range holds this one."""
        place = self._number_place.get(number)
        return place is not None and bool(self._low[place] <= value <= self._high[place])

    def overlapping(self, dates: DateRange) -> Rows:
        """The objects whose times overlap the span; those of unknown extremes are the last."""
        first = _ordinal(dates.first, -np.inf)
        last = _ordinal(dates.last, np.inf)
        return self.day_objects[(self._first <= last) & (self._last >= first)]

    def span_of(self, number: int) -> str:
        """The extremes of an object that holds times, in words; empty when they are not known."""
        place = self._day_place[number]
        low, high = float(self._first[place]), float(self._last[place])
        if not math.isfinite(low):
            return ""
        days = [datetime.date.fromordinal(int(day)) for day in (low, high)]
        return f"{days[0].year} to {days[1].year}" if number in self.years else f"{days[0]} to {days[1]}"


def _ordinal(day: datetime.date | None, otherwise: float) -> float:
    return otherwise if day is None else float(day.toordinal())


def _arrays(found: list[tuple[int, float, float]]) -> tuple[Rows, Numbers, Numbers]:
    objects = np.asarray([number for number, _, _ in found], dtype=np.int64)
    return objects, np.asarray([low for _, low, _ in found], float), np.asarray([high for _, _, high in found], float)
