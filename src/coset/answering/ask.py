"""One question, from words to an answer: view, arbiter, agent.

In: a question, an environment that was comprehended, and which models to use. Out: an `Answer`. Every step is told to a
recorder, and after each the run can be taken up again from what was kept. Core mode leaves out view, roles and records
and gives the agent the plain schema. What is shown to a person, and where runs are kept, is for the callers to know.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Literal, Protocol

from coset.answering.agent import Agent, Ending
from coset.answering.agent_tools import AskUser, Recover, Toolbox, told
from coset.answering.answer import Answer, Mode, Proposal, misfit
from coset.answering.arbiter import arbitrate
from coset.answering.audit.kept_result import kept_result
from coset.answering.checks import CheckResult
from coset.answering.core_evidence import BUDGET as CORE_BUDGET
from coset.answering.core_evidence import core_recover, core_text
from coset.answering.exchange import Exchange, Retries
from coset.answering.labelling import TextReader
from coset.answering.models import ModelChoices, choose_models, has_price, open_model
from coset.answering.named_results import NamedResults
from coset.answering.opening import cited_part, core_opening, learned_opening
from coset.answering.prompts import AGENT, CORE_AGENT, CORE_TOOLS, TOOLS
from coset.answering.quoting import one_line
from coset.answering.recorder import ForgetfulRecorder, Recorder
from coset.answering.records import Records, record_text
from coset.answering.recovering import LearnedRecover
from coset.answering.sitting import Sitting
from coset.answering.text_tools import TextTools
from coset.answering.usage import Ledger, Limits
from coset.answering.verification import Verification
from coset.environment.configuration import Environment
from coset.errors import CosetError, Mistake
from coset.evidence.state import EvidenceState
from coset.routing.view import EvidenceView
from coset.session.query_session import QuerySession

Verify = Literal["none", "auto"]
"""none: the answer as the agent gives it; auto: checks always, and an answer that fails one goes back once."""
LONGEST_QUESTION = 8_000
VIEW_BUDGET = 2_000
MOST_ASKED = 3


class Routes(Protocol):
    """What turns a question into a view."""

    def view(self, question: str, budget: int) -> EvidenceView: ...


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


def ask(
    question: str,
    environment: Environment,
    options: AskOptions | None = None,
    recorder: Recorder | None = None,
    sitting: Sitting | None = None,
    session: QuerySession | None = None,
    router: Routes | None = None,
) -> Answer:
    """The answer to a question. `sitting` is what an earlier run of it had kept: it goes on from there. A session and a
    router that are open already save the time to open them."""
    return asyncio.run(ask_async(question, environment, options, recorder, sitting, session, router))


async def ask_async(
    question: str,
    environment: Environment,
    options: AskOptions | None = None,
    recorder: Recorder | None = None,
    sitting: Sitting | None = None,
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
        run = _Run(question, environment, options, choices, recorder or ForgetfulRecorder(), session, router, stack)
        return await run.answer(sitting)


def checked_question(question: str) -> str:
    question = question.strip()
    if not question:
        raise Mistake("the question is empty: write what you want to know")
    if len(question) > LONGEST_QUESTION:
        raise Mistake(f"the question has {len(question):,} letters: ask with at most {LONGEST_QUESTION:,}")
    return question


def check_models(environment: Environment, options: AskOptions) -> ModelChoices:
    """The models to use, after everything that can be known to be wrong before one is asked."""
    choices = choose_models(options.model, options.arbiter_model, options.text_model, environment.models)
    EvidenceState.read(environment.state_folder).close()  # It says so when there is none yet.
    if options.limits.cost is None:
        return choices
    for choice in dict.fromkeys((choices.agent, choices.arbiter, choices.text)):
        if not has_price(choice):
            raise Mistake(f"no price is known for '{choice.text}', so its cost cannot be limited: use --max-tokens")
    return choices


@dataclass(frozen=True)
class _Draft:
    """A statement of the arbiter that was run: what is told of it, and whether rows came and nothing speaks against
    them."""

    text: str
    name: str = ""
    clean: bool = False


@dataclass
class _Run:
    """One question while it is answered."""

    question: str
    environment: Environment
    options: AskOptions
    choices: ModelChoices
    recorder: Recorder
    session: QuerySession
    router: Routes | None
    stack: AsyncExitStack
    results: NamedResults = field(default_factory=NamedResults)
    records: Records | None = None
    view: EvidenceView | None = None
    assumptions: list[str] = field(default_factory=list)
    verification: Verification | None = None

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.options.limits)

    async def answer(self, sitting: Sitting | None) -> Answer:
        agent_exchange = await self._exchange("agent")
        same = self.choices.text == self.choices.agent
        reader = TextReader(agent_exchange if same else await self._exchange("text"))
        texts = TextTools(reader, self.session, self.results, self.environment, self.recorder)
        words = CORE_TOOLS if self.options.core else TOOLS
        toolbox = Toolbox(self.session, self.results, self._recover(), self.options.ask_user, texts.offers, words)
        agent = Agent(agent_exchange, toolbox)
        agent.after_step = lambda: self._keep(agent)
        if self.options.verify != "none":
            self.verification = Verification(
                self.environment, self.session, self.results, self.recorder, computed=toolbox.computed
            )
            agent.verify, toolbox.remarks = self.verification, self.verification.remarks
        if sitting is not None:
            self._take_up(sitting, agent)
        else:
            core = self.options.core
            agent.begin(await (self._core() if core else self._learned(toolbox)), CORE_AGENT if core else AGENT)
            self._keep(agent)
        agent.shape = self.records.shape if self.records else None
        if self.verification is not None:
            self.verification.shape = agent.shape
        ending = await agent.run()
        answer = self._made(ending)
        self.recorder.step("answer", {"stopped": answer.stopped, "text": answer.text, "sql": list(answer.sql)})
        return answer

    async def _exchange(self, part: str) -> Exchange:
        choice = getattr(self.choices, part)
        model = await open_model(choice, self.options.limits.request_seconds)
        await self.stack.enter_async_context(model.model)
        return Exchange(model, self.ledger, self.recorder, self.options.retries)

    async def _core(self) -> str:
        with EvidenceState.read(self.environment.state_folder) as state:
            schema = core_text(state, self.options.budget or CORE_BUDGET)
        self.recorder.step("view", {"text": schema, "mode": "core"})
        return core_opening(self.question, schema)

    async def _learned(self, toolbox: Toolbox) -> str:
        from coset.routing.router import Router
        from coset.routing.view_text import view_text

        router = self.router or Router.open(self.environment, self.session)
        self.view = view = router.view(self.question, self.options.budget or VIEW_BUDGET)
        text = view_text(view)
        self.recorder.step("view", {"text": text, "environment": view.environment, "matched": view.matched})
        if not view.matched:
            return learned_opening(self.question, text, None, (), ())
        arbitration = await arbitrate(self.question, view, text, await self._exchange("arbiter"))
        self.records = arbitration.records
        if self.records is None:
            self.assumptions.append("the arbiter gave no records that could be used: the agent worked from the view")
            return learned_opening(self.question, text, None, (), ())
        evidence = view_text(cited_part(view, self.records))
        ran = [self._draft(toolbox, query.purpose, query.sql) for query in self.records.queries]
        clean = ran and all(each.clean for each in ran) and not self.records.text_operations
        return learned_opening(
            self.question,
            evidence,
            self.records,
            [each.text for each in ran],
            self._chosen(self.records),
            ready=ran[-1].name if clean else "",
        )

    def _draft(self, toolbox: Toolbox, purpose: str, sql: str) -> _Draft:
        """Run a statement that the arbiter wrote: most questions need no other."""
        try:
            named = toolbox.run_sql(sql)
        except CosetError as error:
            self.recorder.step("draft", {"sql": sql, "failed": True, "text": told(error)})
            return _Draft(f"{one_line(purpose, 120)}: {one_line(sql, 1_500)}\n{told(error)}")
        rows = named.result.table.num_rows if named.result else 0
        self.recorder.step("draft", {"name": named.name, "sql": named.whole, "rows": rows, "failed": False})
        result, remarks = toolbox.told_result(named)
        fits = rows > 0 and misfit(self.records.shape if self.records else None, rows) is None
        clean = fits and not remarks and named.result is not None and not named.result.truncated
        return _Draft(f"{one_line(purpose, 120)}\n{result}", named.name, clean)

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

    def _recover(self) -> Recover:
        plain = self._plain_recover() if self.options.core else LearnedRecover(self.environment)

        def recover(what: str) -> str:
            record = record_text(self.records, what) if self.records else None
            return record or plain(what)

        return recover

    def _plain_recover(self) -> Recover:
        def recover(what: str) -> str:
            with EvidenceState.read(self.environment.state_folder) as state:
                return core_recover(state, what)

        return recover

    def _keep(self, agent: Agent) -> None:
        sitting = Sitting.of(self.options.mode, agent.messages, self.results, self.records, self.ledger.steps)
        self.recorder.keep_messages(sitting.model_dump_json())

    def _take_up(self, sitting: Sitting, agent: Agent) -> None:
        agent.messages = sitting.conversation()
        self.records = sitting.records
        self.ledger.steps += sitting.usage
        self.results.restore(sitting.statements)

    def _made(self, ending: Ending) -> Answer:
        """The answer out of what was proposed; of a run that stopped, the last result is what it has."""
        proposal = ending.proposal
        names = proposal.results if proposal else list(self.results.known)[-1:]
        named = [self.results.find(name) for name in names]
        final = named[-1] if named else None
        result = None
        if final is not None:
            result = final.result or self.session.sql(final.whole)
            self.recorder.keep_result(kept_result(final.whole, result))
        tables = [use.table for each in named if each.result for use in each.result.uses]
        ambiguous = [reading for each in self.records.ambiguities for reading in each.readings] if self.records else []
        said = list(proposal.assumptions) if proposal else []
        return Answer(
            question=self.question,
            mode=self.options.mode,
            text=proposal.text.strip() if proposal else "",
            columns=result.columns if result else (),
            rows=tuple(result.rows()) if result else (),
            truncated=result.truncated if result else False,
            sql=tuple(each.whole for each in named),
            references=self._references(tables),
            assumptions=tuple(dict.fromkeys([*said, *self.assumptions, *ending.objections])),
            readings=tuple((proposal.readings if proposal else []) or ambiguous),
            confidence=proposal.confidence if proposal else 0.0,
            shape=self.records.shape if self.records else None,
            stopped=ending.stopped,
            checks=self._checked(proposal),
            steps=tuple(self.ledger.steps),
        )

    def _checked(self, proposal: Proposal | None) -> tuple[CheckResult, ...]:
        """What the checks say of the answer as it is given, after all that was mended."""
        return self.verification.check(proposal) if self.verification and proposal else ()

    def _references(self, tables: list[str]) -> tuple[str, ...]:
        """What the records cite, and the tables that the statements read."""
        cited = sorted(self.records.cited) if self.records else []
        shown = self.view.references if self.view else frozenset()
        known = {reference.replace("/", ".").lower(): reference for reference in shown}
        return tuple(dict.fromkeys([*cited, *(known.get(table.lower(), table) for table in tables)]))
