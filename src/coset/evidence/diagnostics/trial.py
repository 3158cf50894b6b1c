"""Runs an expression over observed values before it is kept.

In: an expression over a quoted column and values of that column. Out: what it gives for each, as text or None. An
expression that raises is no expression to hand on, so the error is not caught here.
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from coset.sql_text import identifier


def tried(
    connection: duckdb.DuckDBPyConnection, column: str, values: Sequence[str] | Sequence[int], expression: str
) -> list[str | None]:
    """What `expression` gives for each of `values`, in their order, cast to text."""
    if not values:
        return []
    kind = "BIGINT[]" if isinstance(values[0], int) else "VARCHAR[]"
    rows = connection.execute(
        f"SELECT CAST({expression} AS VARCHAR) FROM (SELECT unnest(CAST($1 AS {kind})) AS {identifier(column)})",
        [list(values)],
    ).fetchall()
    return [row[0] for row in rows]
