"""How good a run was, by the definitions of the paper and the benchmark.

In: for each dataset and question, the trials as 0 or 1. Out: stratified Pass@1 (questions averaged within a dataset,
datasets averaged alike), raw attempt accuracy, Pass@k, Pass^k, and bootstrap intervals. A question's trials may differ
in number; Pass@k and Pass^k are None while one has fewer than k. Knows nothing of tokens, models or files.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coset.benchmark.attempts import Attempt

Outcomes = Mapping[str, Mapping[str, tuple[int, ...]]]
"""Dataset -> question -> its trials, 1 for passed."""
SAMPLES = 2_000
COVERAGE = 0.95


@dataclass(frozen=True)
class Interval:
    low: float
    high: float


def outcomes_of(attempts: Iterable[Attempt]) -> dict[str, dict[str, tuple[int, ...]]]:
    """The trials of each question in their order; a later attempt at the same trial replaces an earlier one."""
    latest = {attempt.key: int(attempt.passed) for attempt in attempts}
    found: dict[str, dict[str, list[int]]] = {}
    for dataset, question, trial in sorted(latest, key=lambda key: (key[0], natural(key[1]), key[2])):
        found.setdefault(dataset, {}).setdefault(question, []).append(latest[(dataset, question, trial)])
    return {dataset: {name: tuple(trials) for name, trials in each.items()} for dataset, each in found.items()}


def natural(name: str) -> tuple[int, int, str]:
    """Questions in the order of their numbers, then by name."""
    return (0, int(name), name) if name.isdecimal() else (1, 0, name)


def raw_accuracy(outcomes: Outcomes) -> float | None:
    """Passed attempts among all attempts."""
    trials = [trial for questions in outcomes.values() for each in questions.values() for trial in each]
    return sum(trials) / len(trials) if trials else None


def stratified_pass_at_1(outcomes: Outcomes) -> float | None:
    """The mean over datasets of the mean over questions of the share of trials that passed."""
    return _stratified(outcomes, lambda trials: sum(trials) / len(trials))


def by_dataset(outcomes: Outcomes) -> dict[str, float]:
    """Pass@1 of each dataset."""
    return {
        dataset: sum(sum(trials) / len(trials) for trials in questions.values()) / len(questions)
        for dataset, questions in outcomes.items()
        if questions
    }


def by_trial(outcomes: Outcomes) -> list[float]:
    """Stratified Pass@1 of each complete trial: the first trial of every question, the second, and so on."""
    count = min((len(trials) for questions in outcomes.values() for trials in questions.values()), default=0)
    found = []
    for number in range(count):
        score = _stratified(outcomes, lambda trials, number=number: float(trials[number]))  # type: ignore[misc]
        if score is not None:
            found.append(score)
    return found


def pass_at_k(outcomes: Outcomes, k: int) -> float | None:
    """At least one of k passes: 1 - C(n - c, k) / C(n, k), which is the average over all subsets of k trials."""
    return _of_k(outcomes, k, lambda n, c: 1.0 - math.comb(n - c, k) / math.comb(n, k))


def pass_hat_k(outcomes: Outcomes, k: int) -> float | None:
    """All of k pass (Pass^k): C(c, k) / C(n, k), which is the average over all subsets of k trials."""
    return _of_k(outcomes, k, lambda n, c: math.comb(c, k) / math.comb(n, k))


def fewest_trials(outcomes: Outcomes) -> int:
    return min((len(trials) for questions in outcomes.values() for trials in questions.values()), default=0)


def bootstrap(outcomes: Outcomes, *, samples: int = SAMPLES, seed: int = 0) -> dict[str, Interval]:
    """95 % intervals of `stratified` and `raw`: questions are drawn again within their dataset, then trials within each
    question. Datasets are not drawn: the benchmark is these and no others."""
    chance = np.random.default_rng(seed)
    macro: NDArray[np.float64] = np.zeros(samples)
    passed: NDArray[np.float64] = np.zeros(samples)
    counted: NDArray[np.float64] = np.zeros(samples)
    datasets = [list(questions.values()) for questions in outcomes.values() if questions]
    if not datasets:
        return {}
    for questions in datasets:
        counts = np.array([len(trials) for trials in questions])
        shares = np.array([sum(trials) for trials in questions]) / counts
        chosen = chance.integers(0, len(questions), size=(samples, len(questions)))
        drawn = chance.binomial(counts[chosen], shares[chosen])
        macro += (drawn / counts[chosen]).mean(axis=1)
        passed += drawn.sum(axis=1)
        counted += counts[chosen].sum(axis=1)
    return {"stratified": _interval(macro / len(datasets)), "raw": _interval(passed / counted)}


def _interval(values: NDArray[np.float64]) -> Interval:
    tail = (1.0 - COVERAGE) / 2
    low, high = np.quantile(values, [tail, 1.0 - tail])
    return Interval(float(low), float(high))


def _stratified(outcomes: Outcomes, of_question: Callable[[tuple[int, ...]], float]) -> float | None:
    means = [
        sum(of_question(trials) for trials in questions.values()) / len(questions)
        for questions in outcomes.values()
        if questions
    ]
    return sum(means) / len(means) if means else None


def _of_k(outcomes: Outcomes, k: int, of_counts: Callable[[int, int], float]) -> float | None:
    if k < 1 or fewest_trials(outcomes) < k:
        return None
    return _stratified(outcomes, lambda trials: of_counts(len(trials), sum(trials)))


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
