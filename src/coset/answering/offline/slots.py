"""The parts of a question: what is asked for, what restricts it, what groups and orders it, still in its words.

In: nothing. Out: the types that `placing` fills and `resolve` reads. Which table or column a name means is not decided
here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from coset.answering.offline.plan import Comparison, Function
from coset.answering.offline.reading import Chunk


@dataclass
class Restriction:
    """A condition in the question's words: on a named column, or on whichever column holds the value."""

    values: list[Chunk] = field(default_factory=list)
    column: Chunk | None = None
    comparison: Comparison = "="
    negated: bool = False
    both: bool = False
    in_part: bool = False


@dataclass
class Link:
    """Partners in another table: some, none, or so many."""

    table: Chunk
    negated: bool = False
    comparison: Comparison | None = None
    number: int = 0


@dataclass
class Asked:
    """Something asked for: a column, a table's entities, a count or another aggregate."""

    noun: Chunk
    function: Function | None = None
    distinct: bool = False


@dataclass
class Slots:
    asked: list[Asked] = field(default_factory=list)
    context: list[Chunk] = field(default_factory=list)
    """Tables that only say whose columns are meant."""
    restrictions: list[Restriction] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    each: list[Chunk] = field(default_factory=list)
    order: Asked | None = None
    order_by_links: bool = False
    descending: bool = False
    ordered: bool = False
    limit: int | None = None
    share: bool = False
    sources: list[tuple[int, Chunk]] = field(default_factory=list)
    """Sources with their place, to be told which table they belong to."""
    both_nouns: Chunk | None = None
    distinct: bool = False
    places: dict[int, int] = field(default_factory=dict)
    """Where each noun stood, by the identity of its chunk."""
