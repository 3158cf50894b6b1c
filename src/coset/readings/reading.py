"""A reading: what a table, column or nested path is, in plain words, who says so, and how sure that is.

Several readers may read the same object; all their readings are kept, and the best is shown. A person's wins.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

Reader = Literal["person", "agent", "model", "comment", "document", "sql", "lexicon", "words", "abbreviations"]
READERS: tuple[Reader, ...] = get_args(Reader)
"""In the order in which they win where they are equally sure."""


@dataclass(frozen=True)
class Reading:
    """What one reader says of one object."""

    reference: str
    table_reference: str
    name: str
    """A short plain-English name: "billing document header"."""
    meaning: str = ""
    """What one row or value is, where the name does not say it all."""
    synonyms: tuple[str, ...] = ()
    reader: Reader = "words"
    confidence: float = 0.5
    source: str = ""
    """Where it is written or what it was made from: a section, a system of the lexicon, the pieces of the name."""

    @property
    def is_table(self) -> bool:
        return self.reference == self.table_reference


def best_readings(readings: Iterable[Reading]) -> dict[str, Reading]:
    """One reading an object: a person's, else the surest, else that of the reader who comes first."""
    best: dict[str, Reading] = {}
    for reading in readings:
        known = best.get(reading.reference)
        if known is None or rank(reading) < rank(known):
            best[reading.reference] = reading
    return best


def rank(reading: Reading) -> tuple[bool, float, int]:
    return reading.reader != "person", -reading.confidence, READERS.index(reading.reader)
