"""What one attempt did, step by step, and every text that a model was sent on the way.

In: what `ask` tells its recorder. Out: the steps without secrets, each also to whoever listens as soon as it is there,
and the prompts, apart by whether they are evidence that was given or something that was computed; and whether one of
them held what only a judge may know.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coset.answering.audit.store import Redact
from coset.answering.recorder import NullRecorder

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage


SHORTEST_CODE = 30
SHORTEST_WHOLE = 12
SHORTEST_VALUE = 6
_SPACES = re.compile(r"(?:\s|\\[nrt])+")
"""Line ends also as they are written inside quotes."""


@dataclass(frozen=True)
class Prompt:
    """A text that a model was sent. `given`: evidence or instructions; otherwise a result that its statements made."""

    text: str
    given: bool


@dataclass(frozen=True)
class GroundTruth:
    """What only the judge may know, in forms that can be looked for."""

    whole: str
    table: str
    """The same, where it is several lines of several fields: no result is written like that."""
    values: tuple[str, ...]
    code: tuple[str, ...]


def ground_truth_of(ground_truth: Path | None, validator: Path | None, question: str) -> GroundTruth:
    """What to look for. Values that stand in the question itself are no secret."""
    truth = _read(ground_truth)
    asked = _plain(question)
    cells = [cell.strip().strip("\"'") for line in truth.splitlines() for cell in line.split(",")]
    values = [_plain(cell) for cell in cells if len(cell) >= SHORTEST_VALUE]
    several = len([cell for cell in cells if cell]) > 1
    whole = _plain(truth)
    whole = whole if several and len(whole) >= SHORTEST_WHOLE and whole not in asked else ""
    rows = [line for line in truth.splitlines() if line.strip()]
    return GroundTruth(
        whole,
        whole if len(rows) > 1 and all("," in row for row in rows) else "",
        tuple(value for value in dict.fromkeys(values) if value not in asked),
        tuple(dict.fromkeys(line for line in map(_plain, _read(validator).splitlines()) if len(line) >= SHORTEST_CODE)),
    )


def leaks_in(prompts: Sequence[Prompt], kept: GroundTruth) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Leaks and mentions, in words."""
    given = " ".join(_plain(prompt.text) for prompt in prompts if prompt.given)
    everything = given + " " + " ".join(_plain(prompt.text) for prompt in prompts if not prompt.given)
    leaks = []
    if kept.whole and kept.whole in given:
        leaks.append("the ground truth's whole text was in the evidence")
    elif kept.table and kept.table in everything:
        leaks.append("the ground truth's whole text was in a prompt")
    if any(line in everything for line in kept.code):
        leaks.append("code of the validator was in a prompt")
    return tuple(leaks), tuple(value for value in kept.values if value in given)


def _plain(text: str) -> str:
    return _SPACES.sub(" ", text).strip().casefold()


def _read(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        return path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError:
        return ""


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
