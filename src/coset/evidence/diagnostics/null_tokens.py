"""Null tokens: texts that stand for "no value", with counts and an expression that makes them NULL.

In: a text column as observed. Out: up to two diagnostics, one for tokens that can mean nothing else and one for tokens
that may be a category of their own (`None` among answers, `NA` among country codes).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import duckdb

from coset.evidence.diagnostics.null_words import EVERYWHERE, reads_as_null
from coset.evidence.diagnostics.observed import Observed
from coset.evidence.diagnostics.quoting import BLANKS, as_text, one_of, trimmed
from coset.state.objects import Diagnostic

MOST_TOKENS = 20
LOOK_FIRST = "look before making it NULL"
"""Said of a token that may be a value of its own."""


def null_tokens(connection: duckdb.DuckDBPyConnection, relation: str, observed: Observed) -> list[Diagnostic]:
    tokens, exact = _tokens(connection, relation, observed)
    if not tokens:
        return []
    others = [text.strip(BLANKS) for text, _ in observed.texts()]
    others = [text for text in others if text and reads_as_null(text) is None]
    sure: Counter[str] = Counter()
    doubtful: Counter[str] = Counter()
    for text, count in tokens.items():
        stripped = text.strip(BLANKS)
        (doubtful if stripped and _may_be_a_value(stripped, count, observed, others) else sure)[text] += count
    found = []
    for group, doubt in ((sure, False), (doubtful, True)):
        if group:
            found.append(_diagnostic(observed, group, doubt, exact))
    return found


def _tokens(connection: duckdb.DuckDBPyConnection, relation: str, observed: Observed) -> tuple[Counter[str], bool]:
    """Every raw text that reads as null, with its count; the second is False when the counts come from a sample."""
    tokens: Counter[str] = Counter()
    for text, count in observed.texts():
        stripped = text.strip(BLANKS)
        if not stripped or reads_as_null(stripped):
            tokens[text] += count
    if observed.complete or not (tokens or observed.null_words):
        return tokens, True
    # A sample misses rare tokens and only estimates the others, so they are counted over every row.
    folded = sorted(
        {text.strip(BLANKS).lower() for text in tokens} | (set(EVERYWHERE) if observed.null_words else set())
    )
    rows = connection.execute(
        f"SELECT {as_text(observed.name, observed.type)} AS token, count(*) FROM {relation} "
        f"WHERE lower({trimmed(observed.name, observed.type)}) IN {one_of(folded)} "
        "GROUP BY token ORDER BY token LIMIT 200"
    ).fetchall()
    return Counter({token: count for token, count in rows}), len(rows) < 200


def _may_be_a_value(token: str, count: int, observed: Observed, others: Sequence[str]) -> bool:
    if not others:
        return False
    different = len(set(others))
    if token.isalpha() and token.isupper() and len(token) <= 3 and different >= 2:
        codes = sum(len(other) == len(token) and other.isupper() for other in others)
        if codes >= 0.5 * len(others):
            return True
    if reads_as_null(token) == "doubtful":
        if _measured(others):
            return False
        # Among a few answers it can be one of them; as a single name among many it can be a name.
        return different <= 50 or count <= 2
    # A lone sign among other lone signs or letters is a mark (`+`, `-`, `?`, `A`, `*`), not a gap.
    return len(token) == 1 and different >= 2 and sum(len(other) == 1 for other in others) >= 0.5 * len(others)


def _measured(others: Sequence[str]) -> bool:
    """Whether the other values are mostly numbers or dates: a word among them is a gap."""
    return sum(any(letter.isdigit() for letter in other) for other in others) >= 0.8 * len(others)


def _diagnostic(observed: Observed, group: Counter[str], doubt: bool, exact: bool) -> Diagnostic:
    rows = sum(group.values())
    column = as_text(observed.name, observed.type)
    stripped = sorted({text.strip(BLANKS) for text in group})
    tokens = one_of(stripped[:100])
    expression = f"CASE WHEN {observed.bare_text()} IN {tokens} THEN NULL ELSE {column} END"
    shown = ", ".join(f"{_shown(text)} ({count:,})" for text, count in group.most_common(MOST_TOKENS))
    more = f" and {len(group) - MOST_TOKENS} more" if len(group) > MOST_TOKENS else ""
    if doubt:
        detail = f"{shown}{more} may mean 'no value' here, or be a value of its own; {LOOK_FIRST}."
    else:
        detail = f"{shown}{more} stand where there is no value."
    return Diagnostic(
        kind="null_tokens",
        share=observed.exact(rows) if exact else observed.share(rows),
        detail=detail,
        expression=expression,
        type="VARCHAR",
        examples=tuple(text for text, _ in group.most_common(5)),
    )


def _shown(text: str) -> str:
    if not text:
        return "the empty text"
    if not text.strip(BLANKS):
        return "only blanks"
    return f"'{text}'"
