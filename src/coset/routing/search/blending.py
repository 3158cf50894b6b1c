"""The learned order of tables beside plain lexical search, so that it is never worse than that.

In: the tables as the ranker orders them, their lexical scores, and how readable an environment's names are. Out: one
order of all tables. The ranker learned from names that speak; where most words of the names are no words, it is trusted
little, and what is written of the tables decides. Ranks are fused, not scores: those of one are no measure for the
other. How far each is trusted was chosen on pooled validation databases and on one company: docs/routing.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coset.readings.observed import ObservedEnvironment
from coset.readings.words import words_of
from coset.routing.search.lexical import Scores

Order = NDArray[np.int64]
DAMPING = 10
"""Of reciprocal ranks: the larger, the less the first places weigh."""
OPAQUE, READABLE = 0.55, 0.85
"""The share of known words in names at which the ranker is trusted least, and most."""
LEAST_TRUST, MOST_TRUST = 0.15, 0.85
MENTIONED, MAIN, JOINED = 0.06, 0.1, 0.3
"""What a table gains beside its fused ranks: 0.1 for the first place of one order, half of it for the tenth."""
LEADING = 12
SHORTEST = 2


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


@dataclass(frozen=True)
class Context:
    """What an environment says of its tables beside the question: which matter whatever is asked (`main`, 0 to 1), and
    which join (pairs of numbers both ways, with confidences)."""

    main: Scores
    links: NDArray[np.int64]
    confidences: Scores


def blended(
    learned: Sequence[int] | Order,
    lexical: Scores,
    trust: float,
    context: Context | None = None,
    mentioned: Scores | None = None,
) -> Order:
    """All tables by their fused ranks; ties in the order of the index. What the ranker left out comes after what it
    has. `mentioned` says how surely passages that the question found name a table. The less the names speak, the more
    counts what is known whatever is asked, and that a table joins with one of the first."""
    size = len(lexical)
    fused = trust / (DAMPING + _ranks(learned, size)) + (1 - trust) / (DAMPING + _ranks_of_scores(lexical))
    if mentioned is not None:
        fused += MENTIONED * mentioned
    if context is not None:
        opaque = (1 - trust) / (1 - LEAST_TRUST)
        fused += opaque * MAIN * context.main
        fused += opaque * JOINED * _joined(fused, context)
    return np.argsort(-fused, kind="stable")


def _joined(fused: NDArray[np.float64], context: Context) -> NDArray[np.float64]:
    """Of each table, the best of the first tables that it joins with."""
    reached = np.zeros(len(fused))
    if len(context.links):
        first = np.zeros(len(fused), dtype=bool)
        first[np.argsort(-fused, kind="stable")[:LEADING]] = True
        left, right = context.links[:, 0], context.links[:, 1]
        used = first[left]
        np.maximum.at(reached, right[used], fused[left[used]] * context.confidences[used])
    return reached


def _ranks(order: Sequence[int] | Order, size: int) -> NDArray[np.float64]:
    ranks = np.full(size, float(size))
    ranks[np.asarray(order, dtype=np.int64)] = np.arange(len(order), dtype=float)
    return ranks


def _ranks_of_scores(scores: Scores) -> NDArray[np.float64]:
    """Equal scores have one rank, the mean of theirs: what no word found has no order."""
    _, group, counts = np.unique(-scores, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return ((ends - counts + ends - 1) / 2)[group]


def _known(names: Iterable[str], is_word: Callable[[str], bool]) -> float | None:
    words = [word for name in names for word in words_of(name) if word.isalpha() and len(word) >= SHORTEST]
    return sum(map(is_word, words)) / len(words) if words else None
