"""Connections to one PostgreSQL server that can only read.

In: the settings of the source. Out: rows of small catalog queries, and streams of Arrow batches for large ones. Every
session is read-only by the server's own switch (`default_transaction_read_only`), each statement is a transaction of
its own, and text forms (dates, time zone, intervals) are fixed, so that a value reads the same at every server. A view
may call functions, and these may change any setting of the session; so all are put back before the next statement.

Catalog queries share one connection; each open stream has its own, kept for the next stream when it ends. A connection
that died between two statements (a restarted server) is replaced once, unnoticed. Errors come out as plain sentences;
which table a statement reads is told by the caller. Nothing here knows about tables, columns or scans.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

from coset.engine_messages import without_values
from coset.environment.source import SourceSettings
from coset.errors import CosetError, LimitReached, MissingDependency, SourceUnreachable

if TYPE_CHECKING:
    import pyarrow as pa

# Batches of about this many bytes: a few tens of thousands of ordinary rows.
BATCH_BYTES = 8_000_000

SESSION = {
    "default_transaction_read_only": "on",
    "standard_conforming_strings": "on",
    "datestyle": "ISO",
    "intervalstyle": "postgres",
    "timezone": "UTC",
    "extra_float_digits": "1",
}

OF_VALUES = {"21", "22", "23", "38", "39", "P0"}
"""Classes of errors that quote values of the data: what does not convert, what a function of theirs raised."""
Translate = Callable[[Exception], CosetError | None]
"""Gives the error to raise for one the driver raised, or None to have it explained in general terms."""


def connection_url(settings: SourceSettings) -> str:
    """The user's URL with the session's settings added; what the user set himself stays, except being read-only."""
    base, _, query = settings.location.partition("?")
    given = dict(part.partition("=")[::2] for part in query.split("&") if part)
    # 0 would mean no limit at all, to libpq and to the server.
    seconds = max(1, math.ceil(settings.limits.connect_seconds))
    session = SESSION | {
        "statement_timeout": str(max(1, round(settings.limits.query_seconds * 1000))),
        # Waiting for a lock is waiting for somebody's ALTER TABLE: no longer than for a connection.
        "lock_timeout": str(max(1, round(settings.limits.connect_seconds * 1000))),
    }
    options = " ".join([unquote(given.pop("options", "")), *[f"-c {name}={value}" for name, value in session.items()]])
    ours = {"application_name": "coset", "connect_timeout": str(seconds)}
    fixed = {"client_encoding": "UTF8", "options": quote(options.strip(), safe="")}
    return f"{base}?{'&'.join(f'{name}={value}' for name, value in (ours | given | fixed).items())}"


class Connections:
    """All connections to the server that one source holds."""

    def __init__(self, settings: SourceSettings) -> None:
        self.settings = settings
        self._url = connection_url(settings)
        self._catalog: Any = None
        self._idle: list[Any] = []
        self._streams: weakref.WeakSet[Stream] = weakref.WeakSet()

    def rows(self, sql: str, translate: Translate | None = None) -> list[tuple[Any, ...]]:
        """All rows of a small query."""
        reused = self._catalog is not None
        try:
            if reused:
                _put_settings_back(self._catalog)
            return self._rows(sql)
        except _driver().Error as error:
            if not (reused and self._died(self._catalog)):
                raise self.explain(error, translate) from None
        self._discard(self._catalog)
        self._catalog = None
        try:
            return self._rows(sql)
        except _driver().Error as error:
            raise self.explain(error, translate) from None

    def stream(self, sql: str, translate: Translate | None = None) -> Stream:
        """A query whose rows come as they are asked for."""
        while True:
            reused = bool(self._idle)
            connection = self._idle.pop() if reused else self._connect()
            try:
                if reused:
                    _put_settings_back(connection)
                cursor = connection.cursor(adbc_stmt_kwargs={"adbc.postgresql.batch_size_hint_bytes": str(BATCH_BYTES)})
                cursor.execute(sql)
                stream = Stream(self, connection, cursor, translate)
                self._streams.add(stream)
                return stream
            except _driver().Error as error:
                died = self._died(connection)
                self._discard(connection)
                if not (reused and died):
                    raise self.explain(error, translate) from None
            except BaseException:
                self._discard(connection)
                raise

    def close(self) -> None:
        for stream in list(self._streams):
            stream.close()
        for connection in [*self._idle, self._catalog]:
            if connection is not None:
                self._discard(connection)
        self._idle, self._catalog = [], None

    def keep(self, connection: Any) -> None:
        """Take back a connection whose stream came to its end."""
        if self._idle:
            self._discard(connection)
        else:
            self._idle.append(connection)

    def explain(self, error: Exception, translate: Translate | None = None) -> CosetError:
        """The error to show for one that the driver raised."""
        if translate is not None and (known := translate(error)) is not None:
            return known
        name, limits = self.settings.name, self.settings.limits
        state, text = sqlstate(error), self.message(error)
        if state == "57014":
            return LimitReached(
                f"source '{name}': a statement was stopped at the limit of {limits.query_seconds:g} seconds; "
                "ask for less, or raise query_seconds"
            )
        if state == "42501":
            return SourceUnreachable(name, f"the database user may not read it ({text})")
        if state == "55P03":
            return SourceUnreachable(name, "a table is locked by another session; try again when that has ended")
        if state[:2] in OF_VALUES:
            text = without_values(text)
        return SourceUnreachable(name, f"the server answered: {text}")

    def message(self, error: Exception) -> str:
        """The driver's own words, in one line and without secrets."""
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        text = lines[0] if lines else type(error).__name__
        for before in ("Failed to connect: ", "ERROR: ", "FATAL: "):
            text = text.rpartition(before)[2].strip() if before in text else text
        return self._redact(text.split(". SQLSTATE")[0].removeprefix("[libpq] ").rstrip("."))

    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        if self._catalog is None:
            self._catalog = self._connect()
        with self._catalog.cursor() as cursor:
            cursor.execute(sql)
            table = cursor.fetch_arrow_table()
        return list(zip(*(column.to_pylist() for column in table.columns), strict=True))

    def _connect(self) -> Any:
        try:
            return _driver().connect(self._url, autocommit=True)
        except _driver().Error as error:
            raise SourceUnreachable(self.settings.name, self._why_not_connected(error)) from None

    def _died(self, connection: Any) -> bool:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
                cursor.fetchall()
        except _driver().Error:
            return True
        return False

    def _discard(self, connection: Any) -> None:
        try:
            connection.close()
        except Exception:
            pass  # A connection that cannot even be closed is gone already.

    def _redact(self, text: str) -> str:
        text = self.settings.redact(text)
        for password in _passwords(self.settings.location):
            text = text.replace(password, "***")
        return text

    def _why_not_connected(self, error: Exception) -> str:
        # libpq gives no code for a failure to connect, only words; those of the server may be in any language.
        text, place = str(error), _place(self.settings.location)
        if "password" in text or "SCRAM" in text:
            return f"the server at {place} refused the user name or password; check both in the source's URL"
        if "timeout expired" in text or "timed out" in text:
            return (
                f"the server at {place} did not answer within {self.settings.limits.connect_seconds:g} seconds; "
                "check host, port and firewall"
            )
        if "Connection refused" in text or "No such file or directory" in text:
            return f"nothing answers at {place}; check host and port, and that the server is running"
        if "could not translate host name" in text:
            return f"the host of {place} is not known; check its name"
        return f"cannot connect to the server at {place}: {self.message(error)}"


class Stream:
    """The batches of one running statement. Ends its connection when it is dropped half-way."""

    def __init__(self, owner: Connections, connection: Any, cursor: Any, translate: Translate | None) -> None:
        self._owner = owner
        self._connection = connection
        self._cursor = cursor
        self._translate = translate
        # The driver's own reader gives errors with their code; the one it hands out gives only their text.
        reader = getattr(getattr(cursor, "_results", None), "reader", None) or cursor.fetch_record_batch()
        self.schema: pa.Schema = reader.schema
        self._batches = iter(reader)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self

    def __next__(self) -> pa.RecordBatch:
        import pyarrow as pa

        if self._connection is None:
            raise StopIteration
        try:
            return next(self._batches)
        except StopIteration:
            connection, self._connection = self._connection, None
            self._cursor.close()
            self._owner.keep(connection)
            raise
        except (_driver().Error, OSError, pa.ArrowException) as error:
            self.close()
            raise self._owner.explain(error, self._translate) from None
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Stop the statement at the server and let go of the connection. May be called twice."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        try:
            connection.adbc_cancel()
            self._cursor.close()
        except Exception:
            pass  # The statement may have ended, or the server gone: the connection is given up in any case.
        self._owner._discard(connection)

    def __del__(self) -> None:
        self.close()


def _put_settings_back(connection: Any) -> None:
    """Settings, role and locks are what they were when the connection began, as its URL says."""
    with connection.cursor() as cursor:
        cursor.execute("DISCARD ALL")
        cursor.fetchall()


def sqlstate(error: Exception) -> str:
    return str(getattr(error, "sqlstate", None) or "")


def vanished(error: Exception) -> bool:
    """Whether the error says that a schema, table, column, type or function is not there."""
    return sqlstate(error) in {"42P01", "42703", "3F000", "42704", "42883"}


def _driver() -> Any:
    try:
        import adbc_driver_postgresql.dbapi as driver
    except ImportError:
        raise MissingDependency("PostgreSQL", "postgresql") from None
    return driver


def _parts(location: str) -> Any:
    try:
        parts = urlsplit(location)
        _ = parts.port
    except ValueError:
        return None
    return parts


def _passwords(location: str) -> list[str]:
    """The password in a URL, as written and as meant."""
    found = []
    parts = _parts(location)
    if parts is not None and parts.password:
        found.append(parts.password)
    elif "@" in location and "://" in location:
        found.append(location.partition("://")[2].rpartition("@")[0].partition(":")[2])
    found += [
        part[len("password=") :] for part in location.partition("?")[2].split("&") if part.startswith("password=")
    ]
    return sorted({text for secret in found for text in (secret, unquote(secret)) if text}, key=len, reverse=True)


def _place(location: str) -> str:
    parts = _parts(location)
    if parts is None:
        return "the address in its URL"
    socket = [unquote(part[len("host=") :]) for part in parts.query.split("&") if part.startswith("host=")]
    host = unquote(parts.hostname or "") or (socket[0] if socket else "localhost")
    return f"{host}:{parts.port}" if parts.port else host
