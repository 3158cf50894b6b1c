"""PDF files as blocks, by pypdf: lines with their place and size on the page, put together to paragraphs.

In: the path of a `.pdf`. Out: `Block`s. Larger letters than most of the text are a heading; a gap between lines or a
list marker begins a paragraph; lines that stand on most pages are left out. Pictures are not read: a scanned document
has no text and says so.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from coset.errors import MissingDependency
from coset.evidence.documents.text_formats import LIST_MARKER, LONGEST_HEADING, Block, Unreadable, joined

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
