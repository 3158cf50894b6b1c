"""What one attempt did, step by step, and every text that a model was sent on the way.

In: what `ask` tells its recorder. Out: the steps without secrets, each also to whoever listens as soon as it is there,
and the prompts, apart by whether they are evidence that was given or something that was computed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from coset.answering.audit.store import Redact
from coset.answering.recorder import NullRecorder
from coset.benchmark.leaks import Prompt

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

LONGEST_TEXT = 20_000
GIVEN_TOOLS = {"recover"}
"""Tools whose results are evidence, not something that a statement computed."""


@dataclass
class TraceRecorder(NullRecorder):
    """Keeps steps and prompts; of messages, results and tables nothing."""

    redact: Redact
    tell: Callable[[dict[str, Any]], None] | None = None
    steps: list[dict[str, Any]] = field(default_factory=list)
    _given: list[Prompt] = field(default_factory=list)
    _sent: dict[str, None] = field(default_factory=dict)
    """Each text once, although every request repeats its conversation."""
    _started: float = field(default_factory=time.monotonic)

    def step(self, kind: str, data: Mapping[str, Any]) -> None:
        at = round(time.monotonic() - self._started, 3)
        self._given += prompts_of([{"kind": kind, **data}])
        kept = {"kind": kind, "at": at, **self.redact(_short(dict(data)))}
        self.steps.append(kept)
        if self.tell is not None:
            self.tell(kept)

    def sent(self, messages: Sequence[ModelMessage]) -> None:
        """Whatever part of answering asks a model, and whatever for."""
        for message in messages:
            if message.kind == "request":
                self._sent.update(
                    dict.fromkeys(_texts([message.instructions, *(vars(part) for part in message.parts)]))
                )

    def all_prompts(self) -> list[Prompt]:
        """What was recorded by its place, and every text of every request besides."""
        return [*self._given, *(Prompt(text, False) for text in self._sent)]


def prompts_of(steps: Sequence[Mapping[str, Any]]) -> list[Prompt]:
    """The texts among steps that a model was shown."""
    return [
        Prompt(str(step.get("text") or ""), step["kind"] == "view" or step.get("tool") in GIVEN_TOOLS)
        for step in steps
        if step["kind"] in {"view", "tool"}
    ]


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for each in value.values() for text in _texts(each)]
    return [text for each in value for text in _texts(each)] if isinstance(value, list | tuple) else []


def _short(value: Any) -> Any:
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        return f"{value[:LONGEST_TEXT]}… ({len(value) - LONGEST_TEXT:,} letters more)"
    if isinstance(value, Mapping):
        return {str(key): _short(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_short(each) for each in value]
    return value
