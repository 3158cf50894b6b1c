"""Shares and growth, the arithmetic of reports. What is a percentage is given in percent: 25, not 0.25."""

from __future__ import annotations

from decimal import Decimal

from coset.errors import UserError
from coset.session.calculator.arithmetic import divide, multiply, power, subtract
from coset.session.calculator.functions.signature import Group, Number

CHANGE = Group.named("Shares and growth, in percent")


@CHANGE.function
def ratio(a: Number, b: Number) -> Number:
    """a divided by b.

    ratio(3, 4) = 0.75
    """
    _not_zero(b, "ratio", "b")
    return divide(a, b)


@CHANGE.function
def share(part: Number, whole: Number) -> Number:
    """What percentage of the whole the part is.

    share(1, 4) = 25
    """
    _not_zero(whole, "share", "whole")
    return divide(multiply(part, 100), whole)


@CHANGE.function
def pct_change(a: Number, b: Number) -> Number:
    """By what percentage of a the value grew from a to b.

    pct_change(80, 100) = 25
    pct_change(100, 80) = -20
    """
    _not_zero(a, "pct_change", "a")
    return divide(multiply(subtract(b, a), 100), a)


@CHANGE.function
def cagr(first: Number, last: Number, periods: Number) -> Number:
    """The constant percentage of growth per period that leads from first to last.

    cagr(100, 121, 2) = 10
    """
    if first <= 0 or last <= 0:
        raise UserError("cagr expects first and last to be above 0")
    if periods <= 0:
        raise UserError("cagr expects a number of periods above 0")
    growth = power(Decimal(divide(last, first)), divide(1, periods))
    return multiply(subtract(growth, 1), 100)


def _not_zero(value: Number, name: str, parameter: str) -> None:
    if value == 0:
        raise UserError(f"division by zero: {name} expects '{parameter}' to be other than 0")
