"""One request to a model, with everything around it: tried again when that may help, counted, limited, recorded.

In: the messages so far and the tools on offer. Out: the model's response, as tool calls or text. Knows neither what
the tools do nor what the messages say. A response with neither call nor text comes back empty: what that means is for
the caller to decide.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from coset.answering.failures import Refused, is_passing, plain, without_secrets
from coset.answering.models import OpenModel, cost_of
from coset.answering.quoting import one_line
from coset.answering.recorder import HearsRequests, Recorder
from coset.answering.usage import Ledger, StepUsage

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse


@dataclass(frozen=True)
class Tool:
    """What a model is told of a tool."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True)
class Call:
    """A tool call as the model made it; `arguments` is None when they are not a JSON object."""

    name: str
    arguments: dict[str, Any] | None
    identifier: str


@dataclass(frozen=True)
class Reply:
    """What a model answered."""

    calls: tuple[Call, ...]
    text: str
    cut_off: bool
    """True when the model reached its own limit of output."""
    response: ModelResponse


@dataclass(frozen=True)
class Retries:
    """How often a request is tried, and how long is waited between: doubling, unless the provider says how long."""

    attempts: int = 5
    first_seconds: float = 1.0
    longest_seconds: float = 60.0

    def wait(self, attempt: int, asked_for: float | None) -> float | None:
        """Seconds before the next attempt; None when the provider asks for more than anyone would wait."""
        if asked_for is not None:
            return asked_for if asked_for <= self.longest_seconds else None
        return min(self.first_seconds * float(2 ** (attempt - 1)), self.longest_seconds)


@dataclass
class Exchange:
    """The requests of one conversation with one model."""

    model: OpenModel
    ledger: Ledger
    recorder: Recorder
    retries: Retries = field(default_factory=Retries)

    async def ask(
        self, step: str, messages: Sequence[ModelMessage], tools: Sequence[Tool], only: str | None = None
    ) -> Reply:
        """The next response. `only` names the one tool that may be called now. Raises a `CosetError` in plain words."""
        from pydantic_ai.exceptions import AgentRunError, UserError

        started = time.monotonic()
        attempt = 1
        if isinstance(self.recorder, HearsRequests):
            self.recorder.sent(messages)
        while True:
            try:
                response = await self._request(messages, tools, only)
                break
            except (AgentRunError, UserError) as error:
                wait = self.retries.wait(attempt, getattr(error, "retry_after", None))
                told = plain(error, self.model.choice.text, self.model.choice.key_name, attempt)
                if not is_passing(error) or attempt >= self.retries.attempts or wait is None:
                    self.recorder.step("failure", {"step": step, "attempt": attempt, "message": str(told)})
                    raise told from None
                self.recorder.step("retry", {"step": step, "attempt": attempt, "message": str(told), "wait": wait})
                await asyncio.sleep(wait)
                attempt += 1
        usage = self._count(step, response, time.monotonic() - started, attempt)
        self.recorder.step("model", asdict(usage))
        return _reply(response, self.model.choice.text)

    async def _request(
        self, messages: Sequence[ModelMessage], tools: Sequence[Tool], only: str | None
    ) -> ModelResponse:
        from pydantic_ai.direct import model_request
        from pydantic_ai.models import ModelRequestParameters
        from pydantic_ai.tools import ToolDefinition

        parameters = ModelRequestParameters(
            function_tools=[
                ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=tool.parameters)
                for tool in tools
            ],
            output_mode="tool" if tools else "text",
            allow_text_output=not tools,
        )
        settings: Any = {**self.model.settings, **({"tool_choice": [only]} if only else {})}
        return await model_request(
            self.model.model, messages, model_settings=settings, model_request_parameters=parameters
        )

    def _count(self, step: str, response: ModelResponse, seconds: float, attempts: int) -> StepUsage:
        usage = StepUsage(
            step=step,
            model=self.model.choice.text,
            input_tokens=response.usage.input_tokens,
            output_tokens=response.usage.output_tokens,
            cached_tokens=response.usage.cache_read_tokens,
            cost=cost_of(response, self.model.choice),
            seconds=round(seconds, 3),
            attempts=attempts,
        )
        self.ledger.add(usage)
        return usage


def _reply(response: ModelResponse, model: str) -> Reply:
    from pydantic_ai.messages import TextPart, ToolCallPart

    calls = []
    for part in response.parts:
        if isinstance(part, ToolCallPart):
            try:
                arguments: dict[str, Any] | None = part.args_as_dict(raise_if_invalid=True)
            except (ValueError, AssertionError):
                arguments = None
            calls.append(Call(part.tool_name, arguments, part.tool_call_id))
    text = "\n".join(part.content for part in response.parts if isinstance(part, TextPart)).strip()
    if response.finish_reason == "content_filter" and not calls:
        reason = (response.provider_details or {}).get("refusal") or text
        quoted = f": {one_line(without_secrets(str(reason)), 160)}" if reason else ""
        raise Refused(f"the model '{model}' declined to answer{quoted}; ask differently or choose another --model")
    return Reply(tuple(calls), text, response.finish_reason == "length", response)
