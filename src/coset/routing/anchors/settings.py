"""How much the value index holds, and how far a question's search at the sources may go."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ValueIndexSettings:
    """Bounds of the value index. What is not held because of one is marked so, and searched at its source."""

    most_values: int = 10_000
    """A column of more distinct values is searched at its source on demand."""
    most_in_all: int = 3_000_000
    """With very many columns the bound of each goes down to its share of so many, but not below `fewest_values`."""
    fewest_values: int = 200
    longest_value: int = 120
    """A longer value is not held: nobody writes it into a question whole."""
    longest_mean: float = 80.0
    """A column whose values are longer on average is prose."""
    most_codes: int = 2_000
    """A pair of columns with more values is no dictionary of codes."""
    table_seconds: float = 30.0


@dataclass(frozen=True)
class SearchSettings:
    """Bounds of one question's search at the sources."""

    most_anchors: int = 40
    most_columns: int = 24
    """So many columns are asked, those that fit the question best first."""
    most_phrases: int = 12
    seconds: float = 3.0
    text_seconds: float = 10.0
    """For the long texts that names are counted in. Rows and columns bound that work first, so that a busy machine does
    not change what is found."""
    personal: bool = True
    """Whether columns of personal data may be asked for what the question itself says. Nothing of them is kept."""
