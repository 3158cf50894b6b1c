"""From a plan to one SELECT, with its columns cleaned where their use needs it.

In: a plan and what is known. Out: a sqlglot tree in DuckDB's dialect. Columns that are shown or grouped by are joined
only where each row has one partner, so no join multiplies rows; every other condition is a membership (`IN`), which
never does. Duplicates of one real thing are brought together by the key of their cluster.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from typing import Literal

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from coset.answering.offline.catalogue import Known, Step, is_number
from coset.answering.offline.plan import AnyOf, Condition, Filter, Linked, NotSure, Output, Plan
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
