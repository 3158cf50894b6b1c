"""The sources as real files, one writer an engine, and the `coset.yaml` that names them.

In: tables with final names and values. Out: where the source lies, relative to the environment's folder. Text formats
come out byte by byte the same for the same tables; database files the same in content.
"""

from __future__ import annotations

import csv
import datetime
import hashlib
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from .clean import ColumnType, Value
from .sql import identifier
from .write_pg_dump import write_pg_dump
from .written_table import WrittenColumn, WrittenTable

ARROW: dict[ColumnType, pa.DataType] = {
    "integer": pa.int64(), "real": pa.float64(), "text": pa.string(), "boolean": pa.bool_(), "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
}  # fmt: skip
SQLITE: dict[ColumnType, str] = {
    "integer": "INTEGER", "real": "REAL", "text": "TEXT", "boolean": "BOOLEAN", "date": "DATE",
    "timestamp": "TIMESTAMP",
}  # fmt: skip
DUCKDB: dict[ColumnType, str] = {
    "integer": "BIGINT", "real": "DOUBLE", "text": "VARCHAR", "boolean": "BOOLEAN", "date": "DATE",
    "timestamp": "TIMESTAMP",
}  # fmt: skip
Writer = Callable[[list[WrittenTable], Path, str], str]


def write_source(engine: str, name: str, tables: list[WrittenTable], folder: Path) -> str:
    """Write the tables of one source and say where."""
    return WRITERS[engine](tables, folder, name)


def write_configuration(folder: Path, sources: dict[str, str]) -> None:
    lines = ["sources:", *(f"  {name}:\n    location: {location}" for name, location in sources.items())]
    (folder / "coset.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def arrow_table(table: WrittenTable) -> pa.Table:
    arrays = [pa.array(column.values, ARROW[column.type]) for column in table.columns]
    return pa.table(arrays, names=[column.name for column in table.columns])


def _write_sqlite(tables: list[WrittenTable], folder: Path, name: str) -> str:
    path = folder / f"{name}.db"
    with sqlite3.connect(path) as connection:
        for table in tables:
            columns = _definitions(table, SQLITE)
            connection.execute(f"CREATE TABLE {identifier(table.name)} ({columns})")
            marks = ", ".join("?" for _ in table.columns)
            rows = [tuple(_plain(value) for value in row) for row in table.rows]
            connection.executemany(f"INSERT INTO {identifier(table.name)} VALUES ({marks})", rows)
    connection.close()
    return path.name


def _write_duckdb(tables: list[WrittenTable], folder: Path, name: str) -> str:
    path = folder / f"{name}.duckdb"
    with duckdb.connect(str(path), config={"threads": 1}) as connection:
        for table in tables:
            connection.execute(f"CREATE TABLE {identifier(table.name)} ({_definitions(table, DUCKDB)})")
            connection.register("rows_to_write", arrow_table(table))
            connection.execute(f"INSERT INTO {identifier(table.name)} SELECT * FROM rows_to_write")
            connection.unregister("rows_to_write")
    return path.name


def _definitions(table: WrittenTable, types: dict[ColumnType, str]) -> str:
    parts = [f"{identifier(column.name)} {types[column.type]}" for column in table.columns]
    if table.primary_key:
        parts.append(f"PRIMARY KEY ({', '.join(identifier(name) for name in table.primary_key)})")
    return ", ".join(parts)


def _write_csv(tables: list[WrittenTable], folder: Path, name: str) -> str:
    place = folder / f"{name}_csv"
    place.mkdir()
    for table in tables:
        with (place / f"{table.name}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow([column.name for column in table.columns])
            writer.writerows([["" if value is None else _plain_text(value) for value in row] for row in table.rows])
    return place.name


def _write_parquet(tables: list[WrittenTable], folder: Path, name: str) -> str:
    place = folder / f"{name}_parquet"
    place.mkdir()
    for table in tables:
        pq.write_table(arrow_table(table), place / f"{table.name}.parquet")
    return place.name


def _write_jsonl(tables: list[WrittenTable], folder: Path, name: str) -> str:
    place = folder / f"{name}_jsonl"
    place.mkdir()
    for table in tables:
        names = [column.name for column in table.columns]
        with (place / f"{table.name}.jsonl").open("w", encoding="utf-8", newline="") as file:
            for row in table.rows:
                content = {key: _json_value(value) for key, value in zip(names, row, strict=True)}
                file.write(json.dumps(content, ensure_ascii=False) + "\n")
    return place.name


def _write_dump(tables: list[WrittenTable], folder: Path, name: str) -> str:
    write_pg_dump(tables, folder / f"{name}.sql")
    return f"{name}.sql"


def _write_mongodump(tables: list[WrittenTable], folder: Path, name: str) -> str:
    import bson

    place = folder / f"{name}_dump" / name
    place.mkdir(parents=True)
    for table in tables:
        names = [column.name for column in table.columns]
        documents = []
        for number, row in enumerate(table.rows):
            # Every document of a real dump has an _id.
            document: dict[str, Any] = {"_id": bson.ObjectId(_object_id(table.name, number))}
            document.update({key: _bson_value(value) for key, value in zip(names, row, strict=True)})
            documents.append(bson.encode(document))
        (place / f"{table.name}.bson").write_bytes(b"".join(documents))
        described = {
            "indexes": [{"v": {"$numberInt": "2"}, "key": {"_id": {"$numberInt": "1"}}, "name": "_id_"}],
            "uuid": hashlib.md5(f"{name}.{table.name}".encode(), usedforsecurity=False).hexdigest(),
            "collectionName": table.name,
            "type": "collection",
        }
        (place / f"{table.name}.metadata.json").write_text(
            json.dumps(described, separators=(",", ":")), encoding="utf-8"
        )
    return f"{place.parent.name}/{place.name}"


def _object_id(table: str, number: int) -> str:
    return hashlib.sha256(f"{table}/{number}".encode()).hexdigest()[:24]


def _plain(value: Value) -> Any:
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    return value.isoformat() if isinstance(value, datetime.date) else value


def _plain_text(value: Value) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(_plain(value))


def _json_value(value: Value) -> Any:
    return _plain(value)


def _bson_value(value: Value) -> Any:
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return datetime.datetime(value.year, value.month, value.day)
    return value


WRITERS: dict[str, Writer] = {
    "sqlite": _write_sqlite, "duckdb": _write_duckdb, "csv": _write_csv, "parquet": _write_parquet,
    "jsonl": _write_jsonl, "pg_dump": _write_dump, "mongodump": _write_mongodump,
}  # fmt: skip
__all__ = ["WrittenColumn", "arrow_table", "write_configuration", "write_source"]
