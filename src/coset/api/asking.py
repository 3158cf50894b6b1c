"""One question, asked so that the one who waits hears how it goes and can call it off.

In: a question, options, a lent session, and the call it belongs to. Out: the answer and the number of its run, which is
kept as `coset ask` keeps it. What is asked of the model, and how, is the answering stage's affair.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from coset.answering.ask import AskOptions, ask_async, check_models, checked_question
from coset.answering.audit import RunRecorder
from coset.answering.run_store import answer_data
from coset.api.long_call import LongCall, Stopped
from coset.api.shown import Answered
from coset.environment.configuration import Environment
from coset.routing.objects_of_state import StateObjects
from coset.session.query_session import QuerySession

if TYPE_CHECKING:
    from coset.answering.answer import Answer

TOLD = {
    "view": "chose the evidence",
    "records": "decided what the question means",
    "draft": "ran a first statement",
    "model": "heard from the model",
    "checks": "checked the answer",
    "answer": "has an answer",
}
"""What is said of a step while it goes; others are told by their kind."""


class TellingRecorder(RunRecorder):
    """Keeps every step and tells of it; ends the run at the next step when the call was stopped."""

    def __init__(self, environment: Environment, call: LongCall) -> None:
        super().__init__(environment)
        self._call = call

    def step(self, kind: str, data: Mapping[str, Any]) -> None:
        super().step(kind, data)
        tool = data.get("tool")
        self._call.tell(f"used {tool}" if isinstance(tool, str) else TOLD.get(kind, kind))


def ask_and_tell(
    question: str, environment: Environment, options: AskOptions, session: QuerySession, call: LongCall
) -> Answered:
    """Ask, keep the run, tell every step. What is wrong with the call itself makes no run."""
    question = checked_question(question)
    choices = check_models(environment, options)
    with TellingRecorder(environment, call) as recorder:
        number = recorder.start(
            question,
            environment_version=StateObjects(environment.state_folder).digest,
            mode=options.mode,
            models={"agent": choices.agent.text, "arbiter": choices.arbiter.text, "text": choices.text.text},
            options={"budget": options.budget, "steps": options.limits.steps, "tokens": options.limits.tokens},
        )
        try:
            answer = _run(question, environment, options, recorder, session, call)
        except Exception as error:
            stopped = isinstance(error, Stopped)
            recorder.finish("stopped" if stopped else "failed", detail="it was called off" if stopped else str(error))
            raise
        except BaseException as error:
            recorder.finish("stopped", detail=f"it was ended from outside ({type(error).__name__})")
            raise
        recorder.finish("stopped" if answer.stopped else "answered", answer_data(answer), answer.checks, answer.stopped)
        return Answered.of(answer, number)


def _run(
    question: str,
    environment: Environment,
    options: AskOptions,
    recorder: RunRecorder,
    session: QuerySession,
    call: LongCall,
) -> Answer:
    async def asked() -> Answer:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()

        def cancel() -> None:
            if task is not None:
                loop.call_soon_threadsafe(task.cancel)

        # A model may think for minutes between two steps: then the request itself is given up.
        with call.interrupted_by(cancel):
            return await ask_async(question, environment, options, recorder, None, session)

    try:
        return asyncio.run(asked())
    except asyncio.CancelledError:
        raise Stopped from None
