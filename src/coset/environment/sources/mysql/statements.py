"""The SELECT that answers a `Scan` at a MySQL or MariaDB server exactly as DuckDB would.

In: a table, the database it is in, a scan. Out: a `Statement`: its SQL and what to make of each column of the result.

What differs from DuckDB is mended here: text compares by its bytes; a date of no calendar is NULL; an infinite number
lies beyond every value; an average is a sum and a count that the reader divides. Where an exact comparison hides a
column from its index, the plain one, which holds for at least the same rows, stands beside it. Nothing here knows about
connections.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import sqlglot.expressions as sge
from sqlglot.dialects.mysql import MySQL as MySQLDialect

from coset.environment.scan import (
    Aggregate,
    All,
    Among,
    Comparison,
    Condition,
    Scan,
    family,
    scan_to_sql,
    with_plain_values,
)
from coset.environment.source import Table
from coset.environment.sources.mysql.columns import (
    TABLE_ALIAS,
    as_compared,
    as_read,
    compares_alike,
    longest_text,
    plain,
    sum_type,
)


@dataclass(frozen=True)
class Output:
    """One column to hand out: a value of the result as it is, or the average from the two values that start there."""

    name: str
    type: str
    position: int
    made_by: Literal["value", "average"] = "value"
    column_type: str = ""


@dataclass(frozen=True)
class Statement:
    sql: str
    outputs: tuple[Output, ...]
    sorts_by: tuple[str, ...]
    """Names of text columns that the server sorts or groups by and whose length nothing bounds."""
    sort_bytes: int
    """How many bytes the server must look at to tell two values of the bounded ones apart."""


class CosetMySQL(MySQLDialect):
    """sqlglot's MySQL, except that a moment keeps its microseconds: CAST(... AS DATETIME) would drop them."""

    class Generator(MySQLDialect.Generator):  # type: ignore[misc,valid-type]
        def cast_sql(self, expression: sge.Cast, safe_prefix: str | None = None) -> str:
            if expression.to.this == sge.DataType.Type.TIMESTAMP:
                return str(self.func("TIMESTAMP", expression.this))
            return str(super().cast_sql(expression, safe_prefix))


class _Plain(str):
    """A column's name where the column itself is meant, not its exact form."""

    __slots__ = ()


def relation(database: str, native_name: str) -> sge.Table:
    return sge.Table(
        this=sge.to_identifier(native_name, quoted=True),
        db=sge.to_identifier(database, quoted=True),
        alias=sge.TableAlias(this=sge.to_identifier(TABLE_ALIAS, quoted=True)),
    )


def statement(table: Table, database: str, scan: Scan) -> Statement:
    def compared(name: str) -> sge.Expression:
        column = table.column(name)
        if isinstance(name, _Plain):
            return plain(column.native_name)
        return as_compared(column.native_name, column.native_type)

    def read(name: str) -> sge.Expression:
        column = table.column(name)
        return as_read(column.native_name, column.native_type)

    aggregates, outputs = _outputs(table, scan)
    where = scan.where and with_plain_values(scan.where, lambda part: _exact(part, table))
    asked = replace(scan, aggregates=aggregates, where=where)
    sql = scan_to_sql(
        asked,
        relation(database, table.native_name),
        "cosetmysql",
        compared,
        output=read,
        all_columns=tuple(column.name for column in table.columns),
    )
    distinct = [item.column for item in scan.aggregates if item.function == "count_distinct" and item.column]
    sorting = {name for name in (*scan.group_by, *(order.column for order in scan.order), *distinct)}
    texts = {
        name: longest_text(table.column(name).native_type)
        for name in sorted(sorting)
        if family(table.column(name).type) == "text"
    }
    return Statement(
        sql,
        outputs,
        sorts_by=tuple(name for name, size in texts.items() if size is None),
        sort_bytes=max((size for size in texts.values() if size is not None), default=0),
    )


def longest_value(table: Table, database: str, names: tuple[str, ...]) -> str:
    """A SELECT of the most bytes that a value of these columns has as text."""
    sizes: list[sge.Expression] = []
    for name in names:
        column = table.column(name)
        size = sge.Anonymous(this="OCTET_LENGTH", expressions=[as_compared(column.native_name, column.native_type)])
        sizes.append(sge.Coalesce(this=sge.Max(this=size), expressions=[sge.Literal.number(0)]))
    return sge.select(*sizes).from_(relation(database, table.native_name)).sql(dialect="cosetmysql")


def row_counts(tables: list[tuple[str, str]]) -> str:
    """One SELECT of the position and the number of rows of each (database, table)."""
    return " UNION ALL ".join(
        sge.select(sge.Literal.number(position), sge.Count(this=sge.Star()))
        .from_(relation(database, name))
        .sql(dialect="cosetmysql")
        for position, (database, name) in enumerate(tables)
    )


def checksum(database: str, native_name: str) -> str:
    return f"CHECKSUM TABLE {sge.table_(native_name, db=database, quoted=True).sql(dialect='cosetmysql')}"


def _outputs(table: Table, scan: Scan) -> tuple[tuple[Aggregate, ...], tuple[Output, ...]]:
    """The aggregates to ask for and what to make of the result's columns."""
    if not scan.is_aggregate:
        names = scan.columns or tuple(column.name for column in table.columns)
        return (), tuple(Output(name, table.column(name).type, place) for place, name in enumerate(names))
    outputs = [Output(name, table.column(name).type, place) for place, name in enumerate(scan.group_by)]
    aggregates: list[Aggregate] = []
    for item in scan.aggregates:
        place = len(scan.group_by) + len(aggregates)
        of = table.column(item.column).type if item.column else ""
        if item.function == "avg":
            aggregates.append(replace(item, function="sum"))
            aggregates.append(replace(item, function="count", alias=f"{item.alias} count"))
            outputs.append(Output(item.alias, "DOUBLE", place, "average", of))
            continue
        aggregates.append(item)
        if item.function in {"count", "count_distinct"}:
            outputs.append(Output(item.alias, "BIGINT", place))
        else:
            outputs.append(Output(item.alias, sum_type(of) if item.function == "sum" else of, place))
    return tuple(aggregates), tuple(outputs)


def _exact(condition: Comparison | Among, table: Table) -> Condition:
    """A comparison in which MySQL takes the values for what DuckDB takes them for, and before it, where that keeps at
    least the same rows, the plain one, which can use an index."""
    column = table.column(condition.column)
    if isinstance(condition, Among):
        keeps_all = all(compares_alike(column.native_type, value) for value in condition.values)
    else:
        # Collations sort texts in their own ways, but every one of them takes a text to be equal to itself.
        keeps_all = compares_alike(column.native_type, condition.value) and (
            condition.operator == "=" or family(column.type) != "text"
        )
    return All((replace(condition, column=_Plain(condition.column)), condition)) if keeps_all else condition
