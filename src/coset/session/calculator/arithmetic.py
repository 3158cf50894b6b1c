"""Exact arithmetic of numbers and dates, and which of two values comes first.

Whole numbers stay whole, decimals are decimal, and what must be rounded is rounded last. A result is exact wherever it
has a finite decimal form. What has none (1/3, sqrt(2)) is carried with 50 digits and shown, compared and floored with
34, so that 1/3*3 is 1. The decimal context of a calculation remembers whether anything was rounded; while nothing was,
no digit is dropped.

Only notations of dates that start with the year are read, because 03/04/2024 is two days on two sides of an ocean;
there is no "today". Values compare within one kind; 1 and 1.0 are the same, 1 and true are not; numbers compare as they
are shown. Nothing here knows expressions.
"""

from __future__ import annotations

import calendar
import datetime
import math
import re
from collections.abc import Hashable, Sequence
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    Context,
    Decimal,
    DecimalException,
    DivisionByZero,
    Inexact,
    InvalidOperation,
    Overflow,
    Underflow,
    getcontext,
)
from fractions import Fraction
from functools import cmp_to_key

from coset.errors import UserError
from coset.session.calculator.values import (
    MAX_BITS,
    MAX_DIGITS,
    Moment,
    Number,
    Value,
    format_value,
    is_number,
    kind_of,
    shown,
    spend,
    too_large,
)

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


WORKING_DIGITS = 50
SHOWN_DIGITS = 34
LONGEST_EXACT_QUOTIENT = 1_000
"""A quotient of whole numbers that ends after at most this many decimals is kept in full."""
TRANSCENDENTAL = 300
"""Steps for a logarithm, an exponential or a power."""
_LARGEST_DENOMINATOR = 10**LONGEST_EXACT_QUOTIENT

PI = Decimal("3.1415926535897932384626433832795028841971693993751058209749445923")
E = Decimal("2.7182818284590452353602874713526624977572470936999595749669676277")

_SHOWN = Context(prec=SHOWN_DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
_WIDE = Context(prec=4 * MAX_DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[InvalidOperation])


def working_context() -> Context:
    """The decimal context one calculation runs in."""
    return Context(
        prec=WORKING_DIGITS,
        Emax=MAX_DIGITS - 1,
        Emin=-MAX_DIGITS,
        traps=[DivisionByZero, InvalidOperation, Overflow, Underflow],
    )


def wide_context() -> Context:
    """A context in which no number of a calculation is ever rounded."""
    return _WIDE


def mark_rounded() -> None:
    """Say that a value was made by other means than decimal arithmetic and is not exact."""
    getcontext().flags[Inexact] = True


def settled(number: Number) -> Number:
    """The number as it is shown: with 34 digits once anything in this calculation was rounded."""
    if isinstance(number, int) or not getcontext().flags[Inexact]:
        return number
    return _SHOWN.plus(number)


def whole(number: int) -> int:
    """The number itself, when it is not too large to go on with."""
    bits = number.bit_length()
    if bits > MAX_BITS:
        raise too_large()
    spend(1 + bits // 20)
    return number


def decimal(text: str) -> Decimal:
    """The number a text of digits stands for, exactly."""
    try:
        number = Decimal(text)
    except DecimalException:
        raise too_large() from None
    if number == 0:
        return Decimal(0)
    if abs(number.adjusted()) >= MAX_DIGITS:
        raise UserError(f"the number '{text[:40]}' is too large or too small: use at most {MAX_DIGITS:,} digits")
    return number


def weight(number: Number) -> int:
    """The steps it takes to convert, compare or write out a number of this size."""
    return number.bit_length() // 10 if isinstance(number, int) else abs(number.adjusted()) // 3


def _decimal(number: Number) -> Decimal:
    if isinstance(number, Decimal):
        return number
    spend(weight(number))
    return Decimal(number)


def add(left: Number, right: Number) -> Number:
    if isinstance(left, int) and isinstance(right, int):
        return whole(left + right)
    return _decimal(left) + _decimal(right)


def subtract(left: Number, right: Number) -> Number:
    if isinstance(left, int) and isinstance(right, int):
        return whole(left - right)
    return _decimal(left) - _decimal(right)


def multiply(left: Number, right: Number) -> Number:
    if isinstance(left, int) and isinstance(right, int):
        return whole(left * right)
    return _decimal(left) * _decimal(right)


def divide(left: Number, right: Number) -> Number:
    if right == 0:
        raise UserError("division by zero: the value after '/' is 0")
    if isinstance(left, int) and isinstance(right, int):
        return quotient(left, right)
    return _decimal(left) / _decimal(right)


def floor_divide(left: Number, right: Number) -> int:
    (upper, lower), _ = scaled((settled(left), settled(right)))
    if lower == 0:
        raise UserError("division by zero: the value after '//' is 0")
    return whole(upper // lower)


def remainder(left: Number, right: Number) -> Number:
    """What is left after floor division; it has the sign of `right`."""
    (upper, lower), places = scaled((settled(left), settled(right)))
    if lower == 0:
        raise UserError("division by zero: the value after '%' is 0")
    return quotient(upper % lower, 10**places)


def power(base: Number, exponent: Number) -> Number:
    if isinstance(exponent, Decimal):
        near = Decimal(settled(exponent))
        if near == near.to_integral_value() and abs(near) < 10**18:
            exponent = int(near)
    if exponent == 0:
        return 1
    if base == 0:
        if exponent < 0:
            raise UserError("division by zero: 0 has no negative power")
        return 0
    if isinstance(base, int) and isinstance(exponent, int):
        return _whole_power(base, exponent)
    if base < 0 and not isinstance(exponent, int):
        raise UserError("a negative number has no real power with a fractional exponent: use cbrt(x) for the cube root")
    spend(TRANSCENDENTAL)
    return _decimal(base) ** _decimal(exponent)


def _whole_power(base: int, exponent: int) -> Number:
    if base in {1, -1}:
        return base if exponent % 2 else 1
    if (base.bit_length() - 1) * abs(exponent) > MAX_BITS:
        raise too_large()
    result = whole(base ** abs(exponent))
    return result if exponent > 0 else quotient(1, result)


def quotient(numerator: int, denominator: int) -> Number:
    """Whole where it divides, exact where the decimals end, else with the working digits."""
    if denominator < 0:
        numerator, denominator = -numerator, -denominator
    spend(1 + (numerator.bit_length() + denominator.bit_length()) // 20)
    common = math.gcd(numerator, denominator)
    numerator, denominator = numerator // common, denominator // common
    if denominator == 1:
        return whole(numerator)
    places = _places_of_a_finite_quotient(denominator)
    if places is not None:
        digits = Decimal(numerator * 10**places // denominator)
        return _WIDE.scaleb(digits, -places)
    return _decimal(numerator) / _decimal(denominator)


def _places_of_a_finite_quotient(denominator: int) -> int | None:
    if _LARGEST_DENOMINATOR % denominator:
        return None
    twos = (denominator & -denominator).bit_length() - 1
    power_of_five = denominator >> twos
    fives = int((power_of_five.bit_length() - 1) / math.log2(5))
    while 5**fives < power_of_five:
        fives += 1
    return max(twos, fives)


def number_of(fraction: Fraction) -> Number:
    return quotient(fraction.numerator, fraction.denominator)


def square_root(fraction: Fraction) -> Number:
    """Exact for the square of a fraction, else with the working digits."""
    spend(10 + (fraction.numerator.bit_length() + fraction.denominator.bit_length()) // 10)
    above, below = math.isqrt(fraction.numerator), math.isqrt(fraction.denominator)
    if above * above == fraction.numerator and below * below == fraction.denominator:
        return quotient(above, below)
    return Decimal(number_of(fraction)).sqrt()


def fraction(number: Number) -> Fraction:
    """The number as a fraction of whole numbers."""
    spend(10 + 3 * weight(number))
    return Fraction(number)


def scaled(numbers: Sequence[Number]) -> tuple[list[int], int]:
    """The numbers as whole multiples of 10**-places, so that sums over them are exact and fast."""
    places = 0
    for number in numbers:
        if isinstance(number, Decimal):
            places = max(places, -int(number.as_tuple().exponent))
    # The largest of them sets the price for all: each is about to become a whole number of that many digits.
    longest = max((_whole_digits(number) for number in numbers), default=0) + places
    spend(len(numbers) * (4 + longest // 3))
    if not any(isinstance(number, Decimal) for number in numbers):
        return [int(number) for number in numbers], 0
    factor = 10**places
    return [
        number * factor if isinstance(number, int) else int(_WIDE.scaleb(number, places)) for number in numbers
    ], places


def _whole_digits(number: Number) -> int:
    return number.bit_length() // 3 if isinstance(number, int) else max(number.adjusted(), 0)


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
