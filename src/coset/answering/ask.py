"""One question, from words to an answer: view, arbiter, agent.

In: a question, an environment that was comprehended, and which models to use. Out: an `Answer`. What is known to be
wrong before a model is asked is told here. What is shown to a person, and where runs are kept, is for the callers to
know.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

from coset.answering.agent.checkpoint import Checkpoint
from coset.answering.answer import Answer
from coset.answering.models.choices import ModelChoices, choose_models, has_price
from coset.answering.recorder import NullRecorder, Recorder
from coset.answering.run import AskOptions, QuestionRun, Routes, Verify
from coset.environment.configuration import Environment
from coset.errors import UserError
from coset.session.query_session import QuerySession
from coset.state import EvidenceState

__all__ = ["AskOptions", "Routes", "Verify", "ask", "ask_async", "check_models", "checked_question"]
LONGEST_QUESTION = 8_000


def ask(
    question: str,
    environment: Environment,
    options: AskOptions | None = None,
    recorder: Recorder | None = None,
    checkpoint: Checkpoint | None = None,
    session: QuerySession | None = None,
    router: Routes | None = None,
) -> Answer:
    """The answer to a question. `checkpoint` is what an earlier run of it kept, to resume from. A session and a router
    that are open already save the time to open them."""
    return asyncio.run(ask_async(question, environment, options, recorder, checkpoint, session, router))


async def ask_async(
    question: str,
    environment: Environment,
    options: AskOptions | None = None,
    recorder: Recorder | None = None,
    checkpoint: Checkpoint | None = None,
    session: QuerySession | None = None,
    router: Routes | None = None,
) -> Answer:
    """`ask` for callers that have an event loop of their own."""
    options = options or AskOptions()
    question = checked_question(question)
    choices = check_models(environment, options)
    async with AsyncExitStack() as stack:
        if session is None:
            session = stack.enter_context(QuerySession(environment))
        run = QuestionRun(question, environment, options, choices, recorder or NullRecorder(), session, router, stack)
        return await run.answer(checkpoint)


def checked_question(question: str) -> str:
    question = question.strip()
    if not question:
        raise UserError("the question is empty: write what you want to know")
    if len(question) > LONGEST_QUESTION:
        raise UserError(f"the question has {len(question):,} letters: ask with at most {LONGEST_QUESTION:,}")
    return question


def check_models(environment: Environment, options: AskOptions) -> ModelChoices:
    """The models to use, after everything that can be known to be wrong before one is asked."""
    choices = choose_models(options.model, options.arbiter_model, options.text_model, environment.models)
    EvidenceState.read(environment.state_folder).close()  # It says so when there is none yet.
    if options.limits.cost is None:
        return choices
    for choice in dict.fromkeys((choices.agent, choices.arbiter, choices.text)):
        if not has_price(choice):
            raise UserError(f"no price is known for '{choice.text}', so its cost cannot be limited: use --max-tokens")
    return choices
