r"""The rows of a PostgreSQL dump as columns of text: COPY blocks and INSERT statements.

In: a `Cursor` that stands where rows begin. Out: for COPY, stretches of whole lines, split by pyarrow's CSV reader
(COPY's text format has a tab or a line break only between values, so the split needs no unescaping); for INSERT,
tuples of literals. Both end as Arrow arrays of text, NULL where the dump has NULL.
Nothing here knows types or tables.
"""

from __future__ import annotations

import codecs
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from coset.environment.sources.postgresql_dump.definitions import Malformed, Name, Tokens, parse_literal, tokenize
from coset.environment.sources.postgresql_dump.file import Cursor, Unreadable
from coset.environment.sources.postgresql_dump.lexer import TooLong, end_of_parentheses

# --- COPY -----------------------------------------------------------------------------------------------------------

_ESCAPED_CONTROL = re.compile(rb"\\(.)", re.S)
_CONTROL_LETTERS = {b"\t": b"\\t", b"\n": b"\\n", b"\r": b"\\r"}


class CopyLines:
    """The lines of one COPY block, in stretches of a block of the file; afterwards the cursor stands behind the block.

    A line longer than `longest` raises `TooLong`, or with `skip_longer` is passed over and noted in `longer_line`.
    """

    def __init__(self, cursor: Cursor, longest: int, skip_longer: bool = False) -> None:
        self._cursor = cursor
        self._longest = longest
        self._skip_longer = skip_longer
        self.longer_line: int | None = None

    def __iter__(self) -> Iterator[bytes]:
        """Whole lines, each with its line break."""
        cursor = self._cursor
        begins = cursor.line
        while True:
            buffer, start = cursor.buffer, cursor.position
            end, ended = self._last_line(buffer, start)
            if end > start:
                chunk = buffer[start:end]
                # The position moves before the yield, so that whoever stops reading leaves the cursor consistent.
                cursor.position = end
                yield _normalized(chunk)
            if ended:
                following = cursor.buffer.find(b"\n", cursor.position)
                cursor.position = len(cursor.buffer) if following < 0 else following + 1
                return
            if end == start and len(buffer) - start > self._longest:
                self._pass_over_line()
            elif not cursor.more():
                if re.fullmatch(rb"\\\.\r?", cursor.buffer[cursor.position :]):
                    cursor.position = len(cursor.buffer)
                    return
                raise Unreadable(
                    f"the COPY block that starts in line {begins} has no end marker '\\.': the file is cut off "
                    f"in line {cursor.line_at(len(cursor.buffer))}; make the dump again"
                )

    @staticmethod
    def _last_line(buffer: bytes, start: int) -> tuple[int, bool]:
        """Where the last whole line within the buffer ends, and whether the end marker follows it."""
        if buffer.startswith((b"\\.\n", b"\\.\r\n"), start):
            return start, True
        search = start
        while (marker := buffer.find(b"\n\\.", search)) >= 0:
            if buffer.startswith((b"\n", b"\r\n"), marker + 3):
                return marker + 1, True
            search = marker + 1
        end = buffer.rfind(b"\n", start) + 1
        while end > start and _escaped(buffer, end - 1):
            end = buffer.rfind(b"\n", start, end - 1) + 1
        return max(end, start), False

    def _pass_over_line(self) -> None:
        cursor = self._cursor
        if not self._skip_longer:
            raise TooLong(cursor.line)
        self.longer_line = self.longer_line or cursor.line
        while (end := cursor.buffer.find(b"\n", cursor.position)) < 0:
            cursor.position = len(cursor.buffer)
            if not cursor.more():
                return
        cursor.position = end + 1


def _escaped(buffer: bytes, position: int) -> bool:
    """Whether an odd number of backslashes stands before `position`."""
    first = position
    while first > 0 and buffer[first - 1] == 0x5C:
        first -= 1
    return (position - first) % 2 == 1


def _normalized(chunk: bytes) -> bytes:
    """Line breaks and tabs escaped as themselves (some converters do that) become letters, as pg_dump writes them."""
    if b"\\" in chunk and any(_may_be_escaped(chunk, control) for control in _CONTROL_LETTERS):
        return _ESCAPED_CONTROL.sub(lambda match: _CONTROL_LETTERS.get(match[1], match[0]), chunk)
    return chunk


def _may_be_escaped(chunk: bytes, control: bytes) -> bool:
    """Whether an odd number of backslashes may stand before `control`; two are a value that ends with a backslash."""
    one = chunk.count(b"\\" + control)
    return one > 0 and (chunk.count(b"\\\\" + control) < one or b"\\\\\\" + control in chunk)


_PARSE = pyarrow.csv.ParseOptions(
    delimiter="\t",
    quote_char=False,
    double_quote=False,
    escape_char=False,
    newlines_in_values=False,
    ignore_empty_lines=False,
)
_PARALLEL_BYTES = 1 << 20


def split_copy_lines(chunk: bytes, width: int, wanted: Sequence[int], first_line: int) -> dict[int, pa.Array]:
    """The wanted columns (by their place among `width`) of whole lines, as text without escapes."""
    if width > 1 and (chunk.startswith(b"\n") or b"\n\n" in chunk):
        empty = 0 if chunk.startswith(b"\n") else chunk.count(b"\n", 0, chunk.index(b"\n\n") + 1)
        raise Unreadable(f"line {first_line + empty} is empty where a row of {width} values should stand")
    names = [str(place) for place in range(width)]
    convert = pyarrow.csv.ConvertOptions(
        column_types={name: pa.string() for name in names},
        null_values=["\\N"],
        strings_can_be_null=True,
        include_columns=[str(place) for place in wanted],
    )
    try:
        columns = _read_csv(chunk, names, convert, _PARALLEL_BYTES)
    except pa.ArrowInvalid:
        try:  # perhaps only because a row is longer than what one thread gets
            columns = _read_csv(chunk, names, convert, len(chunk) + 16)
        except pa.ArrowInvalid as error:
            raise _bad_line(chunk, width, first_line, error) from None
    arrays = {place: _one_array(columns.column(index)) for index, place in enumerate(wanted)}
    if b"\\" in chunk and chunk.count(b"\\") != chunk.count(b"\\N"):
        clean = b"\x00" not in chunk
        arrays = {place: _unescape_copy(array, clean) for place, array in arrays.items()}
    return arrays


def _read_csv(chunk: bytes, names: list[str], convert: pa.csv.ConvertOptions, block_bytes: int) -> pa.Table:
    # The CSV reader takes a byte order mark away, also where it is the first character of a value.
    data = codecs.BOM_UTF8 + chunk if chunk.startswith(codecs.BOM_UTF8) else chunk
    read = pyarrow.csv.ReadOptions(column_names=names, block_size=block_bytes, use_threads=len(chunk) > block_bytes)
    return pyarrow.csv.read_csv(pa.BufferReader(data), read, _PARSE, convert)


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    combined = column.combine_chunks()
    return combined.chunk(0) if isinstance(combined, pa.ChunkedArray) else combined


def _bad_line(chunk: bytes, width: int, first_line: int, error: Exception) -> Unreadable:
    """The line at which the CSV reader gave up, found again slowly."""
    for number, line in enumerate(chunk.splitlines() if b"\r" in chunk else chunk.split(b"\n")[:-1]):
        found = line.count(b"\t") + 1
        if found != width:
            return Unreadable(f"line {first_line + number} has {found} values where the table has {width} columns")
        try:
            line.decode()
        except UnicodeDecodeError:
            return Unreadable(f"line {first_line + number} is not UTF-8 text, though the dump should be")
    return Unreadable(f"rows after line {first_line} cannot be read: {error}")


_COPY_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))", re.S)
_COPY_LETTERS = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
_BACKSLASH = "\\"
_STAND_IN = "\x00"


def _unescape_copy(values: pa.Array, clean: bool) -> pa.Array:
    """`clean`: no value has a zero character, which PostgreSQL's text never has, so it can stand for a backslash."""
    if not pc.any(pc.match_substring(values, _BACKSLASH)).as_py():
        return values
    if clean:
        result = pc.replace_substring(values, _BACKSLASH * 2, _STAND_IN)
        for letter, control in _COPY_LETTERS.items():
            result = pc.replace_substring(result, _BACKSLASH + letter.decode(), control.decode())
        if not pc.any(pc.match_substring(result, _BACKSLASH)).as_py():
            return pc.replace_substring(result, _STAND_IN, _BACKSLASH)
    return pa.array([None if text is None else _unescape_value(text) for text in values.to_pylist()], pa.string())


def _unescape_value(text: str) -> str:
    if _BACKSLASH not in text:
        return text
    return _COPY_ESCAPE.sub(_copy_character, text.encode()).decode("utf-8", "replace")


def _copy_character(match: re.Match[bytes]) -> bytes:
    if match[1]:
        return bytes([int(match[1], 8) & 0xFF])
    if match[2]:
        return bytes([int(match[2], 16)])
    return _COPY_LETTERS.get(match[3], match[3])


# --- INSERT ---------------------------------------------------------------------------------------------------------

_IDENTIFIER = rb'(?:"(?:[^"]|"")*"|[A-Za-z_\x80-\xff][A-Za-z0-9_$\x80-\xff]*)'
_HEADER = re.compile(
    rb"INSERT\s+INTO\s+(?P<name>" + _IDENTIFIER + rb"(?:\s*\.\s*" + _IDENTIFIER + rb")*)\s*"
    rb'(?P<columns>\((?:"[^"]*"|[^"()])*\))?\s*'
    rb"(?:OVERRIDING\s+(?:SYSTEM|USER)\s+VALUE\s*)?VALUES(?![A-Za-z0-9_])",
    re.I,
)
_NO_CONFLICT = rb"(?:ON\s+CONFLICT\s+DO\s+NOTHING\s*+)?"
_SEPARATOR = re.compile(rb"\s*+(?:(?P<comma>,)|" + _NO_CONFLICT + rb"(?P<end>;))", re.I)
_BARE = rb"[-+]?[0-9.][0-9A-Za-z.+-]*+|NULL|true|false|DEFAULT|null|TRUE|FALSE|default"
NULL_WORDS = (b"NULL", b"null")
DEFAULT_WORDS = (b"DEFAULT", b"default")
_QUOTE = ord("'")
_BATCH_ROWS = 20_000
_BATCH_BYTES = 8 << 20
_BLANKS = re.compile(rb"\s*+")
_HEADER_BYTES = 1 << 20


@dataclass(frozen=True)
class InsertHeader:
    """INSERT INTO name (columns) VALUES, and the same as written."""

    written: bytes
    name: Name
    columns: tuple[str, ...] | None


class InsertRows:
    """Reads INSERT statements one run at a time: a run is statements that begin with the very same words."""

    def __init__(self, cursor: Cursor, backslash_escapes: bool, longest: int) -> None:
        self._cursor = cursor
        self._backslash_escapes = backslash_escapes
        self._longest = longest
        self._widths: dict[bytes, int] = {}

    def header(self) -> InsertHeader | None:
        """What stands at the cursor, which moves behind VALUES; None where it is not INSERT ... VALUES."""
        cursor = self._cursor
        while len(cursor.buffer) - cursor.position < _HEADER_BYTES and cursor.more():
            pass
        match = _HEADER.match(cursor.buffer, cursor.position)
        if match is None:
            return None
        cursor.position = match.end()
        return _parsed_header(match[0], match["name"], match["columns"])

    def width(self, header: InsertHeader) -> int:
        """How many values a row has. The cursor stands behind VALUES and stays there."""
        if header.written not in self._widths:
            _, self._widths[header.written], _ = self._slow_row((), lenient=True)
        return self._widths[header.written]

    def rows(
        self, header: InsertHeader, wanted: tuple[int, ...], lenient: bool = False
    ) -> Iterator[list[tuple[bytes, ...]]]:
        """The wanted literals of each row, as written, in batches; the cursor then stands behind a semicolon.
        `wanted` is in ascending order. `lenient`: a value that only a server can evaluate is NULL, not an error."""
        cursor = self._cursor
        batch: list[tuple[bytes, ...]] = []
        begun = cursor.offset
        first = True
        while True:
            width = self._widths.get(header.written)
            if width is not None:
                match_row = _row_pattern(header.written, width, wanted, self._backslash_escapes).match
                buffer, position, stop = cursor.buffer, cursor.position, cursor.position + _BATCH_BYTES
                if not first:
                    while position < stop and (match := match_row(buffer, position)):
                        batch.append(match.groups())
                        position = match.end()
                    cursor.position = position
                if len(batch) >= _BATCH_ROWS or cursor.offset - begun >= _BATCH_BYTES:
                    yield batch
                    batch, begun = [], cursor.offset
                if position >= stop:
                    continue
            if len(cursor.buffer) - cursor.position < len(header.written) + 256 and cursor.more():
                continue
            if not first:
                separator = _SEPARATOR.match(cursor.buffer, cursor.position)
                if separator is None:
                    raise Unreadable(
                        f"the INSERT statement in line {cursor.line} goes on in a way that only a server can read"
                        if cursor.position < len(cursor.buffer)
                        else f"the INSERT statement that ends the file in line {cursor.line} is cut off"
                    )
                cursor.position = separator.end()
                if separator["end"]:
                    break
            row, found, end = self._slow_row(wanted, lenient)
            if found != self._widths.setdefault(header.written, found):
                raise Unreadable(
                    f"the row in line {cursor.line} has {found} values, those before it {self._widths[header.written]}"
                )
            cursor.position = end
            batch.append(row)
            first = False
        yield batch

    def _slow_row(self, wanted: tuple[int, ...], lenient: bool) -> tuple[tuple[bytes, ...], int, int]:
        """One row in any form (casts, E'' strings, ARRAY[...]), how many values it has, and where it ends."""
        cursor = self._cursor
        while True:
            blank = _BLANKS.match(cursor.buffer, cursor.position)
            cursor.position = blank.end() if blank else cursor.position
            if cursor.position < len(cursor.buffer) or not cursor.more():
                break
        if not cursor.buffer.startswith(b"(", cursor.position):
            raise Unreadable(f"the INSERT statement in line {cursor.line} is cut off or not of the form VALUES (...)")
        end = end_of_parentheses(cursor, self._backslash_escapes, self._longest)
        try:
            text = cursor.buffer[cursor.position : end].decode()
        except UnicodeDecodeError:
            raise Unreadable(f"the row in line {cursor.line} is not UTF-8 text, though the dump should be") from None
        tokens = Tokens(tokenize(text, self._backslash_escapes))
        tokens.expect("(")
        row: dict[int, bytes] = {}
        place = 0
        while tokens.left:
            start = tokens.position
            if tokens.accept("default"):
                row[place] = DEFAULT_WORDS[0]
            else:
                try:
                    literal = parse_literal(tokens)
                except Malformed:
                    literal = None
                if literal is not None and (tokens.at(",") or tokens.at(")")):
                    row[place] = _written_literal(literal.value)
                else:
                    tokens.position = start
                    shown = tokens.peek().value
                    tokens.skip_item()
                    if place in wanted and not lenient:
                        raise Unreadable(
                            f"in line {cursor.line}, value {place + 1} ('{shown[:40]}...') can only be evaluated by a "
                            "server; load the file into PostgreSQL and name that as the source"
                        )
            place += 1
            if not tokens.accept(","):
                break
        return tuple(row.get(index, NULL_WORDS[0]) for index in wanted), place, end


def _written_literal(value: str | None) -> bytes:
    return NULL_WORDS[0] if value is None else b"'" + value.encode().replace(b"'", b"''") + b"'"


@functools.lru_cache(maxsize=4096)
def _parsed_header(written: bytes, name: bytes, columns: bytes | None) -> InsertHeader:
    try:
        named = Tokens(tokenize(name.decode())).name()
        listed = None if columns is None else Tokens(tokenize(columns.decode())).identifiers()
    except (Malformed, UnicodeDecodeError) as error:
        raise Unreadable(f"'{written[:60].decode(errors='replace')}...' cannot be read: {error}") from None
    return InsertHeader(written, named, listed)


@functools.lru_cache(maxsize=256)
def _row_pattern(header: bytes, width: int, wanted: tuple[int, ...], backslash_escapes: bool) -> re.Pattern[bytes]:
    """A further row of the run: behind a comma, or behind a semicolon and the same header. Only literals as pg_dump
    writes them; whatever else stands in a row does not match, and is read slowly."""
    inside = rb"[^'\\]" if backslash_escapes else rb"[^']"
    value = rb"'" + inside + rb"*+(?:''" + inside + rb"*+)*+'|" + _BARE
    values = [(rb"(" if place in wanted else rb"(?:") + value + rb")" for place in range(width)]
    return re.compile(
        rb"\s*+(?:,|"
        + _NO_CONFLICT
        + rb";\s*+"
        + re.escape(header)
        + rb")\s*+\(\s*+"
        + rb"\s*+,\s*+".join(values)
        + rb"\s*+\)"
    )


def literals_to_text(literals: Sequence[bytes], defaults: Mapping[bytes, bytes | None]) -> pa.Array:
    """Literals as written, as text. `defaults` says what the words NULL and DEFAULT stand for."""
    plain = [literal[1:-1] if literal[0] == _QUOTE else defaults.get(literal, literal) for literal in literals]
    try:
        values = pa.array(plain, pa.string())
    except pa.ArrowInvalid:
        raise Unreadable("a value is not UTF-8 text, though the dump should be") from None
    if pc.any(pc.match_substring(values, "''")).as_py():
        values = pc.replace_substring(values, "''", "'")
    return values
