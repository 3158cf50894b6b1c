"""A facet before it is measured, and the few shapes of SQL that every kind of facet is written in.

In: a quoted column, patterns in RE2's syntax. Out: DuckDB expressions that give NULL, never an error, where they find
nothing. Nothing here knows what is looked for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from coset.sql_text import literal

Kind = Literal[
    "date", "number", "amount", "identifier", "place", "person", "url", "email", "phone", "key_value", "slot", "list",
    "other",
]  # fmt: skip


@dataclass(frozen=True)
class Candidate:
    """What might be read; `raw` gives the piece of text that was read, which is how two readings of it are told."""

    name: str
    kind: Kind
    expression: str
    type: str
    description: str
    weight: float
    """How much this kind of reading says beside another of the same text."""
    raw: str
    varied: bool = False
    """True where a reading that nearly always gives the same value is no reading."""


def escaped(text: str) -> str:
    """A piece of text as a pattern; blanks match any blanks."""
    return r"\s+".join(re.escape(word) for word in text.split())


def extract(column: str, pattern: str, group: int = 1) -> str:
    """The group of the first match, NULL where nothing matches."""
    return f"nullif(regexp_extract({column}, {literal(pattern)}, {group}), '')"


def trimmed(expression: str) -> str:
    return f"nullif(trim({expression}), '')"


def as_number(text: str, type: str = "DOUBLE", thousands: str = ",") -> str:
    """A number from text such as "1,234.50"."""
    return f"try_cast(replace({text}, {literal(thousands)}, '') AS {type})"


def first_of(expressions: Sequence[str]) -> str:
    """The first that is not NULL."""
    return expressions[0] if len(expressions) == 1 else f"coalesce({', '.join(expressions)})"
