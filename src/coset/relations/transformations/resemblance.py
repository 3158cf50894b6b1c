"""What two values have in common, as a row of numbers: the features of the fuzzy matcher.

In go two columns as `Column`s and pairs of positions, out comes one row per pair with the features named in
`FEATURES`, each between about -1 and 1 so that one set of weights serves every task. Only the two columns are looked
at: how rare a word is, how often a word is dropped between values that surely match, and which differences tell two
left values apart is learned from them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from rapidfuzz import fuzz
from rapidfuzz.distance import Indel, JaroWinkler

from coset.relations.transformations.text import Value, grams, read_value

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


NEIGHBOURS = 10
# Longer numbers are codes, of which no two differ by an amount that means anything.
LONGEST_NUMBER = 4
NUMBER = "#"

Words = frozenset[str]


def difference(one: Words, other: Words) -> tuple[Words, Words, int]:
    """The words that only one side has; where each has one number only, by how much these differ."""
    one_only, other_only = one - other, other - one
    numbers = [[word for word in words if word.isdigit()] for words in (one_only, other_only)]
    if all(len(found) == 1 and len(found[0]) <= LONGEST_NUMBER for found in numbers):
        (first,), (second,) = numbers
        return one_only - {first} | {NUMBER}, other_only - {second} | {NUMBER}, int(second) - int(first)
    return one_only, other_only, 0


class Differences:
    """How often each difference lies between two near values of a column."""

    def __init__(self, values: list[Value], words: Index, letters: Index, positions: Iterable[int]) -> None:
        """`positions` are the values whose neighbours are looked at."""
        self.swaps: Counter[tuple[Words, Words, int]] = Counter()
        self.sides: Counter[Words] = Counter()
        for position in positions:
            value = values[position]
            near = {
                *words.nearest(value.words, NEIGHBOURS + 1).positions.tolist(),
                *letters.nearest(grams(value.folded), NEIGHBOURS + 1).positions.tolist(),
            }
            for other in near - {position}:
                one_only, other_only, amount = difference(value.bag, values[other].bag)
                self.swaps[one_only, other_only, amount] += 1
                self.swaps[other_only, one_only, -amount] += 1
                self.sides[one_only] += 1
                self.sides[other_only] += 1

    def features(self, left: Words, right: Words) -> list[float]:
        """How often the whole difference, the left half of it and the right half tell two values apart."""
        left_only, right_only, amount = difference(left, right)
        return [
            math.log1p(self.swaps[left_only, right_only, amount]),
            math.log1p(self.sides[left_only]),
            math.log1p(self.sides[right_only]),
        ]


FEATURES = (
    "word cosine",
    "gram cosine",
    "right words found",
    "left words found",
    "right words found softly",
    "left words found softly",
    "right words kept",
    "left words kept",
    "letters",
    "letters sorted",
    "letters without blanks",
    "letters of the shorter",
    "core letters",
    "core equal",
    "squashed equal",
    "first word equal",
    "last word equal",
    "right number missing",
    "left number missing",
    "numbers differ",
    "rarest right word missing",
    "rarest left word missing",
    "initials agree",
    "difference tells left values apart",
    "left difference tells them apart",
    "right difference tells them apart",
)

# A share of matches in which a word is dropped, before anything is known of the word.
PRIOR_DROP, PRIOR_COUNT = 0.3, 2.0


class Columns:
    """Both columns read once, with the weights of their words."""

    def __init__(self, left: Sequence[str], right: Sequence[str]) -> None:
        self.left = [read_value(text) for text in left]
        self.right = [read_value(text) for text in right]
        self.word_index = Index([value.words for value in self.left], [value.words for value in self.right])
        self.gram_index = Index([grams(v.folded) for v in self.left], [grams(v.folded) for v in self.right])
        self.rarest = math.log(1 + len(left) + len(right))
        self.drops: dict[str, float] = {}
        self.apart: Differences | None = None
        self._last: tuple[int, dict[str, float], dict[str, float]] = (-1, {}, {})

    def learn_drops(self, pairs: Sequence[tuple[int, int]]) -> None:
        """How often each word is in only one of two values that surely match."""
        kept: Counter[str] = Counter()
        dropped: Counter[str] = Counter()
        for i, j in pairs:
            one, other = self.left[i].bag, self.right[j].bag
            kept.update(one & other)
            dropped.update(one ^ other)
        self.drops = {
            word: (dropped[word] + PRIOR_DROP * PRIOR_COUNT) / (kept[word] + dropped[word] + PRIOR_COUNT)
            for word in kept | dropped
        }

    def learn_differences(self, positions: Iterable[int]) -> None:
        """Learn what tells the left values apart from those at the positions and their neighbours."""
        self.apart = Differences(self.left, self.word_index, self.gram_index, positions)

    def features(self, i: int, j: int, word_cosine: float, gram_cosine: float) -> list[float]:
        one, other = self.left[i], self.right[j]
        weights = self.word_index.weights
        # Sets have no order of their own: only an exact sum is the same in every run.
        left_total = math.fsum(weights[word] for word in one.bag) or 1.0
        right_total = math.fsum(weights[word] for word in other.bag) or 1.0
        left_only, right_only = one.bag - other.bag, other.bag - one.bag
        left_missing = math.fsum(weights[word] for word in left_only)
        right_missing = math.fsum(weights[word] for word in right_only)
        left_soft, right_soft, initials = soft_overlap(left_only, right_only, weights)
        drops = self.drops
        left_costly = math.fsum(weights[word] * (1 - drops.get(word, PRIOR_DROP)) for word in left_only)
        right_costly = math.fsum(weights[word] * (1 - drops.get(word, PRIOR_DROP)) for word in right_only)
        left_numbers = {word for word in left_only if word.isdigit()}
        right_numbers = {word for word in right_only if word.isdigit()}
        return [
            word_cosine,
            gram_cosine,
            1 - right_missing / right_total,
            1 - left_missing / left_total,
            1 - (right_missing - right_soft) / right_total,
            1 - (left_missing - left_soft) / left_total,
            1 - right_costly / right_total,
            1 - left_costly / left_total,
            Indel.normalized_similarity(one.folded, other.folded),
            Indel.normalized_similarity(one.ordered, other.ordered),
            Indel.normalized_similarity(one.squashed, other.squashed),
            fuzz.partial_ratio(one.squashed, other.squashed) / 100,
            Indel.normalized_similarity(one.core, other.core),
            float(one.core == other.core and one.core != ""),
            float(one.squashed == other.squashed),
            float(one.words[:1] == other.words[:1]),
            float(one.words[-1:] == other.words[-1:]),
            float(bool(right_numbers)),
            float(bool(left_numbers)),
            float(bool(left_numbers) and bool(right_numbers)),
            max((weights[word] for word in right_only), default=0.0) / self.rarest,
            max((weights[word] for word in left_only), default=0.0) / self.rarest,
            initials,
            *(self.apart.features(one.bag, other.bag) if self.apart else (0.0, 0.0, 0.0)),
        ]

    def cosines(self, i: int, j: int) -> tuple[float, float]:
        """Cosines of a pair that only one of the two indexes proposed."""
        by_words, by_grams = self.right_vectors(j)
        return dot(by_words, self.word_index.vectors[i]), dot(by_grams, self.gram_index.vectors[i])

    def right_vectors(self, j: int) -> tuple[dict[str, float], dict[str, float]]:
        # Pairs come one right value after the other, so it is enough to remember the last one.
        if self._last[0] != j:
            value = self.right[j]
            self._last = j, self.word_index.vector(value.words), self.gram_index.vector(grams(value.folded))
        return self._last[1:]


def dot(one: dict[str, float], other: dict[str, float]) -> float:
    return sum(weight * other[name] for name, weight in one.items() if name in other)


def soft_overlap(
    left_only: frozenset[str], right_only: frozenset[str], weights: dict[str, float]
) -> tuple[float, float, float]:
    """The weight, on each side, of words that have a near double on the other: a typo, an abbreviation, an initial.

    Third comes the share of one-letter words that are the initial of a word on the other side.
    """
    if not left_only or not right_only:
        return 0.0, 0.0, 0.0
    pairs = []
    for one in left_only:
        if one.isdigit():
            continue
        for other in right_only:
            if other.isdigit():
                continue
            likeness = word_likeness(one, other)
            if likeness > 0:
                pairs.append((likeness, one, other))
    pairs.sort(key=lambda pair: (-pair[0], pair[1], pair[2]))
    left_used: set[str] = set()
    right_used: set[str] = set()
    left_soft = right_soft = 0.0
    initials = 0
    for likeness, one, other in pairs:
        if one in left_used or other in right_used:
            continue
        left_used.add(one)
        right_used.add(other)
        left_soft += likeness * weights[one]
        right_soft += likeness * weights[other]
        initials += min(len(one), len(other)) == 1
    single = sum(len(word) == 1 and not word.isdigit() for word in (*left_only, *right_only))
    return left_soft, right_soft, initials / single if single else 0.0


def word_likeness(one: str, other: str) -> float:
    if len(one) > len(other):
        one, other = other, one
    if one[0] == other[0]:
        if len(one) == 1:
            return 0.5
        if other.startswith(one):
            return 0.6 + 0.3 * len(one) / len(other)
    similarity = JaroWinkler.similarity(one, other)
    return similarity if similarity >= 0.85 and len(one) > 2 else 0.0
