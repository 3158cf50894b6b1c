"""Data as it may stand in a view: quoted, on its line, and unable to break out of either.

In: cell values, names, passages. Out: text without control characters, line ends or fences. A value is an SQL literal
that gives back the stored value, so a reader can put it into a condition as it stands.
"""

from __future__ import annotations

import re

from coset import sql_text

SHOWN = 60
"""So many letters of a value are shown; the rest is cut and marked."""
CUT = "…"
_SPACES = re.compile(r"\s+")
_TOKENS = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|.", re.DOTALL)


def literal(value: str, most: int = SHOWN) -> str:
    """A value as an SQL literal; one that is cut has `…` after its quote and is to be met with LIKE or recovered."""
    shown = value[:most]
    mark = CUT if len(value) > most else ""
    if is_plain(shown):
        return sql_text.literal(shown) + mark
    return "E'" + "".join(_escaped(letter) for letter in shown) + "'" + mark


def one_line(text: str, most: int) -> str:
    """A text on one line, cut at a word where it is too long, with what could steer a reader's screen replaced."""
    flat = _SPACES.sub(" ", text[: most * 4 + 80]).strip()
    if not is_plain(flat):
        flat = "".join(letter if letter.isprintable() else "\ufffd" for letter in flat.replace("`", "'"))
    if len(flat) <= most:
        return flat
    cut = flat[: most - 1]
    border = cut.rfind(" ")
    return (cut[:border] if border > most // 2 else cut).rstrip() + CUT


def runnable(sql: str) -> str:
    """SQL of ours on one line: texts in it that hold odd letters are written with escapes, and mean the same. A name
    that holds a line end cannot be written on one line: it is shown with a mark in its place, and does not run."""
    if is_plain(sql):
        return sql
    return "".join(_runnable_token(match[0]) for match in _TOKENS.finditer(sql))


def _runnable_token(token: str) -> str:
    if token.startswith("'") and len(token) > 1:
        inner = token[1:-1].replace("''", "'")
        return token if is_plain(inner) else literal(inner, len(inner))
    return "".join(letter if letter.isprintable() else " " if letter in "\n\t\r" else "\ufffd" for letter in token)


def is_plain(text: str) -> bool:
    """Whether every letter can be seen, stays on its line, and fences nothing."""
    return text.isprintable() and "`" not in text


def _escaped(letter: str) -> str:
    if letter in "'\\":
        return "\\" + letter
    if is_plain(letter):
        return letter
    if letter == "\n":
        return "\\n"
    return "".join(f"\\x{byte:02x}" for byte in letter.encode("utf-8", "replace"))


def percent(share: float) -> str:
    """A share that is neither none nor all never reads as such."""
    if 0 < share < 0.005:
        return "<1%"
    if 0.995 <= share < 1:
        return ">99%"
    return f"{share:.0%}"
