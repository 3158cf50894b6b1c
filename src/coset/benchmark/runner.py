"""Asks every question in every trial, judges each answer, and keeps it: what is already kept is not asked again.

In: tasks, how to ask, a folder, a judge. Out: nothing but what is in the folder, and a call of `progress` after each
attempt. Every attempt runs in a process of its own kind (`AttemptProcess`); judging happens here, where the agent
cannot reach. Knows neither benchmark nor file of questions.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coset.benchmark.attempt_process import AttemptPlace, AttemptProcess
from coset.benchmark.attempting import Outcome, Request
from coset.benchmark.attempts import Attempt, Judgement, Task
from coset.benchmark.run_folder import RunFolder
from coset.errors import CosetError, UserError

if TYPE_CHECKING:
    from coset.answering.ask import AskOptions

ATTEMPT_SECONDS = 1_800.0
SAME_FAILURES = 3
"""When the first so many attempts fail with the very same error, the rest would too."""

Judge = Callable[[Task, Outcome], Judgement]
LeakCheck = Callable[[Task, Outcome], tuple[tuple[str, ...], tuple[str, ...]]]


@dataclass(frozen=True)
class Plan:
    """What is to be asked, and how."""

    tasks: Sequence[Task]
    trials: int
    options: AskOptions
    attempt_seconds: float = ATTEMPT_SECONDS
    retry_failed: bool = False
    """Ask again where an error, not an answer, ended an attempt; the earlier line stays in the file."""


@dataclass(frozen=True)
class Standing:
    """How far everything is that was asked for: all datasets, all modes."""

    done: int
    total: int
    passed: int
    cost: float | None
    """Of all attempts so far; None as soon as the price of one is unknown."""
    mode: str
    """Of the attempt that was made last."""


Progress = Callable[[Attempt, Standing], None]


def todo(plan: Plan, run: RunFolder) -> list[tuple[Task, int]]:
    """What is not kept yet: dataset by dataset, and within one trial by trial."""
    wanted = []
    for dataset in dict.fromkeys(task.dataset for task in plan.tasks):
        for trial in range(1, plan.trials + 1):
            for task in plan.tasks:
                kept = run.attempts.get((task.dataset, task.question, trial))
                again = kept is not None and plan.retry_failed and kept.status == "failed"
                if task.dataset == dataset and (kept is None or again):
                    wanted.append((task, trial))
    return wanted


def run_attempts(
    plan: Plan,
    run: RunFolder,
    judge: Judge,
    leaks: LeakCheck | None,
    progress: Progress,
    places: Sequence[AttemptPlace],
    whole: Sequence[tuple[Plan, RunFolder]] = (),
) -> None:
    """Ask what is not kept yet, as many at a time as there are places. An interrupt ends what runs there; what was kept
    stays. `whole` is all that is being run, where this plan is a part of it: progress is told over that."""
    pending = todo(plan, run)
    state = _Going(plan, run, judge, leaks, progress, whole or [(plan, run)])
    free = list(reversed(places))
    with ThreadPoolExecutor(len(places), thread_name_prefix="attempt") as pool:
        running: dict[Future[None], AttemptPlace] = {}
        try:
            while pending or running:
                while pending and free:
                    place = free.pop()
                    running[pool.submit(state.one, place, *pending.pop(0))] = place
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    free.append(running.pop(future))
                    future.result()
        except BaseException:
            state.stopping = True
            for place in places:
                place.kill()  # So that the threads which wait for them come back.
            raise


@contextmanager
def attempt_places(jobs: int) -> Iterator[list[AttemptPlace]]:
    """As many processes as attempts may run at the same time; they start when they are needed, and end here."""
    places: list[AttemptPlace] = [AttemptProcess() for _ in range(jobs)]
    try:
        yield places
    finally:
        for place in places:
            place.close()


class _Going:
    """What the threads of one run share."""

    def __init__(
        self,
        plan: Plan,
        run: RunFolder,
        judge: Judge,
        leaks: LeakCheck | None,
        progress: Progress,
        whole: Sequence[tuple[Plan, RunFolder]],
    ) -> None:
        self.plan, self.run, self.judge, self.leaks, self.progress = plan, run, judge, leaks, progress
        self.whole = whole
        self._lock = threading.Lock()
        self.stopping = False
        """Set when the run is broken off: what is then ended by us was no attempt."""
        self._failures: list[str] | None = []

    def one(self, place: AttemptPlace, task: Task, trial: int) -> None:
        request = Request(task.environment, task.text, self.plan.options)
        outcome = place.run(request, self.plan.attempt_seconds)
        if self.stopping:
            return
        attempt = self._judged(task, trial, outcome)
        with self._lock:
            kept = self.run.add(attempt, outcome.text, list(outcome.trace))
            self.progress(kept, standing(self.whole, self.plan.options.mode))
            self._stop_if_hopeless(outcome)

    def _judged(self, task: Task, trial: int, outcome: Outcome) -> Attempt:
        judgement = Judgement("no answer", outcome.error or "the answer is empty")
        if outcome.status == "answered" and outcome.text.strip():
            judgement = self.judge(task, outcome)
        leaks, mentions = self.leaks(task, outcome) if self.leaks else ((), ())
        return Attempt(
            dataset=task.dataset, question=task.question, trial=trial, status=outcome.status,
            verdict=judgement.verdict, reason=judgement.reason, sql=outcome.sql,
            error=outcome.error, error_kind=outcome.error_kind,
            seconds=round(outcome.seconds, 3), model_seconds=round(outcome.model_seconds, 3),
            cpu_seconds=round(outcome.cpu_seconds, 3),
            requests=outcome.requests, input_tokens=outcome.input_tokens, cached_tokens=outcome.cached_tokens,
            output_tokens=outcome.output_tokens, cost=outcome.cost, tool_calls=outcome.tool_calls,
            tool_errors=outcome.tool_errors, leaks=leaks, mentions=mentions,
        )  # fmt: skip

    def _stop_if_hopeless(self, outcome: Outcome) -> None:
        if self._failures is None:
            return
        if outcome.status != "failed" or outcome.error not in (self._failures or [outcome.error]):
            self._failures = None
            return
        self._failures.append(outcome.error)
        if len(self._failures) >= SAME_FAILURES:
            kind = UserError if outcome.error_kind == "UserError" else CosetError
            raise kind(
                f"the first {SAME_FAILURES} attempts failed alike: {outcome.error} "
                "(they are kept as failed; with --retry-failed the same command asks them again)"
            )


def standing(whole: Sequence[tuple[Plan, RunFolder]], mode: str) -> Standing:
    """How far the tasks and trials of these plans are."""
    total = 0
    kept: list[Attempt] = []
    for plan, run in whole:
        wanted = [(task.dataset, task.question, trial) for task in plan.tasks for trial in range(1, plan.trials + 1)]
        total += len(wanted)
        kept += [run.attempts[key] for key in wanted if key in run.attempts]
    costs = [attempt.cost for attempt in kept]
    cost = None if any(each is None for each in costs) else sum(each for each in costs if each is not None)
    return Standing(len(kept), total, sum(attempt.passed for attempt in kept), cost, mode)
