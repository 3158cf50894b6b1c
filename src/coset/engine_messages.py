"""What engines and drivers say of an error, without what they quote of the data.

In: a message, and the text whose words may be told: the statement, the names of a table. Out: the message in one line,
in which quoted text and numbers that do not stand there are left out. Every message of an engine that goes into one of
ours passes here, since a value that could not be read is a value of the data.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coset.environment.source import Table

HIDDEN = "[...]"
CONVERSIONS = {"ConversionException", "InvalidInputException", "OutOfRangeException", "TypeMismatchException"}
"""Errors in which DuckDB tells what it was about to convert, with and without quotes."""
_WORDS = """
    a according addition and argument as at backslash bad base64 be because bigint bit blob bool boolean bracket
    byte can cannot cast casting char character class closing column conversion convert could date day dd decimal
    decode destination did digit division does double encountered enum error escape exceeds expected expression
    extract failed field float for format found from function group hex hour hugeint in input int int128 int16
    int32 int64 int8 integer interval into invalid is it json length list malformed map match mean minute missing
    mm month multiple multiplication must name near negative not null number of operator or out overflow parse
    path perl position range real recognized regular repetition required requires scale second smallint source
    specifier string struct subtraction t than that the time timestamp tinyint to too trailing type ubigint
    uhugeint uint16 uint32 uint64 uint8 uinteger unexpected unhandled union unmatched use using usmallint utinyint
    uuid value varchar when while width with without year yyyy zero
"""
MESSAGE_WORDS = frozenset(_WORDS.split())
"""The words of DuckDB's own messages about conversions."""
_QUOTES = {"'": "'", '"': '"', "`": "`", "“": "”", "‘": "’", "«": "»"}
_NUMBER = re.compile(r"(?<![\w.-])[-+]?\d[\d.,:eE+-]*(?![\w])")


def in_words(error: BaseException, known: str = "") -> str:
    """The first line of an error without values."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    kind = type(error).__name__
    return without_values(lines[0] if lines else kind, known, kind)


def without_values(message: str, known: str = "", kind: str = "") -> str:
    """A message without values of the data; `kind` is the class of the error, where it is one of DuckDB's."""
    words = set(re.findall(r"\w+", known.lower()))
    text = _by_words(message, MESSAGE_WORDS | words) if kind in CONVERSIONS else _by_quotes(message, words)
    return re.sub(rf"{re.escape(HIDDEN)}(?:\s*{re.escape(HIDDEN)})+", HIDDEN, text)


def names_in(table: Table | None) -> str:
    """What may be told of a table: its name and those of its columns."""
    return " ".join((table.qualified_name, *(column.name for column in table.columns))) if table is not None else ""


def _by_words(message: str, known: set[str] | frozenset[str]) -> str:
    return " ".join(
        word if all(part in known for part in re.findall(r"\w+", word.lower())) else HIDDEN for word in message.split()
    )


def _by_quotes(message: str, known: set[str]) -> str:
    """Quoted text that is not known goes to the last quote of its kind: a value may have quotes inside."""
    found, place = "", 0
    while place < len(message):
        letter = message[place]
        begins = letter in _QUOTES and not (letter == "'" and place and message[place - 1].isalnum())
        if not begins:
            found, place = found + letter, place + 1
            continue
        closing = _QUOTES[letter]
        end = message.find(closing, place + 1)
        inside = message[place + 1 : end] if end > 0 else message[place + 1 :]
        if end > 0 and all(part in known for part in re.findall(r"\w+", inside.lower())):
            found, place = found + message[place : end + 1], end + 1
            continue
        last = message.rfind(closing, place + 1)
        found, place = found + HIDDEN, last + 1 if last > 0 else len(message)
    return _NUMBER.sub(lambda number: number[0] if number[0].strip("+-.,").lower() in known else HIDDEN, found)
