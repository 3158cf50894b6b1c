"""Numbers of a question, with their unit and magnitude: `2.5 million`, `10%`, `$3k`, `1,234.5 kg`.

In: a text. Out: where each number stands and what it says. English digits and magnitudes only; number words (`three`)
are not read, because they rarely are values.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Quantity:
    """A number as asked for. `value` has its magnitude applied; a percentage stays as written (10, not 0.1)."""

    value: float
    unit: str = ""
    """A currency, `%`, or the unit that follows; empty for a bare number."""
    whole: bool = False
    """Whether it is written as a whole number without unit or magnitude: only such a number may be an id or a year."""


_MAGNITUDES = {
    "k": 1e3, "thousand": 1e3, "m": 1e6, "mn": 1e6, "mio": 1e6, "million": 1e6, "millions": 1e6, "b": 1e9, "bn": 1e9,
    "billion": 1e9, "billions": 1e9, "trillion": 1e12, "dozen": 12.0, "hundred": 100.0,
}  # fmt: skip
_UNITS = (
    "percent|per cent|usd|eur|gbp|chf|jpy|dollars?|euros?|pounds?|kg|g|mg|lbs?|oz|ounces?|km|cm|mm|m|miles?|feet|ft|"
    "inch(?:es)?|pages?|days?|weeks?|months?|years?|hours?|minutes?|seconds?|stars?|kb|mb|gb|tb|kwh|°c|°f"
)
_NUMBER = re.compile(
    r"(?<![\w.,/-])(?P<currency>[$€£¥])?\s?(?P<sign>-)?(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?:(?P<close>k|m|mn|bn|b)(?![\w])|\s(?P<magnitude>thousand|mn|mio|millions?|bn|billions?|trillion|dozen|hundred)\b)?"
    rf"(?:\s?(?P<percent>%)|\s?(?P<unit>{_UNITS})(?![\w]))?(?![\w/]|-\w|\.\d|,\d)",
    re.IGNORECASE,
)


def quantities(text: str) -> list[tuple[int, int, Quantity]]:
    """(begin, end, number) of every number that is not part of a code or a date."""
    found = []
    for match in _NUMBER.finditer(text):
        digits = match.group("number").replace(",", "")
        if len(digits) > 30:
            continue
        word = (match.group("close") or match.group("magnitude") or "").lower()
        unit = match.group("currency") or match.group("percent") or (match.group("unit") or "").lower()
        unit = "%" if unit in ("percent", "per cent") else unit
        value = float(digits) * _MAGNITUDES.get(word, 1.0) * (-1.0 if match.group("sign") else 1.0)
        whole = not word and not unit and "." not in digits and "," not in match.group("number")
        begin = match.start() + (len(match.group()) - len(match.group().lstrip()))
        found.append((begin, match.end(), Quantity(value, unit, whole)))
    return found
