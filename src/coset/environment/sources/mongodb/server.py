"""A MongoDB server: each collection is a table, its columns learned by `documents` from what it holds.

In: a URL `mongodb://user:password@host:port/database?authSource=...` (or `mongodb+srv://`). Without a database in the
URL, every database but MongoDB's own is listed, as a schema. Out: tables, and rows as Arrow. Only commands that read
are sent: aggregate (with find's meaning), listCollections, listDatabases, hello, and what ends a cursor or session.

Columns. A collection of at most `snapshot_rows` and `snapshot_bytes` is read once, so its columns hold everything. Of
a larger one `sample_rows` random documents are read, and a last column `_rest` (JSON) takes, for each document, the
fields the sample did not have and the values whose type it did not have: they are in no column but never lost.
A view is read up to `snapshot_rows`. A collection that may not be read, or a view that fails, has `_rest` alone, and
its comment says why. A document is at most 16 MB, and so is every value: `cell_bytes` matters only when set lower, and
holds for texts and bytes.

Change is known from count and size of the collection, the number of writes the server counted on it, the file that
holds it, and the server's process (a restart sets the count to zero). Blind spots: an update by `$merge`, or one that
reaches a secondary by replication, when it changes neither count nor size; views cannot be known at all.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from coset.engine_messages import without_values
from coset.environment.scan import EVERY_OPERATION, EVERYTHING, Operation, Scan
from coset.environment.source import Column, Source, SourceSettings, Table, unique_names
from coset.environment.sources.arrow_rows import check_cells
from coset.environment.sources.mongodb.documents import Observed, columns_of, decimal_of, shape_of
from coset.environment.sources.mongodb.documents_to_arrow import DocumentsToArrow, DoesNotFit, to_arrow
from coset.environment.sources.mongodb.driver import driver_is_there
from coset.environment.sources.mongodb.pipeline import check_pushable, finish, pushable, rows_pipeline, summaries
from coset.errors import CosetError, LimitReached, MissingDependency, SourceUnreachable, TableVanished

if TYPE_CHECKING:
    import pyarrow as pa
    from bson.codec_options import CodecOptions

_SYSTEM_DATABASES = frozenset({"admin", "config", "local"})
_BATCH_DOCUMENTS = 20_000
_STATISTICS = [
    {"$collStats": {"storageStats": {}, "latencyStats": {}}},
    {
        "$project": {
            "host": 1,
            "shard": 1,
            "storageStats.count": 1,
            "storageStats.size": 1,
            "storageStats.wiredTiger.uri": 1,
            "latencyStats.writes.ops": 1,
        }
    },
]
_NOT_ALLOWED, _NO_NAMESPACE, _WRONG_PASSWORD, _PLAN_KILLED = 13, 26, 18, 175


def codec_options() -> CodecOptions[dict[str, Any]]:
    """How BSON is decoded: nothing raises that can be shown, no UUID is guessed at, dates may lie in any year."""
    from bson.binary import UuidRepresentation
    from bson.codec_options import CodecOptions, DatetimeConversion

    return CodecOptions(
        document_class=dict,
        tz_aware=False,
        uuid_representation=UuidRepresentation.UNSPECIFIED,
        unicode_decode_error_handler="replace",
        datetime_conversion=DatetimeConversion.DATETIME_AUTO,
    )


class MongoDB(Source):
    kind = "mongodb"
    pushes: ClassVar[frozenset[Operation]] = EVERY_OPERATION

    def __init__(self, settings: SourceSettings) -> None:
        super().__init__(settings)
        self._client: Any = None
        self._open_cursors: set[Any] = set()
        self._learned: dict[tuple[str, str, str], tuple[tuple[Column, ...], int | None]] = {}

    # --- the interface

    def pushes_for(self, table: Table, column: str) -> frozenset[Operation]:
        """What of `pushes` holds for this column. Not all does: a JSON column, say, can only be counted."""
        return pushable(table, table.column(column))

    def tables(self) -> list[Table]:
        with self._plain_errors():
            default = self._default_database()
            if default is not None:
                return self._tables_of(default, schema=None)
            schemas = self._databases()
            return [table for schema, name in schemas.items() for table in self._tables_of(name, schema=schema)]

    def change_token(self, table: Table) -> str | None:
        if table.kind == "view":
            return None
        with self._plain_errors(table):
            statistics = self._statistics(self._database_of(table), table.native_name)
            return self._token(statistics) if statistics else None

    def read(self, table: Table, scan: Scan = EVERYTHING) -> pa.RecordBatchReader:
        import pyarrow as pa

        check_pushable(table, scan)
        with self._plain_errors(table):
            database = self._database_of(table)
            # To read a collection that is gone is no error to MongoDB: it is empty.
            if not self._list_collections(database, filter={"name": table.native_name}, nameOnly=True):
                raise TableVanished(self._vanished(table))
        if scan.is_aggregate:
            return self._read_aggregates(table, scan)
        columns = table.columns if scan.columns is None else tuple(table.column(name) for name in scan.columns)
        convert = DocumentsToArrow(table.columns, columns)
        pipeline = rows_pipeline(table, scan, columns)

        def batches() -> Iterator[pa.RecordBatch]:
            if scan.limit == 0:
                return
            with self._plain_errors(table):
                for documents in self._documents(database, table.native_name, pipeline):
                    batch = convert.batch(documents)
                    check_cells(self.settings, table, batch)
                    yield batch

        return pa.RecordBatchReader.from_batches(convert.schema, batches())

    def close(self) -> None:
        cursors, self._open_cursors = self._open_cursors, set()
        for cursor in cursors:
            with contextlib.suppress(Exception):  # the server may be gone, and its cursors with it
                cursor.close()
        client, self._client = self._client, None
        if client is not None:
            client.close()

    # --- connecting

    def _connected(self) -> Any:
        if self._client is None:
            if not driver_is_there():
                raise MissingDependency("MongoDB", "mongodb")
            from pymongo import MongoClient
            from pymongo.errors import ConfigurationError, InvalidURI

            limits = self.settings.limits
            wait = max(int(limits.connect_seconds * 1000), 1)
            try:
                self._client = MongoClient(
                    self.settings.location,
                    connect=False,
                    serverSelectionTimeoutMS=wait,
                    connectTimeoutMS=wait,
                    # A server that hangs ends no statement itself.
                    socketTimeoutMS=int((limits.query_seconds + limits.connect_seconds) * 1000),
                    appname="coset",
                )
            except (InvalidURI, ConfigurationError, ValueError) as error:
                # The driver's words may hold a piece of a password with an odd character in it.
                reason = (
                    "the location is not a MongoDB URL such as mongodb://user:password@host:27017/database "
                    "(odd characters in a password are percent-encoded)"
                )
                if self.settings.location.startswith("mongodb+srv:") and not isinstance(error, InvalidURI):
                    reason = f"the DNS records of {self._hosts()} could not be read"
                raise SourceUnreachable(self.settings.name, reason) from None
        return self._client

    def _hosts(self) -> str:
        """The hosts of the URL, without user and password."""
        return re.split("[/?]", self.settings.location.partition("://")[2].rpartition("@")[2])[0] or "the given host"

    def _default_database(self) -> str | None:
        """The database that the URL names."""
        client = self._connected()
        from pymongo.errors import ConfigurationError

        try:
            return str(client.get_default_database().name)
        except ConfigurationError:
            return None

    def _databases(self) -> dict[str, str]:
        """Schema -> database."""
        names = sorted(set(self._connected().list_database_names()) - _SYSTEM_DATABASES)
        return dict(zip(unique_names(names), names, strict=True))

    def _database_of(self, table: Table) -> str:
        name = self._default_database() if table.schema is None else self._databases().get(table.schema)
        if name is None:
            raise TableVanished(self._vanished(table))
        return name

    def _vanished(self, table: Table) -> str:
        place = f"'{table.qualified_name}' of source '{self.settings.name}'"
        return f"table {place} is no longer there; refresh the environment"

    @contextlib.contextmanager
    def _plain_errors(self, table: Table | None = None) -> Iterator[None]:
        """Turns what the driver raises into one plain sentence."""
        if not driver_is_there():
            raise MissingDependency("MongoDB", "mongodb")
        from bson.errors import BSONError
        from pymongo import errors

        name, limits = self.settings.name, self.settings.limits
        what = f" for '{table.qualified_name}'" if table else ""
        try:
            yield
        except CosetError:
            raise
        except DoesNotFit as error:
            shown = table.qualified_name if table else ""
            text = f"table '{shown}' of source '{name}' changed after it was listed ({error}); refresh the environment"
            raise TableVanished(text) from None
        except (errors.ExecutionTimeout, errors.NetworkTimeout) as error:
            late = f"source '{name}' did not answer{what} within {limits.query_seconds:g} seconds"
            raise LimitReached(f"{late}; raise query_seconds or ask for less") from error
        except errors.ServerSelectionTimeoutError as error:
            reason = (
                "connection refused"
                if "refused" in str(error)
                else f"no answer within {limits.connect_seconds:g} seconds"
            )
            raise SourceUnreachable(name, f"no MongoDB server can be reached at {self._hosts()}: {reason}") from None
        except errors.ConnectionFailure as error:
            if "Authentication failed" in str(error):
                raise self._refused() from None
            raise SourceUnreachable(name, f"the connection to {self._hosts()} broke off{what}") from None
        except errors.OperationFailure as error:
            if error.code == _WRONG_PASSWORD:
                raise self._refused() from None
            if table is not None and error.code in {_NO_NAMESPACE, _PLAN_KILLED}:
                raise TableVanished(self._vanished(table)) from None
            if error.code == _NOT_ALLOWED:
                raise SourceUnreachable(
                    name, f"the user is not allowed to read{what.removeprefix(' for')}, or has to log in first"
                ) from None
            raise SourceUnreachable(name, f"MongoDB refused the query{what}: {self._short(error)}") from None
        except (errors.PyMongoError, BSONError) as error:
            raise SourceUnreachable(name, f"reading{what} failed: {self._short(error)}") from None

    def _refused(self) -> SourceUnreachable:
        hint = "the database that knows the user is named with ?authSource="
        reason = f"MongoDB at {self._hosts()} refused the user or password ({hint})"
        return SourceUnreachable(self.settings.name, reason)

    def _short(self, error: Exception) -> str:
        text = str(error).partition(", full error:")[0].rpartition(":: caused by :: ")[2]
        told = without_values(text.splitlines()[0], self.settings.location) if text.strip() else type(error).__name__
        return self.settings.redact(told[:300])

    # --- listing

    def _tables_of(self, database: str, schema: str | None) -> list[Table]:
        found = [one for one in self._list_collections(database) if not one["name"].startswith("system.")]
        found.sort(key=lambda one: one["name"])
        names = unique_names(one["name"] for one in found)
        tables = [self._table(database, schema, name, one) for name, one in zip(names, found, strict=True)]
        return [table for table in tables if table is not None]

    def _list_collections(self, database: str, **options: Any) -> list[dict[str, Any]]:
        client = self._connected()
        from pymongo.errors import OperationFailure

        try:
            return list(client[database].list_collections(**options))
        except OperationFailure as error:
            if error.code != _NOT_ALLOWED:
                raise
        # Who may not list a database may still list what in it is open to them.
        return list(
            self._connected()[database].list_collections(**options | {"nameOnly": True, "authorizedCollections": True})
        )

    def _table(self, database: str, schema: str | None, name: str, listed: dict[str, Any]) -> Table | None:
        from pymongo.errors import ExecutionTimeout, OperationFailure

        native, is_view = listed["name"], listed.get("type") == "view"
        described = listed.get("options", {}).get("validator", {}).get("$jsonSchema", {})
        comment = described.get("description") or described.get("title")
        rows: int | None = None
        exact = False
        size: int | None = None
        try:
            statistics = [] if is_view else self._statistics(database, native)
            counts = [one["storageStats"].get("count") for one in statistics]
            sizes = [one["storageStats"].get("size", 0) for one in statistics]
            rows = sum(counts) if counts and None not in counts else None
            size = sum(sizes) if sizes else None
            token = self._token(statistics) if statistics else None
            columns, seen = self._learn(database, native, token, rows, size, comments_of(described))
            rows, exact = (seen, True) if seen is not None else (rows, False)
        except (OperationFailure, ExecutionTimeout) as error:
            if error.code == _WRONG_PASSWORD:
                raise
            if error.code == _NO_NAMESPACE:
                return None  # dropped while we list
            columns = columns_of(Observed(), complete=False)[-1:]
            comment = f"cannot be read: {self._short(error)}"
        return Table(
            name=name,
            native_name=native,
            columns=columns,
            schema=schema,
            kind="view" if is_view else "collection",
            rows=rows,
            rows_exact=exact,
            bytes=size,
            primary_key=() if is_view else tuple(column.name for column in columns if column.native_name == "_id"),
            comment=comment,
        )

    def _learn(
        self,
        database: str,
        native: str,
        token: str | None,
        rows: int | None,
        size: int | None,
        comments: dict[str, str],
    ) -> tuple[tuple[Column, ...], int | None]:
        """The columns, and the number of documents when all were seen."""
        from pymongo.errors import ExecutionTimeout

        known = self._learned.get((database, native, token)) if token is not None else None
        if known is not None:
            return known
        limits = self.settings.limits
        complete = (rows or 0) <= limits.snapshot_rows and (size or 0) <= limits.snapshot_bytes
        # Views and time series do not tell their count: one more than allowed tells that there are more.
        pipeline = [{"$limit": limits.snapshot_rows + 1}] if complete else [{"$sample": {"size": limits.sample_rows}}]
        observed = Observed()
        try:
            for documents in self._documents(database, native, pipeline):
                observed.observe_documents(documents)
        except ExecutionTimeout:
            if not observed.documents:
                raise
            complete = False
        complete = complete and observed.documents <= limits.snapshot_rows
        learned = columns_of(observed, complete=complete, comments=comments), observed.documents if complete else None
        if token is not None:
            self._learned = {key: value for key, value in self._learned.items() if key[:2] != (database, native)}
            self._learned[database, native, token] = learned
        return learned

    # --- asking the server

    def _statistics(self, database: str, native: str) -> list[dict[str, Any]]:
        """One document, or one for each shard; none for a user who may read but not ask for statistics."""
        from pymongo.errors import OperationFailure

        options = {"maxTimeMS": int(self.settings.limits.query_seconds * 1000)}
        try:
            return list(self._connected()[database][native].aggregate(_STATISTICS, **options))
        except OperationFailure as error:
            if error.code != _NOT_ALLOWED:
                raise
            return []

    def _token(self, statistics: list[dict[str, Any]]) -> str:
        process = self._connected().admin.command("hello").get("topologyVersion", {}).get("processId")
        parts = [
            [
                one.get("shard") or one.get("host"),
                one["storageStats"].get("count"),
                one["storageStats"].get("size"),
                one["storageStats"].get("wiredTiger", {}).get("uri"),
                one.get("latencyStats", {}).get("writes", {}).get("ops"),
            ]
            for one in statistics
        ]
        return json.dumps([str(process), sorted(parts, key=str)], default=str)

    def _documents(self, database: str, native: str, pipeline: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
        """The pipeline's answer, in lists of at most 16 MB of BSON."""
        import bson

        options = codec_options()
        cursor = self._connected()[database][native].aggregate_raw_batches(
            pipeline,
            batchSize=_BATCH_DOCUMENTS,
            allowDiskUse=True,
            # A collection may have a collation of its own, under which 'a' equals 'A'.
            collation={"locale": "simple"},
            maxTimeMS=int(self.settings.limits.query_seconds * 1000),
        )
        self._open_cursors.add(cursor)
        try:
            for raw in cursor:
                yield bson.decode_all(raw, options)
            if cursor not in self._open_cursors:
                raise SourceUnreachable(self.settings.name, "was closed while it was being read")
        finally:
            self._open_cursors.discard(cursor)
            cursor.close()

    # --- aggregates

    def _read_aggregates(self, table: Table, scan: Scan) -> pa.RecordBatchReader:
        """Groups are gathered from all pipelines, by their key, before the first row is given."""
        import pyarrow as pa

        database = self._database_of(table)
        groups: dict[tuple[Any, ...], dict[str, Any]] = {} if scan.group_by else {(): {}}
        with self._plain_errors(table):
            for summary in summaries(table, scan):
                for documents in self._documents(database, table.native_name, summary.pipeline):
                    for answer in documents:
                        key = tuple((answer["_id"] or {}).values())
                        values = groups.setdefault(_hashable(key), {"": key})
                        for number, item in enumerate(summary.aggregates):
                            values[item.alias] = finish(
                                item, number, answer, table.column(item.column).type if item.column else ""
                            )
        arrays, fields = [], []
        for position, name in enumerate(scan.group_by):
            shape = shape_of(table.column(name))
            # An ObjectId that was grouped by is text already.
            text = table.column(name).type == "VARCHAR"
            values_of = [group[""][position] for group in groups.values()]
            arrays.append(pa.array(values_of, pa.string()) if text else to_arrow(shape, values_of))
            fields.append(pa.field(name, arrays[-1].type))
        for item in scan.aggregates:
            empty = 0 if item.function in {"count", "count_distinct"} else None
            column = table.column(item.column) if item.column else None
            results = [group.get(item.alias, empty) for group in groups.values()]
            arrays.append(_result_array(item.function, column, results))
            fields.append(pa.field(item.alias, arrays[-1].type))
        schema = pa.schema(fields)
        return pa.RecordBatchReader.from_batches(schema, [pa.RecordBatch.from_arrays(arrays, schema=schema)])


def comments_of(described: dict[str, Any]) -> dict[str, str]:
    """What the collection's own validator says of its fields."""
    properties = described.get("properties", {})
    return {
        key: str(field["description"])
        for key, field in properties.items()
        if isinstance(field, dict) and field.get("description")
    }


def _hashable(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """The key as one that equals itself also where it holds NaN or MongoDB's decimals."""
    return tuple(
        "NaN"
        if isinstance(value, float) and math.isnan(value)
        else (decimal_of(value) if hasattr(value, "bid") else value,)
        for value in key
    )


def _result_array(function: str, column: Column | None, results: list[Any]) -> pa.Array:
    import pyarrow as pa

    if function in {"count", "count_distinct"} or column is None:
        return pa.array(results, pa.int64())
    if function == "avg" or (function == "sum" and column.type == "DOUBLE"):
        return pa.array(results, pa.float64())
    if function == "sum":
        scale = int(column.type.rpartition(",")[2].rstrip(")")) if column.type.startswith("DECIMAL(") else 0
        return pa.array(results, pa.decimal128(38, scale))
    if column.type == "VARCHAR":
        return pa.array(results, pa.string())
    return to_arrow(shape_of(column), results)
