"""One question from words to an answer: view, arbiter, its statement, and an agent for what that leaves open.

In: a question, an environment, `AskOptions`, an open session. Out: an `Answer`. Every step is told to a recorder, and
after each the run can be taken up again from what was kept. Core mode leaves out view, roles and records and gives the
agent the plain schema.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Literal, Protocol

from coset.answering.agent import Agent, Ending
from coset.answering.answer import Answer, Mode, Proposal
from coset.answering.arbiter import arbitrate
from coset.answering.assemble import Grounds, assemble
from coset.answering.checkpoint import Checkpoint
from coset.answering.checks import CheckResult
from coset.answering.core_evidence import BUDGET as CORE_BUDGET
from coset.answering.core_evidence import core_text
from coset.answering.cross_check import CrossCheck, offline_statement
from coset.answering.draft import Draft, run_draft, why_not
from coset.answering.model_client import Ledger, Limits, ModelClient, Retries
from coset.answering.models import ModelChoices, open_model
from coset.answering.prompt import (
    AGENT,
    CORE_AGENT,
    CORE_TOOLS,
    NAME_IT,
    TOOLS,
    cited_part,
    core_opening,
    learned_opening,
    read_by,
)
from coset.answering.quoting import one_line
from coset.answering.recorder import Recorder
from coset.answering.records import Records, record_text
from coset.answering.recover import RECOVERED, CoreRecover, LearnedRecover, searched, unanswerable
from coset.answering.results import NamedResults
from coset.answering.shorthand import Shorthand, shortened
from coset.answering.text_operations.reader import TextReader
from coset.answering.text_operations.tools import TextTools
from coset.answering.tools import AskUser, Recover, Toolbox
from coset.answering.verification import Verification
from coset.environment.configuration import Environment
from coset.routing.budgets import DETAILS
from coset.routing.view import EvidenceView
from coset.session.query_session import QuerySession
from coset.state import EvidenceState

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
FOR_TEXTS = frozenset({"classify", "extract"})


class Routes(Protocol):
    """What turns a question into a view."""

    def view(self, question: str, budget: int) -> EvidenceView: ...


@dataclass
class QuestionRun:
    """The run. `answer` is called once."""

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
    shorthand: Shorthand = field(default_factory=Shorthand)
    cited: frozenset[str] = frozenset()
    assumptions: list[str] = field(default_factory=list)
    verification: Verification | None = None
    recomputation: CrossCheck | None = None

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.options.limits)
        self.learned = LearnedRecover(self.environment)
        self.results.expand = self._expanded

    def _expanded(self, sql: str) -> str:
        return self.shorthand.expand(sql)

    async def answer(self, checkpoint: Checkpoint | None) -> Answer:
        client = await self._client("agent")
        toolbox = await self._toolbox(client)
        agent = Agent(client, toolbox)
        agent.after_step = lambda: self._keep(agent)
        if self.options.verify != "none":
            self._verify(agent)
        settled: Proposal | None = None
        if checkpoint is not None:
            self._take_up(checkpoint, agent)
        elif self.options.core:
            agent.begin(core_opening(self.question, self._schema()), CORE_AGENT)
        else:
            settled = await self._learned(agent)
        if self.records is not None:
            agent.shape = self.records.shape
        if settled is None:
            self._keep(agent)
            self._pin()
            ending = await agent.run()
        else:
            ending = Ending(settled, "", (), 0)
        answer = self._made(ending)
        self.recorder.step("answer", {"stopped": answer.stopped, "text": answer.text, "sql": list(answer.sql)})
        return answer

    async def _client(self, part: str) -> ModelClient:
        choice = getattr(self.choices, part)
        model = await open_model(choice, self.options.limits.request_seconds)
        await self.stack.enter_async_context(model.model)
        return ModelClient(model, self.ledger, self.recorder, self.options.retries)

    async def _toolbox(self, client: ModelClient) -> Toolbox:
        same = self.choices.text == self.choices.agent
        reader = TextReader(client if same else await self._client("text"))
        texts = TextTools(reader, self.session, self.results, self.environment, self.recorder)
        words = CORE_TOOLS if self.options.core else TOOLS
        return Toolbox(self.session, self.results, self._recover(), self.options.ask_user, texts.offers, words)

    def _verify(self, agent: Agent) -> None:
        toolbox = agent.toolbox
        self.verification = verification = Verification(
            self.environment, self.session, self.results, self.recorder, computed=toolbox.computed
        )
        agent.verify, toolbox.remarks = verification, verification.remarks
        self.recomputation = agent.confirm = CrossCheck(
            self.question,
            self._schema if self.options.core else lambda: self._evidence(more=""),
            agent.client,
            toolbox,
            always=self.options.verify == "full",
            offline=self._offline,
            doubted=verification.is_failed,
        )

    def _offline(self) -> str | None:
        """The statement of the reasoner without a model. It stands on what was learned, so core mode does without."""
        if self.options.core:
            return None
        return offline_statement(self.question, self.environment, self.session, self.router)

    def _pin(self) -> None:
        """Tell everything that looks at answers which shape was pinned."""
        shape = self.records.shape if self.records else None
        if self.verification is not None:
            self.verification.shape = shape
        if self.recomputation is not None:
            self.recomputation.shape = shape

    def _schema(self) -> str:
        with EvidenceState.read(self.environment.state_folder) as state:
            schema = core_text(state, self.options.budget or CORE_BUDGET)
        self.recorder.step("view", {"text": schema, "mode": "core"})
        return schema

    def _evidence(self, more: str | None = None) -> str:
        """The view as text. It is made when it is first asked for: a run that is taken up again may not need it. `more`
        says how to get at what is left out, where that is not `recover`, which only the agent has."""
        from coset.routing.view_text import view_text

        if self.view is None:
            self.view, names = shortened(self._routed())
            # A conversation that is gone on with keeps the names it has used.
            self.shorthand = Shorthand({**names.names, **self.shorthand.names})
        return view_text(self.view) if more is None else view_text(self.view, more)

    def _routed(self) -> EvidenceView:
        if self.router is None:
            from coset.routing.router import Router

            self.router = Router.open(self.environment, self.session)
        return self.router.view(self.question, self.options.budget or DETAILS)

    async def _learned(self, agent: Agent) -> Proposal | None:
        """Begin the agent's conversation, or the answer where it needs none."""
        text = self._evidence()
        view = self.view
        assert view is not None  # noqa: S101
        self.recorder.step("view", {"text": text, "environment": view.environment, "matched": view.matched})
        if not view.matched:
            agent.begin(learned_opening(self.question, text, None), AGENT)
            return None
        arbiter = await self._client("arbiter")
        toolbox = agent.toolbox
        arbitration = await arbitrate(
            self.question,
            view,
            self._evidence(NAME_IT),
            arbiter,
            self.shorthand.references,
            lambda sql: why_not(sql, toolbox),
        )
        self.records = records = arbitration.records
        if records is None:
            self.assumptions.append("the arbiter gave no records that could be used: the agent worked from the view")
            agent.begin(learned_opening(self.question, text, None), AGENT)
            return None
        self.cited = records.cited.union(*(read_by(query.sql, view) for query in records.queries))
        self._pin()
        if none := unanswerable(records, view.references, self.learned.holding, self.recorder):
            return none
        can_ask = self.options.ask_user is not None
        draft = run_draft(records, view, toolbox, self.verification, self.recorder, can_ask)
        if draft is not None and draft.settled is not None:
            other = await self.recomputation(draft.settled) if self.recomputation is not None else []
            if not other:
                return draft.settled
            draft = draft.doubted(other)
        self._leave_out(toolbox, records, draft)
        opening = learned_opening(
            self.question,
            self._shown(view, draft),
            records,
            draft,
            self._chosen(records),
            searched(records, toolbox.recover, self.recorder),
        )
        agent.begin(opening, AGENT)
        return None

    def _shown(self, view: EvidenceView, draft: Draft | None) -> str:
        """The evidence that the agent sees: what is cited, unless the statement over it gave rows."""
        from coset.routing.view_text import view_text

        return "" if draft is not None and draft.name else view_text(cited_part(view, self.cited))

    def _leave_out(self, toolbox: Toolbox, records: Records, draft: Draft | None) -> None:
        """Tools that are for texts and for duplicates are offered where a record or the evidence speaks of them."""
        if draft is None or not draft.name:
            return
        said = " ".join(draft.against)
        texts = frozenset() if records.text_operations else FOR_TEXTS
        toolbox.left_out = texts | (frozenset() if "duplicates" in said else frozenset({"resolve_entities"}))

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
        plain: Recover = CoreRecover(self.environment) if self.options.core else self.learned

        def recover(what: str, budget: int = RECOVERED) -> str:
            record = record_text(self.records, what) if self.records else None
            return record or plain(what, budget)

        return recover

    def _keep(self, agent: Agent) -> None:
        checkpoint = Checkpoint.of(
            self.options.mode, agent.messages, self.results, self.records, self.ledger.steps, self.shorthand.kept()
        )
        self.recorder.keep_messages(checkpoint.model_dump_json())

    def _take_up(self, checkpoint: Checkpoint, agent: Agent) -> None:
        agent.messages = checkpoint.conversation()
        self.records = checkpoint.records
        self.shorthand = Shorthand.restored(checkpoint.names)
        self.ledger.steps += checkpoint.usage
        self.results.restore(checkpoint.statements)

    def _made(self, ending: Ending) -> Answer:
        cited = self.cited | (self.records.cited if self.records else frozenset())
        grounds = Grounds(
            self.records,
            cited,
            self.view,
            self.environment.state_folder,
            tuple(self.assumptions),
            self._checked(ending.proposal),
            tuple(self.ledger.steps),
        )
        return assemble(self.question, self.options.mode, ending, self.results, grounds, self.session, self.recorder)

    def _checked(self, proposal: Proposal | None) -> tuple[CheckResult, ...]:
        """What the checks say of the answer as it is given, after all that was mended."""
        if self.verification is None or self.recomputation is None or proposal is None:
            return ()
        return (*self.verification.check(proposal), *self.recomputation.found(proposal))
