"""Connections to MySQL and MariaDB: from a URL to a session that can only read, and the rows of a statement as columns.

In: `mysql://user:password@host:port/database?options` (or `mariadb://`), user and password percent-encoded. Options:
`ssl=true` (encrypt, whoever answers), `ssl_ca=FILE` (and check the server's certificate), `ssl_verify_identity=true`
(and its name), `ssl_cert=FILE`, `ssl_key=FILE`, `ssl=false`, `unix_socket=PATH`. Without any, the connection is
encrypted where the server offers it. Out: a PyMySQL connection, and columns of values as the server wrote them.

Every session refuses writes (`SET SESSION TRANSACTION READ ONLY`), runs in UTC and UTF-8 with an empty `sql_mode`, and
has the server itself end a statement that takes too long. The server refuses changes to rows and tables that way, yet
MariaDB lets DROP DATABASE and GRANT pass; coset sends none, and a user with only SELECT could not.

PyMySQL takes a result apart one value at a time; `Rows` does so itself, straight from the connection's buffer, about
twice as fast. Nothing here knows about tables, types or Arrow.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from coset.environment.source import Limits
from coset.errors import UserError

if TYPE_CHECKING:
    from ssl import SSLContext

    from pymysql.connections import Connection

OPTIONS = ("ssl", "ssl_ca", "ssl_cert", "ssl_key", "ssl_verify_identity", "unix_socket")
BATCH_ROWS = 20_000
BATCH_BYTES = 32_000_000

LOST = frozenset({0, 1053, 1927, 2006, 2013, 2055, 4031})
"""Numbers of errors that mean the connection is gone, and a new one may do."""

SETTINGS = ("sql_mode = ''", "time_zone = '+00:00'", "character_set_client = utf8mb4", "sql_select_limit = DEFAULT",
            "max_sort_length = DEFAULT", "sort_buffer_size = DEFAULT")  # fmt: skip

_SPLIT_PACKET = 0xFFFFFF  # a packet of this length goes on in the next one
_END_OF_ROWS, _ERROR, _NULL = 0xFE, 0xFF, 0xFB


@dataclass(frozen=True)
class Address:
    """Where a server is, and who asks."""

    host: str
    port: int
    user: str
    password: str = field(repr=False)
    database: str | None
    unix_socket: str | None = None
    encrypt: bool | None = None
    """None: where the server offers it."""
    ssl_ca: str | None = None
    ssl_cert: str | None = None
    ssl_key: str | None = None
    ssl_verify_identity: bool = False

    @property
    def place(self) -> str:
        return self.unix_socket or f"{self.host}:{self.port}"


class CellTooLarge(Exception):
    """A value of more bytes than the limit; `column` is its position in the result."""

    def __init__(self, column: int, size: int) -> None:
        super().__init__(f"a value of {size} bytes")
        self.column = column
        self.size = size


def parse_address(location: str, source: str) -> Address:
    """The address a URL names. Errors never repeat the URL, which may hold a password."""
    wanted = "expected mysql://user:password@host:port/database, special characters percent-encoded"
    try:
        url = urlsplit(location)
        port = url.port or 3306
        host = url.hostname or "localhost"
    except ValueError:
        raise UserError(f"source '{source}': the URL's host or port is not valid; {wanted}") from None
    if url.scheme.split("+")[0] not in {"mysql", "mariadb"}:
        raise UserError(f"source '{source}': the URL does not start with mysql://; {wanted}")
    database = unquote(url.path.removeprefix("/"))
    options = dict(parse_qsl(url.query, keep_blank_values=True))
    for name in options:
        if name not in OPTIONS:
            raise UserError(f"source '{source}': unknown URL option '{name}'; known are {', '.join(OPTIONS)}")
    chosen = options.get("ssl")
    certified = "ssl_ca" in options or "ssl_cert" in options or _is_true(options.get("ssl_verify_identity"))
    return Address(
        host=host,
        port=port,
        user=unquote(url.username or ""),
        password=unquote(url.password or ""),
        database=database or None,
        unix_socket=options.get("unix_socket"),
        encrypt=(True if certified else None) if chosen is None else _is_true(chosen),
        ssl_ca=options.get("ssl_ca"),
        ssl_cert=options.get("ssl_cert"),
        ssl_key=options.get("ssl_key"),
        ssl_verify_identity=_is_true(options.get("ssl_verify_identity")),
    )


def connect(address: Address, limits: Limits) -> Connection[Any]:
    """A new session that can only read. Raises what PyMySQL raises; OSError for a certificate that cannot be read."""
    from pymysql.connections import Connection
    from pymysql.converters import encoders

    arguments: dict[str, Any] = {}
    if address.encrypt:
        arguments["ssl"] = _ssl_context(address)
    elif address.encrypt is False:
        arguments["ssl_disabled"] = True
    connection: Connection[Any] = Connection(
        host=address.host,
        port=address.port,
        unix_socket=address.unix_socket,
        user=address.user,
        password=address.password.encode(),
        database=address.database,
        charset="utf8mb4",
        autocommit=True,
        connect_timeout=max(limits.connect_seconds, 0.1),
        # Until the session stands: a host that accepts and then says nothing must not hold us either.
        read_timeout=max(limits.connect_seconds, 0.1),
        use_unicode=False,
        conv={kind: encoder for kind, encoder in encoders.items()},
        program_name="coset",
        **arguments,
    )
    try:
        put_settings_in_place(connection, limits)
    except BaseException:
        hang_up(connection)
        raise
    # The server ends a slow statement itself; this is for a server that stopped answering at all.
    connection._read_timeout = limits.query_seconds + 10 if limits.query_seconds > 0 else None  # type: ignore[attr-defined]
    return connection


def put_settings_in_place(connection: Connection[Any], limits: Limits) -> None:
    """Those of a session that can only read. A view may call a function that changes them for what comes after it."""
    from pymysql import err

    _run(connection, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    wishes = _session_wishes(is_mariadb(connection), limits)
    try:
        _run(connection, f"SET SESSION {', '.join((*SETTINGS, *wishes))}")
    except err.MySQLError:  # a relative of MySQL may lack one of them; the others still hold
        _run(connection, f"SET SESSION {', '.join(SETTINGS)}")
        for wish in wishes:
            with suppress(err.OperationalError, err.InternalError, err.ProgrammingError):
                _run(connection, "SET SESSION " + wish)


def is_mariadb(connection: Connection[Any]) -> bool:
    return "mariadb" in str(connection.get_server_info()).lower()  # type: ignore[no-untyped-call]


def hang_up(connection: Connection[Any]) -> None:
    """Close at once, without reading the rest of a result."""
    with suppress(Exception):
        connection.close()


def fetch(connection: Connection[Any], statement: str, arguments: tuple[str, ...] = ()) -> list[tuple[str | None, ...]]:
    """All rows of a small result, as text."""
    with connection.cursor() as cursor:
        cursor.execute(statement, arguments or None)
        return [
            tuple(None if value is None else value.decode(errors="replace") for value in row)
            for row in cursor.fetchall()
        ]


def error_code(error: BaseException) -> int | None:
    """The server's or the driver's number of an error."""
    from pymysql import err

    is_numbered = isinstance(error, err.MySQLError) and error.args and isinstance(error.args[0], int)
    return int(error.args[0]) if is_numbered else None


class Rows:
    """The rows of one statement as they arrive. The connection is free again when `batches` has ended by itself."""

    def __init__(self, connection: Connection[Any], statement: str, cell_bytes: int) -> None:
        connection.query(statement, unbuffered=True)
        result = connection._result  # type: ignore[attr-defined]
        self.width = int(result.field_count)
        self._read = connection._rfile.read  # type: ignore[attr-defined]
        self._cell_bytes = cell_bytes
        # From here on the rows are ours to read; PyMySQL would read on to the last row of a result that is given up.
        result.unbuffered_active = False
        result.connection = None

    def batches(self) -> Iterator[list[list[bytes | None]]]:
        """Columns of up to `BATCH_ROWS` values each. Raises `CellTooLarge`, or what PyMySQL raises."""
        read, cell_bytes = self._read, self._cell_bytes
        going_on = True
        while going_on:
            columns: list[list[bytes | None]] = [[] for _ in range(self.width)]
            appends = [column.append for column in columns]
            size = 0
            for _ in range(BATCH_ROWS):
                header = read(4)
                if len(header) < 4:
                    raise _lost()
                length = header[0] | header[1] << 8 | header[2] << 16
                data: bytes = read(length)
                if len(data) < length:
                    raise _lost()
                if length == _SPLIT_PACKET:
                    data = self._rest_of_row(data)
                    length = len(data)
                elif length > cell_bytes:
                    self._check_cells(data)
                first = data[0]
                if first == _END_OF_ROWS and length < 9:
                    going_on = False
                    break
                if first == _ERROR:
                    _raise_server_error(data)
                position = 0
                for append in appends:
                    value_length = data[position]
                    position += 1
                    if value_length == _NULL:
                        append(None)
                        continue
                    if value_length > _NULL:
                        width = 2 if value_length == 0xFC else 3 if value_length == 0xFD else 8
                        value_length = int.from_bytes(data[position : position + width], "little")
                        position += width
                    end = position + value_length
                    append(data[position:end])
                    position = end
                size += length
                if size > BATCH_BYTES:
                    break
            if columns[0]:
                yield columns

    def _rest_of_row(self, data: bytes) -> bytes:
        """A row of 16 MB or more, put together; looked through as it grows, so that no more is held than allowed."""
        parts, length, total = [data], _SPLIT_PACKET, _SPLIT_PACKET
        while length == _SPLIT_PACKET:
            if total > self._cell_bytes:
                parts = [b"".join(parts)]
                self._check_cells(parts[0])
            header = self._read(4)
            if len(header) < 4:
                raise _lost()
            length = header[0] | header[1] << 8 | header[2] << 16
            part = self._read(length)
            if len(part) < length:
                raise _lost()
            parts.append(part)
            total += length
        whole = b"".join(parts)
        if total > self._cell_bytes:
            self._check_cells(whole)
        return whole

    def _check_cells(self, data: bytes) -> None:
        """Raise for the first value that is too large, also where only its beginning has arrived."""
        if data[0] == _ERROR:
            return
        position = 0
        for column in range(self.width):
            if position >= len(data):
                return
            size = data[position]
            position += 1
            if size == _NULL:
                continue
            if size > _NULL:
                width = 2 if size == 0xFC else 3 if size == 0xFD else 8
                size = int.from_bytes(data[position : position + width], "little")
                position += width
            if size > self._cell_bytes:
                raise CellTooLarge(column, size)
            position += size


def _session_wishes(mariadb: bool, limits: Limits) -> list[str]:
    seconds = limits.query_seconds
    whole_seconds = max(1, round(seconds))
    wishes = [
        # The reader may pause between batches; a table that someone else locks must not hold us for a day.
        f"net_write_timeout = {max(600, whole_seconds)}",
        f"lock_wait_timeout = {whole_seconds if seconds > 0 else 300}",
    ]
    if seconds > 0:
        limit = f"max_statement_time = {seconds:.3f}" if mariadb else f"max_execution_time = {round(seconds * 1000)}"
        wishes.append(limit)
    if not mariadb:
        wishes.append("information_schema_stats_expiry = 0")  # else a table's times may be a day old
    return wishes


def _ssl_context(address: Address) -> SSLContext:
    import ssl

    context = ssl.create_default_context(cafile=address.ssl_ca)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # certificates that MySQL makes for itself are not that strict
    context.check_hostname = address.ssl_verify_identity
    context.verify_mode = ssl.CERT_REQUIRED if address.ssl_ca or address.ssl_verify_identity else ssl.CERT_NONE
    if address.ssl_cert:
        context.load_cert_chain(address.ssl_cert, address.ssl_key)
    return context


def _run(connection: Connection[Any], statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def _is_true(text: str | None) -> bool:
    return text is not None and text.lower() in {"true", "1", "yes", "on", "required", ""}


def _lost() -> Exception:
    from pymysql import err

    return err.OperationalError(2013, "Lost connection to MySQL server during query")


def _raise_server_error(data: bytes) -> None:
    from pymysql import err

    err.raise_mysql_exception(data)
