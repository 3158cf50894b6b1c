"""Parquet files: columns, types and rows as their own metadata states them.

In: the files of one table. Out: a `Shape` with DuckDB's `read_parquet` call. No data page is read here, so damage
inside one shows only when the rows are read.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

from coset.environment.source import Column
from coset.environment.sources.files.layout import Option, ReaderCall, Shape, Unreadable, reader_sql
from coset.sql_text import literal


def column_names(connection: duckdb.DuckDBPyConnection, files: tuple[Path, ...]) -> list[tuple[str, ...]]:
    """For each file, the names of its top columns with their physical types."""
    listed = ", ".join(literal(str(file)) for file in files)
    try:
        found = connection.execute(
            f"SELECT file_name, name, type, converted_type, num_children FROM parquet_schema([{listed}])"
        ).fetchall()
    except duckdb.Error as error:
        raise parquet_refusal(str(error)) from None
    by_file: dict[str, list[tuple[str, str, int]]] = {}
    for file, name, physical, converted, children in found:
        by_file.setdefault(file, []).append((name, f"{physical}/{converted}", children or 0))
    return [tuple(f"{name} {kind}" for name, kind in _top(nodes)) for nodes in by_file.values()]


def _top(nodes: list[tuple[str, str, int]]) -> list[tuple[str, str]]:
    """The children of the root; nodes come depth first, each with its number of children."""
    top, position = [], 1
    while position < len(nodes):
        name, kind, _ = nodes[position]
        top.append((name, kind))
        waiting = 1
        while waiting and position < len(nodes):
            waiting += nodes[position][2] - 1
            position += 1
    return top


def describe(connection: duckdb.DuckDBPyConnection, files: tuple[Path, ...], options: tuple[Option, ...]) -> Shape:
    place = ReaderCall(reader="read_parquet", files=files, options=options)
    listed = ", ".join(literal(str(file)) for file in files)
    try:
        found = connection.execute(f"DESCRIBE SELECT * FROM {reader_sql(place)}").fetchall()
        counted = connection.execute(f"SELECT sum(num_rows) FROM parquet_file_metadata([{listed}])").fetchone()
    except duckdb.Error as error:
        raise parquet_refusal(str(error)) from None
    natives = [label.rpartition(" ")[0] for label in column_names(connection, files[:1])[0]]
    names = [name for name, *_ in found]
    natives = natives + names[len(natives) :] if len(natives) <= len(names) else names  # partitions come last
    columns = tuple(
        Column(name, type_name, native, type_name) for (name, type_name, *_), native in zip(found, natives, strict=True)
    )
    return Shape(columns, int(counted[0] or 0) if counted else 0, reader_sql(place), place)


def parquet_refusal(message: str) -> Unreadable:
    first = " ".join(message.split("\n", 1)[0].split())
    if "encrypt" in first.lower():
        return Unreadable("is encrypted")
    if "magic bytes" in first or "too small" in first or "TProtocol" in first or "hrift" in first:
        return Unreadable("is not a whole Parquet file (cut off or damaged)")
    return Unreadable(f"is damaged ({first.removeprefix('Invalid Input Error: ')[:150]})")
