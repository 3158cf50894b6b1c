"""A whole run of the benchmark: environments, comprehension, attempts, judgement.

In: a checkout and how to ask. Out: run folders, one for each mode, under the folder that was named. A dataset that
cannot be run is noted with its reason, and the others go on. What becomes of the figures is for the reports to know.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from coset import __version__
from coset.answering.answer import Mode
from coset.answering.ask import AskOptions
from coset.benchmark.attempt_process import AttemptPlace
from coset.benchmark.attempting import Outcome, Request
from coset.benchmark.attempts import Judgement, Task
from coset.benchmark.dab.checkout import Checkout, Dataset, Question
from coset.benchmark.dab.embedded_postgresql import loaded
from coset.benchmark.dab.environments import write_environment
from coset.benchmark.dab.validator_process import judge
from coset.benchmark.leaks import Kept, kept_from, leaks_in
from coset.benchmark.run_folder import RunFolder
from coset.benchmark.runner import ATTEMPT_SECONDS, Plan, Progress, attempt_places, run_attempts, todo
from coset.errors import CosetError

COMPREHENSION_SECONDS = 6 * 3600.0
Say = Callable[[str], None]


@dataclass(frozen=True)
class DabSettings:
    """How the benchmark is to be run."""

    out: Path
    modes: tuple[Mode, ...] = ("learned",)
    trials: int = 5
    hints: bool = False
    jobs: int = 1
    retry_failed: bool = False
    environments: Path | None = None
    embedded_postgresql: bool = False
    """Load PostgreSQL dumps into a server of our own, instead of reading them as they are."""
    attempt_seconds: float = ATTEMPT_SECONDS
    validator_seconds: float = 60.0


def run_dab(
    checkout: Checkout,
    options: AskOptions,
    settings: DabSettings,
    progress: Progress,
    say: Say,
    places: Sequence[AttemptPlace] = (),
) -> list[RunFolder]:
    """Run what is not done yet, in every mode; the run folders. `places` are where attempts run: processes of our own,
    unless others are given."""
    runs = [_begin(checkout, options, mode, settings) for mode in settings.modes]
    not_runnable = {dataset.name: dataset.problem for dataset in checkout.datasets if dataset.problem}
    for name, problem in not_runnable.items():
        say(f"{name} cannot be run: {problem}")
    plans_of = {
        dataset.name: [
            (_plan(dataset, options, mode, settings), run) for mode, run in zip(settings.modes, runs, strict=True)
        ]
        for dataset in checkout.datasets
        if not dataset.problem
    }
    with attempt_places(settings.jobs) as processes:
        places = places or processes
        for dataset in checkout.datasets:
            plans = plans_of.get(dataset.name, [])
            if not any(todo(plan, run) for plan, run in plans):
                continue
            problem = _run_dataset(checkout, dataset, plans, settings, progress, say, places, plans_of)
            if problem:
                not_runnable[dataset.name] = problem
                del plans_of[dataset.name]
                say(f"{dataset.name} cannot be run: {problem}")
    for run in runs:
        known = {name: why for name, why in run.notes.get("not_runnable", {}).items() if not _has(run, name)}
        run.note(not_runnable={**known, **not_runnable})
    if len(not_runnable) == len(checkout.datasets):
        name, why = next(iter(not_runnable.items()))
        raise CosetError(f"no dataset can be run; {name}: {why}")
    return runs


def _run_dataset(
    checkout: Checkout,
    dataset: Dataset,
    plans: Sequence[tuple[Plan, RunFolder]],
    settings: DabSettings,
    progress: Progress,
    say: Say,
    places: Sequence[AttemptPlace],
    plans_of: Mapping[str, Sequence[tuple[Plan, RunFolder]]],
) -> str:
    """Comprehend a dataset and ask its questions in every mode; why it cannot be run, or nothing."""
    folder = environment_folder(dataset, settings)
    with ExitStack() as stack:
        try:
            if settings.embedded_postgresql:
                say(f"{dataset.name}: loading dumps into PostgreSQL")
                dataset = stack.enter_context(loaded(dataset, folder))
        except CosetError as error:
            return str(error)
        say(f"{dataset.name}: comprehending {len(dataset.databases)} databases")
        write_environment(dataset, folder, hints=settings.hints)
        outcome = _comprehend(folder, settings, places[0])
        if outcome.status == "failed":
            return outcome.error
        whole = [pair for pairs in plans_of.values() for pair in pairs]
        for plan, run in plans:
            seconds = {**run.notes.get("comprehension_seconds", {}), dataset.name: round(outcome.seconds, 1)}
            run.note(comprehension_seconds=seconds)
            _attempt(checkout, dataset, plan, run, settings, progress, places, whole)
    return ""


def _has(run: RunFolder, dataset: str) -> bool:
    return any(attempt.dataset == dataset for attempt in run.attempts.values())


def _begin(checkout: Checkout, options: AskOptions, mode: Mode, settings: DabSettings) -> RunFolder:
    told = {
        "benchmark": "dab", "mode": mode, "model": options.model, "arbiter_model": options.arbiter_model,
        "text_model": options.text_model, "hints": settings.hints, "budget": options.budget,
        "steps": options.limits.steps, "max_tokens": options.limits.tokens, "max_cost": options.limits.cost,
        "verify": options.verify, "coset": __version__,
        "postgresql": "embedded" if settings.embedded_postgresql else None,
    }  # fmt: skip
    questions = {
        f"{dataset.name}/{question.number}": question.fingerprint()
        for dataset in checkout.datasets
        for question in dataset.questions
    }
    texts = {
        f"{dataset.name}/{question.number}": question.text
        for dataset in checkout.datasets
        for question in dataset.questions
    }
    return RunFolder.begin(settings.out / mode, told, questions, texts)


def environment_folder(dataset: Dataset, settings: DabSettings) -> Path:
    """Hints, and where the data are, are part of what is comprehended, so they have environments of their own."""
    root = settings.environments or settings.out / "environments"
    name = f"{dataset.name}-hints" if settings.hints else dataset.name
    return root / (f"{name}-postgresql" if settings.embedded_postgresql else name)


def _plan(dataset: Dataset, options: AskOptions, mode: Mode, settings: DabSettings) -> Plan:
    folder = environment_folder(dataset, settings)
    tasks = [Task(dataset.name, question.number, question.text, folder) for question in dataset.questions]
    options = dataclasses.replace(options, core=mode == "core")
    return Plan(tasks, settings.trials, options, settings.attempt_seconds, settings.retry_failed)


def _comprehend(folder: Path, settings: DabSettings, place: AttemptPlace) -> Outcome:
    try:
        # Two at least: one that reads, one that looks.
        return place.run(Request(folder, None, jobs=max(2, settings.jobs)), COMPREHENSION_SECONDS)
    except BaseException:
        place.kill()
        raise


def _attempt(
    checkout: Checkout,
    dataset: Dataset,
    plan: Plan,
    run: RunFolder,
    settings: DabSettings,
    progress: Progress,
    places: Sequence[AttemptPlace],
    whole: Sequence[tuple[Plan, RunFolder]],
) -> None:
    questions = {question.number: question for question in dataset.questions}
    kept = {number: _kept(question) for number, question in questions.items()}

    def judged(task: Task, outcome: Outcome) -> Judgement:
        return judge(questions[task.question], outcome.text, checkout.root, settings.validator_seconds)

    def leaks(task: Task, outcome: Outcome) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return leaks_in(outcome.prompts, kept[task.question])

    run_attempts(plan, run, judged, leaks, progress, places, whole)


def _kept(question: Question) -> Kept:
    return kept_from(question.ground_truth, question.validator, question.text)


def labels(runs: Sequence[RunFolder]) -> list[str]:
    """Names that tell runs apart in a picture: their own, with the folder where two are alike."""
    from coset.benchmark.systems import name_of

    names = [name_of(run.settings) for run in runs]
    return [
        f"{name} ({run.folder.parent.name})" if names.count(name) > 1 else name
        for name, run in zip(names, runs, strict=True)
    ]
