"""The characters of a text file: unpacking it, finding its encoding, and copying it as plain UTF-8.

In: a path, plain or compressed. Out: its beginning as text with the name of its encoding, or a copy that DuckDB's
readers take. An encoding is known by a byte order mark, else UTF-8 if that fits, else Windows-1252 (with Latin-1 for
the bytes it leaves open). Nothing here knows about columns or tables.
"""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, cast

from coset.environment.sources.files.layout import TooLarge, Unreadable

HEAD_BYTES = 1 << 16
LONGEST_HEAD_BYTES = 1 << 24
_CHUNK = 1 << 20
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
WINDOWS = "cp1252"
"""What text is taken for when it is not Unicode; its five open bytes are read as Latin-1."""


def _as_latin_1(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error("coset-latin-1", _as_latin_1)


@dataclass(frozen=True)
class Head:
    text: str
    encoding: str
    """As Python names it; "utf-8" is what DuckDB reads without a copy."""
    is_all: bool


def unpacked(path: Path, compression: str) -> IO[bytes]:
    """The file's bytes, decompressed while they are read."""
    if compression == "gzip":
        return cast("IO[bytes]", gzip.open(path, "rb"))
    if compression == "zstd":
        import pyarrow as pa

        return cast("IO[bytes]", io.BufferedReader(pa.CompressedInputStream(pa.OSFile(str(path)), "zstd")))
    return path.open("rb")


def head(path: Path, compression: str, size: int) -> Head:
    """The first `size` bytes as text."""
    try:
        with unpacked(path, compression) as stream:
            start = stream.read(size)
            is_all = not stream.read(1)
    except FileNotFoundError:
        raise
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or f"its {compression} data is damaged"
        raise Unreadable(f"cannot be opened ({reason.lower()})") from None
    encoding = _encoding(start, is_all)
    decoder = codecs.getincrementaldecoder(encoding)("coset-latin-1" if encoding == WINDOWS else "replace")
    return Head(decoder.decode(start, is_all), encoding, is_all)


def last_line_bytes(path: Path, compression: str, most: int) -> int:
    """How many bytes the last line has; `most` when there are at least so many."""
    length, ended = 0, False  # bytes since the last line end, and whether another one followed it
    try:
        with unpacked(path, compression) as stream:
            if compression == "none":
                stream.seek(max(0, path.stat().st_size - most - _CHUNK))
            for chunk in _chunks(stream):
                body = chunk.rstrip(b"\r\n")
                if not body:
                    ended = True
                    continue
                end = max(body.rfind(b"\n"), body.rfind(b"\r"))
                length = len(body) - end - 1 if end >= 0 else (0 if ended else length) + len(body)
                ended = len(body) < len(chunk)
    except FileNotFoundError:
        raise
    except (OSError, EOFError, zlib.error):
        raise Unreadable(f"cannot be opened (its {compression} data is damaged)") from None
    return min(length, most)


def _encoding(start: bytes, is_all: bool) -> str:
    for mark, name in _MARKS:
        if start.startswith(mark):
            return name
    even, odd = start[0:4096:2], start[1:4096:2]
    if len(odd) > 4 and odd.count(0) > len(odd) * 0.4 and even.count(0) < len(even) * 0.05:
        return "utf-16-le"
    if len(even) > 4 and even.count(0) > len(even) * 0.4 and odd.count(0) < len(odd) * 0.05:
        return "utf-16-be"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start, is_all)
    except UnicodeDecodeError:
        return WINDOWS
    return "utf-8"


def check_not_damaged_utf8(path: Path, compression: str) -> None:
    """Refuses a file that is UTF-8 but for some bytes: read as Windows-1252, all its other letters would be wrong."""
    damaged = 0

    def count(error: UnicodeError) -> tuple[str, int]:
        nonlocal damaged
        damaged += 1
        return "", cast("UnicodeDecodeError", error).end

    codecs.register_error("coset-count", count)
    decoder = codecs.getincrementaldecoder("utf-8")("coset-count")
    sound = 0
    with unpacked(path, compression) as stream:
        for chunk in _chunks(stream):
            text = decoder.decode(chunk)
            sound += len(text) - len(text.encode("ascii", "ignore"))
    if sound > damaged:
        raise Unreadable(f"is UTF-8 text with {damaged} damaged character{'s' if damaged > 1 else ''}")


def copy_as_utf8(
    path: Path, compression: str, encoding: str, target: Path, *, one_line_end: bool, most_bytes: int
) -> None:
    """Writes the file as uncompressed UTF-8 without a mark, in bounded memory and on bounded disk. With `one_line_end`,
    all lines outside quotes end in a line feed."""
    errors = "coset-latin-1" if encoding == WINDOWS else "strict"
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    line_ends = _LineEnds()
    try:
        with unpacked(path, compression) as stream, target.open("wb") as copy:
            for chunk in chain(_chunks(stream), [b""]):
                text = decoder.decode(chunk, not chunk)
                copy.write((line_ends.unify(text) if one_line_end else text).encode("utf-8", "replace"))
                if copy.tell() > most_bytes:
                    raise TooLarge(f"unpacks to more than {most_bytes:,} bytes, the limit snapshot_bytes")
    except UnicodeDecodeError as error:
        raise Unreadable(f"is not valid {encoding.upper()} text ({error.reason})") from None


class _LineEnds:
    """Turns CR LF and CR into LF outside quotes, chunk by chunk."""

    def __init__(self) -> None:
        self.quoted = False
        self.held = ""

    def unify(self, text: str) -> str:
        is_last, text, self.held = not text, self.held + text, ""
        if text.endswith("\r") and not is_last:  # its line feed may come with the next chunk
            text, self.held = text[:-1], "\r"
        pieces = text.split('"')
        for index, piece in enumerate(pieces):
            if (index % 2 == 1) == self.quoted:
                pieces[index] = piece.replace("\r\n", "\n").replace("\r", "\n")
        self.quoted ^= len(pieces) % 2 == 0
        return '"'.join(pieces)


def _chunks(stream: IO[bytes]) -> Iterator[bytes]:
    while chunk := stream.read(_CHUNK):
        yield chunk
