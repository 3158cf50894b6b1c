"""From a plan to one SELECT.

In: a plan and what is known. Out: a sqlglot tree in DuckDB's dialect. Columns that are shown or grouped by are joined
only where each row has one partner, so no join multiplies rows; every other condition is a membership (`IN`), which
never does. Duplicates of one real thing are brought together by the key of their cluster.
"""

from __future__ import annotations

import datetime
import re

from sqlglot import exp

from coset.answering.offline.expressions import (
    DIALECT,
    identity,
    is_number,
    literal_like,
    parsed,
    stored,
    used,
)
from coset.answering.offline.known import Known, Step
from coset.answering.offline.outcome import NotSure
from coset.answering.offline.plan import Condition, Filter, Linked, Output, Plan
from coset.routing.facts import ColumnFacts

COMPARING: dict[str, type[exp.Binary]] = {">": exp.GT, ">=": exp.GTE, "<": exp.LT, "<=": exp.LTE, "=": exp.EQ}
ROOT = "t0"


def compose(plan: Plan, known: Known) -> exp.Expr:
    if plan.both:
        sides = [_Statement(plan.having(condition), known).select() for condition in plan.both]
        return exp.intersect(*sides, dialect=DIALECT)
    return _Statement(plan, known).select()


class _Statement:
    def __init__(self, plan: Plan, known: Known) -> None:
        self.plan, self.known = plan, known
        self.aliases = {plan.table: ROOT}
        self.joins: list[tuple[str, str, exp.Expr]] = []
        self.ways = known.ways(plan.table)
        self.numbers = 0
        self.clustered = plan.entities and bool(known.tables[plan.table].duplicates_key)

    def select(self) -> exp.Select:
        plan = self.plan
        for reference in self._columns_shown():
            self._join(self.known.columns[reference].table)
        if plan.per is not None:
            self._join(plan.per)
        conditions = [self._condition(each) for each in plan.filters]
        query = exp.select(*self._projections(), dialect=DIALECT).from_(self._source(plan.table, ROOT))
        for table, alias, condition in self.joins:
            query = query.join(self._source(table, alias), on=condition, dialect=DIALECT)
        if conditions:
            query = query.where(*conditions, dialect=DIALECT)
        query = self._grouped(query)
        if plan.distinct and not plan.groups and not self.clustered:
            query = query.distinct()
        return self._ordered(query)

    def _columns_shown(self) -> list[str]:
        plan = self.plan
        outputs = [*plan.outputs, *([plan.order] if plan.order else [])]
        return [*(output.column for output in outputs if output.column), *plan.groups]

    def _source(self, table: str, alias: str) -> exp.Expr:
        return exp.alias_(exp.to_table(self.known.tables[table].sql_name, dialect=DIALECT), alias, table=True)

    def _join(self, table: str) -> str:
        if table in self.aliases:
            return self.aliases[table]
        way = self.ways.get(table)
        if way is None or not way.to_one:
            raise NotSure(f"no sure join leads from {self.plan.table} to one row of {table}")
        for step in way.steps:
            if step.there not in self.aliases:
                alias = self.aliases[step.there] = self._alias()
                on = _equal(step, self.aliases[step.here], alias, self.known)
                self.joins.append((step.there, alias, on))
        return self.aliases[table]

    def _alias(self) -> str:
        self.numbers += 1
        return f"t{self.numbers}"

    # What is shown

    def _projections(self) -> list[exp.Expr]:
        plan = self.plan
        if plan.share:
            return [self._share()]
        return [self._named(output) for output in plan.outputs]

    def _named(self, output: Output) -> exp.Expr:
        if output.function is None and output.column is not None:
            column = self.known.columns[output.column]
            shown: exp.Expr = used(column, self.aliases[column.table], "shown")
            # Of a group that is a real thing, a shown column is one of several equal ones.
            if self.plan.per is not None or self.clustered:
                shown = exp.Min(this=shown)
            return exp.alias_(shown, column.name.split(".")[-1], quoted=True)
        name = self.known.columns[output.column].name if output.column else "rows"
        return exp.alias_(self._aggregate(output), f"{output.function}_{name}".replace(" ", "_"), quoted=True)

    def _aggregate(self, output: Output) -> exp.Expr:
        if output.column is None:
            if self.clustered:
                key = identity(self.known, self.plan.table, ROOT)
                return exp.Count(this=exp.Distinct(expressions=[key]))
            return exp.Count(this=exp.Star())
        column = self.known.columns[output.column]
        alias = self.aliases[column.table]
        if output.function == "count":
            return exp.Count(this=exp.Distinct(expressions=[used(column, alias, "counted")]))
        return exp.func(output.function or "", used(column, alias, "ordered"), dialect=DIALECT)

    def _share(self) -> exp.Expr:
        part = exp.and_(*(self._condition(each) for each in self.plan.part), dialect=DIALECT)
        output = self.plan.outputs[0]
        whole = self._aggregate(output)
        filtered = exp.Filter(this=whole.copy(), expression=exp.Where(this=part))
        ratio = exp.Div(
            this=exp.cast(filtered, "DOUBLE", dialect=DIALECT),
            expression=exp.func("nullif", whole, exp.Literal.number(0)),
        )
        return exp.alias_(ratio, "share", quoted=True)

    def _grouped(self, query: exp.Select) -> exp.Select:
        plan = self.plan
        if plan.per is not None:
            return query.group_by(identity(self.known, plan.per, self.aliases[plan.per]), dialect=DIALECT)
        if plan.groups:
            columns = [self.known.columns[group] for group in plan.groups]
            query = query.group_by(*(stored(c, self.aliases[c.table]) for c in columns), dialect=DIALECT)
            if plan.repeated is not None:
                query = query.having(_counted(*plan.repeated), dialect=DIALECT)
            return query
        if self.clustered and not plan.share and not any(output.function for output in plan.outputs):
            return query.group_by(identity(self.known, plan.table, ROOT), dialect=DIALECT)
        return query

    def _ordered(self, query: exp.Select) -> exp.Select:
        plan = self.plan
        if plan.order is None:
            return query
        if plan.order.function is None and plan.order.column is not None:
            column = self.known.columns[plan.order.column]
            key: exp.Expr = used(column, self.aliases[column.table], "ordered")
            key = exp.Max(this=key) if self.clustered else key
        else:
            key = self._aggregate(plan.order)
        query = query.order_by(exp.Ordered(this=key, desc=plan.descending, nulls_first=False), dialect=DIALECT)
        return query.limit(plan.limit) if plan.limit is not None else query

    # Conditions

    def _condition(self, condition: Filter) -> exp.Expr:
        if isinstance(condition, Linked):
            found = self._linked(condition.table, (), condition)
            return self._not(found) if condition.negated else found
        column = self.known.columns[condition.column]
        if column.table in self.aliases:
            test = _test(column, self.aliases[column.table], condition)
            return exp.not_(exp.func("coalesce", test, exp.false())) if condition.negated else test
        found = self._linked(column.table, (condition,), None)
        return self._not(found) if condition.negated else found

    def _member(self, steps: tuple[Step, ...], here: str, conditions: tuple[Condition, ...]) -> exp.Expr:
        """`key IN (SELECT key FROM next WHERE next's key IN (...))`, one step of the way at a time."""
        alias = self._alias()
        own, key = _ends(steps[0], here, alias, self.known)
        tests = (
            [self._member(steps[1:], alias, conditions)]
            if len(steps) > 1
            else [_test(self.known.columns[each.column], alias, each) for each in conditions]
        )
        tests.append(exp.Not(this=exp.Is(this=key.copy(), expression=exp.null())))
        query = exp.select(key).from_(self._source(steps[0].there, alias)).where(*tests, dialect=DIALECT)
        return exp.In(this=own, query=exp.Subquery(this=query))

    def _linked(self, table: str, conditions: tuple[Condition, ...], counted: Linked | None) -> exp.Expr:
        """Whether a row has a partner along the way, as a membership."""
        way = self.ways.get(table)
        if way is None or not way.steps:
            raise NotSure(f"no sure join leads from {self.plan.table} to {table}")
        if counted is None or counted.comparison is None:
            return self._member(way.steps, self.aliases[way.steps[0].here], conditions)
        aliases = {way.steps[0].there: self._alias()}
        first = way.steps[0]
        own, key = _ends(first, self.aliases[first.here], aliases[first.there], self.known)
        query = exp.select(key).from_(self._source(first.there, aliases[first.there]))
        for step in way.steps[1:]:
            aliases[step.there] = self._alias()
            on = _equal(step, aliases[step.here], aliases[step.there], self.known)
            query = query.join(self._source(step.there, aliases[step.there]), on=on, dialect=DIALECT)
        tests = [_test(self.known.columns[each.column], aliases[table], each) for each in conditions]
        query = query.where(*tests, exp.Not(this=exp.Is(this=key.copy(), expression=exp.null())), dialect=DIALECT)
        if counted.comparison not in (">", ">=", "="):
            raise NotSure("it is not clear whether those with none at all are meant too")
        having = _counted(counted.comparison, counted.number)
        query = query.group_by(key.copy(), dialect=DIALECT).having(having, dialect=DIALECT)
        return exp.In(this=own, query=exp.Subquery(this=query))

    def _not(self, found: exp.Expr) -> exp.Expr:
        """The opposite. Of duplicates, none of the rows of one thing may meet it."""
        if not self.clustered:
            return exp.not_(exp.func("coalesce", found, exp.false()))
        inner = found.copy()
        alias = self._alias()
        for column in inner.this.find_all(exp.Column):
            if column.table == ROOT:
                column.set("table", exp.to_identifier(alias))
        key = identity(self.known, self.plan.table, alias)
        query = exp.select(key).from_(self._source(self.plan.table, alias)).where(inner, dialect=DIALECT)
        own = identity(self.known, self.plan.table, ROOT)
        return exp.not_(exp.In(this=own, query=exp.Subquery(this=query)))


def _counted(comparison: str, number: int) -> exp.Expr:
    return COMPARING[comparison](this=exp.Count(this=exp.Star()), expression=exp.Literal.number(number))


def _ends(step: Step, here: str, there: str, known: Known) -> tuple[exp.Expr, exp.Expr]:
    """Both keys of a join; where one is a number and the other a text, both as text."""
    left, right = parsed(step.expression(step.here), here), parsed(step.expression(step.there), there)
    columns = [known.columns.get(end) for end in (*step.relation.left_columns, *step.relation.right_columns)]
    if step.relation.kind == "identity" and len({is_number(column) for column in columns if column}) > 1:
        return exp.cast(left, "VARCHAR", dialect=DIALECT), exp.cast(right, "VARCHAR", dialect=DIALECT)
    return left, right


def _equal(step: Step, here: str, there: str, known: Known) -> exp.Expr:
    left, right = _ends(step, here, there, known)
    return exp.EQ(this=left, expression=right)


def _test(column: ColumnFacts, alias: str, condition: Condition) -> exp.Expr:
    if condition.dates is not None:
        return _within(column, alias, condition)
    if condition.comparison == "word":
        pattern = exp.Literal.string(rf"\b{re.escape(str(condition.values[0]))}\b")
        return exp.func("regexp_matches", stored(column, alias), pattern, dialect=DIALECT)
    if condition.comparison == "like":
        part = exp.Lower(this=exp.Literal.string(str(condition.values[0])))
        return exp.func("contains", exp.Lower(this=stored(column, alias)), part, dialect=DIALECT)
    values = [literal_like(column, value) for value in condition.values]
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
    if not whole or "year" not in column.name.lower():
        raise NotSure(f"'{column.name}' holds no days to compare with")
    tests: list[exp.Expr] = []
    if first is not None:
        tests.append(exp.GTE(this=expression.copy(), expression=exp.Literal.number(first.year)))
    if last is not None:
        tests.append(exp.LTE(this=expression.copy(), expression=exp.Literal.number(last.year)))
    return exp.and_(*tests, dialect=DIALECT)


def _day(day: datetime.date) -> exp.Expr:
    return exp.cast(exp.Literal.string(day.isoformat()), "DATE", dialect=DIALECT)
