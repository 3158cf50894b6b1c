"""A plan, and what becomes of it: an answer, or why there is none.

In: nothing; these are the types. A `Plan` names known objects only; nothing of it is text to paste. `NotSure` carries a
reason through the parser; `Declined` and `OfflineAnswer` are what callers get.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from coset.answering.checks import CheckResult, PinnedShape
from coset.errors import CosetError
from coset.routing.anchors.dates import DateRange
from coset.routing.views.view import EvidenceView

Comparison = Literal["=", ">", ">=", "<", "<=", "between", "in", "like", "word"]
Function = Literal["count", "avg", "sum", "max", "min"]


@dataclass(frozen=True)
class Condition:
    """Rows whose column compares so; a list means any of them."""

    column: str
    comparison: Comparison
    values: tuple[str | float, ...] = ()
    dates: DateRange | None = None
    negated: bool = False
    against: Function | None = None
    """Compared with this aggregate of the column itself, over its whole table."""
    apart: bool = False
    """Whether another partner may meet it than the one that meets the other conditions."""


@dataclass(frozen=True)
class Linked:
    """Rows that have (or lack) partners in another table; with `least` or the like, so many of them."""

    table: str
    conditions: tuple[Condition, ...] = ()
    negated: bool = False
    comparison: Comparison | None = None
    number: int = 0


@dataclass(frozen=True)
class AnyOf:
    """Rows that meet at least one of these."""

    conditions: tuple[Condition, ...]


Filter = Condition | Linked | AnyOf


@dataclass(frozen=True)
class Output:
    """A column, or an aggregate over one; `count` without a column counts rows."""

    column: str | None
    function: Function | None = None
    distinct: bool = False


@dataclass(frozen=True)
class Plan:
    """`table` is what one row stands for before anything is grouped."""

    table: str
    outputs: tuple[Output, ...] = ()
    filters: tuple[Filter, ...] = ()
    part: tuple[Filter, ...] = ()
    """For a share: the conditions of the part, over rows that meet `filters`."""
    share: bool = False
    percent: bool = False
    groups: tuple[str, ...] = ()
    """Columns that are grouped by."""
    per: str | None = None
    """The table whose entities are grouped by."""
    order: Output | None = None
    descending: bool = False
    limit: int | None = None
    ties: bool = False
    """Whether all that share the last place are meant."""
    entities: bool = False
    """Whether the rows of `table` are counted or listed as real things: duplicates are then one."""
    distinct: bool = False
    repeated: tuple[Comparison, int] | None = None
    """How many rows a group must have."""
    both: tuple[Condition, ...] = ()
    """Conditions on one column that no single row can meet together: the outputs must have rows for each."""

    contrast: tuple[Condition, Comparison, Condition] | None = None
    """Two parts of the rows whose one output is compared."""
    without: tuple[Condition, ...] = ()
    """What is listed must have no row that meets these."""

    def having(self, *filters: Filter) -> Plan:
        return replace(self, filters=(*self.filters, *filters))


@dataclass(frozen=True)
class OfflineAnswer:
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
