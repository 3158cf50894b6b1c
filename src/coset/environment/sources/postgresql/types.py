"""Which DuckDB type each PostgreSQL type is read as, and the expression the server is asked for to get there.

In: a column's type as the catalog describes it. Out: a `Reading`. Nothing is silently lost on the way:

- `numeric` without a precision may hold anything; it is a DECIMAL wide enough for the values seen when the table was
  listed, and DOUBLE where the values were not looked at, do not fit 38 digits, or include NaN or infinity.
- `char(n)` comes without its padding, which PostgreSQL itself does not count as content.
- `infinity` in dates and timestamps stays infinity; a year after 294246, which Arrow cannot hold, is an error.
- arrays of one dimension are lists, nested ones JSON; one found nested where none was declared or seen is an error.
- intervals come as text that DuckDB casts back to INTERVAL: Parquet has no negative intervals and no microseconds.
- what DuckDB has no type for (ranges, network addresses, bit strings, XML, ...) is PostgreSQL's own text for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import pyarrow as pa
    import sqlglot.expressions as sge

How = Literal["plain", "text", "interval", "bigint", "numeric", "double", "json", "list", "text list", "real list"]

PLAIN = {
    "bool": "BOOLEAN",
    "int2": "SMALLINT",
    "int4": "INTEGER",
    "int8": "BIGINT",
    "float4": "FLOAT",
    "float8": "DOUBLE",
    "text": "VARCHAR",
    "varchar": "VARCHAR",
    "bytea": "BLOB",
    "date": "DATE",
    "time": "TIME",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMP WITH TIME ZONE",
    "uuid": "UUID",
    "json": "JSON",
    "jsonb": "JSON",
}
UNDECIDED = "numeric of any precision"
MOST_DIGITS = 38


@dataclass(frozen=True)
class NativeType:
    """A column's type with domains already resolved to what they are made of."""

    name: str
    built_in: bool
    kind: str
    """pg_type.typtype: b base, c composite, e enum, r range, m multirange."""
    modifier: int = -1
    dimensions: int = 0
    element: NativeType | None = None


@dataclass(frozen=True)
class Reading:
    """`type` is a DuckDB type, or UNDECIDED."""

    type: str
    how: How = "plain"


def reading(native: NativeType, money_scale: int) -> Reading:
    if native.element is not None:
        return _list_reading(native.element, native.dimensions, money_scale)
    if native.kind == "c":
        return Reading("JSON", "json")
    if native.built_in:
        if native.name in PLAIN:
            return Reading(PLAIN[native.name])
        if native.name == "numeric":
            return Reading(_decimal(native.modifier))
        if native.name == "oid":
            return Reading("BIGINT", "bigint")
        if native.name == "money":
            return Reading(f"DECIMAL(19,{money_scale})", "numeric")
        if native.name == "interval":
            return Reading("VARCHAR", "interval")
    elif native.name == "hstore":
        return Reading("JSON", "json")
    elif native.name == "vector":
        return Reading("FLOAT[]", "real list")
    return Reading("VARCHAR", "text")


def _list_reading(native: NativeType, dimensions: int, money_scale: int) -> Reading:
    if dimensions > 1 or native.kind == "d":
        return Reading("JSON", "json")
    element = reading(native, money_scale)
    if element.how == "text":
        return Reading("VARCHAR[]", "text list")
    if element.how == "plain" and element.type not in {"JSON", UNDECIDED} and not element.type.endswith("]"):
        return Reading(f"{element.type}[]", "list")
    return Reading("JSON", "json")


def _decimal(modifier: int) -> str:
    if modifier < 0:
        return UNDECIDED
    precision = (modifier - 4) >> 16
    scale = (((modifier - 4) & 0x7FF) ^ 1024) - 1024  # Eleven bits with a sign: numeric(3,-2) rounds to hundreds.
    digits = max(precision - scale, 0) + max(scale, 0)
    return f"DECIMAL({digits},{max(scale, 0)})" if digits <= MOST_DIGITS else UNDECIDED


def decimal_for(whole_digits: int | None, scale: int | None, not_finite: int) -> str:
    """The type that holds numbers of that many digits before and after the point, with room to grow."""
    if whole_digits is None or scale is None or not_finite or whole_digits + scale > MOST_DIGITS:
        return "DOUBLE"
    return f"DECIMAL({18 if whole_digits + scale <= 18 else MOST_DIGITS},{scale})"


def expression(column: sge.Expr, how: How) -> sge.Expr:
    """What to select so that the driver hands over a value of the type that was promised."""
    import sqlglot.expressions as sge

    if how == "plain":
        return column
    if how == "json":
        return sge.Anonymous(this="to_jsonb", expressions=[column])
    if how == "interval":
        # DuckDB reads PostgreSQL's text for an interval, but for a plus sign.
        text = sge.cast(column, "text", dialect="postgres")
        return sge.Anonymous(this="replace", expressions=[text, sge.Literal.string("+"), sge.Literal.string("")])
    if how in {"list", "text list"}:
        inner = sge.cast(column, "text[]", dialect="postgres") if how == "text list" else column
        # A slice over everything counts from 1; the driver refuses arrays that count from elsewhere.
        return sge.Bracket(this=sge.paren(inner), expressions=[sge.Slice()])
    target = {
        "text": "text",
        "bigint": "bigint",
        "numeric": "numeric",
        "double": "double precision",
        "real list": "real[]",
    }
    return sge.cast(column, target[how], dialect="postgres")


# PostgreSQL counts time from 2000-01-01 and Arrow from 1970-01-01. The driver adds the difference without looking for
# overflow, so infinity (the largest and smallest number) comes out as one of these; no other date does.
FIRST_DAY = -2_440_588
MICROSECONDS_A_DAY = 86_400_000_000
DAYS_BETWEEN = 10_957
MOMENTS_BETWEEN = DAYS_BETWEEN * MICROSECONDS_A_DAY
MENDED_DAYS = {-(2**31) - 1 + DAYS_BETWEEN: 2**31 - 1, -(2**31) + DAYS_BETWEEN: -(2**31) + 1}
MENDED_MOMENTS = {-(2**63) - 1 + MOMENTS_BETWEEN: 2**63 - 1, -(2**63) + MOMENTS_BETWEEN: -(2**63) + 1}


class BeyondArrow(Exception):
    """A timestamp after the year 294246."""


def mend_infinity(values: pa.Array) -> pa.Array:
    """Dates and timestamps with infinity as DuckDB writes it; other arrays, and those without infinity, as they are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_list(values.type):
        if not _holds_days_or_moments(values.type.value_type):
            return values
        inner = mend_infinity(values.values)
        if inner is values.values:
            return values
        return pa.ListArray.from_arrays(values.offsets, inner, mask=values.is_null())
    if not _holds_days_or_moments(values.type) or len(values) == values.null_count:
        return values
    is_day = pa.types.is_date32(values.type)
    numbers = values.view(pa.int32() if is_day else pa.int64())
    first = FIRST_DAY if is_day else FIRST_DAY * MICROSECONDS_A_DAY
    if pc.min(numbers).as_py() >= first:
        return values
    for wrong, right in (MENDED_DAYS if is_day else MENDED_MOMENTS).items():
        found = pc.equal(numbers, pa.scalar(wrong, numbers.type))
        numbers = pc.if_else(found, pa.scalar(right, numbers.type), numbers)
    minus_infinity = pa.scalar(-(2**31) + 1 if is_day else -(2**63) + 1, numbers.type)
    too_early = pc.less(numbers, pa.scalar(first, numbers.type))
    wrapped = pc.and_(too_early, pc.not_equal(numbers, minus_infinity))
    if pc.any(wrapped).as_py():
        raise BeyondArrow
    return numbers.view(values.type)


def _holds_days_or_moments(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_date32(kind) or pa.types.is_timestamp(kind))
