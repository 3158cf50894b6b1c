"""Match what no rule can express: typos, abbreviations, extra words, another order of words.

In go two columns, out comes for each right value at most one left value with the probability that it is right. Each
right value is compared with its nearest left values; a linear score ranks them against each other, and a second one
says how far the winner can be trusted: how well it fits, how far behind the runner-up is, and whether another right
value has a better claim to the same left value. The weights are general ones (see `weights`); what is particular to
the columns (which words are rare, which are dropped freely) is learned from the columns themselves, without labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from coset.relations.transformations import weights
from coset.relations.transformations.resemblance import FEATURES, Columns, Floats, Integers
from coset.relations.transformations.text import grams

NEAREST = 25
# Word and gram cosine together from which the best partner of both sides surely matches.
SURE = 1.2
# A gap wider than this says no more than one this wide; also taken where there is no runner-up.
WIDEST_GAP = 5.0


@dataclass(frozen=True)
class Guess:
    """A left and a right position and the probability that they belong together."""

    left: int
    right: int
    probability: float


@dataclass(frozen=True)
class Candidates:
    """Pairs of positions, grouped by right position, with one row of features each."""

    left: Integers
    right: Integers
    features: Floats
    # Whether right values compete for a left value; they do not where one left value has many partners.
    exclusive: bool = True

    def __len__(self) -> int:
        return len(self.left)


def candidates(columns: Columns, rights: Sequence[int]) -> Candidates:
    """The nearest left values of each right value, by words and by n-grams."""
    pairs: list[tuple[int, int, float, float]] = []
    for j in rights:
        value = columns.right[j]
        by_words = columns.word_index.nearest(value.words, NEAREST)
        by_grams = columns.gram_index.nearest(grams(value.folded), NEAREST)
        word_cosines = dict(zip(by_words.positions.tolist(), by_words.cosines.tolist(), strict=True))
        gram_cosines = dict(zip(by_grams.positions.tolist(), by_grams.cosines.tolist(), strict=True))
        for i in sorted(word_cosines.keys() | gram_cosines.keys()):
            if i in word_cosines and i in gram_cosines:
                pairs.append((i, j, word_cosines[i], gram_cosines[i]))
            else:
                pairs.append((i, j, *columns.cosines(i, j)))
    columns.learn_drops(sure_pairs(pairs))
    columns.learn_differences(sorted({pair[0] for pair in pairs}))
    rows = [columns.features(*pair) for pair in pairs]
    return Candidates(
        np.array([pair[0] for pair in pairs], dtype=np.int64),
        np.array([pair[1] for pair in pairs], dtype=np.int64),
        np.array(rows).reshape(len(pairs), len(FEATURES)),
    )


def sure_pairs(pairs: Sequence[tuple[int, int, float, float]]) -> list[tuple[int, int]]:
    """Pairs in which each is the other's nearest and both are near."""
    nearest_left: dict[int, tuple[float, int]] = {}
    for i, j, word_cosine, gram_cosine in pairs:
        nearest_left[j] = max(nearest_left.get(j, (0.0, -1)), (word_cosine + gram_cosine, i))
    nearest_right: dict[int, tuple[float, int]] = {}
    for j, (nearness, i) in nearest_left.items():
        nearest_right[i] = max(nearest_right.get(i, (0.0, -1)), (nearness, j))
    return [(i, j) for i, (nearness, j) in nearest_right.items() if nearness > SURE]


def shares(scores: Floats, groups: Integers) -> Floats:
    """Softmax of the scores within each group."""
    size = int(groups.max()) + 1 if len(groups) else 0
    highest = np.full(size, -np.inf)
    np.maximum.at(highest, groups, scores)
    raised = np.exp(scores - highest[groups])
    return np.asarray(raised / np.bincount(groups, weights=raised, minlength=size)[groups])


def best_of_others(values: Floats, groups: Integers, none: float) -> Floats:
    """For each the highest value of another one in its group, or `none` where it is alone."""
    order = np.lexsort((-values, groups))
    first = np.ones(len(order), dtype=bool)
    first[1:] = groups[order][1:] != groups[order][:-1]
    starts = np.flatnonzero(first)
    sizes = np.diff(np.append(starts, len(order)))
    seconds = np.full(len(starts), none)
    seconds[sizes > 1] = values[order[starts[sizes > 1] + 1]]
    others = np.empty(len(values))
    others[order] = np.repeat(values[order[starts]], sizes)
    others[order[starts]] = seconds
    return others


CONTEST = (
    "own score", "claim of another right value", "another claim is stronger", "share of the left value", "all claims",
)  # fmt: skip


def contest(found: Candidates, scores: Floats) -> Floats:
    """One row per pair: its score, and how other right values compete for the same left value."""
    share = shares(scores, found.right)
    claim = best_of_others(share, found.left, 0.0)
    claims = np.bincount(found.left, weights=share)[found.left] - share
    if not found.exclusive:
        zeros = np.zeros(len(scores))
        return np.column_stack([scores, zeros, zeros, np.ones(len(scores)), zeros])
    return np.column_stack([scores, claim, claim > share, shares(scores, found.left), np.log1p(np.maximum(claims, 0))])


@dataclass(frozen=True)
class Winners:
    """The best left value of each right value, as places in the candidates, with what speaks for and against it."""

    places: Integers
    evidence: Floats


EVIDENCE = (
    "constant", "score", "claim of another right value", "gap to the runner-up", "share of all candidates",
    "share of the left value", "all claims", "gap to another right value", *FEATURES,
)  # fmt: skip


def winners(found: Candidates, ranking: Floats, contesting: Floats) -> Winners:
    scores = contest(found, found.features @ ranking) @ contesting
    places = best_places(found, scores)
    claims = contest(found, scores)[places]
    evidence = np.column_stack(
        [
            np.ones(len(places)),
            scores[places],
            claims[:, 1],
            gap(scores, found.right)[places],
            shares(scores, found.right)[places],
            claims[:, 3:],
            gap(scores, found.left)[places] if found.exclusive else np.full(len(places), WIDEST_GAP),
        ]
    )
    return Winners(places, np.hstack([evidence, found.features[places]]))


def best_places(found: Candidates, scores: Floats) -> Integers:
    """The place of the best left value of each right value; the first one of equals."""
    order = np.lexsort((found.left, -scores, found.right))
    first = np.ones(len(order), dtype=bool)
    first[1:] = found.right[order][1:] != found.right[order][:-1]
    return order[first]


def gap(scores: Floats, groups: Integers) -> Floats:
    """How far each is ahead of the best other one in its group."""
    return np.clip(scores - best_of_others(scores, groups, -np.inf), -WIDEST_GAP, WIDEST_GAP)


def guess(columns: Columns, rights: Sequence[int], *, exclusive: bool = True) -> list[Guess]:
    """The most likely left value of each right value, with its probability."""
    found = replace(candidates(columns, rights), exclusive=exclusive)
    if not len(found):
        return []
    best = winners(found, weights.RANKING, weights.CONTEST)
    probabilities = 1 / (1 + np.exp(-best.evidence @ weights.TRUST))
    return [
        Guess(int(found.left[place]), int(found.right[place]), float(probability))
        for place, probability in zip(best.places, probabilities, strict=True)
    ]
