"""Signals: single reasons for or against "this object plays this identity", each with its labeler and words.

In: labelers make them. Out: the label model weighs them, the view and `coset show` print them. An abstention is no
signal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from coset.identities.inventory import Coordinate, Inventory
from coset.identities.lexicon import Lexicon
from coset.readings.observed import ObservedColumn, ObservedEnvironment, ObservedTable


@dataclass(frozen=True)
class Signal:
    """One labeler's word on one object: the truth is among these identities (support), or is none of them
    (opposition).
    """

    labeler: str
    coordinate: Coordinate
    identities: tuple[int, ...]
    supports: bool
    reason: str


@dataclass(frozen=True)
class Look:
    """An object with its surroundings, as a labeler sees it. `column` is None for the table itself."""

    inventory: Inventory
    lexicon: Lexicon
    environment: ObservedEnvironment
    table: ObservedTable
    column: ObservedColumn | None
    position: int

    def attributes(self, *ids: str) -> tuple[int, ...]:
        return tuple(self.inventory.position("attribute", identity) for identity in ids)


@dataclass(frozen=True)
class Labeler:
    """A small named function with one line on what it looks at."""

    name: str
    meaning: str
    look: Callable[[Look], Iterator[Signal]]
