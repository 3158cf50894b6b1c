"""A file or a folder of files as a source: CSV, TSV, JSON, Parquet, Excel and OpenDocument, plain or compressed.

In: an absolute path. Out: a table for each file, sheet, or folder of parts (`layout` says which), read by a
DuckDB of its own that runs in this process and has no other use. It never writes, except copies
in UTF-8 of files in another encoding, in a temporary folder that goes with `close`.

A broken file in a folder is left out and named in `skipped`; if the location is that one file, it is an error. A folder
of parts with a broken part is left out as a whole, because a table that lacks some of its rows gives wrong answers.

Change is known by path, size and time of change of the files. A rewrite that keeps both size and time is not seen.
Parquet is read in place, and so are CSV and JSON above `limits.snapshot_bytes`; the rest comes through `read`.
What the formats are like is in `csv`, `json`, `parquet` and `excel`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeVar

import duckdb

from coset.environment.scan import EVERY_OPERATION, EVERYTHING, Operation, Scan, scan_to_sql
from coset.environment.source import InPlace, Source, SourceSettings, Table, unique_names
from coset.environment.sources.files import csv, excel, json, parquet
from coset.environment.sources.files.contents import MEMORY, Contents
from coset.environment.sources.files.layout import (
    EXTENSIONS,
    DataFile,
    FileSet,
    IgnoredFile,
    Shape,
    TooLarge,
    Unreadable,
    data_file,
    digest,
    file_sets,
    folder_of,
    reader_sql,
    single,
    walk,
)
from coset.errors import LimitReached, SourceUnreachable, TableVanished
from coset.sql_text import identifier

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH_ROWS = 32_768
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class _Found:
    """A table with the files it comes from and how they are read."""

    table: Table
    files: FileSet
    shape: Shape


class Files(Source):
    kind: ClassVar[str] = "files"
    # DuckDB itself evaluates the scan, over a file as over a sheet, so there is nothing that it could not.
    pushes: ClassVar[frozenset[Operation]] = EVERY_OPERATION

    def __init__(self, settings: SourceSettings) -> None:
        super().__init__(settings)
        self.skipped: list[tuple[Path, str]] = []
        """Files that the last `tables()` left out, each with the reason."""
        self._contents = Contents(settings.limits, schema_only=settings.schema_only)
        self._cursors: set[duckdb.DuckDBPyConnection] = set()
        self._found: dict[str, _Found] = {}
        self._remembered: dict[tuple[str, str], Table] = {}
        self._tokens: dict[str, str] = {}

    @property
    def _root(self) -> Path:
        """The folder that native names are relative to."""
        return self.settings.path.parent if self.settings.path.is_file() else self.settings.path

    # What there is

    def tables(self) -> list[Table]:
        files, self.skipped = self._listed()
        is_single = self.settings.path.is_file()
        sets = [single(file) for file in files] if is_single else file_sets(files, self._root)
        described: list[tuple[FileSet, Shape | Table]] = []
        self._contents.look_at_all([each for each in sets if (each.native_name, each.token) not in self._remembered])
        while sets:
            files_of_one = sets.pop(0)
            if known := self._remembered.get((files_of_one.native_name, files_of_one.token)):
                described.append((files_of_one, known))
                continue
            try:
                if not self._contents.belong_together(files_of_one):
                    sets = [*map(single, files_of_one.files), *sets]
                    continue
                described += [(files_of_one, shape) for shape in self._contents.shapes(files_of_one)]
            except Unreadable as refusal:
                if is_single:
                    raise self._error(files_of_one.native_name, refusal) from None
                self.skipped += [(file.path, self.settings.redact(str(refusal))) for file in files_of_one.files]
        if not described:
            raise SourceUnreachable(self.settings.name, self._nothing_readable())
        described.sort(key=lambda item: (str(item[0].files[0].relative), item[0].native_name))
        names = unique_names(self._table_name(item, shape, is_single) for item, shape in described)
        self._found, self._tokens = {}, {}
        tables: list[Table] = []
        for name, (item, shape) in zip(names, described, strict=True):
            if isinstance(shape, Table):
                tables.append(replace(shape, name=name))
                self._tokens[shape.native_name] = item.token
                continue
            table = Table(
                name=name,
                native_name=item.native_name if shape.sheet is None else f"{item.native_name}#{shape.sheet}",
                columns=shape.columns,
                kind="file" if shape.sheet is None else "sheet",
                rows=shape.rows,
                rows_exact=True,
                bytes=item.size,
            )
            self._found[table.native_name] = _Found(table, item, shape)
            if shape.sheet is None:
                self._tokens[table.native_name] = item.token
            tables.append(table)
        return tables

    def tokens_listed(self) -> dict[str, str]:
        return self._tokens

    def remember(self, tables: Iterable[tuple[Table, str]]) -> None:
        """Looking into hundreds of files to list them takes seconds; a table of a workbook is always looked at."""
        self._remembered = {(table.native_name, token): table for table, token in tables if table.kind == "file"}

    def _listed(self) -> tuple[list[DataFile], list[tuple[Path, str]]]:
        path = self.settings.path
        try:
            is_folder = path.is_dir()
            path.stat()
        except OSError as error:
            reason = "does not exist" if isinstance(error, FileNotFoundError) else "cannot be opened"
            raise SourceUnreachable(self.settings.name, f"{path} {reason}") from None
        entries = list(walk(path)) if is_folder else [data_file(path, path.parent)]
        files = [entry for entry in entries if isinstance(entry, DataFile)]
        left = [(entry.path, entry.reason) for entry in entries if isinstance(entry, IgnoredFile)]
        if not files and not is_folder:
            reason = f"{path} {left[0][1]}; known are {', '.join(sorted(EXTENSIONS))}"
            raise SourceUnreachable(self.settings.name, reason)
        return files, left

    def _nothing_readable(self) -> str:
        path = self.settings.path
        if not self.skipped:
            return f"the folder {path} is empty"
        first, reason = self.skipped[0]
        others = f" and {len(self.skipped) - 1} more" if len(self.skipped) > 1 else ""
        return f"the folder {path} has no file that can be read as a table ({first.name} {reason}{others})"

    def _table_name(self, files: FileSet, shape: Shape | Table, is_single: bool) -> str:
        if isinstance(shape, Table) or shape.sheet is None or shape.is_only_sheet:
            return files.name
        return shape.sheet if is_single else f"{files.name}_{shape.sheet}"

    def fingerprint(self) -> str | None:
        return digest(self._listed()[0])

    def change_token(self, table: Table) -> str | None:
        """ "missing" for files that are gone, which equals no other token."""
        files = self._files_named(table)
        return files.token if files else "missing"

    def _files_named(self, table: Table) -> FileSet | None:
        """The files of a table as they are now, without looking into them."""
        root, name = self._root, table.native_name
        if table.kind == "sheet":  # both the file's name and the sheet's may have a # in them
            ends = [index for index, letter in enumerate(name) if letter == "#"]
            name = next((name[:end] for end in ends if (root / name[:end]).is_file()), "")
        if name and (root / name).is_file():
            file = data_file(root / name, root)
            return single(file) if isinstance(file, DataFile) else None
        folder = folder_of(name) if name else None
        if folder is None or not (root / folder).is_dir():
            return None
        files = [entry for entry in walk(root, root / folder) if isinstance(entry, DataFile)]
        return next((files for files in file_sets(files, root) if files.native_name == name), None)

    # Rows

    def in_place(self, table: Table) -> InPlace | None:
        files = self._files_named(table)
        if files and files.format != "parquet" and files.size <= self.settings.limits.snapshot_bytes:
            return None  # Known without a look into them.
        found = self._current(table)
        place = found.shape.place
        return InPlace(sql=reader_sql(place), paths=tuple(file.path for file in found.files.files)) if place else None

    def readable_places(self) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
        path = self.settings.path
        return ((path,), ()) if path.is_file() else ((), (path,))

    def read(self, table: Table, scan: Scan = EVERYTHING) -> pa.RecordBatchReader:
        import pyarrow as pa

        found = self._current(table)
        sql = _statement(scan, [column.name for column in found.table.columns])
        cursor = self._contents.duckdb().cursor()
        self._cursors.add(cursor)
        try:
            if found.shape.sheet is not None:
                cursor.register("source_rows", self._sheet(found))
            else:
                sql = f"WITH source_rows AS NOT MATERIALIZED (SELECT * FROM {found.shape.relation}) {sql}"
            reader = self._translated(found, lambda: cursor.sql(sql).to_arrow_reader(_BATCH_ROWS))
        except BaseException:
            self._finish(cursor)
            raise

        def batches() -> Iterator[pa.RecordBatch]:
            try:
                while True:
                    try:
                        batch = self._translated(found, reader.read_next_batch)
                    except StopIteration:
                        return
                    self._check_cells(found.table, batch)
                    yield batch
            finally:
                self._finish(cursor)

        return pa.RecordBatchReader.from_batches(reader.schema, batches())

    def _current(self, table: Table) -> _Found:
        """The table as it is now; `TableVanished` when it is gone or has other columns than were listed."""
        found = self._found.get(table.native_name)
        files = self._files_named(table)
        if files is None:
            raise TableVanished(f"table '{table.qualified_name}' of source '{self.settings.name}' is gone")
        if found is None or found.files.token != files.token:
            try:
                shapes = self._contents.shapes(files) if self._contents.belong_together(files) else []
            except Unreadable as refusal:
                raise self._error(files.native_name, refusal) from None
            suffixes = {files.native_name + (f"#{shape.sheet}" if shape.sheet else ""): shape for shape in shapes}
            shape = suffixes.get(table.native_name)
            if shape is None:
                raise TableVanished(f"table '{table.qualified_name}' of source '{self.settings.name}' is gone")
            found = _Found(replace(table, columns=shape.columns, rows=shape.rows), files, shape)
            self._found[table.native_name] = found
        listed = [(column.name, column.type) for column in table.columns]
        if listed != [(column.name, column.type) for column in found.shape.columns]:
            raise TableVanished(
                f"table '{table.qualified_name}' of source '{self.settings.name}' has other columns than it had"
            )
        return found

    def _sheet(self, found: _Found) -> pa.Table:
        path = found.files.files[0].path
        try:
            _, sheets = excel.sheets(path, self.settings.limits, only=found.shape.sheet)
        except Unreadable as refusal:
            raise self._error(found.files.native_name, refusal) from None
        except FileNotFoundError:
            sheets = []
        if not sheets or [column.type for column in sheets[0].columns] != [
            column.type for column in found.shape.columns
        ]:
            raise TableVanished(f"table '{found.table.qualified_name}' of source '{self.settings.name}' is gone")
        return sheets[0].values

    def _translated(self, found: _Found, action: Callable[[], _Result]) -> _Result:
        """What DuckDB says while rows are read, in our words."""
        import pyarrow as pa

        try:
            return action()
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            message = str(error)
            if not all(file.path.exists() for file in found.files.files):
                raise TableVanished(
                    f"table '{found.table.qualified_name}' of source '{self.settings.name}' is gone"
                ) from None
            if isinstance(error, duckdb.OutOfMemoryException) or "Out of Memory" in message:
                raise LimitReached(
                    f"reading '{found.table.qualified_name}' needs more than the {MEMORY} of memory that a source"
                    " of files may use; ask for fewer columns or rows"
                ) from None
            refusals: dict[str, Callable[[str], Unreadable]] = {
                "csv": csv.csv_refusal, "json": json.json_refusal, "parquet": parquet.parquet_refusal,
            }  # fmt: skip
            refusal = refusals.get(found.files.format, Unreadable)(message)
            raise self._error(found.files.native_name, refusal) from None

    def _check_cells(self, table: Table, batch: pa.RecordBatch) -> None:
        import pyarrow as pa

        limit = self.settings.limits.cell_bytes
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if column.nbytes <= limit or not (pa.types.is_string(column.type) or pa.types.is_binary(column.type)):
                continue
            import pyarrow.compute as pc  # Takes a while to load, and is seldom needed.

            longest = pc.max(pc.binary_length(column)).as_py() or 0
            if longest > limit:
                raise LimitReached(
                    f"column '{name}' of '{table.qualified_name}' has a value of {longest} bytes,"
                    f" and the limit cell_bytes is {limit}"
                )

    def _finish(self, cursor: duckdb.DuckDBPyConnection) -> None:
        self._cursors.discard(cursor)
        cursor.close()

    def close(self) -> None:
        for cursor in list(self._cursors):
            self._finish(cursor)
        self._contents.close()
        self._found.clear()

    def _error(self, native_name: str, refusal: Unreadable) -> SourceUnreachable | LimitReached:
        reason = self.settings.redact(f"the file {native_name} {refusal}")
        if isinstance(refusal, TooLarge):
            return LimitReached(f"source '{self.settings.name}': {reason}")
        return SourceUnreachable(self.settings.name, reason)


def _statement(scan: Scan, names: Sequence[str]) -> str:
    """The scan over `source_rows`, in SQL."""
    if scan == EVERYTHING:  # The library that writes SQL takes longer to load than a small file to read.
        return f"SELECT {', '.join(identifier(name) for name in names)} FROM source_rows"
    import sqlglot.expressions as sge

    return scan_to_sql(
        scan,
        sge.to_table("source_rows"),
        "duckdb",
        lambda name: sge.column(name, quoted=True),
        all_columns=tuple(names),
    )
