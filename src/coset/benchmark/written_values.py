"""Values in a written answer: its numbers, and its words without case and punctuation.

Also whether an answer holds every value of a ground truth, for questions that come without a validator.
"""

from __future__ import annotations

import csv
import io
import re
from decimal import Decimal, InvalidOperation

_NUMBER = re.compile(r"(?<![\w.])[-+]?\$?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_NOT_WORD = re.compile(r"[\W_]+")


def numbers_in(text: str) -> list[Decimal]:
    """Every number that a text holds, signs of thousands and currency left out."""
    found = []
    for match in _NUMBER.finditer(text):
        try:
            found.append(Decimal(match[0].replace(",", "").replace("$", "")))
        except InvalidOperation:
            continue
    return found


def plain(text: str) -> str:
    """A text as words alone, in small letters."""
    return f" {_NOT_WORD.sub(' ', text.casefold()).strip()} "


def proper(text: str) -> str:
    """The text without halves of letters, which models can produce and no file can hold."""
    return text.encode("utf-8", "replace").decode()


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
