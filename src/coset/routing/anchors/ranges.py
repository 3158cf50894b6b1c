"""Columns of numbers and times with their extremes: which of them hold a number or a span that is asked for.

In: for each object its least and greatest number, or its first and last day. Out: the objects whose range holds a
number, or overlaps a span of days. Arrays only; what a number is asked for is not known here.
"""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from coset.routing.anchors.dates import DateRange
from coset.routing.anchors.hashed_texts import Rows

Numbers = NDArray[np.float64]


@dataclass
class RangeList:
    """Ranges as they are collected: (object, low, high); days are ordinals."""

    numbers: list[tuple[int, float, float]] = field(default_factory=list)
    keys: set[int] = field(default_factory=set)
    """Objects whose numbers are ids: whole, and different in every row."""
    days: list[tuple[int, float, float]] = field(default_factory=list)
    unknown_days: list[int] = field(default_factory=list)
    """Objects that hold times in a form whose extremes are not known."""
    years: set[int] = field(default_factory=set)


class Ranges:
    def __init__(self, found: RangeList) -> None:
        self.number_objects, self._low, self._high = _arrays(found.numbers)
        self.keys, self.years = frozenset(found.keys), frozenset(found.years)
        self._is_key = np.isin(self.number_objects, sorted(found.keys))
        unknown = [(number, -np.inf, np.inf) for number in found.unknown_days]
        self.day_objects, self._first, self._last = _arrays([*found.days, *unknown])
        self._number_place = {int(number): place for place, number in enumerate(self.number_objects)}
        self._day_place = {int(number): place for place, number in enumerate(self.day_objects)}

    def keys_with(self, value: float) -> Rows:
        """The id columns whose range holds the number."""
        return self.number_objects[self._is_key & (self._low <= value) & (value <= self._high)]

    def holds_number(self, number: int, value: float) -> bool:
        """Whether an object holds numbers and its range holds this one."""
        place = self._number_place.get(number)
        return place is not None and bool(self._low[place] <= value <= self._high[place])

    def overlapping(self, dates: DateRange) -> Rows:
        """The objects whose times overlap the span; those of unknown extremes are the last."""
        first = _ordinal(dates.first, -np.inf)
        last = _ordinal(dates.last, np.inf)
        return self.day_objects[(self._first <= last) & (self._last >= first)]

    def span_of(self, number: int) -> str:
        """The extremes of an object that holds times, in words; empty when they are not known."""
        place = self._day_place[number]
        low, high = float(self._first[place]), float(self._last[place])
        if not math.isfinite(low):
            return ""
        days = [datetime.date.fromordinal(int(day)) for day in (low, high)]
        return f"{days[0].year} to {days[1].year}" if number in self.years else f"{days[0]} to {days[1]}"


def _ordinal(day: datetime.date | None, otherwise: float) -> float:
    return otherwise if day is None else float(day.toordinal())


def _arrays(found: list[tuple[int, float, float]]) -> tuple[Rows, Numbers, Numbers]:
    objects = np.asarray([number for number, _, _ in found], dtype=np.int64)
    return objects, np.asarray([low for _, low, _ in found], float), np.asarray([high for _, _, high in found], float)
