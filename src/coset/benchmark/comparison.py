"""Two runs over the same questions: what flipped, and whether that is more than chance.

In: the attempts of two runs. Out: a `Comparison`. McNemar's test is the exact one: of the pairs that differ, how many
went one way, against a fair coin. It is given twice: over attempts paired by question and trial, and over questions by
their majority. Trials of one question resemble each other, so the second is the careful one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from coset.benchmark.attempts import Attempt
from coset.benchmark.metrics import Outcomes, natural, outcomes_of


@dataclass(frozen=True)
class McNemar:
    """Pairs in which only the first passed, only the second, and the exact two-sided probability if nothing differs."""

    only_first: int
    only_second: int
    pairs: int
    probability: float


@dataclass(frozen=True)
class Flip:
    """A question whose share of passed trials differs."""

    dataset: str
    question: str
    first: float
    second: float


@dataclass(frozen=True)
class Comparison:
    """The first run against the second, over the questions and trials that both have."""

    questions: int
    flips: tuple[Flip, ...]
    """The largest gains of the first run first, its largest losses last."""
    by_attempt: McNemar
    by_question: McNemar


def compare(first: Iterable[Attempt], second: Iterable[Attempt]) -> Comparison:
    first, second = list(first), list(second)
    passed = [{attempt.key: attempt.passed for attempt in attempts} for attempts in (first, second)]
    both = passed[0].keys() & passed[1].keys()
    shares = [_shares(outcomes_of(attempts)) for attempts in (first, second)]
    names = sorted(shares[0].keys() & shares[1].keys(), key=lambda name: (name[0], natural(name[1])))
    flips = [Flip(*name, shares[0][name], shares[1][name]) for name in names if shares[0][name] != shares[1][name]]
    return Comparison(
        len(names),
        tuple(sorted(flips, key=lambda flip: flip.second - flip.first)),
        mcnemar((passed[0][key], passed[1][key]) for key in both),
        mcnemar((shares[0][name] > 0.5, shares[1][name] > 0.5) for name in names),
    )


def mcnemar(pairs: Iterable[tuple[bool, bool]]) -> McNemar:
    """The exact test on pairs of (first passed, second passed)."""
    pairs = list(pairs)
    only_first = sum(first and not second for first, second in pairs)
    only_second = sum(second and not first for first, second in pairs)
    differing = only_first + only_second
    if not differing:
        return McNemar(0, 0, len(pairs), 1.0)
    fewer = min(only_first, only_second)
    tail = sum(math.comb(differing, count) for count in range(fewer + 1)) / 2**differing
    return McNemar(only_first, only_second, len(pairs), min(1.0, 2 * tail))


def _shares(outcomes: Outcomes) -> dict[tuple[str, str], float]:
    return {
        (dataset, question): sum(trials) / len(trials)
        for dataset, questions in outcomes.items()
        for question, trials in questions.items()
    }
