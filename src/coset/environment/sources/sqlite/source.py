"""A SQLite file as a source, read with the standard library's sqlite3 and never written to.

Out: its tables, virtual tables and views, with types found by one pass over each table (`sqlite_columns`), and rows
as Arrow (`sqlite_scan`). A table or view that this SQLite cannot read, because a module or function is missing, is
not listed. The pass makes the first listing cost about one read of the file; it is kept while `fingerprint` is equal.

Change is known by size and modification time of the file and of its `-wal` file, for all tables at once. Blind spot:
a write that keeps the size, within the clock tick of the file system (some milliseconds) after the one before.

A database in WAL mode that nobody has open is read as immutable, because SQLite would otherwise leave `-wal` and
`-shm` files in the user's folder; a change meanwhile is noticed by the fingerprint. Text is compared by bytes.
Nothing here knows about snapshots or sessions.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import weakref
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import quote

from coset.engine_messages import names_in, without_values
from coset.environment.scan import EVERY_OPERATION, EVERYTHING, Operation, Scan, family
from coset.environment.source import Source, SourceSettings, Table, WrittenQuery
from coset.environment.sources.sqlite.columns import NOT_UTF8
from coset.environment.sources.sqlite.connection import LONGEST_VALUE, Clock, Connection
from coset.environment.sources.sqlite.listing import Listing
from coset.errors import CosetError, LimitReached, SourceUnreachable, TableVanished
from coset.sql_text import identifier

if TYPE_CHECKING:
    import pyarrow as pa

    from coset.environment.sources.sqlite.scan import Statement

BATCH_ROWS = 16_384
BATCH_BYTES = 32_000_000
FETCH_ROWS = 256
"""Rows fetched before their size is looked at, in a table with text or blobs."""


class SQLiteFile(Source):
    """One SQLite database file, opened read-only."""

    kind = "sqlite"
    # Not avg: DuckDB's depends on how it adds up, and SQLite adds up doubles.
    pushes: ClassVar[frozenset[Operation]] = EVERY_OPERATION - {"aggregate:avg"}

    def __init__(self, settings: SourceSettings) -> None:
        super().__init__(settings)
        self._listing: tuple[str, list[Table]] | None = None
        self._header: tuple[str, bytes] | None = None
        self._encoding: str | None = None
        self._open: weakref.WeakSet[Connection] = weakref.WeakSet()

    def fingerprint(self) -> str:
        try:
            file = self.settings.path.stat()
        except OSError as error:
            raise self._unreachable(_file_problem(error)) from None
        parts = [f"{file.st_size}-{file.st_mtime_ns}"]
        wal = self._beside("-wal")
        if wal is not None and wal.st_size:  # an empty one is left behind by readers
            parts.append(f"{wal.st_size}-{wal.st_mtime_ns}")
        return "+".join(parts)

    def change_token(self, table: Table) -> str | None:
        return self.fingerprint()

    def pushes_for(self, table: Table, column: str) -> frozenset[Operation]:
        """What of `pushes` is exact for one column: reals are not added up, nor text compared that is not UTF-8."""
        column_type = table.column(column).type
        refused: set[Operation] = set()
        if column_type == "DOUBLE":
            refused.add("aggregate:sum")
        if family(column_type) == "text" and (
            table.column(column).comment == NOT_UTF8 or self._text_encoding() != "UTF-8"
        ):
            refused |= {"compare:text", "group:text"}
        return self.pushes - refused

    def interrupt(self) -> None:
        for connection in list(self._open):
            with contextlib.suppress(sqlite3.Error):
                connection.interrupt()

    def close(self) -> None:
        for connection in list(self._open):
            connection.close()

    def tables(self) -> list[Table]:
        fingerprint = self.fingerprint()
        if self._listing is None or self._listing[0] != fingerprint:
            connection = self._connect()
            try:
                tables = Listing(connection, self.settings.limits.query_seconds).tables()
                self._refuse_changed(connection)
            except sqlite3.Error as error:
                raise self._explain(error, "the tables") from None
            finally:
                connection.close()
            self._listing = (fingerprint, tables)
        return list(self._listing[1])

    def written_queries(self) -> list[WrittenQuery]:
        connection = self._connect()
        try:
            rows = connection.execute(
                "SELECT name, sql FROM sqlite_master WHERE type = 'view' ORDER BY name"
            ).fetchall()
        except sqlite3.Error as error:
            raise self._explain(error, "the views") from None
        finally:
            connection.close()
        return [WrittenQuery(_text(name), _text(sql)) for name, sql in rows if sql]

    def read(self, table: Table, scan: Scan = EVERYTHING) -> pa.RecordBatchReader:
        import pyarrow as pa

        from coset.environment.sources.sqlite.scan import statement_for

        statement = statement_for(table, scan)
        connection = self._connect()
        try:
            cursor = self._execute(connection, statement, table)
        except BaseException:
            connection.close()
            raise
        schema = pa.schema([(output.name, output.arrow_type) for output in statement.outputs])
        return pa.RecordBatchReader.from_batches(schema, self._batches(connection, cursor, statement, table, schema))

    def _execute(self, connection: Connection, statement: Statement, table: Table) -> sqlite3.Cursor:
        for name, is_member in statement.memberships.items():
            connection.create_function(name, 1, is_member, deterministic=True)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, self.settings.limits.cell_bytes)
        try:
            try:
                return self._start(connection, statement)
            except sqlite3.Error as error:
                if error.sqlite_errorname != "SQLITE_TOOBIG":
                    raise
            # The limit holds for whole rows too, wherever SQLite sorts them.
            self._refuse_long_values(connection, table)
            return self._start(connection, statement)
        except sqlite3.Error as error:
            raise self._explain(error, f"table '{table.name}'", table) from None

    def _start(self, connection: Connection, statement: Statement) -> sqlite3.Cursor:
        with connection.clock:
            cursor = connection.execute(statement.sql, statement.parameters)
        connection.reading = weakref.ref(cursor)
        return cursor

    def _batches(
        self,
        connection: Connection,
        cursor: sqlite3.Cursor,
        statement: Statement,
        table: Table,
        schema: pa.Schema,
    ) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        from coset.environment.sources.sqlite.scan import NotOfItsType

        long_columns = statement.long_columns()
        at_once = FETCH_ROWS
        try:
            while True:
                with connection.clock:
                    rows = _fetch(cursor, long_columns, at_once)
                # Large values seldom come alone: fetch as many rows at once as make half a batch.
                at_once = max(1, min(FETCH_ROWS, len(rows) // 2))
                self._refuse_changed(connection)
                if not rows:
                    return
                yield pa.RecordBatch.from_arrays(statement.to_arrays(rows), schema=schema)
        except sqlite3.Error as error:
            if error.sqlite_errorname == "SQLITE_TOOBIG":
                with suppress(sqlite3.Error):
                    self._refuse_long_values(connection, table)
            raise self._explain(error, f"table '{table.name}'", table) from None
        except (NotOfItsType, pa.ArrowException, OverflowError):
            raise TableVanished(
                f"source '{self.settings.name}': table '{table.name}' now holds values that do not fit the column types"
                " found when it was listed; list the tables again"
            ) from None
        finally:
            connection.close()

    def _refuse_long_values(self, connection: Connection, table: Table) -> None:
        """Names the column with a value beyond the limit, if there is one."""
        limit = self.settings.limits.cell_bytes
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
        for column in table.columns:
            longest = f"max(length(CAST({identifier(column.native_name)} AS BLOB)))"
            with connection.clock:
                (size,) = connection.execute(f"SELECT {longest} FROM {identifier(table.native_name)}").fetchone()
            if size is not None and size > limit:
                raise LimitReached(
                    f"source '{self.settings.name}': a value of {size:,} bytes in column '{column.name}' of table"
                    f" '{table.name}' is larger than cell_bytes ({limit:,}); leave the column out or raise the limit"
                )

    def _connect(self) -> Connection:
        if self.settings.path.is_dir():
            raise self._unreachable("is a folder, not a SQLite file")
        before = self.fingerprint()
        immutable = self._is_idle_wal(before)
        location = quote(os.fsencode(self.settings.path.absolute()))
        uri = f"file:{location}?mode=ro" + ("&immutable=1" if immutable else "")
        try:
            connection = sqlite3.connect(
                uri,
                uri=True,
                timeout=self.settings.limits.connect_seconds,
                isolation_level=None,
                check_same_thread=False,
                factory=Connection,
            )
        except sqlite3.Error as error:
            raise self._explain(error, "the file") from None
        if immutable:
            connection.changed = lambda: self.fingerprint() != before
        connection.clock = Clock(connection, self.settings.limits.query_seconds)
        try:
            connection.text_factory = bytes
            connection.execute("PRAGMA query_only = ON")
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            (encoding,) = connection.execute("PRAGMA encoding").fetchone()
        except sqlite3.Error as error:
            connection.close()
            raise self._explain(error, "the file") from None
        self._encoding = encoding.decode()
        connection.is_utf8 = self._encoding == "UTF-8"
        self._open.add(connection)
        return connection

    def _refuse_changed(self, connection: Connection) -> None:
        if connection.has_changed():
            raise self._unreachable("was changed while it was read; try again")

    def _text_encoding(self) -> str:
        if self._encoding is None:
            self._connect().close()
        return self._encoding or "UTF-8"

    def _is_idle_wal(self, fingerprint: str) -> bool:
        """Whether the file is in WAL mode, and no `-wal` file holds anything that is not in the file yet.

        Asked once per state of the file: closing any handle of a file drops the locks that this process has on it,
        and while a connection holds one the file does not change.
        """
        wal = self._beside("-wal")
        if wal is not None and (wal.st_size or self._beside("-shm") is not None):
            return False
        if self._header is None or self._header[0] != fingerprint:
            try:
                with self.settings.path.open("rb") as file:
                    self._header = (fingerprint, file.read(20))
            except OSError as error:
                raise self._unreachable(_file_problem(error)) from None
        header = self._header[1]
        return header[:16] == b"SQLite format 3\0" and header[18:20] == b"\2\2"

    def _beside(self, suffix: str) -> os.stat_result | None:
        try:
            return self.settings.path.with_name(self.settings.path.name + suffix).stat()
        except OSError:
            return None

    def _unreachable(self, reason: str) -> SourceUnreachable:
        return SourceUnreachable(self.settings.name, f"{self.settings.path} {reason}")

    def _explain(self, error: sqlite3.Error, what: str, table: Table | None = None) -> CosetError:
        code = getattr(error, "sqlite_errorname", "")
        message = self.settings.redact(str(error))
        if code == "SQLITE_INTERRUPT":
            seconds = self.settings.limits.query_seconds
            return LimitReached(
                f"source '{self.settings.name}': reading {what} took longer than query_seconds ({seconds:g});"
                " ask for less or raise the limit"
            )
        if table is not None and message.startswith(("no such table", "no such column")):
            return TableVanished(
                f"source '{self.settings.name}': table '{table.name}' is gone or has other columns than when it was"
                f" listed ({message}); list the tables again"
            )
        reasons = {
            "SQLITE_NOTADB": "is not a SQLite database, or it is encrypted",
            "SQLITE_CORRUPT": "is damaged; restore it from a copy or run sqlite3's .recover on it",
            "SQLITE_BUSY": "is locked by a program that writes to it; wait for that program or close it",
            "SQLITE_READONLY": "has an unfinished write; open it once with the program that writes to it",
            "SQLITE_CANTOPEN": "cannot be opened",
            "SQLITE_PERM": "may not be read with your permissions",
            "SQLITE_IOERR": "cannot be read from the disk",
        }
        if self._header is not None and self._header[1][8:12] == b"DUCK":
            return self._unreachable("is a DuckDB file, not a SQLite one; give it the kind duckdb")
        for prefix, reason in reasons.items():
            if code.startswith(prefix):
                if prefix == "SQLITE_CANTOPEN" and self._beside("-wal") is not None:
                    reason = "has a -wal file that needs a writable folder; copy both files to one"
                return self._unreachable(reason)
        return self._unreachable(f"cannot be read ({without_values(message, names_in(table))})")


def _fetch(cursor: sqlite3.Cursor, long_columns: list[int], at_once: int) -> list[tuple[Any, ...]]:
    """The rows of one batch, fewer when they are large."""
    if not long_columns:
        return cursor.fetchmany(BATCH_ROWS)
    rows: list[tuple[Any, ...]] = []
    size = 0
    while len(rows) < BATCH_ROWS and size < BATCH_BYTES:
        fetched = cursor.fetchmany(at_once)
        rows += fetched
        if len(fetched) < at_once:
            break
        for number in long_columns:
            size += sum(map(len, filter(None, [row[number] for row in fetched])))
    return rows


def _file_problem(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "does not exist"
    if isinstance(error, PermissionError):
        return "may not be read with your permissions"
    return f"cannot be read ({error.strerror})"


def _text(value: bytes | str) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value
