"""Functions of single numbers: rounding, roots, logarithms, divisors, counting arrangements."""

from __future__ import annotations

import math
import re
import unicodedata
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, getcontext

from coset.errors import UserError
from coset.session.calculator import arithmetic
from coset.session.calculator.arithmetic import TRANSCENDENTAL, divide, fraction, mark_rounded, settled, whole
from coset.session.calculator.functions.signature import Group, Number, SomeNumbers, Text, Whole
from coset.session.calculator.values import MAX_BITS, shown, spend, too_large

ELEMENTARY = Group.named("Numbers")
LARGEST_FACTORIAL = 1_000
MOST_DECIMALS = 1_000
LONGEST_FORMATTED_NUMBER = 1_000
# Sign, digits (or groups of them with one separator throughout), decimals, exponent, percent.
_FORMATTED = re.compile(
    r"([+-]?) ?(\d+|\d{1,3}([,'_ ])(?:\d{2,3}\3)*\d{3})?(\.\d*)?([eE][+-]?\d{1,4})? ?(%?)", re.ASCII
)


@ELEMENTARY.function
def number(text: Text) -> Number:
    """The number in a formatted text: thousands in groups, currency signs, percent, brackets for a negative one.

    number("$1,234.50") = 1234.5
    number("15%") = 0.15
    number("(2,000)") = -2000
    """
    kept = text if len(text) <= LONGEST_FORMATTED_NUMBER else ""
    kinds = ((sign, unicodedata.category(sign)) for sign in kept.replace("−", "-"))
    bare = "".join(" " if kind == "Zs" else sign for sign, kind in kinds if kind != "Sc").strip()
    negative = bare.startswith("(") and bare.endswith(")")
    match = _FORMATTED.fullmatch(bare[1:-1].strip() if negative else bare)
    if match is None or not (match[2] or (match[4] or ".") != "."):
        raise UserError(f'number cannot read \'{text[:40]}\': write it like 1234.5, "1,234.50", "$5" or "15%"')
    whole_part = re.sub(r"\D", "", match[2] or "0")
    digits = f"{match[1]}{whole_part}{match[4] or ''}{match[5] or ''}"
    found: Number = arithmetic.decimal(digits) if match[4] or match[5] else int(digits)
    if match[6]:
        found = divide(found, 100)
    return -found if negative else found


@ELEMENTARY.function
def abs_(x: Number) -> Number:
    """The number without its sign.

    abs(-3) = 3
    """
    return x if x >= 0 else -x


@ELEMENTARY.function
def sign(x: Number) -> Number:
    """-1, 0 or 1.

    sign(-0.5) = -1
    """
    return (x > 0) - (x < 0)


@ELEMENTARY.function
def round_(x: Number, digits: Whole = 0) -> Number:
    """Rounded to so many decimals (negative: to tens, hundreds), halves away from zero.

    round(2.5) = 3
    round(-2.5) = -3
    round(2.345, 2) = 2.35
    round(1250, -2) = 1300
    """
    return _rounded(x, digits, ROUND_HALF_UP)


@ELEMENTARY.function
def round_even(x: Number, digits: Whole = 0) -> Number:
    """Rounded to so many decimals, halves to the even neighbour (banker's rounding).

    round_even(2.5) = 2
    round_even(0.125, 2) = 0.12
    """
    return _rounded(x, digits, ROUND_HALF_EVEN)


@ELEMENTARY.function
def floor(x: Number, digits: Whole = 0) -> Number:
    """Rounded down to so many decimals.

    floor(-2.5) = -3
    """
    return _rounded(x, digits, ROUND_FLOOR)


@ELEMENTARY.function
def ceil(x: Number, digits: Whole = 0) -> Number:
    """Rounded up to so many decimals.

    ceil(2.1) = 3
    """
    return _rounded(x, digits, ROUND_CEILING)


@ELEMENTARY.function
def trunc(x: Number, digits: Whole = 0) -> Number:
    """Cut after so many decimals.

    trunc(-2.7) = -2
    """
    return _rounded(x, digits, ROUND_DOWN)


def _rounded(x: Number, digits: int, how: str) -> Number:
    if abs(digits) > MOST_DECIMALS:
        raise UserError(f"rounding expects at most {MOST_DECIMALS:,} decimals, but got {shown(digits)}")
    if isinstance(x, int) and digits >= 0:
        return x
    spend(20 + 3 * arithmetic.weight(x))
    value = settled(x)
    if isinstance(value, Decimal) and value.as_tuple().exponent >= -digits:  # type: ignore[operator]
        return value if digits > 0 else int(value)
    wide = arithmetic.wide_context()
    # quantize to a positive exponent would come back as 1.3E+3: rounding the scaled number avoids the special case.
    scaled = wide.scaleb(Decimal(value), digits).to_integral_value(how, wide)
    result = wide.scaleb(scaled, -digits)
    return result if digits > 0 else int(result)


@ELEMENTARY.function
def sqrt(x: Number) -> Number:
    """The square root.

    sqrt(16) = 4
    sqrt(0.25) = 0.5
    """
    if x < 0:
        raise UserError("sqrt expects a number that is not negative")
    return arithmetic.square_root(fraction(x))


@ELEMENTARY.function
def cbrt(x: Number) -> Number:
    """The cube root, of negative numbers too.

    cbrt(-27) = -3
    """
    if x == 0:
        return 0
    spend(TRANSCENDENTAL)
    roomy = getcontext().copy()
    roomy.prec += 10
    root = +roomy.power(abs(Decimal(x)), roomy.divide(Decimal(1), Decimal(3)))
    mark_rounded()
    return root if x > 0 else -root


@ELEMENTARY.function
def exp(x: Number) -> Number:
    """e to the power of x.

    exp(0) = 1
    """
    spend(TRANSCENDENTAL)
    return Decimal(x).exp()


@ELEMENTARY.function
def ln(x: Number) -> Number:
    """The natural logarithm.

    ln(1) = 0
    """
    return _positive(x, "ln").ln()


@ELEMENTARY.function
def log10(x: Number) -> Number:
    """The logarithm to base 10.

    log10(1000) = 3
    """
    return _positive(x, "log10").log10()


@ELEMENTARY.function
def log2(x: Number) -> Number:
    """The logarithm to base 2.

    log2(8) = 3
    """
    return _positive(x, "log2").ln() / Decimal(2).ln()


@ELEMENTARY.function
def log(x: Number, base: Number) -> Number:
    """The logarithm to a base, which must be given because log(x) means ln in some places and log10 in others.

    log(81, 3) = 4
    """
    if base == 1:
        raise UserError("log expects a base other than 1")
    return _positive(x, "log").ln() / _positive(base, "log").ln()


def _positive(x: Number, name: str) -> Decimal:
    if x <= 0:
        raise UserError(f"{name} expects a number above 0")
    spend(TRANSCENDENTAL)
    return Decimal(x)


@ELEMENTARY.function
def pow_(x: Number, y: Number) -> Number:
    """x to the power of y, as x^y and x**y.

    pow(2, 10) = 1024
    pow(2, -2) = 0.25
    """
    return arithmetic.power(x, y)


@ELEMENTARY.function
def mod(x: Number, y: Number) -> Number:
    """The remainder of x // y, with the sign of y, as x % y.

    mod(7, 3) = 1
    mod(-7, 3) = 2
    """
    return arithmetic.remainder(x, y)


@ELEMENTARY.function
def clamp(x: Number, low: Number, high: Number) -> Number:
    """x, but at least low and at most high.

    clamp(12, 0, 10) = 10
    """
    if low > high:
        raise UserError("clamp expects low to be at most high")
    return min(max(x, low), high)


@ELEMENTARY.function
def gcd(values: SomeNumbers) -> Number:
    """The greatest common divisor.

    gcd(12, 18) = 6
    """
    return math.gcd(*_whole_numbers(values, "gcd"))


@ELEMENTARY.function
def lcm(values: SomeNumbers) -> Number:
    """The least common multiple.

    lcm(4, 6) = 12
    """
    result = 1
    for each in _whole_numbers(values, "lcm"):
        result = whole(math.lcm(result, each))
    return result


def _whole_numbers(values: SomeNumbers, name: str) -> list[int]:
    for value in values:
        if value != int(value):
            raise UserError(f"{name} expects whole numbers")
    return [whole(int(value)) for value in values]


@ELEMENTARY.function
def factorial(n: Whole) -> Number:
    """n! for n up to 1000.

    factorial(5) = 120
    """
    if not 0 <= n <= LARGEST_FACTORIAL:
        raise UserError(f"factorial expects a whole number from 0 to {LARGEST_FACTORIAL}")
    spend(n)
    return whole(math.factorial(n))


@ELEMENTARY.function
def comb(n: Whole, k: Whole) -> Number:
    """In how many ways k of n can be chosen, whatever the order.

    comb(5, 2) = 10
    """
    _not_negative(n, k, "comb")
    if k > n:
        return 0
    k = min(k, n - k)
    # comb(n, k) is at least 2**k, so a longer loop could not end within the limit on digits.
    if k > MAX_BITS:
        raise too_large()
    result = 1
    for step in range(k):
        result = whole(result * (n - step) // (step + 1))
    return result


@ELEMENTARY.function
def perm(n: Whole, k: Whole) -> Number:
    """In how many ways k of n can be put in order.

    perm(5, 2) = 20
    """
    _not_negative(n, k, "perm")
    if k > n:
        return 0
    if k > MAX_BITS:
        raise too_large()
    result = 1
    for step in range(k):
        result = whole(result * (n - step))
    return result


def _not_negative(n: int, k: int, name: str) -> None:
    if n < 0 or k < 0:
        raise UserError(f"{name} expects whole numbers that are not negative")
