"""Columns as SQL expressions: with their table, cleaned where their use needs it, and tested against values and days.

In: columns as the state knows them, conditions of a plan. Out: sqlglot expressions. Nothing is pasted as text.
"""

from __future__ import annotations

import datetime
import re
from typing import Literal

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from coset.answering.offline.catalogue import Known, Step, is_number
from coset.answering.offline.plan import Condition, NotSure
from coset.routing.objects.facts import ColumnFacts

DIALECT = "duckdb"
Use = Literal["shown", "compared", "ordered", "counted"]
"""shown: as stored; compared: text brought to one form; ordered: read as a number or day; counted: both."""
COMPARED = frozenset(("padding", "stray_characters", "mixed_case", "encoding", "quoting"))
ORDERED = frozenset(("number_as_text", "date_as_text", "mixed_date_formats", "sentinel", "null_tokens", "units"))
NEVER = frozenset(("counter_disagrees",))


NUMERIC = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "DOUBLE", "FLOAT", "DECIMAL")


def holds_numbers(column: ColumnFacts) -> bool:
    """Whether a column can be compared and ordered as numbers: as it is, or by the expression that cleans it."""
    return is_number(column) or any(
        cleaning.kind in ORDERED and cleaning.expression and (cleaning.type or "").upper().startswith(NUMERIC)
        for cleaning in column.cleaning
    )


def holds_years(column: ColumnFacts) -> bool:
    """Whether the numbers of a column are years: by its name, or because all of them could be."""
    if not is_number(column):
        return False
    if "year" in column.name.lower():
        return True
    try:
        first, last = float(column.minimum or ""), float(column.maximum or "")
    except ValueError:
        return False
    return 1500 <= first <= last <= 2100 and first.is_integer() and last.is_integer()


def parsed(expression: str, alias: str) -> exp.Expr:
    """An expression of the state over the columns of one table, which is read under an alias."""
    try:
        tree = parse_one(expression, read=DIALECT)
    except SqlglotError:
        raise NotSure("an expression of the evidence cannot be composed") from None
    bound = {name.name for each in tree.find_all(exp.Lambda) for name in each.expressions}
    for column in list(tree.find_all(exp.Column)):
        if not column.table and column.name not in bound:
            column.set("table", exp.to_identifier(alias, quoted=False))
    return tree


def stored(column: ColumnFacts, alias: str) -> exp.Expr:
    if column.kind == "column":
        return exp.column(exp.to_identifier(column.name, quoted=True), table=alias)
    return parsed(column.expression, alias)


def used(column: ColumnFacts, alias: str, use: Use) -> exp.Expr:
    """The column as it must be written for a use; a column that cannot be trusted for it raises `NotSure`."""
    expression = stored(column, alias)
    for cleaning in column.cleaning:
        if cleaning.kind in NEVER:
            raise NotSure(f"'{column.reference}' is not to be relied on: {cleaning.detail}")
    return expression if use == "shown" else _cleaned(column, expression, use)


def literal_like(column: ColumnFacts, value: str | float, *, ordered: bool = False) -> exp.Expr:
    """A value brought to the form in which the cleaned column is compared."""
    if isinstance(value, float):
        plain = int(value) if value.is_integer() else value
        number = exp.Literal.number(plain)
        return number if is_number(column) or ordered else exp.Literal.string(str(plain))
    if is_number(column):
        return exp.cast(exp.Literal.string(value), column.type, dialect=DIALECT)
    return _cleaned(column, exp.Literal.string(value), "compared")


def _cleaned(column: ColumnFacts, expression: exp.Expr, use: Use) -> exp.Expr:
    kinds = {"compared": COMPARED, "ordered": ORDERED}.get(use, COMPARED | ORDERED)
    for cleaning in column.cleaning:
        if cleaning.kind in kinds and cleaning.expression is not None:
            try:
                tree = parse_one(cleaning.expression, read=DIALECT)
            except SqlglotError:
                raise NotSure(f"the dirt of '{column.reference}' cannot be cleaned here") from None
            inner = expression
            if isinstance(tree, exp.Column):
                continue
            for node in list(tree.find_all(exp.Column)):
                if node.name == column.name:
                    node.replace(inner.copy())
            expression = tree
    return expression


def identity(known: Known, table: str, alias: str) -> exp.Expr:
    """What tells real things apart: the key of their cluster where rows are duplicated, else the table's key."""
    key = known.key_of(table)
    cluster = known.tables[table].duplicates_key
    if key is None and not cluster:
        raise NotSure(f"{table} has no key that tells its rows apart")
    parts = [parsed(cluster, alias)] if cluster else []
    if key is not None:
        own = stored(key, alias)
        parts.append(exp.cast(own, "VARCHAR", dialect=DIALECT) if parts else own)
    return exp.func("coalesce", *parts, dialect=DIALECT) if len(parts) > 1 else parts[0]


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
