"""Clean databases from files: a SQLite or DuckDB file with declared keys, or one database of a corpus.

In: a path (and, for a corpus, the name of a database). Out: a `CleanDatabase`. Empty text counts as null, since some
engines cannot tell the two apart. A foreign key whose table or column is missing is left out.

A corpus folder has `schemas.jsonl.zst`, `rows/<corpus>/<db>/<table>.parquet` with all values as text, and perhaps
`synonyms.jsonl.zst`. A text column gets a type only where every value reads back the same.
"""

from __future__ import annotations

import datetime
import json
import re
import sqlite3
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from .clean import CleanColumn, CleanDatabase, CleanForeignKey, CleanTable, ColumnType, Value
from .sql import identifier

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_REAL = re.compile(r"-?\d{1,12}\.\d+|-?\d{1,12}")


def read_database(path: Path) -> CleanDatabase:
    """A SQLite or DuckDB file, known by its first bytes."""
    with path.open("rb") as file:
        head = file.read(16)
    if head.startswith(b"SQLite format 3"):
        return _read_sqlite(path)
    if head[8:12] == b"DUCK":
        return _read_duckdb(path)
    raise ValueError(f"'{path}' is neither a SQLite nor a DuckDB database")


def read_corpus(folder: Path, database: str, corpus: str | None = None, max_rows: int = 20_000) -> CleanDatabase:
    """One database of a corpus folder; tables without rows there are left out."""
    schema = next(
        (
            record
            for record in _json_lines(folder / "schemas.jsonl.zst", database)
            if record["db"] == database and corpus in {None, record["corpus"]}
            and (folder / "rows" / record["corpus"] / database).is_dir()
        ),
        None,
    )  # fmt: skip
    if schema is None:
        raise ValueError(f"'{folder}' has no database '{database}' with rows")
    synonyms: dict[tuple[str, str | None], list[str]] = {}
    if schema["corpus"] == "spider" and (folder / "synonyms.jsonl.zst").is_file():
        for record in _json_lines(folder / "synonyms.jsonl.zst", database):
            if record["db"] == database and record["source"].startswith("Manual"):
                place = (record["table"].lower(), record["column"] and record["column"].lower())
                synonyms.setdefault(place, []).extend(record["names"])
    tables = []
    for described in schema["tables"]:
        name = described["name"]
        file = folder / "rows" / schema["corpus"] / database / f"{name}.parquet"
        if not file.is_file():
            continue
        rows = pq.read_table(file).slice(0, max_rows)
        columns = [
            _typed(column, rows.column(column).to_pylist(), synonyms.get((name.lower(), column.lower()), []))
            for column in rows.column_names
        ]
        if columns and rows.num_rows:
            tables.append(_checked(name, columns, described["primary_key"], synonyms.get((name.lower(), None), [])))
    keys = [
        CleanForeignKey(key["table"], tuple(key["columns"]), key["ref_table"], tuple(key["ref_columns"]))
        for key in schema["foreign_keys"]
    ]
    return CleanDatabase(database, tuple(tables), _existing(tables, keys))


def _read_sqlite(path: Path) -> CleanDatabase:
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    try:
        names = [
            row[0]
            for row in connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_' ORDER BY name"
            )
        ]
        tables, keys = [], []
        for name in names:
            described = connection.execute(f"PRAGMA table_info({identifier(name)})").fetchall()
            rows = connection.execute(f"SELECT * FROM {identifier(name)}").fetchall()
            if not rows:
                continue
            columns = [
                _of_values(column[1], [row[position] for row in rows]) for position, column in enumerate(described)
            ]
            primary = [column[1] for column in sorted(described, key=lambda column: column[5]) if column[5]]
            tables.append(_checked(name, columns, primary, []))
            grouped: dict[int, list[tuple[Any, ...]]] = {}
            for reference in connection.execute(f"PRAGMA foreign_key_list({identifier(name)})"):
                grouped.setdefault(reference[0], []).append(reference)
            for parts in grouped.values():
                parts.sort(key=lambda part: part[1])
                if all(part[4] for part in parts):
                    child, parent = tuple(part[3] for part in parts), tuple(part[4] for part in parts)
                    keys.append(CleanForeignKey(name, child, parts[0][2], parent))
    finally:
        connection.close()
    return CleanDatabase(path.stem, tuple(tables), _existing(tables, keys))


def _read_duckdb(path: Path) -> CleanDatabase:
    with duckdb.connect(str(path), read_only=True) as connection:
        listed = connection.execute(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE NOT internal ORDER BY ALL"
        ).fetchall()
        tables = []
        for schema, name in listed:
            found = connection.sql(f"SELECT * FROM {identifier(schema)}.{identifier(name)}").to_arrow_table()
            columns = [_of_values(column, found.column(column).to_pylist()) for column in found.column_names]
            primary = connection.execute(
                "SELECT constraint_column_names FROM duckdb_constraints() "
                "WHERE constraint_type = 'PRIMARY KEY' AND schema_name = ? AND table_name = ?",
                [schema, name],
            ).fetchall()
            if found.num_rows:
                tables.append(_checked(name, columns, primary[0][0] if primary else [], []))
        keys = [
            CleanForeignKey(table, tuple(columns), parent, tuple(parent_columns))
            for table, columns, parent, parent_columns in connection.execute(
                "SELECT table_name, constraint_column_names, referenced_table, referenced_column_names "
                "FROM duckdb_constraints() WHERE constraint_type = 'FOREIGN KEY' ORDER BY ALL"
            ).fetchall()
        ]
    return CleanDatabase(path.stem, tuple(tables), _existing(tables, keys))


def _json_lines(path: Path, about: str) -> Iterator[dict[str, Any]]:
    """The records that mention a database; the others are not worth parsing."""
    with pa.input_stream(str(path), compression="zstd") as stream:
        text = stream.read().decode("utf-8")
    for line in text.split("\n"):
        if f'"{about}"' in line:
            yield json.loads(line)


def _typed(name: str, texts: list[str | None], synonyms: list[str]) -> CleanColumn:
    """A column of texts with the type that loses nothing."""
    texts = [_clean_text(text) for text in texts]
    known = [text for text in texts if text is not None]
    kept = tuple(dict.fromkeys(synonyms))
    if known and all(text.lstrip("-").isdigit() and len(text) < 16 and str(int(text)) == text for text in known):
        return CleanColumn(name, "integer", tuple(None if text is None else int(text) for text in texts), kept)
    if known and all(_REAL.fullmatch(text) for text in known):
        return CleanColumn(name, "real", tuple(None if text is None else float(text) for text in texts), kept)
    if known and all(_is_day(text) for text in known):
        days = tuple(None if text is None else datetime.date.fromisoformat(text) for text in texts)
        return CleanColumn(name, "date", days, kept)
    return CleanColumn(name, "text", tuple(texts), kept)


def _of_values(name: str, values: list[Any]) -> CleanColumn:
    """A column of Python values as a driver gives them: one type, or text where they are mixed."""
    values = [float(value) if isinstance(value, Decimal) else value for value in values]
    kinds = {type(value) for value in values if value is not None}
    types: dict[type, ColumnType] = {
        bool: "boolean", int: "integer", float: "real", datetime.date: "date", datetime.datetime: "timestamp",
    }  # fmt: skip
    if len(kinds) == 1 and (kind := types.get(next(iter(kinds)))) and (kind != "integer" or _fits(values)):
        return CleanColumn(name, kind, tuple(values))
    if kinds == {int, float}:
        return CleanColumn(name, "real", tuple(None if value is None else float(value) for value in values))
    if kinds <= {str}:
        texts = [_clean_text(value) for value in values]
        if texts and any(texts) and all(text is None or _is_day(text) for text in texts):
            return _typed(name, texts, [])
        return CleanColumn(name, "text", tuple(texts))
    return CleanColumn(name, "text", tuple(None if value is None else _clean_text(str(value)) for value in values))


def _fits(values: list[Value]) -> bool:
    return all(value is None or abs(int(value)) < 10**15 for value in values)  # type: ignore[arg-type]


def _clean_text(text: str | None) -> str | None:
    if text is None:
        return None
    # A null byte is no text to most engines; a lone surrogate to none.
    cleaned = text.replace("\x00", "").encode("utf-8", "replace").decode("utf-8")
    return cleaned or None


def _is_day(text: str) -> bool:
    if not _DAY.fullmatch(text):
        return False
    try:
        return datetime.date.fromisoformat(text).year >= 1000
    except ValueError:
        return False


def _checked(name: str, columns: list[CleanColumn], primary_key: list[str], synonyms: list[str]) -> CleanTable:
    """The table with its primary key, if its rows really have one: corpora declare keys that do not hold."""
    by_name = {column.name.lower(): column for column in columns}
    key = tuple(by_name[part.lower()].name for part in primary_key if part.lower() in by_name)
    table = CleanTable(name, tuple(columns), key, tuple(dict.fromkeys(synonyms)))
    tuples = list(zip(*(table.column(part).values for part in key), strict=True)) if key else []
    holds = len(key) == len(primary_key) and len(set(tuples)) == table.rows and not any(None in row for row in tuples)
    return table if holds else CleanTable(name, tuple(columns), (), table.synonyms)


def _existing(tables: list[CleanTable], keys: list[CleanForeignKey]) -> tuple[CleanForeignKey, ...]:
    """Foreign keys in the tables' own spelling, each once, without those that lead nowhere."""
    by_name = {table.name.lower(): table for table in tables}
    found: dict[CleanForeignKey, None] = {}
    for key in keys:
        child, parent = by_name.get(key.table.lower()), by_name.get(key.parent_table.lower())
        if child is None or parent is None or len(key.columns) != len(key.parent_columns) or not key.columns:
            continue
        child_names = {column.name.lower(): column.name for column in child.columns}
        parent_names = {column.name.lower(): column.name for column in parent.columns}
        columns = tuple(child_names.get(column.lower(), "") for column in key.columns)
        parents = tuple(parent_names.get(column.lower(), "") for column in key.parent_columns)
        if all(columns) and all(parents) and (child.name, columns) != (parent.name, parents):
            found[CleanForeignKey(child.name, columns, parent.name, parents)] = None
    return tuple(found)
