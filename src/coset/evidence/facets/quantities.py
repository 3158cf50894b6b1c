"""Numbers that say what they count: amounts of money, numbers with a unit, measures such as `5 x 7 inches`.

In: a quoted column and a sample of its values. Out: candidates. Units need not be known: any word that often follows a
number is one ("320 pages"). Known units of one kind (ounces and pounds) become one number in the commonest of them.
Amounts of several currencies are not converted; the currency is then a facet of its own. A comma is read as the
thousands separator.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from coset.evidence.facets.candidate import Candidate, as_number, extract, first_of
from coset.evidence.facets.places import MONTH_WORDS, SMALL_WORDS

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
