"""Verification of an answer: deterministic checks, and a second computation by another path.

In: what the agent proposes and the results it names. Out: sentences to send back (what failed goes back once), remarks
to stand beside a result, and every check's result for the audit. A doubt sends nothing back: it travels with the
answer. A check that cannot be made is no objection. Two computations that agree end the matter; the second never sees
the first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from coset.answering.agent.results import NamedResult, NamedResults
from coset.answering.agent.tools import SqlArguments, Statements, shown, told
from coset.answering.answer import Proposal
from coset.answering.arbiter.records import Shape
from coset.answering.audit.store import canonical
from coset.answering.checks import CheckResult, PinnedShape, run_checks
from coset.answering.checks import Proposal as Checked
from coset.answering.checks.knowledge import RULES
from coset.answering.checks.result_shape import GRAIN
from coset.answering.checks.result_values import NULLS
from coset.answering.models.client import ModelClient, Tool, schema_of
from coset.answering.prompt import RECOMPUTE, TOOLS
from coset.answering.quoting import data_block, one_line
from coset.answering.recorder import Recorder
from coset.environment.configuration import Environment
from coset.errors import CosetError
from coset.session.query_session import QuerySession
from coset.state import EvidenceState

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage


def offline_statement(
    question: str, environment: Environment, session: QuerySession, router: object | None
) -> str | None:
    from coset.answering.offline import OfflineAnswer, answer
    from coset.routing.router import Router
    from coset.state import EvidenceState

    try:
        router = router if isinstance(router, Router) else Router.open(environment, session)
        with EvidenceState.read(environment.state_folder) as state:
            found = answer(question, router, session, state)
    except CosetError:
        return None
    return found.sql if isinstance(found, OfflineAnswer) else None


RECOMPUTATION = "recomputation"
MOST_REQUESTS = 2
SURE_ENOUGH = 0.5
"""An answer with less confidence than this is in doubt."""
SQL_TOOL = Tool("sql", TOOLS["sql"], schema_of(SqlArguments))

Offline = Callable[[], str | None]
"""The statement of the reasoner that needs no model, or None when it declines."""


@dataclass
class CrossCheck:
    """The second computation of one question: at most one, however often it is asked for."""

    question: str
    evidence: Callable[[], str]
    client: ModelClient
    statements: Statements
    always: bool
    offline: Offline = lambda: None
    shape: Shape | None = None
    doubted: Callable[[Proposal], bool] = lambda proposal: False
    """Whether a check still speaks against a proposal."""
    made: bool = False
    other: NamedResult | None = None
    how: str = ""
    told: bool = False

    async def __call__(self, proposal: Proposal) -> list[str]:
        """What to decide, when the other way gives something else."""
        first = self._final(proposal)
        if first is None or not (self.always or self._is_doubtful(proposal)):
            return []
        if not self.made:
            self.made = True
            await self._compute(first)
        if self.told or self.other is None or same(_rows(first), _rows(self.other)):
            return []
        self.told = True
        return [
            f"computed by another path the answer is {self.other.name}, by {one_line(self.other.sql, 800)}: decide "
            f"which is right and why, and answer from that\n{shown(self.other)}"
        ]

    def found(self, proposal: Proposal | None) -> tuple[CheckResult, ...]:
        """What is to be said of it with the answer."""
        first = self._final(proposal) if proposal is not None else None
        if not self.made or first is None:
            return ()
        if self.other is None:
            return (CheckResult(RECOMPUTATION, "not applicable", "no second statement could be had that runs"),)
        if same(_rows(first), _rows(self.other)):
            return (CheckResult(RECOMPUTATION, "passed", f"a second computation, {self.how}, gives the same"),)
        return (CheckResult(RECOMPUTATION, "doubt", f"a second computation, {self.how}, gives something else"),)

    def _is_doubtful(self, proposal: Proposal) -> bool:
        return proposal.confidence < SURE_ENOUGH or self.doubted(proposal)

    def _final(self, proposal: Proposal) -> NamedResult | None:
        if proposal.refuses or not proposal.results:
            return None
        named = self.statements.results.find(proposal.results[-1])
        return named if named.result is not None else None

    async def _compute(self, first: NamedResult) -> None:
        sql = self.offline()
        if sql is not None and (found := self._run(sql)) is not None and same(_rows(first), _rows(found)):
            # Only an agreement is taken from it: where it differs, a model is to say how the question is meant.
            self.other, self.how = found, "without a model"
        else:
            self.other, self.how = await self._ask(), "by a model that was asked afresh"
        self.client.recorder.step(
            RECOMPUTATION,
            {
                "how": self.how,
                "sql": self.other.whole if self.other else None,
                "rows": len(_rows(self.other)) if self.other else 0,
                "same": self.other is not None and same(_rows(first), _rows(self.other)),
            },
        )

    def _run(self, sql: str) -> NamedResult | None:
        try:
            return self.statements.run(sql)
        except CosetError:
            return None

    async def _ask(self) -> NamedResult | None:
        from pydantic_ai.messages import ModelRequest, ToolReturnPart, UserPromptPart

        pinned = f"\n\nThe answer's shape: {self.shape_text}" if self.shape else ""
        opening = f"{data_block('evidence', self.evidence())}\n\nThe question:\n{self.question}{pinned}"
        messages: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart(opening)], instructions=RECOMPUTE)]
        for number in range(1, MOST_REQUESTS + 1):
            if not self.client.ledger.room_for_one():
                return None
            reply = await self.client.ask(f"recompute {number}", messages, [SQL_TOOL], "sql")
            call = next((each for each in reply.calls if each.name == "sql" and each.arguments), None)
            if call is None:
                return None
            query = str((call.arguments or {}).get("query") or "")
            try:
                return self.statements.run(query)
            except CosetError as error:
                returns = [
                    ToolReturnPart(tool_name=each.name, content=f"error: {told(error)}", tool_call_id=each.identifier)
                    for each in reply.calls
                ]
                messages += [reply.response, ModelRequest(parts=returns)]
        return None

    @property
    def shape_text(self) -> str:
        """The pinned form and columns: what makes two results comparable, and no word of how to get there."""
        shape = self.shape
        if shape is None:
            return ""
        parts = [shape.form, f"columns {', '.join(shape.columns)}" if shape.columns else "", shape.unit, shape.order]
        return one_line("; ".join(part for part in parts if part), 300)


def same(one: Sequence[Sequence[Any]], other: Sequence[Sequence[Any]]) -> bool:
    """Whether two results say the same: equal rows in any order, or one of them with columns that nobody asked for."""
    if len(one) != len(other):
        return False
    if not one:
        return True
    left, right = _columns(one), _columns(other)
    if len(left) > len(right):
        left, right, one, other = right, left, other, one
    places: list[int] = []
    for column in left:
        free = [place for place in range(len(right)) if place not in places and _equal(column, right[place])]
        if not free:
            return False
        places.append(free[0])
    kept = [tuple(row[place] for place in places) for row in other]
    return Counter(map(_key, one)) == Counter(map(_key, kept))


def _columns(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


def _equal(one: Sequence[Any], other: Sequence[Any]) -> bool:
    return Counter(map(_one, one)) == Counter(map(_one, other))


def _key(row: Sequence[Any]) -> tuple[str, ...]:
    return tuple(map(_one, row))


def _one(value: Any) -> str:
    return str(canonical(value.strip() if isinstance(value, str) else value))


def _rows(named: NamedResult) -> list[tuple[Any, ...]]:
    return named.result.rows() if named.result is not None else []


MOST_TOLD = 4
MOST_REMARKS = 2
CHEAP = frozenset({"units", "cleaning", "join loss", "fan-out", "copies", "rules", "code lists", "exact"})
"""Checks of a statement that look at the evidence alone, or count the joins of tables that are small."""
SMALL = 200_000
"""Rows of a table whose joins are counted for a remark."""


@dataclass
class Verification:
    """The checks of one question. `found` is what the last look gave."""

    environment: Environment
    session: QuerySession
    results: NamedResults
    recorder: Recorder
    shape: Shape | None = None
    found: tuple[CheckResult, ...] = ()
    computed: Sequence[Any] = ()
    """What the calculator gave so far."""
    question: str = ""
    _looked_at: tuple[str, tuple[str, ...]] | None = None
    _remarked: set[str] = field(default_factory=set)
    _told: set[str] = field(default_factory=set)

    def of_shape(self, shape: Shape | None) -> Verification:
        """The same checks for a shape; what was told stays told."""
        if shape != self.shape:
            self.shape, self._looked_at = shape, None
        return self

    def __call__(self, proposal: Proposal) -> list[str]:
        """What is wrong with a proposal, without what was told before the agent began: it has decided on that."""
        failed = [
            check for check in self.check(proposal) if check.outcome == "failed" and check.detail not in self._told
        ]
        return [one_line(f"{check.name}: {check.detail}", 300) for check in failed[:MOST_TOLD]]

    def tell(self, proposal: Proposal, with_nulls: Collection[str] = (), cited: Collection[str] = ()) -> list[str]:
        """Everything that speaks against a proposal, doubts too; each is told this once. `with_nulls` are columns whose
        NULLs whoever wrote the statement had before their eyes, `cited` what they gave a reason for: a doubt about the
        NULLs of the first, or whether a rule on the second was seen, is no news."""
        found = self._doubts(proposal, with_nulls, cited)
        wrong = [check for check in found if check.detail not in self._told][:MOST_TOLD]
        self._told.update(check.detail for check in wrong)
        self._remarked.update(check.detail for check in wrong)
        return [one_line(f"{check.name}, {check.outcome}: {check.detail}", 240) for check in wrong]

    def stands(self, proposal: Proposal, with_nulls: Collection[str] = (), cited: Collection[str] = ()) -> bool:
        """Whether anything speaks against a proposal, told before or not."""
        return bool(self._doubts(proposal, with_nulls, cited))

    def _doubts(self, proposal: Proposal, with_nulls: Collection[str], cited: Collection[str]) -> list[CheckResult]:
        found = [check for check in self.check(proposal) if check.outcome in {"failed", "doubt"}]
        return [check for check in found if not _is_known(check, with_nulls, cited)]

    def is_failed(self, proposal: Proposal) -> bool:
        """Whether a check says of it that it is wrong."""
        return any(check.outcome == "failed" for check in self.check(proposal))

    def remarks(self, named: NamedResult) -> list[CheckResult]:
        """What may be wrong with a result that has just come, where that is cheap to say and was not said before."""
        checked = Checked(value=None, sql=(named.whole,), result=named.result, question=self.question)
        try:
            with EvidenceState.read(self.environment.state_folder) as state:
                found = run_checks(checked, self.session, state, only=CHEAP, most_rows=SMALL)
        except CosetError:
            return []
        wrong = [check for check in found if check.outcome in {"failed", "doubt"}]
        new = [check for check in wrong if check.detail not in self._remarked][:MOST_REMARKS]
        self._remarked.update(check.detail for check in new)
        return new

    def check(self, proposal: Proposal) -> tuple[CheckResult, ...]:
        """Look at a proposal; what is found is kept. There is nothing to see in one that refuses."""
        if proposal.refuses:
            self.found = ()
            return ()
        says = (proposal.text, tuple(proposal.results))
        if says == self._looked_at:
            return self.found
        self._looked_at = says
        named = [self.results.find(name) for name in proposal.results]
        final = named[-1] if named else None
        rows = [list(row) for row in final.result.rows()] if final and final.result else []
        checked = Checked(
            value=proposal.text or rows,
            sql=tuple(each.whole for each in named),
            shape=_pinned(self.shape),
            result=final.result if final else None,
            computed=tuple(self.computed),
            question=self.question,
        )
        try:
            with EvidenceState.read(self.environment.state_folder) as state:
                self.found = run_checks(checked, self.session, state)
        except CosetError as error:
            self.found = (CheckResult("checks", "doubt", f"they could not be made: {error}"),)
        self.recorder.step("checks", {"checks": [vars(check) for check in self.found]})
        return self.found


def _is_known(check: CheckResult, with_nulls: Collection[str], cited: Collection[str]) -> bool:
    """The check of the grain names references only where it speaks of rows without a key."""
    if check.outcome != "doubt" or not check.references:
        return False
    if check.name == RULES:  # Beside the columns it names the rules themselves, which are parts of documents.
        columns = [reference for reference in check.references if "#" not in reference]
        return bool(columns) and all(column in cited for column in columns)
    return check.name in {NULLS, GRAIN} and all(reference in with_nulls for reference in check.references)


def _pinned(shape: Shape | None) -> PinnedShape | None:
    if shape is None:
        return None
    return PinnedShape(shape.form, tuple(shape.columns), grain=shape.grain, unit=shape.unit)
