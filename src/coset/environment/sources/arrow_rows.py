"""Rows that a library hands over as Arrow, cut down to a scan by DuckDB in this process.

In: an Arrow dataset or stream with a table's columns, and a `Scan`. Out: what the scan asks for. DuckDB moves columns
and filters into a dataset, which leaves out files and row groups by their statistics; it evaluates the rest itself, so
the answer is exactly its own. The connection reaches no file and no network. Knows no format.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from coset.environment.scan import Scan, scan_to_sql
from coset.environment.source import Column, SourceSettings, Table, unique_names
from coset.errors import CosetError, LimitReached

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

BATCH_ROWS = 32_768
Explain = Callable[[Exception], CosetError]


@functools.cache
def _database() -> duckdb.DuckDBPyConnection:
    """The one database of this process that evaluates scans: starting one takes longer than reading a small table."""
    import duckdb

    made = duckdb.connect(":memory:", config={"python_enable_replacements": "false"})
    made.execute("SET enable_external_access = false")
    return made


def listed_columns(schema: pa.Schema, comments: Mapping[str, str] | None = None) -> tuple[Column, ...]:
    """The columns of an Arrow schema, with the types that DuckDB reads them as."""
    with _database().cursor() as connection:
        types = [str(kind) for kind in connection.from_arrow(_plain(schema).empty_table()).types]
    names = unique_names(schema.names)
    return tuple(
        Column(name, kind, field.name, str(field.type), field.nullable, (comments or {}).get(field.name))
        for name, kind, field in zip(names, types, schema, strict=True)
    )


def _plain(schema: pa.Schema) -> pa.Schema:
    """The same with every column under a name of its own, since DuckDB ignores case."""
    import pyarrow as pa

    return pa.schema([pa.field(f"c{place}", field.type) for place, field in enumerate(schema)])


def scanned(settings: SourceSettings, table: Table, rows: Any, scan: Scan, explain: Explain) -> pa.RecordBatchReader:
    """What `scan` asks for of `rows`, which have the native names of the table's columns."""
    import pyarrow as pa
    import sqlglot.expressions as sge

    connection = _database().cursor()
    connection.execute("SET TimeZone = 'UTC'; SET enable_progress_bar = false")
    natives = {column.name: column.native_name for column in table.columns}
    sql = scan_to_sql(
        scan, sge.to_table("source_rows"), "duckdb", lambda name: sge.column(natives[name], quoted=True),
        all_columns=tuple(natives),
    )  # fmt: skip
    try:
        connection.register("source_rows", rows)
        reader = connection.sql(sql).to_arrow_reader(BATCH_ROWS)
    except Exception as error:
        connection.close()
        raise explain(error) from None
    return pa.RecordBatchReader.from_batches(reader.schema, _batches(settings, table, reader, connection, explain))


def _batches(
    settings: SourceSettings, table: Table, reader: Any, connection: Any, explain: Explain
) -> Iterator[pa.RecordBatch]:
    left = settings.limits.query_seconds
    try:
        while True:
            started = time.monotonic()
            try:
                batch = reader.read_next_batch()
            except StopIteration:
                return
            except Exception as error:
                raise explain(error) from None
            left -= time.monotonic() - started
            if left < 0:
                raise LimitReached(
                    f"source '{settings.name}': reading table '{table.qualified_name}' took longer than query_seconds "
                    f"= {settings.limits.query_seconds:g}; ask for less of it or raise the limit"
                )
            check_cells(settings, table, batch)
            yield batch
    finally:
        connection.close()


def check_cells(settings: SourceSettings, table: Table, batch: pa.RecordBatch) -> None:
    """Refuse a value above `cell_bytes`."""
    import pyarrow as pa

    limit = settings.limits.cell_bytes
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        kind = column.type
        if column.nbytes <= limit or not (
            pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind)
        ):
            continue
        import pyarrow.compute as pc

        longest = pc.max(pc.binary_length(column)).as_py() or 0
        if longest > limit:
            raise LimitReached(
                f"source '{settings.name}': a value of column '{name}' in table '{table.qualified_name}' has "
                f"{longest:,} bytes, more than cell_bytes = {limit:,}; leave the column out or raise the limit"
            )
