"""Statistics over lists of numbers. Sums are taken over exact numbers, and only the last step may round.

What is "of a sample" divides by n - 1, what is "of the population" divides by n.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import MAX_EMAX, MIN_EMIN, Decimal, getcontext
from fractions import Fraction
from itertools import pairwise

from coset.errors import UserError
from coset.session.calculator.arithmetic import (
    add,
    fraction,
    identity,
    in_order,
    mark_rounded,
    multiply,
    number_of,
    order,
    scaled,
    square_root,
    subtract,
)
from coset.session.calculator.functions.signature import (
    Group,
    Number,
    Numbers,
    SomeItems,
    SomeNumbers,
    Value,
)
from coset.session.calculator.values import spend

STATISTICS = Group.named("Statistics")


@STATISTICS.function
def sum_(values: Numbers) -> Number:
    """The sum; 0 for an empty list.

    sum([0.1, 0.2]) = 0.3
    sum(1, 2, 3) = 6
    """
    return number_of(_total(values))


@STATISTICS.function
def product(values: Numbers) -> Number:
    """All values multiplied; 1 for an empty list.

    product([2, 3, 0.5]) = 3
    """
    result: Number = 1
    for value in values:
        result = multiply(result, value)
    return result


@STATISTICS.function
def min_(values: SomeItems) -> Value:
    """The smallest number, the first text or the earliest date.

    min([3, 1, 2]) = 1
    min("b", "a") = a
    """
    return in_order(values)[0]


@STATISTICS.function
def max_(values: SomeItems) -> Value:
    """The largest number, the last text or the latest date.

    max(3, 1, 2) = 3
    """
    return in_order(values)[-1]


@STATISTICS.function
def range_(values: SomeNumbers) -> Number:
    """The largest minus the smallest.

    range([3, 10, 5]) = 7
    """
    return subtract(max(values), min(values))


@STATISTICS.function
def mean(values: SomeNumbers) -> Number:
    """The arithmetic mean.

    mean([1, 2, 3, 4]) = 2.5
    """
    return number_of(_mean(values))


@STATISTICS.function
def weighted_mean(values: SomeNumbers, weights: SomeNumbers) -> Number:
    """The mean where each value counts by its weight.

    weighted_mean([10, 20], [3, 1]) = 12.5
    """
    _same_length(values, weights, "weighted_mean")
    _long_enough(values, 1, "weighted_mean")
    total = _total(weights)
    if total == 0:
        raise UserError("weighted_mean expects weights whose sum is not 0")
    return number_of(_total_of_products(values, weights) / total)


@STATISTICS.function
def geometric_mean(values: SomeNumbers) -> Number:
    """The n-th root of the product of n numbers above 0.

    geometric_mean([2, 8]) = 4
    """
    if min(values) <= 0:
        raise UserError("geometric_mean expects numbers above 0")
    # The product of many numbers leaves any range before the root brings it back.
    roomy = getcontext().copy()
    roomy.Emax, roomy.Emin, roomy.prec = MAX_EMAX, MIN_EMIN, roomy.prec + 10
    result = Decimal(1)
    for value in values:
        result = roomy.multiply(result, Decimal(value))
    mark_rounded()
    spend(1_000)
    return +roomy.exp(roomy.divide(roomy.ln(result), Decimal(len(values))))


@STATISTICS.function
def harmonic_mean(values: SomeNumbers) -> Number:
    """n divided by the sum of the reciprocals of n numbers above 0.

    harmonic_mean([40, 60]) = 48
    """
    if min(values) <= 0:
        raise UserError("harmonic_mean expects numbers above 0")
    roomy = getcontext().copy()
    roomy.prec += 10
    result = Decimal(0)
    for value in values:
        result = roomy.add(result, roomy.divide(Decimal(1), Decimal(value)))
    mark_rounded()
    return Decimal(len(values)) / result


@STATISTICS.function
def median(values: SomeNumbers) -> Number:
    """The middle value, or the mean of the two in the middle.

    median([5, 1, 2, 3]) = 2.5
    """
    return number_of(_quantile(values, Fraction(1, 2)))


@STATISTICS.function
def mode(values: SomeItems) -> Value:
    """The most frequent value; among equally frequent ones the first in the list.

    mode(["a", "b", "b"]) = b
    """
    return _most_frequent(values)[0]


@STATISTICS.function
def modes(values: SomeItems) -> Value:
    """All values that are most frequent, in the order of the list.

    modes([1, 1, 2, 2, 3]) = [1, 2]
    """
    return tuple(_most_frequent(values))


@STATISTICS.function
def stdev(values: SomeNumbers) -> Number:
    """The standard deviation of a sample.

    stdev([2, 4, 6]) = 2
    """
    return square_root(_variance(values, 1, "stdev"))


@STATISTICS.function
def pstdev(values: SomeNumbers) -> Number:
    """The standard deviation of the population.

    pstdev([1, 3]) = 1
    """
    return square_root(_variance(values, 0, "pstdev"))


@STATISTICS.function
def variance(values: SomeNumbers) -> Number:
    """The variance of a sample.

    variance([2, 4, 6]) = 4
    """
    return number_of(_variance(values, 1, "variance"))


@STATISTICS.function
def pvariance(values: SomeNumbers) -> Number:
    """The variance of the population.

    pvariance([1, 3]) = 1
    """
    return number_of(_variance(values, 0, "pvariance"))


@STATISTICS.function
def quantile(values: SomeNumbers, q: Number) -> Number:
    """The value below which a part q (0 to 1) lies, interpolated between neighbours as spreadsheets and SQL do.

    quantile([1, 2, 3, 4], 0.25) = 1.75
    """
    if not 0 <= q <= 1:
        raise UserError("quantile expects q from 0 to 1: use percentile for 0 to 100")
    return number_of(_quantile(values, fraction(q)))


@STATISTICS.function
def percentile(values: SomeNumbers, p: Number) -> Number:
    """The quantile for p percent (0 to 100).

    percentile([1, 2, 3, 4, 5], 90) = 4.6
    """
    if not 0 <= p <= 100:
        raise UserError("percentile expects p from 0 to 100")
    return number_of(_quantile(values, fraction(p) / 100))


@STATISTICS.function
def iqr(values: SomeNumbers) -> Number:
    """The interquartile range: the 75th percentile minus the 25th.

    iqr([1, 2, 3, 4]) = 1.5
    """
    return number_of(_quantile(values, Fraction(3, 4)) - _quantile(values, Fraction(1, 4)))


@STATISTICS.function
def zscore(x: Number, values: SomeNumbers) -> Number:
    """By how many standard deviations of the sample x lies above the mean of the values.

    zscore(8, [2, 4, 6]) = 2
    """
    spread = _variance(values, 1, "zscore")
    if spread == 0:
        raise UserError("zscore expects values that are not all equal")
    distance = fraction(x) - _mean(values)
    root = square_root(distance * distance / spread)
    return root if distance >= 0 else -root


@STATISTICS.function
def rank(x: Number, values: SomeNumbers) -> Number:
    """The place of x among the values from the largest down: 1 plus how many are larger.

    rank(7, [10, 7, 7, 3]) = 2
    """
    spend(5 * len(values))
    return 1 + sum(order(value, x) > 0 for value in values)


@STATISTICS.function
def covariance(xs: SomeNumbers, ys: SomeNumbers) -> Number:
    """The covariance of a sample.

    covariance([1, 2, 3], [2, 4, 6]) = 2
    """
    _pairs(xs, ys, "covariance")
    return number_of(_co_moment(xs, ys) / (len(xs) - 1))


@STATISTICS.function
def correlation(xs: SomeNumbers, ys: SomeNumbers) -> Number:
    """Pearson's correlation, from -1 to 1.

    correlation([1, 2, 3], [6, 4, 2]) = -1
    """
    _pairs(xs, ys, "correlation")
    x_spread, y_spread = _co_moment(xs, xs), _co_moment(ys, ys)
    if x_spread == 0 or y_spread == 0:
        raise UserError("correlation expects lists whose values are not all equal")
    together = _co_moment(xs, ys)
    root = square_root(together * together / (x_spread * y_spread))
    return root if together >= 0 else -root


@STATISTICS.function
def slope(xs: SomeNumbers, ys: SomeNumbers) -> Number:
    """The slope of the least-squares line through the points, x first.

    slope([1, 2, 3], [3, 5, 7]) = 2
    """
    return number_of(_line(xs, ys, "slope")[0])


@STATISTICS.function
def intercept(xs: SomeNumbers, ys: SomeNumbers) -> Number:
    """Where the least-squares line through the points, x first, meets x = 0.

    intercept([1, 2, 3], [3, 5, 7]) = 1
    """
    return number_of(_line(xs, ys, "intercept")[1])


@STATISTICS.function
def cumsum(values: Numbers) -> Value:
    """The running totals.

    cumsum([1, 2, 3]) = [1, 3, 6]
    """
    totals: list[Number] = []
    for value in values:
        totals.append(add(totals[-1], value) if totals else value)
    return tuple(totals)


@STATISTICS.function
def diff(values: Numbers) -> Value:
    """Each value minus the one before it.

    diff([1, 4, 9]) = [3, 5]
    """
    return tuple(subtract(after, before) for before, after in pairwise(values))


def _total(values: Sequence[Number]) -> Fraction:
    numbers, places = scaled(values)
    return Fraction(sum(numbers), 10**places)


def _total_of_products(xs: Sequence[Number], ys: Sequence[Number]) -> Fraction:
    (first, first_places), (second, second_places) = scaled(xs), scaled(ys)
    longest = max(map(int.bit_length, first), default=0) + max(map(int.bit_length, second), default=0)
    spend(len(first) * (1 + (longest // 100) ** 2 // 10))
    total = sum(x * y for x, y in zip(first, second, strict=True))
    return Fraction(total, 10 ** (first_places + second_places))


def _mean(values: SomeNumbers) -> Fraction:
    return _total(values) / len(values)


def _co_moment(xs: SomeNumbers, ys: SomeNumbers) -> Fraction:
    """The sum of (x - mean of xs) * (y - mean of ys), without loss because every number in it is exact."""
    return _total_of_products(xs, ys) - _total(xs) * _total(ys) / len(xs)


def _variance(values: SomeNumbers, fewer: int, name: str) -> Fraction:
    _long_enough(values, 1 + fewer, name)
    return _co_moment(values, values) / (len(values) - fewer)


def _quantile(values: SomeNumbers, q: Fraction) -> Fraction:
    spend(10 * len(values))
    ordered = sorted(values)
    position = q * (len(ordered) - 1)
    below = int(position)
    lower = fraction(ordered[below])
    if position == below:
        return lower
    return lower + (fraction(ordered[below + 1]) - lower) * (position - below)


def _most_frequent(values: SomeItems) -> list[Value]:
    first: dict[object, Value] = {}
    counts: dict[object, int] = {}
    for value in values:
        key = identity(value)
        first.setdefault(key, value)
        counts[key] = counts.get(key, 0) + 1
    most = max(counts.values())
    return [first[key] for key, count in counts.items() if count == most]


def _line(xs: SomeNumbers, ys: SomeNumbers, name: str) -> tuple[Fraction, Fraction]:
    _pairs(xs, ys, name)
    spread = _co_moment(xs, xs)
    if spread == 0:
        raise UserError(f"{name} expects x values that are not all equal")
    rise = _co_moment(xs, ys) / spread
    return rise, _mean(ys) - rise * _mean(xs)


def _pairs(xs: SomeNumbers, ys: SomeNumbers, name: str) -> None:
    _same_length(xs, ys, name)
    _long_enough(xs, 2, name)


def _same_length(first: SomeNumbers, second: SomeNumbers, name: str) -> None:
    if len(first) != len(second):
        raise UserError(f"{name} expects two lists of one length, but got {len(first)} and {len(second)} values")


def _long_enough(values: SomeNumbers, least: int, name: str) -> None:
    if len(values) < least:
        raise UserError(f"{name} expects at least {least} values, but got {len(values)}")
