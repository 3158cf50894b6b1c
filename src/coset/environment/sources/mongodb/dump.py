"""A folder that `mongodump` wrote, read without a server: each `*.bson` (or `*.bson.gz`) file is a table.

In: the folder of one database, or the dump's root with a folder for each database, which become schemas (MongoDB's own
`admin` and `config` are left out). Out: tables, and rows as Arrow. Every file is read once to learn its columns and
count its documents exactly.

Change is known from the size and time of a collection's files; a file that is rewritten with the same size and the
same time stamp goes unseen. Views have no rows in a dump and are not listed; nor are `system.*` files, among them
the buckets in which a time series collection is dumped, whose form is MongoDB's own.
A document is at most 16 MB, and so is every value. A damaged file is left out and named in `skipped`; when all are
damaged, the dump cannot be read.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, cast
from urllib.parse import unquote

from coset.environment.scan import EVERYTHING, Operation, Scan
from coset.environment.source import Column, Source, SourceSettings, Table, unique_names
from coset.environment.sources.arrow_rows import check_cells
from coset.environment.sources.files.layout import leads_out
from coset.environment.sources.mongodb.documents import Observed, columns_of
from coset.environment.sources.mongodb.documents_to_arrow import DocumentsToArrow, DoesNotFit
from coset.environment.sources.mongodb.driver import bson_is_there
from coset.environment.sources.mongodb.server import codec_options, comments_of
from coset.errors import MissingDependency, SourceUnreachable, TableVanished

if TYPE_CHECKING:
    import pyarrow as pa

_SYSTEM_DATABASES = frozenset({"admin", "config"})
_ARCHIVE_START = b"\x6d\xe2\x99\x81"
_SMALLEST, _LARGEST = 5, 17_000_000
"""Bytes of one document: an empty one; MongoDB's 16 MB with a little room."""
_BLOCK = 8_000_000
_BATCH_DOCUMENTS = 20_000


@dataclass(frozen=True)
class _Collection:
    schema: str | None
    name: str
    file: Path
    metadata_file: Path | None
    metadata: dict[str, Any]


class Mongodump(Source):
    kind = "mongodump"
    pushes: ClassVar[frozenset[Operation]] = frozenset({"columns", "limit"})

    def __init__(self, settings: SourceSettings) -> None:
        super().__init__(settings)
        self.skipped: list[tuple[Path, str]] = []
        """Files that the last `tables()` left out because they are damaged, each with the reason."""
        self._learned: dict[Path, tuple[str, Observed]] = {}

    def tables(self) -> list[Table]:
        collections = self._collections()
        names: list[str] = []
        for schema in dict.fromkeys(one.schema for one in collections):
            names += unique_names(one.name for one in collections if one.schema == schema)
        tables: list[Table] = []
        self.skipped = []
        for name, one in zip(names, collections, strict=True):
            try:
                tables.append(self._table(name, one))
            except SourceUnreachable as refusal:
                self.skipped.append((one.file, refusal.reason.removeprefix(f"{one.file} ")))
                if len(self.skipped) == len(collections):
                    raise
        return tables

    def change_token(self, table: Table) -> str | None:
        return self._state(self._collection(table))

    def fingerprint(self) -> str | None:
        return json.dumps([[one.schema, one.name, self._state(one)] for one in self._collections()])

    def read(self, table: Table, scan: Scan = EVERYTHING) -> pa.RecordBatchReader:
        import pyarrow as pa

        file = self._collection(table).file
        columns = table.columns if scan.columns is None else tuple(table.column(name) for name in scan.columns)
        convert = DocumentsToArrow(table.columns, columns)

        def batches() -> Iterator[pa.RecordBatch]:
            left = scan.limit
            for documents in self._documents(file):
                some = documents if left is None else list(islice(documents, left))
                try:
                    batch = convert.batch(some)
                except DoesNotFit as error:
                    place = f"'{table.qualified_name}' of source '{self.settings.name}'"
                    text = f"table {place} changed after it was listed ({error}); refresh the environment"
                    raise TableVanished(text) from None
                check_cells(self.settings, table, batch)
                yield batch
                left = None if left is None else left - len(some)
                if left == 0:
                    return

        return pa.RecordBatchReader.from_batches(convert.schema, batches() if scan.limit != 0 else iter(()))

    # --- files

    def _unreachable(self, reason: str) -> SourceUnreachable:
        return SourceUnreachable(self.settings.name, reason)

    def _collections(self) -> list[_Collection]:
        """All collections of the dump, by database and name."""
        root = self.settings.path
        try:
            if root.is_file():
                raise self._unreachable(self._why_not_a_file(root))
            if not root.is_dir():
                raise self._unreachable(f"there is no folder {root}")
            databases = {None: root} if self._bson_files(root) else self._database_folders(root)
            found = [one for schema, folder in databases.items() for one in self._collections_in(schema, folder)]
        except OSError as error:
            raise self._unreachable(f"{root} cannot be read: {error.strerror or error}") from None
        if not databases:
            archive = next((file for file in sorted(root.iterdir()) if file.is_file() and _is_archive(file)), None)
            if archive is not None:
                raise self._unreachable(self._why_not_a_file(archive))
            raise self._unreachable(f"{root} holds no .bson file, so it is not a folder that mongodump wrote")
        return found

    def _why_not_a_file(self, file: Path) -> str:
        if _is_archive(file):
            return f"{file} is a mongodump archive; dump again without --archive, into a folder, and name that folder"
        return f"{file} is a file; name the folder that mongodump wrote"

    @staticmethod
    def _bson_files(folder: Path) -> list[Path]:
        # oplog.bson lies in a dump's root and belongs to no database.
        files = [file for file in sorted(folder.iterdir()) if file.name.endswith((".bson", ".bson.gz"))]
        inside = [file for file in files if file.is_file() and not (file.is_symlink() and leads_out(file, folder))]
        return [file for file in inside if not file.name.startswith("oplog.bson")]

    def _database_folders(self, root: Path) -> dict[str | None, Path]:
        folders = [folder for folder in sorted(root.iterdir()) if folder.is_dir()]
        folders = [one for one in folders if one.name not in _SYSTEM_DATABASES and self._is_database(one)]
        schemas = unique_names(unquote(folder.name) for folder in folders)
        return dict(zip(schemas, folders, strict=True))

    def _is_database(self, folder: Path) -> bool:
        """A database with nothing but views has descriptions alone."""
        return bool(self._bson_files(folder)) or any(folder.glob("*.metadata.json*"))

    def _collections_in(self, schema: str | None, folder: Path) -> list[_Collection]:
        result: dict[str, _Collection] = {}
        for file in self._bson_files(folder):
            stem = file.name.removesuffix(".gz").removesuffix(".bson")
            described = [file.with_name(f"{stem}.metadata.json{ending}") for ending in ("", ".gz")]
            metadata_file = next((one for one in described if one.is_file()), None)
            metadata = self._metadata(metadata_file)
            name = str(metadata.get("collectionName") or unquote(stem))
            if name.startswith("system.") or metadata.get("type") == "view":
                continue
            if name in result:
                raise self._unreachable(
                    f"{folder} holds collection '{name}' twice, in {result[name].file.name} and {file.name}"
                )
            result[name] = _Collection(schema, name, file, metadata_file, metadata)
        return [result[name] for name in sorted(result)]

    def _metadata(self, file: Path | None) -> dict[str, Any]:
        if file is None:
            return {}
        try:
            text = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
            described = json.loads(text or b"{}")
        except (ValueError, EOFError, zlib.error, gzip.BadGzipFile):
            raise self._unreachable(f"{file} is not the JSON that mongodump writes") from None
        return described if isinstance(described, dict) else {}

    def _collection(self, table: Table) -> _Collection:
        for one in self._collections():
            if one.schema == table.schema and one.name == table.native_name:
                return one
        place = f"'{table.qualified_name}' of source '{self.settings.name}'"
        raise TableVanished(f"table {place} is no longer there; refresh the environment")

    def _state(self, collection: _Collection) -> str:
        files = [file for file in (collection.file, collection.metadata_file) if file is not None]
        states = [(file.name, file.stat()) for file in files]
        return json.dumps([[name, state.st_size, state.st_mtime_ns] for name, state in states])

    # --- documents

    def _table(self, name: str, collection: _Collection) -> Table:
        observed = self._observed(collection)
        described = collection.metadata.get("options", {}).get("validator", {}).get("$jsonSchema", {})
        columns: tuple[Column, ...] = columns_of(observed, complete=True, comments=comments_of(described))
        return Table(
            name=name,
            native_name=collection.name,
            columns=columns,
            schema=collection.schema,
            kind="collection",
            rows=observed.documents,
            rows_exact=True,
            bytes=collection.file.stat().st_size,
            primary_key=tuple(column.name for column in columns if column.native_name == "_id"),
            comment=described.get("description") or described.get("title"),
        )

    def _observed(self, collection: _Collection) -> Observed:
        state = self._state(collection)
        known = self._learned.get(collection.file)
        if known is not None and known[0] == state:
            return known[1]
        observed = Observed()
        for documents in self._documents(collection.file):
            observed.observe_documents(documents)
        self._learned[collection.file] = state, observed
        return observed

    def _documents(self, file: Path) -> Iterator[list[dict[str, Any]]]:
        """The documents in lists of bounded size; a plain error with the byte where the file stops making sense."""
        if not bson_is_there():
            raise MissingDependency("A MongoDB dump", "mongodb")
        import bson

        options = codec_options()
        packed = file.suffix == ".gz"
        try:
            with cast(BinaryIO, gzip.open(file, "rb")) if packed else file.open("rb") as stream:
                for offset, raw in self._whole_documents(stream, file):
                    try:
                        yield bson.decode_all(raw, options)
                    except bson.InvalidBSON as error:
                        raise self._corrupt(file, offset + _first_invalid(raw), str(error)) from None
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise self._unreachable(f"{file} is cut off or damaged: its gzip data ends too early or is wrong") from None
        except OSError as error:
            raise self._unreachable(f"{file} cannot be read: {error.strerror or error}") from None

    def _whole_documents(self, stream: BinaryIO, file: Path) -> Iterator[tuple[int, bytes]]:
        """Runs of whole documents with the offset of each run; sizes are checked before anything is decoded."""
        offset, left = 0, b""
        while block := stream.read(_BLOCK):
            data = left + block
            start = end = count = 0
            while end + 4 <= len(data):
                size = int.from_bytes(data[end : end + 4], "little")
                if not _SMALLEST <= size <= _LARGEST:
                    raise self._corrupt(file, offset + end, f"a document of {size} bytes")
                if end + size > len(data):
                    break
                end, count = end + size, count + 1
                if count == _BATCH_DOCUMENTS:
                    yield offset + start, data[start:end]
                    start, count = end, 0
            if end > start:
                yield offset + start, data[start:end]
            offset, left = offset + end, data[end:]
        if left:
            raise self._corrupt(file, offset, f"the last document is cut off after {len(left)} bytes")

    def _corrupt(self, file: Path, offset: int, reason: str) -> SourceUnreachable:
        where = "byte" if file.suffix != ".gz" else "unpacked byte"
        return self._unreachable(f"{file} is not whole BSON at {where} {offset}: {reason}")


def _is_archive(file: Path) -> bool:
    with file.open("rb") as stream:
        start = stream.read(4)
    if start[:2] == b"\x1f\x8b":
        try:
            with gzip.open(file, "rb") as unpacked:
                start = unpacked.read(4)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            return False
    return start == _ARCHIVE_START


def _first_invalid(raw: bytes) -> int:
    """The offset of the first document that does not decode."""
    import bson

    options, start = codec_options(), 0
    while start < len(raw):
        size = int.from_bytes(raw[start : start + 4], "little")
        try:
            bson.decode(raw[start : start + size], options)
        except bson.InvalidBSON:
            return start
        start += size
    return 0
