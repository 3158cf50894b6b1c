"""What a question asks for, before any choice is made: the demand over identities, the anchors, the scores.

These are what a view depends on, beside the environment and the budget. Demand is made without any dataset; anchors are
the question's own names and values found in one; `Ranked` is what the ranking made of both, with the phrases that
nothing was found for. Nothing else of the question reaches the view.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from coset.identities.inventory import Coordinate

Array = NDArray[np.float64]
AnchorKind = Literal["name", "value", "code", "number", "date", "document"]
AnchorMatch = Literal["exact", "normalised", "fuzzy", "abbreviation", "dictionary", "range", "searched"]


@dataclass(frozen=True)
class Demand:
    """gamma(q): the question as activations over identities, per coordinate, with the beta(q) it came from."""

    requirements: Array
    identities: dict[Coordinate, Array]


@dataclass(frozen=True, order=True)
class Anchor:
    """A phrase of the question and what it names in the environment."""

    phrase: str
    reference: str
    """The table, column, path or facet that has the name or holds the value."""
    kind: AnchorKind
    match: AnchorMatch
    score: float
    """1 for an exact match, less for a looser one."""
    value: str | None = None
    """The stored value as it is stored, for a value or code; the range as text for a number or date."""
    note: str = ""
    """One short sentence where the match needs a reason: `BRCA: "Breast Invasive Carcinoma" (codes.csv)`."""
    variants: tuple[str, ...] = ()
    """Other stored values that are the same but for their writing, or a misspelling or abbreviation of it."""


class Ranked(Protocol):
    """Calibrated relevance, 0 to 1, by reference; only the strongest objects are present."""

    @property
    def tables(self) -> Mapping[str, float]: ...
    @property
    def columns(self) -> Mapping[str, float]: ...
    @property
    def order(self) -> Sequence[str]:
        """Tables, the likeliest first, beyond those that have a score; empty where scores alone say it."""

    @property
    def passages(self) -> Sequence[str]:
        """Sections of documents that the question found, the best first."""

    @property
    def nearness(self) -> float | None:
        """How near the question and its words are to any object, beside no other; None where that is not known."""

    @property
    def unfound(self) -> tuple[str, ...]:
        """Phrases of the question that nothing here speaks of."""

    @property
    def unread(self) -> tuple[str, ...]:
        """Columns of long texts that were not read for the question's names."""
