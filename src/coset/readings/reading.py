"""A reading: what a table, column or nested path is, in plain words, who says so, and how sure that is.

Several readers may read the same object; all their readings are kept, and the best is shown. A person's wins.
"""

from __future__ import annotations

from collections.abc import Iterable

from coset.state.readings import READERS, Reader, Reading

__all__ = ["READERS", "Reader", "Reading", "best_readings", "rank"]


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
