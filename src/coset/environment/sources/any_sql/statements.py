"""A `Scan` as one SELECT of any SQL engine, meaning what DuckDB would make of it.

In: a table, the engine, a scan. Out: the statement and the DuckDB type of each of its columns. It is built as a tree
and written by sqlglot in the engine's dialect, so no value can pose as SQL. Nothing here knows about connections.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import sqlglot
import sqlglot.expressions as sge

from coset.environment.scan import (
    Aggregate,
    All,
    Among,
    Any,
    Comparison,
    Condition,
    Null,
    Operation,
    Scan,
    Value,
    family,
    scan_to_sql,
    with_plain_values,
)
from coset.environment.source import Column, Table
from coset.environment.sources.any_sql.dialects import BOOLEAN, TEXT, TIME, Engine
from coset.environment.sources.mysql.statements import CosetMySQL  # noqa: F401 - registers the dialect "cosetmysql"

UNBOUNDED = "numeric without precision"
"""The native type of numbers of any size, which are read as DOUBLE."""


@dataclass(frozen=True)
class Statement:
    sql: str
    names: tuple[str, ...]
    types: tuple[str, ...]


def statement(
    table: Table, engine: Engine, scan: Scan, *, catalog: str | None = None, schema: str | None = None
) -> Statement:
    """The SELECT that answers a scan. `schema` is the native name of the table's schema."""

    def compared(name: str) -> sge.Expr:
        return _compared(table.column(str(name)), engine, as_double=isinstance(name, _Double))

    def read(name: str) -> sge.Expr:
        return _read(table.column(name), engine)

    where = scan.where and with_plain_values(scan.where, lambda part: _exact(part, table, engine))
    asked = replace(scan, where=where)
    sql = scan_to_sql(
        asked, relation(table.native_name, schema, catalog), engine.dialect, compared, output=read,
        all_columns=tuple(column.name for column in table.columns),
    )  # fmt: skip
    if engine.wide_sum and scan.aggregates:
        sql = _with_wide_sums(sql, table, engine, scan)
    outputs = _outputs(table, scan)
    return Statement(sql, tuple(name for name, _ in outputs), tuple(kind for _, kind in outputs))


def relation(name: str, schema: str | None, catalog: str | None = None) -> sge.Table:
    return sge.Table(
        this=sge.to_identifier(name, quoted=True),
        db=sge.to_identifier(schema, quoted=True) if schema else None,
        catalog=sge.to_identifier(catalog, quoted=True) if catalog else None,
    )


def count_rows(table: Table, engine: Engine, *, catalog: str | None = None, schema: str | None = None) -> str:
    select = sge.select(sge.alias_(sge.Count(this=sge.Star()), "n")).from_(relation(table.native_name, schema, catalog))
    return str(select.sql(dialect=engine.dialect))


def text_literal(text: str, engine: Engine) -> str:
    return str(sge.Literal.string(text).sql(dialect=engine.dialect))


def pushed_for(column: Column, engine: Engine) -> frozenset[Operation]:
    """What of the engine's operations is exact for one column."""
    refused: set[Operation] = set()
    native = column.native_type.upper()
    if column.type == "DOUBLE":
        refused.add("aggregate:sum")  # engines add up in another order
    if column.type == "BOOLEAN" and engine.name != "duckdb":
        refused.add("aggregate:extremes")  # there is no least boolean to most engines
    if column.native_type == UNBOUNDED:
        refused |= {"compare:number", "group:number", "order"}
    if family(column.type) == "text" and (engine.text is None or _is_padded(native, engine) or not _is_text(native)):
        refused |= TEXT
    if family(column.type) == "time" and engine.dialect == "oracle" and column.type == "DATE":
        refused |= TIME
    if column.type == "BOOLEAN" and "BIT" in native:
        refused |= BOOLEAN
    return engine.pushes - refused


def keeps_all(condition: Condition, table: Table) -> bool:
    """Whether the engine's own comparison, by whatever collation, keeps every row that a comparison by bytes keeps:
    every collation takes a text to be equal to itself."""
    if isinstance(condition, All | Any):
        return all(keeps_all(part, table) for part in condition.conditions)
    if isinstance(condition, Null):
        return True
    is_text = family(table.column(condition.column).type) == "text"
    by_equality = isinstance(condition, Among) or condition.operator == "="
    return is_text and by_equality and _is_text(table.column(condition.column).native_type.upper())


class _Double(str):
    """A column's name where the number is compared as a DOUBLE."""

    __slots__ = ()


def _column(column: Column) -> sge.Expr:
    return sge.column(column.native_name, quoted=True)


def _read(column: Column, engine: Engine) -> sge.Expr:
    if engine.dialect == "postgres" and _is_padded(column.native_type.upper(), engine):
        return sge.cast(_column(column), "text", dialect="postgres")  # without the padding, which is no content
    return _column(column)


def _compared(column: Column, engine: Engine, *, as_double: bool) -> sge.Expr:
    plain = _read(column, engine)
    if as_double:
        return sge.cast(plain, sge.DataType.Type.DOUBLE)
    if family(column.type) != "text" or engine.text in {None, "{}"} or not _is_text(column.native_type.upper()):
        return plain
    template = sqlglot.parse_one((engine.text or "{}").replace("{}", "x"), dialect=engine.dialect)
    for node in list(template.find_all(sge.Column)):
        if node.name == "x":
            node.replace(plain)
    return template


def _exact(condition: Comparison | Among, table: Table, engine: Engine) -> Condition:
    """A comparison in which the engine takes the values for what DuckDB takes them for."""
    kind = table.column(condition.column).type
    values = condition.values if isinstance(condition, Among) else (condition.value,)
    if isinstance(condition, Among) and not engine.exact_among and family(kind) == "number":
        return Any(tuple(_exact(Comparison(condition.column, "=", value), table, engine) for value in values))
    as_double = kind != "DOUBLE" and any(_has_exponent(value) for value in values)
    return replace(condition, column=_Double(condition.column)) if as_double else condition


def _with_wide_sums(sql: str, table: Table, engine: Engine, scan: Scan) -> str:
    tree = sqlglot.parse_one(sql, dialect=engine.dialect)
    scales = {column.native_name: _scale(column.type) for column in table.columns}
    for total in list(tree.find_all(sge.Sum)):
        column = total.this
        if isinstance(column, sge.Column):
            total.set("this", sge.cast(column.copy(), f"DECIMAL(38, {scales[column.name]})"))
    return str(tree.sql(dialect=engine.dialect))


def _outputs(table: Table, scan: Scan) -> list[tuple[str, str]]:
    if not scan.is_aggregate:
        names = tuple(column.name for column in table.columns) if scan.columns is None else scan.columns
        return [(name, table.column(name).type) for name in names]
    outputs = [(name, table.column(name).type) for name in scan.group_by]
    return outputs + [(item.alias, _aggregate_type(item, table)) for item in scan.aggregates]


def _aggregate_type(item: Aggregate, table: Table) -> str:
    if item.column is None or item.function in {"count", "count_distinct"}:
        return "BIGINT"
    kind = table.column(item.column).type
    if item.function == "sum":
        return "DOUBLE" if kind == "DOUBLE" else f"DECIMAL(38,{_scale(kind)})"
    return kind if item.function in {"min", "max"} else "DOUBLE"


def _scale(kind: str) -> int:
    found = re.fullmatch(r"DECIMAL\(\d+,\s*(\d+)\)", kind)
    return int(found[1]) if found else 0


def _is_padded(native: str, engine: Engine) -> bool:
    """Whether values have blanks at the end that count for nothing: CHAR(n), but for MySQL, which takes them off."""
    fixed = re.match(r"(NCHAR|CHAR|CHARACTER|BPCHAR)\b(?! VARYING)", native)
    return fixed is not None and engine.dialect not in {"cosetmysql", "duckdb", "sqlite", "snowflake"}


def _is_text(native: str) -> bool:
    """Whether the column holds text itself, and not something that is read as text."""
    return (
        re.match(r"(N?VARCHAR|N?CHAR|N?TEXT|N?CLOB|CHARACTER|STRING|UTF8|(TINY|MEDIUM|LONG)TEXT)", native) is not None
    )


def _has_exponent(value: Value) -> bool:
    """Whether DuckDB takes the literal for a DOUBLE: one with an exponent; 1.5 is a DECIMAL to it, and exact."""
    return isinstance(value, float) and "e" in repr(value).lower()
