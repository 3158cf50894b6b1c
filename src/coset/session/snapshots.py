"""Local copies of small tables: one Parquet file each, kept in the state folder, made anew when the source changed.

In: a source and a table. Out: the path of a Parquet file whose columns have the types of the listing. Rows come through
the source's native client as Arrow and are written as they arrive. Files are never changed, only replaced, and one that
was replaced stays for a while, so a reader is never disturbed, not even one in another process that is about to open
it; a kill at any moment leaves either the old copy or the new one.
`LocalTable` is what DuckDB can read on this machine, a file in place or such a copy, as SQL that a view can be made of.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from coset.environment.leftovers import keep_part, part_file
from coset.environment.scan import EVERYTHING, Scan
from coset.environment.source import InPlace, Source, Table
from coset.errors import CosetError, LimitReached, SourceUnreachable, TableVanished, plain_cause
from coset.session.guard import ATTACHED
from coset.sql_text import identifier, literal

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


Progress = Callable[[str, int, int | None], None]
"""Called while rows arrive: the table's name, rows so far, rows expected."""

KEPT_SECONDS = 900
"""How long a replaced copy stays: longer than any statement runs that was told its path."""
KEPT_BYTES, OPENED_WITHIN = 1 << 30, 60
"""Of one table, replaced copies may take so many bytes; beyond that the oldest go, though none that is so many seconds
young: a statement opens what it was told of at once, and an open file stays readable."""


@dataclass(frozen=True)
class OutputColumn:
    """A column of the file that is written: its name and DuckDB type."""

    name: str
    type: str


@dataclass(frozen=True)
class Snapshot:
    """A local copy and what was known when it was made. `token` is None when the source cannot tell of changes."""

    path: Path
    rows: int
    token: str | None
    taken_at: float


class Snapshots:
    """The copies of one environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def current(self, source: Source, table: Table, token: str | None) -> Snapshot | None:
        """The kept copy, if it still is what the source holds: same token, same columns; where the source has no token,
        if it is no older than the user allows."""
        age = source.settings.limits.age_seconds
        if token is None and not age:
            return None
        try:
            kept = json.loads(self._manifest(source, table).read_text(encoding="utf-8"))
            path = self._folder_of(source) / kept["file"]
            if token is None and not 0 <= time.time() - kept["taken_at"] <= age:
                return None  # The source cannot tell of changes, and the copy is older than the user allows.
            if kept["token"] == token and kept["shape"] == _shape(table) and path.exists():
                return Snapshot(path, kept["rows"], token, kept["taken_at"])
        except (OSError, ValueError, KeyError):
            pass  # None kept, or not readable any more: take one.
        return None

    def take(self, source: Source, table: Table, token: str | None, progress: Progress | None = None) -> Snapshot:
        """Copy the whole table. `token` was asked for before, so a change during the copy is seen at the next look."""
        folder = self._folder_of(source)
        manifest = self._manifest(source, table)
        taken_at = time.time()
        version = hashlib.sha256(f"{token}|{_shape(table)}|{taken_at}".encode()).hexdigest()[:12]
        path = folder / f"{manifest.stem}-{version}.parquet"
        columns = tuple(OutputColumn(column.name, file_type(column.type)) for column in table.columns)
        rows = fetch_to_parquet(
            source, table, EVERYTHING, columns, path, source.settings.limits.snapshot_rows * 2, progress
        )
        content = {
            "table": table.qualified_name, "file": path.name, "rows": rows, "token": token,
            "shape": _shape(table), "taken_at": taken_at,
        }  # fmt: skip
        with part_file(manifest) as part:
            part.write_text(json.dumps(content, indent=1), encoding="utf-8")
            keep_part(part, manifest)
        _remove_replaced(folder, manifest.stem, path)
        return Snapshot(path, rows, token, taken_at)

    def _folder_of(self, source: Source) -> Path:
        return self.folder / source.settings.name

    def _manifest(self, source: Source, table: Table) -> Path:
        # Names may hold anything, also '/' or 300 letters: the file's name is what is safe of it, and a digest.
        identity = json.dumps([source.settings.kind, source.settings.location, table.schema, table.native_name])
        safe = "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in table.qualified_name)[:60]
        return self._folder_of(source) / f"{safe}-{hashlib.sha256(identity.encode()).hexdigest()[:12]}.json"


def _remove_replaced(folder: Path, stem: str, kept: Path) -> None:
    """Remove the copies of a table that nobody can be about to open any more, and those that take too much room."""
    replaced = []
    for other in folder.glob(f"{stem}-*.parquet"):  # A stem holds letters, digits, '_' and '-' alone.
        with contextlib.suppress(OSError):
            if other != kept:
                replaced.append((other.stat().st_mtime, other.stat().st_size, other))
    now, room = time.time(), KEPT_BYTES
    for written, size, path in sorted(replaced, reverse=True):
        room -= size
        age = now - written if written <= now + OPENED_WITHIN else KEPT_SECONDS + 1  # The clock was put back since.
        if age > KEPT_SECONDS or (room < 0 and age > OPENED_WITHIN):
            with contextlib.suppress(OSError):
                path.unlink()


def file_type(duckdb_type: str) -> str:
    """The type under which a column is written to Parquet, which has no 128-bit integers and no enumerations, and
    whose intervals are neither negative nor finer than milliseconds. Readers cast back to the column's own type."""
    if duckdb_type in {"HUGEINT", "UHUGEINT"}:
        return "DECIMAL(38,0)"
    if duckdb_type.startswith("ENUM("):
        return "VARCHAR"
    return duckdb_type if '"' in duckdb_type else re.sub(r"\bINTERVAL\b", "VARCHAR", duckdb_type)


@functools.cache
def _writer() -> duckdb.DuckDBPyConnection:
    """The one database of this process that writes files: starting one takes longer than writing a small table."""
    import duckdb

    return duckdb.connect(":memory:", config={"python_enable_replacements": "false"})


def fetch_to_parquet(
    source: Source,
    table: Table,
    scan: Scan,
    columns: tuple[OutputColumn, ...],
    path: Path,
    max_rows: int,
    progress: Progress | None = None,
) -> int:
    """Read what `scan` asks for into a new Parquet file, cast to the types of `columns`. Returns how many rows."""
    import duckdb
    import pyarrow as pa

    path.parent.mkdir(parents=True, exist_ok=True)
    name = f"{source.settings.name}.{table.qualified_name}"
    reader = source.read(table, scan)
    watched = _Watched(reader, name, max_rows, table.rows, progress)
    stream = pa.RecordBatchReader.from_batches(reader.schema, iter(watched))
    casts = ", ".join(_cast(field, column) for field, column in zip(reader.schema, columns, strict=True))
    try:
        with part_file(path) as part, _writer().cursor() as connection:
            connection.execute("SET TimeZone = 'UTC'; SET preserve_insertion_order = true")
            connection.execute("SET enable_progress_bar = false")
            connection.register("arriving", stream)
            connection.execute(
                f"COPY (SELECT {casts} FROM arriving) TO {literal(str(part))} (FORMAT parquet, COMPRESSION lz4_raw)"
            )
            keep_part(part, path)
    except duckdb.Error as error:
        if watched.error is not None:
            raise watched.error from error
        if isinstance(error, duckdb.ConversionException):
            raise TableVanished(
                f"'{name}' holds a value that is not of the type it was listed with{_column_of(error)}: "
                "list the source again"
            ) from None
        raise SourceUnreachable(source.settings.name, f"'{table.name}' could not be copied: {error}") from error
    finally:
        with contextlib.suppress(Exception):
            reader.close()
    return watched.rows


def _column_of(error: Exception) -> str:
    """The column that a conversion failed in. What DuckDB says of it holds the value, which is not for messages."""
    found = re.search(r"source column (\w+)", str(error))
    return f" in column '{found[1]}'" if found else ""


class _Watched:
    """Batches on their way through: counted, limited, and with their own error kept (DuckDB would only quote it)."""

    def __init__(
        self, reader: pa.RecordBatchReader, name: str, max_rows: int, expected: int | None, progress: Progress | None
    ) -> None:
        self.rows = 0
        self.error: Exception | None = None
        self._reader, self._name, self._max_rows = reader, name, max_rows
        self._expected, self._progress = expected, progress

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        try:
            for batch in self._reader:
                self.rows += batch.num_rows
                if self.rows > self._max_rows:
                    raise LimitReached(
                        f"the statement would pull more than {self._max_rows:,} rows of '{self._name}': filter or "
                        "aggregate that table itself, or raise limits.fetch_rows of its source"
                    )
                if self._progress:
                    self._progress(self._name, self.rows, self._expected)
                yield batch
        except CosetError as error:
            self.error = error
            raise
        except Exception as error:
            # A source's generator raises inside Arrow, which wraps it: look for the plain error behind.
            self.error = plain_cause(error)
            raise


def _cast(field: pa.Field, column: OutputColumn) -> str:
    return f"CAST({identifier(field.name)} AS {column.type}) AS {identifier(column.name)}"


def _shape(table: Table) -> str:
    text = json.dumps([[column.name, column.type, column.native_name] for column in table.columns])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class LocalTable:
    """A query that gives the table's columns, and what must be there for it to run."""

    query: str
    attach: tuple[tuple[str, str], ...] = ()
    """(alias, path) of DuckDB files to attach read-only."""
    files: tuple[str, ...] = ()


def in_place(source: Source, table: Table, place: InPlace) -> LocalTable:
    """A table that DuckDB reads where it lies."""
    if place.attach is not None and place.relation is not None:
        alias = f"{ATTACHED}{source.settings.name.lower()}"
        schema, name = place.relation
        columns = ", ".join(
            identifier(column.native_name)
            + ("" if column.native_name == column.name else f" AS {identifier(column.name)}")
            for column in table.columns
        )
        query = f"SELECT {columns} FROM {identifier(alias)}.{identifier(schema)}.{identifier(name)}"
        return LocalTable(query, attach=((alias, str(place.attach)),))
    if place.sql is None:
        raise CosetError(f"'{source.settings.name}.{table.name}' cannot be read in place")
    names = ", ".join(identifier(column.name) for column in table.columns)
    return LocalTable(f"SELECT * FROM {place.sql} AS place({names})", files=tuple(map(str, place.paths)))


def from_copy(table: Table, path: Path) -> LocalTable:
    """A table of which a Parquet file holds all columns."""
    return LocalTable(from_file(((column.name, column.type, True) for column in table.columns), path))


def from_file(columns: Iterable[tuple[str, str, bool]], path: Path) -> str:
    """A query over a Parquet file of ours; columns are (name, type, whether the file has it): NULL where it has not,
    cast where it keeps another type."""
    outputs = []
    for name, kind, held in columns:
        if not held:
            outputs.append(f"CAST(NULL AS {kind}) AS {identifier(name)}")
        elif file_type(kind) == kind:
            outputs.append(identifier(name))
        else:
            outputs.append(f"CAST({identifier(name)} AS {kind}) AS {identifier(name)}")
    return f"SELECT {', '.join(outputs)} FROM read_parquet({literal(str(path))})"
