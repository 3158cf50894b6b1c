"""SQLite files for tests, and what a source gives of them."""

from __future__ import annotations

import datetime
import sqlite3
from pathlib import Path

from coset.environment.scan import EVERYTHING, Scan
from coset.environment.source import Limits, SourceSettings, Table
from coset.environment.sources.sqlite.source import SQLiteFile


def source_of(path: Path, **limits: float) -> SQLiteFile:
    return SQLiteFile(SourceSettings(name="shop", location=str(path), kind="sqlite", limits=Limits(**limits)))


def make(path: Path, *statements: str) -> Path:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous = OFF")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path


def make_table(path: Path, columns: str, rows: list[tuple]) -> Path:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute(f"CREATE TABLE t ({columns})")
    if rows:
        connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(rows[0]))})", rows)
    connection.commit()
    connection.close()
    return path


def table_of(source: SQLiteFile, name: str = "t") -> Table:
    return next(table for table in source.tables() if table.name == name)


def rows_of(source: SQLiteFile, scan: Scan = EVERYTHING, name: str = "t") -> list[tuple]:
    answer = source.read(table_of(source, name), scan).read_all()
    return list(zip(*[column.to_pylist() for column in answer.columns], strict=True))


day, moment = datetime.date, datetime.datetime
BIG = 2**53
