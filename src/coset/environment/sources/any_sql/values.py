"""Values as a database driver hands them to Python, as Arrow of the type that was listed.

In: a list of Python values and a DuckDB type. Out: an Arrow array. Drivers differ in what they give for one type (a
date or its text, a Decimal or a float); what does not fit raises `NotOfItsType`, and nothing is rounded or cut.
"""

from __future__ import annotations

import datetime
import json
import re
import uuid
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

_INTEGERS = {
    "TINYINT": "int8", "SMALLINT": "int16", "INTEGER": "int32", "BIGINT": "int64",
    "UTINYINT": "uint8", "USMALLINT": "uint16", "UINTEGER": "uint32", "UBIGINT": "uint64",
}  # fmt: skip


class NotOfItsType(Exception):
    """A value that the listed type does not hold."""


def arrow_type(kind: str) -> pa.DataType:
    import pyarrow as pa

    if kind in _INTEGERS:
        return getattr(pa, _INTEGERS[kind])()
    if kind.endswith("[]"):
        return pa.list_(arrow_type(kind[:-2]))
    if found := re.fullmatch(r"DECIMAL\((\d+),\s*(\d+)\)", kind):
        return pa.decimal128(int(found[1]), int(found[2]))
    return {
        "HUGEINT": pa.decimal128(38, 0), "DOUBLE": pa.float64(), "FLOAT": pa.float32(), "BOOLEAN": pa.bool_(),
        "DATE": pa.date32(), "TIME": pa.time64("us"), "TIMESTAMP": pa.timestamp("us"),
        "TIMESTAMP WITH TIME ZONE": pa.timestamp("us", tz="UTC"), "BLOB": pa.binary(),
    }.get(kind, pa.string())  # fmt: skip


def to_arrow(values: Sequence[Any], kind: str) -> pa.Array:
    """The values as an array of the type that `arrow_type` says."""
    import pyarrow as pa

    target = arrow_type(kind)
    if kind.endswith("[]"):
        return pa.array([None if value is None else list(value) for value in values], target)
    convert = _converter(kind)
    try:
        return pa.array([None if value is None else convert(value) for value in values], target)
    except (pa.ArrowException, ValueError, TypeError, OverflowError, InvalidOperation) as error:
        raise NotOfItsType(kind) from error


def _converter(kind: str) -> Callable[[Any], Any]:
    if kind.startswith("DECIMAL") or kind == "HUGEINT":
        return _decimal
    if kind in _INTEGERS:
        return _integer
    by_name: dict[str, Callable[[Any], Any]] = {
        "DOUBLE": float, "FLOAT": float, "BOOLEAN": _boolean, "DATE": _date, "TIME": _time, "TIMESTAMP": _moment,
        "TIMESTAMP WITH TIME ZONE": _instant, "BLOB": bytes, "JSON": _json, "UUID": _uuid,
    }  # fmt: skip
    return by_name.get(kind, _text)


def _integer(value: Any) -> int:
    number = int(value)
    if number != value and not isinstance(value, str | bytes):
        raise ValueError("not whole")
    return number


def _decimal(value: Any) -> Decimal:
    return value if isinstance(value, Decimal) else Decimal(repr(value) if isinstance(value, float) else str(value))


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, bytes):
        value = int.from_bytes(value, "big")
    if isinstance(value, int | float | Decimal) and value in (0, 1):
        return bool(value)
    raise ValueError("neither true nor false")


def _date(value: Any) -> datetime.date:
    if isinstance(value, datetime.datetime):
        if value.time() != datetime.time.min:
            raise ValueError("has a time of day")
        return value.date()
    return value if isinstance(value, datetime.date) else datetime.date.fromisoformat(_text(value))


def _time(value: Any) -> datetime.time:
    if isinstance(value, datetime.timedelta):
        return (datetime.datetime.min + value).time()
    return value if isinstance(value, datetime.time) else datetime.time.fromisoformat(_text(value))


def _moment(value: Any) -> datetime.datetime:
    if isinstance(value, str | bytes):
        value = datetime.datetime.fromisoformat(_text(value))
    if not isinstance(value, datetime.datetime):
        return datetime.datetime.combine(value, datetime.time.min)
    return value.astimezone(datetime.UTC).replace(tzinfo=None) if value.tzinfo else value


def _instant(value: Any) -> datetime.datetime:
    if isinstance(value, str | bytes):
        value = datetime.datetime.fromisoformat(_text(value))
    instant: datetime.datetime = value.replace(tzinfo=datetime.UTC) if value.tzinfo is None else value
    return instant.astimezone(datetime.UTC)


def _json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=_text)


def _uuid(value: Any) -> str:
    return str(uuid.UUID(bytes=value) if isinstance(value, bytes) else value)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).decode("utf-8", "replace")
    if isinstance(value, datetime.timedelta):
        return _interval(value)
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, ensure_ascii=False, default=_text)
    return str(value)


def _interval(value: datetime.timedelta) -> str:
    """As text that DuckDB casts to INTERVAL."""
    seconds, sign = abs(value), "-" if value < datetime.timedelta(0) else ""
    hours, rest = divmod(seconds.seconds + seconds.days * 86_400, 3600)
    fraction = f".{seconds.microseconds:06d}" if seconds.microseconds else ""
    return f"{sign}{hours:02d}:{rest // 60:02d}:{rest % 60:02d}{fraction}"
