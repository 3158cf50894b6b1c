"""Conditions as SQL: what a reader can paste after ON.

In: expressions over quoted columns as relations keep them. Out: DuckDB SQL in which every column says whose it is.
Runs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from coset.sql_text import identifier, name

_TOKENS = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|.", re.DOTALL)
ELEMENT = "element"


def qualified(expression: str, columns: Sequence[str], table: str) -> str:
    """An expression over quoted columns, with the table before each of them; texts inside it stay as they are."""
    known = {identifier(column): name(column) for column in columns}
    parts: list[str] = []
    for match in _TOKENS.finditer(expression):
        token = match[0]
        if token in known and not (parts and parts[-1] == "."):
            token = f"{table}.{known[token]}"
        parts.append(token)
    return "".join(parts)


def equality(left: str, right: str, columns: int) -> str:
    """The condition that two qualified sides are equal; a side of elements (`unnest`) is met by any of them."""
    left_list, right_list = as_list(left), as_list(right)
    if left_list and right_list:
        return f"list_has_any({left_list}, {right_list})"
    if left_list:
        return f"list_contains({left_list}, {right})"
    if right_list:
        return f"list_contains({right_list}, {left})"
    pairs = _pairs(left, right) if columns > 1 else None
    return " AND ".join(f"{one} = {other}" for one, other in pairs) if pairs else f"{left} = {right}"


def as_list(side: str) -> str | None:
    """The list that a side takes apart with `unnest`, with whatever is done to each element; None when it does not."""
    begin = _outside_texts(side).find("unnest(")
    if begin < 0:
        return None
    end = _closing(side, begin + len("unnest"))
    elements = side[begin + len("unnest(") : end]
    done = side[:begin] + ELEMENT + side[end + 1 :]
    return elements if done == ELEMENT else f"list_transform({elements}, lambda {ELEMENT}: {done})"


def _pairs(left: str, right: str) -> list[tuple[str, str]] | None:
    """The parts of two tuples `(a, b)`, one by one."""
    parts = [_parts(side) for side in (left, right)]
    if parts[0] and parts[1] and len(parts[0]) == len(parts[1]):
        return list(zip(parts[0], parts[1], strict=True))
    return None


def _parts(side: str) -> list[str]:
    if not side.startswith("(") or _closing(side, 0) != len(side) - 1:
        return []
    parts, depth, begin = [], 0, 1
    masked = _outside_texts(side)
    for place in range(1, len(side) - 1):
        letter = masked[place]
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append(side[begin:place].strip())
            begin = place + 1
    return [*parts, side[begin:-1].strip()]


def _closing(text: str, opening: int) -> int:
    """Where the bracket that opens at `opening` closes."""
    depth = 0
    masked = _outside_texts(text)
    for place in range(opening, len(masked)):
        depth += (masked[place] == "(") - (masked[place] == ")")
        if depth == 0:
            return place
    return len(text) - 1


def _outside_texts(text: str) -> str:
    """The text with what stands in quotes blanked out, every place kept."""
    return "".join(match[0] if len(match[0]) == 1 else "_" * len(match[0]) for match in _TOKENS.finditer(text))
