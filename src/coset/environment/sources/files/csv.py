"""CSV and TSV files: a type for each column, from one query over all rows as text.

In: the files of one table and how they are written. Out: a `Shape` with DuckDB's `read_csv` call, every option settled.
Since all rows are looked at, a late value cannot break the reading. `values` says which type a column gets.

An empty value is NULL, whether quoted ("") or not. Empty lines between rows are no rows (in a file of one column, they
are NULL). A row with too few or too many values refuses the file with its line number; a further separator at the end
of a line is not counted as a value.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import duckdb

from coset.engine_messages import without_values
from coset.environment.source import EMPTY, Column, unique_names
from coset.environment.sources.files.layout import (
    Option,
    ReaderCall,
    Shape,
    TooLarge,
    Unreadable,
    reader_sql,
    types_struct,
)
from coset.environment.sources.files.text import Head
from coset.environment.sources.files.values import looks_like_data, looks_like_date, possible_types, type_test
from coset.sql_text import identifier

_SAMPLE_ROWS = 60
DEFAULT_LINE_BYTES = 2_000_000
"""DuckDB's own longest line; a longer one costs larger buffers for every file."""


@dataclass(frozen=True)
class Dialect:
    """How a file is written. Equal for files that can be read in one go."""

    delimiter: str
    header: bool
    names: tuple[str, ...]
    """As in the header, or `column_1` and so on where there is none."""
    quote: str = '"'
    escape: str = '"'
    line_bytes: int = DEFAULT_LINE_BYTES


def sniff(head: Head, prefers_tab: bool) -> tuple[Dialect, list[list[str]]]:
    """The dialect that a file's beginning shows, and the rows there."""
    if not head.text.strip("\r\n\x00 \t"):
        raise Unreadable(EMPTY)
    candidates = ["\t", ",", ";", "|"] if prefers_tab else [",", "\t", ";", "|"]
    escape = "\\" if '\\"' in head.text and '""' not in head.text.replace('\\""', "") else '"'
    best: tuple[tuple[bool, float, int], str, list[list[str]]] | None = None
    for delimiter in candidates:
        rows = _rows(head, delimiter, escape)
        width = len(rows[0]) if rows else 0
        if width < 1:
            continue
        even = sum(len(row) == width for row in rows) / len(rows)
        score = (width > 1 and even == 1, even if width > 1 else 0.0, width)
        if best is None or score > best[0]:
            best = (score, delimiter, rows)
    if best is None:
        raise Unreadable("has no row that can be told apart")
    _, delimiter, rows = best
    header = _is_header(rows[0])
    names = tuple(rows[0]) if header else tuple(f"column_{index + 1}" for index in range(len(rows[0])))
    return Dialect(delimiter, header, names, escape=escape), rows[header:]


def _rows(head: Head, delimiter: str, escape: str) -> list[list[str]]:
    text = io.StringIO(head.text.removeprefix("\ufeff"), newline="")
    reader = csv.reader(
        text, delimiter=delimiter, doublequote=escape == '"', escapechar=None if escape == '"' else escape
    )
    rows: list[list[str]] = []
    complete = head.is_all
    try:
        for row in reader:
            if row:
                rows.append(row)
            if len(rows) > _SAMPLE_ROWS:
                complete = True
                break
    except csv.Error:
        complete = True  # a value too long for the csv module; the rows before it will do
    # The last row may be cut off in the middle.
    return rows if complete or len(rows) < 2 else rows[:-1]


def _is_header(row: list[str]) -> bool:
    cells = [cell.strip() for cell in row]
    if not any(cells):
        return False
    data = [cell for cell in cells if looks_like_data(cell)]
    if not data:
        return True
    if not cells[0] and cells[1:] == [str(index) for index in range(len(cells) - 1)]:
        return True  # pandas numbers columns that have no names
    if len(data) < 3 or cells[0] in data:
        return False
    if all(re.fullmatch("[12][0-9]{3}", cell) for cell in data):  # one column per year
        steps = {int(after) - int(before) for before, after in pairwise(data)}
        return len(steps) == 1 and 0 not in steps
    return all(looks_like_date(cell) for cell in data) and data in (sorted(set(data)), sorted(set(data))[::-1])


_COLUMNS_AT_ONCE = 300
"""Of a wider table so many columns are looked at by one query: DuckDB holds a block of values for each of them."""


@dataclass(frozen=True)
class CsvFiles:
    """Files that are read in one go. `paths` are patterns as `literal_path` makes them."""

    paths: tuple[Path, ...]
    dialect: Dialect
    sample: tuple[tuple[str, ...], ...]
    options: tuple[Option, ...]
    partition_columns: tuple[Column, ...] = ()

    @property
    def texts(self) -> tuple[Column, ...]:
        """The columns, all of them text."""
        taken = [column.name for column in self.partition_columns]
        given = [name.strip() or f"column_{index + 1}" for index, name in enumerate(self.dialect.names)]
        names = unique_names(taken + given)[len(taken) :]
        natives = zip(names, self.dialect.names, strict=True)
        return tuple(Column(name, "VARCHAR", native, "text") for name, native in natives)

    def place(self, columns: tuple[Column, ...], *more: Option) -> ReaderCall:
        settled: list[Option] = [
            ("auto_detect", False),
            ("header", self.dialect.header),
            ("delim", self.dialect.delimiter),
            ("quote", self.dialect.quote),
            ("escape", self.dialect.escape),
            ("columns", types_struct(columns)),
        ]
        if self.dialect.line_bytes != DEFAULT_LINE_BYTES:
            settled += [("max_line_size", self.dialect.line_bytes), ("buffer_size", 2 * self.dialect.line_bytes)]
        return ReaderCall(reader="read_csv", files=self.paths, options=(*settled, *self.options, *more))


def describe(connection: duckdb.DuckDBPyConnection, files: CsvFiles, longest_line: int) -> Shape:
    """Types and rows of one table."""
    dialect = files.dialect
    attempts = [dialect, replace(dialect, escape="\\" if dialect.escape == '"' else '"')]
    if dialect.delimiter == "\t":  # many programs write tab-separated text without any quoting
        attempts.append(replace(dialect, quote="", escape=""))
    refusals: list[Unreadable] = []
    for attempt in attempts:
        mendable = BadQuotes if not attempt.quote else (BadQuotes, Ragged)
        if refusals and not isinstance(refusals[0], mendable):
            break
        try:
            return _describe(connection, replace(files, dialect=attempt), longest_line)
        except Unreadable as refusal:
            refusals.append(refusal)
    raise refusals[0]


def _describe(connection: duckdb.DuckDBPyConnection, files: CsvFiles, longest_line: int) -> Shape:
    possible = _possible(files)
    relation = reader_sql(files.place(files.texts))
    found: list[int] = []
    try:
        for first in range(0, len(possible), _COLUMNS_AT_ONCE):
            columns = slice(first, first + _COLUMNS_AT_ONCE)
            [measured] = connection.execute(f"SELECT {_measures(files, possible, columns)} FROM {relation}").fetchall()
            found += measured if not found else measured[1:]
    except duckdb.Error as error:
        refusal = csv_refusal(str(error))
        if isinstance(refusal, TooLarge) and files.dialect.line_bytes < longest_line:
            wider = replace(files.dialect, line_bytes=longest_line)
            return _describe(connection, replace(files, dialect=wider), longest_line)
        raise refusal from None
    return _shape(files, possible, found)


def describe_each(
    connection: duckdb.DuckDBPyConnection, tables: dict[Path, CsvFiles], reads: int = 500
) -> dict[Path, Shape]:
    """The shapes of many tables of one plain file each, all written alike, by their paths. A query costs more than a
    small file, so they share one. Those that this cannot describe are not in the answer."""
    shapes: dict[Path, Shape] = {}
    paths = [path for path, files in tables.items() if len(files.dialect.names) <= _COLUMNS_AT_ONCE]
    for start in range(0, len(paths), reads):
        some = {path: tables[path] for path in paths[start : start + reads]}
        first = next(iter(some.values()))
        per_file = [_possible(files) for files in some.values()]
        width = range(len(first.dialect.names))
        possible = [_all_names(per_file, index) for index in width]
        together = replace(first, paths=tuple(files.paths[0] for files in some.values()))
        file_name = unique_names([*(column.name for column in first.texts), "file"])[-1]
        relation = reader_sql(together.place(first.texts, ("filename", file_name)))
        query = f"SELECT {identifier(file_name)}, {_measures(first, possible)} FROM {relation} GROUP BY 1"
        try:
            found = {Path(file): measures for file, *measures in connection.execute(query).fetchall()}
        except duckdb.Error:
            continue
        nothing = (0,) * (1 + sum(1 + len(types) for types in possible))
        shapes.update({path: _shape(files, possible, found.get(path, nothing)) for path, files in some.items()})
    return shapes


def _all_names(per_file: list[list[list[str]]], index: int) -> list[str]:
    """The types that are open in any of the files, in the order in which they are taken."""
    seen = {name for possible in per_file for name in possible[index]}
    return [name for name in possible_types(()) if name in seen]


def _possible(files: CsvFiles) -> list[list[str]]:
    """The types that the first rows leave open, so that the query over all rows tests only these."""
    width = range(len(files.dialect.names))
    return [possible_types([row[index] for row in files.sample if index < len(row)]) for index in width]


def _measures(files: CsvFiles, possible: list[list[str]], columns: slice = slice(None)) -> str:
    """SQL for the number of rows, and for each column how many values it has and how many fit each type."""
    measures = ["count(*)"]
    for column, types in zip(files.texts[columns], possible[columns], strict=True):
        name = identifier(column.name)
        measures.append(f"count({name})")
        measures += [f"count_if({type_test(type_name, f'trim({name})')})" for type_name in types]
    return ", ".join(measures)


def _shape(files: CsvFiles, possible: list[list[str]], measures: tuple[int, ...] | list[int]) -> Shape:
    rows, *counts = measures
    columns: list[Column] = []
    position = 0
    for column, types in zip(files.texts, possible, strict=True):
        filled, *passed = counts[position : position + 1 + len(types)]
        position += 1 + len(types)
        fits = [name for name, count in zip(types, passed, strict=True) if filled and count == filled]
        columns.append(replace(column, type=fits[0]) if fits else column)
    place = files.place(tuple(columns))
    return Shape((*columns, *files.partition_columns), rows, reader_sql(place), place)


class BadQuotes(Unreadable):
    """The file does not fit the quoting that was taken for it."""


class Ragged(Unreadable):
    """A row with too few or too many values."""


class NotUtf8(Unreadable):
    """Bytes that are not UTF-8, past the beginning of the file."""


class MixedLineEnds(Unreadable):
    """Lines end in CR LF here and in LF there."""


def csv_refusal(message: str) -> Unreadable:
    """DuckDB's page of advice as one clause."""
    line = re.search(r"CSV Error on Line: (\d+)", message)
    where = f"line {line[1]}" if line else "a line"
    if widths := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message):
        return Ragged(f"{where} has {widths[2]} values where {widths[1]} are expected")
    if size := re.search(r"Maximum line size of (\d+) bytes exceeded\. Actual Size: ?(\d+)", message):
        return TooLarge(f"{where} has {size[2]} bytes, and the limit cell_bytes is {size[1]}")
    if "does not support a full read" in message:  # a line so long that the reader gives up before it is measured
        return TooLarge(f"{where} is longer than the limit cell_bytes")
    if "not utf-8" in message:
        return NotUtf8(f"{where} is not UTF-8")
    if "unterminated quote" in message:
        return BadQuotes(f"{where} has a quoted value that does not end properly")
    if "invalid state" in message:
        return MixedLineEnds("its lines end in different ways, or its quotes do not match")
    return Unreadable(without_values(" ".join(message.split("\n", 1)[0].split()))[:200])
