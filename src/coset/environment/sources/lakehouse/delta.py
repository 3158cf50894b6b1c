"""Delta Lake tables as a source: one table, or a folder of them, on this machine or in an object store.

In: a path, or `delta+s3://bucket/table` (also gs, az, abfss); `options` of the source are the store's. Out: tables,
their rows as of the latest version, and a token per table: its id and version. Deleted rows are not read. A table
that needs what the library cannot read (deletion vectors, say) is refused with that reason. Only reads.
"""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import unquote, urlsplit

from coset.environment.scan import EVERY_OPERATION, EVERYTHING, Operation, Scan
from coset.environment.source import Source, SourceSettings, Table, unique_names
from coset.environment.sources.arrow_rows import listed_columns, scanned
from coset.environment.sources.object_store import store_options
from coset.errors import CosetError, MissingDependency, SourceUnreachable, TableVanished

if TYPE_CHECKING:
    import pyarrow as pa

OPEN_SECONDS = 2.0


class DeltaTables(Source):
    kind: ClassVar[str] = "delta"
    pushes: ClassVar[frozenset[Operation]] = EVERY_OPERATION  # DuckDB itself evaluates the scan.

    def __init__(self, settings: SourceSettings) -> None:
        super().__init__(settings)
        self._kept: dict[str, tuple[float, Any]] = {}

    def tables(self) -> list[Table]:
        places = self._places()
        names = unique_names(self._name(place) for place in places)
        tables = []
        for name, place in zip(names, places, strict=True):
            opened = self._open(place)
            rows = self._dataset(opened, place)
            try:
                number = rows.count_rows()
            except Exception as error:
                raise self._explained(error, name) from None
            comments = {
                field.name: str(said)
                for field in opened.schema().fields
                if (said := (field.metadata or {}).get("comment"))
            }
            table = Table(
                name, place, listed_columns(rows.schema, comments), rows=number, rows_exact=True,
                bytes=self._bytes(opened), comment=opened.metadata().description or None,
            )  # fmt: skip
            tables.append(table)
        return tables

    def change_token(self, table: Table) -> str | None:
        self._kept.pop(table.native_name, None)  # its version is asked anew
        opened = self._open(table.native_name)
        return f"{opened.metadata().id}-{opened.version()}"

    def read(self, table: Table, scan: Scan = EVERYTHING) -> pa.RecordBatchReader:
        rows = self._dataset(self._open(table.native_name), table.native_name)
        missing = {column.native_name for column in table.columns} - set(rows.schema.names)
        if missing:
            raise TableVanished(
                f"source '{self.settings.name}': table '{table.name}' no longer has column '{min(missing)}'"
            )
        return scanned(self.settings, table, rows, scan, lambda error: self._explained(error, table.name))

    def _base(self) -> str:
        return self.settings.location.removeprefix("delta+")

    def _places(self) -> list[str]:
        base = self._base()
        if "://" in base:
            return [base]
        path = Path(base)
        if (path / "_delta_log").is_dir() or not path.is_dir():
            return [base]
        inside = sorted(str(each) for each in path.iterdir() if (each / "_delta_log").is_dir())
        return inside or [base]

    def _name(self, place: str) -> str:
        return place.rstrip("/").rpartition("/")[2] or "table"

    def _open(self, place: str) -> Any:
        """The table as of now; one that was opened a moment ago is as of now."""
        opened, table = self._kept.get(place, (-OPEN_SECONDS, None))
        if table is None or time.monotonic() - opened > OPEN_SECONDS:
            table = self._opened(place)
            self._kept[place] = (time.monotonic(), table)
        return table

    def _opened(self, place: str) -> Any:
        try:
            from deltalake import DeltaTable
            from deltalake.exceptions import TableNotFoundError
        except ImportError:
            raise MissingDependency("Delta Lake", "delta") from None
        if "://" not in place and not Path(place).exists():
            raise TableVanished(f"source '{self.settings.name}': there is no Delta table at {place}")
        try:
            return DeltaTable(place, storage_options=store_options(place, self.settings))
        except TableNotFoundError:
            raise self._no_table(place) from None
        except Exception as error:
            raise self._explained(error, place) from None

    def _no_table(self, place: str) -> CosetError:
        known = place in {self._base(), *([] if "://" in self._base() else self._places())}
        words = f"there is no Delta table at {place}: a Delta table is a folder with a _delta_log"
        if known:
            return SourceUnreachable(self.settings.name, words)
        return TableVanished(f"source '{self.settings.name}': {words}")

    def _dataset(self, opened: Any, place: str) -> Any:
        if "://" not in place:
            self._within(place, [*map(_plain_path, opened.file_uris()), str(Path(place) / "_delta_log")])
        try:
            return opened.to_pyarrow_dataset()
        except Exception as error:
            raise self._explained(error, self._name(place)) from None

    def _within(self, place: str, files: list[str]) -> None:
        """Links do not lead out of the table's folder."""
        folder = Path(os.path.realpath(place))
        for file in files:
            if not Path(os.path.realpath(file)).is_relative_to(folder):
                raise SourceUnreachable(
                    self.settings.name,
                    f"the Delta table '{self._name(place)}' has a link that leads out of its folder, which is not read",
                )

    def _bytes(self, opened: Any) -> int | None:
        try:
            import pyarrow as pa

            return int(sum(pa.table(opened.get_add_actions()).column("size_bytes").to_pylist()))
        except Exception:
            return None  # a size is of use, but nothing depends on it

    def _explained(self, error: Exception, what: str) -> CosetError:
        if isinstance(error, CosetError):
            return error
        words = self.settings.redact(" ".join(re.sub(r"\x1b\[\d*m", "", str(error)).split()))
        if "NoSuchBucket" in words or ("list request" in words and "404" in words):
            return SourceUnreachable(self.settings.name, f"there is no such bucket: {self._base()}")
        if any(sign in words for sign in ("403", "401", "AccessDenied")):
            return SourceUnreachable(self.settings.name, f"{self._base()} may not be read with these credentials")
        words = words[:200] if not isinstance(error, FileNotFoundError) else "a file that its log names is missing"
        return SourceUnreachable(self.settings.name, f"the Delta table '{what}' cannot be read: {words}")


def _plain_path(uri: str) -> str:
    return unquote(urlsplit(uri).path) if uri.startswith("file://") else uri
