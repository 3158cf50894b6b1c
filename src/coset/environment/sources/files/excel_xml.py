"""What the XML of an .xlsx sheet tells beyond the workbook reader: how far it reaches, and which cells hold errors.

In: a workbook and the name of a sheet. Out: how many cells it spans, and row, column (from 0) and text
of each cell with an error such as #N/A, which the reader gives as empty. Other formats have no such XML: None.
The reader asks for memory for all cells at once and ends the process when there is none, so one value in the last cell
of a sheet has to be seen beforehand. Reads in bounded memory.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

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
