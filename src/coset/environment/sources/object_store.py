"""Files in an object store, or one file behind HTTPS, as a source: what the kind `files` reads, from elsewhere.

In: `s3://bucket/prefix` (also gs, az, abfss) or `https://host/file.csv`; `options` of the source are the store's. Out:
tables as the kind `files` makes them. Objects are listed with size and version; an object travels when its table is
looked into for the first time, to a private temporary folder, and is read there. Nothing is written to the store. An
object above `snapshot_bytes` is passed over with that reason. Change is known by the objects' sizes and versions.
"""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, ClassVar, cast
from urllib.parse import unquote, urlsplit

from coset.environment import leftovers
from coset.environment.scan import EVERY_OPERATION, EVERYTHING, Operation, Scan
from coset.environment.source import NO_TABLE, Source, SourceSettings, Table
from coset.environment.sources.files.layout import EXTENSIONS, DataFile, FileSet, digest, file_sets, single
from coset.environment.sources.files.source import Files
from coset.errors import CosetError, LimitReached, MissingDependency, SourceUnreachable, TableVanished

if TYPE_CHECKING:
    import pyarrow as pa


_ICEBERG = {
    "access_key_id": "s3.access-key-id", "secret_access_key": "s3.secret-access-key",
    "session_token": "s3.session-token",
    "region": "s3.region", "endpoint": "s3.endpoint", "account_name": "adls.account-name",
    "account_key": "adls.account-key",
}  # fmt: skip


def store_options(location: str, settings: SourceSettings) -> dict[str, str]:
    """For obstore and deltalake. A plain-http endpoint is one that the user named himself."""
    if "://" not in location:
        return {}
    options = {key.lower().removeprefix("aws_"): value for key, value in settings.options.items()}
    if options.get("endpoint", "").startswith("http://"):
        options.setdefault("allow_http", "true")
    return options


def iceberg_properties(settings: SourceSettings) -> dict[str, str]:
    """For pyiceberg; an option that is not of a store is passed on as it is."""
    return {_ICEBERG.get(key, key): value for key, value in settings.options.items() if key != "catalog"}


LISTED_SECONDS = 2.0
"""How long one listing of the store is good for: as long as the questions of one statement."""


@dataclass(frozen=True)
class _Object:
    path: str
    size: int
    version: str


class ObjectStore(Source):
    kind: ClassVar[str] = "object_store"
    pushes: ClassVar[frozenset[Operation]] = EVERY_OPERATION  # DuckDB itself evaluates the scan, over the copy.

    def __init__(self, settings: SourceSettings) -> None:
        super().__init__(settings)
        self.skipped: list[tuple[Path, str]] = []
        self._folder: Path | None = None
        self._files: Files | None = None
        self._opened: Any = None
        self._listed: tuple[float, list[_Object]] | None = None

    def tables(self) -> list[Table]:
        data, left = self._data_files(self._objects())
        if not data:
            raise SourceUnreachable(self.settings.name, f"nothing that holds tables lies at {self._place()}")
        for file in data:
            self._bring(file)
        files = self._delegate()
        tables = files.tables()
        root = self._mirror()
        self.skipped = [
            *left,
            *((path.relative_to(root) if path.is_relative_to(root) else path, why) for path, why in files.skipped),
        ]
        return tables

    def fingerprint(self) -> str | None:
        return digest(self._data_files(self._objects())[0])

    def change_token(self, table: Table) -> str | None:
        found = self._set_of(table)
        return found.token if found else "missing"

    def read(self, table: Table, scan: Scan = EVERYTHING) -> pa.RecordBatchReader:
        found = self._set_of(table)
        if found is None:
            raise TableVanished(f"source '{self.settings.name}': table '{table.qualified_name}' is gone")
        for file in found.files:
            self._bring(file)
        return self._delegate().read(table, scan)

    def close(self) -> None:
        if self._files is not None:
            self._files.close()
            self._files = None
        if self._folder is not None:
            leftovers.remove(self._folder)
            self._folder = None

    # What there is

    def _parts(self) -> tuple[str, str]:
        """The store's own URL and the prefix or key within it."""
        parts = urlsplit(self.settings.location)
        path = unquote(parts.path).strip("/")
        if parts.scheme in {"http", "https"}:
            folder, _, name = path.rpartition("/")
            return f"{parts.scheme}://{parts.netloc}/{folder}".rstrip("/"), name
        return f"{parts.scheme}://{parts.netloc}", path

    def _place(self) -> str:
        return self.settings.redact(self.settings.location.partition("?")[0].rpartition("@")[2])

    def _is_single(self) -> bool:
        return _extension(self._parts()[1]) is not None

    def _objects(self) -> list[_Object]:
        if self._listed is not None and time.monotonic() - self._listed[0] < LISTED_SECONDS:
            return self._listed[1]
        import obstore

        store, (_, prefix) = self._store(), self._parts()
        try:
            if self._is_single():
                found = [obstore.head(store, prefix)]
            elif self.settings.location.startswith("http"):
                raise SourceUnreachable(
                    self.settings.name,
                    "behind https only single files can be read: name one, such as https://host/data.csv",
                )
            else:
                found = [each for batch in obstore.list(store, prefix=prefix or None) for each in batch]
        except Exception as error:
            raise self._explained(error) from None
        objects = [
            _Object(each["path"], each["size"], str(each.get("e_tag") or each.get("last_modified") or ""))
            for each in found
        ]
        self._listed = (time.monotonic(), sorted(objects, key=lambda each: each.path))
        return self._listed[1]

    def _data_files(self, objects: list[_Object]) -> tuple[list[DataFile], list[tuple[Path, str]]]:
        """The objects that hold tables, as files of the private folder, and the others with the reason."""
        _, prefix = self._parts()
        tables = {each.path.partition("/_delta_log/")[0] for each in objects if "/_delta_log/" in f"/{each.path}"}
        data, left = [], []
        for each in objects:
            inside = each.path.rpartition("/")[2] if self._is_single() else each.path.removeprefix(prefix).lstrip("/")
            relative, extension = PurePosixPath(inside), _extension(inside)
            if any(each.path.startswith(f"{table}/") for table in tables):
                left.append((Path(inside), "belongs to a Delta Lake table: name it as delta+" + self._parts()[0]))
            elif ".." in relative.parts or any(part.startswith(".") for part in relative.parts) or extension is None:
                left.append((Path(inside), NO_TABLE))
            elif each.size > self.settings.limits.snapshot_bytes:
                left.append((Path(inside), f"has {each.size:,} bytes, more than snapshot_bytes"))
            else:
                kind, compression = EXTENSIONS[extension]
                data.append(
                    DataFile(
                        self._mirror() / inside,
                        relative,
                        kind,
                        compression,
                        extension,
                        each.size,
                        _time_of(each.version),
                    )
                )
        return data, left

    def _set_of(self, table: Table) -> FileSet | None:
        files = self._data_files(self._objects())[0]
        sets = [single(file) for file in files] if self._is_single() else file_sets(files, self._mirror())
        names = {each.native_name: each for each in (*sets, *map(single, files))}
        name = table.native_name
        while name not in names and "#" in name:
            name = name.rpartition("#")[0]  # a sheet of a workbook
        return names.get(name)

    # Bringing

    def _mirror(self) -> Path:
        if self._folder is None:
            self._folder = leftovers.temporary_folder()
        # Its name becomes that of a table where parts lie at the top.
        prefix = self._parts()[1]
        name = "files" if self._is_single() or not prefix else prefix.rstrip("/").rpartition("/")[2]
        return self._folder / "mirror" / name

    def _delegate(self) -> Files:
        if self._files is None:
            place = self._mirror()
            if self._is_single():
                place = place / self._parts()[1].rpartition("/")[2]
            self._files = Files(replace(self.settings, kind="files", location=str(place)))
        return self._files

    def _bring(self, file: DataFile) -> None:
        """The object as a local file of the same size, with a time that stands for its version."""
        try:
            status = file.path.stat()
            if (status.st_size, status.st_mtime_ns) == (file.size, file.mtime_ns):
                return
        except FileNotFoundError:
            pass
        import obstore

        prefix = self._parts()[1]
        key = prefix if self._is_single() else str(PurePosixPath(prefix) / file.relative)
        file.path.parent.mkdir(parents=True, exist_ok=True)
        part = file.path.with_name(file.path.name + ".part")
        until, left = time.monotonic() + self.settings.limits.query_seconds, self.settings.limits.snapshot_bytes
        try:
            with part.open("wb") as target:
                for piece in obstore.get(self._store(), key).stream(min_chunk_size=4_000_000):
                    left -= len(piece)
                    if left < 0:
                        raise LimitReached(
                            f"source '{self.settings.name}': '{file.relative}' has more bytes than snapshot_bytes = "
                            f"{self.settings.limits.snapshot_bytes:,}, though the store said less"
                        )
                    target.write(piece)
                    if time.monotonic() > until:
                        raise LimitReached(
                            f"source '{self.settings.name}': bringing '{file.relative}' took longer than query_seconds "
                            f"= {self.settings.limits.query_seconds:g}; raise the limit or leave it out"
                        )
        except Exception as error:
            part.unlink(missing_ok=True)
            raise self._explained(error) from None
        os.utime(part, ns=(file.mtime_ns, file.mtime_ns))
        part.replace(file.path)

    def _store(self) -> Any:
        if self._opened is None:
            try:
                from obstore.store import from_url
            except ImportError:
                raise MissingDependency("an object store", "object_store") from None
            limits, (base, _) = self.settings.limits, self._parts()
            options: dict[str, Any] = dict(store_options(self.settings.location, self.settings))
            plain = options.pop("allow_http", None) or base.startswith("http://")
            client = {
                "timeout": timedelta(seconds=limits.query_seconds),
                "connect_timeout": timedelta(seconds=limits.connect_seconds),
                **({"allow_http": True} if plain else {}),
            }  # fmt: skip
            retries = {"max_retries": 2, "retry_timeout": timedelta(seconds=limits.connect_seconds)}
            try:
                self._opened = cast(Any, from_url)(base, client_options=client, retry_config=retries, **options)
            except Exception as error:
                raise self._explained(error) from None
        return self._opened

    def _explained(self, error: Exception) -> CosetError:
        if isinstance(error, CosetError):
            return error
        words, name = self.settings.redact(" ".join(str(error).split())), type(error).__name__
        if "NoSuchBucket" in words:
            return SourceUnreachable(self.settings.name, f"there is no such bucket: {self._place()}")
        if name in {"NotFoundError", "FileNotFoundError"} or "404" in words:
            return SourceUnreachable(self.settings.name, f"there is nothing at {self._place()}")
        if name in {"PermissionDeniedError", "UnauthenticatedError"} or any(
            sign in words for sign in ("AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "403", "401")
        ):
            return SourceUnreachable(self.settings.name, f"{self._place()} may not be read with these credentials")
        if any(sign in words for sign in ("error sending request", "onnect", "dns", "timed out")):
            return SourceUnreachable(
                self.settings.name, f"nothing answers for {self._place()}; check its address and endpoint"
            )
        return SourceUnreachable(self.settings.name, f"{self._place()} cannot be read: {words[:200]}")


def _extension(name: str) -> str | None:
    return next((end for end in EXTENSIONS if name.lower().endswith(end) and len(name) > len(end)), None)


def _time_of(version: str) -> int:
    """A time of change that differs where the version differs."""
    return int.from_bytes(hashlib.sha256(version.encode()).digest()[:7], "big") % 10**18
