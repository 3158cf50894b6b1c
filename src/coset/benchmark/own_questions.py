"""A team's own questions: their file, what is expected, whether an answer is it, and what could be answered before.

In: a YAML file of questions, each with an expected value or the SQL that gives it (run before any model is asked, on
the data of the moment); an environment that was comprehended; how to ask. Out: a run folder, judged, and what was lost
or won against the baseline, a small file that belongs into version control.

Rows are compared with rows where the answer has as many rows and columns; otherwise every expected value must stand in
the text. Numbers may be off by the tolerance (without one, by nothing that a double could not hold); texts match
without case and punctuation. A question holds when more than half of its trials pass.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from coset import __version__
from coset.answering.ask import AskOptions, check_models
from coset.benchmark.attempting import Outcome
from coset.benchmark.attempts import Attempt, Judgement, Task
from coset.benchmark.run_folder import RunFolder
from coset.benchmark.runner import ATTEMPT_SECONDS, Plan, Progress, attempt_places, run_attempts, todo
from coset.benchmark.written_values import numbers_in, plain
from coset.environment.configuration import Environment
from coset.errors import CosetError, UserError
from coset.session.query_session import QuerySession

Cell = str | int | float | bool | Decimal | datetime.date | datetime.datetime | None
LONGEST_NAME = 80


class QuestionEntry(BaseModel):
    """One entry under `questions:`."""

    model_config = ConfigDict(extra="forbid")
    question: str = Field(min_length=1)
    name: str | None = Field(default=None, min_length=1, max_length=LONGEST_NAME)
    expected: Any = None
    sql: str | None = None
    tolerance: float | str | None = None
    ordered: bool = False


class QuestionFile(BaseModel):
    model_config = ConfigDict(extra="forbid")
    questions: list[QuestionEntry] = Field(min_length=1)


@dataclass(frozen=True)
class Tolerance:
    """How far a number may be off: by an amount, or by a share of the expected one."""

    amount: float = 0.0
    share: float = 0.0


@dataclass(frozen=True)
class Expectation:
    """A question with what its answer must be: rows, or the SQL that gives them."""

    name: str
    question: str
    rows: tuple[tuple[Cell, ...], ...]
    sql: str | None
    tolerance: Tolerance
    ordered: bool

    def fingerprint(self) -> str:
        return hashlib.sha256(repr(self).encode()).hexdigest()[:16]


def read_questions(path: Path) -> list[Expectation]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"there is no file of questions at '{path}'") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"cannot read '{path}': {error}") from None
    except yaml.MarkedYAMLError as error:
        where = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise UserError(f"{path.name}{where}: {error.problem or 'is not valid YAML'}") from None
    except yaml.YAMLError:
        raise UserError(f"{path.name} is not valid YAML") from None
    try:
        file = QuestionFile.model_validate(content if isinstance(content, dict) else {"questions": content})
    except ValidationError as error:
        told = "; ".join(f"'{'.'.join(map(str, each['loc']))}': {each['msg']}" for each in error.errors()[:3])
        raise UserError(f"{path.name}: {told}") from None
    found = [_expectation(path.name, number, entry) for number, entry in enumerate(file.questions, start=1)]
    names = [each.name for each in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UserError(f"{path.name}: two questions are called '{twice}': give one of them another name")
    return found


def _expectation(file: str, number: int, entry: QuestionEntry) -> Expectation:
    where = f"{file}, question {number}"
    given = "expected" in entry.model_fields_set
    if given == (entry.sql is not None):
        raise UserError(f"{where}: give either expected or sql")
    text = " ".join(entry.question.split())
    # A slash parts datasets from questions in what is kept.
    name = (entry.name or text[:LONGEST_NAME]).replace("/", "-")
    rows = _rows(where, entry.expected) if given else ()
    return Expectation(name, text, rows, entry.sql, _tolerance(where, entry.tolerance), entry.ordered)


def _rows(where: str, value: Any) -> tuple[tuple[Cell, ...], ...]:
    """A value is one row of one column; a list is a column; a list of lists is a table."""
    if not isinstance(value, list):
        return ((_cell(where, value),),)
    if not value:
        return ()
    if all(isinstance(row, list) for row in value):
        rows = tuple(tuple(_cell(where, cell) for cell in row) for row in value)
        if len({len(row) for row in rows}) > 1 or not rows[0]:
            raise UserError(f"{where}: the rows of expected differ in length")
        return rows
    return tuple((_cell(where, cell),) for cell in value)


def _cell(where: str, value: Any) -> Cell:
    if isinstance(value, str | int | float | bool | datetime.date | None):
        return value
    raise UserError(f"{where}: expected must be a value, a list of values, or a list of rows")


def _tolerance(where: str, value: float | str | None) -> Tolerance:
    if value is None:
        return Tolerance()
    text = str(value).strip()
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise UserError(f"{where}: the tolerance is a number such as 0.01, or a share such as 1%")
    return Tolerance(share=number / 100) if text.endswith("%") else Tolerance(amount=number)


Rows = Sequence[Sequence[Any]]
SHOWN = 5


def judge_rows(expected: Rows, outcome: Outcome, tolerance: Tolerance, ordered: bool) -> Judgement:
    if not expected:
        empty = not outcome.rows and (not outcome.text.strip() or _says_none(outcome.text))
        return Judgement("passed", "nothing was expected") if empty else Judgement("wrong", "no rows were expected")
    if _same_rows(expected, outcome.rows, tolerance, ordered):
        return Judgement("passed", "the rows are as expected")
    if outcome.from_rows and len(outcome.rows) != len(expected):
        return Judgement("wrong", f"{len(expected)} rows were expected, {len(outcome.rows)} came")
    missing = _not_in_text(expected, outcome.text, tolerance, ordered)
    if missing:
        more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
        return Judgement("wrong", f"not in the answer: {', '.join(missing[:SHOWN])}{more}")
    return Judgement("passed", "every expected value stands in the answer")


def _same_rows(expected: Rows, rows: Rows, tolerance: Tolerance, ordered: bool) -> bool:
    if len(expected) != len(rows) or {len(row) for row in expected} != {len(row) for row in rows}:
        return False
    if ordered:
        return all(_same_row(one, other, tolerance) for one, other in zip(expected, rows, strict=True))
    left = list(rows)
    for row in expected:
        match = next((number for number, other in enumerate(left) if _same_row(row, other, tolerance)), None)
        if match is None:
            return False
        left.pop(match)
    return True


def _same_row(one: Sequence[Any], other: Sequence[Any], tolerance: Tolerance) -> bool:
    return all(_same(expected, value, tolerance) for expected, value in zip(one, other, strict=True))


def _same(expected: Any, value: Any, tolerance: Tolerance) -> bool:
    if expected is None or value is None:
        return expected is None and value is None
    wanted, number = _number(expected), _number(value)
    if wanted is not None and number is not None:
        return _near(wanted, number, tolerance)
    return plain(_text(expected)) == plain(_text(value))


def _near(wanted: float, number: float, tolerance: Tolerance) -> bool:
    room = max(tolerance.amount, tolerance.share * abs(wanted))
    return abs(number - wanted) <= room or math.isclose(number, wanted, rel_tol=1e-9, abs_tol=1e-12)


def _not_in_text(expected: Rows, text: str, tolerance: Tolerance, ordered: bool) -> list[str]:
    words, numbers = plain(text), [float(number) for number in numbers_in(text)]
    missing = []
    place = 0
    for row in expected:
        for cell in row:
            wanted = _number(cell)
            if wanted is not None and any(_near(wanted, number, tolerance) for number in numbers):
                continue
            at = words.find(plain(_text(cell)), place if ordered else 0)
            if at < 0:
                missing.append(_text(cell))
            elif ordered:
                place = at
    return missing


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _text(value: Any) -> str:
    if isinstance(value, datetime.datetime) and value.time() == datetime.time.min:
        value = value.date()
    return str(value)


def _says_none(text: str) -> bool:
    return bool(re.search(r"\b(no|none|nothing|zero|0|empty)\b", text, re.IGNORECASE))


@dataclass(frozen=True)
class Change:
    """Questions by what became of them since the baseline."""

    lost: tuple[str, ...]
    """Held before, and does not now: a regression."""
    won: tuple[str, ...]
    new: tuple[str, ...]
    """Not in the baseline."""
    gone: tuple[str, ...]
    """In the baseline, and not asked now."""


def held(attempts: Iterable[Attempt]) -> dict[str, bool]:
    """Which questions hold."""
    trials: dict[str, list[bool]] = {}
    for attempt in attempts:
        trials.setdefault(attempt.question, []).append(attempt.passed)
    return {name: sum(passed) * 2 > len(passed) for name, passed in trials.items()}


def read_baseline(path: Path) -> dict[str, bool]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {str(name): bool(holds) for name, holds in content["questions"].items()}
    except FileNotFoundError:
        raise UserError(f"there is no baseline at '{path}': make one with --save-baseline") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise UserError(f"'{path}' is no baseline: make one with --save-baseline") from None


def write_baseline(path: Path, now: dict[str, bool]) -> None:
    try:
        path.write_text(json.dumps({"questions": dict(sorted(now.items()))}, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write the baseline '{path}': {error.strerror}") from None


def change(before: dict[str, bool], now: dict[str, bool]) -> Change:
    return Change(
        lost=tuple(name for name, holds in now.items() if before.get(name) and not holds),
        won=tuple(name for name, holds in now.items() if holds and before.get(name) is False),
        new=tuple(name for name in now if name not in before),
        gone=tuple(name for name in before if name not in now),
    )


@dataclass(frozen=True)
class QuestionSettings:
    out: Path
    trials: int = 1
    jobs: int = 1
    attempt_seconds: float = ATTEMPT_SECONDS


def run_questions(
    expectations: list[Expectation],
    environment: Environment,
    options: AskOptions,
    settings: QuestionSettings,
    progress: Progress,
) -> RunFolder:
    """Ask every question; the run. One that was broken off goes on, one that was complete is followed by a new one."""
    choices = check_models(environment, options)
    dataset = environment.path.parent.name or "environment"
    expected = expected_rows(expectations, environment)
    by_name = {each.name: each for each in expectations}
    tasks = [Task(dataset, each.name, each.question, environment.path.absolute()) for each in expectations]
    plan = Plan(tasks, settings.trials, options, settings.attempt_seconds)
    told = {
        "benchmark": "questions", "mode": options.mode, "model": choices.agent.text, "budget": options.budget,
        "arbiter_model": choices.arbiter.text, "text_model": choices.text.text, "steps": options.limits.steps,
        "max_tokens": options.limits.tokens, "verify": options.verify, "coset": __version__,
    }  # fmt: skip
    questions = {f"{dataset}/{each.name}": each.fingerprint() for each in expectations}
    texts = {f"{dataset}/{each.name}": each.question for each in expectations}
    run = RunFolder.begin(_folder(settings.out, plan), told, questions, texts)

    def judged(task: Task, outcome: Outcome) -> Judgement:
        wanted = by_name[task.question]
        return judge_rows(expected[task.question], outcome, wanted.tolerance, wanted.ordered)

    with attempt_places(settings.jobs) as places:
        run_attempts(plan, run, judged, None, progress, places)
    return run


def expected_rows(expectations: list[Expectation], environment: Environment) -> dict[str, Rows]:
    """What each answer must be. Raises `UserError` when a statement of the file does not run."""
    found: dict[str, Rows] = {each.name: each.rows for each in expectations}
    stated = [each for each in expectations if each.sql is not None]
    if not stated:
        return found
    with QuerySession(environment) as session:
        for each in stated:
            try:
                result = session.sql(each.sql or "")
            except CosetError as error:
                raise UserError(f"the sql of question '{each.name}' does not run: {error}") from None
            if result.truncated:
                raise UserError(f"the sql of question '{each.name}' gives more rows than an answer has: narrow it")
            found[each.name] = result.rows()
    return found


def _folder(out: Path, plan: Plan) -> Path:
    """The last run while it is not complete, else the next."""
    numbers = [int(path.name[4:]) for path in out.glob("run-*") if path.name[4:].isdecimal()]
    last = out / f"run-{max(numbers, default=0)}"
    if numbers and todo(plan, RunFolder.read(last)):
        return last
    return out / f"run-{max(numbers, default=0) + 1}"
