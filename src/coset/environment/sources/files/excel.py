"""Excel and OpenDocument workbooks: each sheet with something in it is a table.

In: a workbook. Out: its sheets as Arrow tables, with a type per column that holds every value.

The first row that is not empty is the header, or the first full one below a few lines of title; empty rows and columns
around and between the data are left out, and so are chart and macro sheets. Hidden sheets are tables like the others. A
number column is BIGINT if all its numbers are whole; a column of different kinds is text. Only the first cell of merged
cells has the value, as in the file. A formula is the value that was last computed. An error (#N/A) is its text in .xlsx
and .xlsm; elsewhere it is NULL.
"""

from __future__ import annotations

import datetime
import posixpath
import re
import statistics
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from xml.etree import ElementTree

from coset.environment.source import EMPTY, Column, Limits, unique_names
from coset.environment.sources.files.layout import TooLarge, Unreadable
from coset.errors import MissingDependency

if TYPE_CHECKING:
    import pyarrow as pa


_CELL = re.compile(rb' r="([A-Z]{1,3})([0-9]{1,7})"')


@dataclass(frozen=True)
class SheetXml:
    workbook: Path
    part: str
    cells: int
    has_errors: bool

    def error_cells(self) -> Iterator[tuple[int, int, str]]:
        if not self.has_errors:
            return
        with zipfile.ZipFile(self.workbook) as archive, archive.open(self.part) as stream:
            for _, element in ElementTree.iterparse(stream):  # noqa: S314 - entities are refused by sheet_xml
                if element.tag.endswith("}c"):
                    place = re.fullmatch(r"([A-Z]{1,3})(\d{1,7})", element.get("r", ""))
                    if element.get("t") == "e" and place:
                        text = next((child.text for child in element if child.tag.endswith("}v")), None)
                        yield int(place[2]) - 1, _column_number(place[1]) - 1, text or "#N/A"
                    element.clear()
                elif element.tag.endswith("}row"):
                    element.clear()


def sheet_xml(path: Path, sheet: str) -> SheetXml | None:
    if not zipfile.is_zipfile(path):
        return None
    with zipfile.ZipFile(path) as archive:
        part = _part_of(archive, sheet)
        if part is None:
            return None
        columns: set[bytes] = set()
        last_row, has_errors, tail = 0, False, b""
        with archive.open(part) as stream:
            while chunk := stream.read(1 << 20):
                text = tail + chunk
                _refuse_entities(text)
                has_errors = has_errors or b't="e"' in text
                places = _CELL.findall(text)
                columns.update(letters for letters, _ in places)
                last_row = max(last_row, max((int(row) for _, row in places), default=0))
                tail = text[-32:]
    last_column = max((_column_number(letters.decode()) for letters in columns), default=0)
    return SheetXml(path, part, last_row * last_column, has_errors)


def _part_of(archive: zipfile.ZipFile, sheet: str) -> str | None:
    try:
        workbook = _parsed(archive.read("xl/workbook.xml"))
        links = _parsed(archive.read("xl/_rels/workbook.xml.rels"))
    except KeyError:
        return None
    targets = {link.get("Id"): link.get("Target", "") for link in links.iter() if link.tag.endswith("}Relationship")}
    for element in workbook.iter():
        if element.tag.endswith("}sheet") and element.get("name") == sheet:
            link = next((value for key, value in element.attrib.items() if key.endswith("}id")), None)
            target = targets.get(link, "")
            part = target.lstrip("/") if target.startswith("/") else posixpath.normpath(f"xl/{target}")
            return part if part in archive.namelist() else None
    return None


def _parsed(xml: bytes) -> ElementTree.Element:
    _refuse_entities(xml)
    return ElementTree.fromstring(xml)  # noqa: S314 - entities are refused above


def _refuse_entities(xml: bytes) -> None:
    """Entities are how a small XML file grows without bound; Excel writes none."""
    if b"<!ENTITY" in xml:
        raise ValueError("it defines XML entities")


def _column_number(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number


_OLE = bytes.fromhex("d0cf11e0a1b11ae1")
_TITLE_LINES = 8
"""At most so many lines of title may stand above the names of the columns."""
_LOOKED_AT = 200
_MOST_CELLS = 30_000_000  # about a gigabyte
_ARROW_TYPES = {"BOOLEAN": "bool", "BIGINT": "int64", "DOUBLE": "double", "DATE": "date32", "VARCHAR": "string"}


@dataclass(frozen=True)
class Sheet:
    name: str
    columns: tuple[Column, ...]
    values: pa.Table

    @property
    def rows(self) -> int:
        return int(self.values.num_rows)


def sheets(path: Path, limits: Limits, only: str | None = None) -> tuple[int, list[Sheet]]:
    """How many sheets for data the workbook has, and those with something in them (or the one that is asked for)."""
    try:
        import python_calamine
    except ImportError:
        raise MissingDependency("Reading Excel files", "excel") from None

    path.stat()  # a file that is gone is told apart from a damaged one
    _check_size(path, limits)
    found = []
    try:
        workbook = _open(path, python_calamine)
        names = [
            sheet.name for sheet in workbook.sheets_metadata if sheet.typ == python_calamine.SheetTypeEnum.WorkSheet
        ]
        for name in names if only is None else [only] if only in names else []:
            xml = sheet_xml(path, name) if path.suffix.lower() in {".xlsx", ".xlsm"} else None
            if xml and xml.cells > _MOST_CELLS:
                raise TooLarge(
                    f"has a sheet '{name}' that reaches over {xml.cells} cells; at most {_MOST_CELLS} can be read"
                )
            rows = workbook.get_sheet_by_name(name).to_python(skip_empty_area=False)
            for row, column, text in xml.error_cells() if xml else ():
                if row < len(rows) and column < len(rows[row]):
                    rows[row][column] = text
            sheet = _sheet(name, rows)
            if sheet is not None:
                found.append(sheet)
    except (Unreadable, KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except python_calamine.PasswordError:
        raise Unreadable("is protected by a password") from None
    except BaseException as error:  # a panic in the Rust library is no Exception
        raise Unreadable(f"is not a readable workbook ({_clause(error)})") from None
    return len(names), found


def _open(path: Path, python_calamine: Any) -> Any:
    with path.open("rb") as file:
        start = file.read(8)
        if not start:
            raise Unreadable(EMPTY)
        if start != _OLE or path.suffix.lower() == ".xls":
            return python_calamine.CalamineWorkbook.from_path(str(path))
        file.seek(0)
        try:
            return python_calamine.CalamineWorkbook.from_filelike(file)  # an old .xls under a new name
        except python_calamine.CalamineError:
            raise Unreadable("is protected by a password") from None  # Office wraps encrypted workbooks so


def _check_size(path: Path, limits: Limits) -> None:
    """A workbook is read as a whole, so a small file that unpacks to a huge one has to be refused beforehand. What an
    archive says of its sizes is not believed: it is unpacked, and counted."""
    size, most = 0, limits.snapshot_bytes
    try:
        with zipfile.ZipFile(path) as archive, path.open("rb") as file:
            for part in archive.infolist():
                size += max(part.file_size, _unpacked(file, part, most - size))
                if size > most:
                    break
    except (zipfile.BadZipFile, zlib.error, OSError, struct.error):
        size = max(size, path.stat().st_size)
    if size > most:
        raise TooLarge(f"unpacks to more than {most:,} bytes, the limit snapshot_bytes")


def _unpacked(file: BinaryIO, part: zipfile.ZipInfo, most: int) -> int:
    """How many bytes a part of an archive unpacks to, counted up to a little more than `most`."""
    file.seek(part.header_offset + 26)
    name, extra = struct.unpack("<HH", file.read(4))
    file.seek(name + extra, 1)
    if part.compress_type != zipfile.ZIP_DEFLATED:
        return part.compress_size
    unpack, size, left = zlib.decompressobj(-15), 0, part.compress_size
    while left > 0 and size <= most and not unpack.eof and (packed := file.read(min(left, 1 << 16))):
        left -= len(packed)
        while packed and size <= most:
            size += len(unpack.decompress(packed, 1 << 20))
            packed = unpack.unconsumed_tail
    return size


def _clause(error: BaseException) -> str:
    return " ".join(str(error).split())[:150] or type(error).__name__


def _sheet(name: str, rows: list[list[Any]]) -> Sheet | None:
    import pyarrow as pa

    filled = [row for row in rows if any(cell != "" for cell in row)]
    if not filled:
        return None
    first = _header_row(filled)
    header, body = filled[first], filled[first + 1 :]
    width = max(len(row) for row in filled)
    header = [*header, *[""] * (width - len(header))]
    kept = [index for index in range(width) if header[index] != "" or any(_cell(row, index) != "" for row in body)]
    natives = [_text(header[index]) for index in kept]
    given = [native.strip() or f"column_{position + 1}" for position, native in enumerate(natives)]
    columns, arrays = [], []
    for index, column_name, native in zip(kept, unique_names(given), natives, strict=True):
        values = [None if (cell := _cell(row, index)) == "" else cell for row in body]
        type_name, native_type = _type(value for value in values if value is not None)
        columns.append(Column(column_name, type_name, native, native_type))
        arrays.append(pa.array([_as(value, type_name) for value in values], _arrow_type(type_name)))
    return Sheet(name, tuple(columns), pa.table(arrays, names=[column.name for column in columns]))


def _header_row(rows: list[list[Any]]) -> int:
    """The row that names the columns: the first, or the first full one below a few lines of title."""
    counts = [sum(cell != "" for cell in row) for row in rows[:_LOOKED_AT]]
    usual = statistics.median_high(counts)
    first = next(number for number, count in enumerate(counts) if count * 2 > usual)
    named = [cell for cell in rows[first] if cell != ""]
    is_header = all(isinstance(cell, str) for cell in named) and len(set(named)) == len(named)
    is_below_title = first <= _TITLE_LINES and all(count <= 2 for count in counts[:first])
    return first if is_header and is_below_title and first + 1 < len(rows) else 0


def _cell(row: list[Any], index: int) -> Any:
    return row[index] if index < len(row) else ""


def _type(values: Iterator[Any]) -> tuple[str, str]:
    """The column's type and what Excel would call it."""
    kinds: set[type] = set()
    whole = True
    for value in values:
        kinds.add(float if type(value) is int else type(value))
        if type(value) is float:
            whole = whole and value.is_integer() and abs(value) <= 2**53
        elif type(value) is int:
            whole = whole and abs(value) < 2**63
    if kinds == {bool}:
        return "BOOLEAN", "boolean"
    if kinds == {float}:
        return ("BIGINT" if whole else "DOUBLE"), "number"
    if kinds == {datetime.date}:
        return "DATE", "date"
    if kinds and kinds <= {datetime.date, datetime.datetime}:
        return "TIMESTAMP", "date"
    if kinds == {datetime.time}:
        return "TIME", "time"
    if kinds == {datetime.timedelta}:
        return "INTERVAL", "duration"
    return "VARCHAR", "text" if kinds <= {str} else "mixed"


def _arrow_type(type_name: str) -> pa.DataType:
    import pyarrow as pa

    special = {"TIMESTAMP": pa.timestamp("us"), "TIME": pa.time64("us"), "INTERVAL": pa.duration("us")}
    return special.get(type_name) or pa.type_for_alias(_ARROW_TYPES[type_name])


def _as(value: Any, type_name: str) -> Any:
    if value is None:
        return None
    if type_name == "VARCHAR":
        return _text(value)
    if type_name == "BIGINT":
        return int(value)
    if type_name == "DOUBLE":
        return float(value)
    if type_name == "TIMESTAMP" and not isinstance(value, datetime.datetime):
        return datetime.datetime(value.year, value.month, value.day)
    return value


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) <= 2**53:
        return str(int(value))
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return str(value)
