"""A `Scan` as MongoDB aggregation pipelines that answer with DuckDB's meaning.

MongoDB and DuckDB differ in what a comparison is true for: MongoDB orders all types among each other, looks into
arrays, puts NaN first, rounds long sums. So every column is read through a guard: its value where that has the
column's own type, null otherwise, which is just what the column's Arrow form holds. In front of the exact test stands
a plain one that lets too much through but can use an index.

In: a table's columns and a scan. Out: pipelines, and for aggregates what to make of their answers.
Nothing here talks to a server.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from typing import Any as AnyValue
from typing import Literal

from coset.environment.scan import (
    Aggregate,
    All,
    Among,
    Any,
    Comparison,
    Condition,
    Null,
    Operation,
    Order,
    Scan,
    family,
    needed_operations,
)
from coset.environment.source import Column, Table
from coset.environment.sources.mongodb.documents import (
    EARLIEST,
    EXACT_IN_DOUBLE,
    LATEST,
    REST,
    Scalar,
    rest_column,
    shape_of,
)

Stage = dict[str, AnyValue]
Expression = AnyValue
Function = Literal["count", "count_distinct", "sum", "avg", "min", "max"]

_OPERATORS = {"=": "$eq", "<>": "$ne", "<": "$lt", "<=": "$lte", ">": "$gt", ">=": "$gte"}
_MOST_DIGITS = 34
"""Of a Decimal128."""
_DIGITS_FOR_ROWS = 12
"""Added over this power of ten of rows, a decimal still has no more digits than a Decimal128 keeps."""


def pushable(table: Table, column: Column) -> frozenset[Operation]:
    """What can be evaluated exactly for one column."""
    shape = shape_of(column)
    sampled = rest_column(table.columns) is not None
    if column.native_type == REST:
        return frozenset({"columns", "limit"})
    if sampled and (not isinstance(shape, Scalar) or column.type.startswith(("DECIMAL", "UUID"))):
        # Whether such a value fits its column can only be told by converting it.
        return frozenset({"columns", "limit"})
    operations: set[Operation] = {"columns", "limit", "null", "aggregate:count"}
    kind = family(column.type)
    if kind == "other" or not isinstance(shape, Scalar) or "decimal" in shape.found:
        return frozenset(operations)
    compare: dict[str, set[Operation]] = {
        "number": {"compare:number", "group:number"}, "text": {"compare:text", "group:text"},
        "time": {"compare:time", "group:time"}, "boolean": {"compare:boolean", "group:boolean"},
    }  # fmt: skip
    operations |= compare[kind] | {"order", "aggregate:count_distinct", "aggregate:extremes"}
    if kind == "number" and _precision(column) <= _MOST_DIGITS - _DIGITS_FOR_ROWS:
        operations |= {"aggregate:sum", "aggregate:avg"}
    return frozenset(operations)


def _precision(column: Column) -> int:
    return int(column.type[len("DECIMAL(") :].split(",")[0]) if column.type.startswith("DECIMAL(") else 0


def check_pushable(table: Table, scan: Scan) -> None:
    """Raise rather than answer inexactly, when asked for what `pushable` does not name."""
    stack: list[Condition] = [scan.where] if scan.where is not None else []
    asked = [Scan(order=(order,)) for order in scan.order]
    asked += [Scan(group_by=(name,)) for name in scan.group_by] + [Scan(aggregates=(one,)) for one in scan.aggregates]
    while stack:
        condition = stack.pop()
        if isinstance(condition, All | Any):
            stack.extend(condition.conditions)
        else:
            asked.append(Scan(where=condition))
    for part in asked:
        names = {*part.group_by, *(one.column for one in part.order), *(one.column for one in part.aggregates)}
        if part.where is not None and not isinstance(part.where, All | Any):
            names.add(part.where.column)
        for column in (table.column(name) for name in names if name is not None):
            missing = needed_operations(part, lambda name: family(table.column(name).type)) - pushable(table, column)
            if missing:
                raise ValueError(
                    f"{', '.join(sorted(missing))} cannot be pushed for {column.name} of {table.qualified_name}"
                )


# --- one column -------------------------------------------------------------------------------------------------


def _has_odd_name(column: Column) -> bool:
    """Whether MongoDB would read the field's name as a path or an operator."""
    return not column.native_name or "." in column.native_name or column.native_name.startswith("$")


def _field(column: Column) -> Expression:
    if _has_odd_name(column):
        return {"$getField": {"field": {"$literal": column.native_name}, "input": "$$ROOT"}}
    return f"${column.native_name}"


@dataclass(frozen=True)
class Guarded:
    """The expressions for one column: whether it has a value that SQL sees, and that value, else null."""

    column: Column
    sampled: bool

    @property
    def present(self) -> Expression:
        field, shape = _field(self.column), shape_of(self.column)
        kind = {"$type": field}
        if not isinstance(shape, Scalar):
            return {"$eq": [kind, "array" if self.column.type.endswith("]") else "object"]}
        if self.column.type == "JSON":
            return {"$not": [{"$in": [kind, ["missing", "null", "undefined"]]}]}
        typed: Expression = {"$in": [kind, self._types(shape)]}
        if self.sampled and self.column.type == "DOUBLE":
            within = [{"$gte": [field, -EXACT_IN_DOUBLE]}, {"$lte": [field, EXACT_IN_DOUBLE]}]
            return {"$and": [typed, {"$or": [{"$eq": [kind, "double"]}, {"$and": within}]}]}
        if self.sampled and self.column.type == "TIMESTAMP":
            from bson.datetime_ms import DatetimeMS

            within = [{"$gte": [field, DatetimeMS(EARLIEST)]}, {"$lte": [field, DatetimeMS(LATEST)]}]
            return {"$and": [typed, *within]}
        return typed

    def _types(self, shape: Scalar) -> list[str]:
        found = {kind.partition("(")[0] for kind in shape.found}
        if self.column.type in {"BIGINT", "DOUBLE"} or self.column.type.startswith("DECIMAL"):
            found |= {"int", "long"} | ({"double"} if self.column.type == "DOUBLE" else set())
        if "string" in found:
            found.add("symbol")
        if "uuid" in found:
            found = (found - {"uuid"}) | {"binData"}
        return sorted(found)

    @property
    def value(self) -> Expression:
        field, found = _field(self.column), self.column.native_type.split("|")
        text = {"$toString": field} if "objectId" in found and self.column.type == "VARCHAR" else field
        return {"$cond": [self.present, text, None]}

    @property
    def is_nan(self) -> Expression:
        return {"$eq": [_field(self.column), math.nan]}


# --- conditions -------------------------------------------------------------------------------------------------


class Conditions:
    """Writes conditions, `exact` as an expression and `rough` as a query that an index can serve."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.sampled = rest_column(table.columns) is not None

    def guarded(self, name: str) -> Guarded:
        return Guarded(self.table.column(name), self.sampled)

    def match(self, condition: Condition) -> Stage:
        rough = self.rough(condition)
        exact = {"$expr": self.exact(condition)}
        return {"$match": exact if rough is None else {"$and": [rough, exact]}}

    def exact(self, condition: Condition) -> Expression:
        if isinstance(condition, All | Any):
            parts = [self.exact(part) for part in condition.conditions]
            return {"$and" if isinstance(condition, All) else "$or": parts}
        guarded = self.guarded(condition.column)
        if isinstance(condition, Null):
            return guarded.present if condition.negated else {"$not": [guarded.present]}
        if isinstance(condition, Among):
            return {"$or": [self._compare(guarded, "=", value) for value in condition.values]}
        return self._compare(guarded, condition.operator, condition.value)

    def _compare(self, guarded: Guarded, operator: str, value: AnyValue) -> Expression:
        column = guarded.column
        known, exactly = _to_bson(column, value)
        here: Expression = guarded.value
        if isinstance(known, float) and column.type != "DOUBLE" and abs(known) >= EXACT_IN_DOUBLE:
            here = {"$toDouble": here}  # DuckDB compares these two as DOUBLE
        elif isinstance(known, float) and column.type.startswith("DECIMAL"):
            here = {"$toDouble": here}
        if not exactly:
            if operator in {"=", "<>"}:
                return guarded.present if operator == "<>" else False
            operator = {"<": "<=", ">=": ">"}.get(operator, operator)
        constant = {"$literal": known}
        test: Expression = {_OPERATORS[operator]: [here, constant]}
        if column.type == "DOUBLE":
            test = _with_nan_last(operator, known, test, guarded.is_nan)
        return {"$and": [guarded.present, test]}

    def rough(self, condition: Condition) -> Stage | None:
        """A query that holds wherever the condition does; None when none is better than reading all."""
        if isinstance(condition, All | Any):
            parts = [self.rough(part) for part in condition.conditions]
            known = [part for part in parts if part is not None]
            if isinstance(condition, Any) and len(known) < len(parts):
                return None
            return {"$and" if isinstance(condition, All) else "$or": known} if known else None
        column = self.table.column(condition.column)
        if isinstance(condition, Null) or _has_odd_name(column):
            return None
        if isinstance(condition, Among):
            return self.rough(Any(tuple(Comparison(condition.column, "=", value) for value in condition.values)))
        known_value, exactly = _to_bson(column, condition.value)
        if condition.operator == "<>" or not exactly or (isinstance(known_value, float) and column.type != "DOUBLE"):
            return None
        if isinstance(known_value, float) and math.isnan(known_value):
            return None
        if "objectId" in column.native_type:
            return _rough_object_id(column, condition)
        query: Stage = {column.native_name: {_OPERATORS[condition.operator]: known_value}}
        if column.type == "DOUBLE" and condition.operator in {">", ">="}:
            return {"$or": [query, {column.native_name: math.nan}]}
        return query


def _with_nan_last(operator: str, value: float, test: Expression, is_nan: Expression) -> Expression:
    """The same test where NaN is the greatest number, as in DuckDB, and not the least."""
    if math.isnan(value):
        return {"<": {"$not": [is_nan]}, "<=": True, ">": False, ">=": is_nan}.get(operator, test)
    if operator in {">", ">="}:
        return {"$or": [test, is_nan]}
    if operator in {"<", "<="}:
        return {"$and": [test, {"$not": [is_nan]}]}
    return test


def _rough_object_id(column: Column, condition: Comparison) -> Stage | None:
    from bson import ObjectId

    text = str(condition.value)
    if condition.operator != "=":
        return None
    ids = [ObjectId(text)] if ObjectId.is_valid(text) and text == text.lower() and len(text) == 24 else []
    return {column.native_name: {"$in": [*ids, *([text] if "string" in column.native_type else [])]}}


def _to_bson(column: Column, value: AnyValue) -> tuple[AnyValue, bool]:
    """A literal as BSON has it, and whether it is exactly that; otherwise it is the next lower one."""
    from bson import Decimal128, Int64

    if isinstance(value, bool | str):
        return value, True
    if isinstance(value, datetime.datetime):
        moment = value.astimezone(datetime.UTC).replace(tzinfo=None) if value.tzinfo else value
        whole = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
        return whole, whole == moment
    if isinstance(value, datetime.date):
        return datetime.datetime.combine(value, datetime.time()), True
    if column.type == "DOUBLE":
        return float(value), True
    if isinstance(value, float):
        return value, True
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return Int64(value), True
    number = Decimal(value)
    lower = Context(prec=_MOST_DIGITS, rounding=ROUND_FLOOR, Emax=6144, Emin=-6143).plus(number)
    return Decimal128(lower), lower == number


# --- plain rows -------------------------------------------------------------------------------------------------


def rows_pipeline(table: Table, scan: Scan, read: Sequence[Column]) -> list[Stage]:
    """The documents that the scan asks for, cut down to the fields of the columns to `read`."""
    conditions = Conditions(table)
    stages: list[Stage] = [conditions.match(scan.where)] if scan.where is not None else []
    if scan.order:
        keys = {f"k{number}": key for number, order in enumerate(scan.order) for key in [_order_key(conditions, order)]}
        # Beside the document, not in it: any name in it may be taken.
        stages.append({"$replaceWith": {"document": "$$ROOT", **keys}})
        by: dict[str, int] = {}
        for number, order in enumerate(scan.order):
            by |= {f"k{number}.rank": 1, f"k{number}.value": -1 if order.descending else 1}
        stages.append({"$sort": by})
    if scan.limit is not None:
        stages.append({"$limit": scan.limit})
    if scan.order:
        stages.append({"$replaceWith": "$document"})
    whole = rest_column(read) is not None or any(_has_odd_name(column) for column in read)
    if scan.columns is not None and not whole:
        fields = {column.native_name: 1 for column in read}
        stages.append({"$project": fields if "_id" in fields else {**fields, "_id": 0}})
    return stages


def _order_key(conditions: Conditions, order: Order) -> Expression:
    """NULL and NaN get a rank of their own, because MongoDB sorts both before every number."""
    guarded = conditions.guarded(order.column)
    of_null = 0 if order.nulls_first else 3
    of_number: Expression = 1
    if guarded.column.type == "DOUBLE":
        of_number = {"$cond": [guarded.is_nan, 1 if order.descending else 2, 2 if order.descending else 1]}
    return {"rank": {"$cond": [guarded.present, of_number, of_null]}, "value": guarded.value}


# --- aggregates -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Summary:
    """One pipeline, and the aggregates it answers as fields `a0`, `a1`, ...; its `_id` holds the groups `g0`, ..."""

    pipeline: list[Stage]
    aggregates: tuple[Aggregate, ...]


def summaries(table: Table, scan: Scan) -> list[Summary]:
    """One pipeline for all plain aggregates, and one for each count of distinct values, whose sets could not be held
    in one document. Each answers one document per group."""
    plain = tuple(item for item in scan.aggregates if item.function != "count_distinct")
    distinct = [item for item in scan.aggregates if item.function == "count_distinct"]
    result = [Summary(_distinct_pipeline(table, scan, item), (item,)) for item in distinct]
    return [Summary(_plain_pipeline(table, scan, plain), plain), *result] if plain or not distinct else result


def _groups(conditions: Conditions, scan: Scan) -> dict[str, Expression]:
    return {f"g{number}": conditions.guarded(name).value for number, name in enumerate(scan.group_by)}


def _plain_pipeline(table: Table, scan: Scan, aggregates: Sequence[Aggregate]) -> list[Stage]:
    conditions = Conditions(table)
    group: dict[str, Expression] = {"_id": _groups(conditions, scan) or None}
    for number, item in enumerate(aggregates):
        group |= {f"a{number}{part}": accumulator for part, accumulator in _accumulators(conditions, item).items()}
    return [*([conditions.match(scan.where)] if scan.where is not None else []), {"$group": group}]


def _distinct_pipeline(table: Table, scan: Scan, item: Aggregate) -> list[Stage]:
    conditions = Conditions(table)
    guarded = conditions.guarded(item.column or "")
    groups = _groups(conditions, scan)
    counted = {"$sum": {"$cond": [{"$eq": ["$_id.d", None]}, 0, 1]}}
    return [
        *([conditions.match(scan.where)] if scan.where is not None else []),
        {"$group": {"_id": {**groups, "d": guarded.value}}},
        {"$group": {"_id": {name: f"$_id.{name}" for name in groups} or None, "a0count": counted}},
    ]


def _accumulators(conditions: Conditions, item: Aggregate) -> dict[str, Expression]:
    """What the server gathers for one aggregate; `finish` makes the value of it."""
    if item.column is None:
        return {"count": {"$sum": 1}}
    guarded = conditions.guarded(item.column)
    count = {"$sum": {"$cond": [guarded.present, 1, 0]}}
    if item.function == "count":
        return {"count": count}
    double = guarded.column.type == "DOUBLE"
    if item.function in {"sum", "avg"}:
        # A sum of integers as MongoDB makes it turns into a rounded double when it outgrows 64 bits.
        return {"count": count, "sum": {"$sum": guarded.value if double else {"$toDecimal": guarded.value}}}
    if not double:
        return {"value": {f"${item.function}": guarded.value}}
    return {
        "value": {f"${item.function}": {"$cond": [guarded.is_nan, None, guarded.value]}},
        "nan": {"$max": guarded.is_nan},
    }


def finish(item: Aggregate, number: int, answer: dict[str, AnyValue], column_type: str) -> AnyValue:
    """The aggregate's value from what the server gathered. Sums of doubles may differ from DuckDB's in the last digits,
    as DuckDB's own do from run to run: both hang on the order in which numbers are added."""
    count, total = answer.get(f"a{number}count", 0), answer.get(f"a{number}sum")
    if item.function in {"count", "count_distinct"}:
        return count
    if item.function in {"sum", "avg"}:
        if not count or total is None:
            return None
        if isinstance(total, int | float):
            return float(total) if item.function == "sum" else float(total) / count
        exact = total.to_decimal()
        if item.function == "sum":
            return exact
        return (_as_duckdb_rounds(int(exact)) if column_type == "BIGINT" else float(exact)) / count
    value, nan = answer.get(f"a{number}value"), answer.get(f"a{number}nan")
    return math.nan if nan and (item.function == "max" or value is None) else value


def _as_duckdb_rounds(number: int) -> float:
    """An integer as the double DuckDB makes of its 128-bit sums, each half rounded by itself."""
    upper, lower = number >> 64, number & (2**64 - 1)
    if upper == -1:
        return -float(2**64 - 1 - lower) - 1
    return float(lower) + float(upper) * 2.0**64
