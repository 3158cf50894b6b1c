"""One bounded sample of a table's rows, read once and used by every step that needs no more than that.

In: a relation and its columns. Out: for every column its values in all rows of a small table or in some of a large one
(the same in every run), as text and, for numbers and moments, as numbers. Long texts are cut. Nothing here judges a
value.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from coset.evidence.column_expressions import column_kind, shown
from coset.sql_text import identifier

SAMPLE_ROWS = 5_000
SAMPLE_CELLS = 1_000_000
"""A table of very many columns is sampled with fewer rows, so that work and memory stay bounded."""
FEWEST_ROWS = 200
COLUMNS_AT_ONCE = 1_000
CUT_CHARACTERS = 301
"""A text of more than four times as many bytes is cut to so many characters."""
UNREADABLE = "ANY"
"""Stands for the type of a column that the engine cannot read."""


@dataclass(frozen=True)
class SampledRows:
    rows: int
    complete: bool
    """Whether these are all rows of the relation."""
    texts: Mapping[str, Sequence[str | None]]
    """The values of each column as DuckDB writes them."""
    values: Mapping[str, Sequence[object]]
    """The values of each column of which `value_sql` makes something."""

    def some_texts(self, column: str, most: int, seed: int = 0) -> list[str]:
        """The texts of a column in at most so many of the rows, the same ones of every column; NULL is left out."""
        texts = self.texts.get(column, ())
        if len(texts) > most:
            texts = [texts[place] for place in _places(len(texts), most, seed)]
        return [text for text in texts if text is not None]


@functools.lru_cache(maxsize=16)
def _places(rows: int, most: int, seed: int) -> tuple[int, ...]:
    """Some places among the rows, in order; the same for every column of a table."""
    return tuple(sorted(random.Random(seed).sample(range(rows), most)))  # noqa: S311 - a seeded sample


def value_sql(column: str, type: str) -> str | None:
    """The value as Python can hold it: numbers as numbers, moments as microseconds since 1970, text (cut when it is
    long) as text; None for other types."""
    kind, name = column_kind(type), identifier(column)
    if kind == "text":
        return (
            f"CASE WHEN strlen({name}) > {4 * (CUT_CHARACTERS - 1)} THEN left({name}, {CUT_CHARACTERS}) "
            f"ELSE CAST({name} AS VARCHAR) END"  # a part of JSON is text, and the rest must be, too
        )
    if kind == "enum":
        return f"CAST({name} AS VARCHAR)"
    if type.upper().startswith(("DATE", "TIMESTAMP")) and kind != "nested":
        # As microseconds: Python's own dates end at year 9999 and need a time zone library for zoned ones.
        plain = f"timezone('UTC', {name})" if kind == "ordered" else f"TRY_CAST({name} AS TIMESTAMP)"
        return f"CASE WHEN isfinite({name}) THEN epoch_us({plain}) END"
    if kind == "decimal":
        return f"CAST({name} AS DOUBLE)"
    return name if kind == "float" or (kind == "integer" and type.upper() != "BIGNUM") else None


def sampled_rows(
    connection: duckdb.DuckDBPyConnection,
    relation: str,
    columns: Sequence[tuple[str, str]],
    *,
    rows: int,
    seed: int = 0,
) -> SampledRows:
    """`rows`: how many there are in the relation, as far as that is known."""
    most = max(FEWEST_ROWS, min(SAMPLE_ROWS, SAMPLE_CELLS // max(1, len(columns))))
    part = f" USING SAMPLE reservoir({most} ROWS) REPEATABLE ({seed})" if rows > most else ""
    texts: dict[str, Sequence[str | None]] = {}
    values: dict[str, Sequence[object]] = {}
    held = 0
    for start in range(0, len(columns), COLUMNS_AT_ONCE):
        some = columns[start : start + COLUMNS_AT_ONCE]
        try:
            fetched = _fetched(connection, relation, some, part)
        except duckdb.InterruptException:
            raise
        except duckdb.Error:
            # A column that the engine cannot read as its type says is left empty; the others are not lost for it.
            some = [
                (name, type if _can_be_read(connection, relation, name, type) else UNREADABLE) for name, type in some
            ]
            fetched = _fetched(connection, relation, some, part)
        held = len(fetched)
        cells = iter(zip(*fetched, strict=True)) if fetched else iter([()] * (2 * len(some)))
        for name, type in some:
            texts[name] = next(cells)
            if value_sql(name, type) is not None:
                values[name] = texts[name] if column_kind(type) in ("text", "enum") else next(cells)
    return SampledRows(held, not part or held < most, texts, values)


def _fetched(
    connection: duckdb.DuckDBPyConnection, relation: str, columns: Sequence[tuple[str, str]], part: str
) -> list[tuple[Any, ...]]:
    """Per column its text and, where that is not all there is to know, its value."""
    kept, outputs = [], []
    for name, type in columns:
        kept.append(f"{_kept(name, type)} AS {identifier(name)}")
        outputs.append(f"CAST({identifier(name)} AS VARCHAR)")
        value = value_sql(name, type)
        if value is not None and column_kind(type) not in ("text", "enum"):
            outputs.append(value)
    # Long cells are cut before the sample is drawn, which would otherwise hold them whole; all else comes after it.
    rows = f"SELECT * FROM (SELECT {', '.join(kept)} FROM {relation}){part}"
    return connection.execute(f"SELECT {', '.join(outputs)} FROM ({rows})").fetchall()


def _kept(name: str, type: str) -> str:
    kind = column_kind(type)
    if kind == "json":
        return value_sql(name, "VARCHAR") or identifier(name)
    if kind in ("nested", "blob"):
        return shown(identifier(name), kind)
    if kind == "other":
        return "CAST(NULL AS VARCHAR)"
    return (value_sql(name, type) if kind == "text" else None) or identifier(name)


def _can_be_read(connection: duckdb.DuckDBPyConnection, relation: str, name: str, type: str) -> bool:
    try:
        _fetched(
            connection,
            f"(SELECT {identifier(name)} FROM {relation})",
            [(name, type)],
            " USING SAMPLE reservoir(1 ROWS)",
        )
    except duckdb.InterruptException:
        raise
    except duckdb.Error:
        return False
    return True
