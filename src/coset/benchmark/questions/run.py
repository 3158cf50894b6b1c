"""A team's questions asked of their own environment, in the same machinery as the benchmarks.

In: a file of questions, an environment that was comprehended, how to ask. Out: a run folder. What SQL gives as the
expected answer is worked out before any model is asked, on the data of the moment.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from coset import __version__
from coset.answering.ask import AskOptions, check_models
from coset.benchmark.attempting import Outcome
from coset.benchmark.attempts import Judgement, Task
from coset.benchmark.questions.judging import Rows, judge_rows
from coset.benchmark.questions.question_file import Expectation
from coset.benchmark.run_folder import RunFolder
from coset.benchmark.runner import ATTEMPT_SECONDS, Plan, Progress, attempt_places, run_attempts, todo
from coset.environment.configuration import Environment
from coset.errors import CosetError, UserError
from coset.session.query_session import QuerySession


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
