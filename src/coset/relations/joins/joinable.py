"""What relations are looked for in: tables whose rows a DuckDB connection can read, and their columns that may join.

In: nothing. Out: the types that the steps of `find_relations` hand to each other. A family of tables of one shape is
one table here; the names of its members are a column of their own, which other columns may hold.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from coset.evidence.reading import JoinableTable

__all__ = ["DIRT", "JoinColumn", "JoinableTable", "ValueKind"]

DIRT = ("blanks", "stray", "separators", "capitals", "zeros")
"""What some value of a column may have: blanks or other signs at its ends, signs inside, capitals, leading zeros."""
ValueKind = Literal["number", "text", "date"]


@dataclass(frozen=True)
class JoinColumn:
    """A column (or the names of a family's members) that may join others, with what was counted of it.

    `number` and `table` are places among the columns and tables at hand, in the order of their references. `distinct`
    counts the values as they stand; `keys` counts them without case, blanks and signs.
    """

    number: int
    table: int
    position: int
    name: str
    type: str
    is_names: bool
    kind: ValueKind
    rows: int
    known: int
    distinct: int
    keys: int
    minimum: int | None = None
    maximum: int | None = None
    dirt: frozenset[str] = frozenset()
    """Which of `DIRT` any of its values has."""
    elements: bool = False
    """Whether the values are the elements of a list."""
    padded: bool = False
    """Whether some whole numbers among its text begin with a zero."""
    part: int = 1
    """Of very many values one in so many is kept, chosen by hash."""
    values: int = 0
    """A digest of the values as they stand: equal only for columns with the same values; 0 when not known."""
    members: tuple[str, ...] = field(default=(), repr=False)
    """The names of a family's members, when this is the column of those."""

    @property
    def uniqueness(self) -> float:
        return self.keys / self.known if self.known else 0.0
