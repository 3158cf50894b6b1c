"""What one attempt did, held in memory until it is over, then written as one file.

In: what `ask` tells its recorder. Out: the steps without secrets, the counts that the figures need, and the texts that
the models were sent. An attempt that is killed leaves no trace: it is asked again.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from coset.answering.audit.redaction import Redact
from coset.benchmark.leaks import Prompt
from coset.benchmark.tool_errors import kind_of

if TYPE_CHECKING:
    from coset.answering.audit.kept_result import KeptResult

LONGEST_TEXT = 20_000
GIVEN_TOOLS = {"recover"}
"""Tools whose results are evidence, not something that a statement computed."""


@dataclass
class TraceRecorder:
    redact: Redact
    steps: list[dict[str, Any]] = field(default_factory=list)
    prompts: list[Prompt] = field(default_factory=list)
    tool_calls: int = 0
    tool_errors: Counter[str] = field(default_factory=Counter)
    _started: float = field(default_factory=time.monotonic)
    _messages: str = ""

    def step(self, kind: str, data: Mapping[str, Any]) -> None:
        self.steps.append(
            {"kind": kind, "at": round(time.monotonic() - self._started, 3), **self.redact(_short(dict(data)))}
        )
        if kind in {"tool", "draft"}:
            self.tool_calls += 1
            if data.get("failed"):
                self.tool_errors[kind_of(data)] += 1
        if kind == "view":
            self.prompts.append(Prompt(str(data.get("text") or ""), True))
        elif kind == "tool":
            self.prompts.append(Prompt(str(data.get("text") or ""), data.get("tool") in GIVEN_TOOLS))

    def keep_messages(self, messages: bytes | str) -> None:
        # The newest holds all of the earlier ones.
        self._messages = messages if isinstance(messages, str) else messages.decode()

    def keep_result(self, result: KeptResult) -> None:
        return None

    def keep_table(self, name: str, table: Any) -> None:
        return None

    def all_prompts(self) -> list[Prompt]:
        """What was recorded by its place, and every text of the conversation besides."""
        try:
            content = json.loads(self._messages or "{}")
        except ValueError:
            content = {}
        sent = [message for message in content.get("messages") or [] if message.get("kind") == "request"]
        texts: list[str] = []
        for message in sent:
            texts += _texts({"instructions": message.get("instructions"), "parts": message.get("parts")})
        return [*self.prompts, *(Prompt(text, False) for text in texts)]


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for each in value.values() for text in _texts(each)]
    return [text for each in value for text in _texts(each)] if isinstance(value, list) else []


def _short(value: Any) -> Any:
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        return f"{value[:LONGEST_TEXT]}… ({len(value) - LONGEST_TEXT:,} letters more)"
    if isinstance(value, Mapping):
        return {str(key): _short(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_short(each) for each in value]
    return value
