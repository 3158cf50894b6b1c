"""What a question asks for, before any choice is made: the demand over identities, and the anchors.

These are the two parts that a view depends on, beside the environment and the budget. Demand is made without any
dataset; anchors are the question's own names and values found in one. Nothing else of the question reaches the view.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
