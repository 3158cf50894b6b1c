"""The process that runs SQL. It parses, plans and runs statements for the session, and can do nothing else.

In: frames on standard input (`parse`, `plan`, `run`, `release`). Out: frames on standard output. It holds no secret and
no connection to a source: it sees DuckDB files attached read-only, Parquet snapshots, and files the session names.
Before any statement runs, external access is off and the configuration is locked; the operating system confines the
process on top (`confinement.py`). Time is the session's to keep: it kills this process when it is up.
"""

from __future__ import annotations

import io
import json
import os
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

from coset.session.confinement import confine, end_with_parent
from coset.sql_text import identifier, literal, qualified

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


_LENGTHS = struct.Struct("<IQ")


def encode(head: dict[str, Any], payload: bytes = b"") -> bytes:
    text = json.dumps(head).encode()
    return _LENGTHS.pack(len(text), len(payload)) + text + payload


def decode(read_exactly: Callable[[int], bytes]) -> tuple[dict[str, Any], bytes]:
    """One frame. `read_exactly` raises EOFError when the other side is gone."""
    head_length, payload_length = _LENGTHS.unpack(read_exactly(_LENGTHS.size))
    head = json.loads(read_exactly(head_length))
    return head, read_exactly(payload_length) if payload_length else b""


# Optimisations that look at the data (the planner's tables are empty) or that hide filters from us.
PLANNER_LEAVES_OUT = (
    "statistics_propagation", "empty_result_pullup", "join_filter_pushdown", "late_materialization",
    "common_subplan", "top_n", "compressed_materialization", "in_clause",
)  # fmt: skip
BATCH_ROWS = 2048


def main() -> None:
    """Entry point: `python -m coset.session.worker MEMORY_BYTES THREADS`."""
    memory, threads = int(sys.argv[1]), int(sys.argv[2])
    # Frames go to a private copy of standard output, so that nothing printed by a library can garble them.
    output = os.fdopen(os.dup(1), "wb")
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    confine(memory_bytes=memory + 3 * 2**30)  # DuckDB's own limit is `memory`; the rest is libraries and stacks.
    end_with_parent()
    worker = Worker(memory, threads)
    serve(worker, sys.stdin.buffer, output)


def serve(worker: Worker, source: BinaryIO, output: BinaryIO) -> None:
    def read_exactly(count: int) -> bytes:
        data = source.read(count)
        if len(data) < count:
            raise EOFError
        return data

    while True:
        try:
            head, _ = decode(read_exactly)
        except EOFError:
            return
        try:
            answer, payload = worker.answer(head)
        except Exception as error:
            answer, payload = {"error": type(error).__name__, "message": str(error)}, b""
        output.write(encode(answer, payload))
        output.flush()


@dataclass
class Instance:
    """A DuckDB of its own: what is attached to it and which files it may read is fixed before its first statement."""

    connection: duckdb.DuckDBPyConnection
    catalogs: set[str] = field(default_factory=set)
    schemas: set[tuple[str, str]] = field(default_factory=set)
    relations: dict[tuple[str, str, str], str] = field(default_factory=dict)


class Worker:
    """Answers requests one at a time."""

    def __init__(self, memory: int, threads: int) -> None:
        import duckdb
        import pyarrow  # noqa: F401 - loaded now, so that the first statement does not pay for it

        self._duckdb = duckdb
        self._memory, self._threads = memory, threads
        self._parser = self._open((), ())
        self._planner: Instance | None = None
        self._runner: tuple[str, Instance] | None = None

    def answer(self, head: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        operation = head["operation"]
        if operation == "parse":
            return self._parse(head["sql"]), b""
        if operation == "unparse":
            return self._unparse(head["tree"]), b""
        if operation == "plan":
            return self._plan(head), b""
        if operation == "run":
            return self._run(head)
        self._release()
        return {}, b""

    def _open(
        self, attach: tuple[tuple[str, str], ...], files: tuple[str, ...], folders: tuple[str, ...] = ()
    ) -> Instance:
        connection = self._duckdb.connect(
            ":memory:",
            config={
                "memory_limit": f"{self._memory}B",
                "threads": str(self._threads),
                "temp_directory": "",
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
                "allow_community_extensions": "false",
                "python_enable_replacements": "false",
            },
        )
        for name, path in attach:
            connection.execute(f"ATTACH {literal(path)} AS {identifier(name)} (READ_ONLY, TYPE duckdb)")
        if files:
            connection.execute(f"SET allowed_paths = [{', '.join(map(literal, files))}]")
        if folders:
            connection.execute(f"SET allowed_directories = [{', '.join(map(literal, folders))}]")
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("SET enable_external_access = false")
        return Instance(connection)

    def _parse(self, sql: str) -> dict[str, Any]:
        rows = self._parser.connection.execute("SELECT json_serialize_sql($1)", [sql]).fetchall()
        return {"tree": rows[0][0]}

    def _unparse(self, tree: str) -> dict[str, Any]:
        rows = self._parser.connection.execute("SELECT json_deserialize_sql($1::JSON)", [tree]).fetchall()
        return {"sql": rows[0][0]}

    def _release(self) -> None:
        if self._runner:
            self._runner[1].connection.close()
            self._runner = None

    def _plan(self, head: dict[str, Any]) -> dict[str, Any]:
        """Bind a statement against empty tables and tell what it would read of each: columns and filters."""
        if self._planner is None:
            self._planner = self._open((), ())
            self._planner.connection.execute(f"SET disabled_optimizers = '{','.join(PLANNER_LEAVES_OUT)}'")
            self._planner.connection.execute("SET lock_configuration = true")
        instance = self._planner
        for number, relation in enumerate(head["relations"]):
            catalog, schema, name = relation["name"]
            columns = relation["columns"]
            stored = ", ".join(f"c{index} {column['type']}" for index, column in enumerate(columns))
            shown = ", ".join(f"c{index} AS {identifier(column['name'])}" for index, column in enumerate(columns))
            self._schema(instance, catalog, schema)
            self._schema(instance, "planned", "main")
            instance.connection.execute(f"CREATE OR REPLACE TABLE planned.main.t{number} ({stored})")
            instance.connection.execute(
                f"CREATE OR REPLACE VIEW {identifier(catalog)}.{identifier(schema)}.{identifier(name)} AS "
                f"SELECT {shown} FROM planned.main.t{number}"
            )
        described = instance.connection.execute(f"DESCRIBE {head['sql']}").fetchall()
        planned = "SELECT json_serialize_plan($1, optimize := true)"
        rows = instance.connection.execute(planned, [head["sql"]]).fetchall()
        return {"columns": [[row[0], row[1]] for row in described], "plan": rows[0][0]}

    def _run(self, head: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        instance = self._prepared(head)
        for relation in head["relations"]:
            self._define(instance, relation)
        cursor = instance.connection.cursor()
        try:
            return self._fetched(cursor, head)
        finally:
            cursor.close()

    def _prepared(self, head: dict[str, Any]) -> Instance:
        """The instance that has these files attached and allowed; another one is closed first, so no lock lingers."""
        attach = tuple((name, path) for name, path in head["attach"])
        key = json.dumps([attach, head["files"], head["folders"], head["stamp"]])
        if self._runner and self._runner[0] == key:
            return self._runner[1]
        self._release()
        instance = self._open(attach, tuple(head["files"]), tuple(head["folders"]))
        instance.connection.execute("SET lock_configuration = true")
        self._runner = (key, instance)
        return instance

    def _define(self, instance: Instance, relation: dict[str, Any]) -> None:
        catalog, schema, name = relation["name"]
        if instance.relations.get((catalog, schema, name)) == relation["query"]:
            return
        self._schema(instance, catalog, schema)
        instance.connection.execute(
            f"CREATE OR REPLACE VIEW {qualified((catalog, schema, name))} AS {relation['query']}"
        )
        instance.relations[catalog, schema, name] = relation["query"]

    def _schema(self, instance: Instance, catalog: str, schema: str) -> None:
        if catalog not in instance.catalogs:
            instance.connection.execute(f"ATTACH ':memory:' AS {identifier(catalog)}")
            instance.catalogs.add(catalog)
        if schema != "main" and (catalog, schema) not in instance.schemas:
            instance.connection.execute(f"CREATE SCHEMA IF NOT EXISTS {identifier(catalog)}.{identifier(schema)}")
            instance.schemas.add((catalog, schema))

    def _fetched(self, cursor: duckdb.DuckDBPyConnection, head: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        import pyarrow as pa

        max_rows, max_bytes = head["max_rows"], head["max_bytes"]
        relation = cursor.sql(head["sql"])
        types = [str(kind) for kind in relation.types]
        reader = relation.to_arrow_reader(BATCH_ROWS)
        batches: list[pa.RecordBatch] = []
        rows, size, truncated = 0, 0, False
        for batch in reader:
            room = max_rows - rows
            if batch.num_rows > room:
                batch, truncated = batch.slice(0, room), True
            kept = _within(batch, max_bytes - size)
            truncated = truncated or kept.num_rows < batch.num_rows
            if kept.num_rows == 0 and batch.num_rows and rows == 0:
                raise MemoryError(f"one row of the result is larger than the limit of {max_bytes:,} bytes")
            batches.append(kept)
            rows, size = rows + kept.num_rows, size + kept.nbytes
            if truncated:
                break
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, reader.schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
        return {"rows": rows, "truncated": truncated, "types": types}, sink.getvalue()


def _within(batch: pa.RecordBatch, room: int) -> pa.RecordBatch:
    """The first rows of a batch that fit into `room` bytes."""
    if batch.nbytes <= room:
        return batch
    low, high = 0, batch.num_rows
    while low < high:
        middle = (low + high + 1) // 2
        if batch.slice(0, middle).nbytes <= room:
            low = middle
        else:
            high = middle - 1
    return batch.slice(0, low)


if __name__ == "__main__":
    main()
