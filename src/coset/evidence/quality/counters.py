"""Counters that disagree with the rows they count: `order_count` beside the orders themselves.

In: readable tables and the joins between them. Out: a diagnostic for each stale counter, about its column; none where
the counter agrees everywhere, or so rarely that it counts something else. Only columns whose name says that they count
are tried, over joins in which many rows belong to one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence

import duckdb

from coset.errors import UserError
from coset.evidence.reading import JoinableTable
from coset.sql_text import identifier
from coset.state.objects import Diagnostic, Reference, Relation, Share

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


COUNTS = re.compile(r"(^|_)(count|counts|number|num|no_of|nr|n|total|qty|quantity)(_|$)|count$|^num", re.IGNORECASE)
WHOLE = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"}


def counter_diagnostics(
    connection: duckdb.DuckDBPyConnection,
    tables: Sequence[JoinableTable],
    relations: Iterable[Relation],
    opens: Callable[[JoinableTable], None] | None = None,
) -> list[tuple[Reference, Diagnostic]]:
    """`opens` makes a table readable, when there is a counter to compare."""
    by_place = {(table.reference.source, table.reference.schema, table.reference.table): table for table in tables}
    found: dict[Reference, Diagnostic] = {}
    for relation in relations:
        child = by_place.get((relation.left[0].source, relation.left[0].schema, relation.left[0].table))
        parent = by_place.get((relation.right[0].source, relation.right[0].schema, relation.right[0].table))
        if child is None or parent is None or relation.cardinality != "n:1" or len(relation.left) != 1:
            continue
        keys = [(relation.right_expression, relation.left_expression)]
        for column in parent.columns:
            if column.type not in WHOLE or not COUNTS.search(column.name):
                continue
            if opens:
                opens(child)
                opens(parent)
            place = Reference(parent.reference.source, parent.reference.schema, parent.reference.table, (column.name,))
            diagnostic = diagnose_counters(connection.cursor(), parent.relation, column.name, child.relation, keys)
            if diagnostic is not None:
                found.setdefault(place, diagnostic)
    return list(found.items())
