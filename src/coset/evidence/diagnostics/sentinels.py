"""Sentinels: values that stand for "none" or "unknown" (-1, 9999, 1900-01-01), and far values that come back too often.

In: the numbers or dates of a column with their counts. Out: the values that lie apart from all others and occur too
often for that. A column of few different values is a list of codes, and nothing is said of it.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from coset.evidence.diagnostics.observed import Observed
from coset.evidence.diagnostics.trial import tried
from coset.sql_text import identifier
from coset.state.objects import Diagnostic

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
    return (
        _diagnostic(connection, relation, observed, found, identifier(observed.name), observed.type) if found else None
    )


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
    return _diagnostic(connection, relation, observed, found, expression, type_name, sampled=True) if found else None


def moment_sentinels(connection: duckdb.DuckDBPyConnection, relation: str, observed: Observed) -> Diagnostic | None:
    pairs = [(float(value), count) for value, count in observed.values if isinstance(value, int)]
    found = moments_apart(pairs)
    if not found:
        return None
    return _diagnostic(connection, relation, observed, found, identifier(observed.name), observed.type, moments=True)


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
    return _diagnostic(connection, "", observed, found, expression, type_name, moments=True, sampled=True)


def _diagnostic(
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
