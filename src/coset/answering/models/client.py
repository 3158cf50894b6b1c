"""Requests to a model: retried when that may help, counted, limited, recorded; and tool schemas for them.

In: the messages so far and the tools on offer. Out: the model's response, as tool calls or text, and a ledger of tokens
and cost (US dollars, None where no price is known). Knows neither what the tools do nor what the messages say.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from coset.answering.models.choices import OpenModel, Refused, cost_of, is_passing, plain, without_secrets
from coset.answering.quoting import one_line
from coset.answering.recorder import Recorder, RequestListener
from coset.errors import UserError
from coset.tracing import span, tells_content

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse


@dataclass(frozen=True)
class StepUsage:
    """One answered request."""

    step: str
    model: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    """How many of the input tokens the provider read from its prompt cache."""
    cost: float | None
    seconds: float
    attempts: int


@dataclass(frozen=True)
class Limits:
    """What one question may use. The tokens are input and output of all requests together; the requests those of
    arbiter, agent and whoever reads texts."""

    steps: int = 12
    tokens: int | None = 200_000
    cost: float | None = None
    request_seconds: float = 180.0
    requests: int | None = None

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise UserError(f"the limit of {self.steps} steps leaves none to answer in: allow at least 1")
        if self.requests is not None and self.requests < 1:
            raise UserError(f"the limit of {self.requests} requests leaves none to answer in: allow at least 1")
        if self.request_seconds <= 0:
            raise UserError("the time for a request to the model must be more than 0 seconds")


@dataclass
class Ledger:
    """Every answered request of one question, in order."""

    limits: Limits = field(default_factory=Limits)
    steps: list[StepUsage] = field(default_factory=list)

    def add(self, usage: StepUsage) -> None:
        self.steps.append(usage)

    @property
    def tokens(self) -> int:
        return sum(step.input_tokens + step.output_tokens for step in self.steps)

    @property
    def cost(self) -> float | None:
        """The cost of all steps, or None as soon as one of them has no known price."""
        costs = [step.cost for step in self.steps]
        return None if any(cost is None for cost in costs) else sum(cost for cost in costs if cost is not None)

    @property
    def is_last_request(self) -> bool:
        """Whether the next request is the last that is allowed."""
        return self.limits.requests is not None and len(self.steps) + 1 >= self.limits.requests

    def spent(self) -> str | None:
        """Which limit is used up, in words, or None."""
        most = self.limits.requests
        if most is not None and len(self.steps) >= most:
            return f"the limit of {most} request{'' if most == 1 else 's'} was reached"
        if self.limits.tokens is not None and self.tokens >= self.limits.tokens:
            return f"the limit of {self.limits.tokens:,} tokens is used up"
        cost = self.cost
        if self.limits.cost is not None and cost is not None and cost >= self.limits.cost:
            return f"the limit of ${self.limits.cost:g} is used up"
        return None

    def room_for_one(self) -> bool:
        """Whether, after one more request like the last, there would still be room: if not, it should be the last."""
        if self.is_last_request:
            return False
        if not self.steps:
            return True
        last = self.steps[-1]
        next_tokens = 2 * (last.input_tokens + last.output_tokens)
        if self.limits.tokens is not None and self.tokens + next_tokens > self.limits.tokens:
            return False
        cost = self.cost
        if self.limits.cost is None or cost is None or last.cost is None:
            return True
        return cost + 2 * last.cost <= self.limits.cost


_LEFT_OUT = {"title", "default", "additionalProperties", "maxItems", "minItems"}


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema()
    result: dict[str, Any] = _slim(schema, schema.get("$defs", {}), named=False)
    result.pop("description", None)
    return result


def _slim(node: Any, definitions: dict[str, Any], *, named: bool) -> Any:
    """`named` is True inside `properties`, where a key is a name of ours and not a word of the schema language."""
    if isinstance(node, list):
        return [_slim(item, definitions, named=False) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target = dict(definitions[node["$ref"].rsplit("/", 1)[-1]])
        target.pop("description", None)
        return _slim(
            {**target, **{key: value for key, value in node.items() if key != "$ref"}}, definitions, named=False
        )
    return {
        key: _slim(value, definitions, named=key == "properties" and not named)
        for key, value in node.items()
        if named or (key not in _LEFT_OUT and key != "$defs")
    }


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
class ModelClient:
    """The requests of one conversation with one model."""

    model: OpenModel
    ledger: Ledger
    recorder: Recorder
    retries: Retries = field(default_factory=Retries)

    async def ask(
        self, step: str, messages: Sequence[ModelMessage], tools: Sequence[Tool], only: str | None = None
    ) -> Reply:
        """The next response. `only` names the one tool that may be called now. Raises a `CosetError` in plain words."""
        from pydantic_ai.exceptions import AgentRunError
        from pydantic_ai.exceptions import UserError as LibraryError

        started = time.monotonic()
        attempt = 1
        if isinstance(self.recorder, RequestListener):
            self.recorder.sent(messages)
        while True:
            try:
                response = await self._traced(step, messages, tools, only)
                break
            except (AgentRunError, LibraryError) as error:
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

    async def _traced(
        self, step: str, messages: Sequence[ModelMessage], tools: Sequence[Tool], only: str | None
    ) -> ModelResponse:
        """One request, as a span by the conventions for generative AI."""
        choice = self.model.choice
        with span(
            f"chat {choice.name}".strip(), "client", gen_ai__operation__name="chat",
            gen_ai__provider__name=choice.provider, gen_ai__request__model=choice.name or None, coset__step=step,
            gen_ai__input__messages=_messages_json(messages) if tells_content() else None,
        ) as told:  # fmt: skip
            response = await self._request(messages, tools, only)
            told.add(
                gen_ai__response__model=response.model_name,
                gen_ai__response__finish_reasons=[str(response.finish_reason)] if response.finish_reason else None,
                gen_ai__usage__input_tokens=response.usage.input_tokens,
                gen_ai__usage__output_tokens=response.usage.output_tokens,
                gen_ai__usage__cache_read__input_tokens=response.usage.cache_read_tokens,
                gen_ai__output__messages=_messages_json([response]) if tells_content() else None,
            )
            return response

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


def _messages_json(messages: Sequence[ModelMessage]) -> str:
    from pydantic_ai.messages import ModelMessagesTypeAdapter

    return without_secrets(ModelMessagesTypeAdapter.dump_json(list(messages)).decode())


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
        raise Refused(f"the model '{model}' declined to answer{quoted}; ask differently or choose another model")
    return Reply(tuple(calls), text, response.finish_reason == "length", response)
