"""SQL over one column that is safe at any size: names quoted, long cells cut, values brought to a form that joins.

In: a column's name and DuckDB type. Out: pieces of DuckDB SQL. Nothing here runs anything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
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


def quoted(name: str) -> str:
    """An identifier as DuckDB reads it, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def shown(expression: str, kind: ColumnKind) -> str:
    """The value as text of at most `SHOWN_CHARACTERS`."""
    if kind in ("text", "json"):
        cut = f"left({expression}, {SHOWN_CHARACTERS})"
        return f"CASE WHEN strlen({expression}) > {LONG_BYTES} THEN {cut} ELSE {expression} END"
    if kind == "blob":
        # A blob's text is its bytes, escaped; only its beginning is turned into text.
        return f"CAST({expression}[1:{SHOWN_CHARACTERS // 4}] AS VARCHAR)"
    return f"left(CAST({expression} AS VARCHAR), {SHOWN_CHARACTERS})"


def counted(expression: str, kind: ColumnKind) -> str:
    """What stands for the value when distinct values are counted: itself, or the ends and the size of a long one."""
    if kind in ("text", "json"):
        ends = f"left({expression}, {HASHED_CHARACTERS}) || right({expression}, 1000) || strlen({expression})"
        return f"CASE WHEN strlen({expression}) > {4 * HASHED_CHARACTERS} THEN {ends} ELSE {expression} END"
    if kind == "blob":
        # Slices of a long blob can only be joined as text of their bytes.
        size = f"octet_length({expression})"
        ends = f"encode(hex({expression}[1:{HASHED_CHARACTERS}]) || {size})"
        return f"CASE WHEN {size} > {4 * HASHED_CHARACTERS} THEN {ends} ELSE {expression} END"
    if kind in ("nested", "other"):
        return f"hash({expression})"
    return expression


def normalised(
    expression: str, kind: ColumnKind, *, separators: Sequence[str] | None = None, numeric: bool = False
) -> str:
    """The value as lower-case letters and digits, so that `A-12`, `a 12` and `A12` are one; 7 for 7.0.

    `separators` are the characters to leave out where they are known (many times faster over many rows than the
    pattern that leaves out all); `numeric` is for text that holds numbers, so that `007` and `7.0` meet the number 7.
    NULL for values without a letter or digit.
    """
    if kind == "integer":
        return f"CAST({expression} AS VARCHAR)"
    if kind in ("float", "decimal"):
        number = f"CAST({expression} AS DOUBLE)"
        return _whole_number(number, f"CASE WHEN isfinite({number}) THEN CAST({expression} AS VARCHAR) END")
    if kind == "date":
        return f"replace(CAST({expression} AS VARCHAR), '-', '')"
    if kind == "timestamp":
        # Midnight is written as the date, so that dates and timestamps meet; other moments only meet other timestamps
        # (as text they would cost ten times as much).
        day = f"replace(CAST(CAST({expression} AS DATE) AS VARCHAR), '-', '')"
        moment = f"CAST(epoch_us(CAST({expression} AS TIMESTAMP)) AS VARCHAR)"
        return f"CASE WHEN {expression} = CAST({expression} AS DATE) THEN {day} ELSE {moment} END"
    text = shown(expression, "text") if kind == "text" else f"CAST({expression} AS VARCHAR)"
    if separators is None:
        stripped = rf"regexp_replace(lower({text}), '[^\p{{L}}\p{{M}}\p{{N}}]+', '', 'g')"
    else:
        stripped = _without(f"lower({text})", separators)
    stripped = f"nullif({stripped}, '')"
    return _whole_number(f"TRY_CAST({text} AS DOUBLE)", stripped) if numeric else stripped


def _whole_number(number: str, otherwise: str) -> str:
    # Beyond 10^15 a double no longer holds every whole number.
    whole = f"{number} = trunc({number}) AND abs({number}) < 1e15"
    return f"CASE WHEN {whole} THEN CAST(TRY_CAST({number} AS BIGINT) AS VARCHAR) ELSE {otherwise} END"


def _without(text: str, characters: Sequence[str]) -> str:
    for character in characters:
        text = f"replace({text}, {literal(character)}, '')"
    return text
