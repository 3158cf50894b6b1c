"""The parts of a question: what is asked for, what restricts it, what groups and orders it, still in its words.

In: nothing. Out: the types that `placing` fills and `resolve` reads. Which table or column a name means is not decided
here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from coset.answering.offline.chunks import Chunk
from coset.answering.offline.plan import Comparison, Function


@dataclass
class Restriction:
    """A condition in the question's words: on a named column, or on whichever column holds the value."""

    values: list[Chunk] = field(default_factory=list)
    column: Chunk | None = None
    comparison: Comparison = "="
    negated: bool = False
    both: bool = False
    in_part: bool = False
    either: bool = False
    """Whether it is joined to the one before by `or`."""
    place: int = 0
    near: Chunk | None = None
    """The table that was named last before it."""
    against: Function | None = None
    """What it is compared with: not a number, but the average (or the like) of the column itself."""


@dataclass
class Link:
    """Partners in another table: some, none, or so many."""

    table: Chunk
    negated: bool = False
    comparison: Comparison | None = None
    number: int = 0
    place: int = 0


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
    several: bool = False
    """Whether what is the first of an order was asked for in the plural: then all that share the first place are."""
    share: bool = False
    percent: bool = False
    sources: list[tuple[int, Chunk]] = field(default_factory=list)
    """Sources with their place, to be told which table they belong to."""
    both_nouns: Chunk | None = None
    everything: bool = False
    contrast: Comparison | None = None
    """Two groups are compared: the first one, as it was said, is asked to have more (or less)."""
    contrasted_from: int | None = None
    """How many restrictions were said before `than`: what follows is the second group."""
    some: list[Chunk] = field(default_factory=list)
    """Columns of which only is said that there are some: `colleges that have authors with ...`."""
    distinct: bool = False
    hints: list[Chunk] = field(default_factory=list)
    owners: dict[int, Chunk] = field(default_factory=dict)
    """The table of which a column was said to be, by the identity of the column's chunk."""
    places: dict[int, int] = field(default_factory=dict)
    """Where each noun stood, by the identity of its chunk."""
