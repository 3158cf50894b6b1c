"""Damaged encoding: UTF-8 that was read as another encoding (`Ã©` for `é`), and characters that are lost (U+FFFD).

In: a text column as observed. Out: a diagnostic with the pieces that occur and an expression that mends them.
"""

from __future__ import annotations

import re
from collections import Counter

import duckdb

from coset.evidence.diagnostics.observed import Observed
from coset.evidence.diagnostics.quoting import as_text
from coset.evidence.diagnostics.trial import tried
from coset.sql_text import literal
from coset.state.objects import Diagnostic

_DAMAGE = re.compile("[ÃÂâÐÑÅÄÎÏ×Ø][\u0080-\u00bf\u0152-\u0178\u02c6-\u02dc\u2013-\u2122]+|\ufffd|â€")


def is_damaged(text: str) -> bool:
    return not text.isascii() and any(_mended(piece) is not None for piece in _DAMAGE.findall(text))


def encoding(connection: duckdb.DuckDBPyConnection, observed: Observed) -> Diagnostic | None:
    pieces: Counter[str] = Counter()
    rows = lost = 0
    examples = []
    for text, count in observed.texts():
        if text.isascii():
            continue
        found = [piece for piece in _DAMAGE.findall(text) if piece == "\ufffd" or _mended(piece) is not None]
        if not found:
            continue
        rows += count
        lost += count if "\ufffd" in found else 0
        pieces.update(piece for piece in found if piece != "\ufffd")
        examples.append(text[:80])
    if not rows:
        return None
    expression = None
    if pieces:
        # Longer pieces first, so that a piece is not mended inside another.
        expression = as_text(observed.name, observed.type)
        for piece in sorted((each for each, _ in pieces.most_common(40)), key=lambda each: (-len(each), each)):
            expression = f"replace({expression}, {literal(piece)}, {literal(_mended(piece) or piece)})"
        tried(connection, observed.name, examples[:5], expression)
    detail = "Text was decoded with the wrong encoding"
    if pieces:
        detail += " (" + ", ".join(f"'{piece}' is '{_mended(piece)}'" for piece, _ in pieces.most_common(4)) + ")"
    if lost:
        detail += f"; in {lost / max(1, observed.looked_at):.1%} characters are lost for good (U+FFFD)"
    return Diagnostic(
        kind="encoding",
        share=observed.share(rows),
        detail=detail + ".",
        expression=expression,
        type="VARCHAR" if expression else None,
        examples=tuple(examples[:5]),
    )


def _mended(piece: str) -> str | None:
    for name in ("cp1252", "latin-1"):
        try:
            mended = piece.encode(name).decode("utf-8")
        except UnicodeError:
            continue
        if len(mended) < len(piece):
            return mended
    return None
