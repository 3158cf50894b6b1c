"""Word, PowerPoint and PDF files as blocks.

In: the path of a file. Out: `Block`s. Word and PowerPoint files are ZIP archives of XML; only the parts with text are
read, and files that unpack to more than a limit, and XML with a document type (which could define entities), are
refused. PDF is read by pypdf: lines with their place and size on the page, put together to paragraphs.
"""

from __future__ import annotations

import logging
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from coset.errors import MissingDependency
from coset.evidence.documents.sections import LIST_MARKER, LONGEST_HEADING, Block, Unreadable, joined

MOST_PAGES = 2_000
HEADING_SIZE = 1.12
"""So much larger than most of the text."""
REPEATED = 0.5
"""A line on such a share of at least three pages is a header or footer."""


@dataclass
class _Line:
    text: str
    size: float
    height: float
    page: int


def from_pdf(path: Path) -> list[Block]:
    try:
        import pypdf
    except ImportError:
        raise MissingDependency("Reading PDF documents", "documents") from None
    try:
        # What it warns of is in the text or is told as why there is none.
        logging.getLogger("pypdf").setLevel(logging.CRITICAL)
        reader = pypdf.PdfReader(path)
        if reader.is_encrypted and not reader.decrypt(""):
            raise Unreadable("is encrypted")
        lines = [
            line for number, page in enumerate(reader.pages[:MOST_PAGES], start=1) for line in _lines(page, number)
        ]
    except (Unreadable, MemoryError):
        raise
    except Exception as error:
        reason = "needs the password it is encrypted with" if "AES" in str(error) or "password" in str(error) else None
        raise Unreadable(reason or f"is damaged ({type(error).__name__}: {str(error)[:200]})") from error
    lines = _without_headers(lines, len(reader.pages))
    if not lines:
        raise Unreadable("holds no text: its pages may be scanned pictures")
    return list(_blocks(lines))


def _lines(page: Any, number: int) -> list[_Line]:
    lines: list[_Line] = []
    ended = True

    def visit(text: str, outer: Sequence[float], inner: Sequence[float], _font: Any, size: float) -> None:
        nonlocal ended
        if not text.strip():
            ended = ended or "\n" in text
            return
        height = inner[4] * outer[1] + inner[5] * outer[3] + outer[5]
        letters = round(size * (abs(inner[3]) or abs(inner[0])) * (abs(outer[3]) or abs(outer[0])), 1)
        for position, part in enumerate(text.split("\n")):
            if not part.strip():
                continue
            if position == 0 and not ended and lines and abs(height - lines[-1].height) < 1:
                lines[-1].text += part
            else:
                lines.append(_Line(part, letters, height, number))
        ended = text.endswith("\n")

    page.extract_text(visitor_text=visit)
    for line in lines:
        line.text = " ".join(line.text.split())
    return lines


def _without_headers(lines: Sequence[_Line], pages: int) -> list[_Line]:
    if pages < 3:
        return list(lines)
    seen = Counter(key for key, _ in {(re.sub(r"\d+", "#", line.text), line.page) for line in lines})
    repeated = {text for text, count in seen.items() if count >= 3 and count > REPEATED * pages}
    return [line for line in lines if re.sub(r"\d+", "#", line.text) not in repeated]


def _blocks(lines: Sequence[_Line]) -> Iterator[Block]:
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[line.size] += len(line.text)
    body = sizes.most_common(1)[0][0] if sizes else 0.0
    larger = sorted({line.size for line in lines if line.size > body * HEADING_SIZE}, reverse=True)
    levels = {size: min(number, 9) for number, size in enumerate(larger, start=1)}
    gaps = Counter(
        round(abs(before.height - line.height), 1)
        for before, line in pairwise(lines)
        if before.page == line.page and before.size == line.size
    )
    usual = gaps.most_common(1)[0][0] if gaps else 0.0
    group: list[_Line] = []
    for line in lines:
        if group and _begins(group[-1], line, levels, usual):
            yield _block(group, levels)
            group = []
        group.append(line)
    if group:
        yield _block(group, levels)


def _begins(before: _Line, line: _Line, levels: dict[float, int], usual: float) -> bool:
    if levels.get(before.size, 0) != levels.get(line.size, 0):
        return True
    if before.size in levels:
        return before.page != line.page or abs(before.height - line.height) > 1.7 * line.size
    if LIST_MARKER.match(line.text):
        return True
    if before.page != line.page:
        return before.text.endswith((".", ":", "!", "?"))
    return abs(before.height - line.height) > 1.4 * usual > 0


def _block(group: Sequence[_Line], levels: dict[float, int]) -> Block:
    text = joined([line.text for line in group])
    level = levels.get(group[0].size, 0)
    return Block(text, level if len(text) <= 2 * LONGEST_HEADING else 0, group[0].page)


MOST_UNPACKED_BYTES = 100_000_000
"""Of all parts that are read, together."""
MOST_PARTS = 3_000
WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
SLIDE = "{http://schemas.openxmlformats.org/presentationml/2006/main}"


class _Package:
    """The parts of an archive, with a bound on what they unpack to."""

    def __init__(self, path: Path) -> None:
        try:
            self.archive = zipfile.ZipFile(path)
        except zipfile.BadZipFile:
            with path.open("rb") as stream:
                encrypted = stream.read(8) == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
            raise Unreadable("is encrypted, or of an older format" if encrypted else "is damaged") from None
        self.names = self.archive.namelist()
        if len(self.names) > MOST_PARTS:
            raise Unreadable(f"has more than {MOST_PARTS:,} parts")
        self.left = MOST_UNPACKED_BYTES

    def xml(self, name: str) -> Element | None:
        if name not in self.names:
            return None
        try:
            with self.archive.open(name) as stream:
                content = stream.read(self.left + 1)  # What the archive says of sizes need not be true.
        except (zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError, EOFError) as error:
            raise Unreadable(f"is damaged or encrypted ({error})") from error
        self.left -= len(content)
        if self.left < 0:
            raise Unreadable(f"unpacks to more than {MOST_UNPACKED_BYTES // 1_000_000:,} MB")
        if re.search(rb"<!DOCTYPE|<!ENTITY|<\x00!\x00D", content[:4096] + content[-1:], re.IGNORECASE):
            raise Unreadable("holds XML with a document type, which no such file needs")
        try:
            return ElementTree.fromstring(content)  # noqa: S314 - without a document type there are no entities
        except ElementTree.ParseError as error:
            raise Unreadable(f"is damaged ({error})") from error


def from_word(path: Path) -> list[Block]:
    package = _Package(path)
    document = package.xml("word/document.xml")
    if document is None:
        raise Unreadable("is not a Word document")
    levels = _heading_styles(package.xml("word/styles.xml"))
    blocks = []
    for name in sorted(package.names):  # A header may say that the document is a draft, or no longer valid.
        if re.fullmatch(r"word/header\d*\.xml", name) and (header := package.xml(name)) is not None:
            blocks += [Block(text) for each in header.iter(f"{WORD}p") if (text := _word_text(each))]
    blocks = list(dict.fromkeys(blocks))
    body = document.find(f"{WORD}body")
    for element in body if body is not None else ():
        blocks += _word_blocks(element, levels)
    return blocks


def _word_blocks(element: Element, levels: dict[str, int]) -> Iterator[Block]:
    if element.tag == f"{WORD}p":
        text = _word_text(element)
        if text:
            style = element.find(f"{WORD}pPr/{WORD}pStyle")
            outline = element.find(f"{WORD}pPr/{WORD}outlineLvl")
            level = levels.get(style.get(f"{WORD}val", ""), 0) if style is not None else 0
            if outline is not None and (number := outline.get(f"{WORD}val", "9")).isdigit() and int(number) < 9:
                level = int(number) + 1
            yield Block(text, level)
    elif element.tag == f"{WORD}tbl":
        for row in element.iter(f"{WORD}tr"):
            cells = [
                " ".join(filter(None, (_word_text(each) for each in cell.iter(f"{WORD}p"))))
                for cell in row.findall(f"{WORD}tc")
            ]
            if any(cells):
                yield Block(" | ".join(cells))
    elif element.tag != f"{WORD}sectPr":
        for child in element:
            yield from _word_blocks(child, levels)


def _word_text(paragraph: Element) -> str:
    parts = []
    for element in paragraph.iter():
        if element.tag == f"{WORD}t":
            parts.append(element.text or "")
        elif element.tag in {f"{WORD}tab", f"{WORD}br", f"{WORD}cr"}:
            parts.append(" ")
        elif element.tag == f"{WORD}noBreakHyphen":
            parts.append("-")
    return " ".join("".join(parts).split())


def _heading_styles(styles: Element | None) -> dict[str, int]:
    """The styles of headings by their id: ids are in the writer's language, names are not."""
    levels: dict[str, int] = {"Title": 1}
    levels |= {f"Heading{number}": number for number in range(1, 10)}
    for style in styles.iter(f"{WORD}style") if styles is not None else ():
        named = style.find(f"{WORD}name")
        name = named.get(f"{WORD}val", "").lower() if named is not None else ""
        outline = style.find(f"{WORD}pPr/{WORD}outlineLvl")
        if match := re.fullmatch(r"heading (\d)", name):
            levels[style.get(f"{WORD}styleId", "")] = int(match[1])
        elif name == "title":
            levels[style.get(f"{WORD}styleId", "")] = 1
        elif outline is not None and (number := outline.get(f"{WORD}val", "9")).isdigit() and int(number) < 9:
            levels[style.get(f"{WORD}styleId", "")] = int(number) + 1
    return levels


def from_powerpoint(path: Path) -> list[Block]:
    package = _Package(path)
    slides = [
        (int(match[1]), name) for name in package.names if (match := re.fullmatch(r"ppt/slides/slide(\d+)\.xml", name))
    ]
    if not slides:
        raise Unreadable("is not a presentation")
    blocks: list[Block] = []
    for number, name in sorted(slides):
        if (slide := package.xml(name)) is None:
            continue
        for shape in slide.iter(f"{SLIDE}sp"):
            place = shape.find(f"{SLIDE}nvSpPr/{SLIDE}nvPr/{SLIDE}ph")
            is_title = place is not None and place.get("type") in {"title", "ctrTitle"}
            texts = _slide_texts(shape)
            blocks += [Block(" ".join(texts), 2 if blocks else 1, number)] if is_title and texts else []
            blocks += [] if is_title else [Block(text, 0, number) for text in texts]
        for row in slide.iter(f"{DRAWING}tr"):
            cells = [" ".join(_slide_texts(cell)) for cell in row.findall(f"{DRAWING}tc")]
            blocks += [Block(" | ".join(cells), 0, number)] if any(cells) else []
        notes = package.xml(f"ppt/notesSlides/notesSlide{number}.xml")
        blocks += [Block(text, 0, number) for text in (_slide_texts(notes) if notes is not None else [])]
    return blocks


def _slide_texts(element: Element) -> list[str]:
    texts = (
        "".join(run.text or "" for run in paragraph.iter(f"{DRAWING}t")) for paragraph in element.iter(f"{DRAWING}p")
    )
    return [" ".join(text.split()) for text in texts if text.strip()]
