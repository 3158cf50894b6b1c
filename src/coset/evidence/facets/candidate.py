"""What may be read out of a text column: a candidate, the expression it is read by, and how texts are looked at.

In: texts of a column and an expression. Out: `Candidate`s, and what the expression gives for the texts.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from duckdb import DuckDBPyConnection

from coset.sql_text import identifier, literal

Kind = Literal[
    "date", "number", "amount", "identifier", "place", "person", "url", "email", "phone", "key_value", "slot", "list",
    "other",
]  # fmt: skip


@dataclass(frozen=True)
class Candidate:
    """What might be read; `raw` gives the piece of text that was read, which is how two readings of it are told."""

    name: str
    kind: Kind
    expression: str
    type: str
    description: str
    weight: float
    """How much this kind of reading says beside another of the same text."""
    raw: str
    varied: bool = False
    """True where a reading that nearly always gives the same value is no reading."""


def escaped(text: str) -> str:
    """A piece of text as a pattern; blanks match any blanks."""
    return r"\s+".join(re.escape(word) for word in text.split())


def extract(column: str, pattern: str, group: int = 1) -> str:
    """The group of the first match, NULL where nothing matches."""
    return f"nullif(regexp_extract({column}, {literal(pattern)}, {group}), '')"


def trimmed(expression: str) -> str:
    return f"nullif(trim({expression}), '')"


def as_number(text: str, type: str = "DOUBLE", thousands: str = ",") -> str:
    """A number from text such as "1,234.50"."""
    return f"try_cast(replace({text}, {literal(thousands)}, '') AS {type})"


def first_of(expressions: Sequence[str]) -> str:
    """The first that is not NULL."""
    return expressions[0] if len(expressions) == 1 else f"coalesce({', '.join(expressions)})"


_LOOKED_AT = 1_000
_LOOKED_AT_LETTERS = 2_000
COPIED_LETTERS = 8_000_000
"""How much text is copied; a longer column is read from a sample."""
COPIED_ROWS = 50_000
LONGEST_TEXT = 20_000
"""Of a longer text the beginning is looked at."""
_SAMPLED_VALUES = 1_000
_SAMPLED_LETTERS = 300_000
_SAMPLED_LENGTH = 4_000

_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class Copy:
    table: str
    sample: str
    """A temporary table of `values`, in their order."""
    column: str
    """Quoted."""
    rows: int
    """How many rows were copied, those without a value included."""
    complete: bool
    cut: bool
    """True where a text was longer than what was looked at."""
    structured: bool
    """True where the texts are JSON or the like: their fields are another's work."""
    values: tuple[str, ...]


def read(connection: DuckDBPyConnection, relation: str, column: str, rows: int, seed: int) -> Copy | None:
    name = identifier(column)
    first = connection.execute(
        f"SELECT left({name}, {_LOOKED_AT_LETTERS}), length({name}) FROM {relation} "
        f"WHERE {name} IS NOT NULL AND {name} <> '' LIMIT {_LOOKED_AT}"
    ).fetchall()
    if not holds_text([value for value, _ in first]):
        return None
    mean = sum(min(length, LONGEST_TEXT) for _, length in first) / len(first)
    wanted = min(COPIED_ROWS, max(5_000, int(COPIED_LETTERS / max(mean, 1))))
    complete = rows <= wanted
    table, sample_table = (identifier(f"facets_{kind}_{uuid.uuid4().hex}") for kind in ("copy", "sample"))
    sample = "" if complete else f" USING SAMPLE reservoir({wanted} ROWS) REPEATABLE ({seed})"
    connection.execute(
        f"CREATE TEMP TABLE {table} AS SELECT left({name}, {LONGEST_TEXT}) AS {name} "
        f"FROM (SELECT {name} FROM {relation}){sample}"
    )
    try:
        counted = connection.execute(
            f"SELECT count(*), coalesce(bool_or(length({name}) >= {LONGEST_TEXT}), false) FROM {table}"
        ).fetchone()
        count = min(_SAMPLED_VALUES, max(150, int(_SAMPLED_LETTERS / max(min(mean, _SAMPLED_LENGTH), 1))))
        connection.execute(
            f"CREATE TEMP TABLE {sample_table} AS SELECT value AS {name} FROM (SELECT DISTINCT "
            f"left({name}, {_SAMPLED_LENGTH}) AS value FROM {table} WHERE trim({name}) <> '') "
            f"ORDER BY hash(value), value LIMIT {count}"
        )
        values = connection.execute(f"SELECT {name} FROM {sample_table} ORDER BY rowid").fetchall()
    except BaseException:
        _drop(connection, table, sample_table)
        raise
    copied, cut = counted or (0, False)
    texts = tuple(value for (value,) in values)
    return Copy(table, sample_table, name, copied, complete, cut, _is_structured(texts), texts)


def drop(connection: DuckDBPyConnection, copy: Copy) -> None:
    _drop(connection, copy.table, copy.sample)


def _drop(connection: DuckDBPyConnection, *tables: str) -> None:
    for table in tables:
        connection.execute(f"DROP TABLE IF EXISTS {table}")


def holds_text(values: Sequence[str]) -> bool:
    """Whether values hold more than a name, a number or an identifier each."""
    distinct = set(values)
    if len(distinct) < 5:
        return False
    loose = sum(1 for value in distinct if re.search(r"\S[\s=;|]+\S", value) and re.search(r"[^\W\d_]{2}", value))
    words = sum(min(len(_WORD.findall(value)), 20) for value in distinct)
    return loose >= 0.2 * len(distinct) and words >= 2.5 * len(distinct)


def _is_structured(values: tuple[str, ...]) -> bool:
    some = values[:100]
    fields = 0
    for value in some:
        bare = value.strip()
        if bare[:1] in "{[" and bare[-1:] in "}]":
            fields += 1
        elif bare[:1] in ("{", "["):
            try:
                json.loads(bare)
                fields += 1
            except (ValueError, RecursionError):
                fields += bool(re.match(r"[{\[]\s*[\"'{\[]", bare))
    return fields >= 0.5 * len(some)
