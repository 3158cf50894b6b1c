"""Apache Iceberg tables as a source: a table by its metadata, a folder of tables, or a catalog (SQL or REST).

In: a table's folder or metadata file, a folder of tables, a SQLite file that is a catalog; `iceberg+s3://bucket/table`;
`iceberg+postgresql+psycopg://...` (SQL catalog) or `iceberg+https://...` (REST catalog). `options` are the store's and
the catalog's, `catalog` its name. Out: tables, rows of the current snapshot with deletes applied, a token per table:
its identity and snapshot. A catalog is never initialised, nothing is written.
"""

from __future__ import annotations

import os
import re
import sqlite3
import time
import zlib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast
from urllib.parse import unquote, urlsplit

from coset.environment.scan import (
    EVERY_OPERATION,
    EVERYTHING,
    All,
    Among,
    Comparison,
    Condition,
    Null,
    Operation,
    Scan,
    parts_of,
)
from coset.environment.scan import Any as AnyOf
from coset.environment.source import Source, SourceSettings, Table, unique_names
from coset.environment.sources.arrow_rows import listed_columns, scanned
from coset.environment.sources.object_store import iceberg_properties, store_options
from coset.errors import CosetError, MissingDependency, SourceUnreachable, TableVanished, UserError

if TYPE_CHECKING:
    import pyarrow as pa

OPEN_SECONDS = 2.0
MOST_METADATA = 256_000_000


class IcebergTables(Source):
    kind: ClassVar[str] = "iceberg"
    pushes: ClassVar[frozenset[Operation]] = EVERY_OPERATION  # pyiceberg leaves files out, DuckDB evaluates the scan.

    def __init__(self, settings: SourceSettings) -> None:
        super().__init__(settings)
        self._kept: dict[str, tuple[float, Any]] = {}
        self._of_catalog: tuple[Any] | None = None

    def tables(self) -> list[Table]:
        found = list(self._all())
        if not found:
            raise SourceUnreachable(self.settings.name, f"there is no Iceberg table at {self._place()}")
        schemas = {schema for schema, _, _ in found}
        tables = []
        for schema in sorted(schemas):
            of_schema = [(name, native) for each, name, native in found if each == schema]
            for name, (_, native) in zip(unique_names(name for name, _ in of_schema), of_schema, strict=True):
                tables.append(self._listed(schema if len(schemas) > 1 else None, name, native))
        return tables

    def _listed(self, schema: str | None, name: str, native: str) -> Table:
        opened = self._open(native)
        arrow = opened.schema().as_arrow()
        comments = {field.name: field.doc for field in opened.schema().fields if field.doc}
        snapshot = opened.current_snapshot()
        summary = snapshot.summary.additional_properties if snapshot and snapshot.summary else {}
        rows = int(summary.get("total-records", 0))
        exact = not int(summary.get("total-delete-files", 0))
        keys = tuple(opened.schema().identifier_field_names())
        return Table(
            name, native, listed_columns(arrow, comments), schema=schema, rows=rows, rows_exact=exact,
            bytes=int(summary["total-files-size"]) if "total-files-size" in summary else None,
            comment=opened.properties.get("comment"), primary_key=tuple(sorted(keys)),
        )  # fmt: skip

    def change_token(self, table: Table) -> str | None:
        self._kept.pop(table.native_name, None)  # its snapshot is asked anew
        opened = self._open(table.native_name)
        snapshot = opened.current_snapshot()
        rows = snapshot.snapshot_id if snapshot else "empty"
        return f"{opened.metadata.table_uuid}-{rows}-{opened.metadata.current_schema_id}"

    def read(self, table: Table, scan: Scan = EVERYTHING) -> pa.RecordBatchReader:
        opened = self._open(table.native_name)
        present = {field.name for field in opened.schema().fields}
        missing = {column.native_name for column in table.columns} - present
        if missing:
            raise TableVanished(
                f"source '{self.settings.name}': table '{table.name}' no longer has column '{min(missing)}'"
            )
        natives = {column.name: column.native_name for column in table.columns}
        wanted = [column.native_name for column in table.columns if column.name in _needed(table, scan)]
        try:
            chosen = opened.scan(row_filter=_filter(scan.where, natives), selected_fields=tuple(wanted or ["*"]))
            rows = chosen.to_arrow_batch_reader()
        except Exception as error:
            raise self._explained(error, table.name) from None
        return scanned(self.settings, table, rows, scan, lambda error: self._explained(error, table.name))

    # Where tables lie

    def _base(self) -> str:
        return self.settings.location.removeprefix("iceberg+")

    def _place(self) -> str:
        return self.settings.redact(self._base().rpartition("@")[2])

    def _catalog(self) -> Any:
        """The catalog that the location names, or None where it names tables themselves."""
        if self._of_catalog is None:
            self._of_catalog = (self._open_catalog(),)
        return self._of_catalog[0]

    def _open_catalog(self) -> Any:
        base = self._base()
        is_store = re.match(r"(s3a?|gs|gcs|az|abfss?|file)://", base)
        if is_store or ("://" not in base and not _is_sqlite(Path(base))):
            return None
        try:
            from pyiceberg.catalog.rest import RestCatalog
            from pyiceberg.catalog.sql import SqlCatalog
        except ImportError:
            raise MissingDependency("Apache Iceberg", "iceberg") from None
        properties = iceberg_properties(self.settings)
        try:
            if base.startswith(("http://", "https://")):
                return _trusting_no_table(
                    RestCatalog(self.settings.options.get("catalog", "coset"), uri=base, **properties), vends=True
                )
            uri = base if "://" in base else f"sqlite:///{base}"
            name = self.settings.options.get("catalog") or _catalog_name(base)
            return _trusting_no_table(SqlCatalog(name, uri=uri, init_catalog_tables="false", **properties), vends=False)
        except Exception as error:
            raise self._explained(error, "the catalog") from None

    def _all(self) -> Iterator[tuple[str, str, str]]:
        """Schema, name and native name of each table."""
        catalog = self._catalog()
        if catalog is not None:
            try:
                for namespace in catalog.list_namespaces():
                    for identifier in catalog.list_tables(namespace):
                        yield ".".join(identifier[:-1]), identifier[-1], ".".join(identifier)
            except Exception as error:
                raise self._explained(error, "the catalog") from None
            return
        base = self._base()
        if "://" in base or base.endswith(".metadata.json") or any((Path(base) / "metadata").glob("*.metadata.json")):
            name = re.sub(r"/metadata/[^/]*$", "", base.rstrip("/")).rpartition("/")[2]
            yield "", name, base
            return
        if not Path(base).is_dir():
            raise SourceUnreachable(self.settings.name, f"there is no Iceberg table at {base}")
        for each in sorted(Path(base).iterdir()):
            if any((each / "metadata").glob("*.metadata.json")):
                yield "", each.name, str(each)

    def _open(self, native: str) -> Any:
        """The table as of now; one that was opened a moment ago is as of now."""
        opened, table = self._kept.get(native, (-OPEN_SECONDS, None))
        if table is None or time.monotonic() - opened > OPEN_SECONDS:
            table = self._opened(native)
            self._kept[native] = (time.monotonic(), table)
        return table

    def _opened(self, native: str) -> Any:
        try:
            from pyiceberg.exceptions import NoSuchTableError
        except ImportError:
            raise MissingDependency("Apache Iceberg", "iceberg") from None
        try:
            catalog, properties = self._catalog(), iceberg_properties(self.settings)
            if catalog is not None:
                table = catalog.load_table(native)
                table.io = _OwnFiles(table.io, table.metadata_location, any_bucket=True)
                return table
            return _table_of(self._metadata_of(native), properties)
        except NoSuchTableError:
            raise TableVanished(f"source '{self.settings.name}': table '{native}' is gone from the catalog") from None
        except Exception as error:
            raise self._explained(error, native.rstrip("/").rpartition("/")[2]) from None

    def _metadata_of(self, native: str) -> str:
        """The latest metadata file of a table."""
        if native.endswith(".metadata.json"):
            return native
        if "://" in native:
            names = self._names_in_store(native)
        else:
            names = [str(path) for path in (Path(native) / "metadata").glob("*.metadata.json")]
        if not names:
            raise TableVanished(f"source '{self.settings.name}': there is no Iceberg table at {native}")
        return max(names, key=_metadata_number)

    def _names_in_store(self, native: str) -> list[str]:
        try:
            import obstore
            from obstore.store import from_url
        except ImportError:
            raise MissingDependency("an Iceberg table in an object store", "object_store") from None
        scheme, _, rest = native.partition("://")
        bucket, _, prefix = rest.partition("/")
        options: dict[str, Any] = dict(store_options(native, self.settings))
        client = {"allow_http": True} if options.pop("allow_http", None) else {}
        store = cast(Any, from_url)(f"{scheme}://{bucket}", client_options=client, **options)
        listed = [
            each["path"] for batch in obstore.list(store, prefix=f"{prefix.strip('/')}/metadata") for each in batch
        ]
        return [f"{scheme}://{bucket}/{path}" for path in listed if path.endswith(".metadata.json")]

    def _explained(self, error: Exception, what: str) -> CosetError:
        if isinstance(error, UserError):
            return SourceUnreachable(self.settings.name, f"the Iceberg table '{what}' cannot be read: {error}")
        if isinstance(error, CosetError):
            return error
        words = self.settings.redact(" ".join(str(error).split()))[:200] or type(error).__name__
        if any(sign in words for sign in ("validation error", "JSON", "Expecting")):
            words = "its metadata is broken"
        if isinstance(error, FileNotFoundError):
            words = "a file that its metadata names is missing"
        return SourceUnreachable(self.settings.name, f"the Iceberg table '{what}' cannot be read: {words}")


def _trusting_no_table(catalog: Any, *, vends: bool) -> Any:
    """A catalog whose tables cannot say by which class of Python, from which server and as whom their files are read.
    `vends`: the catalog itself gives credentials for each table."""
    from pyiceberg.io import PY_IO_IMPL, load_file_io

    def load(properties: Any = None, location: str | None = None) -> Any:
        said = {key: value for key, value in (properties or {}).items() if vends and key != PY_IO_IMPL}
        return load_file_io({**catalog.properties, **said}, location)

    catalog._load_file_io = load
    return catalog


def _table_of(place: str, properties: dict[str, str]) -> Any:
    """The table of a metadata file. pyiceberg's own way takes from the file by which class of Python, from which server
    and as whom the table is read, and unpacks without end."""
    from pyiceberg.catalog.noop import NoopCatalog
    from pyiceberg.io import load_file_io
    from pyiceberg.table import StaticTable
    from pyiceberg.table.metadata import TableMetadataUtil

    files = load_file_io(properties, place)
    with files.new_input(place).open() as file:
        packed = file.read(MOST_METADATA + 1)
    if place.endswith(".gz.metadata.json") and len(packed) <= MOST_METADATA:
        packed = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(packed, MOST_METADATA + 1)
    if len(packed) > MOST_METADATA:
        raise UserError(f"its metadata has more than {MOST_METADATA:,} bytes")
    return StaticTable(
        ("static-table", place), TableMetadataUtil.parse_raw(packed.decode()), place,
        cast(Any, _OwnFiles(files, place, any_bucket=False)), NoopCatalog("static-table"),
    )  # fmt: skip


class _OwnFiles:
    """The files of one table and no others: its metadata names them, and may name any file of this machine."""

    def __init__(self, files: Any, metadata: str, *, any_bucket: bool) -> None:
        self._files, self._any_bucket = files, any_bucket
        place = urlsplit(metadata)
        self._is_local = place.scheme in _LOCAL
        self._store = place.scheme, place.netloc
        folder = Path(os.path.realpath(unquote(place.path) if place.scheme else metadata)).parent
        self._folder = folder.parent if folder.name == "metadata" else folder

    def new_input(self, location: str) -> Any:
        place = urlsplit(location)
        if place.scheme in _LOCAL:
            file = Path(os.path.realpath(unquote(place.path) if place.scheme else location))
            if not self._is_local or not file.is_relative_to(self._folder):
                raise UserError("its metadata names a file outside the table's folder, which is not read")
        elif not self._any_bucket and (place.scheme, place.netloc) != self._store:
            raise UserError("its metadata names a file in another bucket, which is not read: name a catalog instead")
        return self._files.new_input(location)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)


_LOCAL = ("", "file")


def _metadata_number(path: str) -> tuple[int, str]:
    """`00003-<uuid>.metadata.json` and `v3.metadata.json` are both the third."""
    found = re.search(r"v?(\d+)[^/]*\.metadata\.json$", path.rpartition("/")[2])
    return int(found[1]) if found else -1, path


def _is_sqlite(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(16) == b"SQLite format 3\x00"
    except OSError:
        return False


def _catalog_name(base: str) -> str:
    """The one catalog that a SQLite file holds."""
    if "://" in base:
        return "default"
    with sqlite3.connect(f"file:{base}?mode=ro", uri=True) as connection:
        row = connection.execute("SELECT catalog_name FROM iceberg_tables LIMIT 1").fetchone()
    return str(row[0]) if row else "default"


def _needed(table: Table, scan: Scan) -> set[str]:
    if not scan.is_aggregate and scan.columns is None:
        return {column.name for column in table.columns}
    names = {*(scan.columns or ()), *scan.group_by, *(order.column for order in scan.order)}
    names |= {item.column for item in scan.aggregates if item.column}
    stack: list[Condition] = [scan.where] if scan.where else []
    while stack:
        condition = stack.pop()
        if isinstance(condition, All | AnyOf):
            stack.extend(condition.conditions)
        else:
            names.add(condition.column)
    return names or {table.columns[0].name}


def _filter(where: Condition | None, natives: dict[str, str]) -> Any:
    """What of a condition pyiceberg can leave files and rows out by; never more than the condition itself does."""
    # As Any: the arguments by place that its classes take are not in their types.
    ice: Any = import_module("pyiceberg.expressions")
    kept: Any = ice.AlwaysTrue()
    operators = {
        "=": ice.EqualTo, "<": ice.LessThan, "<=": ice.LessThanOrEqual, ">": ice.GreaterThan,
        ">=": ice.GreaterThanOrEqual,
    }  # fmt: skip
    for part in parts_of(where):
        # Only numbers without a fraction and texts: these mean the same in every library.
        if isinstance(part, Comparison) and part.operator in operators and type(part.value) in {int, str}:
            kept = ice.And(kept, operators[part.operator](natives[part.column], part.value))
        elif isinstance(part, Among) and all(type(value) in {int, str} for value in part.values):
            kept = ice.And(kept, ice.In(natives[part.column], list(part.values)))
        elif isinstance(part, Null):
            kept = ice.And(kept, (ice.NotNull if part.negated else ice.IsNull)(natives[part.column]))
    return kept
