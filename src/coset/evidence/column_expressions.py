"""SQL over one column that is safe at any size: names quoted, long cells cut.

In: a column's name and DuckDB type. Out: pieces of DuckDB SQL. Nothing here runs anything.
"""

from __future__ import annotations

import re
from typing import Literal

ColumnKind = Literal[
    "text", "integer", "decimal", "float", "boolean", "date", "timestamp", "enum", "uuid", "blob", "json", "nested",
    "ordered", "other",
]  # fmt: skip
"""`ordered`: types with a least and a greatest value that are nothing else here (a time of day, an interval)."""

SHOWN_CHARACTERS = 200
"""No value that leaves the engine is longer than this."""
LONG_BYTES = 4 * SHOWN_CHARACTERS
HASHED_CHARACTERS = 4_000

_INTEGERS = {
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT",
    "BIGNUM",
}  # fmt: skip
_NESTED = {"STRUCT", "MAP", "UNION", "VARIANT", "ROW"}
_ORDERED = {"TIME", "TIMETZ", "TIME_NS", "TIMESTAMPTZ", "INTERVAL", "BIT"}
_PLAIN: dict[str, ColumnKind] = {
    "VARCHAR": "text", "TEXT": "text", "STRING": "text", "CHAR": "text", "BPCHAR": "text", "FLOAT": "float",
    "REAL": "float", "DOUBLE": "float", "DECIMAL": "decimal", "NUMERIC": "decimal", "BOOLEAN": "boolean",
    "DATE": "date", "TIMESTAMP": "timestamp", "TIMESTAMP_S": "timestamp", "TIMESTAMP_MS": "timestamp",
    "TIMESTAMP_NS": "timestamp", "DATETIME": "timestamp", "ENUM": "enum", "UUID": "uuid", "BLOB": "blob",
    "BYTEA": "blob", "JSON": "json",
}  # fmt: skip


def column_kind(duckdb_type: str) -> ColumnKind:
    """What may be asked of a column of this type."""
    text = duckdb_type.strip()
    base = re.split(r"[( ]", text.upper(), maxsplit=1)[0]
    if text.endswith("]") or base in _NESTED:
        return "nested"
    if base in _INTEGERS:
        return "integer"
    if base in _ORDERED or text.upper().endswith("WITH TIME ZONE"):
        return "ordered"
    return _PLAIN.get(base, "other")


def shown(expression: str, kind: ColumnKind) -> str:
    """The value as text of at most `SHOWN_CHARACTERS`."""
    if kind in ("text", "json"):
        cut = f"left({expression}, {SHOWN_CHARACTERS})"
        return f"CASE WHEN strlen({expression}) > {LONG_BYTES} THEN {cut} ELSE {_as_text(expression, kind)} END"
    if kind == "blob":
        # A blob's text is its bytes, escaped; only its beginning is turned into text.
        return f"CAST({expression}[1:{SHOWN_CHARACTERS // 4}] AS VARCHAR)"
    return f"left(CAST({expression} AS VARCHAR), {SHOWN_CHARACTERS})"


def _as_text(expression: str, kind: ColumnKind) -> str:
    """A piece of JSON is text, not JSON, and what stands beside it must be text as well."""
    return f"CAST({expression} AS VARCHAR)" if kind == "json" else expression


def counted(expression: str, kind: ColumnKind) -> str:
    """What stands for the value when distinct values are counted: itself, or the ends and the size of a long one."""
    if kind in ("text", "json"):
        ends = f"left({expression}, {HASHED_CHARACTERS}) || right({expression}, 1000) || strlen({expression})"
        short = _as_text(expression, kind)
        return f"CASE WHEN strlen({expression}) > {4 * HASHED_CHARACTERS} THEN {ends} ELSE {short} END"
    if kind == "blob":
        # Slices of a long blob can only be joined as text of their bytes.
        size = f"octet_length({expression})"
        ends = f"encode(hex({expression}[1:{HASHED_CHARACTERS}]) || {size})"
        return f"CASE WHEN {size} > {4 * HASHED_CHARACTERS} THEN {ends} ELSE {expression} END"
    if kind in ("nested", "other"):
        return f"hash({expression})"
    return expression
