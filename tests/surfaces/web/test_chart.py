"""Which results invite a chart, and which are better read as a table."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest

from coset.surfaces.web.results import chart_of

DAYS = [datetime.date(2026, month, 1) for month in range(1, 7)]


@pytest.mark.parametrize(
    ("columns", "rows", "kind"),
    [
        (("region", "revenue"), [("north", 3), ("south", Decimal("4.5"))], "bar"),
        (("month", "revenue", "orders"), [(day, 1.0, 2) for day in DAYS], "line"),
        (("month", "n"), [("2026-01", 1), ("2026-02", 2)], "line"),
        (("year", "n"), [(2020, 5), (2021, 4), (2022, 9)], "line"),
        (("weight", "price"), [(3, 1), (1, 2), (2, 9)], "scatter"),
        (("region", "revenue"), [("north", 3), ("north", 4)], None),
        (("name", "customer_id"), [("a", 3), ("b", 4)], None),
        (("a", "b", "n"), [("x", "y", 1), ("x", "z", 2)], None),
        (("name", "n"), [("only", 1)], None),
        (("name", "n"), [(f"name {number}", number) for number in range(41)], None),
        (("flag", "other"), [(True, False), (False, True)], None),
    ],
)
def test_the_shape_of_a_result_decides(columns: tuple[str, ...], rows: list[tuple[Any, ...]], kind: str | None):
    found = chart_of(columns, rows)
    assert (found and found.kind) == kind


def test_what_is_no_number_leaves_a_gap():
    found = chart_of(("region", "revenue"), [("north", None), ("south", float("nan")), ("east", 2)])
    assert found is not None and found.series == (("revenue", (None, None, 2.0)),)
