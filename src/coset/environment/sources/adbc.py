"""Databases with an ADBC driver as a source: Snowflake, BigQuery, Flight SQL, and others; rows arrive as Arrow.

In: `adbc+DRIVER://...` for any driver that is installed (`adbc+sqlite:///shop.db`, `adbc+postgresql://...`),
`grpc+tls://host:port` for Flight SQL, `snowflake://...` and `bigquery://...` where the drivers are installed; `options`
of the source are the driver's. Out: tables as the driver lists them, rows cut down to a scan by the engine, in its own
dialect (`any_sql.statements`). Read-only by the engine's own means; only SELECT is sent.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from coset.engine_messages import names_in, without_values
from coset.environment.scan import EVERYTHING, Condition, Operation, Scan
from coset.environment.source import Column, Source, SourceSettings, Table, unique_names
from coset.environment.sources.any_sql.dialects import ALL, Engine, engine_named
from coset.environment.sources.arrow_rows import check_cells, listed_columns
from coset.errors import CosetError, LimitReached, SourceUnreachable, TableVanished, UserError

if TYPE_CHECKING:
    import pyarrow as pa


_Answer = TypeVar("_Answer")
OWN_CATALOGS = {"system", "temp"}
MOST_DIGITS = 38
"""Of a DECIMAL; a larger numeric stays text."""


class ADBC(Source):
    kind: ClassVar[str] = "adbc"
    pushes: ClassVar[frozenset[Operation]] = ALL

    def __init__(self, settings: SourceSettings) -> None:
        super().__init__(settings)
        scheme = settings.location.partition("://")[0]
        self._driver = "flightsql" if scheme.startswith(("grpc", "flightsql")) else scheme.removeprefix("adbc+")
        self._engine: Engine = engine_named(self._driver)
        self.pushes = self._engine.pushes  # type: ignore[misc]
        self._places: dict[tuple[str | None, str], tuple[str | None, str | None]] = {}
        self._open: set[Any] = set()
        self._idle: list[Any] = []

    def tables(self) -> list[Table]:
        return self._ask(self._listed)

    def _listed(self, connection: Any) -> list[Table]:
        from coset.environment.sources.any_sql.statements import count_rows

        found = [
            (catalog["catalog_name"], schema["db_schema_name"], table)
            for catalog in connection.adbc_get_objects(depth="all").read_all().to_pylist()
            if (catalog["catalog_name"] or "") not in OWN_CATALOGS
            for schema in catalog["catalog_db_schemas"] or ()
            if (schema["db_schema_name"] or "").lower() not in self._engine.own_schemas
            for table in schema["db_schema_tables"] or ()
            if "system" not in table["table_type"].lower() and not table["table_name"].startswith("sqlite_")
        ]
        found.sort(key=lambda each: (each[0] or "", each[1] or "", each[2]["table_name"]))
        schemas = sorted({schema or "" for _, schema, _ in found})
        sizes = _numeric_sizes(connection) if self._engine.dialect == "postgres" else {}
        until = time.monotonic() + self.settings.limits.query_seconds * 0.2
        tables = []
        for shown in schemas:
            of_schema = [each for each in found if (each[1] or "") == shown]
            names = unique_names(each[2]["table_name"] for each in of_schema)
            for name, (catalog, schema, listed) in zip(names, of_schema, strict=True):
                own_sizes = sizes.get((schema, listed["table_name"]), {})
                exposed = shown if len(schemas) > 1 else None
                table = _described(connection, name, exposed, (catalog, schema, listed), own_sizes)
                self._places[table.schema, name] = (catalog or None, schema or None)
                if table.kind == "table" and time.monotonic() < until:
                    sql = count_rows(table, self._engine, schema=schema or None)
                    table = replace(table, rows=int(_rows(connection, sql)[0][0]), rows_exact=True)
                tables.append(table)
        return tables

    def change_token(self, table: Table) -> str | None:
        if (path := self._file()) is not None:
            from coset.environment.sources.any_sql.source import _file_state

            return _file_state(path, self.settings.name)
        if self._engine.token is None or table.kind == "view":
            return None
        from coset.environment.sources.any_sql.statements import text_literal

        _, schema = self._place(table)
        sql = self._engine.token.format(
            schema=text_literal(schema or "", self._engine), table=text_literal(table.native_name, self._engine)
        )
        found = self._ask(lambda connection: _rows(connection, sql))
        return repr(found[0]) if found else None

    def pushes_for(self, table: Table, column: str) -> frozenset[Operation]:
        from coset.environment.sources.any_sql.statements import pushed_for

        return pushed_for(table.column(column), self._engine)

    def narrows(self, table: Table, condition: Condition) -> bool:
        from coset.environment.sources.any_sql.statements import keeps_all

        return keeps_all(condition, table)

    def read(self, table: Table, scan: Scan = EVERYTHING) -> pa.RecordBatchReader:
        import pyarrow as pa

        from coset.environment.sources.any_sql.statements import statement

        _, schema = self._place(table)
        asked = statement(table, self._engine, scan, schema=schema)
        connection = self._connect()
        self._open.add(connection)
        try:
            cursor = connection.cursor()
            cursor.execute(asked.sql)
            reader = cursor.fetch_record_batch()
            arrow = pa.schema(
                [pa.field(name, field.type) for name, field in zip(asked.names, _storage(reader.schema), strict=True)]
            )
        except Exception as error:
            self._end(connection)
            raise self._explained(error, table) from None

        def batches() -> Iterator[pa.RecordBatch]:
            left, finished = self.settings.limits.query_seconds, False
            try:
                while True:
                    started = time.monotonic()
                    try:
                        batch = reader.read_next_batch()
                    except StopIteration:
                        finished = True
                        return
                    left -= time.monotonic() - started
                    if left < 0:
                        raise self._late(table)
                    arrays = [array if _is_known(array.type) else array.storage for array in batch.columns]
                    given = pa.RecordBatch.from_arrays(arrays, schema=arrow)
                    check_cells(self.settings, table, given)
                    yield given
            except CosetError:
                raise
            except Exception as error:
                raise self._explained(error, table) from None
            finally:
                with contextlib.suppress(Exception):
                    cursor.close()
                (self._keep if finished else self._end)(connection)

        return pa.RecordBatchReader.from_batches(arrow, batches())

    def interrupt(self) -> None:
        for connection in list(self._open):
            with contextlib.suppress(Exception):
                connection.adbc_cancel()

    def close(self) -> None:
        for connection in [*self._open, *self._idle]:
            self._end(connection)
        self._idle.clear()

    # Connections

    def _place(self, table: Table) -> tuple[str | None, str | None]:
        if not self._places:
            self.tables()
        return self._places.get((table.schema, table.name), (None, table.schema))

    def _file(self) -> Path | None:
        path = self.settings.location.partition("://")[2].partition("?")[0]
        return Path(path[1:]) if self._driver in {"sqlite", "duckdb"} and path.startswith("/") else None

    def _connect(self) -> Any:
        return self._idle.pop() if self._idle else self._new_connection()

    def _keep(self, connection: Any) -> None:
        """A connection whose statement came to its end is good for the next one."""
        self._open.discard(connection)
        if self._idle:
            self._end(connection)
        else:
            self._idle.append(connection)

    def _new_connection(self) -> Any:
        module = f"adbc_driver_{self._driver}"
        try:
            driver = import_module(f"{module}.dbapi")
        except ImportError:
            package = "duckdb" if self._driver == "duckdb" else module.replace("_", "-")
            raise UserError(
                f"source '{self.settings.name}': the ADBC driver '{self._driver}' is not installed; install it: "
                f"pip install {package}"
            ) from None
        try:
            connection = self._connected(driver)
        except CosetError:
            raise
        except Exception as error:
            raise SourceUnreachable(self.settings.name, f"cannot connect: {self._words(error)}") from None
        try:
            self._prepare(connection)
        except Exception as error:
            self._end(connection)
            raise SourceUnreachable(self.settings.name, f"it cannot be kept read-only: {self._words(error)}") from None
        return connection

    def _connected(self, driver: Any) -> Any:
        options, location = dict(self.settings.options), self.settings.location
        if (path := self._file()) is not None:
            if not path.exists():
                raise SourceUnreachable(self.settings.name, f"{path} does not exist")
            if self._driver == "duckdb":
                return driver.connect(
                    db_kwargs={"path": str(path), "access_mode": "read_only", **options}, autocommit=True
                )
            return driver.connect(f"file:{path}?mode=ro", autocommit=True)
        if self._driver == "bigquery":
            return driver.connect(db_kwargs=options, autocommit=True)
        uri = location.removeprefix("adbc+")
        uri = uri.partition("://")[2] if self._driver == "snowflake" else uri
        uri = uri.replace("flightsql://", "grpc+tls://", 1)
        return driver.connect(uri, db_kwargs=options, autocommit=True)

    def _prepare(self, connection: Any) -> None:
        limits = self.settings.limits
        fill = {"ms": max(1, round(limits.query_seconds * 1000)), "seconds": max(1, round(limits.query_seconds))}
        if self._driver == "flightsql" and not self._engine.dialect:
            vendor = str(connection.adbc_get_info().get("vendor_name", ""))
            self._engine = engine_named(vendor)
            self.pushes = self._engine.pushes  # type: ignore[misc]
        with connection.cursor() as cursor:
            for text in self._engine.session if self._driver != "duckdb" else ():
                cursor.execute(text.format(**fill))
        for text in self._engine.wishes:
            with contextlib.suppress(Exception), connection.cursor() as cursor:
                cursor.execute(text.format(**fill))

    def _ask(self, question: Callable[[Any], _Answer]) -> _Answer:
        connection = self._connect()
        try:
            answer = question(connection)
        except Exception as error:
            self._end(connection)
            raise self._explained(error, None) from None
        self._keep(connection)
        return answer

    def _end(self, connection: Any) -> None:
        self._open.discard(connection)
        with contextlib.suppress(Exception):
            connection.close()

    # Errors

    def _explained(self, error: Exception, table: Table | None) -> CosetError:
        from coset.environment.sources.any_sql.source import _LATE, _MISSING

        if isinstance(error, CosetError):
            return error
        words = self._words(error)
        if table is not None and _MISSING.search(words):
            return TableVanished(
                f"source '{self.settings.name}': table '{table.qualified_name}' has gone or changed; list it again"
            )
        if table is not None and _LATE.search(words):
            return self._late(table)
        what = f"table '{table.qualified_name}'" if table else "the list of tables"
        return SourceUnreachable(
            self.settings.name, f"the engine refused to read {what}: {without_values(words, names_in(table))}"
        )

    def _late(self, table: Table) -> LimitReached:
        return LimitReached(
            f"source '{self.settings.name}': reading table '{table.qualified_name}' took longer than query_seconds = "
            f"{self.settings.limits.query_seconds:g}; ask for less of it or raise the limit"
        )

    def _words(self, error: Exception) -> str:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return self.settings.redact(lines[0] if lines else type(error).__name__)[:300]


def _rows(connection: Any, sql: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return list(cursor.fetchall())


def _storage(schema: pa.Schema) -> pa.Schema:
    """What a driver marks as a value that neither Arrow nor DuckDB has a type for (a numeric, say) is text to us."""
    import pyarrow as pa

    return pa.schema(
        [
            pa.field(field.name, field.type if _is_known(field.type) else field.type.storage_type, field.nullable)
            for field in schema
        ]
    )


def _is_known(kind: pa.DataType) -> bool:
    return not hasattr(kind, "storage_type") or getattr(kind, "extension_name", "") in {"arrow.uuid", "arrow.json"}


def _numeric_sizes(connection: Any) -> dict[tuple[str | None, str], dict[str, tuple[int, int] | None]]:
    """PostgreSQL's numerics arrive as text and without their size, which its catalogue has: precision and scale by
    schema, table and column; None for one without."""
    found: dict[tuple[str | None, str], dict[str, tuple[int, int] | None]] = {}
    sql = (
        "SELECT table_schema, table_name, column_name, numeric_precision, numeric_scale "
        "FROM information_schema.columns WHERE data_type = 'numeric'"
    )
    for schema, table, column, precision, scale in _rows(connection, sql):
        size = (int(precision), int(scale)) if precision is not None else None
        found.setdefault((schema, table), {})[column] = size
    return found


def _described(
    connection: Any,
    name: str,
    exposed: str | None,
    place: tuple[str | None, str | None, Any],
    sizes: dict[str, tuple[int, int] | None],
) -> Table:
    """A table as the driver lists it, under a name and in an exposed schema."""
    catalog, schema, listed = place
    native = listed["table_name"]
    arrow = connection.adbc_get_table_schema(native, catalog_filter=catalog, db_schema_filter=schema or None)
    columns = _with_native_types(listed_columns(_storage(arrow), _remarks(listed)), listed, sizes)
    return Table(
        name, native, columns, schema=exposed, kind="view" if "view" in listed["table_type"].lower() else "table",
        primary_key=_primary_key(listed, {column.native_name: column.name for column in columns}),
    )  # fmt: skip


def _with_native_types(
    columns: tuple[Column, ...], listed: Any, sizes: Mapping[str, tuple[int, int] | None]
) -> tuple[Column, ...]:
    """The columns with the engine's own names of their types, and numerics as what they are."""
    from coset.environment.sources.any_sql.statements import UNBOUNDED

    natives = {each["column_name"]: each.get("xdbc_type_name") for each in listed["table_columns"] or ()}
    described = []
    for column in columns:
        native = natives.get(column.native_name) or column.native_type
        kind = column.type
        if column.native_name in sizes:
            size = sizes[column.native_name]
            if size is None:
                kind, native = "DOUBLE", UNBOUNDED
            elif size[0] <= MOST_DIGITS and 0 <= size[1] <= size[0]:
                kind = f"DECIMAL({size[0]},{size[1]})"
        described.append(replace(column, type=kind, native_type=native))
    return tuple(described)


def _remarks(listed: Any) -> dict[str, str]:
    return {
        column["column_name"]: column["remarks"] for column in listed["table_columns"] or () if column.get("remarks")
    }


def _primary_key(listed: Any, names: dict[str, str]) -> tuple[str, ...]:
    for constraint in listed["table_constraints"] or ():
        if constraint["constraint_type"] == "PRIMARY KEY":
            columns = tuple(names.get(name, "") for name in constraint["constraint_column_names"])
            return columns if all(columns) else ()
    return ()
