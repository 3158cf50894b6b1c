"""A `Scan` as one PostgreSQL SELECT that means what DuckDB would make of it.

In: a table, its columns as the catalog has them now, and a scan. Out: the statement.

Where the two engines differ, the statement says it DuckDB's way: text is ordered by bytes (`COLLATE "C"`), a number
with an exponent is a DOUBLE, an average is the sum as DOUBLE by the count, and booleans have a least and a greatest.
An average may differ in the last binary digit, as DuckDB's own does: it rounds once or twice, depending on its plan.
Sums of floating point numbers depend on the order of the rows in both engines. Values that are too large, or would not
survive the way as they are, stop the statement (`_guarded`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import sqlglot.expressions as sge

from coset.environment.scan import Aggregate, All, Among, Any, Condition, Null, Scan, Value, condition_to_sql, literal
from coset.environment.source import Column
from coset.environment.sources.postgresql.catalog import NativeColumn
from coset.environment.sources.postgresql.types import UNDECIDED, How, expression

DIALECT = "postgres"
ROWS, RESULT = "source_rows", "result_rows"
# No value grows more than this many times when the server decompresses it.
COMPRESSION = 256
GUARD_MARK = "coset guard"


@dataclass(frozen=True)
class ReadColumn:
    """A column as it was listed, and as the catalog has it now."""

    listed: Column
    native: NativeColumn

    @property
    def how(self) -> How:
        if self.listed.type == "DOUBLE" and self.native.reading.type != "DOUBLE":
            return "double"  # A numeric column with values that no DECIMAL holds.
        if self.listed.type == "JSON" and self.native.reading.how == "list":
            return "json"
        return self.native.reading.how

    @property
    def still_reads(self) -> bool:
        """Whether the column still gives values of the type it was listed with."""
        now, listed = self.native.reading, self.listed.type
        return (
            now.type == listed
            or (now.type == UNDECIDED and listed.startswith("DECIMAL"))
            or (
                listed == "DOUBLE"
                and (now.type == UNDECIDED or (now.how == "plain" and now.type.startswith("DECIMAL")))
            )
            or (now.how == "list" and listed == "JSON")
        )

    @property
    def value(self) -> sge.Expr:
        return expression(sge.column(self.native.name, table=ROWS, quoted=True), self.how)

    @property
    def equal(self) -> sge.Expr:
        """To compare for equality: by bytes in any deterministic collation, so an index can be used."""
        return self.value if self.native.deterministic else _by_bytes(self.value)

    @property
    def ordered(self) -> sge.Expr:
        if self.listed.type != "VARCHAR" or (self.native.bytewise and self.how == "plain"):
            return self.value
        return _by_bytes(self.value)


def relation_text(schema: str, name: str) -> str:
    return str(sge.table_(name, db=schema, quoted=True).sql(dialect=DIALECT))


def name_text(name: str) -> str:
    return str(sge.to_identifier(name, quoted=True).sql(dialect=DIALECT))


def string_text(text: str) -> str:
    return str(sge.Literal.string(text).sql(dialect=DIALECT))


def statement(
    scan: Scan, schema: str, name: str, columns: dict[str, ReadColumn], cell_bytes: int | None
) -> tuple[str, list[str]]:
    """The SELECT and the names of its columns. `cell_bytes` is None where no value can be that large."""
    outputs: list[tuple[str, sge.Expr, Column | None]] = []
    if scan.is_aggregate:
        outputs += [(key, columns[key].equal, columns[key].listed) for key in scan.group_by]
        for item in scan.aggregates:
            column = columns[item.column] if item.column is not None else None
            kept = column.listed if column is not None and item.function in {"min", "max"} else None
            outputs.append((item.alias, _aggregate(item, column), kept))
    else:
        names = tuple(columns) if scan.columns is None else scan.columns
        outputs += [(key, columns[key].value, columns[key].listed) for key in names]
    select = sge.select(*[sge.alias_(value, f"c{index}") for index, (_, value, _) in enumerate(outputs)])
    select = select.from_(sge.alias_(sge.table_(name, db=schema, quoted=True), ROWS, table=True))
    if scan.where is not None:
        select = select.where(_condition(scan.where, columns))
    if scan.group_by:
        select = select.group_by(*[columns[key].equal for key in scan.group_by])
    if scan.order:
        select = select.order_by(
            *[
                sge.Ordered(this=columns[item.column].ordered, desc=item.descending, nulls_first=item.nulls_first)
                for item in scan.order
            ]
        )
    if scan.limit is not None:
        select = select.limit(scan.limit)
    select = _guarded(select, [column for _, _, column in outputs], columns, cell_bytes)
    return select.sql(dialect=DIALECT), [key for key, _, _ in outputs]


def _by_bytes(value: sge.Expr) -> sge.Expr:
    return sge.Collate(this=value, expression=sge.to_identifier("C", quoted=True))


def _double(value: sge.Expr) -> sge.Expr:
    return sge.cast(value, "double precision", dialect=DIALECT)


def _aggregate(item: Aggregate, column: ReadColumn | None) -> sge.Expr:
    if column is None:
        return sge.Count(this=sge.Star())
    if item.function == "count":
        return sge.Count(this=column.value)
    if item.function == "count_distinct":
        return sge.Count(this=sge.Distinct(expressions=[column.equal]))
    if item.function in {"min", "max"}:
        least = item.function == "min"
        if column.listed.type == "BOOLEAN":
            return _call("bool_and" if least else "bool_or", column.value)
        return (sge.Min if least else sge.Max)(this=column.ordered)
    total = sge.Sum(this=column.value)
    if item.function == "sum":
        return total
    # `typed` keeps sqlglot from adding casts of its own.
    return sge.Div(this=_double(total), expression=sge.Count(this=column.value), typed=True)


def _condition(condition: Condition, columns: dict[str, ReadColumn]) -> sge.Expr:
    if isinstance(condition, All | Any):
        parts = [_condition(part, columns) for part in condition.conditions]
        return sge.paren((sge.and_ if isinstance(condition, All) else sge.or_)(*parts))
    column = columns[condition.column]
    if isinstance(condition, Null):
        return condition_to_sql(condition, lambda _: column.value)
    values = condition.values if isinstance(condition, Among) else (condition.value,)
    by_equality = isinstance(condition, Among) or condition.operator in {"=", "<>"}
    side = column.equal if by_equality else column.ordered
    if column.listed.type != "DOUBLE" and any(_is_double(value) for value in values):
        side = _double(side)
    return condition_to_sql(condition, lambda _: side)


def _is_double(value: Value) -> bool:
    """Whether DuckDB takes the literal for a DOUBLE: one with an exponent; 1.5 is a DECIMAL to it, and exact."""
    return isinstance(value, float) and "e" in literal(value).sql().lower()


def _guarded(
    select: sge.Select, outputs: list[Column | None], columns: dict[str, ReadColumn], cell_bytes: int | None
) -> sge.Select:
    """The same rows, stopping with an error that names the column where a value must not pass.

    The check stands in a WHERE around the statement: CASE is evaluated in order, and a cast to boolean of a text that
    is none is an error with that text in it.
    """
    cases: list[tuple[sge.Expr, sge.Expr]] = []
    for index, column in enumerate(outputs):
        if column is None:
            continue
        value = sge.column(f"c{index}", table=RESULT)
        read = columns[column.name]
        if column.type.endswith("]"):
            cases.append(_case("nested", column, _call("array_ndims", value), sge.GT, 1))
        if read.native.reading.type == UNDECIDED and column.type.startswith("DECIMAL"):
            scale = int(column.type.rstrip(")").rpartition(",")[2])
            cases.append(_case("scale", column, _call("scale", value), sge.GT, scale))
        if cell_bytes is not None and varies_in_size(column.type):
            if column.type in {"VARCHAR", "BLOB"}:
                cases.append(_case("cell", column, _call("octet_length", value), sge.GT, cell_bytes))
            else:
                # To know the size of these the server has to unpack them, so only where they could be too large.
                size = _call("octet_length", sge.cast(value, "text", dialect=DIALECT))
                test, error = _case("cell", column, size, sge.GT, cell_bytes)
                packed = sge.GT(this=_call("pg_column_size", value), expression=literal(cell_bytes // COMPRESSION))
                cases.append((sge.and_(packed, test), error))
    if not cases:
        return select
    check = sge.Case(ifs=[sge.If(this=test, true=error) for test, error in cases], default=sge.Boolean(this=True))
    # OFFSET 0 keeps the planner from merging the two, and so from working out a view's columns twice.
    inner = select.offset(0).subquery(RESULT)
    return (
        sge.select(*[sge.column(f"c{index}", table=RESULT) for index in range(len(outputs))]).from_(inner).where(check)
    )


def _case(
    what: str, column: Column, measure: sge.Expr, operator: Callable[..., sge.Expr], bound: int
) -> tuple[sge.Expr, sge.Expr]:
    test = operator(this=measure, expression=literal(bound))
    said = sge.DPipe(
        this=sge.Literal.string(f"{GUARD_MARK} {what} {column.native_name.encode().hex()} "),
        expression=sge.cast(measure.copy(), "text", dialect=DIALECT),
    )
    return test, sge.cast(said, "boolean", dialect=DIALECT)


def _call(function: str, *arguments: sge.Expr) -> sge.Expr:
    return sge.Anonymous(this=function, expressions=list(arguments))


def varies_in_size(duckdb_type: str) -> bool:
    return duckdb_type in {"VARCHAR", "BLOB", "JSON"} or duckdb_type.endswith("]")
