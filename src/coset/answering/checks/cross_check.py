"""The same question computed a second time, by another path; two that agree end the matter.

In: an answer that is about to be given, the evidence, and the pinned shape; never the first statement or its rows. Out:
nothing when both agree, else what the other way gave, for whoever decides; and a result like that of a check. The first
other path is the reasoner that needs no model, where it is sure; then a model that is asked afresh.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from coset.answering.agent.results import NamedResult
from coset.answering.agent.tools import SqlArguments, Statements, shown, told
from coset.answering.answer import Proposal
from coset.answering.arbiter.records import Shape
from coset.answering.audit.kept_result import canonical
from coset.answering.checks import CheckResult
from coset.answering.models.client import ModelClient, Tool, schema_of
from coset.answering.prompt import RECOMPUTE, TOOLS
from coset.answering.quoting import data_block, one_line
from coset.environment.configuration import Environment
from coset.errors import CosetError
from coset.session.query_session import QuerySession

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


NAME = "recomputation"
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
            return (CheckResult(NAME, "not applicable", "no second statement could be had that runs"),)
        if same(_rows(first), _rows(self.other)):
            return (CheckResult(NAME, "passed", f"a second computation, {self.how}, gives the same"),)
        return (CheckResult(NAME, "doubt", f"a second computation, {self.how}, gives something else"),)

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
            NAME,
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
