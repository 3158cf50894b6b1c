"""Whether an answer holds every value of a ground truth, for questions that come without a validator.

In: the answer's text and the text of `ground_truth.csv`. Out: the values that are missing. Numbers match to the
decimals that the ground truth has; texts match without case, punctuation and spacing. A first line without any digit
may be a heading: it need not be in the answer when all the others are.
"""

from __future__ import annotations

import csv
import io
import re
from decimal import Decimal, InvalidOperation

from coset.benchmark.written_values import numbers_in, plain


def holds_ground_truth(answer: str, ground_truth: str) -> list[str]:
    """The values that the answer does not hold."""
    rows = [[cell.strip() for cell in row if cell.strip()] for row in csv.reader(io.StringIO(ground_truth))]
    rows = [row for row in rows if row]
    if not rows:
        return ["(the ground truth is empty)"]
    missing = _missing(answer, rows)
    if missing and len(rows) > 1 and not any(re.search(r"\d", cell) for cell in rows[0]):
        return _missing(answer, rows[1:])
    return missing


def _missing(answer: str, rows: list[list[str]]) -> list[str]:
    numbers, words = numbers_in(answer), plain(answer)
    return [cell for row in rows for cell in row if not _holds(cell, numbers, words)]


def _holds(cell: str, numbers: list[Decimal], words: str) -> bool:
    written = cell.replace(",", "").replace("$", "").rstrip("%").strip()
    try:
        wanted = Decimal(written)
    except InvalidOperation:
        return plain(cell) in words
    if not wanted.is_finite():
        return plain(cell) in words
    step = Decimal(1).scaleb(min(0, int(wanted.as_tuple().exponent)))
    return any(abs(number - wanted) <= step / 2 for number in numbers if number.is_finite()) or plain(cell) in words
