"""The few text functions that help to check an answer: clean it, cut it, tell how far it is from another."""

from __future__ import annotations

from coset.errors import UserError
from coset.session.calculator.arithmetic import quotient
from coset.session.calculator.functions.signature import Group, Items, Number, Text, Value
from coset.session.calculator.values import MAX_TEXT, format_value, spend, too_long

TEXTS = Group.named("Texts")


@TEXTS.function
def lower(text: Text) -> Value:
    """The text in small letters.

    lower("ABC") = abc
    """
    return text.lower()


@TEXTS.function
def upper(text: Text) -> Value:
    """The text in capital letters.

    upper("abc") = ABC
    """
    return text.upper()


@TEXTS.function
def trim(text: Text) -> Value:
    """The text without white space at its ends.

    trim("  a b ") = a b
    """
    return text.strip()


@TEXTS.function
def length(text: Text) -> Number:
    """How many characters the text has.

    length("abc") = 3
    """
    return len(text)


@TEXTS.function
def concat(parts: Items) -> Value:
    """The values written one after another.

    concat("Q", 3, "/", 2024) = Q3/2024
    """
    written: list[str] = []
    size = 0
    for part in parts:
        written.append(format_value(part))
        size += len(written[-1])
        spend(1 + len(written[-1]) // 20)
        if size > MAX_TEXT:
            raise too_long()
    return "".join(written)


@TEXTS.function
def replace(text: Text, old: Text, new: Text) -> Value:
    """The text with every `old` replaced by `new`.

    replace("a-b-c", "-", "+") = a+b+c
    """
    if not old:
        raise UserError("replace expects 'old' to have at least one character")
    size = len(text) + text.count(old) * (len(new) - len(old))
    if size > MAX_TEXT:
        raise too_long()
    spend(1 + (len(text) + size) // 20)
    return text.replace(old, new)


@TEXTS.function
def levenshtein(a: Text, b: Text) -> Number:
    """How many characters must be inserted, deleted or replaced to turn one text into the other.

    levenshtein("kitten", "sitting") = 3
    """
    return _edits(a, b)


@TEXTS.function
def similarity(a: Text, b: Text) -> Number:
    """1 for equal texts, 0 for texts with nothing in common: 1 minus levenshtein by the longer length.

    similarity("abcd", "abcx") = 0.75
    """
    longest = max(len(a), len(b))
    return quotient(longest - _edits(a, b), longest) if longest else 1


def _edits(a: str, b: str) -> int:
    spend(2 * len(a) * len(b) + len(a) + len(b))
    row = list(range(len(b) + 1))
    for position, letter in enumerate(a, start=1):
        diagonal, row[0] = row[0], position
        for column, other in enumerate(b, start=1):
            cost = diagonal if letter == other else 1 + min(diagonal, row[column], row[column - 1])
            diagonal, row[column] = row[column], cost
    return row[len(b)]
