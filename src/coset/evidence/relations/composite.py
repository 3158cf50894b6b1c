"""Keys of two or three columns: tables that share several columns of the same names, where no single column joins them.

In: columns and the relations found so far. Out: `Relation`s over tuples of columns as they are. Declared composite keys
are reported as declared; here are those that nobody declared.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from coset.evidence.column_expressions import quoted
from coset.evidence.objects import Relation
from coset.evidence.relations.declared import tuple_join
from coset.evidence.relations.joinable import JoinableTable, JoinColumn
from coset.evidence.relations.names import words

if TYPE_CHECKING:
    import duckdb

MOST_TESTED = 40
MOST_SHARED = 6
MOST_ROWS = 2_000_000
LEAST_CONTAINED = 0.8
LEAST_UNIQUE = 0.99
LEAST_VALUES = 10
CONFIDENCE = 0.7


def composite_joins(
    connection: duckdb.DuckDBPyConnection,
    tables: Sequence[JoinableTable],
    columns: Sequence[JoinColumn],
    relations: Sequence[Relation],
) -> list[Relation]:
    named: dict[int, dict[str, JoinColumn]] = {}
    for column in columns:
        if not (column.is_names or column.elements) and column.keys > 1:
            named.setdefault(column.table, {}).setdefault("".join(words(column.name)), column)
    joined = {(_table(each.left[0]), _table(each.right[0])) for each in relations}
    joined |= {(right, left) for left, right in joined}
    found: list[Relation] = []
    tested = 0
    for left, right in combinations(sorted(named), 2):
        pair = _table(tables[left].reference), _table(tables[right].reference)
        shared = sorted(named[left].keys() & named[right].keys())[:MOST_SHARED]
        if pair in joined or len(shared) < 2 or max(tables[left].rows, tables[right].rows) > MOST_ROWS:
            continue
        for child, parent in ((left, right), (right, left)):
            key = _key(connection, tables[parent], [named[parent][name] for name in shared])
            if not key or tested >= MOST_TESTED:
                continue
            tested += 1
            ours = [named[child]["".join(words(name))].name for name in key]
            relation = tuple_join(
                connection, tables, child, ours, parent, key, "measured", CONFIDENCE,
                ("columns of the same names, together unique on the right",),
            )  # fmt: skip
            if relation.left_match.value >= LEAST_CONTAINED:
                found.append(relation)
                break
    return found


def _table(reference: object) -> tuple[object, ...]:
    return tuple(getattr(reference, part) for part in ("source", "schema", "table"))


def _key(connection: duckdb.DuckDBPyConnection, table: JoinableTable, shared: Sequence[JoinColumn]) -> tuple[str, ...]:
    """The smallest tuple of the shared columns that is unique, none of them being so alone."""
    if any(column.uniqueness >= LEAST_UNIQUE for column in shared) or table.rows < LEAST_VALUES:
        return ()
    for size in (2, 3):
        for several in combinations(shared, size):
            product = 1
            for column in several:
                product *= column.keys
            if product < table.rows * LEAST_UNIQUE:
                continue  # There are not even enough combinations.
            together = ", ".join(quoted(column.name) for column in several)
            count = connection.execute(f"SELECT count(DISTINCT ({together})) FROM {table.relation}").fetchall()[0][0]
            if count >= LEAST_UNIQUE * table.rows:
                return tuple(column.name for column in several)
    return ()
