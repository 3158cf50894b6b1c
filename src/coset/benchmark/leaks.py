"""Whether a prompt held what only a judge may know.

In: the texts that the models were sent, apart by where they came from, and the ground truth and validator of the
question. Out: leaks and mentions. An agent that computes the right answer sees it in its own results: that is no leak.
A leak is the ground truth's whole text (several values) in what was given before anything was computed, or a line of
the validator's code anywhere. A single value of the ground truth in the given evidence may simply be a value of the
data: it is a mention, for a person to look at.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

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
class Kept:
    """What only the judge may know, in forms that can be looked for."""

    whole: str
    table: str
    """The same, where it is several lines of several fields: no result is written like that."""
    values: tuple[str, ...]
    code: tuple[str, ...]


def kept_from(ground_truth: Path | None, validator: Path | None, question: str) -> Kept:
    """What to look for. Values that stand in the question itself are no secret."""
    truth = _read(ground_truth)
    asked = _plain(question)
    cells = [cell.strip().strip("\"'") for line in truth.splitlines() for cell in line.split(",")]
    values = [_plain(cell) for cell in cells if len(cell) >= SHORTEST_VALUE]
    several = len([cell for cell in cells if cell]) > 1
    whole = _plain(truth)
    whole = whole if several and len(whole) >= SHORTEST_WHOLE and whole not in asked else ""
    rows = [line for line in truth.splitlines() if line.strip()]
    return Kept(
        whole,
        whole if len(rows) > 1 and all("," in row for row in rows) else "",
        tuple(value for value in dict.fromkeys(values) if value not in asked),
        tuple(dict.fromkeys(line for line in map(_plain, _read(validator).splitlines()) if len(line) >= SHORTEST_CODE)),
    )


def leaks_in(prompts: Sequence[Prompt], kept: Kept) -> tuple[tuple[str, ...], tuple[str, ...]]:
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
