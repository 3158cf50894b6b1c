"""Tests of a column against values, ranges and days, and equality of the two ends of a join, as SQL expressions.

In: facts of a column, the alias of its table, a condition. Out: sqlglot expressions. Knows no plan.
"""

from __future__ import annotations

import datetime
import re

from sqlglot import exp

from coset.answering.offline.expressions import DIALECT, holds_years, is_number, literal_like, parsed, stored, used
from coset.answering.offline.known import Known, Step
from coset.answering.offline.outcome import NotSure
from coset.answering.offline.plan import Condition
from coset.routing.facts import ColumnFacts

COMPARING: dict[str, type[exp.Binary]] = {">": exp.GT, ">=": exp.GTE, "<": exp.LT, "<=": exp.LTE, "=": exp.EQ}


def how_many(comparison: str, number: int) -> exp.Expr:
    return COMPARING[comparison](this=exp.Count(this=exp.Star()), expression=exp.Literal.number(number))


def ends_of(step: Step, here: str, there: str, known: Known) -> tuple[exp.Expr, exp.Expr]:
    """Both keys of a join; where one is a number and the other a text, both as text."""
    left, right = parsed(step.expression(step.here), here), parsed(step.expression(step.there), there)
    columns = [known.columns.get(end) for end in (*step.relation.left_columns, *step.relation.right_columns)]
    if step.relation.kind == "identity" and len({is_number(column) for column in columns if column}) > 1:
        return exp.cast(left, "VARCHAR", dialect=DIALECT), exp.cast(right, "VARCHAR", dialect=DIALECT)
    return left, right


def equal(step: Step, here: str, there: str, known: Known) -> exp.Expr:
    left, right = ends_of(step, here, there, known)
    return exp.EQ(this=left, expression=right)


def test(column: ColumnFacts, alias: str, condition: Condition) -> exp.Expr:
    if condition.dates is not None:
        return _within(column, alias, condition)
    if condition.comparison == "word":
        pattern = exp.Literal.string(rf"\b{re.escape(str(condition.values[0]))}\b")
        return exp.func("regexp_matches", stored(column, alias), pattern, dialect=DIALECT)
    if condition.comparison == "like":
        part = exp.Lower(this=exp.Literal.string(str(condition.values[0])))
        return exp.func("contains", exp.Lower(this=stored(column, alias)), part, dialect=DIALECT)
    ordered = condition.comparison in ("between", *COMPARING) and condition.comparison != "="
    values = [literal_like(column, value, ordered=ordered) for value in condition.values]
    if condition.comparison == "between":
        return exp.Between(this=used(column, alias, "ordered"), low=values[0], high=values[1])
    if condition.comparison in (">", ">=", "<", "<="):
        return COMPARING[condition.comparison](this=used(column, alias, "ordered"), expression=values[0])
    expression = used(column, alias, "compared")
    return (
        exp.EQ(this=expression, expression=values[0])
        if len(values) == 1
        else exp.In(this=expression, expressions=values)
    )


def _within(column: ColumnFacts, alias: str, condition: Condition) -> exp.Expr:
    """Days from the first up to the day after the last; a column of years is compared by the year."""
    dates = condition.dates
    if dates is None:
        raise NotSure("there is no date to compare with")
    expression = used(column, alias, "ordered")
    first, last = dates.first, dates.last
    if condition.comparison == ">":
        first, last = last + datetime.timedelta(days=1) if last else None, None
    elif condition.comparison == ">=":
        last = None
    elif condition.comparison == "<":
        first, last = None, first - datetime.timedelta(days=1) if first else None
    elif condition.comparison == "<=":
        first = None
    if is_number(column):
        return _years(expression, first, last, column)
    tests: list[exp.Expr] = []
    if first is not None:
        tests.append(exp.GTE(this=expression.copy(), expression=_day(first)))
    if last is not None:
        tests.append(exp.LT(this=expression.copy(), expression=_day(last + datetime.timedelta(days=1))))
    return exp.and_(*tests, dialect=DIALECT)


def _years(
    expression: exp.Expr, first: datetime.date | None, last: datetime.date | None, column: ColumnFacts
) -> exp.Expr:
    whole = (first is None or (first.month, first.day) == (1, 1)) and (
        last is None or (last.month, last.day) == (12, 31)
    )
    if not whole or not holds_years(column):
        raise NotSure(f"'{column.name}' holds no days to compare with")
    tests: list[exp.Expr] = []
    if first is not None:
        tests.append(exp.GTE(this=expression.copy(), expression=exp.Literal.number(first.year)))
    if last is not None:
        tests.append(exp.LTE(this=expression.copy(), expression=exp.Literal.number(last.year)))
    return exp.and_(*tests, dialect=DIALECT)


def _day(day: datetime.date) -> exp.Expr:
    return exp.cast(exp.Literal.string(day.isoformat()), "DATE", dialect=DIALECT)
