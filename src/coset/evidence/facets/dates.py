"""Dates inside text, in the formats people write.

In: a quoted column and a sample of its values. Out: candidates for the first date of a text and, where texts hold
several, for each date by the words before it. Whether `03/04/2020` is in March or April is decided from the sample:
a number above 12 shows which place holds the day; without one the month comes first and the description says so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from coset.evidence.facets.candidate import Candidate, escaped, extract, first_of
from coset.evidence.facets.places import SMALL_WORDS
from coset.sql_text import literal

_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)"
)


@dataclass(frozen=True)
class _Format:
    words: str
    pattern: str
    """Without groups that catch."""
    formats: tuple[str, ...]


_ISO_TIME = _Format(
    "2020-01-31 10:30",
    r"\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2})?",
    ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"),
)
# A year of two digits is tried first: `%Y` would read 99 as the year 99.
_MONTH_FIRST = ("%m/%d/%y", "%m/%d/%Y")
_FORMATS = (
    _Format("2020-01-31", r"\b(?:19|20)\d{2}-\d{2}-\d{2}", ("%Y-%m-%d",)),
    _Format("2020/01/31", r"\b(?:19|20)\d{2}/\d{1,2}/\d{1,2}\b", ("%Y/%m/%d",)),
    _Format(
        "January 31, 2020",
        rf"\b{_MONTH}\.?\s+\d{{1,2}}(?:st|nd|rd|th)?,?\s+(?:1[5-9]|20)\d{{2}}\b",
        ("%b %d %Y", "%B %d %Y"),
    ),
    _Format(
        "31 January 2020",
        rf"\b\d{{1,2}}(?:st|nd|rd|th)?\.?\s+(?:of\s+)?{_MONTH}\.?,?\s+(?:1[5-9]|20)\d{{2}}\b",
        ("%d %b %Y", "%d %B %Y"),
    ),
    _Format("31-Jan-2020", rf"\b\d{{1,2}}-{_MONTH}-\d{{2,4}}\b", ("%d-%b-%y", "%d-%b-%Y")),
    _Format("31.01.2020", r"\b\d{1,2}\.\d{1,2}\.(?:1[5-9]|20)\d{2}\b", ("%d.%m.%Y",)),
    _Format("01/31/2020", r"\b\d{1,2}/\d{1,2}/(?:(?:1[5-9]|20)\d{2}|\d{2})\b", _MONTH_FIRST),
    _Format("01-31-2020", r"\b\d{1,2}-\d{1,2}-(?:19|20)\d{2}\b", ("%m-%d-%Y",)),
)
_MONTH_AND_YEAR = _Format("January 2020", rf"\b{_MONTH}\.?,?\s+(?:19|20)\d{{2}}\b", ("%b %Y", "%B %Y"))
_YEAR = r"\b(?:in|since|from|of|year|the|until|circa|©|c\.)\s*\(?((?:1[5-9]|20)\d{2})\b"


def date_candidates(column: str, values: Sequence[str], floor: int) -> list[Candidate]:
    """Dates; `floor` is the number of sampled values in which something must stand to be worth a reading."""
    found = [form for form in _FORMATS if _count(form.pattern, values) >= max(2, floor // 4)]
    found = [_with_order(form, values) for form in found]
    full = sum(any(re.search(form.pattern, value, re.IGNORECASE) for form in found) for value in values)
    candidates = []
    times = _count(_ISO_TIME.pattern, values)
    if full >= floor and times < 0.9 * full:
        candidates.append(_candidate(column, "date", found, values))
        candidates += _by_words_before(column, found, values, floor)
    if times >= floor:
        expression = f"CAST({_parsed(column, _ISO_TIME, '')} AS TIMESTAMP)"
        raw = extract(column, f"({_ISO_TIME.pattern})")
        candidates.append(
            Candidate("time", "date", expression, "TIMESTAMP", "the first date with a time of day", 0.96, raw)
        )
    rough = _count(_MONTH_AND_YEAR.pattern, values)
    if rough >= floor and rough > full:
        candidates.append(_candidate(column, "month", [_MONTH_AND_YEAR], values, weight=0.9))
    if _count(_YEAR, values) >= floor:
        text = extract(column, "(?i)" + _YEAR)
        note = "the first year that stands after a word such as in, since, of"
        candidates.append(Candidate("year", "date", f"try_cast({text} AS INTEGER)", "INTEGER", note, 0.7, text))
    return candidates


def _count(pattern: str, values: Sequence[str]) -> int:
    compiled = re.compile(pattern, re.IGNORECASE)
    return sum(compiled.search(value) is not None for value in values)


def _with_order(form: _Format, values: Sequence[str]) -> _Format:
    if not form.formats[0].startswith("%m"):
        return form
    sign = form.words[2]
    dates = [date.split(sign) for value in values for date in re.findall(form.pattern, value)]
    first, second = sum(int(date[0]) > 12 for date in dates), sum(int(date[1]) > 12 for date in dates)
    if first > second:
        days_first = tuple(one.replace("%m", "%*").replace("%d", "%m").replace("%*", "%d") for one in form.formats)
        return _Format(f"31{sign}01{sign}2020", form.pattern, days_first)
    if not second:
        return _Format(f"{form.words} (or the day first: no value tells)", form.pattern, form.formats)
    return form


def _parsed(column: str, form: _Format, before: str) -> str:
    text = extract(column, f"(?i){before}({form.pattern})")
    if "%b" in form.formats[0]:
        # One spelling for "Sept. 5th, 2020" and "September 5 2020": no ordinals, commas, dots; short months.
        text = f"regexp_replace({text}, '(?i)(\\d)(?:st|nd|rd|th)\\b|[.,]|\\bof\\b', '\\1', 'g')"
        text = f"regexp_replace({text}, '([A-Za-z]{{3}})[A-Za-z]+', '\\1')"
        text = f"regexp_replace({text}, '\\s+', ' ', 'g')"
        formats = [one for one in form.formats if "%B" not in one]
    else:
        formats = list(form.formats)
    if len(formats) == 1:
        return f"try_strptime({text}, {literal(formats[0])})"
    return f"try_strptime({text}, [{', '.join(literal(one) for one in formats)}])"


def _candidate(
    column: str, name: str, forms: Sequence[_Format], values: Sequence[str], before: str = "", weight: float = 0.95
) -> Candidate:
    parsed = first_of([_parsed(column, form, before) for form in forms])
    raw = first_of([extract(column, f"(?i){before}({form.pattern})") for form in forms])
    written = ", ".join(form.words for form in forms)
    where = f'the date after "{name}"' if before else "the first date"
    return Candidate(name, "date", f"CAST({parsed} AS DATE)", "DATE", f"{where}, written as {written}", weight, raw)


def _by_words_before(column: str, forms: Sequence[_Format], values: Sequence[str], floor: int) -> list[Candidate]:
    """One candidate for each phrase that stands before dates, where texts hold more than one date."""
    any_form = re.compile("|".join(form.pattern for form in forms), re.IGNORECASE)
    many, phrases = 0, Counter[str]()
    for value in values:
        matches = list(any_form.finditer(value))
        many += len(matches) > 1
        phrases.update(sorted({_phrase_before(value[: match.start()]) for match in matches} - {""}))
    if many < floor:
        return []
    return [
        _candidate(column, phrase, forms, values, rf"\b{escaped(phrase)}\s*[:\-]?\s*", weight=0.97)
        for phrase, count in phrases.most_common(4)
        if count >= floor
    ]


def _phrase_before(text: str) -> str:
    """The word that says something right before a date, with the small words that follow it: "shipped on"."""
    match = re.search(r"([^\W\d_]+)((?:\s+[^\W\d_]+){0,2})\s*[:\-]?\s*$", text[-60:])
    if match is None:
        return ""
    words = match.group().lower().replace(":", " ").replace("-", " ").split()
    for length in range(1, len(words) + 1):
        if words[-length] not in SMALL_WORDS:
            return " ".join(words[-length:])
    return ""
