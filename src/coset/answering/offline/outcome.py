"""What the offline reasoner hands back: an answer with everything behind it, or why it gives none.

In: nothing. Out: `Answered`, `Declined`, and `NotSure`, which carries a reason through the planner.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from coset.answering.checks import CheckResult, PinnedShape
from coset.errors import CosetError
from coset.routing.view import EvidenceView


@dataclass(frozen=True)
class Answered:
    """Rows as stored, the one statement that gives them, and how the question was read."""

    question: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    truncated: bool
    sql: str
    shape: PinnedShape
    reading: tuple[str, ...]
    """Each part of the question with what it was taken for, in words."""
    steps: tuple[str, ...]
    """What was done, one step after the other, in words."""
    checks: tuple[CheckResult, ...]
    view: EvidenceView
    confidence: float
    """How often answers that were read so are right, as counted on databases with known answers."""
    doubts: tuple[str, ...] = ()
    """What made it less than certain, by name; `certainty.in_words` says it in words."""


@dataclass(frozen=True)
class Declined:
    """Why there is no answer, in one sentence, with the view for whoever answers instead."""

    question: str
    reason: str
    view: EvidenceView
    sql: str = ""
    """The statement that was not trusted, where there was one."""
    checks: tuple[CheckResult, ...] = ()
    confidence: float | None = None
    """How sure the answer would have been, where it was only not sure enough."""


class NotSure(CosetError):
    """The question cannot be read with certainty; the text says which part of it."""
