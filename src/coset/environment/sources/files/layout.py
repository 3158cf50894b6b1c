"""Which files of a folder are data, and which of them are one table. Goes by names and places alone; opens nothing.

In: a file or a folder. Out: `FileSet`s, each one table (or one workbook), and what was left out with the reason.

One file is one table, named by its path: `2024/orders.csv` is `2024_orders`. Two kinds of folders are one table, named
by the folder, if their files have one extension (and, as the caller finds out, the same columns):
- hive partitions: every folder on the way down is `key=value`, as in `sales/year=2024/month=01/x.parquet`;
  the keys become columns;
- parts: names made of a word like `part` and a number (`part-0001.csv`, `chunk_7.csv`, Spark's
  `part-00000-<uuid>-c000`), or nothing but numbers, or the folder's own name and numbers, when these count up from
  0 or 1. So `2023.csv` and `2024.csv` stay two tables: their numbers mean something.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from coset.environment.source import HIDDEN, NO_TABLE, Column
from coset.sql_text import literal

Option = tuple[str, str | int | float | bool]


class SqlText(str):
    """An option's value that is SQL already (a struct of column types) and is written as it stands, not as a string."""


@dataclass(frozen=True)
class ReaderCall:
    """One of DuckDB's file functions with the files (patterns made by `literal_path`) and options it is called with."""

    reader: str
    files: tuple[Path, ...]
    options: tuple[Option, ...] = ()


@dataclass(frozen=True)
class Shape:
    """What looking at the files of one table found. `relation` is SQL that stands after FROM.

    `place` is the same relation as a plain call of a reader; None when the rows have to come through `read`,
    because the files are read from a copy in UTF-8 or because the columns are expressions. `sheet` is set for Excel,
    where there is no relation in SQL at all.
    """

    columns: tuple[Column, ...]
    rows: int
    relation: str = ""
    place: ReaderCall | None = None
    sheet: str | None = None
    is_only_sheet: bool = False


class Unreadable(Exception):
    """A file that is refused, with a reason that stands after its name: "line 3 has 2 values where ..."."""


class TooLarge(Unreadable):
    """A file that is refused because of a limit."""


def literal_path(path: Path) -> Path:
    """A pattern that matches this path alone. DuckDB expands `*`, `?` and `[` in every file name that it is given,
    and would read another file that happens to match."""
    return Path("".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path)))


def types_struct(columns: tuple[Column, ...] | list[tuple[str, str]]) -> SqlText:
    """The `columns` (or `hive_types`) option: names and types, in order."""
    pairs = [(item.name, item.type) if isinstance(item, Column) else item for item in columns]
    return SqlText("{" + ", ".join(f"{literal(name)}: {literal(type)}" for name, type in pairs) + "}")


def reader_sql(place: ReaderCall) -> str:
    """The call as SQL that stands after FROM."""
    files = ", ".join(literal(str(file)) for file in place.files)
    options = "".join(f", {name} = {_option_sql(value)}" for name, value in place.options)
    return f"{place.reader}([{files}]{options})"


def _option_sql(value: str | int | float | bool) -> str:
    if isinstance(value, SqlText):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return literal(value) if isinstance(value, str) else repr(value)


Format = Literal["csv", "json", "parquet", "excel"]

# extension -> format and compression, longest first so that ".csv.gz" is not taken for ".gz".
_TEXT: dict[str, Format] = {".csv": "csv", ".tsv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json"}
_PACKED = {"": "none", ".gz": "gzip", ".zst": "zstd"}
EXTENSIONS: dict[str, tuple[Format, str]] = {
    **{text + packed: (kind, how) for packed, how in reversed(_PACKED.items()) for text, kind in _TEXT.items()},
    **{f"{codec}.parquet": ("parquet", "none") for codec in (".snappy", ".gz", ".zstd", ".lz4", ".brotli", "")},
    **{extension: ("excel", "none") for extension in (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")},
}

_KEY_VALUE = re.compile(r"([^=]+)=(.*)", re.DOTALL)
_PART = re.compile(
    r"(?P<word>part|chunk|shard|split|batch|segment|piece|slice|block)?[-_. ]*(?P<number>\d+)"
    r"(?:[-_. ]*of[-_. ]*\d+)?(?P<rest>(?:[-_.](?:c?\d+|[0-9a-f]{8,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}))*)",
    re.IGNORECASE,
)

LEADS_OUT = "is a link that leads out of the source's folder"


@dataclass(frozen=True)
class DataFile:
    path: Path
    relative: PurePosixPath
    format: Format
    compression: str
    extension: str
    size: int
    mtime_ns: int

    @property
    def stem(self) -> str:
        return self.relative.name[: -len(self.extension)]


@dataclass(frozen=True)
class FileSet:
    """The files of one table. `native_name` is the file's path in the folder, or a pattern for several."""

    name: str
    native_name: str
    files: tuple[DataFile, ...]
    partition_keys: tuple[str, ...] = ()
    is_folder: bool = False

    @property
    def format(self) -> Format:
        return self.files[0].format

    @property
    def token(self) -> str:
        return digest(self.files)

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)


@dataclass(frozen=True)
class IgnoredFile:
    path: Path
    reason: str


def digest(files: Iterable[DataFile]) -> str:
    """Equal as long as no file came, went, or has another size or time of change."""
    facts = sorted((str(file.relative), file.size, file.mtime_ns) for file in files)
    return hashlib.sha256(repr(facts).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def leads_out(path: Path, root: Path) -> bool:
    """Whether a link in a source's folder leads to a file that is not in that folder, as none of the user's would."""
    try:
        return not path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError):
        return True


def data_file(path: Path, root: Path) -> DataFile | IgnoredFile:
    """The file if its name and kind say that it is data, else why not."""
    name = path.name
    if name.startswith((".", "~$")):
        return IgnoredFile(path, HIDDEN)
    extension = next((end for end in EXTENSIONS if name.lower().endswith(end) and len(name) > len(end)), None)
    if extension is None:
        return IgnoredFile(path, NO_TABLE)
    try:
        status = path.stat()
    except OSError as error:
        return IgnoredFile(path, f"cannot be opened ({(error.strerror or 'unknown reason').lower()})")
    if not stat.S_ISREG(status.st_mode):
        return IgnoredFile(path, "is not a regular file")  # opening a pipe would wait for ever
    if leads_out(path, root):
        return IgnoredFile(path, LEADS_OUT)
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return IgnoredFile(path, "has a name that is not UTF-8")
    kind, compression = EXTENSIONS[extension]
    relative = PurePosixPath(path.relative_to(root).as_posix())
    return DataFile(path, relative, kind, compression, extension, status.st_size, status.st_mtime_ns)


def walk(root: Path, start: Path | None = None) -> Iterator[DataFile | IgnoredFile]:
    """All files under `start` (the root unless told), sorted. Links are followed within the root, but never round in a
    circle."""
    seen: set[tuple[int, int]] = set()

    def visit(folder: Path) -> Iterator[DataFile | IgnoredFile]:
        try:
            status = folder.stat()
            entries = sorted(folder.iterdir(), key=lambda path: path.name)
        except OSError as error:
            yield IgnoredFile(folder, f"cannot be opened ({(error.strerror or 'unknown reason').lower()})")
            return
        if (status.st_dev, status.st_ino) in seen:
            return
        seen.add((status.st_dev, status.st_ino))
        names = {path.name for path in entries}
        # The raw files of these formats still hold rows that were deleted from the table.
        if "_delta_log" in names:
            yield IgnoredFile(folder, "is a Delta Lake table, whose files alone do not say which rows are valid")
            return
        if "metadata" in names and any((folder / "metadata").glob("*.metadata.json")):
            yield IgnoredFile(folder, "is an Iceberg table, whose files alone do not say which rows are valid")
            return
        for path in entries:
            if not os.path.isdir(path):  # noqa: PTH112 - Path.is_dir raises where access is denied
                yield data_file(path, root)
            elif not path.name.startswith(".") and path.name != "_temporary":
                if leads_out(path, root):
                    yield IgnoredFile(path, LEADS_OUT)
                else:
                    yield from visit(path)

    yield from visit(start or root)


def file_sets(files: list[DataFile], root: Path) -> list[FileSet]:
    """The tables that the files make up, going by their names, in the order of their paths."""
    alone: list[DataFile] = []
    partitions: dict[tuple[PurePosixPath, tuple[str, ...], str], list[DataFile]] = {}
    folders: dict[tuple[PurePosixPath, str], list[DataFile]] = {}
    for file in files:
        base, keys = _partition(file.relative.parent)
        if file.format == "excel":
            alone.append(file)
        elif keys:
            partitions.setdefault((base, keys, file.extension), []).append(file)
        else:
            folders.setdefault((file.relative.parent, file.extension), []).append(file)
    sets = []
    for (base, keys, extension), members in partitions.items():
        pattern = str(base / ("/".join(f"{key}=*" for key in keys) + f"/*{extension}"))
        sets.append(FileSet(_folder_name(base, root), pattern, tuple(members), keys, is_folder=True))
    for (folder, extension), members in folders.items():
        parts = _parts(members, _folder_name(folder, root, last=True))
        if parts:
            name = _folder_name(folder, root)
            sets.append(FileSet(name, str(folder / f"*{extension}"), tuple(parts), is_folder=True))
        alone.extend(file for file in members if file not in parts)
    sets.extend(single(file) for file in alone)
    return sorted(sets, key=lambda item: (str(item.files[0].relative), item.native_name))


def single(file: DataFile) -> FileSet:
    return FileSet("_".join((*file.relative.parent.parts, file.stem)), str(file.relative), (file,))


def folder_of(native_name: str) -> PurePosixPath | None:
    """The folder under which the files of a set with this name lie, or None if it names a single file."""
    path = PurePosixPath(native_name)
    if not path.name.startswith("*"):
        return None
    folder = path.parent
    while folder.name.endswith("=*"):
        folder = folder.parent
    return folder


def partition_values(file: DataFile, keys: tuple[str, ...]) -> list[str]:
    folders = file.relative.parent.parts
    return [part.split("=", 1)[1] for part in folders[len(folders) - len(keys) :]]


def _partition(folder: PurePosixPath) -> tuple[PurePosixPath, tuple[str, ...]]:
    """The folder above the partitions and their keys; no keys unless all folders from there on are `key=value`."""
    parts = folder.parts
    first = next((index for index, part in enumerate(parts) if _KEY_VALUE.fullmatch(part)), len(parts))
    matches = [_KEY_VALUE.fullmatch(part) for part in parts[first:]]
    keys = tuple(match[1] for match in matches if match)
    if len(keys) < len(matches) or len({key.lower() for key in keys}) < len(keys):
        return folder, ()
    return PurePosixPath(*parts[:first]), keys


def _folder_name(folder: PurePosixPath, root: Path, *, last: bool = False) -> str:
    parts = folder.parts or (root.name or "files",)
    return parts[-1] if last else "_".join(parts)


def _parts(files: list[DataFile], folder: str) -> list[DataFile]:
    """Those of one folder's files that are parts of one table by their names."""
    worded, counted = [], {}
    for file in files:
        stem = file.stem
        own = stem.lower().startswith(folder.lower()) and stem[len(folder) :]
        match = _PART.fullmatch(stem)
        if match and match["word"]:
            worded.append(file)
        elif match or (own and (match := _PART.fullmatch(own.lstrip("-_. ")))):
            counted[file] = int(match["number"])
    numbers = sorted(counted.values())
    if len(numbers) > 1 and numbers in (list(range(len(numbers))), list(range(1, len(numbers) + 1))):
        return [file for file in files if file in counted or file in worded]
    return worded
