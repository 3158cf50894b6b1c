"""The type of a SQLite column, found from what it was declared as and from what is stored in it.

SQLite types belong to values, not to columns: a column declared DATE may hold anything. `survey_expressions` are the
aggregates that one SELECT over the table asks for, `facts_from` reads their answer and `duckdb_type` decides. A type
is given only when every value has it exactly; otherwise the column falls back to one that loses nothing.

A type also promises how the values are stored, so that reading needs no second survey:
BIGINT integers; DOUBLE reals, and integers below 2^53; BOOLEAN the integers 0 and 1; DECIMAL(p,s) numbers below
10^(15-s), each the double nearest to a decimal with s places; DATE text `YYYY-MM-DD`; TIMESTAMP ISO text without a
zone; BLOB at least one blob; VARCHAR anything else, as CAST AS TEXT prints it.

Nothing here knows about connections, Arrow or scans.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

Affinity = Literal["INTEGER", "TEXT", "BLOB", "REAL", "NUMERIC"]
Meaning = Literal["date", "timestamp", "boolean", "decimal"]

NOT_UTF8 = "Some text is not valid UTF-8; bytes that cannot be decoded are shown as U+FFFD."
"""The comment of such a column. Its text is never compared in SQLite, which would compare the bytes themselves."""

EXACT_INTEGERS = 2**53
"""A double holds every integer up to this one."""
EXACT_DIGITS = 15
"""A double holds every decimal of up to this many digits, so that it can be told from its neighbours."""

MONEY = (19, 4)


@dataclass(frozen=True)
class Declared:
    """What the words of a declared type promise; SQLite itself enforces only the affinity."""

    affinity: Affinity
    meaning: Meaning | None = None
    precision: int = 0
    scale: int = 0
    is_blob: bool = False
    is_number: bool = False


@dataclass(frozen=True)
class Facts:
    """What is stored in one column, NULLs aside."""

    has_blob: bool
    has_text: bool
    has_real: bool
    smallest: int | float | None
    """The smallest number, None when there is none."""
    largest: int | float | None
    only_iso_times: bool = False
    shortest_text: int = 0
    longest_text: int = 0
    only_declared_decimals: bool = False
    not_utf8: bool = False
    size: int = 0

    @property
    def has_number(self) -> bool:
        return self.smallest is not None

    @property
    def is_empty(self) -> bool:
        return not (self.has_blob or self.has_text or self.has_number)


@lru_cache(maxsize=4096)
def declared(native_type: str) -> Declared:
    """Reads a declared type, such as `NUMERIC(10, 2)`; any text is allowed there."""
    text = native_type.upper().strip()
    affinity = _affinity(text)
    match = re.match(r"([A-Z_][A-Z0-9_ ]*?)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)\s*)?$", text)
    words = match[1] if match else text
    if words in {"BOOLEAN", "BOOL"}:
        return Declared(affinity, "boolean")
    if words == "DATE":
        return Declared(affinity, "date")
    if words in {"DATETIME", "DATETIME2", "SMALLDATETIME", "TIMESTAMP", "TIMESTAMP WITHOUT TIME ZONE"}:
        return Declared(affinity, "timestamp")
    if words in {"MONEY", "SMALLMONEY", "CURRENCY"} and match and not match[2]:
        return Declared(affinity, "decimal", *MONEY)
    if words in {"DECIMAL", "DEC", "NUMERIC", "NUMBER", "MONEY", "CURRENCY"} and match and match[2]:
        precision, scale = int(match[2]), int(match[3] or 0)
        if 1 <= precision <= 38 and scale <= min(precision, EXACT_DIGITS):
            return Declared(affinity, "decimal", precision, scale)
    is_number = affinity in {"INTEGER", "REAL"} or words.startswith(("NUM", "DEC", "MONEY", "CURRENCY"))
    return Declared(affinity, is_blob="BLOB" in text or "BINARY" in text, is_number=is_number)


def _affinity(text: str) -> Affinity:
    """SQLite's own rules, in its order (sqlite.org/datatype3.html, 3.1)."""
    if "INT" in text:
        return "INTEGER"
    if any(word in text for word in ("CHAR", "CLOB", "TEXT")):
        return "TEXT"
    if not text or "BLOB" in text:
        return "BLOB"
    if any(word in text for word in ("REAL", "FLOA", "DOUB")):
        return "REAL"
    return "NUMERIC"


def survey_expressions(column: str, promise: Declared, *, check_text: bool) -> dict[str, str]:
    """Aggregates over `column` (a quoted name) by the name of the fact. `not_utf8` is a function of the connection.

    The least and the greatest value tell which classes there are, because SQLite sorts numbers before text before
    blobs, and integer, real and text are in alphabetical order too. BINARY, as a column's collation may be unknown.
    """
    if promise.is_blob:
        # Asking only for the type keeps SQLite from reading the blobs themselves.
        number = f"CASE WHEN typeof({column}) IN ('integer', 'real') THEN {column} END"
        least, greatest = f"min({number})", f"max({number})"
        last_class = f"CASE min(typeof({column})) WHEN 'blob' THEN 'blob' END"
    else:
        least, greatest = f"min({column} COLLATE BINARY)", f"max({column} COLLATE BINARY)"
        last_class = f"typeof({greatest})"
    asked = {
        "last_type": f"max(typeof({column}))",
        "last_class": last_class,
        "smallest": f"CASE WHEN typeof({least}) IN ('integer', 'real') THEN {least} END",
        "largest": f"CASE WHEN typeof({greatest}) IN ('integer', 'real') THEN {greatest} END",
    }
    if promise.meaning in {"date", "timestamp"}:
        asked["only_iso_times"] = f"min({_iso_time(column)}) AND {least} >= '0001'"
        asked["shortest_text"] = f"min(length({column}))"
        asked["longest_text"] = f"max(length({column}))"
    elif promise.meaning == "decimal":
        power = f"{10**promise.scale}.0"
        asked["only_declared_decimals"] = f"min(round({column} * {power}) / {power} = {column})"
    elif promise.affinity in {"TEXT", "BLOB"} or promise.is_blob:
        asked["size"] = f"sum(length({column}))"
        if check_text and not promise.is_blob:
            asked["not_utf8"] = not_utf8_expression(column)
    return asked


def not_utf8_expression(column: str) -> str:
    return f"max(CASE typeof({column}) WHEN 'text' THEN not_utf8(CAST({column} AS BLOB)) END)"


def _iso_time(column: str) -> str:
    """True for text that is a valid ISO date, or date and time of up to microseconds, without a zone.

    SQLite rolls 30 February over to March once it has to calculate, so a text that comes back unchanged is valid.
    """
    start, spaced = f"substr({column}, 1, 19)", f"replace({column}, 'T', ' ')"
    fraction = f"substr({column}, 20, 1) = '.' AND substr({column}, 21) NOT GLOB '*[^0-9]*'"
    whole = f"length({column}) = length(CAST({column} AS BLOB))"
    return (
        f"CASE length({column}) WHEN 10 THEN {column} = date({column}, '+0 days') COLLATE BINARY"
        f" WHEN 19 THEN {spaced} = datetime({column}, '+0 days') COLLATE BINARY"
        f" WHEN 16 THEN {spaced} || ':00' = datetime({column}, '+0 days') COLLATE BINARY"
        f" ELSE length({column}) BETWEEN 21 AND 26 AND {fraction} AND {whole}"
        f" AND replace({start}, 'T', ' ') = datetime({start}, '+0 days') COLLATE BINARY END"
    )


def facts_from(answers: dict[str, Any]) -> Facts:
    """The answers to `survey_expressions`, text as bytes."""
    last_type, last_class = answers["last_type"], answers["last_class"]
    return Facts(
        has_blob=last_class == b"blob",
        has_text=last_type == b"text",
        has_real=last_type == b"real",
        smallest=answers["smallest"],
        largest=answers["largest"] if answers["largest"] is not None else answers["smallest"],
        only_iso_times=bool(answers.get("only_iso_times")),
        shortest_text=answers.get("shortest_text") or 0,
        longest_text=answers.get("longest_text") or 0,
        only_declared_decimals=bool(answers.get("only_declared_decimals")),
        not_utf8=bool(answers.get("not_utf8")),
        size=answers.get("size") or 0,
    )


def needs_integer_bounds(facts: Facts) -> bool:
    """Whether integers are mixed with reals so large that the integers' own bounds must be asked for."""
    return _is_numeric(facts) and facts.has_real and not _within(facts, EXACT_INTEGERS)


def duckdb_type(promise: Declared, facts: Facts, *, large_integers: bool = False) -> str:
    """The DuckDB type that holds every value. `large_integers`: reals are mixed with integers of 2^53 or more."""
    if facts.is_empty:
        return _type_of_nothing(promise)
    if facts.has_blob:
        return "BLOB"
    if facts.has_text:
        if facts.has_number or not facts.only_iso_times:
            return "VARCHAR"
        return "DATE" if promise.meaning == "date" and facts.longest_text == 10 else "TIMESTAMP"
    if promise.meaning == "decimal" and facts.only_declared_decimals:
        digits = min(promise.precision, EXACT_DIGITS) - promise.scale
        if _within(facts, 10**digits):
            return f"DECIMAL({promise.precision},{promise.scale})"
    if facts.has_real:
        return "VARCHAR" if large_integers else "DOUBLE"
    if promise.meaning == "boolean" and facts.smallest in {0, 1} and facts.largest in {0, 1}:
        return "BOOLEAN"
    return "BIGINT"


def _is_numeric(facts: Facts) -> bool:
    return facts.has_number and not facts.has_text and not facts.has_blob


def _within(facts: Facts, bound: int) -> bool:
    return (
        facts.smallest is not None and facts.largest is not None and -bound < facts.smallest and facts.largest < bound
    )


def _type_of_nothing(promise: Declared) -> str:
    if promise.meaning == "decimal":
        return f"DECIMAL({promise.precision},{promise.scale})"
    if promise.meaning:
        return promise.meaning.upper()
    if promise.is_blob:
        return "BLOB"
    if not promise.is_number:
        return "VARCHAR"
    return "BIGINT" if promise.affinity == "INTEGER" else "DOUBLE"
