"""Which type the texts of a column can have without losing anything.

In: text values, or the SQL name of a text column. Out: whether they look like a type, and the SQL test for each type.
A number, date or boolean must say so in every value and read back the same; what does not is text:
- `00123`, `+49 30 1234`, digits beyond 64 bits, `1,5`, `N/A`, `-` and `01/02/2024` keep a column text;
- dates and times are ISO (`2024-01-31`, `2024-01-31 10:00:00`, `...Z`); dates with and without a time are TIMESTAMP,
  with and without a zone they are text. Blanks around a value are no part of it.
Nothing here reads a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# Fifteen digits before the point are exact in a DOUBLE, and one digit with an exponent below 300 is finite.
_FIXED = r"-?((0|[1-9][0-9]{0,14})(\.[0-9]*)?|\.[0-9]+)"
# "2E4" may be a code; programs write an exponent with a sign or after a decimal point.
_EXPONENT = r"-?[0-9]((\.[0-9]*)?[eE][+-]|\.[0-9]*[eE])([0-9]{1,2}|[012][0-9]{2})"
_NOT_FINITE = "nan|NaN|NAN|-?(inf|Inf|INF|infinity|Infinity)"
_DOUBLE = f"{_FIXED}|{_EXPONENT}|{_NOT_FINITE}"
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_HOUR = r"([01][0-9]|2[0-3]):[0-5][0-9]"
_CLOCK = rf"{_HOUR}:[0-5][0-9](\.[0-9]{{1,6}})?"
_INSTANT = rf"{_DAY}[ T]{_HOUR}(:[0-5][0-9](\.[0-9]{{1,6}})?)?"
_ZONE = r" ?(Z|[+-][0-9]{2}(:?[0-9]{2})?)"

# type -> (what a value must look like, the SQL test that all its values must pass); the first type that fits is taken.
_TESTS: dict[str, tuple[str, str]] = {
    "BOOLEAN": ("true|false", "{v} IN ('true', 'false', 'True', 'False', 'TRUE', 'FALSE')"),
    "BIGINT": (r"-?[0-9]+", "CAST(TRY_CAST({v} AS BIGINT) AS VARCHAR) = {v}"),
    "DOUBLE": (_DOUBLE, f"regexp_full_match({{v}}, '{_DOUBLE}')"),
    "DATE": (_DAY, "(CAST(TRY_CAST({v} AS DATE) AS VARCHAR) = {v} AND length({v}) = 10)"),
    "TIMESTAMP": (
        f"{_DAY}|{_INSTANT}",
        f"(regexp_full_match({{v}}, '{_DAY}|{_INSTANT}') AND TRY_CAST({{v}} AS TIMESTAMP) IS NOT NULL)",
    ),
    "TIMESTAMP WITH TIME ZONE": (
        f"{_INSTANT}{_ZONE}",
        f"(regexp_full_match({{v}}, '{_INSTANT}{_ZONE}')"
        " AND TRY_CAST({v} AS TIMESTAMP WITH TIME ZONE) IS NOT NULL)",
    ),
    "TIME": (_CLOCK, f"regexp_full_match({{v}}, '{_CLOCK}')"),
}  # fmt: skip
_LOOKS = {name: re.compile(look, re.IGNORECASE) for name, (look, _) in _TESTS.items()}


def type_test(type_name: str, text: str) -> str:
    """SQL that is true for a text which a column of this type can hold without loss."""
    return _TESTS[type_name][1].replace("{v}", text)


def looks_like_data(text: str) -> bool:
    """Whether a text is a number, a date, a time or a boolean, as names of columns seldom are."""
    return any(look.fullmatch(text) for look in _LOOKS.values())


def looks_like_date(text: str) -> bool:
    return bool(_LOOKS["DATE"].fullmatch(text))


def possible_types(values: Iterable[str]) -> list[str]:
    """The types that these values leave open, the one to be taken first."""
    possible = list(_TESTS)
    for value in values:
        if text := value.strip(" "):
            possible = [name for name in possible if _LOOKS[name].fullmatch(text)]
        if not possible:
            break
    return possible
