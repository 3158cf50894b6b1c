"""Dates and times: reading them, comparing them, and stepping through the calendar.

A moment is a `date` or a `datetime`. Only notations that start with the year are read, because 03/04/2024 is two
different days on two sides of an ocean. There is no "today": the same expression always has the same value.
"""

from __future__ import annotations

import calendar
import datetime
import re

from coset.errors import UserError
from coset.session.calculator.arithmetic import quotient, settled
from coset.session.calculator.values import Moment, Number, format_value

_YEAR_FIRST = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T ](.+))?", re.ASCII)
_SHAPES = "write it like 2024-02-29 or 2024-02-29 13:45:00"
_MICROSECONDS_PER_DAY = 86_400_000_000


def read_moment(text: str) -> Moment:
    """A date, or a date and time where the text has one."""
    stripped = text.strip() if len(text) <= 50 else ""
    if re.fullmatch(r"\d{4}-?\d{2}|\d{4}", stripped, re.ASCII):
        raise UserError(f"'{stripped}' names no single day: {_SHAPES}")
    year_first = _YEAR_FIRST.fullmatch(stripped)
    if year_first:
        year, month, day, time = year_first.groups()
        stripped = f"{year}-{month:0>2}-{day:0>2}" + (f"T{time.strip()}" if time else "")
    try:
        if len(stripped) <= 10 and "T" not in stripped and " " not in stripped:
            return datetime.date.fromisoformat(stripped)
        return datetime.datetime.fromisoformat(stripped)
    except ValueError as error:
        # Python's reason is worth keeping only where the shape is right and the day does not exist.
        impossible = year_first and ("out of range" in str(error) or "must be in" in str(error))
        reason = "does not exist in the calendar" if impossible else "is not a date the calculator can read"
        raise UserError(f"'{text[:40]}' {reason}: {_SHAPES}") from None


def comparable_moments(left: Moment, right: Moment) -> tuple[datetime.datetime, datetime.datetime]:
    """Both as date and time; a date is its midnight."""
    first, second = as_datetime(left), as_datetime(right)
    if (first.tzinfo is None) != (second.tzinfo is None):
        raise UserError(
            f"{format_value(left)} and {format_value(right)} do not compare: give both a time zone, or neither"
        )
    return first, second


def as_datetime(moment: Moment) -> datetime.datetime:
    if isinstance(moment, datetime.datetime):
        return moment
    return datetime.datetime(moment.year, moment.month, moment.day)


def as_date(moment: Moment) -> datetime.date:
    return moment.date() if isinstance(moment, datetime.datetime) else moment


def days_from(start: Moment, end: Moment) -> Number:
    """Days from start to end: whole between dates, with decimals between times."""
    if not isinstance(start, datetime.datetime) and not isinstance(end, datetime.datetime):
        return (end - start).days
    return quotient(microseconds_from(start, end), _MICROSECONDS_PER_DAY)


def microseconds_from(start: Moment, end: Moment) -> int:
    first, second = comparable_moments(start, end)
    return (second - first) // datetime.timedelta(microseconds=1)


def add_days(moment: Moment, days: Number) -> Moment:
    number = settled(days)
    if number != int(number):
        raise UserError(f"a date moves by whole days, but got {format_value(days)}: use add_hours for parts of a day")
    return shift(moment, int(number), "days")


def shift(moment: Moment, amount: int, unit: str) -> Moment:
    """The moment `amount` days, hours, minutes or seconds later."""
    try:
        return moment + datetime.timedelta(**{unit: amount})
    except OverflowError:
        raise _outside() from None


def add_months(moment: Moment, months: int) -> Moment:
    """The same day `months` later, or the last day of that month where it is shorter."""
    index = moment.year * 12 + moment.month - 1 + months
    year, month = index // 12, index % 12 + 1
    if not datetime.MINYEAR <= year <= datetime.MAXYEAR:
        raise _outside()
    return moment.replace(year=year, month=month, day=min(moment.day, calendar.monthrange(year, month)[1]))


def months_from(start: Moment, end: Moment) -> int:
    """Complete months: the most by which `start` can be moved without passing `end`; negative when end is earlier."""
    first, second = comparable_moments(start, end)
    if second < first:
        return -months_from(end, start)
    months = (second.year - first.year) * 12 + second.month - first.month
    return months - 1 if add_months(first, months) > second else months


def _outside() -> UserError:
    return UserError("the date would fall outside the years 1 to 9999: use a smaller step")
