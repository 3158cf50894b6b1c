"""Ask a question and keep the run, so that it can be shown, replayed, or resumed.

In: a question, or the number of a run that broke off. Out: the answer and the run's number. A run that fails half-way
keeps what it had, and its error says how to resume it.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from coset.answering.agent.results import Checkpoint
from coset.answering.answer import Answer
from coset.answering.ask import AskOptions, ask_async, check_models, checked_question
from coset.answering.audit import RunRecorder, Runs
from coset.environment.configuration import Environment
from coset.errors import CosetError
from coset.routing.objects.objects_of_state import StateObjects
from coset.session.query_session import QuerySession


class Interruptible(Protocol):
    """A call that its caller may cancel: while the block lasts, cancelling calls `interrupt`."""

    def interrupted_by(self, interrupt: Callable[[], None]) -> AbstractContextManager[None]: ...


def ask_and_keep(
    question: str,
    environment: Environment,
    options: AskOptions,
    recorder: RunRecorder | None = None,
    session: QuerySession | None = None,
    call: Interruptible | None = None,
) -> tuple[Answer, int]:
    """Ask, and keep the run under a number of its own. What is wrong with the call itself makes no run."""
    question = checked_question(question)
    models = _models(environment, options)
    with recorder or RunRecorder(environment) as kept:
        number = kept.start(
            question,
            environment_version=StateObjects(environment.state_folder).digest,
            mode=options.mode,
            models=models,
            options=_told(options),
        )
        return _kept(kept, number, question, environment, options, None, session, call), number


def go_on(
    number: int,
    environment: Environment,
    options: AskOptions,
    recorder: RunRecorder | None = None,
    session: QuerySession | None = None,
    call: Interruptible | None = None,
) -> tuple[Answer, int]:
    """Go on with a run that was not answered, from the last step that was kept; from the start where none was."""
    runs = Runs(environment.state_folder)
    run = runs.run(number)
    messages = runs.messages(number)
    checkpoint = Checkpoint.read(messages) if messages else None
    options = dataclasses.replace(options, core=run.summary.mode == "core")
    _models(environment, options)
    with recorder or RunRecorder(environment) as kept:
        kept.resume(number)
        return _kept(kept, number, run.summary.question, environment, options, checkpoint, session, call), number


def _kept(
    recorder: RunRecorder,
    number: int,
    question: str,
    environment: Environment,
    options: AskOptions,
    checkpoint: Checkpoint | None,
    session: QuerySession | None,
    call: Interruptible | None,
) -> Answer:
    async def asked() -> Answer:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()

        def cancel() -> None:
            if task is not None:
                loop.call_soon_threadsafe(task.cancel)

        # A model may think for minutes between two steps: then the request itself is given up.
        with call.interrupted_by(cancel) if call else nullcontext():
            return await ask_async(question, environment, options, recorder, checkpoint, session)

    try:
        answer = asyncio.run(asked())
    except CosetError as error:
        recorder.finish("failed", detail=str(error))
        text = f"{error} (kept as run {number}: `coset run {number} --resume` goes on with it)"
        raise _same_kind(error)(text) from error
    except BaseException as error:
        recorder.finish("stopped", detail=f"it was ended from outside ({type(error).__name__})")
        raise
    recorder.finish("stopped" if answer.stopped else "answered", answer_data(answer), answer.checks, answer.stopped)
    return answer


def _same_kind(error: CosetError) -> type[CosetError]:
    """A class with the same exit code whose only argument is its text."""
    from coset.answering.models.choices import ModelFailed
    from coset.errors import UserError

    return UserError if isinstance(error, UserError) else ModelFailed if isinstance(error, ModelFailed) else CosetError


def _models(environment: Environment, options: AskOptions) -> dict[str, str]:
    choices = check_models(environment, options)
    return {"agent": choices.agent.text, "arbiter": choices.arbiter.text, "text": choices.text.text}


def _told(options: AskOptions) -> dict[str, Any]:
    return {"budget": options.budget, "interactive": options.ask_user is not None, **dataclasses.asdict(options.limits)}


def answer_data(answer: Answer) -> dict[str, Any]:
    """The answer as plain data: for the audit and for `--json`."""
    return {
        "value": answer.value,
        "text": answer.text,
        "columns": list(answer.columns),
        "rows": [list(row) for row in answer.rows],
        "truncated": answer.truncated,
        "sql": list(answer.sql),
        "references": list(answer.references),
        "assumptions": list(answer.assumptions),
        "readings": list(answer.readings),
        "confidence": answer.confidence,
        "shape": answer.shape.model_dump(exclude_defaults=True) if answer.shape else None,
        "stopped": answer.stopped,
        "checks": [dataclasses.asdict(check) for check in answer.checks],
        "mode": answer.mode,
        "tokens": answer.tokens,
        "cost": answer.cost,
        "steps": [dataclasses.asdict(step) for step in answer.steps],
    }
