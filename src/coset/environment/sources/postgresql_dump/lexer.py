"""Where the statements and parentheses of a PostgreSQL dump end, found in raw bytes.

In: a `Cursor`. Out: positions in its buffer, which grows until they lie within it. Quotes, dollar quotes, nested
comments, parentheses and SQL function bodies (BEGIN ATOMIC ... END) hide what is inside them.
Nothing here knows what a statement means.
"""

from __future__ import annotations

import re

from coset.environment.sources.postgresql_dump.file import Cursor, Unreadable

_BLANK = re.compile(rb"(?:\s++|--[^\n]*+\n)*+")
_BLOCK_COMMENT_PART = re.compile(rb"/\*|\*/")


class TooLong(Exception):
    """Something that has to be held as a whole is larger than the limit."""

    def __init__(self, line: int) -> None:
        super().__init__(f"line {line}")
        self.line = line


def _pieces(backslash_escapes: bool) -> re.Pattern[bytes]:
    string = rb"'(?:[^'\\]|\\.)*+'" if backslash_escapes else rb"'[^']*+'"
    return re.compile(
        rb"""
        (?P<plain>[^'"$;()/\-A-Za-z_\x80-\xff]++)
        |(?P<escape>[eE]'(?:[^'\\]|\\.)*+')
        |(?P<word>(?![eE]')[A-Za-z_\x80-\xff][A-Za-z0-9_$\x80-\xff]*+)
        |(?P<string>"""
        + string
        + rb""")
        |(?P<quoted>"[^"]*+")
        |(?P<dollar>(?P<tag>\$(?:[A-Za-z_\x80-\xff][A-Za-z0-9_\x80-\xff]*+)?\$).*?(?P=tag))
        |(?P<comment>--[^\n]*+)
        |(?P<block>/\*)
        |(?P<open>\()|(?P<close>\))|(?P<end>;)
        |(?P<other>[-/]|\$(?!(?:[A-Za-z_\x80-\xff][A-Za-z0-9_\x80-\xff]*+)?\$))
        """,
        re.X | re.S,
    )


_STANDARD_PIECES = _pieces(backslash_escapes=False)
_ESCAPING_PIECES = _pieces(backslash_escapes=True)


def skip_blanks(cursor: Cursor) -> bool:
    """Move past blanks and comments to what comes next; False at the end of the file."""
    while True:
        match = _BLANK.match(cursor.buffer, cursor.position)
        cursor.position = match.end() if match else cursor.position
        rest = len(cursor.buffer) - cursor.position
        # A comment needs its newline to be recognised, so what looks like one must not be cut off.
        if rest < 2 or cursor.buffer.startswith(b"--", cursor.position):
            if not cursor.more():
                if cursor.buffer.startswith(b"--", cursor.position):
                    cursor.position = len(cursor.buffer)
                return cursor.position < len(cursor.buffer)
        elif cursor.buffer.startswith(b"/*", cursor.position):
            line = cursor.line
            while (end := _end_of_comment(cursor.buffer, cursor.position)) is None:
                if not cursor.more():
                    raise Unreadable(f"the comment that starts in line {line} does not end: the file is cut off")
            cursor.position = end
        else:
            return True


def end_of_statement(cursor: Cursor, backslash_escapes: bool, longest: int) -> int:
    """The position behind the semicolon that ends the statement at the cursor's position."""
    return _end(cursor, backslash_escapes, longest, b";")


def end_of_parentheses(cursor: Cursor, backslash_escapes: bool, longest: int) -> int:
    """The position behind the parenthesis that closes the one at the cursor's position."""
    return _end(cursor, backslash_escapes, longest, b")")


def _end(cursor: Cursor, backslash_escapes: bool, longest: int, closing: bytes) -> int:
    while True:
        end = _end_within(cursor.buffer, cursor.position, cursor.at_end, backslash_escapes, closing)
        if end is not None:
            return end
        if len(cursor.buffer) - cursor.position > longest:
            raise TooLong(cursor.line)
        if not cursor.more():
            # Once more with the knowledge that nothing follows.
            end = _end_within(cursor.buffer, cursor.position, True, backslash_escapes, closing)
            if end is None:
                raise Unreadable(
                    f"the statement that starts in line {cursor.line} has no end: the file is cut off "
                    f"in line {cursor.line_at(len(cursor.buffer))}"
                )
            return end


def _end_within(buffer: bytes, start: int, at_end: bool, backslash_escapes: bool, closing: bytes) -> int | None:
    pieces = _ESCAPING_PIECES if backslash_escapes else _STANDARD_PIECES
    position, depth, atomic, word_before = start, 0, 0, b""
    while position < len(buffer):
        match = pieces.match(buffer, position)
        if match is None:
            return None  # an open quote
        kind, position = match.lastgroup, match.end()
        if kind == "block":
            end = _end_of_comment(buffer, match.start())
            if end is None:
                return None
            position = end
        elif kind == "open":
            depth += 1
        elif kind == "close":
            depth -= 1
            if depth == 0 and closing == b")":
                return position
        elif kind == "end":
            if depth <= 0 and not atomic and closing == b";":
                return position
        elif position == len(buffer) and not at_end:
            return None  # the piece may go on in the next block
        elif kind == "word":
            word = match[0].lower()
            if word == b"atomic" and word_before == b"begin":
                atomic = 1
            elif atomic:
                atomic += (word in {b"case", b"begin"}) - (word == b"end")
            word_before = word
    return None


def _end_of_comment(buffer: bytes, start: int) -> int | None:
    depth = 0
    for part in _BLOCK_COMMENT_PART.finditer(buffer, start):
        depth += 1 if part[0] == b"/*" else -1
        if depth == 0:
            return part.end()
    return None
