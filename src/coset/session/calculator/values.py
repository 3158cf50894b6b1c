"""The values a calculation works with, how they are told apart, and how they are written for a person.

Numbers are `int` or `Decimal`, never `float`; a list is a tuple. Nothing here knows expressions or functions.
"""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from typing import TypeAlias, TypeGuard

Number: TypeAlias = int | Decimal
Moment: TypeAlias = datetime.date | datetime.datetime
Value: TypeAlias = "bool | int | Decimal | str | datetime.date | datetime.datetime | tuple[Value, ...] | None"


def kind_of(value: Value) -> str:
    """The word a person would use for the value's kind; values compare only within one kind."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, int | Decimal):
        return "a number"
    if isinstance(value, str):
        return "a text"
    if isinstance(value, datetime.date):
        return "a date"
    return "a list"


def is_number(value: Value) -> TypeGuard[Number]:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def format_value(value: Value) -> str:
    """The value as a person writes it: 1000 and 0.25, never 1E+3; a text bare, but quoted within a list."""
    return value if isinstance(value, str) else _written(value)


def _written(value: Value) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Decimal):
        return _plain(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, datetime.date):
        return value.isoformat()
    return "[" + ", ".join(_written(item) for item in value) + "]"


def _plain(number: Decimal) -> str:
    text = format(number, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in {"-0", ""} else text


def shown(value: Value) -> str:
    """A short description of a value for an error message: its kind and the value itself, cut when long."""
    if value is None or isinstance(value, bool):
        return _written(value)
    if isinstance(value, tuple):
        return "a list" if value else "an empty list"
    text = _written(value)
    return f"{kind_of(value)}, {text if len(text) <= 40 else text[:37] + '...'}"
