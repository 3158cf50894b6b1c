"""One run as a system to report on: its name, its quality, and what it used, per complete trial.

In: a run's folder. Out: a `System` with every figure that the reports show. What a complete trial uses is the mean over
attempts times the number of questions, so a run that was broken off half-way is not taken for a cheap one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from coset.benchmark.attempts import Attempt
from coset.benchmark.metrics import (
    Interval,
    bootstrap,
    by_dataset,
    by_trial,
    fewest_trials,
    natural,
    outcomes_of,
    pass_at_k,
    pass_hat_k,
    raw_accuracy,
    stratified_pass_at_1,
)  # fmt: skip
from coset.benchmark.run_folder import RunFolder


@dataclass(frozen=True)
class System:
    """A run, in figures. Shares are between 0 and 1; None where there is nothing to say."""

    name: str
    run: RunFolder = field(repr=False)
    attempts: tuple[Attempt, ...] = field(repr=False)
    trials: int
    questions: int
    stratified: float | None
    raw: float | None
    passed: int
    intervals: dict[str, Interval]
    by_trial: tuple[float, ...]
    by_dataset: dict[str, float]
    pass_at: dict[int, float]
    pass_hat: dict[int, float]
    input_tokens: float
    """This and what follows: the mean over complete trials."""
    cached_tokens: float
    output_tokens: float
    tool_calls: float
    requests: float
    cost: float | None
    seconds: float
    model_seconds: float
    tool_errors: dict[str, float]
    verdicts: dict[str, int]
    statuses: dict[str, int]
    leaks: tuple[Attempt, ...]
    mentions: tuple[Attempt, ...]
    not_runnable: dict[str, str]

    @property
    def consistency_k(self) -> int | None:
        """The k of Pass^k in the picture: 3 as in the paper, or fewer where there are fewer trials."""
        return min(3, max(self.pass_hat)) if self.pass_hat and max(self.pass_hat) > 1 else None


MEANS = (
    "input_tokens", "cached_tokens", "output_tokens", "tool_calls", "requests", "seconds", "model_seconds",
)  # fmt: skip
"""What is told of a system as the mean of an attempt's figure over one trial of all questions."""


def system_of(run: RunFolder, name: str | None = None) -> System:
    attempts = tuple(sorted(run.attempts.values(), key=lambda each: (each.dataset, natural(each.question), each.trial)))
    outcomes = outcomes_of(attempts)
    trials = max((attempt.trial for attempt in attempts), default=0)
    fewest = fewest_trials(outcomes)
    ks = range(1, fewest + 1)
    asked = sum(len(questions) for questions in outcomes.values())
    per = len(attempts) / asked if asked else 1.0
    errors: Counter[str] = Counter()
    for attempt in attempts:
        errors.update(attempt.tool_errors)
    costs = [attempt.cost for attempt in attempts]
    known = bool(costs) and all(cost is not None for cost in costs)

    def mean(values: Iterable[float | None]) -> float:
        return sum(value or 0.0 for value in values) / per

    means = {name: mean(getattr(attempt, name) for attempt in attempts) for name in MEANS}
    return System(
        name=name or name_of(run.settings),
        run=run,
        attempts=attempts,
        trials=trials,
        questions=asked,
        stratified=stratified_pass_at_1(outcomes),
        raw=raw_accuracy(outcomes),
        passed=sum(attempt.passed for attempt in attempts),
        intervals=bootstrap(outcomes),
        by_trial=tuple(by_trial(outcomes)),
        by_dataset=by_dataset(outcomes),
        pass_at={k: score for k in ks if (score := pass_at_k(outcomes, k)) is not None},
        pass_hat={k: score for k in ks if (score := pass_hat_k(outcomes, k)) is not None},
        **means,
        cost=mean(costs) if known else None,
        tool_errors={kind: count / per for kind, count in errors.most_common()},
        verdicts=dict(Counter(str(attempt.verdict) for attempt in attempts)),
        statuses=dict(Counter(str(attempt.status) for attempt in attempts)),
        leaks=tuple(attempt for attempt in attempts if attempt.leaks),
        mentions=tuple(attempt for attempt in attempts if attempt.mentions),
        not_runnable={str(name): str(why) for name, why in dict(run.notes.get("not_runnable", {})).items()},
    )


def name_of(settings: dict[str, Any]) -> str:
    """Mode and model, short enough for a picture."""
    model = str(settings.get("model") or "")
    short = model.rpartition("#")[2] or model
    short = short.rpartition("/")[2] if "://" in model else short.partition(":")[2] or short
    mode = str(settings.get("mode") or "run")
    hints = " + hints" if settings.get("hints") else ""
    return f"{mode}{hints} · {short}" if short else f"{mode}{hints}"


def figures_of(system: System) -> dict[str, Any]:
    """The figures as plain data, for `summary.json` and for programs."""
    return {
        "name": system.name, "trials": system.trials, "questions": system.questions,
        "attempts": len(system.attempts), "passed": system.passed,
        "stratified_pass_at_1": system.stratified, "raw_accuracy": system.raw,
        "intervals": {key: [each.low, each.high] for key, each in system.intervals.items()},
        "by_trial": list(system.by_trial), "by_dataset": system.by_dataset,
        "pass_at_k": {str(k): value for k, value in system.pass_at.items()},
        "pass_hat_k": {str(k): value for k, value in system.pass_hat.items()},
        "per_trial": {
            "input_tokens": system.input_tokens, "cached_tokens": system.cached_tokens,
            "output_tokens": system.output_tokens, "tool_calls": system.tool_calls, "requests": system.requests,
            "cost": system.cost, "seconds": system.seconds, "model_seconds": system.model_seconds,
            "tool_errors": system.tool_errors,
        },
        "verdicts": system.verdicts, "statuses": system.statuses, "leaks": len(system.leaks),
        "mentions": len(system.mentions), "not_runnable": system.not_runnable,
    }  # fmt: skip
