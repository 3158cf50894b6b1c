"""One order of tables out of all that speaks for each: what is written, what it means, what joins, what was learned.

In: for a question the scores of plain search, of documents and of vectors, and the order of the ranker; of the
environment which tables matter whatever is asked and what joins. Out: one order of all tables. The ranker learned from
names that speak; where most words of the names are no words, it is trusted little, and what is written decides. Ranks
are fused, not scores: those of one are no measure for the other. How the weights were found: docs/routing.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from coset.readings.observed import ObservedEnvironment
from coset.readings.words import words_of
from coset.routing.search.words import Scores

Order = NDArray[np.int64]
Numbers = NDArray[np.float64]
DAMPING = 10
"""Of reciprocal ranks: the larger, the less the first places weigh."""
OPAQUE, READABLE = 0.55, 0.85
"""The share of known words in names at which the ranker is trusted least, and most."""
LEAST_TRUST, MOST_TRUST = 0.1, 0.85
SPOKEN_OF = 8
"""From so many tables on that documents or descriptions name, these lead."""
HOLDING = 0.06
"""What a table gains in the fused order that alone holds a value of the question: 0.1 is the gain of a first place."""
SHORTEST = 2

WORDS, WORDS_PLACE, LENT, LENT_PLACE, LIKE, SAID, TERMS, SYSTEM, HELD = 0.5, 0.5, 0.9, 0.9, 1.4, 0.8, 1.0, 0.3, 1.4
MAIN, COPIED, OUT_OF_USE = 2.2, 1.5, -1.0
DEMANDED = 1.0
"""What speaks for a table by itself: words of the question, its place by them, the same with the words that passages
lend, its place by meaning, its place by what documents say of it, terms that lead to it, paragraphs that name its
source, values it holds, that it is about an entity that is asked for; and whatever is asked: that people name it, copy
it, or say that its use has ended."""
BIAS = -6.8
REFERRED, REFERRING, ALL_REFERRING, DECODING = 0.9, 0.2, 1.6, 2.2
"""What it gains by likely tables that refer to it, that it refers to, by all that refer to it, and by those of which
it says what codes mean."""
FIRST, LEADING, JOINED = 16, 12, 1.0
"""After so many tables, those that join with one of the leading ones come first."""


def trust_in_names(environment: ObservedEnvironment, is_word: Callable[[str], bool]) -> float:
    """How far the learned order is trusted: by the share of words among the parts of names, each table alike. Readings
    do not count: where names need them, they are guesses too."""
    shares = [
        share
        for table in environment.tables
        if (share := _known([table.name, *(column.name for column in table.columns)], is_word)) is not None
    ]
    readable = float(np.mean(shares)) if shares else READABLE
    part = min(1.0, max(0.0, (readable - OPAQUE) / (READABLE - OPAQUE)))
    return LEAST_TRUST + part * (MOST_TRUST - LEAST_TRUST)


def trusted(by_names: float, spoken_of: int) -> float:
    """How far the learned order is trusted beside what is written. Where people wrote of many tables, that leads where
    names do not; where nobody did, plain search over names has no more to go by than what was learned, and finds less
    (docs/routing.md, pools in disguise)."""
    return by_names + (MOST_TRUST - by_names) * (1 - min(1.0, spoken_of / SPOKEN_OF))


@dataclass(frozen=True)
class Pairs:
    """Pairs of tables by their numbers, with confidences."""

    left: Order
    right: Order
    confidences: Numbers

    @classmethod
    def of(cls, found: Sequence[tuple[int, int, float]]) -> Pairs:
        numbers = np.array([pair[:2] for pair in found], dtype=np.int64).reshape(-1, 2)
        return cls(numbers[:, 0], numbers[:, 1], np.array([pair[2] for pair in found], dtype=np.float64))

    def best(self, of_left: Numbers) -> Numbers:
        """Of each right table, the most that a left one gives it."""
        found = np.zeros(len(of_left))
        np.maximum.at(found, self.right, of_left[self.left] * self.confidences)
        return found

    def sums(self, of_left: Numbers) -> Numbers:
        found = np.zeros(len(of_left))
        np.add.at(found, self.right, of_left[self.left] * self.confidences)
        return found

    @property
    def turned(self) -> Pairs:
        return Pairs(self.right, self.left, self.confidences)


@dataclass(frozen=True)
class Context:
    """What an environment says of its tables beside the question, in the order of the index."""

    originals: NDArray[np.bool_]
    main: Scores
    """Which matter whatever is asked: 0 to 1."""
    copied: Scores
    """How often each was copied, up to 1: people copy what matters."""
    out_of_use: NDArray[np.bool_]
    refers: Pairs
    """Each row of the left finds at most one row of the right; both ways where that is not known."""
    decodes: Pairs
    """Left columns hold codes of which the right says what they mean."""


@dataclass(frozen=True)
class Written:
    """What is found for a question, in the order of the index."""

    words: Scores
    lent: Scores
    like: Scores
    said: Scores
    terms: Scores
    systems: Scores
    holding: Scores
    demanded: Scores
    """How far what each is about is what the question asks for."""


def written_scores(found: Written, context: Context) -> Numbers:
    """How much speaks for each table, but for the ranker; copies come after all originals."""
    there = context.originals

    def places(scores: Scores) -> Numbers:
        return DAMPING / (DAMPING + _ranks_of_scores(np.where(there, scores, -1.0)))

    alone = (
        WORDS * _share(found.words, there)
        + WORDS_PLACE * places(found.words)
        + LENT * _share(found.lent, there)
        + LENT_PLACE * places(found.lent)
        + LIKE * places(found.like)
        + SAID * places(found.said)
        + TERMS * found.terms
        + SYSTEM * found.systems
        + HELD * np.minimum(found.holding, 1.5)
        + DEMANDED * _share(found.demanded, there)
        + MAIN * context.main
        + COPIED * context.copied
        + OUT_OF_USE * context.out_of_use
    )
    likely = np.where(there, 1.0 / (1.0 + np.exp(-(alone + BIAS))), 0.0)
    scores = (
        alone
        + REFERRED * context.refers.best(likely)
        + REFERRING * context.refers.turned.best(likely)
        + ALL_REFERRING * np.minimum(context.refers.sums(likely), 2.0) / 2
        + DECODING * context.decodes.best(likely)
    )
    last = float(scores.min(initial=0.0)) - 1.0
    return np.where(there, scores, last).astype(np.float64)


def standing_scores(context: Context) -> Numbers:
    """How much each table matters whatever is asked: what people wrote, what was copied, and what refers to it."""
    nothing = np.zeros(len(context.originals), dtype=np.float32)
    scores = written_scores(Written(*[nothing] * len(fields(Written))), context)
    return np.where(context.out_of_use, float(scores.min(initial=0.0)), scores)


def blended(
    learned: Sequence[int] | Order,
    written: Scores | Numbers,
    trust: float,
    context: Context | None = None,
    holding: Scores | None = None,
) -> Order:
    """All tables by their fused ranks; ties in the order of the index. What the ranker left out comes after what it
    has. The less the names speak, the more it counts after the first places that a table joins with a leading one."""
    size = len(written)
    fused = trust / (DAMPING + _ranks(learned, size)) + (1 - trust) / (DAMPING + _ranks_of_scores(written))
    if holding is not None:
        fused += HOLDING * holding
    order = np.argsort(-fused, kind="stable")
    return order if context is None else _joined(order, context, (1 - trust) / (1 - LEAST_TRUST))


def _joined(order: Order, context: Context, opaque: float) -> Order:
    """The order, but for what follows the first places: there joins with the leading tables count."""
    ranks = _ranks(order, len(order))
    leading = np.where(ranks < LEADING, DAMPING / (DAMPING + ranks), 0.0)
    reached = np.maximum.reduce(
        [context.refers.best(leading), context.refers.turned.best(leading), context.decodes.best(leading)]
    )
    matters = 0.5 + np.minimum(context.copied * 3, 1.0) / 2 + np.minimum(context.main, 0.5)
    after = DAMPING / (DAMPING + np.maximum(ranks - FIRST, 0.0)) + opaque * JOINED * reached * matters
    after = np.where(context.originals & ~context.out_of_use, after, 0.0)
    return order[np.argsort(-np.where(ranks < FIRST, 1_000.0 - ranks, after)[order], kind="stable")]


def _share(scores: Scores, there: NDArray[np.bool_]) -> Numbers:
    own = np.where(there, scores, 0.0).astype(np.float64)
    most = float(own.max(initial=0.0))
    return own / most if most > 0 else own


def _ranks(order: Sequence[int] | Order, size: int) -> Numbers:
    ranks = np.full(size, float(size))
    ranks[np.asarray(order, dtype=np.int64)] = np.arange(len(order), dtype=float)
    return ranks


def _ranks_of_scores(scores: Scores | Numbers) -> Numbers:
    """Equal scores have one rank, the mean of theirs: what no word found has no order."""
    _, group, counts = np.unique(-scores, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return ((ends - counts + ends - 1) / 2)[group]


def _known(names: Iterable[str], is_word: Callable[[str], bool]) -> float | None:
    words = [word for name in names for word in words_of(name) if word.isalpha() and len(word) >= SHORTEST]
    return sum(map(is_word, words)) / len(words) if words else None
