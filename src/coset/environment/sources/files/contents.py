"""Looking into the files of a table: the DuckDB that reads them, and what it finds.

In: a `FileSet`. Out: its `Shape`s, one, or one per sheet of a workbook, kept as long as the files do not change.
Files in another encoding than UTF-8, or with different line ends, are copied to a temporary folder first; those of a
schema-only source to memory, so that none of its values reaches a disk. Nothing here knows the source that the files
belong to, or what is read of them later.
"""

from __future__ import annotations

import os
import urllib.parse
from dataclasses import replace
from pathlib import Path

import duckdb

from coset.environment import leftovers
from coset.environment.source import EMPTY, Column, Limits
from coset.environment.sources.files import csv, excel, json, parquet
from coset.environment.sources.files.csv import DEFAULT_LINE_BYTES, Dialect, sniff
from coset.environment.sources.files.layout import (
    DataFile,
    FileSet,
    Option,
    Shape,
    TooLarge,
    Unreadable,
    literal_path,
    partition_values,
    types_struct,
)
from coset.environment.sources.files.text import (
    HEAD_BYTES,
    LONGEST_HEAD_BYTES,
    WINDOWS,
    Head,
    check_not_damaged_utf8,
    copy_as_utf8,
    head,
    last_line_bytes,
)
from coset.environment.sources.files.values import type_test

MEMORY = "1GB"
"""What the DuckDB of one source may use."""
MOST_COLUMNS = 10_000
"""DuckDB plans a file of more columns for minutes."""
_SMALL_BYTES = 4_000_000


class Contents:
    def __init__(self, limits: Limits, *, schema_only: bool = False) -> None:
        self._limits, self._schema_only = limits, schema_only
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._folder: Path | None = None
        self._copies: dict[tuple[DataFile, str, bool], Path] = {}
        self._in_memory: list[int] = []
        self._shapes: dict[tuple[str, str], list[Shape] | Unreadable] = {}

    def shapes(self, files: FileSet) -> list[Shape]:
        """The tables in the files. Raises `Unreadable` with the reason."""
        key = (files.native_name, files.token)
        if key not in self._shapes:
            try:
                self._shapes[key] = self._describe(files)
            except Unreadable as refusal:
                self._shapes[key] = refusal
            except FileNotFoundError:
                raise Unreadable("went away while it was looked at") from None
        known = self._shapes[key]
        if isinstance(known, Unreadable):
            raise known
        return known

    def look_at_all(self, sets: list[FileSet]) -> None:
        """Finds the shapes of many small CSV files together, which is several times faster than one after the other."""
        alike: dict[Dialect, dict[Path, tuple[FileSet, csv.CsvFiles]]] = {}
        for files in sets:
            file = files.files[0]
            if len(files.files) > 1 or files.partition_keys or (file.format, file.compression) != ("csv", "none"):
                continue
            if (files.native_name, files.token) in self._shapes:
                continue
            try:
                start, dialect, sample = self._dialect(file)
            except (Unreadable, OSError):
                continue  # it will say why when it is looked at alone
            if file.size <= _SMALL_BYTES and not _needs_copy(file, start):
                paths, options = (literal_path(file.path),), (("compression", "none"), *self._partition_options(files))
                table = csv.CsvFiles(paths, dialect, sample, options)
                alike.setdefault(dialect, {})[file.path] = (files, table)
        for group in alike.values():
            if len(group) > 1:
                found = csv.describe_each(self.duckdb(), {path: table for path, (_, table) in group.items()})
                for path, shape in found.items():
                    files = group[path][0]
                    self._shapes[files.native_name, files.token] = [shape]

    def _describe(self, files: FileSet) -> list[Shape]:
        if files.format == "excel":
            count, sheets = excel.sheets(files.files[0].path, self._limits)
            if not sheets:
                raise Unreadable("has no sheet with anything in it")
            return [Shape(item.columns, item.rows, sheet=item.name, is_only_sheet=count == 1) for item in sheets]
        if files.format == "parquet":
            paths = tuple(literal_path(file.path) for file in files.files)
            return [parquet.describe(self.duckdb(), paths, self._partition_options(files))]
        shape = self._describe_text(files, {})
        if files.partition_keys:  # DuckDB decides where partition columns stand
            order = self.duckdb().execute(f"DESCRIBE SELECT * FROM {shape.relation}").fetchall()
            by_name = {column.name: column for column in shape.columns}
            shape = replace(shape, columns=tuple(by_name[name] for name, *_ in order))
        return [shape]

    def _describe_text(self, files: FileSet, copied: dict[DataFile, tuple[str, bool]]) -> Shape:
        """CSV or JSON. `copied` are the files that must be read from a copy, with encoding and line ends."""
        heads = {file: head(file.path, file.compression, HEAD_BYTES) for file in files.files}
        copied = {
            **{file: (start.encoding, False) for file, start in heads.items() if _needs_copy(file, start)},
            **copied,
        }
        paths = tuple(
            literal_path(self._copy(file, *copied[file]) if file in copied else file.path) for file in files.files
        )
        compression = "none" if copied else files.files[0].compression
        if copied and len(copied) < len(files.files) and files.files[0].compression != "none":
            return self._describe_text(files, {file: copied.get(file, ("utf-8", False)) for file in files.files})
        if copied and files.partition_keys:
            raise Unreadable("is not in UTF-8, in a folder of partitions")
        options: tuple[Option, ...] = (("compression", compression), *self._partition_options(files))
        try:
            if files.format == "csv":
                _, dialect, sample = self._dialect(files.files[0])
                dialect = self._with_room(files, copied, dialect)
                table = csv.CsvFiles(paths, dialect, sample, options, self._partition_columns(files))
                shape = csv.describe(self.duckdb(), table, self._limits.cell_bytes)
            else:
                if all(not start.text.strip() for start in heads.values()):
                    raise Unreadable(EMPTY)
                options = (*options, ("maximum_object_size", max(self._limits.cell_bytes, 1 << 16)))
                shape = json.describe(self.duckdb(), paths, options, self._partition_columns(files))
        except (csv.NotUtf8, json.NotUtf8Json):
            if copied:
                raise
            for file in files.files:
                check_not_damaged_utf8(file.path, file.compression)
            return self._describe_text(files, {file: (WINDOWS, False) for file in files.files})
        except (csv.MixedLineEnds, csv.BadQuotes) as refusal:
            has_returns = any("\r" in start.text for start in heads.values())
            if not has_returns or any(one_line_end for _, one_line_end in copied.values()):
                raise
            encodings = {file: copied.get(file, ("utf-8", False))[0] for file in files.files}
            try:
                return self._describe_text(files, {file: (name, True) for file, name in encodings.items()})
            except Unreadable:
                raise refusal from None
        return replace(shape, place=None) if copied else shape

    def _with_room(self, files: FileSet, copied: dict[DataFile, tuple[str, bool]], dialect: Dialect) -> Dialect:
        """The dialect with room for the last line. DuckDB refuses a line that is longer than it has room for, but
        drops one without a word if it is the last and longer than a whole buffer."""
        room = self._limits.cell_bytes
        longest = 0
        for file in files.files:
            if file.size <= DEFAULT_LINE_BYTES and file.compression == "none":
                continue
            path, compression = (
                (self._copy(file, *copied[file]), "none") if file in copied else (file.path, file.compression)
            )
            longest = max(longest, last_line_bytes(path, compression, room + 1))
        if longest > room:
            raise TooLarge(f"its last line is longer than the limit cell_bytes, {room} bytes")
        return replace(dialect, line_bytes=room) if longest > DEFAULT_LINE_BYTES else dialect

    def _dialect(self, file: DataFile) -> tuple[Head, Dialect, tuple[tuple[str, ...], ...]]:
        size = HEAD_BYTES
        while True:
            start = head(file.path, file.compression, size)
            # A first line longer than what was read would be cut off and look like a narrower table.
            if start.is_all or "\n" in start.text or "\r" in start.text or size >= LONGEST_HEAD_BYTES:
                dialect, rows = sniff(start, prefers_tab=file.extension.startswith(".tsv"))
                width = max(map(len, rows), default=0)
                if width > MOST_COLUMNS:
                    raise TooLarge(f"has {width:,} columns; at most {MOST_COLUMNS:,} can be read")
                return start, dialect, tuple(map(tuple, rows))
            size *= 16

    def belong_together(self, files: FileSet) -> bool:
        """Whether the files that look like parts by their names have the same columns, too."""
        if len(files.files) == 1 or (files.native_name, files.token) in self._shapes:
            return True
        kinds: set[object] = set()
        for file in files.files:
            try:
                kinds.add(self._columns_of(file))
            except Unreadable as refusal:
                raise Unreadable(f"belongs with {file.relative.name}, which {refusal}") from None
            except FileNotFoundError:
                raise Unreadable(f"belongs with {file.relative.name}, which went away") from None
            if len(kinds) > 1:
                return False
        return True

    def _columns_of(self, file: DataFile) -> object:
        if file.format == "csv":
            return self._dialect(file)[1]
        paths = (literal_path(file.path),)
        if file.format == "parquet":
            return parquet.column_names(self.duckdb(), paths)[0]
        options: tuple[Option, ...] = (("compression", file.compression), ("hive_partitioning", False))
        columns = json.column_types(self.duckdb(), paths, options)
        return None if columns is None else tuple(sorted(name for name, _ in columns))

    def _partition_columns(self, files: FileSet) -> tuple[Column, ...]:
        """Numbers and dates only where no text is lost: `month=01` stays text."""
        columns = []
        rows = [partition_values(file, files.partition_keys) for file in files.files]
        for index, key in enumerate(files.partition_keys):
            values = {urllib.parse.unquote(row[index]) for row in rows} - {"__HIVE_DEFAULT_PARTITION__"}
            type_name = next((name for name in ("BIGINT", "DATE") if self._all_are(values, name)), "VARCHAR")
            columns.append(Column(key, type_name, key, "partition"))
        return tuple(columns)

    def _all_are(self, values: set[str], type_name: str) -> bool:
        test = type_test(type_name, "value")
        query = f"SELECT coalesce(bool_and(coalesce({test}, false)), false) FROM (SELECT unnest(?::VARCHAR[]) AS value)"
        found = self.duckdb().execute(query, [sorted(values)]).fetchone()
        return bool(found and found[0])

    def _partition_options(self, files: FileSet) -> tuple[Option, ...]:
        if not files.partition_keys:
            return (("hive_partitioning", False),)  # else DuckDB takes any folder a=b on the way for a partition
        types = [(column.name, column.type) for column in self._partition_columns(files)]
        return (("hive_partitioning", True), ("hive_types", types_struct(types)))

    def duckdb(self) -> duckdb.DuckDBPyConnection:
        if self._connection is None:
            config: dict[str, str | bool | int | float | list[str]] = {
                "memory_limit": MEMORY,
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
                "temp_directory": "" if self._schema_only else str(self._temporary() / "spill"),
                "python_enable_replacements": "false",
            }
            self._connection = duckdb.connect(config=config)
            self._connection.execute("SET TimeZone = 'UTC'; SET enable_progress_bar = false")
        return self._connection

    def _temporary(self) -> Path:
        if self._folder is None:
            self._folder = leftovers.temporary_folder()
        return self._folder

    def _copy(self, file: DataFile, encoding: str, one_line_end: bool) -> Path:
        key = (file, encoding, one_line_end)
        if key not in self._copies:
            target = self._place_in_memory() if self._schema_only else self._temporary() / f"copy-{len(self._copies)}"
            most = max(self._limits.snapshot_bytes, file.size * 2 if file.compression == "none" else 0)
            copy_as_utf8(file.path, file.compression, encoding, target, one_line_end=one_line_end, most_bytes=most)
            self._copies[key] = target
        return self._copies[key]

    def _place_in_memory(self) -> Path:
        if not hasattr(os, "memfd_create"):
            raise Unreadable("is not plain UTF-8, and a schema-only source is not copied to disk: convert it")
        self._in_memory.append(os.memfd_create("coset"))
        return Path(f"/proc/self/fd/{self._in_memory[-1]}")

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        for opened in self._in_memory:
            os.close(opened)
        self._in_memory.clear()
        if self._folder is not None:
            leftovers.remove(self._folder)
            self._folder = None
        self._copies.clear()
        self._shapes.clear()  # some name copies that are gone now


def _needs_copy(file: DataFile, start: Head) -> bool:
    """DuckDB's CSV reader takes a UTF-8 mark; its JSON reader takes one for a value."""
    return start.encoding not in ({"utf-8", "utf-8-sig"} if file.format == "csv" else {"utf-8"})
