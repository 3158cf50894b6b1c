"""One question, from words to an answer: view, arbiter, agent.

In: a question, an environment that was comprehended, and which models to use. Out: an `Answer`. What is known to be
wrong before a model is asked is told here. What is shown to a person, and where runs are kept, is for the callers to
know.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from coset.answering.agent.loop import Agent, Ending
from coset.answering.agent.results import Checkpoint, NamedResults
from coset.answering.agent.tools import AskUser, Recover, Statements, Toolbox
from coset.answering.answer import Answer, Mode, Proposal
from coset.answering.arbiter.arbitrate import arbitrate
from coset.answering.arbiter.draft import Draft, run_draft
from coset.answering.arbiter.records import Records, record_text
from coset.answering.assemble import Grounds, assemble
from coset.answering.checks import CheckResult
from coset.answering.checks.verification import CrossCheck, Verification, offline_statement
from coset.answering.evidence.core import core_text
from coset.answering.evidence.of_question import Evidence, confirmed_text, read_by
from coset.answering.evidence.recover import RECOVERED, CoreRecover, LearnedRecover, searched, unanswerable
from coset.answering.evidence.shorthand import Shorthand
from coset.answering.models.choices import ModelChoice, ModelChoices, choose_models, has_price, open_model
from coset.answering.models.client import Ledger, Limits, ModelClient, Retries
from coset.answering.prompt import AGENT, CORE_AGENT, CORE_TOOLS, TOOLS, core_opening, learned_opening
from coset.answering.quoting import one_line
from coset.answering.recorder import NullRecorder, Recorder
from coset.answering.text_operations.labels import TextReader
from coset.answering.text_operations.tools import TextTools
from coset.environment.configuration import Environment
from coset.errors import UserError
from coset.routing.views.budgets import DETAILS
from coset.routing.views.view import EvidenceView
from coset.session.query_session import QuerySession
from coset.state import EvidenceState

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage


Verify = Literal["none", "auto", "full"]
"""none: the answer as it is given. auto: checks always, an answer that fails one goes back once, and one that stays in
doubt is computed a second time. full: every answer is computed a second time, by another path; agreement ends it."""


@dataclass(frozen=True)
class AskOptions:
    """How a question is to be answered."""

    model: str | None = None
    arbiter_model: str | None = None
    text_model: str | None = None
    core: bool = False
    budget: int | None = None
    """Tokens of the view, or of the schema in core mode."""
    limits: Limits = field(default_factory=Limits)
    retries: Retries = field(default_factory=Retries)
    ask_user: AskUser | None = None
    verify: Verify = "auto"

    @property
    def mode(self) -> Mode:
        return "core" if self.core else "learned"


MOST_ASKED = 3
WIDER = 2
"""How much more a view may cost where the question has words that nothing in it is like, and not every table is
listed."""
FOR_TEXTS = frozenset({"classify", "extract"})


class Routes(Protocol):
    """What turns a question into a view."""

    def view(self, question: str, budget: int) -> EvidenceView: ...


@dataclass(frozen=True)
class Checks:
    """What looks at an answer before it is given, for one pinned shape; nothing with `--verify none`."""

    verification: Verification | None = None
    cross_check: CrossCheck | None = None

    def of(self, proposal: Proposal | None) -> tuple[CheckResult, ...]:
        """What they say of the answer as it is given, after all that was mended."""
        if self.verification is None or self.cross_check is None or proposal is None:
            return ()
        return (*self.verification.check(proposal), *self.cross_check.found(proposal))


@dataclass(frozen=True)
class Start:
    """What the agent begins with, or the answer where no agent is needed."""

    checks: Checks
    messages: Sequence[ModelMessage] = ()
    records: Records | None = None
    cited: frozenset[str] = frozenset()
    """References that the records and the arbiter's statement name."""
    assumptions: tuple[str, ...] = ()
    left_out: frozenset[str] = frozenset()
    """Tools that are of no use here."""
    settled: Proposal | None = None
    stopped: str = ""
    """Why nothing more can be asked, where there is no answer."""
    own: tuple[CheckResult, ...] = ()
    """What the arbiter's own checks said of its statement."""


class QuestionRun:
    """One question while it is answered. `answer` is called once."""

    def __init__(
        self,
        question: str,
        environment: Environment,
        options: AskOptions,
        choices: ModelChoices,
        recorder: Recorder,
        session: QuerySession,
        router: Routes | None,
        stack: AsyncExitStack,
    ) -> None:
        self.question, self.environment, self.options, self.choices = question, environment, options, choices
        self.recorder, self.session, self.router, self._stack = recorder, session, router, stack
        self.ledger = Ledger(options.limits)
        self.shorthand = Shorthand()
        self.results = NamedResults(expand=self.shorthand.expand)
        self.statements = Statements(session, self.results)
        self.computed: list[Any] = []
        self.recover = LearnedRecover(environment)
        self.evidence: Evidence | None = None
        self.verification = Verification(
            environment, session, self.results, recorder, computed=self.computed, question=question
        )

    async def answer(self, checkpoint: Checkpoint | None = None) -> Answer:
        self.client = await self._client(self.choices.agent)
        if checkpoint is not None:
            start = self._resumed(checkpoint)
        elif self.options.core:
            start = Start(self._checks(None), opened_with(core_opening(self.question, self._schema()), CORE_AGENT))
        else:
            start = await self._arbitrated(self._routed())
        is_over = start.settled is not None or bool(start.stopped)
        ending = Ending(start.settled, start.stopped, (), 0) if is_over else await self._agent(start)
        answer = self._assembled(start, ending)
        self.recorder.step("answer", {"stopped": answer.stopped, "text": answer.text, "sql": list(answer.sql)})
        return answer

    # View: what the question may be answered from.

    def _routed(self) -> Evidence:
        if self.evidence is None:
            if self.router is None:
                from coset.routing.router import Router

                self.router = Router.open(self.environment, self.session)
            view = self.router.view(self.question, self.options.budget or DETAILS)
            self.evidence = Evidence.of(view, self.recover, self.shorthand)
            if self.evidence.is_thin and self.options.budget is None:
                wider = self.router.view(self.question, WIDER * DETAILS)
                self.evidence = Evidence.of(wider, self.recover, self.shorthand)
                self.recorder.step("widened", {"for": list(view.unfound), "budget": WIDER * DETAILS})
            self.evidence.confirmed = confirmed_text(self.question, self.environment)
        return self.evidence

    def _schema(self) -> str:
        with EvidenceState.read(self.environment.state_folder) as state:
            schema = core_text(state, self.options.budget if self.options.core else None)
        self.recorder.step("view", {"text": schema, "mode": "core"})
        return schema

    # Arbiter: the answer itself, or what an agent needs to go on.

    async def _arbitrated(self, evidence: Evidence) -> Start:
        routed = {"environment": evidence.view.environment, "matched": evidence.view.matched}
        self.recorder.step("view", {"text": evidence.text(), **routed})
        if not evidence.says_something:
            opening = learned_opening(self.question, f"{evidence.text()}\n{self._schema()}", None)
            return Start(self._checks(None), opened_with(opening, AGENT))
        arbiter = await self._client(self.choices.arbiter)
        found = await arbitrate(self.question, evidence, arbiter, self.statements, self._looked_at)
        records, view = found.records, evidence.view
        checks = self._checks(records)
        over = self.ledger.spent() or ""
        if records is None and over:
            return Start(checks, stopped=over)
        if records is None:
            assumed = ("the arbiter gave no records that could be used: the agent worked from the view",)
            opening = learned_opening(self.question, self._widest(evidence), None)
            return Start(checks, opened_with(opening, AGENT), assumptions=assumed)
        cited = records.cited.union(*(read_by(query.sql, view) for query in records.queries))
        if none := unanswerable(records, view.references, self.recover.holding, self.recorder):
            return Start(checks, records=records, cited=cited, settled=none)
        draft = found.draft or self._looked_at(records, False)
        own = draft.own if draft is not None else ()
        if draft is not None and draft.settled is not None:
            other = await checks.cross_check(draft.settled) if checks.cross_check is not None else []
            if not other:
                return Start(checks, records=records, cited=cited, settled=draft.settled, own=own)
            draft = draft.doubted(other)
        if over:
            last = draft.at_the_limit() if draft is not None else None
            return Start(checks, records=records, cited=cited, settled=last, stopped="" if last else over, own=own)
        has_rows = draft is not None and bool(draft.name)
        opening = learned_opening(
            self.question,
            evidence.part(cited) if has_rows else self._widest(evidence),
            records,
            draft,
            self._chosen(records),
            searched(records, self.recover, self.recorder),
            evidence.in_vain,
        )
        left_out = _left_out(records, draft) if draft is not None and has_rows else frozenset()
        return Start(checks, opened_with(opening, AGENT), records, cited, left_out=left_out, own=own)

    def _looked_at(self, records: Records, is_seen: bool) -> Draft | None:
        """The arbiter's statement, run and checked."""
        verification = self._checks(records).verification
        can_ask = self.options.ask_user is not None
        view = self._routed().view
        return run_draft(records, view, self.statements, verification, self.recorder, can_ask, is_seen)

    def _widest(self, evidence: Evidence) -> str:
        """All there is, where no statement stands on a part of it: the view, what was opened, and the plain schema
        unless the view lists every table."""
        return evidence.text() if evidence.lists_all else f"{evidence.text()}\n{self._schema()}"

    def _chosen(self, records: Records) -> list[str]:
        """What the person says of open ambiguities, where there is one to ask."""
        if self.options.ask_user is None:
            return []
        chosen = []
        for ambiguity in records.ambiguities[:MOST_ASKED]:
            said = self.options.ask_user(ambiguity.about, tuple(ambiguity.readings))
            chosen.append(one_line(f"{ambiguity.about}: {said}"))
            self.recorder.step("asked", {"question": ambiguity.about, "answer": said})
        return chosen

    # Checks of whatever is about to be answered.

    def _checks(self, records: Records | None) -> Checks:
        if self.options.verify == "none":
            return Checks()
        shape = records.shape if records else None
        verification = self.verification.of_shape(shape)
        is_thin = self.evidence is not None and self.evidence.is_thin
        cross_check = CrossCheck(
            self.question,
            self._schema if self.options.core else lambda: self._routed().text(more=""),
            self.client,
            self.statements,
            # What the arbiter found lacking, or a view that may lack something, is a reason to compute twice.
            always=self.options.verify == "full" or is_thin or bool(records and records.missing),
            offline=self._offline_statement,
            shape=shape,
            doubted=verification.is_failed,
        )
        return Checks(verification, cross_check)

    def _offline_statement(self) -> str | None:
        """The statement of the reasoner without a model. It stands on what was learned, so core mode does without."""
        if self.options.core:
            return None
        return offline_statement(self.question, self.environment, self.session, self.router)

    # Agent: a bounded loop of tool calls.

    async def _agent(self, start: Start) -> Ending:
        verification = start.checks.verification
        same = self.choices.text == self.choices.agent
        reader = TextReader(self.client if same else await self._client(self.choices.text))
        texts = TextTools(reader, self.session, self.results, self.environment, self.recorder)
        toolbox = Toolbox(
            self.statements,
            self._recovering(start.records),
            self.options.ask_user,
            texts.offers,
            CORE_TOOLS if self.options.core else TOOLS,
            remarks=verification.remarks if verification else None,
            computed=self.computed,
            left_out=start.left_out,
        )
        agent = Agent(
            self.client,
            toolbox,
            shape=start.records.shape if start.records else None,
            verify=verification,
            confirm=start.checks.cross_check,
            messages=list(start.messages),
            after_step=lambda: self._keep(agent, start.records),
        )
        self._keep(agent, start.records)
        return await agent.run()

    async def _client(self, choice: ModelChoice) -> ModelClient:
        model = await open_model(choice, self.options.limits.request_seconds)
        await self._stack.enter_async_context(model.model)
        return ModelClient(model, self.ledger, self.recorder, self.options.retries)

    def _recovering(self, records: Records | None) -> Recover:
        plain: Recover = CoreRecover(self.environment) if self.options.core else self.recover

        def recover(what: str, budget: int = RECOVERED) -> str:
            record = record_text(records, what) if records else None
            return record or plain(what, budget)

        return recover

    # Keeping and resuming.

    def _keep(self, agent: Agent, records: Records | None) -> None:
        checkpoint = Checkpoint.of(
            self.options.mode, agent.messages, self.results, records, self.ledger.steps, self.shorthand.kept()
        )
        self.recorder.keep_messages(checkpoint.model_dump_json())

    def _resumed(self, checkpoint: Checkpoint) -> Start:
        self.shorthand.restore(checkpoint.names)
        self.ledger.steps += checkpoint.usage
        self.results.restore(checkpoint.statements)
        records = checkpoint.records
        cited = records.cited if records else frozenset()
        return Start(self._checks(records), checkpoint.conversation(), records, cited)

    def _assembled(self, start: Start, ending: Ending) -> Answer:
        grounds = Grounds(
            start.records,
            start.cited,
            self.evidence.view if self.evidence else None,
            self.environment.state_folder,
            start.assumptions,
            (*start.checks.of(ending.proposal), *(start.own if start.settled is not None else ())),
            tuple(self.ledger.steps),
        )
        return assemble(self.question, self.options.mode, ending, self.results, grounds, self.session, self.recorder)


def opened_with(opening: str, instructions: str) -> list[ModelMessage]:
    """The first message of a conversation."""
    from pydantic_ai.messages import ModelRequest, UserPromptPart

    return [ModelRequest(parts=[UserPromptPart(opening)], instructions=instructions)]


def _left_out(records: Records, draft: Draft) -> frozenset[str]:
    """Tools for texts and for duplicates are offered where a record or a check speaks of them."""
    texts = frozenset() if records.text_operations else FOR_TEXTS
    return texts | (frozenset() if "duplicates" in " ".join(draft.against) else frozenset({"resolve_entities"}))


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
            raise UserError(
                f"no price is known for '{choice.text}', so its cost cannot be limited: limit its tokens (max_tokens)"
            )
    return choices
