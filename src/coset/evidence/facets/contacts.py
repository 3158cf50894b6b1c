"""Addresses of the web, of mail and of telephones, and names in quotes, inside text.

In: a quoted column and a sample of its values. Out: candidates. Telephone numbers are known by their punctuation
alone, so one that is written as a plain run of digits is not found.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from coset.evidence.facets.candidate import Candidate, Kind, extract

_URL = r"\bhttps?://[^\s<>\"'\\)\]}]*[^\s<>\"'\\)\]}.,;:!?]"
_EMAIL = r"\b[A-Za-z0-9._%+\-]+@[A-Za-z0-9.\-]+\.[A-Za-z]{2,}\b"
_PHONE = (
    r"(?:^|[^\w.+\-])(\+\d{1,3}[\s.\-]?(?:\(\d{1,4}\)[\s.\-]?)?\d{1,4}(?:[\s.\-]\d{2,4}){1,4}"
    r"|\(\d{3}\)\s?\d{3}[\s.\-]\d{4}|\d{3}[.\-]\d{3}[.\-]\d{4})(?:\b|$)"
)
_QUOTED = r"(?:^|[\s(\[])[\"“«]([\p{Lu}\d][^\"“”«»\n]{1,60}?)[,.]?[\"”»]"
# What may not stand in it is listed, not what may: \p{L} thirty times over takes RE2 a tenth of a second to compile.
_BRACKETED = r"\(([\p{Lu}][^\d()\[\]{}<>,;:!?\"“”$%#@*+=~|\\^_`\n]{1,30})\)"
_TITLED = r"\b((?:Mr|Mrs|Ms|Dr|Prof)\.?\s+[A-Z][\w'’\-]+(?:\s+[A-Z][\w'’\-]+){0,2})"

_Reading = tuple[str, Kind, str, str, float]
"""Name, kind, pattern with one group, what it is, weight."""


def contact_candidates(column: str, values: Sequence[str], floor: int) -> list[Candidate]:
    """Addresses of the web, of mail and of telephones, and people by their titles."""
    readings: tuple[_Reading, ...] = (
        ("url", "url", f"({_URL})", "the first web address", 0.95),
        ("email", "email", f"({_EMAIL})", "the first e-mail address", 0.95),
        ("phone", "phone", _PHONE, "the first telephone number", 0.9),
        ("titled person", "person", _TITLED, "the first person with a title (Mr, Dr, ...)", 0.8),
    )
    return _candidates(column, values, floor, readings)


def mark_candidates(column: str, values: Sequence[str], floor: int) -> list[Candidate]:
    """What stands in quotes or in brackets."""
    readings: tuple[_Reading, ...] = (
        ("in brackets", "other", _BRACKETED, "the first words in round brackets", 0.55),
        ("quoted", "other", _QUOTED, "the first words in quotes", 0.5),
    )
    return _candidates(column, values, floor, readings)


def _candidates(column: str, values: Sequence[str], floor: int, readings: Sequence[_Reading]) -> list[Candidate]:
    candidates = []
    for name, kind, pattern, words, weight in readings:
        compiled = re.compile(pattern.replace(r"\p{Lu}", "A-ZÀ-Þ").replace(r"\p{L}", "A-Za-zÀ-ÿ"))
        if sum(compiled.search(value) is not None for value in values) >= floor:
            expression = extract(column, pattern)
            candidates.append(Candidate(name, kind, expression, "VARCHAR", words, weight, expression, varied=True))
    return candidates
