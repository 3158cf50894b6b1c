"""When two values are the same, which comes first, and whether one is in the other.

Values compare within one kind; 1 and 1.0 are the same, 1 and true are not. Numbers compare as they are shown.
Nothing here knows the syntax of comparisons.
"""

from __future__ import annotations

import datetime
from collections.abc import Hashable, Sequence
from functools import cmp_to_key

from coset.errors import UserError
from coset.session.calculator.arithmetic import settled, weight
from coset.session.calculator.limits import spend
from coset.session.calculator.moments import as_datetime, comparable_moments
from coset.session.calculator.values import Value, is_number, kind_of, shown


def identity(value: Value) -> Hashable:
    """A key that is equal for values that are the same, for use in sets and dictionaries."""
    spend(5)
    if isinstance(value, tuple):
        return ("list", *[identity(item) for item in value])
    if isinstance(value, bool):
        return ("boolean", value)
    if is_number(value):
        spend(weight(value))
        return settled(value)
    return as_datetime(value) if isinstance(value, datetime.date) else value


def same(left: Value, right: Value) -> bool:
    return identity(left) == identity(right)


def contained(item: Value, container: Value) -> bool:
    if isinstance(container, tuple):
        key = identity(item)
        return any(identity(member) == key for member in container)
    if isinstance(container, str) and isinstance(item, str):
        spend(len(container) // 10)
        return item in container
    raise UserError(f"only a list holds items and a text holds texts, but got {shown(item)} in {shown(container)}")


def order(left: Value, right: Value) -> int:
    """Negative, zero or positive as `left` is before, equal to or after `right`."""
    spend(2)
    if is_number(left) and is_number(right):
        spend(weight(left) + weight(right))
        first, second = settled(left), settled(right)
        return (first > second) - (first < second)
    if isinstance(left, str) and isinstance(right, str):
        return (left > right) - (left < right)
    if isinstance(left, datetime.date) and isinstance(right, datetime.date):
        earlier, later = comparable_moments(left, right)
        return (earlier > later) - (earlier < later)
    raise UserError(f"{shown(left)} and {shown(right)} have no order: compare two numbers, two texts or two dates")


def in_order(items: Sequence[Value]) -> list[Value]:
    """The items sorted upwards; they must all be numbers, all texts or all dates."""
    spend(10 * len(items))
    kinds = {kind_of(item) for item in items}
    if kinds <= {"a number"} or kinds <= {"a text"}:
        # One kind with a total order of its own: Python sorts it without asking us for each pair.
        return sorted(items)  # type: ignore[type-var]
    if kinds == {"a date"}:
        moments = [item for item in items if isinstance(item, datetime.date)]
        for moment in moments:
            comparable_moments(moments[0], moment)
        in_time = sorted(moments, key=as_datetime)
        return list(in_time)
    # What is left has no order, except a list of one: comparing a pair says so.
    return sorted(items, key=cmp_to_key(order))
