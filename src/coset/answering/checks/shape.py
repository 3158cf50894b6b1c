"""Has the answer the shape that was pinned before it was computed: one value, one row, a list, a table?"""

from __future__ import annotations

from typing import Any

from coset.answering.checks.examined import Examined
from coset.answering.checks.proposal import CheckResult, PinnedShape

NAME = "shape"
LONGEST_VALUE = 300
"""A longer text is no single value any more."""


def check(examined: Examined) -> CheckResult:
    shape, rows, value = examined.proposal.shape, examined.rows, examined.proposal.value
    if shape is None:
        return CheckResult(NAME, "not applicable", "no shape was pinned")
    if examined.result is None or not rows:
        return CheckResult(NAME, "not applicable", "there are no rows to compare with the pinned shape")
    width = len(examined.result.columns)
    if shape.form in {"value", "row"} and len(rows) > 1:
        # One that gives a value of the first row has chosen: the rows below it are more than was asked, and not wrong.
        chosen = isinstance(value, str) and value.strip() in {str(cell) for cell in rows[0]}
        detail = f"one {shape.form} was pinned, but the statement gives {len(rows):,} rows"
        return CheckResult(NAME, "doubt" if chosen else "failed", detail)
    if shape.form in {"value", "list"} and width > 1 and len(shape.columns) <= 1:
        return CheckResult(NAME, "doubt", f"a {shape.form} was pinned, but the statement gives {width} columns")
    if shape.form in {"row", "table"} and shape.columns and width != len(shape.columns):
        wanted = ", ".join(shape.columns)
        return CheckResult(
            NAME, "doubt", f"{len(shape.columns)} columns were pinned ({wanted}), but the statement gives {width}"
        )
    if shape.rows is not None and len(rows) != shape.rows:
        outcome = "failed" if len(rows) > shape.rows else "doubt"
        detail = f"{shape.rows:,} rows were pinned, but the statement gives {len(rows):,}"
        return CheckResult(NAME, outcome, detail)  # type: ignore[arg-type]
    told = _told(value, shape, len(rows))
    if told:
        return CheckResult(NAME, "failed", told)
    return CheckResult(NAME, "passed", f"{len(rows):,} x {width} fits the pinned {shape.form}")


def _told(value: Any, shape: PinnedShape, rows: int) -> str | None:
    """How the answer's own value differs from the shape; a text may list things as it likes."""
    if shape.form == "value":
        if isinstance(value, list | tuple) and len(value) > 1:
            return f"one value was pinned, but the answer has {len(value)}"
        if isinstance(value, str) and len(value) > LONGEST_VALUE:
            return f"one value was pinned, but the answer is a text of {len(value)} letters: give the value alone"
    if shape.form in {"list", "table"} and isinstance(value, list | tuple) and len(value) != rows:
        return f"the statement gives {rows:,} rows, but the answer has {len(value):,}: give all of them, each once"
    return None
