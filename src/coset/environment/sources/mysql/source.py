"""MySQL (8 and later) and MariaDB (10.6 and later) as a source, over PyMySQL.

In: a URL, `mysql://user:password@host:port/database` (see `mysql_connection` for its options). With a database, its
tables have no schema; without one, every database that is not the server's own is a schema. Out: tables, change tokens,
rows as Arrow. Every read is one read-only transaction over a consistent snapshot.

How change is known: the table's columns, CREATE_TIME, UPDATE_TIME and AUTO_INCREMENT from information_schema, and for a
table of up to `CHECKSUM_BYTES` also CHECKSUM TABLE, since UPDATE_TIME counts whole seconds and is lost when the server
restarts. A larger table that changed within the last seconds gets a token that is not given again, so that it is read
once more; one without UPDATE_TIME (after a restart, or partitioned) is summed as well, up to `snapshot_bytes`, and has
no token beyond. A view has none. Blind spots: a change that leaves the 32-bit checksum as it was, with no insert that
counts AUTO_INCREMENT up, in the very second of the change before it; for a larger table, a server clock set back, or a
storage engine that keeps no true UPDATE_TIME.

Other limits: only the first 8 MB of a text count where the server sorts or groups by it; a row larger than the server's
`max_allowed_packet` cannot be read; while a reader is open, the server makes others wait who alter that table.
"""

from __future__ import annotations

import hashlib
import logging
from collections import defaultdict
from collections.abc import Callable, Iterator
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

from coset.engine_messages import names_in, without_values
from coset.environment.scan import EVERY_OPERATION, EVERYTHING, Scan
from coset.environment.source import Source, SourceSettings, Table, WrittenQuery
from coset.environment.sources.mysql.catalog import list_tables, schema_names
from coset.environment.sources.mysql.columns import arrow_type, averages, to_arrow
from coset.environment.sources.mysql.connection import (
    LOST,
    Address,
    CellTooLarge,
    Rows,
    connect,
    error_code,
    fetch,
    hang_up,
    parse_address,
    put_settings_in_place,
)
from coset.errors import CosetError, LimitReached, MissingDependency, SourceUnreachable, TableVanished

if TYPE_CHECKING:
    import pyarrow as pa
    from pymysql.connections import Connection

    from coset.environment.sources.mysql.statements import Output

CHECKSUM_BYTES = 32_000_000
"""A table of at most this size is summed by the server for its change token: about a third of a second."""

_LONGEST_SORT = 8_388_608  # the most that max_sort_length can be
_GONE = frozenset({1049, 1051, 1054, 1109, 1146, 1356, 1412})
_DENIED = frozenset({1044, 1142, 1143, 1227, 1345, 1370})
_TOO_SLOW = frozenset({1205, 1317, 1969, 3024})
_TOO_LARGE = frozenset({1153, 1301})
_REFUSALS = {
    code: reason
    for codes, reason in {
        (
            1045,
            1698,
            1862,
        ): "the server at {address.place} refused user '{address.user}'; check the user and the password",
        (1049,): "there is no database '{address.database}' at {address.place}",
        (1044,): "user '{address.user}' may not use database '{address.database}'; grant it SELECT",
        (1040, 1203, 1226): "the server at {address.place} has no connection left; try again later",
        (1129, 1130): "the server at {address.place} does not accept connections from this machine",
    }.items()
    for code in codes
}
"""Why a connection was refused, by the server's code."""

Result = TypeVar("Result")
log = logging.getLogger(__name__)


class MySQL(Source):
    kind = "mysql"
    pushes = EVERY_OPERATION

    def __init__(self, settings: SourceSettings) -> None:
        super().__init__(settings)
        self._address: Address = parse_address(settings.location, settings.name)
        self._idle: list[Connection[Any]] = []
        # Weak, so that a reader that nobody holds any more takes its connection with it.
        self._connections: WeakSet[Connection[Any]] = WeakSet()
        self._lock = Lock()
        self._databases: dict[str, str] = {}

    def tables(self) -> list[Table]:
        return self._ask(lambda connection: list_tables(connection, self._address.database))

    def change_token(self, table: Table) -> str | None:
        if table.kind == "view":
            return None
        database = self._database_of(table)
        return self._ask(lambda connection: self._token(connection, table, database), table)

    def written_queries(self) -> list[WrittenQuery]:
        sql = (
            "SELECT table_name, view_definition, table_schema FROM information_schema.views "
            "WHERE table_schema NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')"
        )
        rows = self._ask(lambda connection: fetch(connection, sql))
        return [WrittenQuery(name or "", text, schema) for name, text, schema in rows if text]

    def read(self, table: Table, scan: Scan = EVERYTHING) -> pa.RecordBatchReader:
        import pyarrow as pa

        from coset.environment.sources.mysql.statements import longest_value, statement

        database = self._database_of(table)
        try:
            asked = statement(table, database, scan)
        except KeyError as error:
            raise TableVanished(
                f"source '{self.settings.name}': table '{table.qualified_name}' has no column {error}"
            ) from None
        connection = self._begin()
        try:
            sort_bytes = asked.sort_bytes
            if asked.sorts_by:
                sizes = fetch(connection, longest_value(table, database, asked.sorts_by))
                sort_bytes = max(sort_bytes, *(int(size or 0) for size in sizes[0]))
            if sort_bytes:
                self._widen_sort(connection, sort_bytes)
            rows = Rows(connection, asked.sql, self.settings.limits.cell_bytes)
        except BaseException as error:
            hang_up(connection)
            raise self._explained(error, table) from None
        schema = pa.schema([(output.name, arrow_type(output.type)) for output in asked.outputs])
        return pa.RecordBatchReader.from_batches(schema, self._stream(table, connection, rows, asked.outputs, schema))

    def close(self) -> None:
        with self._lock:
            connections = list(self._connections)
            self._idle.clear()
            self._connections.clear()
        for connection in connections:
            hang_up(connection)

    # Rows

    def _stream(
        self,
        table: Table,
        connection: Connection[Any],
        rows: Rows,
        outputs: tuple[Output, ...],
        schema: pa.Schema,
    ) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        not_kept: dict[str, int] = defaultdict(int)
        try:
            for columns in rows.batches():
                arrays = []
                for output in outputs:
                    values = columns[output.position]
                    if output.made_by == "average":
                        arrays.append(averages(values, columns[output.position + 1], output.column_type))
                        continue
                    array, changed = to_arrow(values, output.type)
                    arrays.append(array)
                    not_kept[output.name] += changed
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)
            self._end(connection)
        except GeneratorExit:
            hang_up(connection)
            raise
        except CellTooLarge as error:
            hang_up(connection)
            name = next((output.name for output in outputs if output.position == error.column), "?")
            raise LimitReached(
                f"source '{self.settings.name}': a value of column '{name}' in table '{table.qualified_name}' has "
                f"{error.size} bytes, more than cell_bytes = {self.settings.limits.cell_bytes}; "
                "leave the column out or raise the limit"
            ) from None
        except BaseException as error:
            hang_up(connection)
            raise self._explained(error, table) from None
        for name, count in not_kept.items():
            if count:
                log.warning(
                    "source '%s': %d values of '%s.%s' are no date or no text and were read as NULL or U+FFFD",
                    self.settings.name, count, table.qualified_name, name,
                )  # fmt: skip

    def _widen_sort(self, connection: Connection[Any], length: int) -> None:
        """Have the server sort by whole texts: it would look at the first 1024 bytes alone."""
        length = min(max(length, 1024) + 16, _LONGEST_SORT)  # it keeps the length in some of these bytes
        # It needs room for some fifteen rows at a time.
        room = 2_000_000 + 20 * length
        fetch(connection, f"SET SESSION max_sort_length = {length}, sort_buffer_size = {room}")

    # Change

    def _database_of(self, table: Table) -> str:
        if table.schema is None:
            return self._address.database or ""
        if table.schema not in self._databases:
            self._databases = self._ask(schema_names)
        return self._databases.get(table.schema, table.schema)

    def _token(self, connection: Connection[Any], table: Table, database: str) -> str | None:
        from coset.environment.sources.mysql.statements import checksum

        where, arguments = "TABLE_SCHEMA = %s AND TABLE_NAME = %s", (database, table.native_name)
        columns = fetch(
            connection,
            "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, COLLATION_NAME, IS_NULLABLE "
            f"FROM information_schema.COLUMNS WHERE {where} ORDER BY ORDINAL_POSITION",
            arguments,
        )
        found = fetch(
            connection,
            "SELECT TABLE_SCHEMA, TABLE_NAME, CREATE_TIME, UPDATE_TIME, AUTO_INCREMENT, DATA_LENGTH, "
            "UPDATE_TIME > NOW() - INTERVAL 3 SECOND, NOW(6) "
            f"FROM information_schema.TABLES WHERE {where}",
            arguments,
        )
        # MariaDB's information_schema ignores case, tables need not.
        exact = [row for row in found if row[:2] == (database, table.native_name)] or found
        if not exact or not columns:
            raise self._vanished(table)
        _, _, created, updated, counter, size, is_recent, now = exact[0]
        parts = [repr(columns), created, updated, counter]
        size_bytes = int(size or 0)
        if size_bytes <= CHECKSUM_BYTES or (updated is None and size_bytes <= self.settings.limits.snapshot_bytes):
            summed = fetch(connection, checksum(database, table.native_name))[0][1]
            if summed is None:  # the table was dropped just now, or its engine cannot be summed
                return None
            parts.append(summed)
        elif updated is None:
            return None
        elif is_recent == "1":
            parts.append(now)
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]

    # Connections

    def _ask(self, question: Callable[[Connection[Any]], Result], table: Table | None = None) -> Result:
        """The answer from one read-only transaction; asked once more on a new connection when the old one was lost."""
        for is_last in (False, True):
            connection = self._begin()
            try:
                answer = question(connection)
                self._end(connection)
                return answer
            except BaseException as error:
                hang_up(connection)
                if not is_last and error_code(error) in LOST:
                    continue
                raise self._explained(error, table) from None
        raise AssertionError("unreachable")

    def _begin(self) -> Connection[Any]:
        """A connection inside a new read-only transaction; an idle one when the server still knows it."""
        begin = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                break
            try:
                put_settings_in_place(connection, self.settings.limits)
                fetch(connection, begin)
                return connection
            except Exception:
                hang_up(connection)
        try:
            import pymysql  # noqa: F401
        except ImportError:
            raise MissingDependency("MySQL", "mysql") from None
        try:
            connection = connect(self._address, self.settings.limits)
            fetch(connection, begin)
        except Exception as error:
            if connection is not None:
                hang_up(connection)
            raise SourceUnreachable(self.settings.name, self._why_unreachable(error)) from None
        with self._lock:
            self._connections.add(connection)
        return connection

    def _end(self, connection: Connection[Any]) -> None:
        """Let go of the snapshot and keep the connection for the next question."""
        try:
            fetch(connection, "COMMIT")
        except Exception:
            hang_up(connection)
            return
        with self._lock:
            if connection in self._connections and not self._idle:
                self._idle.append(connection)
                return
        hang_up(connection)

    # Errors

    def _explained(self, error: BaseException, table: Table | None) -> BaseException:
        """A driver's error as one plain sentence; what is none of the driver's comes back as it was."""
        import pyarrow as pa
        from pymysql import err

        if isinstance(error, CosetError):
            return error
        what = f"table '{table.qualified_name}'" if table else "the list of tables"
        begin = f"source '{self.settings.name}': "
        if isinstance(error, pa.ArrowInvalid):
            return TableVanished(
                f"{begin}{what} holds values that do not fit its columns as they were listed; list the tables again"
            )
        if isinstance(error, ValueError | AttributeError) and "closed file" in str(error):
            return SourceUnreachable(self.settings.name, f"it was closed while {what} was being read")
        if isinstance(error, TimeoutError):
            return SourceUnreachable(self.settings.name, f"the server stopped answering while {what} was read")
        if not isinstance(error, err.MySQLError | OSError):
            return error
        code = error_code(error)
        seconds = self.settings.limits.query_seconds
        if code in _GONE and table is not None:
            return self._vanished(table, error)
        if code in _DENIED:
            return SourceUnreachable(
                self.settings.name, f"user '{self._address.user}' may not read {what}; grant it SELECT"
            )
        if code in _TOO_SLOW:
            return LimitReached(
                f"{begin}reading {what} took longer than query_seconds = {seconds:g}; "
                "ask for less of it or raise the limit"
            )
        if code in _TOO_LARGE:
            return LimitReached(
                f"{begin}{what} has a row larger than the server's max_allowed_packet; "
                "leave the large column out or raise the server's setting"
            )
        if code in LOST or isinstance(error, OSError):
            return SourceUnreachable(self.settings.name, f"the connection was lost while {what} was read")
        return SourceUnreachable(
            self.settings.name,
            f"the server refused to read {what}: {without_values(self._message(error), names_in(table))}",
        )

    def _why_unreachable(self, error: Exception) -> str:
        address, code = self._address, error_code(error)
        if code in _REFUSALS:
            return _REFUSALS[code].format(address=address)
        if code == 2026 or "SSL" in str(error):
            return f"no encrypted connection to {address.place}: {self._message(error)}"
        if code == 3159 or isinstance(error, RuntimeError):
            return f"the server at {address.place} wants an encrypted connection; add ?ssl=true to the URL"
        origin = getattr(error, "original_exception", error)
        if isinstance(origin, TimeoutError) or (code == 2013 and "timed out" in str(error)):
            return f"no answer from {address.place} within {self.settings.limits.connect_seconds:g} seconds"
        if isinstance(error, OSError):  # PyMySQL wraps those of the network
            return f"cannot use a certificate that the URL names: {self.settings.redact(error.strerror or str(error))}"
        if isinstance(origin, OSError):
            return f"cannot connect to {address.place}: {self.settings.redact(origin.strerror or str(origin))}"
        if code is None or code in LOST:
            return f"what answers at {address.place} is not a MySQL or MariaDB server, or ended the connection"
        return f"cannot connect to {address.place}: {self._message(error)}"

    def _vanished(self, table: Table, error: BaseException | None = None) -> TableVanished:
        begin = f"source '{self.settings.name}': "
        if error is not None and error_code(error) in {1054, 1412}:
            return TableVanished(
                f"{begin}table '{table.qualified_name}' has other columns than when it was listed; "
                "list the tables again"
            )
        if error is not None and table.kind == "view" and error_code(error) == 1356:
            return TableVanished(
                f"{begin}view '{table.qualified_name}' refers to tables or columns that are gone, "
                "or that its owner may not read"
            )
        return TableVanished(f"{begin}table '{table.qualified_name}' is gone; list the tables again")

    def _message(self, error: BaseException) -> str:
        text = str(error.args[-1] if error.args else error).strip().rstrip(".")
        if self._address.password:
            text = text.replace(self._address.password, "***")
        return self.settings.redact(" ".join(text.split())[:200])
