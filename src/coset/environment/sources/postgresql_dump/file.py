"""The bytes of a plain PostgreSQL dump: decompressed, as UTF-8, read forward in blocks with line numbers.

In: a path. Out: a `Cursor` over UTF-8 bytes that starts anywhere in the file. A plain UTF-8 file is sought in; a
compressed one, or one in another encoding, is read again from its beginning, and offsets are those of the UTF-8 text.

Files that look like a dump but are something else (custom format, tar, MySQL, SQLite) are named and refused here.
Nothing here knows SQL beyond that.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import re
import zlib
from pathlib import Path
from typing import IO, Protocol, cast

BLOCK_BYTES = 4 << 20
_LOOK_AT_BYTES = 1 << 18
_LOOK_AT_PIECE = 1 << 14
_SHORTER = "the file is shorter than it was when its tables were listed"
DAMAGE = (EOFError, zlib.error, lzma.LZMAError, OSError)


class Unreadable(Exception):
    """Why the file cannot be read, in one plain sentence."""


class Stream(Protocol):
    def read(self, size: int, /) -> bytes: ...

    def close(self) -> None: ...


class DumpFile:
    """One dump on disk. Every call of `open` has a file handle of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def stamp(self) -> str:
        """Size and time of the last change. A change that keeps both (a copied time stamp) goes unseen."""
        try:
            status = self.path.stat()
        except FileNotFoundError:
            raise Unreadable(f"there is no file {self.path}") from None
        except OSError as error:
            raise Unreadable(f"{self.path} cannot be read: {error.strerror}") from None
        return f"{status.st_size}-{status.st_mtime_ns}"

    def open(self, offset: int = 0, line: int = 1, block_bytes: int = BLOCK_BYTES) -> Cursor:
        """A cursor at `offset` of the UTF-8 text, which is in line `line`."""
        head, compressed = self._head()
        _refuse_other_formats(self.path, head)
        skip = len(codecs.BOM_UTF8) if head.startswith(codecs.BOM_UTF8) else 0
        codec = _codec(head)
        raw = self._open()
        try:
            if codec is not None:
                return Cursor(_Transcoded(_decompressed(raw), *codec), offset, line, block_bytes, discard=offset)
            if compressed:
                return Cursor(_decompressed(raw), offset, line, block_bytes, discard=offset + skip)
            raw.seek(offset + skip)
            return Cursor(raw, offset, line, block_bytes)
        except BaseException:
            raw.close()
            raise

    def move(self, cursor: Cursor | None, offset: int, line: int, block_bytes: int = BLOCK_BYTES) -> Cursor:
        """The cursor at `offset`: the same one further on where that is cheaper than to start anew."""
        if cursor is not None:
            if not isinstance(cursor.stream, io.BufferedReader) and cursor.offset <= offset:
                cursor.skip_to(offset)
                return cursor
            cursor.close()
        return self.open(offset, line, block_bytes)

    def _head(self) -> tuple[bytes, bool]:
        """The first bytes of the contents, as many as a damaged file gives, and whether they were compressed."""
        if self.path.is_dir():
            self._refuse_directory()
        raw = self._open()
        try:
            stream = _decompressed(raw)
            head = b""
            while len(head) < _LOOK_AT_BYTES and (piece := stream.read(_LOOK_AT_PIECE)):
                head += piece
        except DAMAGE:
            if not head:
                raise Unreadable(f"{self.path} is compressed, but damaged or cut off at its beginning") from None
        finally:
            raw.close()
        return head, stream is not raw

    def _open(self) -> IO[bytes]:
        try:
            return self.path.open("rb")
        except FileNotFoundError:
            raise Unreadable(f"there is no file {self.path}") from None
        except OSError as error:
            raise Unreadable(f"{self.path} cannot be read: {error.strerror}") from None

    def _refuse_directory(self) -> None:
        if (self.path / "toc.dat").exists():
            raise Unreadable(
                f"{self.path} is a dump in directory format; make it plain SQL with "
                f"'pg_restore -f dump.sql {self.path.name}' and name that file"
            )
        raise Unreadable(f"{self.path} is a folder; name the file that pg_dump wrote")


class Cursor:
    """A window on the stream: `buffer`, read from `position` on. `more` lets go of what is behind and reads ahead."""

    def __init__(self, stream: Stream, offset: int, line: int, block_bytes: int, discard: int = 0) -> None:
        self.stream = stream
        self._block_bytes = block_bytes
        self._lines_before = line
        self._offset_before = offset
        self._counted = self._counted_to = 0
        self.buffer = b""
        self.position = 0
        self.at_end = False
        while discard > 0:
            skipped = len(self._read(min(discard, BLOCK_BYTES)))
            if not skipped:
                raise Unreadable(_SHORTER)
            discard -= skipped

    @property
    def offset(self) -> int:
        return self._offset_before + self.position

    @property
    def line(self) -> int:
        return self.line_at(self.position)

    def line_at(self, position: int) -> int:
        # Counted on from where it was asked last, so that asking for every statement costs one count of the file.
        if position < self._counted_to:
            return self._lines_before + self.buffer.count(b"\n", 0, position)
        self._counted += self.buffer.count(b"\n", self._counted_to, position)
        self._counted_to = position
        return self._lines_before + self._counted

    def more(self) -> bool:
        """Drop what lies before `position` and append a further block (at least as much as is kept, so that a long
        statement is not copied over and over). False when the stream has ended."""
        if self.at_end:
            return False
        self._lines_before = self.line
        self._counted = self._counted_to = 0
        self._offset_before += self.position
        kept = self.buffer[self.position :]
        self.buffer, self.position = kept, 0
        block = self._read(max(self._block_bytes, len(kept)))
        self.at_end = not block
        self.buffer = kept + block if kept else block
        return not self.at_end

    def skip_to(self, offset: int) -> None:
        while offset > self._offset_before + len(self.buffer):
            self.position = len(self.buffer)
            if not self.more():
                raise Unreadable(_SHORTER)
        self.position = offset - self._offset_before

    def close(self) -> None:
        self.stream.close()

    def _read(self, size: int) -> bytes:
        try:
            return self.stream.read(size)
        except (*DAMAGE, UnicodeError) as error:
            line = self._lines_before + self.buffer.count(b"\n")
            if isinstance(error, UnicodeError):
                raise Unreadable(f"after line {line} the text is not in the encoding that the dump names") from None
            raise Unreadable(f"the file breaks off or is damaged after line {line}: {error}") from None


class _Decompressed:
    """Bytes from a decompressor that also closes the file beneath it."""

    def __init__(self, decompressor: Stream, raw: IO[bytes]) -> None:
        self._decompressor = decompressor
        self._raw = raw

    def read(self, size: int, /) -> bytes:
        return self._decompressor.read(size)

    def close(self) -> None:
        self._decompressor.close()
        self._raw.close()


class _Transcoded:
    """UTF-8 from a text in another encoding."""

    def __init__(self, stream: Stream, codec: str, errors: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(codec)(errors)
        self._ended = False

    def read(self, size: int, /) -> bytes:
        while not self._ended:
            block = self._stream.read(size)
            self._ended = not block
            text = self._decoder.decode(block, final=self._ended)
            if text:
                return text.encode()
        return b""

    def close(self) -> None:
        self._stream.close()


def _decompressed(raw: IO[bytes]) -> Stream:
    """The contents by the file's first bytes, not by its name; the very file where it is not compressed."""
    magic = raw.read(6)
    raw.seek(0)
    stream: Stream
    if magic.startswith(b"\x1f\x8b"):
        stream = gzip.GzipFile(fileobj=raw)
    elif magic.startswith(b"BZh"):
        stream = bz2.BZ2File(raw)
    elif magic.startswith(b"\xfd7zXZ\x00"):
        stream = lzma.LZMAFile(raw)  # noqa: SIM115 -- closed with the cursor
    elif magic.startswith((b"\x28\xb5\x2f\xfd", b"\x04\x22\x4d\x18")):
        import pyarrow as pa

        codec = "zstd" if magic.startswith(b"\x28") else "lz4"
        stream = cast(Stream, pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), codec))
    else:
        return raw
    return _Decompressed(stream, raw)


_MYSQL = rb"^-- (?:MySQL|MariaDB) dump|^/\*M?!\d+ |^\)[^;\n]*ENGINE ?=|^(?:CREATE|DROP) TABLE (?:IF (?:NOT )?EXISTS )?`"


def _refuse_other_formats(path: Path, head: bytes) -> None:
    if not head.strip(b"\x00 \t\r\n" + codecs.BOM_UTF8):
        raise Unreadable(f"{path} is empty")
    if head.startswith(b"PGDMP"):
        raise Unreadable(
            f"{path} is a dump in pg_dump's custom format; make it plain SQL with "
            f"'pg_restore -f dump.sql {path.name}' and name that file"
        )
    if head[257:262] == b"ustar":
        raise Unreadable(
            f"{path} is a tar archive; make it plain SQL with 'pg_restore -f dump.sql {path.name}' and name that file"
        )
    if head.startswith(b"SQLite format 3\x00"):
        raise Unreadable(f"{path} is an SQLite database; give it the kind 'sqlite'")
    start = head[:65536]
    if b"PostgreSQL database" in start[:4096]:
        return
    if re.search(_MYSQL, start, re.M | re.I):
        raise Unreadable(f"{path} is a MySQL dump; load it into a MySQL server and name that as the source")
    if re.match(rb"\s*(?:--[^\n]*\n\s*)*PRAGMA\s", start, re.I):
        raise Unreadable(f"{path} is an SQLite dump; load it with 'sqlite3 new.db < {path.name}' and name new.db")
    if b"\x00" in start and not start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise Unreadable(f"{path} is not SQL text; name a file written by pg_dump in plain format")


# PostgreSQL's names, without punctuation, where they are not Python's.
_CODECS = {
    "LATIN5": "iso8859-9", "LATIN6": "iso8859-10", "LATIN7": "iso8859-13", "LATIN8": "iso8859-14",
    "LATIN9": "iso8859-15", "LATIN10": "iso8859-16", "EUCCN": "gb2312", "SJIS": "cp932", "SHIFTJIS": "cp932",
    "MSKANJI": "cp932", "BIG5": "cp950", "UHC": "cp949", "KOI8": "koi8-r", "ALT": "cp866", "WIN": "cp1251",
    "ABC": "cp1258", "TCVN": "cp1258", "VSCII": "cp1258",
}  # fmt: skip


def _codec(head: bytes) -> tuple[str, str] | None:
    """Python's codec and how it treats what it cannot decode; None where the bytes are UTF-8 as they are."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16", "strict"
    found = re.search(rb"^(?:SET client_encoding (?:=|TO) '?|\\encoding '?)([\w-]+)", head, re.M | re.I)
    if found is None:
        return None
    name = re.sub(r"[^A-Z0-9]", "", found[1].decode("ascii", "replace").upper())
    if name in {"UTF8", "UNICODE"}:
        return None
    if name == "SQLASCII":
        return "utf-8", _LATIN1_WHERE_NOT_UTF8
    codec = _CODECS.get(name) or re.sub(r"^WIN(?:DOWS)?(?=\d)", "cp", name)
    try:
        return codecs.lookup(codec).name, "strict"
    except LookupError:
        raise Unreadable(
            f"the dump is in the encoding {found[1].decode()}, which cannot be read; make it with 'pg_dump -E UTF8'"
        ) from None


def _byte_as_latin1(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("latin-1"), error.end


# A SQL_ASCII database holds bytes of no stated encoding: what is not UTF-8 is most often Latin-1.
_LATIN1_WHERE_NOT_UTF8 = "coset-latin1-where-not-utf8"
codecs.register_error(_LATIN1_WHERE_NOT_UTF8, _byte_as_latin1)
