"""Whether an answer is what was expected.

In: expected rows with their tolerance, and an answer as rows and text. Out: a `Judgement`. Rows are compared with rows
where the answer has as many rows and columns; otherwise every expected value must stand in the text. Numbers may be off
by the tolerance (without one, by nothing that a double could not hold); texts match without case and punctuation.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from coset.benchmark.attempting import Outcome
from coset.benchmark.attempts import Judgement
from coset.benchmark.questions.question_file import Tolerance
from coset.benchmark.written_values import numbers_in, plain

Rows = Sequence[Sequence[Any]]
SHOWN = 5


def judge_rows(expected: Rows, outcome: Outcome, tolerance: Tolerance, ordered: bool) -> Judgement:
    if not expected:
        empty = not outcome.rows and (not outcome.text.strip() or _says_none(outcome.text))
        return Judgement("passed", "nothing was expected") if empty else Judgement("wrong", "no rows were expected")
    if _same_rows(expected, outcome.rows, tolerance, ordered):
        return Judgement("passed", "the rows are as expected")
    if outcome.from_rows and len(outcome.rows) != len(expected):
        return Judgement("wrong", f"{len(expected)} rows were expected, {len(outcome.rows)} came")
    missing = _not_in_text(expected, outcome.text, tolerance, ordered)
    if missing:
        more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
        return Judgement("wrong", f"not in the answer: {', '.join(missing[:SHOWN])}{more}")
    return Judgement("passed", "every expected value stands in the answer")


def _same_rows(expected: Rows, rows: Rows, tolerance: Tolerance, ordered: bool) -> bool:
    if len(expected) != len(rows) or {len(row) for row in expected} != {len(row) for row in rows}:
        return False
    if ordered:
        return all(_same_row(one, other, tolerance) for one, other in zip(expected, rows, strict=True))
    left = list(rows)
    for row in expected:
        match = next((number for number, other in enumerate(left) if _same_row(row, other, tolerance)), None)
        if match is None:
            return False
        left.pop(match)
    return True


def _same_row(one: Sequence[Any], other: Sequence[Any], tolerance: Tolerance) -> bool:
    return all(_same(expected, value, tolerance) for expected, value in zip(one, other, strict=True))


def _same(expected: Any, value: Any, tolerance: Tolerance) -> bool:
    if expected is None or value is None:
        return expected is None and value is None
    wanted, number = _number(expected), _number(value)
    if wanted is not None and number is not None:
        return _near(wanted, number, tolerance)
    return plain(_text(expected)) == plain(_text(value))


def _near(wanted: float, number: float, tolerance: Tolerance) -> bool:
    room = max(tolerance.amount, tolerance.share * abs(wanted))
    return abs(number - wanted) <= room or math.isclose(number, wanted, rel_tol=1e-9, abs_tol=1e-12)


def _not_in_text(expected: Rows, text: str, tolerance: Tolerance, ordered: bool) -> list[str]:
    words, numbers = plain(text), [float(number) for number in numbers_in(text)]
    missing = []
    place = 0
    for row in expected:
        for cell in row:
            wanted = _number(cell)
            if wanted is not None and any(_near(wanted, number, tolerance) for number in numbers):
                continue
            at = words.find(plain(_text(cell)), place if ordered else 0)
            if at < 0:
                missing.append(_text(cell))
            elif ordered:
                place = at
    return missing


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _text(value: Any) -> str:
    if isinstance(value, datetime.datetime) and value.time() == datetime.time.min:
        value = value.date()
    return str(value)


def _says_none(text: str) -> bool:
    return bool(re.search(r"\b(no|none|nothing|zero|0|empty)\b", text, re.IGNORECASE))
