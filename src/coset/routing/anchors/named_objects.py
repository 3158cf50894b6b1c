"""Everything of an environment that has a name: sources, tables, columns, nested paths, facets; found by its name.

In: objects with their names, labels and descriptions. Out: for keys of a question, the names that are equal to one in
some form, the objects that bear a name, and how much of a name or description the question's words cover.
Holds arrays; knows neither a state nor a question.

Names share their words, so the forms of a name are not written out: each word is brought into its forms once, and the
hash of a name in a form is made from those of its words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from coset.readings.words import singular
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
)
from coset.routing.anchors.text_forms import STOP_WORDS, in_full, normalised, plain_words, stem

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
