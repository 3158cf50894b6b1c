"""Counters that disagree with the rows they count: an order says 3 items, and there are 2.

In: a parent relation with a counter column, a child relation, and the expressions that join them. Out: a diagnostic, or
None when the counter agrees everywhere, or so rarely that it counts something else. Finding the pair is not done here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import duckdb

from coset.errors import UserError
from coset.sql_text import identifier
from coset.state.objects import Diagnostic, Share

LEAST_AGREEMENT = 0.3
LEAST_CORRELATION = 0.5
MOST_TIMES = 5.0


def diagnose_counters(
    connection: duckdb.DuckDBPyConnection,
    parent: str,
    counter: str,
    child: str,
    keys: Sequence[tuple[str, str]],
) -> Diagnostic | None:
    """`keys` are pairs of expressions, over the parent and over the child, that are equal where they join."""
    if not keys:
        raise UserError(
            "a counter is compared with rows that are joined by a key; give at least one pair of key expressions"
        )
    parent_keys = ", ".join(f"{left} AS k{number}" for number, (left, _) in enumerate(keys))
    child_keys = ", ".join(f"{right} AS k{number}" for number, (_, right) in enumerate(keys))
    names = ", ".join(f"k{number}" for number in range(len(keys)))
    held = " AND ".join(f"k{number} IS NOT NULL" for number in range(len(keys)))
    statement = f"""
        WITH parent AS (
            SELECT {parent_keys}, try_cast({identifier(counter)} AS DOUBLE) AS said FROM {parent}
        ), child AS (
            SELECT {names}, count(*) AS counted FROM (SELECT {child_keys} FROM {child}) WHERE {held} GROUP BY {names}
        ), compared AS (
            SELECT parent.*, coalesce(counted, 0) AS counted FROM parent LEFT JOIN child USING ({names})
            WHERE said IS NOT NULL AND {held.replace("k", "parent.k")}
        )
        SELECT count(*), count_if(said <> counted), count_if(said > counted), count_if(counted > 0),
            count_if(said = counted AND counted > 0), corr(said, counted),
            median(said / counted) FILTER (counted > 0), (SELECT count(*) FROM parent),
            (SELECT list(concat_ws(' / ', {names}, 'says ' || printf('%.15g', said) || ', there are ' || counted))
                FROM (FROM compared WHERE said <> counted ORDER BY {names} LIMIT 3))
        FROM compared
    """
    (row,) = connection.execute(statement).fetchall()
    if not row[0] or not row[3]:
        return None
    compared, wrong, more, with_rows, right_with_rows, correlation, ratio, rows, examples = row
    if not wrong:
        return None
    related = correlation is not None and not math.isnan(correlation) and correlation >= LEAST_CORRELATION
    # A sum of what the rows hold grows with their number too, and is many times as large.
    related = related and 1 / MOST_TIMES <= ratio <= MOST_TIMES
    if right_with_rows < LEAST_AGREEMENT * with_rows and not related:
        return None
    return Diagnostic(
        kind="counter_disagrees",
        share=Share(wrong / rows),
        detail=(
            f"The counter differs from the rows it counts in {wrong:,} of {compared:,} rows"
            f" ({more:,} say more, {wrong - more:,} say less); count the rows instead."
        ),
        examples=tuple(examples or ()),
    )
