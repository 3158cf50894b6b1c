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
