"""Cuts a document into sections: pieces of text under one heading, each with the titles above it.

In: blocks. Out: `Section`s in reading order. A long stretch is cut between paragraphs, never within one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from coset.evidence.documents.text_formats import Block

LONGEST_SECTION = 2_000
"""Characters; a single longer paragraph is a section of its own."""


@dataclass(frozen=True)
class Section:
    """`paragraphs` are apart, because a rule or a list item is never half of one."""

    title_path: tuple[str, ...]
    position: int
    paragraphs: tuple[str, ...]
    page: int | None = None

    @property
    def text(self) -> str:
        return "\n".join(self.paragraphs)


def cut(blocks: Sequence[Block], file_name: str) -> list[Section]:
    """The sections of a document. Its title is its first heading when it begins with one, else its file's name."""
    sections: list[Section] = []
    titles: list[tuple[int, str]] = []
    texts: list[str] = []
    page: int | None = None

    def close() -> None:
        nonlocal texts
        path = tuple(title for _, title in titles) or (title_of_file(file_name),)
        for some in _pieces(texts):
            sections.append(Section(path, len(sections), tuple(some), page))
        texts = []

    for block in blocks:
        text = block.text.strip()
        if not text:
            continue
        if block.level:
            close()
            titles = [each for each in titles if each[0] < block.level]
            titles.append((block.level, re.sub(r"\s+", " ", text)))
            page = block.page
        else:
            page = page if texts else block.page or page
            texts.append(text)
    close()
    if not sections and titles:
        sections.append(Section(tuple(title for _, title in titles), 0, (), page))
    return sections


def title_of_file(name: str) -> str:
    return re.sub(r"[_\s]+", " ", name.rsplit(".", 1)[0]).strip() or name


def _pieces(texts: Sequence[str]) -> list[list[str]]:
    pieces: list[list[str]] = []
    size = 0
    for text in texts:
        if not pieces or size + len(text) > LONGEST_SECTION:
            pieces.append([])
            size = 0
        pieces[-1].append(text)
        size += len(text)
    return pieces
