"""From a plan to one SELECT.

In: a plan and what is known. Out: a sqlglot tree in DuckDB's dialect. Columns that are shown or grouped by are joined
only where each row has one partner, so no join multiplies rows; every other condition is a membership (`IN`), which
never does. Duplicates of one real thing are brought together by the key of their cluster.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from coset.answering.offline.catalogue import Known, Step
from coset.answering.offline.expressions import (
    COMPARING,
    DIALECT,
    ends_of,
    equal,
    how_many,
    identity,
    stored,
    test,
    used,
)
from coset.answering.offline.plan import AnyOf, Condition, Filter, Linked, NotSure, Output, Plan
from coset.routing.objects.facts import ColumnFacts

ROOT = "t0"


def compose(plan: Plan, known: Known) -> exp.Expr:
    if plan.both:
        sides = [_Statement(plan.having(condition), known).select() for condition in plan.both]
        return exp.intersect(*sides, dialect=DIALECT)
    if plan.without:
        kept, left_out = (_Statement(each, known).select() for each in (plan, plan.having(*plan.without)))
        return exp.except_(kept, left_out, dialect=DIALECT)
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
        conditions = self._conditions(plan.filters)
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
                on = equal(step, self.aliases[step.here], alias, self.known)
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
        if plan.contrast is not None:
            return self._contrast(*plan.contrast)
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

    def _contrast(self, one: Condition, comparison: str, other: Condition) -> list[exp.Expr]:
        """The number of each of two parts of the rows, and whether they compare so."""
        measure = self._aggregate(self.plan.outputs[0])
        parts = [
            exp.Filter(this=measure.copy(), expression=exp.Where(this=self._condition(each))) for each in (one, other)
        ]
        named = [
            exp.alias_(part.copy(), str(each.values[0]), quoted=True)
            for part, each in zip(parts, (one, other), strict=True)
        ]
        answer = COMPARING[comparison](this=parts[0], expression=parts[1])
        word = "more" if comparison == ">" else "less"
        return [*named, exp.alias_(answer, f"{one.values[0]} has {word}", quoted=True)]

    def _share(self) -> exp.Expr:
        part = exp.and_(*(self._condition(each) for each in self.plan.part), dialect=DIALECT)
        output = self.plan.outputs[0]
        whole = self._aggregate(output)
        filtered = exp.Filter(this=whole.copy(), expression=exp.Where(this=part))
        ratio = exp.Div(
            this=exp.cast(filtered, "DOUBLE", dialect=DIALECT),
            expression=exp.func("nullif", whole, exp.Literal.number(0)),
        )
        if self.plan.percent:
            return exp.alias_(
                exp.Mul(this=exp.Literal.number(100), expression=exp.Paren(this=ratio)), "percent", quoted=True
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
                query = query.having(how_many(*plan.repeated), dialect=DIALECT)
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
        ordered = exp.Ordered(this=key, desc=plan.descending, nulls_first=False)
        query = query.order_by(ordered.copy(), dialect=DIALECT)
        if plan.ties and plan.limit is not None:
            rank = exp.Window(this=exp.func("rank"), order=exp.Order(expressions=[ordered]))
            query.set("qualify", exp.Qualify(this=exp.LTE(this=rank, expression=exp.Literal.number(plan.limit))))
            return query
        return query.limit(plan.limit) if plan.limit is not None else query

    # Conditions

    def _conditions(self, filters: Sequence[Filter]) -> list[exp.Expr]:
        """One test for each; conditions on partners in one table are met by one and the same partner."""
        partners: dict[str, list[Condition]] = {}
        found: list[exp.Expr] = []
        for each in filters:
            if isinstance(each, Condition) and not each.negated and not each.apart:
                table = self.known.columns[each.column].table
                if table not in self.aliases:
                    partners.setdefault(table, []).append(each)
                    continue
            if isinstance(each, Linked) and each.table in partners and not each.negated and each.comparison is None:
                continue
            found.append(self._condition(each))
        return [*(self._linked(table, tuple(each), None) for table, each in partners.items()), *found]

    def _condition(self, condition: Filter) -> exp.Expr:
        if isinstance(condition, Linked):
            found = self._linked(condition.table, condition.conditions, condition)
            return self._not(found) if condition.negated else found
        if isinstance(condition, AnyOf):
            return exp.or_(*(self._condition(each) for each in condition.conditions), dialect=DIALECT)
        column = self.known.columns[condition.column]
        if column.table in self.aliases:
            test = self._test(column, self.aliases[column.table], condition)
            return exp.not_(exp.func("coalesce", test, exp.false())) if condition.negated else test
        found = self._linked(column.table, (condition,), None)
        return self._not(found) if condition.negated else found

    def _test(self, column: ColumnFacts, alias: str, condition: Condition) -> exp.Expr:
        if condition.against is None:
            return test(column, alias, condition)
        inner = self._alias()
        aggregate = exp.func(condition.against, used(column, inner, "ordered"), dialect=DIALECT)
        whole = exp.select(aggregate).from_(self._source(column.table, inner))
        return COMPARING[condition.comparison](this=used(column, alias, "ordered"), expression=exp.Subquery(this=whole))

    def _member(self, steps: tuple[Step, ...], here: str, conditions: tuple[Condition, ...]) -> exp.Expr:
        """`key IN (SELECT key FROM next WHERE next's key IN (...))`, one step of the way at a time."""
        alias = self._alias()
        own, key = ends_of(steps[0], here, alias, self.known)
        tests = (
            [self._member(steps[1:], alias, conditions)]
            if len(steps) > 1
            else [self._test(self.known.columns[each.column], alias, each) for each in conditions]
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
        own, key = ends_of(first, self.aliases[first.here], aliases[first.there], self.known)
        query = exp.select(key).from_(self._source(first.there, aliases[first.there]))
        for step in way.steps[1:]:
            aliases[step.there] = self._alias()
            on = equal(step, aliases[step.here], aliases[step.there], self.known)
            query = query.join(self._source(step.there, aliases[step.there]), on=on, dialect=DIALECT)
        tests = [self._test(self.known.columns[each.column], aliases[table], each) for each in conditions]
        query = query.where(*tests, exp.Not(this=exp.Is(this=key.copy(), expression=exp.null())), dialect=DIALECT)
        if counted.comparison not in (">", ">=", "="):
            raise NotSure("it is not clear whether those with none at all are meant too")
        having = how_many(counted.comparison, counted.number)
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
