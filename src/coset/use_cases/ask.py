"""Ask and query: a question in words answered and kept as a run, one SELECT, checks of an answer, and the runs.

In: a question and how to answer it. Out: an `Answer` with the number of its run. A language model answers where one is
set; the offline reasoner where none is, and where it is sure enough to save the model. The caller hears of every step
and can call it off.
"""

from __future__ import annotations

import asyncio
import datetime
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal

from coset.answering.audit.replay import Replay
from coset.answering.audit.replay import replay as replay_run
from coset.answering.audit.runs import Run, Runs, RunSummary
from coset.answering.audit.store import FILE_NAME
from coset.answering.models.choices import DEFAULT_MODEL
from coset.environment.configuration import Environment
from coset.environment.corrections import Question, add_corrections, load_corrections
from coset.errors import UserError
from coset.tracing import Span, span, tells_content
from coset.use_cases.cancellation import Cancellation, Cancelled
from coset.use_cases.results import Answer, SqlResult
from coset.use_cases.workspace import Workspace

if TYPE_CHECKING:
    from coset.answering.ask import AskOptions
    from coset.answering.audit import RunRecorder
    from coset.answering.checks import CheckResult, PinnedShape
    from coset.answering.offline import Declined, OfflineAnswer


def sql(
    workspace: Workspace,
    text: str,
    *,
    max_rows: int | None = None,
    seconds: float | None = None,
    call: Cancellation | None = None,
) -> SqlResult:
    """Run one read-only SELECT."""
    with workspace.sessions.lent(call) as session:
        return SqlResult.of(session.sql(text, max_rows=max_rows, seconds=seconds))


def check(
    workspace: Workspace, statement: str, answer: Any, shape: PinnedShape | None, call: Cancellation | None = None
) -> tuple[CheckResult, ...]:
    """Run the deterministic checks on a statement and its answer; None where the rows themselves are the answer."""
    from coset.answering.checks import Proposal, run_checks

    call = call or Cancellation()
    with workspace.sessions.lent(call) as session, workspace.reading() as state:
        call.tell("running the statement")
        result = session.sql(statement)
        call.tell("counting")
        value = [list(row) for row in result.rows()] if answer is None else answer
        return run_checks(Proposal(value, (statement,), shape, result), session, state)


MOST = 50


def runs(workspace: Workspace, limit: int = MOST) -> tuple[RunSummary, ...]:
    """The newest first; none where no question was asked yet."""
    folder = workspace.configuration.state_folder
    return Runs(folder).summaries(limit) if (folder / FILE_NAME).exists() else ()


def run(workspace: Workspace, number: int) -> Run:
    """One run whole."""
    return Runs(workspace.configuration.state_folder).run(number)


def replay(workspace: Workspace, number: int, call: Cancellation | None = None) -> Replay:
    """Run the statements behind an answer again, without a model, and compare."""
    with workspace.sessions.lent(call) as session:
        return replay_run(Runs(workspace.configuration.state_folder), number, session)


def confirm(workspace: Workspace, number: int, by: str | None = None) -> Question:
    """Keep that the answer of a run is right: its question and statement."""
    found = run(workspace, number)
    answer = found.answer or {}
    statements = [str(each) for each in answer.get("sql") or ()]
    if found.summary.status != "answered" or not statements:
        raise UserError(f"run {number} has no answer out of a statement: there is nothing to confirm")
    needs = tuple(str(each) for each in answer.get("references") or ())
    return confirm_statement(workspace, found.summary.question, statements[-1], needs, by)


def confirm_statement(
    workspace: Workspace, question: str, statement: str, needs: tuple[str, ...] = (), by: str | None = None
) -> Question:
    """Keep that a statement answers a question, in the corrections file, instead of what was kept for the question
    before. The next comprehension mines the statement like SQL that people wrote, and similar questions see it at
    once."""
    question = " ".join(question.split())
    entry = Question(question=question, needs=needs, sql=statement, by=by, on=datetime.date.today())
    known = load_corrections(workspace.configuration).questions
    same = [each for each in known if each.question.casefold() == question.casefold()]
    add_corrections(workspace.configuration, [entry], instead_of=same)
    return entry


Reasoner = Literal["model", "offline", "quick"]
"""model: a language model. offline: the built-in reasoner. quick: the built-in one, and a model where it declines."""
PROGRESS = {
    "view": "chose the evidence",
    "records": "decided what the question means",
    "draft": "ran a first statement",
    "model": "heard from the model",
    "checks": "checked the answer",
    "answer": "has an answer",
}
"""What is said of a step while it goes; others are told by their kind."""


def has_model(configuration: Environment, model: str | None = None) -> bool:
    """Whether a language model is set, for a call or for the environment."""
    return bool(model or configuration.models.get("agent") or os.environ.get(DEFAULT_MODEL))


def ask(
    workspace: Workspace,
    question: str,
    options: AskOptions,
    *,
    reasoner: Reasoner | None = None,
    call: Cancellation | None = None,
) -> Answer:
    """Answer a question and keep the run. Without a `reasoner`, a model where one is set, else the built-in one. What
    is wrong with the call itself makes no run."""
    from coset.answering.ask import checked_question

    call = call or Cancellation()
    question = checked_question(question)
    model_is_set = has_model(workspace.configuration, options.model)
    if reasoner is None:
        reasoner = "model" if model_is_set or options.core else "offline"
    with _asking(question) as told:
        found = None
        if reasoner != "model":
            found = _ask_offline(workspace, question, call, is_last=reasoner == "offline" or not model_is_set)
        # An answer without rows is an answer too, and would count as nothing by its length.
        answer = found if found is not None else _ask_model(workspace, question, options, None, call)
        _tell(told, answer)
        return answer


def resume(workspace: Workspace, number: int, options: AskOptions, *, call: Cancellation | None = None) -> Answer:
    """Go on with a run that was not answered, under its number."""
    with _asking("") as told:
        answer = _ask_model(workspace, "", options, number, call or Cancellation())
        _tell(told, answer)
        return answer


def _asking(question: str) -> AbstractContextManager[Span]:
    content = question if question and tells_content() else None
    return span("invoke_agent coset", gen_ai__operation__name="invoke_agent", gen_ai__agent__name="coset",
                coset__question=content)  # fmt: skip


def _tell(told: Span, answer: Answer) -> None:
    outcome = "declined" if answer.is_declined else "stopped" if answer.stopped else "answered"
    told.add(coset__run=answer.run, coset__mode=answer.mode, coset__outcome=outcome)


def _ask_model(
    workspace: Workspace, question: str, options: AskOptions, number: int | None, call: Cancellation
) -> Answer:
    from coset.answering.run_store import ask_and_keep, go_on

    configuration = workspace.configuration
    try:
        with workspace.sessions.lent(call) as session:
            recorder = _telling(configuration, call)
            if number is None:
                answer, number = ask_and_keep(question, configuration, options, recorder, session, call)
            else:
                answer, number = go_on(number, configuration, options, recorder, session, call)
    except asyncio.CancelledError:
        raise Cancelled from None
    return Answer.of_model(answer, number)


def _ask_offline(workspace: Workspace, question: str, call: Cancellation, *, is_last: bool) -> Answer | None:
    """The built-in reasoner's answer; None where it declines and somebody else is to answer."""
    from coset.answering.offline import Declined
    from coset.answering.offline import answer as reason

    started = datetime.datetime.now(datetime.UTC)
    with workspace.sessions.lent(call) as session, workspace.reading() as state:
        call.tell("reading the question")
        with workspace.reasoner(session) as router:
            found = reason(question, router, session, state)
            version = router.objects.digest
        if isinstance(found, Declined) and not is_last:
            return None
        number = _keep_offline(workspace, found, started, version)
    return Answer.of_offline(found, number)


def _keep_offline(workspace: Workspace, found: OfflineAnswer | Declined, at: datetime.datetime, version: str) -> int:
    from coset.answering.audit import RunRecorder
    from coset.answering.audit.store import kept_rows
    from coset.answering.offline import Declined
    from coset.routing.views.text import view_text

    with RunRecorder(workspace.configuration) as recorder:
        number = recorder.start(found.question, environment_version=version, mode="offline", started_at=at)
        recorder.step("view", {"view": view_text(found.view), "matched": found.view.matched})
        if isinstance(found, Declined):
            recorder.finish("declined", None, found.checks, found.reason)
        else:
            recorder.keep_result(kept_rows(found.sql, found.columns, found.rows, found.truncated))
            recorder.finish("answered", Answer.of_offline(found, number).values(), found.checks)
    return number


def _telling(configuration: Environment, call: Cancellation) -> RunRecorder:
    """Keeps every step and tells of it; ends the run at the next step when the call was cancelled."""
    from coset.answering.audit import RunRecorder

    class TellingRecorder(RunRecorder):
        def step(self, kind: str, data: Mapping[str, Any]) -> None:
            super().step(kind, data)
            tool = data.get("tool")
            call.tell(f"used {tool}" if isinstance(tool, str) else PROGRESS.get(kind, kind))

    return TellingRecorder(configuration)
