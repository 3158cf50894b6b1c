"""Any database that SQLAlchemy has a dialect for, as a source: Snowflake, BigQuery, SQL Server, Oracle, Trino, ...

In: a SQLAlchemy URL, and `options` of the source as arguments of the driver. Out: tables by reflection, rows as Arrow,
whole or cut down to a scan that the engine evaluates (`statements`), change tokens where the engine offers any.

Read-only by every means the engine has (`dialects` says which): its own read-only transactions or settings; every
statement but a question is refused before it reaches the driver, those of the dialects' reflection too; every
transaction is rolled back. Time is bounded by the engine's own limit where it has one, and by ending the statement
through the driver. A table is counted when it is listed, within a share of `query_seconds`.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from coset.engine_messages import names_in, without_values
from coset.environment.scan import EVERYTHING, Condition, Operation, Scan
from coset.environment.source import Source, SourceSettings, Table, WrittenQuery
from coset.environment.sources.any_sql.dialects import ALL, Engine, engine_named
from coset.environment.sources.any_sql.reflection import Place, Reflected, reflect
from coset.errors import CosetError, LimitReached, MissingDependency, SourceUnreachable, TableVanished, UserError

if TYPE_CHECKING:
    import pyarrow as pa
    from sqlalchemy import Engine as SQLAlchemyEngine
    from sqlalchemy.engine import Connection

    from coset.environment.sources.any_sql.statements import Statement

BATCH_ROWS = 16_384
COUNTING_SHARE = 0.2
"""Of `query_seconds`, how much counting the rows of all tables may take; the rest are listed without a count."""
QUESTION = re.compile(
    r"\s*\(*\s*(?:--[^\n]*\n\s*)*"
    r"(SELECT|WITH|SHOW|DESCRIBE|DESC|EXISTS|PRAGMA|EXPLAIN|VALUES|EXEC SP_\w*|SET TRANSACTION READ ONLY)\b",
    re.IGNORECASE,
)
_Answer = TypeVar("_Answer")

DRIVERS = {
    "postgresql": "psycopg", "mysql": "pymysql", "mariadb": "pymysql", "snowflake": "snowflake-sqlalchemy",
    "bigquery": "sqlalchemy-bigquery", "mssql": "pymssql or pyodbc", "oracle": "oracledb", "trino": "trino",
    "databricks": "databricks-sqlalchemy", "redshift": "sqlalchemy-redshift", "clickhouse": "clickhouse-sqlalchemy",
    "clickhousedb": "clickhouse-connect", "db2": "ibm_db_sa", "ibm_db_sa": "ibm_db_sa", "duckdb": "duckdb-engine",
    "exa": "sqlalchemy-exasol", "teradatasql": "teradatasqlalchemy", "cockroachdb": "sqlalchemy-cockroachdb",
    "awsathena": "PyAthena", "hana": "sqlalchemy-hana", "firebird": "sqlalchemy-firebird",
}  # fmt: skip
"""The package that brings each dialect, for the message where it is missing."""


class AnySQL(Source):
    kind: ClassVar[str] = "sqlalchemy"
    # What one engine does not do exactly is taken out by `pushes_for` and by the instance's own `pushes`.
    pushes: ClassVar[frozenset[Operation]] = ALL

    def __init__(self, settings: SourceSettings) -> None:
        super().__init__(settings)
        self._opened: SQLAlchemyEngine | None = None
        self._engine: Engine = engine_named(settings.location.partition(":")[0].partition("+")[0])
        self.pushes = self._engine.pushes  # type: ignore[misc]
        self._reflected: Reflected | None = None
        self._open: set[_Reading] = set()

    # What there is

    def tables(self) -> list[Table]:
        self._reflected = self._ask(lambda connection: reflect(connection, self._engine))
        until = time.monotonic() + self.settings.limits.query_seconds * COUNTING_SHARE
        return self._ask(
            lambda connection: [self._counted(connection, table, until) for table in self._reflected_tables()]
        )

    def _reflected_tables(self) -> tuple[Table, ...]:
        return self._reflected.tables if self._reflected else ()

    def _counted(self, connection: Connection, table: Table, until: float) -> Table:
        from sqlalchemy.exc import SQLAlchemyError

        from coset.environment.sources.any_sql.statements import count_rows

        if table.kind == "view" or time.monotonic() > until:
            return table
        place = self._place(table)
        try:
            with _Clock(connection, max(until - time.monotonic(), 0.1)):
                count = connection.exec_driver_sql(count_rows(table, self._engine, schema=place.schema)).scalar()
        except (SQLAlchemyError, LimitReached):
            connection.rollback()
            return table  # It cannot be read, or takes long: reading it will say why.
        return replace(table, rows=int(count or 0), rows_exact=True)

    def _place(self, table: Table) -> Place:
        if self._reflected is None:
            self._reflected = self._ask(lambda connection: reflect(connection, self._engine))
        found = self._reflected.places.get((table.schema, table.name))
        return found or Place(table.schema, table.native_name)

    def written_queries(self) -> list[WrittenQuery]:
        from sqlalchemy import inspect
        from sqlalchemy.exc import SQLAlchemyError

        def views(connection: Connection) -> list[WrittenQuery]:
            inspector, found = inspect(connection), []
            for table in self._reflected_tables():
                if table.kind == "view":
                    place = self._place(table)
                    with contextlib.suppress(SQLAlchemyError, NotImplementedError):
                        text = inspector.get_view_definition(table.native_name, schema=place.schema)
                        found.append(WrittenQuery(table.name, str(text), table.schema))
            return [query for query in found if query.text and query.text != "None"]

        return self._ask(views)

    # Change

    def fingerprint(self) -> str | None:
        path = self._file()
        if path is None:
            return None
        return _file_state(path, self.settings.name)

    def change_token(self, table: Table) -> str | None:
        if path := self._file():
            return _file_state(path, self.settings.name)
        if table.kind == "view":
            return None
        place = self._place(table)
        if self._engine.name == "postgresql":
            return self._token_of_postgresql(place, table)
        if self._engine.name in {"mysql", "mariadb"}:
            return self._token_of_mysql(place, table)
        if self._engine.token is None:
            return None
        return self._row_as_token(self._filled(self._engine.token, place), table)

    def _file(self) -> Path | None:
        """The database file, for engines that keep one."""
        if self._engine.name not in {"sqlite", "duckdb"}:
            return None
        path = self.settings.location.partition("://")[2].partition("?")[0]
        return Path(path[1:]) if path.startswith("/") and len(path) > 1 else None

    def _token_of_postgresql(self, place: Place, table: Table) -> str | None:
        from coset.environment.sources.postgresql.source import CHANGE, TREE
        from coset.environment.sources.postgresql.statements import string_text

        names = {"schema": string_text(place.schema or "public"), "name": string_text(place.name)}
        sql = TREE.format(**names) + CHANGE
        members, unknowable, counts, replayed, *parts = self._ask(
            lambda connection: self._rows(connection, sql)[0], table
        )
        if not members:
            raise self._gone(table)
        return None if unknowable or not (counts or replayed) else " ".join(str(part) for part in (replayed, *parts))

    def _token_of_mysql(self, place: Place, table: Table) -> str | None:
        """The checksum of a table up to the size that the native source sums as well; else none."""
        from coset.environment.sources.mysql.source import CHECKSUM_BYTES
        from coset.environment.sources.mysql.statements import checksum

        size = self._filled(
            "SELECT data_length, create_time FROM information_schema.tables "
            "WHERE table_schema = {schema} AND table_name = {table}",
            place,
        )

        def ask(connection: Connection) -> str | None:
            found = self._rows(connection, size)
            if not found:
                raise self._gone(table)
            if (found[0][0] or 0) > CHECKSUM_BYTES:
                return None
            raw = connection.connection.cursor()  # CHECKSUM TABLE is a question, but none that the gate knows
            raw.execute(checksum(place.schema or "", place.name))
            summed = raw.fetchall()[0][1]
            return None if summed is None else f"{summed} {found[0][1]}"

        return self._ask(ask, table)

    def _filled(self, sql: str, place: Place) -> str:
        from coset.environment.sources.any_sql.statements import text_literal

        names = {
            "schema": text_literal(place.schema or "", self._engine),
            "table": text_literal(place.name, self._engine),
        }
        return sql.format(**names)

    def _row_as_token(self, sql: str, table: Table) -> str | None:
        rows = self._ask(lambda connection: self._rows(connection, sql), table)
        return hashlib.sha256(repr(rows).encode()).hexdigest()[:32] if rows else None

    def _rows(self, connection: Connection, sql: str) -> list[Any]:
        return list(connection.execution_options(no_parameters=True).exec_driver_sql(sql).all())

    # Rows

    def pushes_for(self, table: Table, column: str) -> frozenset[Operation]:
        from coset.environment.sources.any_sql.statements import pushed_for

        return pushed_for(table.column(column), self._engine)

    def narrows(self, table: Table, condition: Condition) -> bool:
        from coset.environment.sources.any_sql.statements import keeps_all

        return keeps_all(condition, table)

    def read(self, table: Table, scan: Scan = EVERYTHING) -> pa.RecordBatchReader:
        import pyarrow as pa

        from coset.environment.sources.any_sql.statements import statement
        from coset.environment.sources.any_sql.values import arrow_type

        place = self._place(table)
        try:
            asked = statement(table, self._engine, scan, schema=place.schema)
        except KeyError as error:
            raise TableVanished(
                f"source '{self.settings.name}': table '{table.qualified_name}' has no column {error}"
            ) from None
        reading = _Reading(self._connect(), self.settings.limits.query_seconds)
        self._open.add(reading)
        try:
            reading.start(asked.sql)
        except BaseException as error:
            self._end(reading)
            raise self._explained(error, table) from None
        schema = pa.schema([(name, arrow_type(kind)) for name, kind in zip(asked.names, asked.types, strict=True)])
        return pa.RecordBatchReader.from_batches(schema, self._batches(reading, asked, table, schema))

    def _batches(
        self, reading: _Reading, asked: Statement, table: Table, schema: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        from coset.environment.sources.any_sql.values import NotOfItsType, to_arrow

        try:
            while rows := reading.fetch(BATCH_ROWS):
                columns = list(zip(*rows, strict=True))
                self._check_cells(columns, asked.names, table)
                arrays = []
                for name, kind, values in zip(asked.names, asked.types, columns, strict=True):
                    try:
                        arrays.append(to_arrow(values, kind))
                    except NotOfItsType:
                        raise TableVanished(
                            f"source '{self.settings.name}': column '{name}' of table '{table.qualified_name}' holds a "
                            f"value that is not of its type {kind}; list the tables again, or leave the column out"
                        ) from None
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)
        except GeneratorExit:
            raise
        except BaseException as error:
            raise self._explained(error, table) from None
        finally:
            self._end(reading)

    def _check_cells(self, columns: list[tuple[Any, ...]], names: tuple[str, ...], table: Table) -> None:
        limit = self.settings.limits.cell_bytes
        for name, values in zip(names, columns, strict=True):
            longest = max((len(value) for value in values if isinstance(value, str | bytes)), default=0)
            if longest * 4 <= limit:
                continue
            size = max(
                len(value.encode() if isinstance(value, str) else value)
                for value in values
                if isinstance(value, str | bytes)
            )
            if size > limit:
                raise LimitReached(
                    f"source '{self.settings.name}': a value of column '{name}' in table '{table.qualified_name}' has "
                    f"{size:,} bytes, more than cell_bytes = {limit:,}; leave the column out or raise the limit"
                )

    # Connections

    def interrupt(self) -> None:
        for reading in list(self._open):
            reading.cancel()

    def close(self) -> None:
        for reading in list(self._open):
            self._end(reading)
        if self._opened is not None:
            self._opened.dispose()
            self._opened = None

    def _end(self, reading: _Reading) -> None:
        self._open.discard(reading)
        reading.close()

    def _ask(self, question: Callable[[Connection], _Answer], table: Table | None = None) -> _Answer:
        connection = self._connect()
        try:
            with _Clock(connection, self.settings.limits.query_seconds):
                return question(connection)
        except BaseException as error:
            raise self._explained(error, table) from None
        finally:
            _let_go(connection)

    def _connect(self) -> Connection:
        if self._opened is None:
            self._opened = self._make_engine()
        try:
            connection = self._opened.connect()
            for begin in self._engine.begin:
                connection.exec_driver_sql(begin)
            return connection.execution_options(stream_results=True, max_row_buffer=BATCH_ROWS)
        except Exception as error:
            raise self._unreachable(error) from None

    def _make_engine(self) -> SQLAlchemyEngine:
        try:
            import sqlalchemy as sa
        except ImportError:
            raise MissingDependency("a database over SQLAlchemy", "sqlalchemy") from None
        location = _with_driver(self.settings.location)
        if (path := self._file()) is not None and not path.exists():
            raise SourceUnreachable(self.settings.name, f"{path} does not exist")
        name = location.partition("://")[0]
        try:
            url = sa.make_url(location)
            engine = sa.create_engine(
                url, connect_args=self._arguments(url), pool_pre_ping=True, pool_size=2, max_overflow=8
            )
        except sa.exc.NoSuchModuleError:
            package = DRIVERS.get(name.partition("+")[0])
            hint = (
                f"install the package that brings it: pip install {package}"
                if package
                else "check its spelling, or install the package that brings it"
            )
            raise UserError(
                f"source '{self.settings.name}': there is no SQLAlchemy dialect '{name}' here; {hint}"
            ) from None
        except ImportError as error:
            package = DRIVERS.get(name.partition("+")[0], str(error.name))
            raise UserError(
                f"source '{self.settings.name}': the driver of '{name}' is not installed; install it: "
                f"pip install {package}"
            ) from None
        except Exception as error:
            raise SourceUnreachable(self.settings.name, f"its URL cannot be used: {self._words(error)}") from None
        sa.event.listen(engine, "connect", self._prepare)
        sa.event.listen(engine, "before_cursor_execute", _only_questions)
        return engine

    def _arguments(self, url: Any) -> dict[str, Any]:
        seconds = max(1, round(self.settings.limits.connect_seconds))
        arguments: dict[str, Any] = dict(self.settings.options)
        backend, driver = url.get_backend_name(), url.get_driver_name()
        if backend == "duckdb":
            arguments |= {"read_only": True, "config": {"enable_external_access": "false"}}
        elif driver in {"psycopg", "psycopg2", "pymysql", "mysqldb", "mysqlconnector"}:
            arguments.setdefault("connect_timeout", seconds)
        elif driver == "pymssql":
            arguments |= {"login_timeout": seconds, "timeout": max(1, round(self.settings.limits.query_seconds))}
        elif backend == "sqlite":
            arguments |= {"timeout": self.settings.limits.connect_seconds, "check_same_thread": False}
        return arguments

    def _prepare(self, raw: Any, _record: object) -> None:
        """A new connection of the driver: read-only, with fixed formats and limits."""
        limits = self.settings.limits
        fill = {"ms": max(1, round(limits.query_seconds * 1000)), "seconds": max(1, round(limits.query_seconds))}
        cursor = raw.cursor()
        try:
            for text in self._engine.session:
                cursor.execute(text.format(**fill))
            with contextlib.suppress(Exception):
                raw.commit()
            for text in self._engine.wishes:
                with contextlib.suppress(Exception):
                    cursor.execute(text.format(**fill))
        finally:
            cursor.close()
        with contextlib.suppress(Exception):
            raw.rollback()

    # Errors

    def _explained(self, error: BaseException, table: Table | None) -> BaseException:
        from sqlalchemy.exc import DBAPIError, SQLAlchemyError

        if isinstance(error, CosetError) or not isinstance(error, Exception):
            return error
        what = f"table '{table.qualified_name}'" if table else "the list of tables"
        words = self._words(error)
        if _is_late(error):
            return LimitReached(
                f"source '{self.settings.name}': reading {what} took longer than query_seconds = "
                f"{self.settings.limits.query_seconds:g}; ask for less of it or raise the limit"
            )
        if table is not None and _MISSING.search(words):
            return self._gone(table)
        if isinstance(error, DBAPIError) and error.connection_invalidated:
            return SourceUnreachable(self.settings.name, f"the connection was lost while {what} was read")
        if isinstance(error, SQLAlchemyError) or _is_of_driver(error):
            return SourceUnreachable(
                self.settings.name, f"the engine refused to read {what}: {without_values(words, names_in(table))}"
            )
        return error

    def _unreachable(self, error: Exception) -> CosetError:
        if isinstance(error, CosetError):
            return error
        words = self._words(error)
        place = _host(self.settings.location)
        if _REFUSED.search(words):
            return SourceUnreachable(
                self.settings.name, f"the server at {place} refused the user name or password; check both"
            )
        if _NO_ANSWER.search(words):
            return SourceUnreachable(
                self.settings.name, f"nothing answers at {place}; check host and port, and that the server is running"
            )
        return SourceUnreachable(self.settings.name, f"cannot connect to {place}: {words}")

    def _gone(self, table: Table) -> TableVanished:
        return TableVanished(
            f"source '{self.settings.name}': table '{table.qualified_name}' is gone or has other columns than when it "
            "was listed; list the tables again"
        )

    def _words(self, error: BaseException) -> str:
        """The driver's own words, in one line and without secrets."""
        original = getattr(error, "orig", None) or error
        lines = [line.strip() for line in str(original).splitlines() if line.strip()]
        return self.settings.redact(lines[0] if lines else type(original).__name__)[:300]


_MISSING = re.compile(
    r"no such (table|column)|does not exist|doesn't exist|unknown (table|column|identifier)|not found|"
    r"invalid object name|invalid column|ORA-00942|ORA-00904", re.IGNORECASE,
)  # fmt: skip
_REFUSED = re.compile(r"password|authenticat|access denied|login failed|ORA-01017|incorrect username", re.IGNORECASE)
_NO_ANSWER = re.compile(
    r"refused|timed? ?out|could not translate|name or service|unreachable|can't connect|no route|getaddrinfo",
    re.IGNORECASE,
)
_LATE = re.compile(
    r"interrupted|statement timeout|canceling statement|max_statement_time|maximum statement execution time|"
    r"query.*(timeout|timed out)",
    re.IGNORECASE,
)


def _only_questions(_conn: Any, _cursor: Any, statement: str, _parameters: Any, _context: Any, _many: bool) -> None:
    """No statement reaches a driver that is not a question: neither ours nor a dialect's."""
    if not QUESTION.match(statement):
        raise UserError(f"coset only reads: a statement that begins with '{statement.strip()[:20]}' is not sent")


def _with_driver(location: str) -> str:
    """A URL that names no driver, with the one that coset installs."""
    scheme, separator, rest = location.partition("://")
    named = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql", "mariadb": "mariadb+pymysql"}
    return f"{named.get(scheme, scheme)}{separator}{rest}"


def _host(location: str) -> str:
    rest = location.partition("://")[2].partition("?")[0]
    return rest.rpartition("@")[2] or "its address"


def _is_late(error: BaseException) -> bool:
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, _TimeIsUp) or _LATE.search(str(getattr(seen, "orig", None) or seen)):
            return True
        seen = seen.__cause__
    return False


def _is_of_driver(error: BaseException) -> bool:
    return any(
        base.__name__ in {"DatabaseError", "InterfaceError", "Error"} for base in type(error).__mro__
    ) or isinstance(error, OSError)


def _file_state(path: Path, source: str) -> str:
    parts = []
    for end in ("", "-wal", ".wal"):
        with contextlib.suppress(OSError):
            file = path.with_name(path.name + end).stat()
            parts.append(f"{file.st_size}-{file.st_mtime_ns}")
    if not parts:
        raise SourceUnreachable(source, f"{path} does not exist")
    return "+".join(parts)


def _let_go(connection: Connection) -> None:
    """Rolled back, whatever happened; a connection that cannot be is given up."""
    try:
        connection.rollback()
        connection.close()
    except Exception:
        with contextlib.suppress(Exception):
            connection.invalidate()
            connection.close()


class _TimeIsUp(Exception):
    """Raised where the clock ended what the driver did, and the driver said nothing of it."""


class _Clock:
    """Ends what a connection does when its time is up. Only time within `with` counts."""

    def __init__(self, connection: Connection, seconds: float) -> None:
        self._connection = connection
        self._left = seconds
        self._ended = False

    def __enter__(self) -> None:
        self._started = time.monotonic()
        self._timer = threading.Timer(max(self._left, 0.001), self.cancel)
        self._timer.daemon = True
        self._timer.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _trace: object) -> None:
        self._timer.cancel()
        self._left -= time.monotonic() - self._started
        if self._ended or (kind is None and self._left <= 0):
            raise _TimeIsUp from error

    def cancel(self) -> None:
        """End the statement by the means that the driver has."""
        self._ended = True
        raw = getattr(self._connection.connection, "dbapi_connection", None)
        for name in ("cancel_safe", "interrupt", "cancel"):
            if callable(end := getattr(raw, name, None)):
                with contextlib.suppress(Exception):
                    end()
                return
        with contextlib.suppress(Exception):
            raw.close()  # type: ignore[union-attr]


class _Reading:
    """One statement that is being read, on a connection of its own."""

    def __init__(self, connection: Connection, seconds: float) -> None:
        self._connection = connection
        self._clock = _Clock(connection, seconds)
        self._result: Any = None
        self._closed = False

    def start(self, sql: str) -> None:
        with self._clock:
            self._result = self._connection.execution_options(no_parameters=True).exec_driver_sql(sql)

    def fetch(self, rows: int) -> list[Any]:
        if self._closed:
            return []
        with self._clock:
            return list(self._result.fetchmany(rows))

    def cancel(self) -> None:
        self._clock.cancel()

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            with contextlib.suppress(Exception):
                self._result.close()
            _let_go(self._connection)
