"""Results of statements as pages show them: a page of rows at a time, a chart where the shape invites one, and files.

In: a result of the session. Out: a `ShownResult`, kept in memory under a number while the server runs, with a `Chart`
for `chart.js` to draw: labels and one to four columns of numbers give bars, or lines where the labels are dates or go
up; two columns of numbers give dots.
"""

from __future__ import annotations

import csv
import datetime
import io
import itertools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, Literal

from coset.surfaces.command_line.output import json_value
from coset.use_cases.results import SqlResult

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


ROWS_OF_A_PAGE = 50


@dataclass(frozen=True)
class ShownResult:
    statement: str
    result: SqlResult

    @property
    def pages(self) -> int:
        return max(1, -(-len(self.result) // ROWS_OF_A_PAGE))

    def page(self, number: int) -> Sequence[tuple[Any, ...]]:
        """The rows of a page, counted from 1."""
        return self.result.rows[(number - 1) * ROWS_OF_A_PAGE : number * ROWS_OF_A_PAGE]

    @cached_property
    def chart(self) -> Chart | None:
        return None if self.result.truncated else chart_of(self.result.columns, self.result.rows)

    def as_csv(self) -> bytes:
        out = io.StringIO()
        writer = csv.writer(out)
        writer.writerow(self.result.columns)
        writer.writerows([json_value(value) for value in row] for row in self.result.rows)
        return out.getvalue().encode()

    def as_parquet(self) -> bytes:
        from pyarrow import parquet

        out = io.BytesIO()
        parquet.write_table(self.result.table, out)
        return out.getvalue()
