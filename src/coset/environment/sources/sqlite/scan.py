"""A scan in SQLite with DuckDB's exact meaning, and its rows as Arrow.

In: a table typed by `sqlite_columns`, and a `Scan`. Out: one SELECT with its parameters, and a reader for each column
of the answer. Each type has one expression to compare, sort and group by (`compared`) and one to read (`read_from`);
a DECIMAL is compared and summed as an integer, a TIMESTAMP as text of one shape, text byte by byte.
Values are bound as parameters: SQLite would read `CAST('2024-01-31' AS DATE)` as the number 2024.

Nothing here knows about files or connections, except that text arrives as bytes.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from math import floor, isnan
from typing import Any as Anything

import pyarrow as pa
import pyarrow.compute as pc
import sqlglot.expressions as sge

from coset.environment.scan import Aggregate, All, Among, Any, Condition, Null, Scan, Value, scan_to_sql
from coset.environment.source import Column, Table
from coset.environment.sources.sqlite.columns import EXACT_INTEGERS, declared

Values = Sequence[Anything]
Stored = int | float | str
Membership = Callable[[Anything], bool | None]

INTEGERS = range(-(2**63), 2**63)
"""What SQLite stores as an integer."""
MOST_PARAMETERS = 500
"""A longer IN list becomes a function of the connection, because SQLite limits the parameters of a statement."""

_COMPARISONS: dict[str, type[sge.Expression]] = {
    "=": sge.EQ,
    "<>": sge.NEQ,
    "<": sge.LT,
    "<=": sge.LTE,
    ">": sge.GT,
    ">=": sge.GTE,
}


class NotOfItsType(Exception):
    """A value that its column's type does not allow: the table changed after it was listed."""


@dataclass(frozen=True)
class Output:
    """One column of the answer: its name, its Arrow type, and how fetched values become that type.

    `width` is the number of SQL columns that it is made of; `to_arrow` takes so many arguments.
    """

    name: str
    arrow_type: pa.DataType
    to_arrow: Callable[..., pa.Array]
    has_long_values: bool = False
    width: int = 1


@dataclass
class Statement:
    """A SELECT with the parameters and functions it refers to, and the columns it answers with."""

    sql: str
    outputs: list[Output]
    parameters: dict[str, Stored] = field(default_factory=dict)
    memberships: dict[str, Membership] = field(default_factory=dict)

    def to_arrays(self, rows: list[tuple[Anything, ...]]) -> list[pa.Array]:
        columns = zip(*rows, strict=True)
        return [output.to_arrow(*islice(columns, output.width)) for output in self.outputs]

    def long_columns(self) -> list[int]:
        """The positions of text and blobs in a row."""
        if any(output.width > 1 for output in self.outputs):
            return []  # totals: the rows are few and short
        return [number for number, output in enumerate(self.outputs) if output.has_long_values]


class _Half(str):
    """The name of a column to be added up, of which only the high or the low 32 bits are meant.

    SQLite's sum fails beyond 64 bits where DuckDB's does not; the sums of the halves stay within.
    """

    is_high: bool

    @classmethod
    def both(cls, aggregate: Aggregate) -> list[Aggregate]:
        halves = []
        for is_high in (True, False):
            name = cls(aggregate.column)
            name.is_high = is_high
            halves.append(replace(aggregate, column=name))
        return halves

    def of(self, value: sge.Expression) -> sge.Expression:
        if self.is_high:
            return sge.paren(sge.BitwiseRightShift(this=value, expression=sge.Literal.number(32)))
        return sge.paren(sge.BitwiseAnd(this=value, expression=sge.Literal.number(2**32 - 1)))


def statement_for(table: Table, scan: Scan) -> Statement:
    """The scan of a table as one statement."""
    conditions = _Conditions(table)
    relation: Anything = sge.Table(this=identifier(table.native_name))
    if scan.where is not None:
        needed = _needed(table, scan)
        # Not SELECT *, which asks for the collation of every column.
        columns = [
            sge.alias_(_binary(raw(column)), column.native_name, quoted=True)
            for column in table.columns
            if column.name in needed
        ]
        where = conditions.expression(scan.where)
        relation = sge.select(*columns).from_(sge.alias_(relation, "t", table=True)).where(where).subquery("t")
    else:
        relation = sge.alias_(relation, "t", table=True)
    aggregates = [part for item in scan.aggregates for part in (_Half.both(item) if item.function == "sum" else [item])]

    def column(name: str) -> sge.Expression:
        if isinstance(name, _Half):
            return name.of(_comparable(table.column(name)))
        return compared(table.column(name))

    sql = scan_to_sql(
        replace(scan, where=None, aggregates=tuple(aggregates)),
        relation,
        "sqlite",
        column,
        output=lambda name: read_from(table.column(name)),
        all_columns=tuple(column.name for column in table.columns),
    )
    return Statement(sql, _outputs(table, scan), conditions.parameters, conditions.memberships)


def identifier(name: str) -> sge.Identifier:
    return sge.Identifier(this=name, quoted=True)


def raw(column: Column) -> sge.Expression:
    """Always with the table's alias: SQLite takes an unknown name in double quotes for a text."""
    return sge.Column(this=identifier(column.native_name), table=sge.Identifier(this="t", quoted=True))


def compared(column: Column) -> sge.Expression:
    """What compares, sorts, groups and adds up as the column's values do in DuckDB.

    BINARY also for numbers: a collation that only the writing program knows would fail even there.
    """
    return _binary(_comparable(column))


def read_from(column: Column) -> sge.Expression:
    """What is read when the column itself is asked for."""
    stored = raw(column)
    if column.type == "VARCHAR":
        return _as_text(column)
    if column.type == "BLOB":
        is_blob = sge.EQ(this=sge.Anonymous(this="typeof", expressions=[stored]), expression=sge.Literal.string("blob"))
        return sge.Case().when(is_blob, stored).else_(sge.cast(stored, "text"))
    if column.type.startswith("DECIMAL"):
        # A value that came after the listing and is no such decimal stays as it is, so that it is noticed.
        power = _power(column)
        back = sge.Div(this=_rounded(column), expression=power)
        return sge.Case().when(sge.EQ(this=back, expression=stored), _comparable(column)).else_(stored)
    return stored


def _binary(expression: sge.Expression) -> sge.Expression:
    return sge.Collate(this=expression, expression=sge.Var(this="BINARY"))


def _needed(table: Table, scan: Scan) -> set[str]:
    """The columns that are used after the condition; at least one, so that rows can be counted."""
    if scan.is_aggregate:
        names = {*scan.group_by, *(item.column for item in scan.aggregates if item.column is not None)}
    else:
        names = {column.name for column in table.columns} if scan.columns is None else set(scan.columns)
        names |= {order.column for order in scan.order}
    return names or {table.columns[0].name}


def _comparable(column: Column) -> sge.Expression:
    stored = raw(column)
    if column.type.startswith("DECIMAL"):
        return sge.cast(_rounded(column), "integer")
    if column.type == "TIMESTAMP":
        # Every ISO shape, 'T' or blank, padded to microseconds.
        spaced = sge.Anonymous(this="replace", expressions=[stored, sge.Literal.string("T"), sge.Literal.string(" ")])
        length = sge.Anonymous(this="length", expressions=[stored])
        missing_from = sge.Sub(this=length, expression=sge.Literal.number(9))
        rest = sge.Anonymous(this="substr", expressions=[sge.Literal.string(" 00:00:00.000000"), missing_from])
        return sge.paren(sge.DPipe(this=spaced, expression=rest, safe=True))
    if column.type in {"VARCHAR", "DATE"}:
        return _as_text(column)
    return stored


def _as_text(column: Column) -> sge.Expression:
    # Without the cast SQLite can use an index; with another affinity it would turn the text '12' into a number.
    is_text = declared(column.native_type).affinity == "TEXT"
    return raw(column) if is_text else sge.cast(raw(column), "text")


def _rounded(column: Column) -> sge.Expression:
    return sge.Anonymous(this="round", expressions=[sge.Mul(this=raw(column), expression=_power(column))])


def _power(column: Column) -> sge.Expression:
    return sge.Literal.number(f"{10 ** _scale(column)}.0")


def _scale(column: Column) -> int:
    return int(column.type.rstrip(")").split(",")[1])


class _Conditions:
    """Writes conditions, collecting their parameters."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.parameters: dict[str, Stored] = {}
        self.memberships: dict[str, Membership] = {}

    def expression(self, condition: Condition) -> sge.Expression:
        if isinstance(condition, All | Any):
            parts = [self.expression(part) for part in condition.conditions]
            return sge.paren((sge.and_ if isinstance(condition, All) else sge.or_)(*parts))
        column = self.table.column(condition.column)
        if isinstance(condition, Null):
            return _is_not_null(column) if condition.negated else sge.Is(this=raw(column), expression=sge.Null())
        if isinstance(condition, Among):
            return self._among(column, condition.values)
        return self._comparison(column, condition.operator, condition.value)

    def _parameter(self, value: Stored) -> sge.Expression:
        name = f"p{len(self.parameters)}"
        self.parameters[name] = value
        return sge.Placeholder(this=name)

    def _comparison(self, column: Column, sign: str, value: Value) -> sge.Expression:
        if isinstance(value, float) and isnan(value):  # in DuckDB greater than every number; SQLite stores none
            return _is_not_null(column) if sign in {"<", "<=", "<>"} else sge.false()
        side, stored = compared(column), _stored(column, value)
        if isinstance(stored, Fraction):
            if stored.denominator != 1:
                if sign in {"=", "<>"}:
                    return sge.false() if sign == "=" else _is_not_null(column)
                sign = "<=" if sign in {"<", "<="} else ">"
            stored = floor(stored)
            if stored not in INTEGERS:
                always = sign == "<>" or (sign in ({"<", "<="} if stored > 0 else {">", ">="}))
                return _is_not_null(column) if always else sge.false()
        elif isinstance(stored, float) and column.type != "DOUBLE":
            side = _as_real(column, stored)
        return _COMPARISONS[sign](this=side, expression=self._parameter(stored))

    def _among(self, column: Column, values: tuple[Value, ...]) -> sge.Expression:
        if len(values) == 1:
            return self._comparison(column, "=", values[0])
        exact: list[Stored] = []
        as_reals: list[Stored] = []
        for value in values:
            stored = _stored(column, value)
            if isinstance(stored, Fraction):
                if stored.denominator == 1 and int(stored) in INTEGERS:
                    exact.append(int(stored))
            elif isinstance(stored, float) and column.type != "DOUBLE":
                as_reals.append(stored)
            elif not (isinstance(stored, float) and isnan(stored)):
                exact.append(stored)
        parts = []
        if exact:
            parts.append(self._in(compared(column), exact))
        if as_reals:
            parts.append(self._in(sge.cast(raw(column), "real"), as_reals))
        return sge.paren(sge.or_(*parts)) if parts else sge.false()

    def _in(self, side: sge.Expression, values: list[Stored]) -> sge.Expression:
        if len(values) <= MOST_PARAMETERS:
            return sge.In(this=side, expressions=[self._parameter(value) for value in values])
        name = f"among_{len(self.memberships)}"
        if isinstance(values[0], str):  # as bytes, because text that is not UTF-8 cannot be handed to a function
            side = sge.cast(side, "blob")
        members = frozenset(value.encode() if isinstance(value, str) else value for value in values)
        self.memberships[name] = lambda value: None if value is None else value in members
        return sge.Anonymous(this=name, expressions=[side])


def _is_not_null(column: Column) -> sge.Expression:
    return sge.Not(this=sge.Is(this=raw(column), expression=sge.Null()))


def _as_real(column: Column, value: float) -> sge.Expression:
    """DuckDB compares integers and decimals with a DOUBLE as doubles; small ones are equal only when exactly equal."""
    if column.type == "BIGINT" and abs(value) < EXACT_INTEGERS:
        return compared(column)
    return sge.cast(raw(column), "real")


def _stored(column: Column, value: Value) -> Stored | Fraction:
    """A literal as the column stores it; a Fraction is compared as an exact number with an integer."""
    if column.type == "DOUBLE" and isinstance(value, int | float | Decimal):
        try:
            return float(value)
        except OverflowError:
            return float("inf") if value > 0 else float("-inf")
    if isinstance(value, float):
        return value
    if isinstance(value, int | Decimal):
        return Fraction(value) * (10 ** _scale(column) if column.type.startswith("DECIMAL") else 1)
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        if column.type == "DATE":
            return value.isoformat()
        value = datetime.datetime(value.year, value.month, value.day)
    if isinstance(value, datetime.datetime):
        if column.type == "DATE" and value.time() == datetime.time():
            return value.date().isoformat()
        return value.replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")
    return value


def _outputs(table: Table, scan: Scan) -> list[Output]:
    if not scan.is_aggregate:
        names = [column.name for column in table.columns] if scan.columns is None else scan.columns
        return [_column_output(table.column(name), name) for name in names]
    outputs = [_column_output(table.column(name), name) for name in scan.group_by]
    for item in scan.aggregates:
        if item.column is None or item.function in {"count", "count_distinct"}:
            outputs.append(Output(item.alias, pa.int64(), _integers))
        elif item.function in {"min", "max"}:
            outputs.append(_column_output(table.column(item.column), item.alias))
        else:
            column = table.column(item.column)
            scale = _scale(column) if column.type.startswith("DECIMAL") else 0
            outputs.append(_sum_output(item.alias, scale))
    return outputs


def _column_output(column: Column, name: str) -> Output:
    if column.type.startswith("DECIMAL"):
        precision, scale = (int(part) for part in column.type[len("DECIMAL(") : -1].split(","))
        decimal_type = pa.decimal128(precision, scale)
        return Output(name, decimal_type, lambda values: _decimals(values, decimal_type))
    arrow_type, to_arrow = _READERS[column.type]
    return Output(name, arrow_type, to_arrow, has_long_values=column.type in {"VARCHAR", "BLOB"})


def _sum_output(alias: str, scale: int) -> Output:
    """DuckDB's sum of integers and of decimals has 38 digits."""

    def to_arrow(high: Values, low: Values) -> pa.Array:
        totals = [None if above is None else (above << 32) + below for above, below in zip(high, low, strict=True)]
        return _rescaled(pa.array(totals, pa.decimal128(38, 0)), pa.decimal128(38, scale))

    return Output(alias, pa.decimal128(38, scale), to_arrow, width=2)


def _integers(values: Values) -> pa.Array:
    if float in set(map(type, values)):  # pyarrow would cut the fraction off
        raise NotOfItsType
    return pa.array(values, pa.int64())


def _booleans(values: Values) -> pa.Array:
    if not set(values) <= {0, 1, None}:
        raise NotOfItsType
    return _integers(values).cast(pa.bool_())


def _decimals(values: Values, decimal_type: pa.Decimal128Type) -> pa.Array:
    unscaled = _integers(values)
    bounds = pc.min_max(unscaled)
    if any(bound.is_valid and abs(bound.as_py()) >= 10**decimal_type.precision for bound in bounds.values()):
        raise NotOfItsType
    return _rescaled(unscaled.cast(pa.decimal128(19, 0)), decimal_type)


def _rescaled(unscaled: pa.Array, decimal_type: pa.Decimal128Type) -> pa.Array:
    """The same digits, read with another place for the point."""
    return pa.Array.from_buffers(decimal_type, len(unscaled), unscaled.buffers(), offset=unscaled.offset)


def _text(values: Values) -> pa.Array:
    raw_text = pa.array(values, pa.binary())
    try:
        return raw_text.cast(pa.string())
    except pa.ArrowInvalid:  # not UTF-8
        return pa.array([None if value is None else value.decode(errors="replace") for value in values], pa.string())


def _times(arrow_type: pa.DataType) -> Callable[[Values], pa.Array]:
    return lambda values: pa.array(values, pa.binary()).cast(pa.string()).cast(arrow_type)


_READERS: dict[str, tuple[pa.DataType, Callable[[Values], pa.Array]]] = {
    "BIGINT": (pa.int64(), _integers),
    "DOUBLE": (pa.float64(), lambda values: pa.array(values, pa.float64())),
    "BOOLEAN": (pa.bool_(), _booleans),
    "VARCHAR": (pa.string(), _text),
    "BLOB": (pa.binary(), lambda values: pa.array(values, pa.binary())),
    "DATE": (pa.date32(), _times(pa.date32())),
    "TIMESTAMP": (pa.timestamp("us"), _times(pa.timestamp("us"))),
}
