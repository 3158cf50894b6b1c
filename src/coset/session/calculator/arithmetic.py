"""Exact arithmetic: whole numbers stay whole, decimals are decimal, and what must be rounded is rounded last.

A result is exact wherever it has a finite decimal form. What has none (1/3, sqrt(2)) is carried with 50 digits and
shown, compared and floored with 34, so that 1/3*3 is 1. The decimal context of a calculation remembers whether
anything was rounded; while nothing was, no digit is dropped.

Nothing here knows expressions, lists or dates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
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

from coset.errors import UserError
from coset.session.calculator.limits import MAX_BITS, MAX_DIGITS, spend, too_large
from coset.session.calculator.values import Number

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
