"""Tables that coset adds to the sources: `result.name` of this session, `linked.customer` of record linking.

Both are sources like any other, whose tables lie as Parquet files, so that guard, planner and worker need no
second way of reading. Files are never changed, only replaced. Results live in the session's own folder and go with it;
no source of a user may be called `result`. Linked records say which records of which tables are one thing; a source of
the user that is called `linked` hides them. Does not know what rows mean, nor who made them.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from coset.environment.leftovers import keep_part, part_file
from coset.environment.scan import EVERYTHING, Scan
from coset.environment.source import Column, InPlace, Source, SourceSettings, Table, unique_names
from coset.errors import CosetError, LimitReached, TableVanished, UserError
from coset.session.snapshots import file_type
from coset.sql_text import identifier, literal

if TYPE_CHECKING:
    import pyarrow as pa


RESULTS = "result"
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
MOST_TABLES = 200
MOST_BYTES = 2 * 2**30


class TemporaryTables(Source):
    """The temporary tables of one session."""

    kind = "temporary"

    def __init__(self, folder: Path) -> None:
        super().__init__(SourceSettings(name=RESULTS, location=str(folder), kind=self.kind))
        self._folder = folder
        self._numbers = itertools.count()
        self._held: dict[str, tuple[Table, Path]] = {}

    def add(self, name: str, rows: pa.Table, types: Sequence[str] | None = None) -> str:
        """Keep rows under a name, in place of an earlier table of that name; how SQL writes it. `types` are DuckDB's
        own for the columns, where Arrow cannot say them (HUGEINT)."""
        if not NAME.fullmatch(name):
            raise UserError(f"'{name}' cannot name a temporary table: use letters, digits and _, a letter first")
        if name.lower() not in self._held and len(self._held) >= MOST_TABLES:
            raise LimitReached(f"there are {MOST_TABLES} temporary tables: use the name of one that is not needed")
        if not rows.column_names:
            raise UserError(f"the temporary table '{name}' has no column: select at least one")
        path = self._folder / f"{next(self._numbers)}.parquet"
        table = self._write(name, rows, types, path)
        earlier = self._held.get(name.lower())
        held = sum(path.stat().st_size for kept, (_, path) in self._held.items() if kept != name.lower())
        if held + path.stat().st_size > MOST_BYTES:
            path.unlink()
            raise LimitReached(f"the temporary tables together would be larger than {MOST_BYTES:,} bytes: keep less")
        self._held[name.lower()] = (table, path)
        if earlier is not None:
            earlier[1].unlink(missing_ok=True)
        return f"{RESULTS}.{identifier(name)}"

    def find(self, parts: Sequence[str]) -> Table:
        """The table that `result.name` names, ignoring case."""
        plain = len(parts) == 2 or (len(parts) == 3 and parts[1].lower() == "main")
        held = self._held.get(parts[-1].lower()) if plain else None
        if held is None:
            known = ", ".join(f"{RESULTS}.{table.name}" for table, _ in self._held.values())
            raise UserError(
                f"there is no temporary table '{'.'.join(parts)}': "
                + (f"there are {known}" if known else "none was made in this session")
            )
        return held[0]

    def tables(self) -> list[Table]:
        return [table for table, _ in self._held.values()]

    def change_token(self, table: Table) -> str | None:
        return self._path(table).name

    def in_place(self, table: Table) -> InPlace | None:
        path = self._path(table)
        casts = ", ".join(f"CAST({identifier(column.name)} AS {column.type})" for column in table.columns)
        return InPlace(sql=f"(SELECT {casts} FROM read_parquet({literal(str(path))}))", paths=(path,))

    def read(self, table: Table, scan: Scan = EVERYTHING) -> pa.RecordBatchReader:
        from pyarrow import parquet

        rows = parquet.read_table(self._path(table), columns=list(scan.columns) if scan.columns else None)
        return rows.to_reader()

    def _path(self, table: Table) -> Path:
        held = self._held.get(table.name.lower())
        if held is None or held[0] is not table:
            raise TableVanished(f"the temporary table '{RESULTS}.{table.name}' was replaced while it was read")
        return held[1]

    def _write(self, name: str, rows: pa.Table, types: Sequence[str] | None, path: Path) -> Table:
        import duckdb

        self._folder.mkdir(parents=True, exist_ok=True)
        names = unique_names(rows.column_names)
        arriving = rows.rename_columns(names)
        try:
            with (
                part_file(path) as part,
                duckdb.connect(":memory:", config={"python_enable_replacements": "false"}) as connection,
            ):
                connection.execute("SET TimeZone = 'UTC'; SET enable_progress_bar = false")
                connection.register("arriving", arriving)
                described = connection.execute("DESCRIBE arriving").fetchall()
                kinds = list(types) if types is not None else [str(row[1]) for row in described]
                casts = ", ".join(
                    f"CAST({identifier(column)} AS {file_type(kind)}) AS {identifier(column)}"
                    for column, kind in zip(names, kinds, strict=True)
                )
                connection.execute(
                    f"COPY (SELECT {casts} FROM arriving) TO {literal(str(part))} (FORMAT parquet, COMPRESSION lz4_raw)"
                )
                keep_part(part, path)
        except duckdb.Error as error:
            raise CosetError(f"the temporary table '{name}' could not be kept: {str(error).splitlines()[0]}") from error
        columns = tuple(Column(column, kind, column, kind) for column, kind in zip(names, kinds, strict=True))
        return Table(name, name, columns, rows=rows.num_rows, rows_exact=True)


LINKED = "linked"
COLUMNS = (("cluster", "BIGINT"), ("source", "VARCHAR"), ("table_name", "VARCHAR"), ("key", "VARCHAR"),
           ("evidence", "VARCHAR"), ("flags", "VARCHAR"))  # fmt: skip


class LinkedTables(Source):
    kind = "linked"

    def __init__(self, state_folder: Path) -> None:
        self._folder = folder_of(state_folder)
        super().__init__(SourceSettings(name=LINKED, location=str(self._folder), kind=self.kind))

    def tables(self) -> list[Table]:
        columns = tuple(Column(name, kind, name, kind) for name, kind in COLUMNS)
        return [Table(entity, entity, columns) for entity in sorted(self._files())]

    def find(self, parts: Sequence[str]) -> Table:
        """The table that `linked.name` names, ignoring case."""
        plain = len(parts) == 2 or (len(parts) == 3 and parts[1].lower() == "main")
        known = self.tables()
        found = next((table for table in known if plain and table.name.lower() == parts[-1].lower()), None)
        if found is None:
            names = ", ".join(f"{LINKED}.{table.name}" for table in known)
            raise UserError(
                f"there is no linked table '{'.'.join(parts)}': "
                + (f"there are {names}" if names else "run `coset links` to link records")
            )
        return found

    def change_token(self, table: Table) -> str | None:
        return self._path(table).name

    def in_place(self, table: Table) -> InPlace | None:
        path = self._path(table)
        return InPlace(sql=f"(SELECT * FROM read_parquet({literal(str(path))}))", paths=(path,))

    def read(self, table: Table, scan: Scan = EVERYTHING) -> pa.RecordBatchReader:
        from pyarrow import parquet

        rows = parquet.read_table(self._path(table), columns=list(scan.columns) if scan.columns else None)
        return rows.to_reader()

    def _files(self) -> dict[str, Path]:
        """The newest file of each entity: `entity-digest.parquet`."""
        files = sorted(self._folder.glob("*.parquet"), key=lambda path: path.stat().st_mtime)
        return {path.stem.rpartition("-")[0]: path for path in files}

    def _path(self, table: Table) -> Path:
        path = self._files().get(table.name)
        if path is None:
            raise TableVanished(f"the linked table '{LINKED}.{table.name}' is no longer there: run `coset links`")
        return path


def folder_of(state_folder: Path) -> Path:
    return state_folder / "linked"


def write_linked(state_folder: Path, entities: Mapping[str, Sequence[tuple[object, ...]]]) -> None:
    """One file an entity, of rows in the order of `COLUMNS`; entities that are no longer linked lose theirs."""
    import pyarrow as pa
    from pyarrow import parquet

    folder = folder_of(state_folder)
    folder.mkdir(parents=True, exist_ok=True)
    kept = set()
    for entity, rows in entities.items():
        kinds = [pa.int64() if kind == "BIGINT" else pa.string() for _, kind in COLUMNS]
        arrays = [pa.array(column, kind) for column, kind in zip(zip(*rows, strict=True), kinds, strict=True)]
        path = folder / f"{entity}-{hashlib.sha256(repr(rows).encode()).hexdigest()[:12]}.parquet"
        kept.add(path)
        if not path.exists():
            with part_file(path) as part:
                parquet.write_table(pa.table(arrays, names=[name for name, _ in COLUMNS]), part)
                keep_part(part, path)
    for path in folder.glob("*.parquet"):
        if path not in kept:
            path.unlink(missing_ok=True)
