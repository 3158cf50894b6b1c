"""Counters that disagree with the rows they count: `order_count` beside the orders themselves.

In: readable tables and the joins between them. Out: a diagnostic for each stale counter, about its column. Only columns
whose name says that they count are tried, over joins in which many rows belong to one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import duckdb

from coset.evidence.diagnostics import diagnose_counters
from coset.evidence.reading import JoinableTable
from coset.state.objects import Diagnostic, Reference, Relation

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
