"""The pieces of a question: some words, and what they may mean.

In: nothing. Out: `Chunk`, `StoredValue`. Which of several meanings holds is not decided here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from coset.answering.offline.lexicon import Operator
from coset.answering.offline.naming import Named
from coset.routing.anchors.dates import DateRange

Kind = Literal["operator", "table", "column", "source", "value", "number", "date", "hint"]
"""A hint is a word of the same stem as a name (`opened`, of `opening_year`): it must fit what was understood."""


@dataclass(frozen=True)
class StoredValue:
    """A value as it is stored, and the column that holds it."""

    column: str
    value: str


@dataclass(frozen=True)
class Chunk:
    """Some words of the question and what they may mean."""

    kind: Kind
    text: str
    operator: Operator | None = None
    named: tuple[Named, ...] = ()
    values: tuple[StoredValue, ...] = ()
    number: float | None = None
    dates: DateRange | None = None
    quoted: bool = False
    code: bool = False
    tables: tuple[Named, ...] = ()
    """Of a hint, the tables whose names it resembles; `named` are the columns."""
    optional: bool = False
    """A hint that may as well say nothing."""
    event: bool = False
    """A hint that something happened once: it speaks of the one date that there is."""
    respelt: bool = False
    """Whether a word of it was misspelt in the question."""

    def is_operator(self, *operators: str) -> bool:
        return self.kind == "operator" and self.operator in operators
