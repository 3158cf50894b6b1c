"""Names and values as DuckDB SQL text.

In: a name, a text, a number or a date. Out: the text that stands for it in a statement. Knows no statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from coset.sql_text import identifier, literal

BLANKS = " \t\r\n\u00a0\u202f\u2007\u3000\u200b\ufeff"
"""What is cut off at both ends of a text before it is read; the cutting itself is reported as padding."""

TEXT_TYPE = re.compile(r"(VARCHAR|CHAR|BPCHAR|TEXT|STRING|ENUM)\b", re.IGNORECASE)
INTEGER_TYPE = re.compile(r"U?(TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT|INT\d*)$", re.IGNORECASE)
FLOAT_TYPE = re.compile(r"(DOUBLE|FLOAT|REAL)$", re.IGNORECASE)
DECIMAL_TYPE = re.compile(r"(DECIMAL|NUMERIC)\b", re.IGNORECASE)
DATE_TYPE = re.compile(r"(DATE|TIMESTAMP|DATETIME)", re.IGNORECASE)


def one_of(texts: Iterable[str]) -> str:
    return "(" + ", ".join(literal(text) for text in texts) + ")"


def is_list(type_name: str) -> bool:
    return type_name.endswith("]")


def is_text(type_name: str) -> bool:
    return TEXT_TYPE.match(type_name) is not None and not is_list(type_name)


def is_integer(type_name: str) -> bool:
    return INTEGER_TYPE.match(type_name) is not None


def is_number(type_name: str) -> bool:
    if is_list(type_name):
        return False
    return is_integer(type_name) or FLOAT_TYPE.match(type_name) is not None or DECIMAL_TYPE.match(type_name) is not None


def is_date(type_name: str) -> bool:
    return DATE_TYPE.match(type_name) is not None and not is_list(type_name)


def as_text(column: str, type_name: str) -> str:
    """The column as VARCHAR; an ENUM compares as text only after a cast."""
    name = identifier(column)
    return f"CAST({name} AS VARCHAR)" if type_name.upper().startswith("ENUM") else name


BLANKS_PATTERN = r"[\s\x{00a0}\x{202f}\x{2007}\x{3000}\x{200b}\x{feff}]+"


def trimmed(column: str, type_name: str = "VARCHAR", *, all_blanks: bool = True) -> str:
    """The column without blanks at both ends; plain spaces only, or every kind of blank there is."""
    text = as_text(column, type_name)
    if not all_blanks:
        return f"trim({text})"
    return f"regexp_replace({text}, '^{BLANKS_PATTERN}|{BLANKS_PATTERN}$', '', 'g')"
