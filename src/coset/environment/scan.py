"""What one statement needs of one table, small enough that every engine can be asked for it.

A `Scan` is columns, a condition, and either plain rows (with order and limit) or plain aggregates by plain columns.
`scan_to_sql` writes it in a SQL engine's own dialect; a source without SQL (MongoDB) reads the same dataclasses.

The meaning is DuckDB's: text compares byte by byte, NULLs sort last, a comparison with NULL is not true.
Values are Python literals of the column's type family. Nothing here knows where a scan comes from.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    import sqlglot.expressions as sge

Value = bool | int | float | Decimal | str | datetime.date | datetime.datetime
Operator = Literal["=", "<>", "<", "<=", ">", ">="]
Family = Literal["number", "text", "time", "boolean", "other"]

Operation = Literal[
    "columns",  # reads only the columns asked for
    "limit",
    "order",
    "compare:number", "compare:text", "compare:time", "compare:boolean",  # = <> < <= > >= and IN
    "null",  # IS NULL, IS NOT NULL
    "aggregate:count", "aggregate:count_distinct", "aggregate:sum", "aggregate:avg", "aggregate:extremes",
    "group:number", "group:text", "group:time", "group:boolean",
]  # fmt: skip
EVERY_OPERATION: frozenset[Operation] = frozenset(get_args(Operation))


@dataclass(frozen=True)
class Comparison:
    column: str
    operator: Operator
    value: Value


@dataclass(frozen=True)
class Among:
    """column IN (values); never empty, never with NULL among them."""

    column: str
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Null:
    """column IS NULL, or IS NOT NULL when `negated`."""

    column: str
    negated: bool = False


@dataclass(frozen=True)
class All:
    conditions: tuple[Condition, ...]


@dataclass(frozen=True)
class Any:
    conditions: tuple[Condition, ...]


Condition = Comparison | Among | Null | All | Any


def conjunction(parts: Sequence[Condition]) -> Condition | None:
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else All(tuple(parts))


def parts_of(condition: Condition | None) -> list[Condition]:
    """What must hold together, one by one."""
    if condition is None:
        return []
    if isinstance(condition, All):
        return [each for part in condition.conditions for each in parts_of(part)]
    return [condition]


def never(column: str) -> Condition:
    """A condition that no row meets."""
    return All((Null(column), Null(column, negated=True)))


def in_utc(value: Value) -> Value:
    """A moment with a time zone as what the same moment is in UTC, without one."""
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.astimezone(datetime.UTC).replace(tzinfo=None)
    return value


def with_plain_values(condition: Condition, compared: Callable[[Comparison | Among], Condition]) -> Condition:
    """The condition for engines that know neither time zones nor endless numbers (infinite, or NaN, which DuckDB sorts
    above everything): it holds for the same rows. `compared` writes each comparison that is left for the engine."""
    if isinstance(condition, All | Any):
        return replace(condition, conditions=tuple(with_plain_values(part, compared) for part in condition.conditions))
    if isinstance(condition, Null):
        return condition
    if isinstance(condition, Among):
        values = tuple(in_utc(value) for value in condition.values if not _is_endless(value))
        return compared(Among(condition.column, values)) if values else never(condition.column)
    if _is_endless(condition.value):
        beyond = {"<>", ">", ">="} if condition.value == -math.inf else {"<>", "<", "<="}
        return Null(condition.column, negated=True) if condition.operator in beyond else never(condition.column)
    return compared(replace(condition, value=in_utc(condition.value)))


def _is_endless(value: Value) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def columns_of(condition: Condition) -> set[str]:
    if isinstance(condition, All | Any):
        return {name for part in condition.conditions for name in columns_of(part)}
    return {condition.column}


def keeps_text(condition: Condition, text: str) -> bool:
    """Whether a condition on one column of texts keeps this one. Texts compare byte by byte, as in DuckDB."""
    if isinstance(condition, All):
        return all(keeps_text(part, text) for part in condition.conditions)
    if isinstance(condition, Any):
        return any(keeps_text(part, text) for part in condition.conditions)
    if isinstance(condition, Null):
        return condition.negated
    if isinstance(condition, Among):
        return text in condition.values
    left, right = text.encode(), str(condition.value).encode()
    return {
        "=": left == right, "<>": left != right, "<": left < right, "<=": left <= right, ">": left > right,
        ">=": left >= right,
    }[condition.operator]  # fmt: skip


@dataclass(frozen=True)
class Aggregate:
    """`column` is None only for count (of rows). `count_distinct` and the others ignore NULL."""

    function: Literal["count", "count_distinct", "sum", "avg", "min", "max"]
    column: str | None
    alias: str


@dataclass(frozen=True)
class Order:
    column: str
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True)
class Scan:
    """All names are exposed column names. With `aggregates` or `group_by`, the output is the group columns, then the
    aggregates by alias (one row when `group_by` is empty), and `columns`, `order` and `limit` are not used."""

    columns: tuple[str, ...] | None = None
    """None means all; an empty tuple is never used."""
    where: Condition | None = None
    group_by: tuple[str, ...] = ()
    aggregates: tuple[Aggregate, ...] = ()
    order: tuple[Order, ...] = ()
    limit: int | None = None

    @property
    def is_aggregate(self) -> bool:
        return bool(self.aggregates or self.group_by)


EVERYTHING = Scan()


def family(duckdb_type: str) -> Family:
    """The type family in which values of a DuckDB type compare."""
    base = duckdb_type.upper().split("(")[0].strip()
    if duckdb_type.endswith("]") or base in {"STRUCT", "MAP", "UNION", "JSON", "BLOB", "INTERVAL", "BIT"}:
        return "other"
    if base in {"VARCHAR", "TEXT", "UUID"}:
        return "text" if base != "UUID" else "other"
    if base in {"DATE", "TIMESTAMP"}:
        return "time"
    if base == "BOOLEAN":
        return "boolean"
    # FLOAT is left out on purpose: engines disagree on whether 0.1 is rounded before it is compared with one.
    numbers = {
        "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "DOUBLE",
    }  # fmt: skip
    return "number" if base in numbers or base == "DECIMAL" else "other"


def needed_operations(scan: Scan, family_of: Callable[[str], Family]) -> set[str]:
    """The operations a source must push to answer the scan; "compare:other" and the like are in no source's list."""
    needed: set[str] = set()
    stack: list[Condition] = [scan.where] if scan.where else []
    while stack:
        condition = stack.pop()
        if isinstance(condition, All | Any):
            stack.extend(condition.conditions)
        elif isinstance(condition, Null):
            needed.add("null")
        else:
            needed.add(f"compare:{family_of(condition.column)}")
    for aggregate in scan.aggregates:
        needed.add("aggregate:extremes" if aggregate.function in {"min", "max"} else f"aggregate:{aggregate.function}")
        if aggregate.function in {"sum", "avg"} and aggregate.column and family_of(aggregate.column) != "number":
            needed.add("aggregate:other")
        if aggregate.function in {"min", "max", "count_distinct"} and aggregate.column:
            needed.add(f"group:{family_of(aggregate.column)}")
    needed.update(f"group:{family_of(column)}" for column in scan.group_by)
    if scan.order:
        needed.add("order")
        needed.update(f"compare:{family_of(order.column)}" for order in scan.order)
    if scan.limit is not None:
        needed.add("limit")
    return needed


def scan_to_sql(
    scan: Scan,
    relation: sge.Expr,
    dialect: str,
    column: Callable[[str], sge.Expr],
    *,
    output: Callable[[str], sge.Expr] | None = None,
    ordered: Callable[[str], sge.Expr] | None = None,
    all_columns: tuple[str, ...] = (),
) -> str:
    """The scan as one SELECT in `dialect`.

    `column` gives the expression that compares and groups as DuckDB does (with a byte-wise collation on text, say);
    `output` the expression that is read (a cast to text for a type Arrow has no place for); `ordered` the one to sort
    by. Each defaults to `column`.
    """
    import sqlglot.expressions as sge

    output = output or column
    ordered = ordered or column
    outputs: list[sge.Expr] = []
    if scan.is_aggregate:
        outputs += [_named(column(name), name) for name in scan.group_by]
        for item in scan.aggregates:
            if item.column is None:
                inner: sge.Expr = sge.Count(this=sge.Star())
            elif item.function == "count_distinct":
                inner = sge.Count(this=sge.Distinct(expressions=[column(item.column)]))
            else:
                function = {
                    "count": sge.Count,
                    "sum": sge.Sum,
                    "avg": sge.Avg,
                    "min": sge.Min,
                    "max": sge.Max,
                }
                inner = function[item.function](this=column(item.column))
            outputs.append(_named(inner, item.alias))
    else:
        outputs += [_named(output(name), name) for name in (all_columns if scan.columns is None else scan.columns)]
    select = sge.select(*outputs).from_(relation)
    if scan.where is not None:
        select = select.where(condition_to_sql(scan.where, column))
    if scan.is_aggregate and scan.group_by:
        select = select.group_by(*[column(name) for name in scan.group_by])
    if scan.order:
        select = select.order_by(
            *[
                sge.Ordered(this=ordered(order.column), desc=order.descending, nulls_first=order.nulls_first)
                for order in scan.order
            ]
        )
    if scan.limit is not None:
        select = select.limit(scan.limit)
    return select.sql(dialect=dialect)


def condition_to_sql(condition: Condition, column: Callable[[str], sge.Expr]) -> sge.Expr:
    import sqlglot.expressions as sge

    if isinstance(condition, All | Any):
        parts = [condition_to_sql(part, column) for part in condition.conditions]
        return sge.paren((sge.and_ if isinstance(condition, All) else sge.or_)(*parts))
    if isinstance(condition, Null):
        test = sge.Is(this=column(condition.column), expression=sge.Null())
        return sge.Not(this=test) if condition.negated else test
    if isinstance(condition, Among):
        return sge.In(this=column(condition.column), expressions=[literal(value) for value in condition.values])
    operators = {"=": sge.EQ, "<>": sge.NEQ, "<": sge.LT, "<=": sge.LTE, ">": sge.GT, ">=": sge.GTE}
    return operators[condition.operator](this=column(condition.column), expression=literal(condition.value))


def literal(value: Value) -> sge.Expr:
    """A SQL literal, quoted by the library, for one Python value."""
    import sqlglot.expressions as sge

    if isinstance(value, bool):
        return sge.Boolean(this=value)
    if isinstance(value, int | float | Decimal):
        # repr keeps every digit of a float; a negative number needs its own node.
        number = sge.Literal.number(repr(abs(value)) if isinstance(value, float) else str(abs(value)))
        return sge.Neg(this=number) if value < 0 else number
    if isinstance(value, datetime.datetime):
        return sge.cast(sge.Literal.string(value.isoformat(sep=" ")), "timestamp")
    if isinstance(value, datetime.date):
        return sge.cast(sge.Literal.string(value.isoformat()), "date")
    return sge.Literal.string(value)


def _named(expression: sge.Expr, name: str) -> sge.Expr:
    import sqlglot.expressions as sge

    return sge.alias_(expression, name, quoted=True)
