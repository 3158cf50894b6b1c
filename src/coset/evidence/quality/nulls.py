"""Values that mean none or unknown: null tokens, and numbers or days that stand apart from all others.

In: a column as observed. Out: diagnostics of kind null_tokens and sentinel with the expression that makes such values
NULL. Tokens that can mean nothing else are told apart from those that may be a category of their own (`None` among
answers, `NA` among country codes); of a column of few different numbers, which is a list of codes, nothing is said.
"""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from coset.evidence.quality.observed import BLANKS, EVERYWHERE, Observed, as_text, one_of, reads_as_null, tried, trimmed
from coset.sql_text import identifier
from coset.state.objects import LOOK_FIRST, Diagnostic

MOST_TOKENS = 20


def null_tokens(connection: duckdb.DuckDBPyConnection, relation: str, observed: Observed) -> list[Diagnostic]:
    tokens, exact = _tokens(connection, relation, observed)
    if not tokens:
        return []
    others = [bare for _, bare, _ in observed.bare_texts if bare and reads_as_null(bare) is None]
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
    for text, bare, count in observed.bare_texts:
        if not bare or reads_as_null(bare):
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


LEAST_ROWS = 20
LEAST_DIFFERENT = 6
_MINUS_ONES = frozenset((-1.0, -2.0, -9.0))
_NINES = frozenset(float("9" * length) for length in range(2, 13)) | {2147483647.0, 4294967295.0, 32767.0, 65535.0}
_DAY = 86_400_000_000
_MOMENTS = {
    datetime.date(1, 1, 1): 50,
    datetime.date(1753, 1, 1): 20,
    datetime.date(1899, 12, 30): 10,
    datetime.date(1899, 12, 31): 10,
    datetime.date(1900, 1, 1): 10,
    datetime.date(1901, 1, 1): 10,
    datetime.date(1970, 1, 1): 2,
    datetime.date(2099, 12, 31): 5,
    datetime.date(2100, 1, 1): 5,
    datetime.date(2999, 12, 31): 5,
    datetime.date(9999, 1, 1): 5,
    datetime.date(9999, 12, 31): 5,
}
"""Dates that programs write for none, with the years that must lie between them and the next date of the column."""


@dataclass(frozen=True)
class Apart:
    value: float
    rows: int
    known: bool
    """Whether it is a number or date that is commonly used so."""


def numbers_apart(pairs: Sequence[tuple[float, int]]) -> list[Apart]:
    pairs = sorted((value, count) for value, count in pairs if math.isfinite(value))
    if sum(count for _, count in pairs) < LEAST_ROWS or len(pairs) < LEAST_DIFFERENT:
        return []
    found: list[Apart] = []
    total = sum(count for _, count in pairs)
    for _ in range(3):
        extreme = [case for case in (_lowest(pairs, total), _highest(pairs, total)) if case is not None]
        if not extreme or len(pairs) - len(extreme) < LEAST_DIFFERENT - 1:
            break
        found += extreme
        gone = {case.value for case in extreme}
        pairs = [pair for pair in pairs if pair[0] not in gone]
    return found


def _spread(pairs: Sequence[tuple[float, int]]) -> float:
    """The range of the middle nine tenths of the rows."""
    total = sum(count for _, count in pairs)
    seen, low, high = 0, pairs[0][0], pairs[-1][0]
    for value, count in pairs:
        if seen <= 0.05 * total:
            low = value
        seen += count
        if seen >= 0.95 * total:
            high = value
            break
    return high - low


def _lowest(pairs: Sequence[tuple[float, int]], total: int) -> Apart | None:
    value, rows = pairs[0]
    rest = pairs[1:]
    gap, spread = rest[0][0] - value, _spread(rest)
    often = rows >= max(3, 0.002 * total)
    typical = (total - rows) / len(rest)
    if not often or spread <= 0:
        return None
    if value in _MINUS_ONES and rest[0][0] >= 0:
        # Scores can begin at -1; a sentinel stands apart from zero too, or there are many different values above it.
        apart = rows >= 3 * typical or rest[0][0] > 0
        return Apart(value, rows, True) if apart and len(rest) >= 10 else None
    if value < 0 and -value in _NINES and rest[0][0] - value > 0.5 * spread:
        return Apart(value, rows, True)
    if value == 0 and gap > spread and rows >= 2 * typical:
        return Apart(value, rows, True)
    return Apart(value, rows, False) if gap > 5 * (rest[-1][0] - rest[0][0]) and rows >= 0.005 * total else None


def _highest(pairs: Sequence[tuple[float, int]], total: int) -> Apart | None:
    value, rows = pairs[-1]
    rest = pairs[:-1]
    gap, spread = value - rest[-1][0], _spread(rest)
    typical = (total - rows) / len(rest)
    if rows < max(3, 0.002 * total) or spread <= 0:
        return None
    if value in _NINES and gap > 0.15 * spread and (rows >= 2 * typical or gap > 2 * spread):
        return Apart(value, rows, True)
    return Apart(value, rows, False) if gap > 5 * (rest[-1][0] - rest[0][0]) and rows >= 0.005 * total else None


def moments_apart(pairs: Sequence[tuple[float, int]]) -> list[Apart]:
    """`pairs` are microseconds since 1970."""
    if sum(count for _, count in pairs) < 10:
        return []
    days: dict[int, int] = {}
    for value, count in pairs:
        days[int(value // _DAY)] = days.get(int(value // _DAY), 0) + count
    known = {(day - datetime.date(1970, 1, 1)).days: years for day, years in _MOMENTS.items()}
    others = sorted(day for day in days if day not in known)
    if len(others) < 3:
        return []
    found = []
    for day, years in known.items():
        rows = days.get(day, 0)
        far = min(abs(day - others[0]), abs(day - others[-1])) > 365 * years and not others[0] < day < others[-1]
        if far and (rows >= 2 or (rows and abs(day) > 365 * 900)):
            found.append(Apart(float(day * _DAY), rows, True))
    return found


def number_sentinels(connection: duckdb.DuckDBPyConnection, relation: str, observed: Observed) -> Diagnostic | None:
    pairs = [(float(value), count) for value, count in observed.values if isinstance(value, int | float)]
    found = numbers_apart(pairs)
    return _sentinel(connection, relation, observed, found, identifier(observed.name), observed.type) if found else None


def read_number_sentinels(
    connection: duckdb.DuckDBPyConnection,
    relation: str,
    observed: Observed,
    pairs: Sequence[tuple[float, int]],
    expression: str,
    type_name: str,
) -> Diagnostic | None:
    """Sentinels among numbers that are read out of text by `expression`."""
    merged: dict[float, int] = {}
    for value, count in pairs:
        merged[value] = merged.get(value, 0) + count
    found = numbers_apart(list(merged.items()))
    return _sentinel(connection, relation, observed, found, expression, type_name, sampled=True) if found else None


def moment_sentinels(connection: duckdb.DuckDBPyConnection, relation: str, observed: Observed) -> Diagnostic | None:
    pairs = [(float(value), count) for value, count in observed.values if isinstance(value, int)]
    found = moments_apart(pairs)
    if not found:
        return None
    return _sentinel(connection, relation, observed, found, identifier(observed.name), observed.type, moments=True)


def read_moment_sentinels(
    connection: duckdb.DuckDBPyConnection,
    observed: Observed,
    texts: Sequence[tuple[str, int]],
    expression: str,
    type_name: str,
) -> Diagnostic | None:
    """Sentinels among dates that are read out of text by `expression`."""
    read = tried(connection, observed.name, [text for text, _ in texts], f"epoch_us(CAST({expression} AS TIMESTAMP))")
    pairs = [(float(value), count) for value, (_, count) in zip(read, texts, strict=True) if value is not None]
    found = moments_apart(pairs)
    if not found:
        return None
    return _sentinel(connection, "", observed, found, expression, type_name, moments=True, sampled=True)


def _sentinel(
    connection: duckdb.DuckDBPyConnection,
    relation: str,
    observed: Observed,
    found: Sequence[Apart],
    value: str,
    type_name: str,
    *,
    moments: bool = False,
    sampled: bool = False,
) -> Diagnostic:
    if moments:
        shown = [
            (datetime.date(1970, 1, 1) + datetime.timedelta(days=case.value // _DAY)).isoformat() for case in found
        ]
        condition = f"CAST({value} AS DATE) IN ({', '.join(f'DATE {chr(39)}{text}{chr(39)}' for text in shown)})"
    else:
        shown = [f"{case.value:.0f}" if case.value == int(case.value) else repr(case.value) for case in found]
        condition = f"({value}) IN ({', '.join(shown)})"
    counts = [case.rows for case in found]
    exact = observed.complete
    if not (observed.complete or sampled):
        ((rows,),) = connection.execute(f"SELECT count_if({condition}) FROM {relation}").fetchall()
        counts, exact = [int(rows)], True
    listed = ", ".join(
        f"{text} ({case.rows:,})" if observed.complete else text for text, case in zip(shown, found, strict=True)
    )
    known = any(case.known for case in found)
    reason = (
        "stands apart from all other values and probably means none or unknown"
        if known
        else "lies far from all other values and occurs too often for that"
    )
    if len(found) > 1:
        reason = (
            reason.replace("stands", "stand").replace("means", "mean").replace("lies", "lie").replace("occurs", "occur")
        )
    return Diagnostic(
        kind="sentinel",
        share=observed.exact(sum(counts)) if exact else observed.share(sum(counts)),
        detail=f"{listed} {reason}.",
        expression=f"CASE WHEN {condition} THEN NULL ELSE {value} END",
        type=type_name,
        examples=tuple(shown),
    )
