"""Dates, spans of dates and numbers that a question names.

In: the text of a question. Out: places in it with the range of days or the number that they mean. Knows no data.
"""

from __future__ import annotations

import calendar
import datetime
import re
from collections.abc import Callable, Iterator
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


Day = datetime.date


@dataclass(frozen=True)
class DateRange:
    """The first and the last day that are meant; None where it is open."""

    first: Day | None
    last: Day | None

    def __str__(self) -> str:
        return f"{self.first or '..'} to {self.last or '..'}" if self.first != self.last else str(self.first)


_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
_MONTHS |= {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name} | {"sept": 9}
_MONTH = r"(?P<month>" + "|".join(sorted(_MONTHS, key=lambda name: (-len(name), name))) + r")\.?"
_YEAR = r"(?P<year>(?:1[5-9]|20|21)\d{2})"
_SOME_YEAR = re.compile(r"(?:1[5-9]|20|21)\d{2}")
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_PLACES = {
    "first": 1,
    "1st": 1,
    "second": 2,
    "2nd": 2,
    "third": 3,
    "3rd": 3,
    "fourth": 4,
    "4th": 4,
    "last": -1,
    "final": -1,
}
_PLACE = r"(?P<place>" + "|".join(_PLACES) + ")"
_ALONE = r"(?<![\w/.-]){}(?![\w/]|-\d|\.\d)"


def date_ranges(text: str) -> list[tuple[int, int, DateRange]]:
    """(begin, end, range), from left to right. `between A and B` and the like take the place of A and B."""
    if not _SOME_YEAR.search(text):
        return []
    single = _singles(text)
    found: list[tuple[int, int, DateRange]] = []
    number = 0
    while number < len(single):
        begin, end, dates = single[number]
        following = single[number + 1] if number + 1 < len(single) else None
        before = text[max(0, begin - 24) : begin]
        if following and _BETWEEN.search(before) and _AND.fullmatch(text[end : following[0]]):
            opening = _BETWEEN.search(before)
            begin -= len(before) - opening.start() if opening else 0
            found.append((begin, following[1], DateRange(dates.first, following[2].last)))
            number += 2
            continue
        if following and _DASH.fullmatch(text[end : following[0]]) and not _same_place(single, number):
            found.append((begin, following[1], DateRange(dates.first, following[2].last)))
            number += 2
            continue
        found.append(_opened(before, begin, end, dates))
        number += 1
    return [(begin, end, dates) for begin, end, dates in found if not _is_backwards(dates)]


_BETWEEN = re.compile(r"\b(?:between|from)\s+(?:the\s+(?:start|beginning|end)\s+of\s+)?$", re.IGNORECASE)
_AND = re.compile(r"\s*(?:,\s*)?(?:and|to|until|till|through|thru|[-–—])\s*(?:the\s+end\s+of\s+)?", re.IGNORECASE)
_DASH = re.compile(r"\s?[-–—]\s?|\s(?:to|through|until)\s", re.IGNORECASE)
_SINCE = re.compile(r"\b(?:since|from|starting(?:\s+in|\s+from|\s+on)?|as\s+of)\s+$", re.IGNORECASE)
_AFTER = re.compile(r"\b(?:after|later\s+than)\s+$", re.IGNORECASE)
_BEFORE = re.compile(r"\b(?:before|prior\s+to|earlier\s+than)\s+$", re.IGNORECASE)
_UNTIL = re.compile(r"\b(?:until|till|up\s+to|through|by(?:\s+the\s+end\s+of)?)\s+$", re.IGNORECASE)


def _opened(before: str, begin: int, end: int, dates: DateRange) -> tuple[int, int, DateRange]:
    """A date with the word before it that leaves one side open."""
    one_day = datetime.timedelta(days=1)
    following = dates.last + one_day if dates.last else None
    preceding = dates.first - one_day if dates.first else None
    for pattern, opened in (
        (_SINCE, DateRange(dates.first, None)),
        (_AFTER, DateRange(following, None)),
        (_BEFORE, DateRange(None, preceding)),
        (_UNTIL, DateRange(None, dates.last)),
    ):
        if opening := pattern.search(before):
            return begin - (len(before) - opening.start()), end, opened
    return begin, end, dates


def _same_place(single: list[tuple[int, int, DateRange]], number: int) -> bool:
    return single[number][0] == single[number + 1][0]


def _is_backwards(dates: DateRange) -> bool:
    return bool(dates.first and dates.last and dates.first > dates.last)


def _singles(text: str) -> list[tuple[int, int, DateRange]]:
    """Each date or span by itself; the more exact reading of a place wins."""
    found: list[tuple[int, int, DateRange]] = []
    lower, plain = text.lower(), text.isascii()
    for needs, pattern, read in _READINGS:
        # Most questions have no part of most dates. A pattern may take letters of other scripts for plain ones.
        if plain and not any(part in lower for part in needs):
            continue
        for match in pattern.finditer(text):
            if any(match.start() < end and match.end() > begin for begin, end, _ in found):
                continue
            try:
                ranges = list(read(match))
            except ValueError:  # the 31st of June
                continue
            found += [(match.start(), match.end(), each) for each in ranges]
    return sorted(found, key=lambda item: (item[0], -item[1], str(item[2])))


def _month(match: re.Match[str]) -> tuple[int, int]:
    return int(match["year"]), _MONTHS[match["month"].lower()]


def _days(year: int, month: int, last_month: int | None = None) -> DateRange:
    last_month = last_month or month
    return DateRange(Day(year, month, 1), Day(year, last_month, calendar.monthrange(year, last_month)[1]))


def _a_day(match: re.Match[str]) -> Iterator[DateRange]:
    year, month = _month(match)
    day = Day(year, month, int(match["day"]))
    yield DateRange(day, day)


def _a_span_of_days(match: re.Match[str]) -> Iterator[DateRange]:
    year, month = _month(match)
    yield DateRange(Day(year, month, int(match["day"])), Day(year, month, int(match["until"])))


def _iso(match: re.Match[str]) -> Iterator[DateRange]:
    day = Day(int(match["year"]), int(match["number"]), int(match["day"]))
    yield DateRange(day, day)


def _slashes(match: re.Match[str]) -> Iterator[DateRange]:
    year, one, two = int(match["year"]), int(match["one"]), int(match["two"])
    for month, day in dict.fromkeys(((one, two), (two, one))):
        if 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1]:
            yield DateRange(Day(year, month, day), Day(year, month, day))


def _week(match: re.Match[str]) -> Iterator[DateRange]:
    """The nth seven days of a month; the last week is its last seven days."""
    whole = _days(*_month(match))
    place = _PLACES[match["place"].lower()]
    if whole.first and whole.last:
        if place < 0:
            yield DateRange(whole.last - datetime.timedelta(days=6), whole.last)
        else:
            begin = whole.first + datetime.timedelta(days=7 * (place - 1))
            yield DateRange(begin, min(begin + datetime.timedelta(days=6), whole.last))


def _quarter(match: re.Match[str]) -> Iterator[DateRange]:
    named = match.groupdict().get("place")
    number = _PLACES[named.lower()] if named else int(match["quarter"])
    number = 4 if number < 0 else number
    yield _days(int(match["year"]), 3 * number - 2, 3 * number)


def _half(match: re.Match[str]) -> Iterator[DateRange]:
    named = match.groupdict().get("place")
    number = _PLACES[named.lower()] if named else int(match["half"])
    if number in (1, 2, -1):
        yield _days(int(match["year"]), 1, 6) if number == 1 else _days(int(match["year"]), 7, 12)


def _a_month(match: re.Match[str]) -> Iterator[DateRange]:
    yield _days(*_month(match))


def _numbered_month(match: re.Match[str]) -> Iterator[DateRange]:
    yield _days(int(match["year"]), int(match["number"]))


def _decade(match: re.Match[str]) -> Iterator[DateRange]:
    year = int(match["year"])
    yield DateRange(Day(year, 1, 1), Day(year + (99 if year % 100 == 0 and year < 2000 else 9), 12, 31))


def _a_year(match: re.Match[str]) -> Iterator[DateRange]:
    yield _days(int(match["year"]), 1, 12)


_A_MONTH = tuple(dict.fromkeys(name[:3] for name in _MONTHS))
_PATTERNS: tuple[tuple[tuple[str, ...], str, Callable[[re.Match[str]], Iterator[DateRange]]], ...] = (
    (("-",), rf"{_YEAR}-(?P<number>\d{{2}})-(?P<day>\d{{2}})(?:[T ]\d{{2}}:\d{{2}}(?::\d{{2}})?)?", _iso),
    (("/", "."), rf"(?P<one>\d{{1,2}})[/.](?P<two>\d{{1,2}})[/.]{_YEAR}", _slashes),
    (("week",), rf"{_PLACE}\s+week\s+(?:of|in)\s+{_MONTH},?\s+{_YEAR}", _week),
    (_A_MONTH, rf"{_MONTH}\s+{_DAY}\s?[-–]\s?(?P<until>\d{{1,2}}),?\s+{_YEAR}", _a_span_of_days),
    (_A_MONTH, rf"{_MONTH}\s+{_DAY},?\s+{_YEAR}", _a_day),
    (_A_MONTH, rf"{_DAY}\s+(?:of\s+)?{_MONTH},?\s+{_YEAR}", _a_day),
    (("q",), rf"Q(?P<quarter>[1-4])[\s/,-]*(?:of\s+)?{_YEAR}", _quarter),
    (("q",), rf"{_YEAR}[\s/-]*Q(?P<quarter>[1-4])", _quarter),
    (("quarter",), rf"{_PLACE}\s+quarter\s+(?:of\s+|in\s+)?{_YEAR}", _quarter),
    (("h1", "h2"), rf"H(?P<half>[12])[\s/-]*{_YEAR}", _half),
    (("half",), rf"{_PLACE}\s+half\s+(?:of\s+|in\s+)?{_YEAR}", _half),
    (_A_MONTH, rf"{_MONTH}(?:,?\s+|\s+of\s+|-){_YEAR}", _a_month),
    (("-",), rf"{_YEAR}-(?P<number>0[1-9]|1[0-2])", _numbered_month),
    (("0s", "0'"), r"(?P<year>(?:1[5-9]|20)\d0)['’]?s", _decade),
)
"""What a text must have some of, in small letters; how the date is written; how it is read."""
_READINGS = (
    *((needs, re.compile(_ALONE.format(f"(?:{pattern})"), re.IGNORECASE), read) for needs, pattern, read in _PATTERNS),
    # A year alone may be followed by a dash and another year.
    (("",), re.compile(rf"(?<![\w/.,$€£-]){_YEAR}(?![\w/%]|\.\d|,\d{{3}})"), _a_year),
    (("-",), re.compile(rf"(?<=\d[-–]){_YEAR}(?![\w/%]|\.\d|,\d{{3}})"), _a_year),
)
