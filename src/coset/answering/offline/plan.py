"""A plan: what a question comes to, before it is SQL. Every part names known objects; nothing of it is text to paste.

In: nothing. Out: frozen types that the grammar fills and `compose` turns into one statement.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from coset.routing.anchors.dates import DateRange

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
