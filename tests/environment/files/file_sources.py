"""Files for tests, and what a source gives of them, read by the real DuckDB."""

from __future__ import annotations

from pathlib import Path

import duckdb
import openpyxl

from coset.environment.scan import Scan
from coset.environment.source import Limits, SourceSettings, Table
from coset.environment.sources import open_source
from coset.environment.sources.files.source import Files

EVERYTHING_IN_PLACE = Limits(snapshot_bytes=-1)
PLAIN = duckdb.connect()
"""A DuckDB as a session has it, to read in place with."""


def files(location: Path, limits: Limits | None = None) -> Files:
    source = open_source(SourceSettings(name="here", location=str(location), kind="files", limits=limits or Limits()))
    assert isinstance(source, Files)
    return source


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def types(table: Table) -> dict[str, str]:
    return {column.name: column.type for column in table.columns}


def rows(source: Files, table: Table, scan: Scan | None = None) -> list[tuple]:
    reader = source.read(table, scan) if scan else source.read(table)
    read = reader.read_all()
    return list(zip(*(column.to_pylist() for column in read.columns), strict=True)) if read.num_columns else []


def one(path: Path, limits: Limits | None = None) -> tuple[Files, Table]:
    source = files(path, limits)
    (table,) = source.tables()
    return source, table


def csv_of(tmp_path: Path, content: str | bytes, name: str = "t.csv") -> tuple[dict[str, str], list[tuple]]:
    """Types and rows of a CSV file, which must be the same when it is read in place."""
    source, table = one(write(tmp_path / name, content))
    read = rows(source, table)
    assert table.rows == len(read) and table.rows_exact
    assert_same_in_place(tmp_path / name, table, read)
    source.close()
    return types(table), read


def assert_same_in_place(path: Path, table: Table, read: list[tuple]) -> None:
    source, again = one(path, EVERYTHING_IN_PLACE)
    assert again.columns == table.columns
    place = source.in_place(again)
    if place is not None:
        described = PLAIN.execute(f"DESCRIBE SELECT * FROM {place.sql}").fetchall()
        assert [(name, kind) for name, kind, *_ in described] == list(types(table).items())
        result = PLAIN.sql(f"SELECT * FROM {place.sql}").to_arrow_table()
        assert repr(list(zip(*(column.to_pylist() for column in result.columns), strict=True))) == repr(read)
    source.close()


def workbook(path: Path, **sheets: list[list]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, cells in sheets.items():
        sheet = book.create_sheet(name)
        for row in cells:
            sheet.append(row)
    book.save(path)
    return path
