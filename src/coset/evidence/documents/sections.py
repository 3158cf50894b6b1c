"""Documents as blocks (Markdown, plain text, HTML, e-mail) and blocks as sections.

In: the bytes of a file. Out: `Block`s (headings, paragraphs and list items in reading order), cut into `Section`s:
pieces of text under one heading, each with the titles above it. A long stretch is cut between paragraphs, never within
one.
"""

from __future__ import annotations

import email
import email.policy
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from email.message import EmailMessage
from html.parser import HTMLParser

MOST_CHARACTERS = 5_000_000
"""Of one document; what follows is cut off."""
LIST_MARKER = re.compile(r"(?:[-*+•◦▪–]|\(?(?:\d{1,3}(?:\.\d{1,3})*|[a-zA-Z]|[ivxIVX]{1,5})[.)])\s+(?=\S)")
LONGEST_HEADING = 110


@dataclass(frozen=True)
class Block:
    """A heading (`level` 1 to 9) or a piece of text (`level` 0), and the page it stands on where there are pages."""

    text: str
    level: int = 0
    page: int | None = None


class Unreadable(Exception):
    """A document that cannot be read; the text says why, in words that follow the name of the file."""


def decoded(content: bytes) -> str:
    """The text of a file in UTF-8, UTF-16 or a Western single-byte encoding."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = content.decode("utf-16", errors="replace")
    else:
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = content.decode("cp1252", errors="replace")
    if text.count("\0") > len(text) // 1000:
        raise Unreadable("is not a text")
    return text.replace("\0", " ").replace("\r\n", "\n").replace("\r", "\n")[:MOST_CHARACTERS]


def from_markdown(content: bytes) -> list[Block]:
    text = re.sub(r"<!--.*?-->", "", decoded(content), flags=re.DOTALL)
    text = re.sub(r"\A---\n(.*?)\n---\n", r"\1\n\n", text, flags=re.DOTALL)
    blocks: list[Block] = []
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        stripped = line.strip()
        if fence or stripped.startswith(("```", "~~~")):
            if not fence:
                blocks += _paragraphs(lines)
                lines, fence = [], stripped[:3]
            elif stripped.startswith(fence):
                blocks += [Block("\n".join(lines))] if lines else []
                lines, fence = [], ""
            else:
                lines.append(line)
            continue
        if heading := re.match(r"(#{1,6})\s+(.*?)\s*#*$", stripped):
            blocks += _paragraphs(lines)
            lines = []
            blocks.append(Block(_without_marks(heading[2]), len(heading[1])))
        elif re.fullmatch(r"=+|-{3,}", stripped) and len(lines) == 1 and lines[0].strip():
            blocks.append(Block(_without_marks(lines[0].strip()), 1 if stripped[0] == "=" else 2))
            lines = []
        else:
            lines.append(line)
    blocks += _paragraphs(lines)
    return [Block(_without_marks(block.text), block.level) for block in blocks if block.text.strip()]


def from_text(content: bytes) -> list[Block]:
    return blocks_of_lines(decoded(content).split("\n"))


def blocks_of_lines(lines: Sequence[str]) -> list[Block]:
    """Plain text as blocks. Headings are short lines that stand alone, in capitals, numbered, or underlined."""
    lines = _without_comment_marks(lines)
    groups: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            groups[-1].append(line.expandtabs(8).rstrip())
        elif groups[-1]:
            groups.append([])
    blocks: list[Block] = []
    for group in filter(None, groups):
        rest = group
        underlined = len(group) > 1 and re.fullmatch(r"\s*([=\-~_*])\1{2,}\s*", group[1])
        if underlined:
            blocks.append(Block(group[0].strip(), 1 if "=" in group[1] else 2))
            rest = group[2:]
        elif level := _heading_level(group, first=not blocks):
            blocks.append(Block(group[0].strip(), level))
            rest = group[1:]
        blocks += _paragraphs(rest)
    return blocks


def from_html(content: bytes) -> list[Block]:
    reader = _HtmlReader()
    reader.feed(decoded(content))
    reader.close()
    return reader.finish()


def from_email(content: bytes) -> list[Block]:
    message = email.message_from_bytes(content, policy=email.policy.default)
    if not isinstance(message, EmailMessage) or not message.keys():
        raise Unreadable("is not an e-mail")
    head = [Block(str(message.get("subject", "")).strip() or "(no subject)", 1)]
    said = [f"{name}: {message[name]}" for name in ("From", "To", "Date") if message[name]]
    head.append(Block("\n".join(said)))
    body = message.get_body(preferencelist=("plain", "html"))
    if body is None:
        return head
    try:
        text = str(body.get_content())[:MOST_CHARACTERS]
    except (LookupError, ValueError) as error:
        raise Unreadable(f"has a text that cannot be decoded ({error})") from error
    if body.get_content_subtype() == "html":
        return head + from_html(text.encode())
    lines = [line for line in text.replace("\r\n", "\n").split("\n") if not line.lstrip().startswith(">")]
    return head + [Block(block.text, block.level and block.level + 1) for block in blocks_of_lines(lines)]


class _HtmlReader(HTMLParser):
    BLOCKS = frozenset(
        "p div li tr td th table ul ol dl dt dd section article blockquote pre br hr header footer main aside "
        "h1 h2 h3 h4 h5 h6 title body html figure figcaption form".split()
    )
    HIDDEN = frozenset({"script", "style", "template", "noscript", "svg", "nav"})

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[Block] = []
        self.text: list[str] = []
        self.hidden: list[str] = []
        self.level = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in self.HIDDEN:
            self.hidden.append(tag)
        elif tag in {"td", "th"} and self.text:
            self.text.append(" | ")
        elif tag in self.BLOCKS:
            self._flush()
            if re.fullmatch(r"h[1-6]", tag):
                self.level = int(tag[1])

    def handle_endtag(self, tag: str) -> None:
        if self.hidden and tag == self.hidden[-1]:
            self.hidden.pop()
        elif tag in self.BLOCKS and tag not in {"td", "th"}:
            self._flush()

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.text.append(data)

    def _flush(self) -> None:
        text = " ".join("".join(self.text).split()).strip(" |")
        if text:
            self.blocks.append(Block(text, self.level))
        self.text, self.level = [], 0

    def finish(self) -> list[Block]:
        self._flush()
        return self.blocks


def _paragraphs(lines: Iterable[str]) -> Iterator[Block]:
    """Lines as paragraphs: an empty line, a list marker, or a line as far to the left as the first of several that
    stand further in, begins a new one."""
    group: list[str] = []
    for line in [*lines, ""]:
        if line.strip():
            group.append(line.expandtabs(8))
            continue
        if group:
            yield from _items(group)
        group = []


def _items(group: Sequence[str]) -> Iterator[Block]:
    least = min(_indent(line) for line in group)
    hanging = len(group) > 1 and any(_indent(line) > least + 1 for line in group[1:]) and _indent(group[0]) == least
    marked = any(LIST_MARKER.match(line.strip()) for line in group)
    table = all("|" in line for line in group)
    item: list[str] = []
    for line in group:
        begins = table or LIST_MARKER.match(line.strip()) or (hanging and not marked and _indent(line) == least)
        if item and begins:
            yield Block(joined(item))
            item = []
        if not (table and re.fullmatch(r"[\s|:\-]+", line)):
            item.append(line.strip())
    if item:
        yield Block(joined(item))


def joined(lines: Sequence[str]) -> str:
    text = ""
    for line in lines:
        if text.endswith("-") and not text.endswith((" -", "--")) and line[:1].islower():
            text = text[:-1] + line  # A word that was cut at the end of a line.
        else:
            text += (" " if text else "") + line
    return re.sub(r"[ \t]{2,}", "  ", text)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _heading_level(group: Sequence[str], *, first: bool) -> int:
    line = group[0].strip()
    if len(line) > LONGEST_HEADING or line.endswith((".", ";", ",")):
        return 0
    words = re.findall(r"[^\W\d_]{2,}", line)
    if not words or len(words) > 14:
        return 0
    if first:
        return 1
    if line.isupper() and len(words) <= 10 and (len(group) == 1 or not group[1].strip().isupper()):
        return 2
    numbered = re.match(r"(\d{1,2}(?:\.\d{1,2})*)\.?\s+\S", line)
    if len(group) == 1 and numbered and len(words) <= 9:
        return 2 + numbered[1].count(".")
    if len(group) == 1 and (line.endswith(":") or len(words) <= 6) and not LIST_MARKER.match(line):
        return 3 if not re.search(r"\b(is|are|ist|sind|est|sont)\b", line) else 0
    return 0


def _without_comment_marks(lines: Sequence[str]) -> list[str]:
    """The lines without the mark that makes each of them a comment of a program (`*`, `//`, `--`, `#`)."""
    filled = [line for line in lines if line.strip()]
    marks = Counter(match[0] for line in filled if (match := re.match(r"\s*(?:\*|//|--|#|')(?=\s|$)", line)))
    if not marks or len(filled) < 3:
        return list(lines)
    mark, count = marks.most_common(1)[0]
    if count < 0.8 * len(filled):
        return list(lines)
    return [line[len(mark) :] if line.startswith(mark) else line for line in lines]


def _without_marks(text: str) -> str:
    """Markdown without the signs of emphasis, links as their words."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)\s]*\)", r"\1", text)
    text = re.sub(r"(?<!\w)(\*\*|__)(?=\S)(.+?)(?<=\S)\1(?!\w)", r"\2", text)
    return re.sub(r"(?<![\w*])\*(?=\S)([^*]+?)(?<=\S)\*(?![\w*])", r"\1", text)


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
