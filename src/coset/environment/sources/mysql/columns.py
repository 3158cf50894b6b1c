"""MySQL and MariaDB columns: their DuckDB types, the SQL that reads and compares them, their values as Arrow.

In: a column's native type (`decimal(10,2) unsigned`, `varchar(50) character set latin1`) and the text of its values as
the server sends them. Out: a DuckDB type, sqlglot expressions, Arrow arrays. No value is ever rounded or cut:

- `tinyint(1)` is TINYINT, not BOOLEAN: MySQL's BOOLEAN may hold 2. `bit(1)` cannot and is BOOLEAN; `bit(n)` is UBIGINT.
- `decimal` of more than 38 digits is VARCHAR, since DuckDB has no wider number. So are `enum` and `set`.
- `timestamp` is TIMESTAMP WITH TIME ZONE (the session runs in UTC), `datetime` is TIMESTAMP, `year` is SMALLINT.
- `time` runs from -838:59:59 to 838:59:59, beyond a time of day, and an INTERVAL that is negative or has microseconds
  does not survive Parquet: it is VARCHAR, `HH:MM:SS[.ffffff]`, which casts to TIME and to INTERVAL.
- A date that no calendar has (0000-00-00, 2020-05-00, 2020-02-31) is NULL, when read as when compared at the server;
  `to_arrow` says how many there were. Such a column counts as nullable whatever it declares.
- Text is read as UTF-8 whatever its character set; the server may hold half a surrogate pair, which reads as U+FFFD.
- `json` is JSON, also MariaDB's `longtext` with a `json_valid` check; geometry is VARCHAR holding well-known text.

Nothing here knows about connections or tables.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    import sqlglot.expressions as sge

TABLE_ALIAS = "t"
TEXT_TYPES = frozenset({"char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set"})

_INTEGERS = {
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "mediumint": "INTEGER",
    "int": "INTEGER",
    "bigint": "BIGINT",
}
_BYTES = frozenset({"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "vector"})
_GEOMETRY = frozenset(
    {
        "geometry", "point", "linestring", "polygon", "multipoint", "multilinestring", "multipolygon",
        "geometrycollection", "geomcollection",
    }
)  # fmt: skip
_OTHERS = {
    "float": "FLOAT",
    "double": "DOUBLE",
    "date": "DATE",
    "datetime": "TIMESTAMP",
    "timestamp": "TIMESTAMP WITH TIME ZONE",
    "year": "SMALLINT",
    "json": "JSON",
    "uuid": "UUID",
}
_CALENDAR = frozenset({"date", "datetime", "timestamp"})
_FULL_DIGITS = 38


def base_type(native_type: str) -> str:
    """`decimal` of `decimal(10,2) unsigned`."""
    return re.split(r"[(\s]", native_type, maxsplit=1)[0].lower()


def duckdb_type(native_type: str) -> str:
    base = base_type(native_type)
    if base in _INTEGERS:
        return ("U" if " unsigned" in native_type else "") + _INTEGERS[base]
    if base == "decimal":
        precision, scale = _decimal_shape(native_type)
        return f"DECIMAL({precision},{scale})" if precision <= _FULL_DIGITS else "VARCHAR"
    if base == "bit":
        return "BOOLEAN" if native_type == "bit(1)" else "UBIGINT"
    if base in _BYTES:
        return "BLOB"
    return _OTHERS.get(base, "VARCHAR")


def may_hold_no_date(native_type: str) -> bool:
    """Whether a value that the server calls not NULL can read as NULL."""
    return base_type(native_type) in _CALENDAR


def character_set(native_type: str) -> str:
    """The character set of a text column: `utf8mb4` where the native type names none."""
    _, _, named = native_type.rpartition(" character set ")
    return named if named != native_type else "utf8mb4"


def longest_text(native_type: str) -> int | None:
    """The most bytes a text column can hold in UTF-8, or None when that is too many to be of use."""
    base = base_type(native_type)
    if base in {"char", "varchar"}:
        width = re.search(r"\((\d+)\)", native_type)
        return 4 * int(width.group(1)) if width else None
    return None if base in {"text", "mediumtext", "longtext"} or base in _GEOMETRY else 4 * 255


def plain(native_name: str) -> sge.Expression:
    """The column itself. Qualified, since MySQL would rather take a bare name in ORDER BY for an output column."""
    import sqlglot.expressions as sge

    return sge.column(native_name, table=TABLE_ALIAS, quoted=True)


def as_read(native_name: str, native_type: str) -> sge.Expression:
    """What to SELECT so that the text the server sends holds the whole value."""
    import sqlglot.expressions as sge

    base, column = base_type(native_type), plain(native_name)
    if base == "float" or native_type.startswith("double("):
        # The server writes a FLOAT with six digits, a DOUBLE(10,2) with two decimals, a plain DOUBLE with all it has.
        return _as_double(column)
    if base == "bit":
        return sge.Add(this=column, expression=sge.Literal.number(0))
    if base in _GEOMETRY:
        return sge.Anonymous(this="ST_AsText", expressions=[column])
    return column


def as_compared(native_name: str, native_type: str) -> sge.Expression:
    """What compares, sorts and groups at the server as the column's DuckDB type does in DuckDB."""
    import sqlglot.expressions as sge

    base, column = base_type(native_type), plain(native_name)
    if duckdb_type(native_type) == "VARCHAR":
        return _bytes_of_text(as_read(native_name, native_type), native_type)
    if base in _CALENDAR:
        day = sge.Anonymous(this="DAYOFMONTH", expressions=[column])
        last_day = sge.Anonymous(this="LAST_DAY", expressions=[column.copy()])
        last = sge.Anonymous(this="DAYOFMONTH", expressions=[last_day])
        in_calendar = sge.Between(this=day, low=sge.Literal.number(1), high=last)
        return sge.Case(ifs=[sge.If(this=in_calendar, true=column.copy())])
    if base in {"float", "double"}:  # adding zero also makes -0.0 one group with 0.0
        return _as_double(column)
    if base in {"bit", "year"}:  # a YEAR compared with 20 would be compared with 2020
        return sge.paren(sge.Add(this=column, expression=sge.Literal.number(0)))
    return column


def compares_alike(native_type: str, value: object) -> bool:
    """Whether comparing the plain column may stand beside `as_compared`, to let the server use an index."""
    if base_type(native_type) not in TEXT_TYPES:
        return base_type(native_type) in _CALENDAR | {"double"}
    # A literal that the column's character set cannot hold is an error there ("illegal mix of collations").
    return isinstance(value, str) and (value.isascii() or character_set(native_type) == "utf8mb4")


def sum_type(type_name: str) -> str:
    """The type of a sum over a column of a numeric DuckDB type; DuckDB's own, with DECIMAL(38,0) for HUGEINT."""
    if type_name in {"FLOAT", "DOUBLE"}:
        return "DOUBLE"
    return f"DECIMAL({_FULL_DIGITS},{_decimal_shape(type_name)[1] if type_name.startswith('DECIMAL') else 0})"


def averages(sums: list[bytes | None], counts: list[bytes | None], type_name: str) -> pa.Array:
    """Sums over counts, rounded as DuckDB rounds them, where the server's AVG would cut to four decimals."""
    import pyarrow as pa

    if type_name in _INTEGERS.values() or type_name.startswith("U"):
        as_float: Callable[[bytes], float] = _whole_number_as_float
    else:
        as_float = float
    result = [
        None if total is None or count is None else as_float(total) / int(count)
        for total, count in zip(sums, counts, strict=True)
    ]
    return pa.array(result, pa.float64())


def arrow_type(type_name: str) -> pa.DataType:
    import pyarrow as pa

    if type_name.startswith("DECIMAL"):
        return pa.decimal128(*_decimal_shape(type_name))
    types: dict[str, pa.DataType] = {
        "BOOLEAN": pa.bool_(),
        "TINYINT": pa.int8(),
        "SMALLINT": pa.int16(),
        "INTEGER": pa.int32(),
        "BIGINT": pa.int64(),
        "UTINYINT": pa.uint8(),
        "USMALLINT": pa.uint16(),
        "UINTEGER": pa.uint32(),
        "UBIGINT": pa.uint64(),
        "FLOAT": pa.float32(),
        "DOUBLE": pa.float64(),
        "DATE": pa.date32(),
        "TIMESTAMP": pa.timestamp("us"),
        "TIMESTAMP WITH TIME ZONE": pa.timestamp("us", "UTC"),
        "BLOB": pa.binary(),
    }
    return types.get(type_name, pa.string())


def to_arrow(values: list[bytes | None], type_name: str) -> tuple[pa.Array, int]:
    """Values as the server wrote them, as Arrow, and how many could not be kept: a date of no calendar becomes NULL,
    what is no character in a text (half a surrogate pair) becomes U+FFFD."""
    import pyarrow as pa

    array = pa.array(values, pa.binary())
    if type_name == "BLOB":
        return array, 0
    try:
        text = array.cast(pa.string())
    except pa.ArrowInvalid:
        mended = [None if value is None else value.decode(errors="replace") for value in values]
        changed = sum(new is not None and new.encode() != old for new, old in zip(mended, values, strict=True))
        return pa.array(mended, pa.string()), changed
    wanted = arrow_type(type_name)
    if wanted == pa.string():
        return text, 0
    if not (pa.types.is_date(wanted) or pa.types.is_timestamp(wanted)):
        return text.cast(wanted), 0
    moment = pa.date32() if pa.types.is_date(wanted) else pa.timestamp("us")
    try:
        return text.cast(moment).cast(wanted), 0
    except pa.ArrowInvalid:
        kept = [value if value is not None and _is_in_calendar(value) else None for value in values]
        dropped = kept.count(None) - array.null_count
        return pa.array(kept, pa.binary()).cast(pa.string()).cast(moment).cast(wanted), dropped


def _decimal_shape(type_text: str) -> tuple[int, int]:
    found = re.search(r"\((\d+)(?:\s*,\s*(\d+))?\)", type_text)
    return (int(found.group(1)), int(found.group(2) or 0)) if found else (10, 0)


def _whole_number_as_float(text: bytes) -> float:
    """As DuckDB turns its 128-bit sums into numbers: the halves each rounded, then their sum."""
    upper, lower = divmod(int(text), 2**64)
    return -float(2**64 - 1 - lower) - 1 if upper == -1 else float(lower) + float(upper) * 2.0**64


def _as_double(expression: sge.Expression) -> sge.Expression:
    import sqlglot.expressions as sge

    return sge.paren(sge.Add(this=expression, expression=sge.Literal.number("0e0")))


def _bytes_of_text(expression: sge.Expression, native_type: str) -> sge.Expression:
    """The UTF-8 bytes of a text. Binary strings compare byte by byte, without case, padding or any collation, on MySQL
    and MariaDB alike, where the exact text collations have other names and pad with blanks on one of them."""
    import sqlglot.expressions as sge

    already_utf8 = base_type(native_type) in TEXT_TYPES - {"enum", "set"}
    if not (already_utf8 and character_set(native_type) in {"utf8mb4", "utf8mb3", "utf8", "ascii"}):
        utf8 = sge.DataType(this=sge.DataType.Type.CHARACTER_SET, kind=sge.var("utf8mb4"))
        expression = sge.Cast(this=expression, to=utf8)
    return sge.Cast(this=expression, to=sge.DataType.build("binary", dialect="mysql"))


def _is_in_calendar(value: bytes) -> bool:
    year, month, day = int(value[0:4]), int(value[5:7]), int(value[8:10])
    # Year 0 is a leap year, as 2000 is; Python's calendar starts at 1.
    return 1 <= month <= 12 and 1 <= day <= monthrange(year or 2000, month)[1]
