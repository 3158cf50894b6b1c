"""A Flight SQL server for the tests: DuckDB behind the protocol, as far as an ADBC driver speaks it.

In: a DuckDB file. Out: `host:port` of a server that answers queries, prepared or not, and tells its tables. Its
messages are taken apart and put together here by hand, since the protocol's own library is not at hand in Python.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

PREFIX = "type.googleapis.com/arrow.flight.protocol.sql."
VENDOR_NAME = 0


def fields_of(message: bytes) -> dict[int, Any]:
    """The fields of a protobuf message: numbers and bytes, by field number; the last of each."""
    found: dict[int, Any] = {}
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        if key & 7 == 0:
            found[key >> 3], place = _varint(message, place)
        else:
            size, place = _varint(message, place)
            found[key >> 3], place = message[place : place + size], place + size
    return found


def _varint(message: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[place]
        place += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, place


def field(number: int, content: bytes) -> bytes:
    size, length = len(content), b""
    while True:
        byte, size = size & 127, size >> 7
        length += bytes([byte | (128 if size else 0)])
        if not size:
            return bytes([number << 3 | 2]) + length + content


def wrapped(name: str, message: bytes) -> bytes:
    return field(1, (PREFIX + name).encode()) + field(2, message)


def opened(message: bytes) -> tuple[str, dict[int, Any]]:
    outer = fields_of(message)
    return outer[1].decode().removeprefix(PREFIX), fields_of(outer.get(2, b""))


def make_server(path: Path) -> Any:
    from pyarrow import flight

    database = duckdb.connect(str(path), read_only=True)

    class Server(flight.FlightServerBase):
        """One DuckDB; every answer is made when it is asked for."""

        def get_flight_info(self, context: Any, descriptor: Any) -> Any:
            name, asked = opened(descriptor.command)
            table = self.answer(name, asked, is_described=True)
            ticket = flight.Ticket(descriptor.command)
            return flight.FlightInfo(table.schema, descriptor, [flight.FlightEndpoint(ticket, [])], -1, -1)

        def get_schema(self, context: Any, descriptor: Any) -> Any:
            return flight.SchemaResult(self.answer(*opened(descriptor.command), is_described=True).schema)

        def do_get(self, context: Any, ticket: Any) -> Any:
            return flight.RecordBatchStream(self.answer(*opened(ticket.ticket), is_described=False))

        def do_action(self, context: Any, action: Any) -> Iterator[bytes]:
            if action.type == "CreatePreparedStatement":
                _, asked = opened(action.body.to_pybytes())
                schema = self.run(asked[1].decode(), is_described=True).schema
                told = field(1, asked[1]) + field(2, schema.serialize().to_pybytes())
                yield wrapped("ActionCreatePreparedStatementResult", told)

        def answer(self, name: str, asked: dict[int, Any], *, is_described: bool) -> pa.Table:
            if name in {"CommandStatementQuery", "CommandPreparedStatementQuery"}:
                return self.run(asked[1].decode(), is_described=is_described)
            return named(self.told(name, asked))

        def told(self, name: str, asked: dict[int, Any]) -> pa.Table:
            if name == "CommandGetSqlInfo":
                return sql_info()
            if name == "CommandGetCatalogs":
                return self.run("SELECT DISTINCT catalog_name FROM information_schema.schemata WHERE catalog_name = "
                                "current_catalog()")  # fmt: skip
            if name == "CommandGetDbSchemas":
                return self.run(
                    "SELECT DISTINCT catalog_name, schema_name AS db_schema_name FROM information_schema.schemata "
                    "WHERE catalog_name = current_catalog() ORDER BY ALL"
                )
            if name == "CommandGetTables":
                return self.tables(asked)
            if name == "CommandGetTableTypes":
                return pa.table({"table_type": ["BASE TABLE", "VIEW"]})
            raise flight.FlightUnavailableError(f"{name} is not spoken here")

        def run(self, sql: str, *, is_described: bool = False) -> pa.Table:
            with database.cursor() as cursor:
                try:
                    found = cursor.sql(sql)
                    table = pa.table({}) if found is None else found.to_arrow_table()
                except duckdb.Error as error:
                    raise flight.FlightServerError(str(error)) from None
            return table.slice(0, 0) if is_described else table

        def tables(self, asked: dict[int, Any]) -> pa.Table:
            pattern = asked.get(3, b"%").decode()
            found = self.run(
                "SELECT table_catalog AS catalog_name, table_schema AS db_schema_name, table_name, table_type "
                f"FROM information_schema.tables WHERE table_name LIKE '{pattern}' ORDER BY ALL"
            )
            if asked.get(5):
                schemas = [
                    self.run(f'SELECT * FROM "{row["db_schema_name"]}"."{row["table_name"]}" LIMIT 0').schema
                    for row in found.to_pylist()
                ]
                packed = pa.array([schema.serialize().to_pybytes() for schema in schemas], pa.binary())
                found = found.append_column(pa.field("table_schema", pa.binary(), nullable=False), packed)
            return found

    return Server("grpc://127.0.0.1:0")


def named(table: pa.Table) -> pa.Table:
    """With the columns that are never null marked so, as the protocol wants it."""
    free = {"catalog_name", "db_schema_name"} if "table_name" in table.column_names else {"catalog_name"}
    free = free if table.num_columns > 1 else set()
    fields = [pa.field(each.name, each.type, nullable=each.name in free) for each in table.schema]
    return (
        table.cast(pa.schema(fields))
        if "value" not in table.column_names
        else pa.table(table.columns, schema=pa.schema(fields))
    )


def sql_info() -> pa.Table:
    """The one fact that is asked for: whose engine it is."""
    children = [
        pa.array(["DuckDB"]), pa.array([], pa.bool_()), pa.array([], pa.int64()), pa.array([], pa.int32()),
        pa.array([], pa.list_(pa.string())), pa.array([], pa.map_(pa.int32(), pa.list_(pa.int32()))),
    ]  # fmt: skip
    names = [
        "string_value", "bool_value", "bigint_value", "int32_bitmask", "string_list", "int32_to_int32_list_map",
    ]  # fmt: skip
    values = pa.UnionArray.from_dense(pa.array([0], pa.int8()), pa.array([0], pa.int32()), children, names)
    return pa.table([pa.array([VENDOR_NAME], pa.uint32()), values], names=["info_name", "value"])


@contextmanager
def running_flight_sql(path: Path) -> Iterator[str]:
    server = make_server(path)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.port}"
    finally:
        server.shutdown()
        thread.join(10)
