"""The written files read back into one DuckDB, each by the plainest means there is, to count what they really hold.

Independent of coset on purpose: its reading is what the environments are to test. Tables are `"source"."table"`.
"""

from __future__ import annotations

import csv
import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from .sql import identifier, literal

_UNESCAPED = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "\\": "\\"}


def read_back(folder: Path, sources: dict[str, tuple[str, str]]) -> duckdb.DuckDBPyConnection:
    """`sources`: name -> (engine, location)."""
    connection = duckdb.connect(config={"threads": 2})
    for name, (engine, location) in sources.items():
        connection.execute(f"CREATE SCHEMA {identifier(name)}")
        path = folder / location
        if engine == "duckdb":
            connection.execute(f"ATTACH {literal(str(path))} AS written (READ_ONLY)")
            tables = connection.execute(
                "SELECT table_name FROM duckdb_tables() WHERE database_name = 'written' ORDER BY table_name"
            ).fetchall()
            for (table,) in tables:
                _create(connection, name, table, f"written.{identifier(table)}")
            connection.execute("DETACH written")
        elif engine == "parquet":
            for file in sorted(path.iterdir()):
                _create(connection, name, file.stem, f"read_parquet({literal(str(file))})")
        else:
            read = {"csv": _csv, "sqlite": _sqlite, "jsonl": _jsonl, "pg_dump": _pg_dump, "mongodump": _mongodump}[
                engine
            ]
            for table, content in read(path).items():
                connection.register("read_back_rows", content)
                _create(connection, name, table, "read_back_rows")
                connection.unregister("read_back_rows")
    return connection


def _create(connection: duckdb.DuckDBPyConnection, source: str, table: str, relation: str) -> None:
    connection.execute(f"CREATE TABLE {identifier(source)}.{identifier(table)} AS SELECT * FROM {relation}")


def _columns(names: list[str], rows: list[tuple[Any, ...]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    return pa.table([pa.array(column) for column in columns], names=names)


def _sqlite(path: Path) -> dict[str, pa.Table]:
    connection = sqlite3.connect(path)
    found = {}
    for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall():
        cursor = connection.execute(f"SELECT * FROM {identifier(table)}")
        found[table] = _columns([column[0] for column in cursor.description], cursor.fetchall())
    connection.close()
    return found


def _csv(path: Path) -> dict[str, pa.Table]:
    """All values as text; not by DuckDB, which would take lines that begin with # for comments."""
    found = {}
    for file in sorted(path.iterdir()):
        with file.open(encoding="utf-8", newline="") as stream:
            names, *rows = list(csv.reader(stream))
        found[file.stem] = _columns(names, [tuple(value or None for value in row or [""]) for row in rows])
    return found


def _jsonl(path: Path) -> dict[str, pa.Table]:
    found = {}
    for file in sorted(path.iterdir()):
        documents = [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]
        found[file.stem] = _columns(list(documents[0]), [tuple(document.values()) for document in documents])
    return found


def _mongodump(path: Path) -> dict[str, pa.Table]:
    import bson

    found = {}
    for file in sorted(path.glob("*.bson")):
        documents = bson.decode_all(file.read_bytes())
        rows = [
            tuple(str(v) if isinstance(v, bson.ObjectId) else v for v in document.values()) for document in documents
        ]
        found[file.stem] = _columns(list(documents[0]), rows)
    return found


def _pg_dump(path: Path) -> dict[str, pa.Table]:
    """The COPY blocks, all values as text."""
    found = {}
    lines = path.read_bytes().decode("utf-8").split("\n")
    position = 0
    while position < len(lines):
        head = re.fullmatch(r"COPY public\.(.+?) \((.*)\) FROM stdin;", lines[position])
        position += 1
        if not head:
            continue
        rows = []
        while lines[position] != "\\.":
            rows.append(tuple(_unescaped(field) for field in lines[position].split("\t")))
            position += 1
        names = [name.strip('"') for name in head[2].split(", ")]
        found[head[1].strip('"')] = _columns(names, rows)
    return found


def _unescaped(field: str) -> str | None:
    return None if field == "\\N" else re.sub(r"\\(.)", lambda match: _UNESCAPED[match[1]], field)
