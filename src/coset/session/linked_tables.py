"""Linked records as tables: `linked.customer` says which records of which tables are one customer.

In: the folder of a state, in which linking left one Parquet file an entity. Out: a source like any other, whose tables
are those files, so that the guard, the planner and the worker need no second way of reading. Files are never changed,
only replaced. A source of the user that is called `linked` hides it. Does not know how records were linked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from coset.environment.leftovers import keep_part, part_file
from coset.environment.scan import EVERYTHING, Scan
from coset.environment.source import Column, InPlace, Source, SourceSettings, Table
from coset.errors import TableVanished, UserError
from coset.sql_text import literal

if TYPE_CHECKING:
    import pyarrow as pa

CATALOG = "linked"
COLUMNS = (("cluster", "BIGINT"), ("source", "VARCHAR"), ("table_name", "VARCHAR"), ("key", "VARCHAR"),
           ("evidence", "VARCHAR"), ("flags", "VARCHAR"))  # fmt: skip


class LinkedTables(Source):
    kind = "linked"

    def __init__(self, state_folder: Path) -> None:
        self._folder = folder_of(state_folder)
        super().__init__(SourceSettings(name=CATALOG, location=str(self._folder), kind=self.kind))

    def tables(self) -> list[Table]:
        columns = tuple(Column(name, kind, name, kind) for name, kind in COLUMNS)
        return [Table(entity, entity, columns) for entity in sorted(self._files())]

    def find(self, parts: Sequence[str]) -> Table:
        """The table that `linked.name` names, ignoring case."""
        plain = len(parts) == 2 or (len(parts) == 3 and parts[1].lower() == "main")
        known = self.tables()
        found = next((table for table in known if plain and table.name.lower() == parts[-1].lower()), None)
        if found is None:
            names = ", ".join(f"{CATALOG}.{table.name}" for table in known)
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
            raise TableVanished(f"the linked table '{CATALOG}.{table.name}' is no longer there: run `coset links`")
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
