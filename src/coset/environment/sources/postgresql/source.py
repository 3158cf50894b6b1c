"""A PostgreSQL database, read through ADBC: rows arrive as Arrow by binary COPY, without a detour through Python.

In: a URL, `postgresql://user:password@host:port/database?sslmode=...`. Out: its tables, their rows, whole or cut down
to a scan at the server, and a token per table that tells whether it changed. Sessions are read-only.

How change is known: the server counts inserted, updated and deleted rows per table. The token is those counts (over all
partitions) with the table's file numbers and size (TRUNCATE, REFRESH and rewrites give a new file), its column
definitions, and the start of the server and of its counting, since a crash loses the counts. Blind spots:
- A session hands its counts over when its transaction ends, but no more than once a second; the last ones of a busy
  session that falls idle may take ten seconds. Until then a change shows only if the table grew. It is never missed
  for good as long as the token is taken before the rows are read.
- Renaming a value of an enum, or changing a row security policy, changes what is read without counting as a change.
- Views and foreign tables have no token, nor has any table where the server does not count (`track_counts` is off).
  On a standby, which counts nothing, the token is its place in the write-ahead log: it differs after any change
  anywhere in the server.

A value over `cell_bytes` stops the statement at the server. Where a table's large values together are too small to hold
one, the check is left out. Which type reads as what is told in `postgresql_types`, what is asked of the server in
`postgresql_statements`, what is listed in `postgresql_catalog`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar
from typing import Any as AnyValue

from coset.environment.scan import EVERY_OPERATION, EVERYTHING, All, Any, Condition, Operation, Scan
from coset.environment.source import Source, SourceSettings, Table, WrittenQuery
from coset.environment.sources.postgresql.catalog import NativeColumn, exposed_schemas, list_tables, native_columns
from coset.environment.sources.postgresql.connection import Connections, Stream, sqlstate, vanished
from coset.environment.sources.postgresql.statements import (
    COMPRESSION,
    GUARD_MARK,
    ReadColumn,
    name_text,
    relation_text,
    statement,
    string_text,
    varies_in_size,
)
from coset.environment.sources.postgresql.types import BeyondArrow, mend_infinity
from coset.errors import CosetError, LimitReached, SourceUnreachable, TableVanished

if TYPE_CHECKING:
    import pyarrow as pa

PAGE_BYTES = 32_768
"""The largest page a server can be built with: a row that is not kept apart in pieces is no larger."""

# The table with all that inherit from it (its partitions); the questions below are asked of these.
TREE = """
WITH RECURSIVE tree AS (
  SELECT c.oid FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = {schema} AND c.relname = {name} AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
  UNION
  SELECT i.inhrelid FROM tree JOIN pg_catalog.pg_inherits i ON i.inhparent = tree.oid
)
"""

EXISTS = "SELECT count(*) FROM tree"

LARGE_VALUES = """
SELECT bool_or(m.relkind IN ('v', 'f')),
  sum(CASE WHEN m.reltoastrelid = 0 THEN 0 ELSE pg_relation_size(m.reltoastrelid) END)::bigint
FROM tree JOIN pg_catalog.pg_class m USING (oid)
"""

CHANGE = """
SELECT count(*), bool_or(m.relkind IN ('v', 'f')), current_setting('track_counts') = 'on',
  CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()::text END,
  sum(pg_stat_get_tuples_inserted(m.oid) + pg_stat_get_tuples_updated(m.oid) + pg_stat_get_tuples_deleted(m.oid))::text,
  md5(string_agg(concat_ws(' ', m.oid, m.relfilenode,
    CASE WHEN m.relkind IN ('r', 'm') THEN pg_relation_size(m.oid) END), ',' ORDER BY m.oid)),
  (SELECT md5(string_agg(concat_ws(' ', a.attrelid, a.attnum, quote_ident(a.attname),
    a.atttypid, a.atttypmod, a.attcollation), ',' ORDER BY a.attrelid, a.attnum))
    FROM tree JOIN pg_catalog.pg_attribute a ON a.attrelid = tree.oid WHERE a.attnum > 0 AND NOT a.attisdropped),
  concat_ws(' ', extract(epoch FROM pg_postmaster_start_time()), extract(epoch FROM (
    SELECT pg_stat_get_db_stat_reset_time(oid) FROM pg_catalog.pg_database WHERE datname = current_database())))
FROM tree JOIN pg_catalog.pg_class m USING (oid)
"""

VIEWS = """
SELECT viewname, definition, schemaname FROM pg_catalog.pg_views
WHERE schemaname NOT IN ('pg_catalog', 'information_schema') AND definition IS NOT NULL
UNION ALL SELECT matviewname, definition, schemaname FROM pg_catalog.pg_matviews ORDER BY 3, 1
"""

LOG = """
SELECT 'statement ' || s.queryid, s.query FROM pg_stat_statements s JOIN pg_catalog.pg_database d ON d.oid = s.dbid
WHERE d.datname = current_database() AND s.query ~* '^\\s*(select|with)\\M' AND length(s.query) < 20000
ORDER BY s.calls DESC LIMIT 500
"""


class PostgreSQL(Source):
    kind: ClassVar[str] = "postgresql"
    pushes: ClassVar[frozenset[Operation]] = EVERY_OPERATION

    def __init__(self, settings: SourceSettings) -> None:
        super().__init__(settings)
        self._connections = Connections(settings)
        self._schemas: dict[str, str] | None = None

    def tables(self) -> list[Table]:
        self._schemas = exposed_schemas(self._connections.rows)
        return list_tables(self._connections.rows, relation_text, name_text)

    def change_token(self, table: Table) -> str | None:
        members, unknowable, counts, replayed, *parts = self._about(table, CHANGE)
        if not members:
            raise self._gone(table)
        if unknowable or not (counts or replayed):
            return None
        return " ".join(str(part) for part in ([replayed] if replayed else []) + parts)

    def written_queries(self) -> list[WrittenQuery]:
        found = [WrittenQuery(name, text, schema) for name, text, schema in self._connections.rows(VIEWS)]
        try:
            found += [WrittenQuery(name, text, None, "log") for name, text in self._connections.rows(LOG)]
        except CosetError:
            pass  # The log is an extension that most servers lack, or may not be read.
        return found

    def read(self, table: Table, scan: Scan = EVERYTHING) -> pa.RecordBatchReader:
        import pyarrow as pa

        columns = self._columns_now(table, _columns_of(table, scan))
        if scan.columns is None and not scan.is_aggregate:
            columns = {column.name: columns[column.name] for column in table.columns}
        schema = self._native_schema(table)
        sized = any(varies_in_size(column.listed.type) for column in columns.values())
        cell_bytes = self._cell_bytes(table) if sized else None
        sql, names = statement(scan, schema, table.native_name, columns, cell_bytes)
        stream = self._connections.stream(sql, lambda error: self._why(table, error))
        arrow = pa.schema(
            [pa.field(name, _plain(field.type)) for name, field in zip(names, stream.schema, strict=True)]
        )
        return pa.RecordBatchReader.from_batches(arrow, _Batches(self.settings, table, stream, arrow))

    def close(self) -> None:
        self._connections.close()

    def _native_schema(self, table: Table) -> str:
        if self._schemas is None or table.schema not in self._schemas:
            self._schemas = exposed_schemas(self._connections.rows)
        return self._schemas.get(table.schema or "", table.schema or "")

    def _place(self, table: Table) -> dict[str, str]:
        return {"schema": string_text(self._native_schema(table)), "name": string_text(table.native_name)}

    def _about(self, table: Table, question: str) -> tuple[AnyValue, ...]:
        """The one row that answers a question about a table and its partitions."""
        return self._connections.rows(TREE.format(**self._place(table)) + question)[0]

    def _columns_now(self, table: Table, needed: set[str]) -> dict[str, ReadColumn]:
        """The columns a scan needs, as the catalog has them at this moment."""
        place = self._place(table)
        found = native_columns(self._connections.rows, f"n.nspname = {place['schema']} AND c.relname = {place['name']}")
        if not found:
            raise self._not_readable(table)
        now: dict[str, NativeColumn] = {native.name: native for native in next(iter(found.values()))}
        columns: dict[str, ReadColumn] = {}
        for column in table.columns:
            if column.name not in needed:
                continue
            if column.native_name not in now:
                raise TableVanished(
                    f"source '{self.settings.name}': table '{table.qualified_name}' no longer has column "
                    f"'{column.native_name}'; refresh the environment"
                )
            columns[column.name] = ReadColumn(column, now[column.native_name])
            if not columns[column.name].still_reads:
                raise self._changed(table, column.native_name)
        return columns

    def _cell_bytes(self, table: Table) -> int | None:
        """The limit, or None where the table cannot hold a value of that size."""
        limit = self.settings.limits.cell_bytes
        unknown, bytes_apart = self._about(table, LARGE_VALUES)
        if unknown is None:
            raise self._gone(table)
        small = not unknown and max(bytes_apart, PAGE_BYTES) * COMPRESSION <= limit
        return None if small else limit

    def _why(self, table: Table, error: Exception) -> CosetError | None:
        """What an error of the driver means for a read of this table, where it means something in particular."""
        guard = re.search(rf"{GUARD_MARK} (\w+) ([0-9a-f]*) (\d+)", str(error))
        if guard is not None:
            what, column, size = guard[1], bytes.fromhex(guard[2]).decode(), int(guard[3])
            place = f"source '{self.settings.name}': column '{column}' of table '{table.qualified_name}'"
            if what == "cell":
                limit = self.settings.limits.cell_bytes
                return LimitReached(
                    f"{place} holds a value of {size:,} bytes, over the limit of {limit:,}; "
                    "leave the column out, or raise cell_bytes"
                )
            if what == "nested":
                return SourceUnreachable(
                    self.settings.name,
                    f"column '{column}' of table '{table.qualified_name}' holds an array of {size} dimensions but is "
                    "not declared with them; leave the column out",
                )
            return self._changed(table, column)
        if vanished(error):
            return self._gone(table)
        if sqlstate(error) == "42501":
            return SourceUnreachable(
                self.settings.name, f"the database user may not read table '{table.qualified_name}'"
            )
        return None

    def _gone(self, table: Table) -> TableVanished:
        return TableVanished(
            f"source '{self.settings.name}': table '{table.qualified_name}' is gone; refresh the environment"
        )

    def _changed(self, table: Table, column: str) -> TableVanished:
        return TableVanished(
            f"source '{self.settings.name}': column '{column}' of table '{table.qualified_name}' has another type than "
            "when it was listed; refresh the environment"
        )

    def _not_readable(self, table: Table) -> CosetError:
        """Why a table shows no columns: it is gone, or the user's right to read it is."""
        if self._about(table, EXISTS)[0]:
            return SourceUnreachable(
                self.settings.name, f"the database user may not read table '{table.qualified_name}'"
            )
        return self._gone(table)


class _Batches:
    """The batches of a stream, named as the scan names them, with infinity as DuckDB writes it."""

    def __init__(self, settings: SourceSettings, table: Table, stream: Stream, schema: pa.Schema) -> None:
        self._settings = settings
        self._table = table
        self._stream = stream
        self._schema = schema

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self

    def __next__(self) -> pa.RecordBatch:
        import pyarrow as pa

        batch = next(self._stream)
        arrays = []
        for field, array in zip(self._schema, batch.columns, strict=True):
            try:
                arrays.append(mend_infinity(array if array.type == field.type else array.storage))
            except BeyondArrow:
                self._stream.close()
                raise SourceUnreachable(
                    self._settings.name,
                    f"column '{field.name}' of table '{self._table.qualified_name}' holds a time after the year "
                    "294246, which cannot be read; leave the column out",
                ) from None
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)


def _plain(kind: pa.DataType) -> pa.DataType:
    """What the driver marks as a foreign value (numeric) is text to us."""
    import pyarrow as pa

    return kind.storage_type if isinstance(kind, pa.OpaqueType) else kind


def _columns_of(table: Table, scan: Scan) -> set[str]:
    """The names of the columns that a scan speaks of."""
    names = {order.column for order in scan.order}
    if scan.is_aggregate:
        names |= set(scan.group_by) | {item.column for item in scan.aggregates if item.column is not None}
    else:
        names |= {column.name for column in table.columns} if scan.columns is None else set(scan.columns)
    conditions: list[Condition] = [scan.where] if scan.where is not None else []
    while conditions:
        condition = conditions.pop()
        if isinstance(condition, All | Any):
            conditions.extend(condition.conditions)
        else:
            names.add(condition.column)
    return names
