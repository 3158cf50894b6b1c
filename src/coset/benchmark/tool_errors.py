"""Which kind of error a failed tool call was, from what the audit keeps of it.

In: the data of a `tool` or `draft` step. Out: one of a few kinds, in words for a picture. The kinds are made from the
class of the error and, for statements, from DuckDB's own sentences; what fits none is `other`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

KINDS = (
    "unknown table or column", "does not parse", "types do not fit", "not grouped", "not allowed", "limit reached",
    "source not reachable", "repeated statement", "wrong arguments", "unknown tool", "other",
)  # fmt: skip
_BY_TEXT = (
    ("repeated statement", re.compile(r"^This ran before")),
    ("wrong arguments", re.compile(r"^(Wrong arguments|The arguments are not|Not run: at most)")),
    ("unknown tool", re.compile(r"^There is no tool")),
    ("not allowed", re.compile(r"^not allowed:")),
    ("source not reachable", re.compile(r"^not reachable:")),
    ("limit reached", re.compile(r"stopped after|more memory|process that ran the statement ended|allow more", re.I)),
    ("does not parse", re.compile(r"syntax error|does not parse|not a valid|parser", re.I)),
    ("unknown table or column", re.compile(
        r"(table|column|function|source|schema|name)\b.{0,80}(not exist|not found|unknown|no such|does not have)"
        r"|there is no (table|column|source|function)|not found in FROM|is not a known|no (table|column) named"
        r"|names no (table|column)|ambiguous",
        re.I | re.S,
    )),
    ("not grouped", re.compile(r"GROUP BY clause", re.I)),
    ("types do not fit", re.compile(
        r"could not convert|cannot (cast|compare|mix)|type mismatch|no function matches", re.I
    )),
)  # fmt: skip


def kind_of(step: Mapping[str, Any]) -> str:
    """The kind of a failed call."""
    if step.get("error") == "LimitReached":
        return "limit reached"
    text = str(step.get("text") or "")
    return next((kind for kind, pattern in _BY_TEXT if pattern.search(text)), "other")
