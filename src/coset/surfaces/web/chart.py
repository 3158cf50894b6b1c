"""Whether the shape of a result invites a chart, and which.

In: columns and rows. Out: a `Chart` in the types of JSON, for `chart.js` to draw, or None. Labels and one to four
columns of numbers: bars, or lines where the labels are dates or go up; two columns of numbers: dots. Knows no colour.
"""

from __future__ import annotations

import datetime
import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

FEWEST, MOST_BARS, MOST_POINTS, MOST_SERIES = 2, 40, 2_000, 4
LONGEST_LABEL = 60
_MOMENT = re.compile(r"\d{4}(-\d{2}){0,2}(-?[Qq]\d)?$|\d{4}-\d{2}-\d{2}[ T]")
_KEY = re.compile(r"(^|_)(id|no|nr|key|code)$", re.IGNORECASE)


@dataclass(frozen=True)
class Chart:
    kind: Literal["bar", "line", "scatter"]
    labels: tuple[str, ...]
    """Of dots none: the first series has their places from left to right."""
    series: tuple[tuple[str, tuple[float | None, ...]], ...]

    def values(self) -> dict[str, Any]:
        return {"kind": self.kind, "labels": self.labels, "series": self.series}


def chart_of(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Chart | None:
    """The chart that a result invites; None where a table says it better."""
    if not FEWEST <= len(rows) <= MOST_POINTS or not 2 <= len(columns) <= MOST_SERIES + 2:
        return None
    values = [[row[place] for row in rows] for place in range(len(columns))]
    numeric = [place for place in range(len(columns)) if _is_measure(values[place])]
    others = [place for place in range(len(columns)) if place not in numeric]
    if len(others) > 1 or not numeric:
        return None
    if not others:
        return _of_numbers(columns, values, numeric)
    label, measures = others[0], [place for place in numeric if not _KEY.search(columns[place])][:MOST_SERIES]
    labels = tuple(_label(value) for value in values[label])
    if not measures or len(set(labels)) < len(labels):
        return None
    series = tuple((columns[place], _numbers(values[place])) for place in measures)
    if all(_is_moment(value) for value in values[label]) and _goes_up(labels):
        return Chart("line", labels, series)
    return Chart("bar", labels, series) if len(rows) <= MOST_BARS else None


def _of_numbers(columns: Sequence[str], values: Sequence[list[Any]], numeric: Sequence[int]) -> Chart | None:
    """Numbers alone: a line over a first column that goes up (years, days), otherwise dots of two columns."""
    first = [value for value in values[0] if value is not None]
    rest = [place for place in numeric if place][:MOST_SERIES]
    if len(first) == len(values[0]) and all(a < b for a, b in itertools.pairwise(first)):
        labels = tuple(_label(value) for value in first)
        return Chart("line", labels, tuple((columns[place], _numbers(values[place])) for place in rest))
    if len(columns) != 2:
        return None
    return Chart("scatter", (), tuple((columns[place], _numbers(values[place])) for place in numeric))


def _is_measure(values: Sequence[Any]) -> bool:
    present = [value for value in values if value is not None]
    return bool(present) and all(
        isinstance(value, int | float | Decimal) and not isinstance(value, bool) for value in present
    )


def _is_moment(value: Any) -> bool:
    return isinstance(value, datetime.date) or (isinstance(value, str) and bool(_MOMENT.match(value)))


def _goes_up(labels: Sequence[str]) -> bool:
    return all(a < b for a, b in itertools.pairwise(labels))


def _label(value: Any) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= LONGEST_LABEL else text[: LONGEST_LABEL - 1] + "…"


def _numbers(values: Sequence[Any]) -> tuple[float | None, ...]:
    found = (None if value is None else float(value) for value in values)
    return tuple(value if value is not None and math.isfinite(value) else None for value in found)
