"""A DuckDB file as a source. Its tables are read where they lie: `in_place` tells the session what to attach.

Out: tables and views of all schemas, with DuckDB's own types, keys and comments; `read` is for samples. The file is
opened read-only, without access to other files, and only for as long as a listing or a reader needs it. A view is code
that the file brings: it is run here and its rows are handed on, never in a connection that can reach more. One that
cannot be bound so (it reads a CSV, or its table is gone) is not listed, nor is a table in a schema within a schema,
which no two-part name can reach.

Change is known by size and modification time of the file and of its `.wal` file, for all tables at once. Blind spot:
a write that keeps the size, within the clock tick of the file system (some milliseconds) after the one before.
Nothing here knows about snapshots or sessions.
"""

from __future__ import annotations

import contextlib
import re
import threading
import time
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import duckdb

from coset.engine_messages import names_in, without_values
from coset.environment.confined_duckdb import open_database
from coset.environment.scan import EVERY_OPERATION, EVERYTHING, Operation, Scan, scan_to_sql
from coset.environment.source import (
    Column,
    ForeignKey,
    InPlace,
    Source,
    SourceSettings,
    Table,
    WrittenQuery,
    unique_names,
)
from coset.errors import CosetError, LimitReached, SourceUnreachable, TableVanished
from coset.sql_text import identifier

if TYPE_CHECKING:
    import pyarrow as pa
    import sqlglot.expressions as sge

BATCH_ROWS = 16_384
COUNTED_AT_ONCE = 250
"""Tables counted by one statement."""

# Arrow has no place for all values of these, so they are read as text, which casts back.
_READ_AS_TEXT = re.compile(r"\b(U?HUGEINT|BIGNUM|BIT|ENUM|GEOMETRY|VARIANT|TUPLE|TIME WITH TIME ZONE)\b", re.IGNORECASE)
_TOO_LONG = "coset: too long"


class DuckDBFile(Source):
    """One DuckDB database file, opened read-only."""

    kind = "duckdb"
    pushes: ClassVar[frozenset[Operation]] = EVERY_OPERATION

    def __init__(self, settings: SourceSettings) -> None:
        super().__init__(settings)
        self._listing: tuple[str, list[Table]] | None = None
        self._readings: weakref.WeakSet[_Reading] = weakref.WeakSet()
        self._connections: weakref.WeakSet[duckdb.DuckDBPyConnection] = weakref.WeakSet()

    def fingerprint(self) -> str:
        path = self.settings.path
        try:
            file = path.stat()
        except FileNotFoundError:
            raise self._unreachable("does not exist") from None
        except OSError as error:
            raise self._unreachable(f"cannot be read ({error.strerror})") from None
        try:
            wal = path.with_name(path.name + ".wal").stat()
        except OSError:
            return f"{file.st_size}-{file.st_mtime_ns}"
        return f"{file.st_size}-{file.st_mtime_ns}+{wal.st_size}-{wal.st_mtime_ns}"

    def change_token(self, table: Table) -> str | None:
        return self.fingerprint()

    def in_place(self, table: Table) -> InPlace | None:
        if table.kind == "view":
            return None  # A view is code of the file: it runs where nothing but the file can be reached, in `read`.
        return InPlace(attach=self.settings.path, relation=(table.schema or "main", table.native_name))

    def readable_places(self) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
        return (self.settings.path,), ()

    def interrupt(self) -> None:
        for connection in list(self._connections):
            with contextlib.suppress(duckdb.Error):
                connection.interrupt()

    def close(self) -> None:
        for reading in list(self._readings):
            reading.close()

    def tables(self) -> list[Table]:
        fingerprint = self.fingerprint()
        if self._listing is None or self._listing[0] != fingerprint:
            connection = self._connect()
            try:
                with _Deadline(connection, self.settings.limits.query_seconds):
                    tables = _list(connection)
            except duckdb.Error as error:
                raise self._explain(error, "the list of tables") from None
            finally:
                connection.close()
            self._listing = (fingerprint, tables)
        return list(self._listing[1])

    def written_queries(self) -> list[WrittenQuery]:
        connection = self._connect()
        try:
            rows = connection.execute(
                "SELECT view_name, sql, schema_name FROM duckdb_views() "
                "WHERE NOT internal AND database_name = current_database() ORDER BY ALL"
            ).fetchall()
        except duckdb.Error as error:
            raise self._explain(error, "the views") from None
        finally:
            connection.close()
        return [WrittenQuery(*row) for row in rows if row[1]]

    def read(self, table: Table, scan: Scan = EVERYTHING) -> pa.RecordBatchReader:
        import pyarrow as pa

        sql = self._statement(table, scan)
        connection = self._connect()
        deadline = _Deadline(connection, self.settings.limits.query_seconds)
        try:
            with deadline:
                reader = connection.sql(sql).to_arrow_reader(BATCH_ROWS)
        except (duckdb.Error, pa.ArrowException) as error:
            connection.close()
            raise self._explain(error, f"table '{table.name}'", table) from None
        reading = _Reading(connection, reader, deadline)
        self._readings.add(reading)
        return pa.RecordBatchReader.from_batches(reader.schema, self._batches(reading, table))

    def _batches(self, reading: _Reading, table: Table) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        try:
            while True:
                with reading.deadline:
                    batch = next(reading.reader, None)
                if batch is None:
                    return
                yield batch
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            raise self._explain(error, f"table '{table.name}'", table) from None
        finally:
            reading.close()

    def _statement(self, table: Table, scan: Scan) -> str:
        import sqlglot.expressions as sge

        relation = sge.Table(this=_identifier(table.native_name), db=_identifier(table.schema or "main"))

        def column(name: str) -> sge.Expression:
            return sge.Column(this=_identifier(table.column(name).native_name), table=_identifier("t"))

        def output(name: str) -> sge.Expression:
            column_type = table.column(name).type
            if _READ_AS_TEXT.search(column_type):
                return sge.cast(column(name), "varchar", dialect="duckdb")
            if column_type not in {"VARCHAR", "BLOB", "JSON"}:
                return column(name)
            return self._within_limit(column(name), name, column_type)

        return scan_to_sql(
            scan,
            sge.alias_(relation, "t", table=True, quoted=True),
            "duckdb",
            column,
            output=output,
            all_columns=tuple(column.name for column in table.columns),
        )

    def _within_limit(self, value: sge.Expression, name: str, column_type: str) -> sge.Expression:
        """`value`, or an error from inside DuckDB when it is too long: both lengths are known without reading it."""
        import sqlglot.expressions as sge

        length = sge.Anonymous(this="octet_length" if column_type == "BLOB" else "strlen", expressions=[value])
        too_long = sge.GT(this=length, expression=sge.Literal.number(self.settings.limits.cell_bytes))
        size = sge.cast(length.copy(), "varchar", dialect="duckdb")
        message = sge.DPipe(this=sge.Literal.string(f"{_TOO_LONG} {name!r} "), expression=size, safe=True)
        return sge.Case().when(too_long, sge.Anonymous(this="error", expressions=[message])).else_(value.copy())

    def _connect(self) -> duckdb.DuckDBPyConnection:
        path = self.settings.path
        if path.is_dir():
            raise self._unreachable("is a folder, not a DuckDB file")
        if not path.exists():
            raise self._unreachable("does not exist")
        try:
            connection = open_database(path)
            self._connections.add(connection)
            return connection
        except duckdb.Error as error:
            raise self._explain(error, "the file") from None

    def _unreachable(self, reason: str) -> SourceUnreachable:
        return SourceUnreachable(self.settings.name, f"{self.settings.path} {reason}")

    def _explain(self, error: Exception, what: str, table: Table | None = None) -> CosetError:
        # Without the path, whose words would be taken for the reason.
        message = self.settings.redact(str(error).replace(str(self.settings.path), "the file"))
        name, limits = self.settings.name, self.settings.limits
        if "INTERRUPT Error" in message:
            return LimitReached(
                f"source '{name}': reading {what} took longer than query_seconds ({limits.query_seconds:g});"
                " ask for less or raise the limit"
            )
        if table is not None and (too_long := re.search(rf"{_TOO_LONG} (.*) (\d+)", message)):
            return LimitReached(
                f"source '{name}': a value of {int(too_long[2]):,} bytes in column {too_long[1]} of table"
                f" '{table.name}' is larger than cell_bytes ({limits.cell_bytes:,});"
                " leave the column out or raise the limit"
            )
        if table is not None and isinstance(error, duckdb.CatalogException | duckdb.BinderException):
            return TableVanished(
                f"source '{name}': table '{table.qualified_name}' is gone or has other columns than when it was listed;"
                " list the tables again"
            )
        for part, reason in _REASONS:
            if part in message:
                return self._unreachable(reason)
        told = without_values(_first_sentence(message), names_in(table), type(error).__name__)
        return self._unreachable(f"cannot be read ({told})")


_REASONS = (
    ("not a valid DuckDB database file", "is not a DuckDB file"),
    # DuckDB would load its SQLite extension for such a file.
    ("Loading external extensions is disabled", "is not a DuckDB file but one of another database, such as SQLite"),
    ("Could not set lock", "is locked by a program that has it open for writing; close it there and try again"),
    ("different configuration", "is already open for writing in this program; close it there and try again"),
    (
        "created with a newer version",
        f"was written by a newer DuckDB than this one ({duckdb.__version__}); upgrade duckdb",
    ),
    (
        "created with an older",
        f"was written by a DuckDB too old for this one ({duckdb.__version__}); export it there and import it here",
    ),
    ("Could not read enough bytes", "is cut short; restore it from a copy"),
    ("Corrupt database file", "is damaged; restore it from a copy"),
    ("encrypt", "is encrypted, which coset does not read"),
    ("Permission denied", "may not be read with your permissions"),
)


class _Deadline:
    """Interrupts a statement that is too long in DuckDB; the time its reader takes between batches does not count."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, seconds: float) -> None:
        self.connection = connection
        self.left = seconds

    def __enter__(self) -> None:
        self.started = time.monotonic()
        self.timer = threading.Timer(max(self.left, 0), self.connection.interrupt)
        self.timer.daemon = True
        self.timer.start()

    def __exit__(self, *_: object) -> None:
        self.timer.cancel()
        self.timer.join()
        self.left -= time.monotonic() - self.started


@dataclass(eq=False)
class _Reading:
    """An answer that is still being read. Its rows hold the file, also when its connection is closed."""

    connection: duckdb.DuckDBPyConnection
    reader: pa.RecordBatchReader
    deadline: _Deadline

    def close(self) -> None:
        self.reader.close()
        self.connection.close()


def _list(connection: duckdb.DuckDBPyConnection) -> list[Table]:
    """All tables and the views that bind, by schema and name."""
    here = "database_name = current_database() AND NOT internal"
    nested = "SELECT oid FROM duckdb_schemas() WHERE parent_schema_oid IS NOT NULL"
    found = connection.execute(
        "SELECT schema_name, table_name, comment, schema_oid, table_oid, false FROM duckdb_tables()"
        f" WHERE {here} AND NOT temporary AND schema_oid NOT IN ({nested})"
        " UNION ALL SELECT schema_name, view_name, comment, schema_oid, view_oid, true FROM duckdb_views()"
        f" WHERE {here} AND NOT temporary AND schema_oid NOT IN ({nested}) ORDER BY 1, 2"
    ).fetchall()
    columns = _rows_by_table(
        connection,
        "SELECT schema_oid, table_oid, column_name, data_type, is_nullable, comment FROM duckdb_columns()"
        f" WHERE {here} ORDER BY 1, 2, column_index",
    )
    constraints = _rows_by_table(
        connection,
        "SELECT schema_oid, table_oid, constraint_type, constraint_column_names, referenced_table,"
        " referenced_column_names FROM duckdb_constraints() WHERE database_name = current_database()"
        " AND constraint_type IN ('PRIMARY KEY', 'FOREIGN KEY') ORDER BY 1, 2, constraint_index",
    )
    tables: list[Table] = []
    keys: list[list[tuple[Any, ...]]] = []
    for schema, in_schema in groupby(found, itemgetter(0)):
        members = list(in_schema)
        for (_, native_name, comment, schema_oid, table_oid, is_view), name in zip(
            members, unique_names(member[1] for member in members), strict=True
        ):
            oids = (schema_oid, table_oid)
            described = _describe(connection, schema, native_name) if is_view else columns[oids]
            if described is None:
                continue
            tables.append(
                Table(
                    name,
                    native_name,
                    _columns(described),
                    schema=schema,
                    kind="view" if is_view else "table",
                    comment=comment,
                )
            )
            keys.append([] if is_view else constraints.get(oids, []))
    return _with_keys(_with_rows(connection, tables), keys)


def _rows_by_table(connection: duckdb.DuckDBPyConnection, sql: str) -> dict[tuple[int, int], list[tuple[Any, ...]]]:
    rows = connection.execute(sql).fetchall()
    return {place: [row[2:] for row in group] for place, group in groupby(rows, itemgetter(0, 1))}


def _describe(connection: duckdb.DuckDBPyConnection, schema: str, native_name: str) -> list[tuple[Any, ...]] | None:
    """A view's columns as it binds now, or None when it does not."""
    try:
        rows = connection.execute(f"DESCRIBE {identifier(schema)}.{identifier(native_name)}").fetchall()
    except duckdb.Error:
        return None
    return [(name, column_type, nullable == "YES", None) for name, column_type, nullable, *_ in rows]


def _columns(described: list[tuple[Any, ...]]) -> tuple[Column, ...]:
    names = unique_names(row[0] for row in described)
    return tuple(
        Column(name, column_type, native_name, column_type, nullable=nullable, comment=comment)
        for name, (native_name, column_type, nullable, comment) in zip(names, described, strict=True)
    )


def _with_rows(connection: duckdb.DuckDBPyConnection, tables: list[Table]) -> list[Table]:
    """Exact counts, which DuckDB has without reading rows; its own estimate still has the deleted ones."""
    countable = [table for table in tables if table.kind == "table"]
    counts: dict[int, int] = {}
    for start in range(0, len(countable), COUNTED_AT_ONCE):
        part = countable[start : start + COUNTED_AT_ONCE]
        counted = " UNION ALL ".join(
            f"SELECT {number}, count(*) FROM {identifier(table.schema or 'main')}.{identifier(table.native_name)}"
            for number, table in enumerate(part)
        )
        for number, rows in connection.execute(counted).fetchall():
            counts[id(part[number])] = rows
    return [
        replace(table, rows=counts[id(table)], rows_exact=True) if id(table) in counts else table for table in tables
    ]


def _with_keys(tables: list[Table], keys: list[list[tuple[Any, ...]]]) -> list[Table]:
    """Declared keys in exposed names. DuckDB allows references within one schema only."""
    by_native_name = {(table.schema, table.native_name.lower()): table for table in tables}
    result = []
    for table, constraints in zip(tables, keys, strict=True):
        primary: tuple[str, ...] = ()
        foreign = []
        for constraint_type, native_names, referenced_table, referenced_names in constraints:
            if constraint_type == "PRIMARY KEY":
                primary = _exposed(table, native_names)
            elif target := by_native_name.get((table.schema, referenced_table.lower())):
                own, theirs = _exposed(table, native_names), _exposed(target, referenced_names)
                foreign.append(ForeignKey(own, target.schema, target.name, theirs))
        changed = bool(primary or foreign)
        result.append(replace(table, primary_key=primary, foreign_keys=tuple(foreign)) if changed else table)
    return result


def _exposed(table: Table, native_names: list[str]) -> tuple[str, ...]:
    names = {column.native_name.lower(): column.name for column in table.columns}
    return tuple(names[name.lower()] for name in native_names)


def _identifier(name: str) -> sge.Identifier:
    import sqlglot.expressions as sge

    return sge.Identifier(this=name, quoted=True)


def _first_sentence(message: str) -> str:
    return message.splitlines()[0][:200] if message else "no reason given"
