"""Dates, amounts and measures inside text.

In: a quoted column and a sample of its values. Out: candidates. Of dates: the first of a text and, where texts hold
several, each by the words before it; whether `03/04/2020` is in March or April is decided from the sample (a number
above 12 shows which place holds the day; without one the month comes first and the description says so). Of numbers:
amounts of money, numbers with a unit, measures such as `5 x 7 inches`. Units need not be known: any word that often
follows a number is one ("320 pages"); known units of one kind (ounces and pounds) become one number in the commonest of
them. Amounts of several currencies are not converted; the currency is then a facet of its own. A comma is read as the
thousands separator.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from coset.evidence.facets.candidate import MONTH_WORDS, SMALL_WORDS, Candidate, as_number, escaped, extract, first_of
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


_NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?"
_CURRENCY = r"(?:USD|EUR|GBP|CHF|JPY|CAD|AUD|INR|CNY|SEK|NOK|DKK|BRL|MXN|US\$|CA\$|AU\$|R\$|[$€£¥₹])"
_CURRENCY_WORD = (
    r"(?:USD|EUR|GBP|CHF|JPY|CAD|AUD|INR|CNY|SEK|NOK|DKK|BRL|MXN|[€£¥₹]|dollars|euros|pounds sterling|francs)"
)
_SCALE = r"(?:\s?(k|thousand|million|billion|trillion|mn|bn)\b)?"
_BEFORE = rf"({_CURRENCY})\s?({_NUMBER}){_SCALE}"
_AFTER = rf"({_NUMBER}){_SCALE}\s?({_CURRENCY_WORD})"
_FACTORS = " ".join(
    f"WHEN '{word}' THEN {factor}"
    for word, factor in (
        ("k", "1e3"), ("thousand", "1e3"), ("million", "1e6"), ("mn", "1e6"), ("billion", "1e9"), ("bn", "1e9"),
        ("trillion", "1e12"),
    )
)  # fmt: skip

_COUNTED = re.compile(rf"(?<![\w.,$€£¥₹/:\-])({_NUMBER})(\s?|-)([A-Za-zµ°%][A-Za-z]*)")
_MEASURE = rf"({_NUMBER}(?:\s?[A-Za-z\"]+)?\s?[x×]\s?{_NUMBER}(?:(?:\s?[A-Za-z\"]+)?\s?[x×]\s?{_NUMBER})?)"

_KINDS: dict[str, dict[str, float]] = {
    "weight": {
        "g": 1, "gram": 1, "grams": 1, "kg": 1000, "kilogram": 1000, "kilograms": 1000, "oz": 28.349523125,
        "ounce": 28.349523125, "ounces": 28.349523125, "lb": 453.59237, "lbs": 453.59237, "pound": 453.59237,
        "pounds": 453.59237,
    },
    "length": {
        "mm": 0.1, "millimeters": 0.1, "cm": 1, "centimeters": 1, "centimetres": 1, "m": 100, "meter": 100,
        "meters": 100, "metres": 100, "km": 100000, "kilometers": 100000, "inch": 2.54, "inches": 2.54, "foot": 30.48,
        "feet": 30.48, "ft": 30.48, "yard": 91.44, "yards": 91.44, "mile": 160934.4, "miles": 160934.4,
    },
    "volume": {
        "ml": 1, "milliliters": 1, "l": 1000, "liter": 1000, "liters": 1000, "litre": 1000, "litres": 1000,
    },
    "duration": {
        "second": 1, "seconds": 1, "secs": 1, "sec": 1, "min": 60, "mins": 60, "minute": 60, "minutes": 60,
        "hour": 3600, "hours": 3600, "hr": 3600, "hrs": 3600,
    },
    "size": {"kb": 1, "mb": 1e3, "gb": 1e6, "tb": 1e9},
}  # fmt: skip
_KIND_OF = {unit: kind for kind, units in _KINDS.items() for unit in units}


def quantity_candidates(column: str, values: Sequence[str], floor: int) -> list[Candidate]:
    return [
        *_amounts(column, values, floor),
        *_measures(column, values, floor),
        *_counted(column, values, floor),
    ]


def _amounts(column: str, values: Sequence[str], floor: int) -> list[Candidate]:
    shapes = []
    currencies: Counter[str] = Counter()
    scaled = 0
    for pattern, number, scale, currency in ((_BEFORE, 2, 3, 1), (_AFTER, 1, 2, 3)):
        compiled = re.compile(rf"(?i){pattern}")
        matches = [match for match in map(compiled.search, values) if match]
        if len(matches) >= max(2, floor // 4):
            shapes.append((pattern, number, scale, currency, len(matches)))
            currencies.update(match.group(currency).upper() for match in matches)
            scaled += sum(match.group(scale) is not None for match in matches)
    if sum(shape[-1] for shape in shapes) < floor:
        return []
    numbers, texts, names = [], [], []
    for pattern, number, scale, currency, _ in shapes:
        text = extract(column, f"(?i){pattern}", number)
        value = as_number(text)
        if scaled:
            word = f"lower(regexp_extract({column}, '(?i){pattern}', {scale}))"
            value = f"{value} * CASE {word} {_FACTORS} ELSE 1 END"
        numbers.append(value)
        texts.append(text)
        names.append(f"upper({extract(column, f'(?i){pattern}', currency)})")
    written = ", ".join(sorted(name for name, _ in currencies.most_common(6)))
    note = f"the first amount of money ({written})" + (", with million and the like multiplied out" if scaled else "")
    found = [Candidate("amount", "amount", first_of(numbers), "DOUBLE", note, 0.97, first_of(texts))]
    if len([count for count in currencies.values() if count >= max(2, floor // 4)]) > 1:
        expression = first_of(names)
        words = "the currency of the first amount of money, as written"
        found.append(Candidate("currency", "slot", expression, "VARCHAR", words, 0.8, expression))
    return found


def _measures(column: str, values: Sequence[str], floor: int) -> list[Candidate]:
    compiled = re.compile(_MEASURE)
    if sum(compiled.search(value) is not None for value in values) < floor:
        return []
    text = extract(column, _MEASURE)
    numbers = f"regexp_extract_all({text}, '\\d+(?:,\\d{{3}})*(?:\\.\\d+)?')"
    expression = f"list_transform({numbers}, lambda x: {as_number('x')})"
    note = "the numbers of the first measure such as 5 x 7 x 2, in the order written"
    return [Candidate("measures", "list", expression, "DOUBLE[]", note, 0.9, text)]


def _counted(column: str, values: Sequence[str], floor: int) -> list[Candidate]:
    documents: Counter[str] = Counter()
    inside_measures: Counter[str] = Counter()
    numbers: dict[str, set[str]] = {}
    titles: Counter[str] = Counter()
    for value in values:
        seen, measured = set(), set()
        for match in _COUNTED.finditer(value):
            unit = match.group(3).lower()
            if _is_unit(unit, match.group(2)):
                titles[unit] += unit not in seen and match.group(3).istitle()
                seen.add(unit)
                numbers.setdefault(unit, set()).add(match.group(1))
                if re.search(r"[x×]\s?$", value[: match.start()][-3:]):
                    measured.add(unit)
        documents.update(seen)
        inside_measures.update(measured)
    often = {
        unit: count
        for unit, count in documents.items()
        if count >= (max(2, floor // 2) if unit in _KIND_OF else 2 * floor)
        and inside_measures[unit] < 0.5 * count
        and len(numbers[unit]) > 2
        # "Season 17 Episode 7": a word with a capital letter names the number after it.
        and (unit in _KIND_OF or titles[unit] < 0.8 * count)
    }
    groups: dict[str, list[str]] = {}
    for unit in sorted(often, key=lambda unit: (-often[unit], unit)):
        groups.setdefault(_KIND_OF.get(unit, _singular(unit)), []).append(unit)
    found = []
    for name, units in list(groups.items())[:12]:
        if sum(often[unit] for unit in units) >= floor:
            found.append(_counted_candidate(column, name, units))
    return found


def _is_unit(unit: str, gap: str) -> bool:
    if unit in _KIND_OF or unit == "%":
        return True
    ordinal_or_time = {"st", "nd", "rd", "th", "am", "pm", "x", "s", "e"}
    return gap != "" and len(unit) > 2 and unit not in SMALL_WORDS | MONTH_WORDS | ordinal_or_time


def _singular(unit: str) -> str:
    return unit[:-1] if unit.endswith("s") and not unit.endswith("ss") else unit


def _counted_candidate(column: str, name: str, units: list[str]) -> Candidate:
    factors = _KINDS.get(name, {})
    common = units[0]
    by_factor: dict[float, list[str]] = {}
    for unit in units:
        by_factor.setdefault(factors.get(unit, 1), []).append(unit)
    values, texts = [], []
    for factor, same in by_factor.items():
        ending = "" if same == ["%"] else r"\b"
        pattern = rf"(?i)(?:^|[^\w.,/:])({_NUMBER})[\s\-]?(?:{'|'.join(sorted(same, key=len, reverse=True))}){ending}"
        text = extract(column, pattern)
        ratio = factor / factors.get(common, 1)
        values.append(as_number(text) if ratio == 1 else f"{as_number(text)} * {ratio!r}")
        texts.append(text)
    several = f"; {', '.join(units[1:])} converted" if len(by_factor) > 1 else ""
    shown = "percent" if common == "%" else common
    label = f"{name} in {common}" if len(by_factor) > 1 else shown
    note = f'the first number before "{common}"{several}'
    return Candidate(label, "number", first_of(values), "DOUBLE", note, 0.9, first_of(texts))
