"""The values a calculation works with, how they are told apart, and how they are written for a person; limits.

Numbers are `int` or `Decimal`, never `float`; a list is a tuple. No calculation can hang the process or fill its
memory: sizes have limits, and whatever loops takes its steps from the calculation's `Work` first by `spend`, a small
part of a microsecond each. Nothing here knows expressions or functions.
"""

from __future__ import annotations

import datetime
import json
from contextvars import ContextVar
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias, TypeGuard

from coset.errors import UserError

MAX_CHARACTERS = 2_000_000
MAX_TOKENS = 250_000
"""Numbers, names, texts, operators and brackets; commas are free, so a list of 100,000 negative numbers fits."""
MAX_BRACKETS = 50
MAX_OPERATORS = 1_000
"""Operators in a row that no bracket or comma separates: this bounds the depth of the tree Python parses."""
MAX_DEPTH = 100
MAX_DIGITS = 4_000
"""Below the 4,300 digits at which Python itself refuses to print a whole number."""
MAX_BITS = int(MAX_DIGITS * 3.3219)
MAX_TEXT = 1_000_000
MAX_STEPS = 4_000_000


@dataclass
class Work:
    """The steps that are left to one calculation."""

    steps: int = MAX_STEPS


current_work: ContextVar[Work] = ContextVar("current_work")


def spend(steps: int) -> None:
    """Take `steps` from the running calculation, before doing them."""
    work = current_work.get()
    work.steps -= steps
    if work.steps < 0:
        raise UserError("the calculation needs too much work: use shorter lists, shorter texts or smaller numbers")


def too_large() -> UserError:
    return UserError(f"a number in the calculation would have more than {MAX_DIGITS:,} digits: use smaller numbers")


def too_long() -> UserError:
    return UserError(f"a text in the calculation would have more than {MAX_TEXT:,} characters: use shorter texts")


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
