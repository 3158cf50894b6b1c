"""A place inside a column's values before it is measured, and how deep and how many places are looked at.

In and out: nothing but the type; `json_structure` and `native_structure` make places, `nested` measures them.
"""

from __future__ import annotations

from dataclasses import dataclass

DEEPEST = 6
"""Steps below the column; what lies deeper is handed on whole."""
MOST_PATHS = 200


@dataclass(frozen=True)
class Place:
    path: tuple[str, ...]
    type: str
    expression: str
    note: str = ""
    keys_expression: str | None = None
