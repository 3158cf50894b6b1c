"""What is checked, and what a check says: the types of both sides.

In: nothing. Out: a `Proposal` (an answer's value, the SQL behind it, the shape that was pinned) and `CheckResult`s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from coset.session.result import Result

Outcome = Literal["passed", "doubt", "failed", "not applicable"]
"""passed: looked at and fine; doubt: may be wrong, worth a second computation; failed: is wrong, or cannot be told."""
Form = Literal["value", "row", "list", "table", "text"]


@dataclass(frozen=True)
class PinnedShape:
    """What the answer was to look like, decided before it was computed."""

    form: Form = "table"
    columns: tuple[str, ...] = ()
    rows: int | None = None
    """How many rows were asked for (`the five largest`), where the question says so."""
    grain: str = ""
    """One row per what, in words or as names of the result's columns."""
    keys: tuple[str, ...] = ()
    """The result's columns, or the references of columns, that tell its rows apart; guessed from `grain` when empty."""
    unit: str = ""


@dataclass(frozen=True)
class Proposal:
    """An answer that somebody is about to give."""

    value: Any
    """A text, a number, a list of values, or a list of rows; None or empty says that there is nothing."""
    sql: tuple[str, ...]
    """The statements behind it, each standing alone, the one that gives the answer last."""
    shape: PinnedShape | None = None
    result: Result | None = None
    """What the last statement gave; it is run when this is None."""
    computed: tuple[Any, ...] = ()
    """Values worked out of results by the calculator."""


@dataclass(frozen=True)
class CheckResult:
    """What one check says, in one sentence, with the references of what it speaks of."""

    name: str
    outcome: Outcome
    detail: str
    references: tuple[str, ...] = ()
