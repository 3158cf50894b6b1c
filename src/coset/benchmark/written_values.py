"""Values as they stand in a written answer: its numbers, and its words without case and punctuation."""

from __future__ import annotations

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
