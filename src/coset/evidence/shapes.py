"""The shape of a text: `Aa 9-9` for "Ab 12-3". Runs of capitals, small letters, digits and blanks count once.

In: values with their counts. Out: shapes with their shares, and whether values look like numbers or dates.
Works value by value, so it is meant for a sample or for distinct values. Knows nothing of tables.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

SHAPE_CHARACTERS = 60

NUMBER = re.compile(
    r"\s*[-+(]?\s*[$€£¥]?\s*[-+]?(\d{1,3}(,\d{3})+|\d+)?(\.\d+|(?<=\d)\.?)([eE][-+]?\d{1,3})?\s*[%$€£¥)]?\s*"
)
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_TIME = r"([T ,]+(at )?\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[ap]\.?m\.?)?( ?(z|utc|gmt|[-+]\d{2}:?\d{2}))?)?"
DATE = re.compile(
    r"\s*((\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})|(19|20)\d{2}(0[1-9]|1[0-2])([0-2]\d|3[01])"
    rf"|\d{{1,2}}(st|nd|rd|th)?[- ](of )?{_MONTH}[-, ]+\d{{2,4}}|{_MONTH} \d{{1,2}}(st|nd|rd|th)?,? +\d{{4}})"
    rf"{_TIME}|([a-z]{{3,9}}, )?\d{{1,2}} {_MONTH} \d{{4}}{_TIME})\s*",
    re.IGNORECASE,
)


class _Classes(dict[int, str]):
    """Which class a character is of, worked out once per character."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        if letter.isdigit():
            kind = "9"
        elif letter.isalpha():
            kind = "A" if letter.isupper() else "a"
        else:
            kind = " " if letter.isspace() else letter
        self[code] = kind
        return kind


_CLASSES = _Classes()
_RUNS = re.compile(r"([Aa9 ])\1+")


def shape(text: str) -> str:
    return _collapsed(text[: 4 * SHAPE_CHARACTERS].translate(_CLASSES))


@lru_cache(maxsize=10_000)
def _collapsed(classes: str) -> str:
    # Most values of a column have the same letters and digits in the same places, so this is seldom worked out anew.
    return _RUNS.sub(r"\1", classes)[:SHAPE_CHARACTERS]


def shape_counts(values: Mapping[str, int]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for value, count in values.items():
        counts[shape(value)] += count
    return counts


def looks_like_number(text: str) -> bool:
    return bool(NUMBER.fullmatch(text)) and any(letter.isdigit() for letter in text)


def looks_like_date(text: str) -> bool:
    return bool(DATE.fullmatch(text))
