"""Measures with their units written beside them: mixed units, and the expression that brings them to one.

In: a column as observed and its texts. Out: a diagnostic, or None where the numbers have no units or all the same."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass

import duckdb

from coset.evidence.quality.numbers import CURRENCY, NUMBER, Style, digits_expression, python_pattern, style_of
from coset.evidence.quality.observed import Observed, tried
from coset.sql_text import literal
from coset.state.objects import Diagnostic

_WRITTEN: dict[str, dict[float, str]] = {
    "mass": {
        1e-6: "mg",
        1e-3: "g, gr, gram, grams",
        1.0: "kg, kgs, kilogram, kilograms",
        1e3: "t, ton, tons, tonne, tonnes",
        0.45359237: "lb, lbs, pound, pounds",
        0.028349523125: "oz, ounce, ounces",
        6.35029318: "st, stone",
    },
    "length": {
        1e-3: "mm",
        1e-2: "cm",
        1.0: "m, meter, meters, metre, metres",
        1e3: "km, kms",
        0.0254: 'in, inch, inches, ", ″',
        0.3048: "ft, feet, foot, ', ′",
        0.9144: "yd, yard, yards",
        1609.344: "mi, mile, miles",
    },
    "volume": {
        1e-3: "ml, cc",
        1e-2: "cl",
        0.1: "dl",
        1.0: "l, liter, liters, litre, litres",
        3.785411784: "gal, gallon, gallons",
        0.0295735295625: "fl oz",
        0.473176473: "pt",
    },
    "time": {
        1e-3: "ms",
        1.0: "s, sec, secs, second, seconds",
        60.0: "min, mins, minute, minutes",
        3600.0: "h, hr, hrs, hour, hours",
        86400.0: "d, day, days",
        604800.0: "wk, week, weeks",
    },
    "months": {1.0: "mo, month, months", 12.0: "yr, yrs, year, years"},
    "data": {
        1.0: "byte, bytes",
        1e3: "kb",
        1e6: "mb",
        1e9: "gb",
        1e12: "tb",
        1024.0: "kib",
        1048576.0: "mib",
        1073741824.0: "gib",
    },
    "speed": {1.0: "km/h, kmh, kph", 1.609344: "mph", 3.6: "m/s", 1.852: "kn, kt, knots"},
    "area": {
        1.0: "m2, m², sqm",
        1e6: "km2, km²",
        0.09290304: "sq ft, sqft, ft², ft2",
        1e4: "ha",
        4046.8564224: "acre, acres",
        2589988.110336: "sq mi",
    },
    "temperature": {1.0: "°c, c, °f, f, k"},
    "frequency": {1.0: "hz", 1e3: "khz", 1e6: "mhz", 1e9: "ghz"},
    "power": {1.0: "w", 1e3: "kw", 1e6: "mw", 745.69987158: "hp"},
    "pressure": {1.0: "pa", 100.0: "hpa, mbar", 1e3: "kpa", 1e5: "bar", 6894.757293: "psi"},
}

DIMENSIONS: dict[str, dict[str, float]] = {
    dimension: {unit: factor for factor, units in by_factor.items() for unit in units.split(", ")}
    for dimension, by_factor in _WRITTEN.items()
}


_UNIT = r"(?:[A-Za-z°µ%\x{2032}\x{2033}'\x{22}][A-Za-z/²³°23\x{2032}\x{2033}]{0,10}(?: (?:ft|oz|mi))?)"
_PATTERN = rf"([-+]?\s*{NUMBER})\s*({_UNIT})\.?"
_MEASURE = re.compile(python_pattern(_PATTERN).replace(r"\x{22}", '"'))
_BARE = re.compile(r"[-+]?[\d.,]+")
_MONEY = re.compile(rf"(?:({CURRENCY})\s*)?[-+]?{python_pattern(NUMBER)}\s*(?:({CURRENCY}))?")


def units(connection: duckdb.DuckDBPyConnection, observed: Observed, texts: list[tuple[str, int]]) -> Diagnostic | None:
    total = sum(count for _, count in texts)
    if total < 2:
        return None
    glance = texts[:100]
    if sum(count for text, count in glance if text[:1].isdigit() or text[:1] in "-+.$€£¥₹") < 0.5 * sum(
        c for _, c in glance
    ):
        return _currencies(observed, texts, total)
    measures = _measures(texts, total)
    return (
        _currencies(observed, texts, total) if measures is None else _diagnosed(connection, observed, texts, measures)
    )


@dataclass(frozen=True)
class _Measures:
    """The measures of a column: rows and texts by unit, their numbers with rows, and rows of numbers without a unit."""

    total: int
    counts: Counter[str]
    written: dict[str, list[str]]
    numbers: list[tuple[str, int]]
    bare: int

    @property
    def measured(self) -> int:
        return sum(self.counts.values())


def _measures(texts: list[tuple[str, int]], total: int) -> _Measures | None:
    """None where too much is something else."""
    counts: Counter[str] = Counter()
    written: defaultdict[str, list[str]] = defaultdict(list)
    bare = others = 0
    numbers: list[tuple[str, int]] = []
    for text, count in texts:
        match = _MEASURE.fullmatch(text) if len(text) <= 40 else None
        if match:
            unit = match[2].lower()
            counts[unit] += count
            written[unit].append(text)
            numbers.append((match[1].replace(" ", "") if match[1][0] in "+-" else match[1], count))
        elif _BARE.fullmatch(text):
            bare += count
        else:
            others += count
            if others > 0.1 * total:
                return None
    found = _Measures(total, counts, written, numbers, bare)
    return found if found.measured + bare >= 0.9 * total and found.measured >= 0.5 * total else None


def _diagnosed(
    connection: duckdb.DuckDBPyConnection, observed: Observed, texts: list[tuple[str, int]], found: _Measures
) -> Diagnostic | None:
    counts = found.counts
    known = {unit: dimension for unit in counts for dimension, members in DIMENSIONS.items() if unit in members}
    if sum(counts[unit] for unit in known) < 0.8 * found.measured:
        return None  # 12A, 3B: pieces of a code, not units
    dimensions = {known[unit] for unit in known if counts[unit] >= 0.01 * found.measured}
    commonest = next(unit for unit, _ in counts.most_common() if unit in known)
    expression: str | None = None
    if len(dimensions) == 1:
        expression = _expression(observed.bare_text(), style_of(found.numbers), counts, commonest, known)
        parsed = tried(connection, observed.name, [each for each, _ in texts], expression)
        read = sum(count for (_, count), value in zip(texts, parsed, strict=True) if value is not None)
        if read < 0.95 * sum(counts[unit] for unit in counts if known.get(unit) == known[commonest]):
            expression = None
    base = {_base(unit, dimension) for unit, dimension in known.items() if counts[unit]}
    several = len(base) > 1 or len(dimensions) > 1
    return Diagnostic(
        kind="mixed_units" if several else "number_as_text",
        share=observed.share(found.measured),
        detail=_detail(found, commonest if expression else None, several),
        expression=expression,
        type="DOUBLE" if expression else None,
        examples=tuple(found.written[unit][0] for unit, _ in counts.most_common(5)),
    )


def _base(unit: str, dimension: str) -> float | str:
    """What is the same for two units that are one: how often the dimension's first unit is in it."""
    return unit.strip("°") if dimension == "temperature" else DIMENSIONS[dimension][unit]


def _detail(found: _Measures, converted_to: str | None, several: bool) -> str:
    shares = ", ".join(f"{unit} {count / found.total:.1%}" for unit, count in found.counts.most_common(8))
    if several:
        detail = f"Measures in several units: {shares}; "
        detail += (
            f"the expression gives all in {converted_to}"
            if converted_to
            else "they cannot be converted into one another"
        )
    else:
        detail = f"Numbers are kept as text with their unit: {shares}"
    if found.bare:
        detail += f"; {found.bare / found.total:.1%} have no unit and become NULL"
    return detail + "."


def _expression(text: str, style: Style, counts: Counter[str], commonest: str, known: dict[str, str]) -> str:
    """All measures in the commonest unit; NULL for what has no unit or another dimension's."""
    dimension = known[commonest]
    found = sorted((unit for unit in counts if known.get(unit) == dimension), key=lambda unit: (-len(unit), unit))
    alternatives = "|".join(found).replace('"', r"\x{22}")
    pattern = rf"(?i)^(.*\d\.?)\s*({alternatives})\.?$"
    unit = f"lower(regexp_extract({text}, {literal(pattern)}, 2))"
    number = digits_expression(f"regexp_extract({text}, {literal(pattern)}, 1)", style)
    if dimension != "temperature":
        members = DIMENSIONS[dimension]
        cases = " ".join(f"WHEN {literal(each)} THEN {members[each] / members[commonest]:.12g}" for each in found)
        return f"{number} * CASE {unit} {cases} END"
    cases = " ".join(f"WHEN {literal(each)} THEN {_degrees(number, each, commonest)}" for each in found)
    return f"CASE {unit} {cases} END"


def _degrees(number: str, unit: str, target: str) -> str:
    kind, wanted = unit.strip("°"), target.strip("°")
    if kind == wanted:
        return number
    celsius = {"c": number, "f": f"({number} - 32) * 5 / 9", "k": f"({number} - 273.15)"}[kind]
    return {"c": celsius, "f": f"({celsius} * 9 / 5 + 32)", "k": f"({celsius} + 273.15)"}[wanted]


def _currencies(observed: Observed, texts: list[tuple[str, int]], total: int) -> Diagnostic | None:
    """Several currencies in one column: rates are not ours to know, so there is no expression."""
    counts: Counter[str] = Counter()
    others = 0
    for text, count in texts:
        match = _MONEY.fullmatch(text) if len(text) <= 40 else None
        if match and (match[1] or match[2]):
            counts[match[1] or match[2]] += count
            continue
        others += count
        if others > 0.1 * total:
            return None
    if len(counts) < 2 or sum(counts.values()) < 0.9 * total:
        return None
    shares = ", ".join(f"{sign} {count / total:.1%}" for sign, count in counts.most_common(8))
    return Diagnostic(
        kind="mixed_units",
        share=observed.share(sum(counts.values())),
        detail=f"Amounts in several currencies: {shares}; their numbers cannot be added.",
        examples=tuple(text for text, _ in texts[:5]),
    )
