"""The agent: a bounded loop of tool calls that ends in one typed answer.

In: an opening (records and evidence, then the question) or a conversation to go on with, and a toolbox. Out: an
`Ending`: what was proposed, or why the run stopped without. The last step can only answer; so can the step before a
limit; where it does not, the last answer that was sent back is what there is. An answer that does not hold (an unknown
result, a check that failed) is sent back, twice at most; one that says that the data cannot answer is taken as it is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic import ValidationError

from coset.answering.agent.results import NamedResult, best_result
from coset.answering.agent.tools import Outcome, Toolbox
from coset.answering.answer import Proposal, misfit
from coset.answering.arbiter.records import Shape
from coset.answering.models.client import Call, ModelClient, Reply
from coset.answering.prompt import AGENT, CALL_A_TOOL, LAST_STEP, MEND
from coset.answering.quoting import one_line
from coset.errors import CosetError, UserError

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelRequestPart

MOST_OBJECTIONS = 2
MOST_IDLE = 3
"""So many steps may bring nothing new, by repeated or failed calls, before the agent must answer."""
MOST_CALLS = 8
"""Of one step's calls so many are carried out; the rest is told to wait."""

Verify = Callable[[Proposal], Sequence[str]]
"""What speaks against a proposed answer, in sentences; nothing when it holds."""
Confirm = Callable[[Proposal], Awaitable[Sequence[str]]]
"""The same from a second computation, which may have to ask a model."""


@dataclass(frozen=True)
class Ending:
    """How a run ended: with a proposal, or with the reason why there is none."""

    proposal: Proposal | None
    stopped: str
    objections: tuple[str, ...]
    """What spoke against the proposal and was not mended."""
    steps: int


@dataclass
class Agent:
    """One conversation. `messages` can be kept and given back to go on another day."""

    client: ModelClient
    toolbox: Toolbox
    shape: Shape | None = None
    verify: Verify | None = None
    confirm: Confirm | None = None
    messages: list[ModelMessage] = field(default_factory=list)
    after_step: Callable[[], None] = lambda: None
    """Called when a step is complete and its results are in the messages."""
    _set_aside: Ending | None = None
    """The last answer that was sent back: what the run has, when it must end before a better one."""
    _objections: int = 0
    _objected: bool = False
    _confirmed: bool = False
    _idle: int = 0
    _silent: int = 0
    _called: bool = False

    def begin(self, opening: str, instructions: str = AGENT) -> None:
        from pydantic_ai.messages import ModelRequest, UserPromptPart

        self.messages = [ModelRequest(parts=[UserPromptPart(opening)], instructions=instructions)]

    async def run(self) -> Ending:
        """Go on until there is an answer or no room for another step."""
        ledger = self.client.ledger
        for step in range(1, ledger.limits.steps + 1):
            if spent := ledger.spent():
                return self._ended(spent, step - 1)
            last = step == ledger.limits.steps or not ledger.room_for_one() or self._idle >= MOST_IDLE
            if last:
                self._say(LAST_STEP)
            reply = await self.client.ask(
                f"agent {step}", self.messages, self.toolbox.tools, "answer" if last else None
            )
            self.messages.append(reply.response)
            ending = await self._take(reply, step, last)
            if ending is not None:
                return ending
            self.after_step()
            if last:
                why = ledger.spent() or (
                    f"the limit of {ledger.limits.steps} steps was reached"
                    if step == ledger.limits.steps
                    else "the model repeated itself and did not answer"
                )
                return self._ended(why, step)
        return self._ended(f"the limit of {ledger.limits.steps} steps was reached", ledger.limits.steps)

    def _ended(self, why: str, step: int) -> Ending:
        """With the best answer so far, where there is one."""
        if self._set_aside is None or self._set_aside.proposal is None:
            return Ending(None, why, (), step)
        return Ending(self._set_aside.proposal, "", (*self._set_aside.objections, why), step)

    async def _take(self, reply: Reply, step: int, last: bool) -> Ending | None:
        """Carry out what a reply asks for; the ending when it is one."""
        if not reply.calls:
            return self._without_call(reply, step, last)
        self._called = True
        self._silent = 0
        others = [call for call in reply.calls if call.name != "answer"]
        outcomes = {id(call): await self._carry_out(call, number) for number, call in enumerate(others)}
        for call in reply.calls:
            if call.name == "answer" and id(call) not in outcomes:
                if others and not last:
                    text = "Not taken: other tools were called at the same time. Look at their results, then answer."
                    outcomes[id(call)] = Outcome(text, True)
                    continue
                ending = await self._answered(call, step, last)
                if isinstance(ending, Ending):
                    return ending
                outcomes[id(call)] = Outcome(ending, True)
        self._idle = self._idle + 1 if all(outcome.failed for outcome in outcomes.values()) else 0
        self._return([(call, outcomes[id(call)]) for call in reply.calls])
        return None

    def _without_call(self, reply: Reply, step: int, last: bool) -> Ending | None:
        self._silent += 1
        if last and reply.text and self.toolbox.results.known:
            final = best_result(self.toolbox.results, self.shape)
            told = "the answer came as text, not through the tool that ends a run"
            return Ending(Proposal(text=reply.text, results=final, confidence=0), "", (told,), step)
        if self._silent > 1 and not self._called:
            model = self.client.model.choice.text
            raise UserError(f"the model '{model}' does not call tools: choose one that can")
        self._idle += 1
        self._say(CALL_A_TOOL)
        return None

    async def _carry_out(self, call: Call, number: int) -> Outcome:
        if number >= MOST_CALLS:
            outcome = Outcome(f"Not run: at most {MOST_CALLS} calls in one step. Call it again.", True)
        else:
            outcome = await self.toolbox.run(call)
        self.client.recorder.step(
            "tool",
            {
                "tool": call.name,
                "arguments": call.arguments,
                "failed": outcome.failed,
                "text": outcome.text,
                **outcome.kept,
            },
        )
        return outcome

    async def _answered(self, call: Call, step: int, last: bool) -> Ending | str:
        """The ending, or what is to be mended first."""
        if call.arguments is None:
            return "The arguments are not a JSON object: send them again, shorter."
        try:
            proposal = Proposal.model_validate(call.arguments)
        except ValidationError as error:
            return one_line("; ".join(f"{each['loc']}: {each['msg']}" for each in error.errors()[:3]), 300)
        proposal, objections = self._narrowed(proposal)
        objections = objections or await self._against(proposal, last)
        unusable = not proposal.text and not proposal.results
        if (unusable or objections) and not last and self._objections < MOST_OBJECTIONS:
            self._objections += 1
            known = [name.lower() for name in proposal.results if name.lower() in self.toolbox.results.known]
            if not unusable and (known or not proposal.results):
                kept = proposal.model_copy(update={"results": known})
                self._set_aside = Ending(kept, "", tuple(objections), step)
            self.client.recorder.step("objection", {"proposal": proposal.model_dump(), "objections": objections})
            return "\n".join(["Not taken yet:", *(f"- {objection}" for objection in objections), MEND])
        if unusable:
            return Ending(None, "the model gave an empty answer", tuple(objections), step)
        known = [name.lower() for name in proposal.results if name.lower() in self.toolbox.results.known]
        return Ending(proposal.model_copy(update={"results": known}), "", tuple(objections), step)

    def _narrowed(self, proposal: Proposal) -> tuple[Proposal, list[str]]:
        """The proposal with its final result cut to the columns, order and rows that it names, or why it cannot be."""
        if not (proposal.columns or proposal.order or proposal.limit) or not proposal.results:
            return proposal, []
        *before, final = proposal.results
        try:
            cut = self.toolbox.statements.cut(final, proposal.columns, proposal.order, proposal.limit)
        except CosetError as error:
            return proposal, [one_line(str(error))]
        update = {"results": [*before, cut.name], "columns": [], "order": [], "limit": None}
        return proposal.model_copy(update=update), []

    async def _against(self, proposal: Proposal, last: bool) -> list[str]:
        results = self.toolbox.results
        if not proposal.text and not proposal.results:
            return ["give the answer as text, or name the result whose rows are the answer"]
        if proposal.refuses:
            return []
        if not proposal.results and results.known:
            return [f"name the results that the answer comes from: {', '.join(results.known)}"]
        try:
            named = [results.find(name) for name in proposal.results]
        except CosetError as error:
            return [one_line(str(error))]
        # A shape or a check is objected to once: then the model has seen it and stands by its answer.
        objections = [] if self._objected else self._wrong(proposal, named)
        self._objected = self._objected or bool(objections)
        if objections or last or self.confirm is None or self._confirmed:
            return objections
        self._confirmed = True
        return list(await self.confirm(proposal))

    def _wrong(self, proposal: Proposal, named: Sequence[NamedResult]) -> list[str]:
        if self.verify is not None:
            return list(self.verify(proposal))
        final = named[-1].result if named else None
        wrong = misfit(self.shape, final.table.num_rows) if final is not None else None
        return [f"{wrong}: select just that, or say in the assumptions why it is right"] if wrong else []

    def _say(self, text: str) -> None:
        """Words of ours, in the request that is to be sent next."""
        from pydantic_ai.messages import ModelRequest, UserPromptPart

        last = self.messages[-1]
        if isinstance(last, ModelRequest):
            self.messages[-1] = ModelRequest(
                parts=[*last.parts, UserPromptPart(text)], instructions=last.instructions, timestamp=last.timestamp
            )
        else:
            self.messages.append(ModelRequest(parts=[UserPromptPart(text)]))

    def _return(self, outcomes: Sequence[tuple[Call, Outcome]]) -> None:
        from pydantic_ai.messages import ModelRequest, ToolReturnPart

        parts: list[ModelRequestPart] = [
            ToolReturnPart(
                tool_name=call.name, content=outcome.text, tool_call_id=call.identifier,
                outcome="failed" if outcome.failed else "success",
            )
            for call, outcome in outcomes
        ]  # fmt: skip
        self.messages.append(ModelRequest(parts=parts))
