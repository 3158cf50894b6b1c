"""A whole run of the benchmark: environments, comprehension, attempts, judgement, the form that its board takes.

In: a checkout and how to ask. Out: run folders, one for each mode, under the folder that was named. A dataset that
cannot be run is noted with its reason, and the others go on. What becomes of the figures is for the reports to know.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import yaml

from coset import __version__
from coset.answering.answer import Mode
from coset.answering.ask import AskOptions
from coset.benchmark.attempt_process import AttemptPlace
from coset.benchmark.attempting import Outcome, Request
from coset.benchmark.attempts import Judgement, Task
from coset.benchmark.dab.checkout import Checkout, Database, Dataset, Question
from coset.benchmark.dab.embedded_postgresql import loaded
from coset.benchmark.dab.validator_process import judge
from coset.benchmark.metrics import natural
from coset.benchmark.run_folder import RunFolder
from coset.benchmark.runner import ATTEMPT_SECONDS, Plan, Progress, attempt_places, run_attempts, todo
from coset.benchmark.systems import System
from coset.benchmark.trace_recorder import GroundTruth, ground_truth_of, leaks_in
from coset.environment.configuration import FILE_NAME, SOURCE_NAME, STATE_FOLDER, check_source_name
from coset.environment.secrets import SECRETS_FILE, without_password, write_secret
from coset.errors import CosetError

_HINTS_TITLE = re.compile(r"^\s*hints?\s*:?\s*$|^\s*hints?\s*:\s*", re.IGNORECASE)
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")


def write_environment(dataset: Dataset, folder: Path, *, hints: bool) -> Path:
    """Write the environment of a dataset, or leave it as it is when nothing changed; its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    names = source_names(dataset.databases)
    parts = parts_of_description(dataset.description, [database.name for database in dataset.databases])
    sources: dict[str, dict[str, object]] = {}
    for database in dataset.databases:
        name = names[database.name]
        sources[name] = {"location": _location(database, name, folder)}
        if said := parts.get(database.name):
            sources[name]["description"] = said
    # The hints are about the dataset as a whole; told once, or every source would repeat them.
    if hints and (told := hints_of(dataset.hints, dataset.description)):
        next(iter(sources.values()))["hints"] = told
    text = yaml.safe_dump({"sources": sources}, sort_keys=False, allow_unicode=True, width=10_000)
    path = folder / FILE_NAME
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
    return folder


def source_names(databases: tuple[Database, ...]) -> dict[str, str]:
    """The benchmark's names where SQL can take them, else the nearest that it can."""
    found: dict[str, str] = {}
    for database in databases:
        name = re.sub(r"\W+", "_", database.name, flags=re.ASCII)
        name = name if SOURCE_NAME.fullmatch(name) and not check_source_name(name) else f"db_{name}"
        while name.lower() in {taken.lower() for taken in found.values()}:
            name += "_1"
        found[database.name] = name
    return found


def parts_of_description(text: str, names: list[str]) -> dict[str, str]:
    """The part of a description that is about each database: from the line that begins with its name to the next such
    line. What stands before goes to the first; a text that names none goes there whole."""
    if not text:
        return {}
    lines = text.splitlines()
    patterns = {name: re.compile(rf"^\W*(?:\d+[.)])?\W*{re.escape(name)}\b", re.IGNORECASE) for name in names}
    starts: dict[str, int] = {}
    for number, line in enumerate(lines):
        for name, pattern in patterns.items():
            if name not in starts and pattern.match(line):
                starts[name] = number
    if not starts:
        return {names[0]: text}
    ends = [*sorted(starts.values())[1:], len(lines)]
    found = {}
    for (name, start), end in zip(sorted(starts.items(), key=lambda each: each[1]), ends, strict=True):
        found[name] = "\n".join(lines[start:end]).strip()
    return found


def hints_of(text: str, description: str) -> list[str]:
    """The hints one by one; some checkouts repeat the description before them."""
    text = text.replace(description, "") if description else text
    found: list[str] = []
    for line in text.splitlines():
        line = _HINTS_TITLE.sub("", line)
        if not line.strip():
            continue
        if _BULLET.match(line) or not found:
            found.append(_BULLET.sub("", line).strip())
        else:
            found[-1] += " " + line.strip()
    return found


def _location(database: Database, name: str, folder: Path) -> str:
    if not database.password:
        return database.location
    # The password goes where only its owner may read; the file names it by reference.
    variable = f"COSET_BENCH_{name.upper()}"
    write_secret(folder / STATE_FOLDER / SECRETS_FILE, variable, database.password)
    head, _, tail = database.location.partition("://")
    user, at, rest = tail.rpartition("@")
    return without_password(f"{head}://{user}:x{at or '@'}{rest}", f"${{{variable}}}")


BOARD_TRIALS = 5
"""The board takes runs of at least so many trials."""


def write_submission(system: System) -> Path:
    """Write both files into the run's folder; the path of the JSON."""
    run = system.run
    entries = [
        {
            "dataset": attempt.dataset, "query": attempt.question, "run": str(attempt.trial - 1),
            "answer": run.whole_answer(attempt),
        }
        for attempt in sorted(system.attempts, key=lambda each: (each.dataset, natural(each.question), each.trial))
    ]  # fmt: skip
    path = run.folder / "submission.json"
    path.write_text(json.dumps(entries, indent=1, ensure_ascii=False) + "\n", encoding="utf-8", errors="replace")
    (run.folder / "submission.md").write_text("\n".join(_note(system, run)) + "\n", encoding="utf-8")
    return path


def _note(system: System, run: RunFolder) -> list[str]:
    settings = run.settings
    shown = {
        "model": settings.get("model"), "arbiter": settings.get("arbiter_model") or "the same",
        "text operations": settings.get("text_model") or "the same", "mode": settings.get("mode"),
        "dataset hints": "used" if settings.get("hints") else "not used",
        "evidence budget": settings.get("budget") or "default", "steps at most": settings.get("steps"),
        "tokens at most": settings.get("max_tokens"), "verification": settings.get("verify"),
        "coset": settings.get("coset"),
    }  # fmt: skip
    lines = [
        "# Submission",
        "",
        f"{len(system.attempts)} attempts: {system.questions} questions in {system.trials} trials. "
        "`submission.json` has the answers, `traces/` every step of each attempt, `attempts.jsonl` the verdicts.",
        "",
        *(f"- {key}: {value}" for key, value in shown.items()),
        f"- attempts that ended with an error: {system.statuses.get('failed', 0)}; stopped by a limit: "
        f"{system.statuses.get('stopped', 0)} (their answers are empty)",
        f"- prompts that held text of a ground truth or validator: {len(system.leaks)}",
    ]
    if system.trials < BOARD_TRIALS:
        lines.append(f"- fewer trials than the board asks for: {system.trials} of {BOARD_TRIALS}")
    for name, why in system.not_runnable.items():
        lines.append(f"- not run: {name}: {why}")
    return lines


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


def _kept(question: Question) -> GroundTruth:
    return ground_truth_of(question.ground_truth, question.validator, question.text)


def labels(runs: Sequence[RunFolder]) -> list[str]:
    """Names that tell runs apart in a picture: their own, with the folder where two are alike."""
    from coset.benchmark.systems import name_of

    names = [name_of(run.settings) for run in runs]
    return [
        f"{name} ({run.folder.parent.name})" if names.count(name) > 1 else name
        for name, run in zip(names, runs, strict=True)
    ]
