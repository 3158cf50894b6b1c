"""Data inside a prompt: quoted, labelled, on one line where a value stands, and never able to end its own block.

In: texts and values out of the user's databases. Out: texts for a prompt. What a value says is never looked at: the
block around it says that it is data, and nothing inside can close the block.
"""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

LONGEST_CELL = 160
CELLS = (2_000, 500, LONGEST_CELL)
"""Letters of a cell: as many as let all rows of a result fit."""
_BLOCK = re.compile(r"<(\s*/?\s*)data\b", re.IGNORECASE)
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def data_block(name: str, text: str) -> str:
    """A block of data in a prompt. The instructions say that nothing in such a block is an instruction."""
    inside = _BLOCK.sub(lambda match: f"<\\{match[1]}data", _STEERING.sub(_escaped, text))
    return f'<data name="{name}">\n{inside}\n</data>'


def one_line(text: str, longest: int = 400) -> str:
    """A message on one line, without letters that steer, and not longer than it may be."""
    text = _STEERING.sub(_escaped, " ".join(text.split()))
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def cell(value: Any, longest: int = LONGEST_CELL) -> str:
    """A value as JSON writes it: text in quotes, with its line ends escaped."""
    if value is None:
        return "NULL"
    if isinstance(value, bool | int | Decimal):
        return str(value).lower() if isinstance(value, bool) else str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f'"{value}"'
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, bytes):
        return f"0x{value[:16].hex()}" + (f"…(+{len(value) - 16} bytes)" if len(value) > 16 else "")
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    more = f"…(+{len(text) - longest} characters)" if len(text) > longest else ""
    return _STEERING.sub(_escaped, json.dumps(text[:longest], ensure_ascii=False)) + more


def name(text: str) -> str:
    """A column's name: as it is where it is plain, quoted where a database lets it hold anything."""
    return text if _PLAIN_NAME.fullmatch(text) else cell(text, 80)


def grid(columns: Sequence[str], types: Sequence[str], rows: Sequence[Sequence[Any]], longest: int) -> tuple[str, int]:
    """The rows as lines of at most `longest` characters in all, and how many of them are shown: all of them with long
    texts whole where that fits, then with long texts cut, then the first."""
    heading = " | ".join(f"{name(column)} {kind}" for column, kind in zip(columns, types, strict=True))
    lines: list[str] = []
    for widest in CELLS:
        lines, used = [], len(heading)
        for row in rows:
            line = " | ".join(cell(value, widest) for value in row)
            if used + len(line) > longest and lines:
                break
            lines.append(line[:longest])
            used += len(line) + 1
        if len(lines) == len(rows) and used <= longest + 1:
            break
    return "\n".join([heading, *lines]), len(lines)


def _escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"
