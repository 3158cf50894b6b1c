"""What of a text column is looked at: a quick look that tells prose from labels, then a copy of the column or a sample.

In: an open connection, a relation, a column. Out: None where the column holds no text worth reading, else a `Copy`: a
temporary table with the column under its own name (every expression runs on it as it stands) and some hundred to a
thousand of its distinct values. The copy is dropped by `drop`.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from duckdb import DuckDBPyConnection

from coset.sql_text import identifier

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
