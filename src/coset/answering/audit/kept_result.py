"""What is kept of a statement's result, so that a later run of it can be compared.

In: a statement and its `Result`. Out: a digest that does not depend on the order of rows, nor on the last digits of
floating point sums, with the number of rows and the first of them. Knows no database.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from coset.session.result import Result

PREVIEW_ROWS = 20
PREVIEW_LETTERS = 200
DIGITS = 12
"""Parallel sums of floating point numbers differ in the last of their 16 digits."""


@dataclass(frozen=True)
class KeptResult:
    """A statement and what it gave."""

    sql: str
    digest: str
    rows: int
    truncated: bool
    columns: tuple[str, ...]
    preview: tuple[tuple[Any, ...], ...]
    """The first rows, as JSON can hold them."""


def kept_result(sql: str, result: Result) -> KeptResult:
    return kept_rows(sql, result.columns, result.rows(), result.truncated)


def kept_rows(sql: str, columns: tuple[str, ...], rows: Sequence[Sequence[Any]], truncated: bool) -> KeptResult:
    preview = tuple(tuple(_short(value) for value in row) for row in rows[:PREVIEW_ROWS])
    return KeptResult(sql, digest(rows), len(rows), truncated, columns, preview)


def digest(rows: Sequence[Sequence[Any]]) -> str:
    """Equal for the same rows in any order. Columns count by their place: an alias may be another one next time."""
    lines = sorted(json.dumps([canonical(value) for value in row], ensure_ascii=False) for row in rows)
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def canonical(value: Any) -> Any:
    """A value as text or JSON that is the same for numbers that are the same."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | float | Decimal):
        return _number(value)
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, bytes):
        return hashlib.sha256(value).hexdigest()
    if isinstance(value, dict):
        return {str(key): canonical(item) for key, item in sorted(value.items(), key=lambda item: str(item[0]))}
    if isinstance(value, list | tuple) and not hasattr(value, "nanoseconds"):
        return [canonical(item) for item in value]
    return str(value)


def _number(value: int | float | Decimal) -> str:
    if not math.isfinite(value):
        return str(value)
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    digits = "".join(map(str, exact.as_tuple().digits)).rstrip("0")
    if isinstance(value, float) or len(digits) <= DIGITS:
        return f"{exact + 0:.{DIGITS - 1}e}"
    text = format(exact, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= PREVIEW_LETTERS else value[: PREVIEW_LETTERS - 1] + "…"
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Decimal):
        return str(value)
    text = json.dumps(canonical(value), ensure_ascii=False) if isinstance(value, dict | list) else str(canonical(value))
    return text if len(text) <= PREVIEW_LETTERS else text[: PREVIEW_LETTERS - 1] + "…"
