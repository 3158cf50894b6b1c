"""Keys of two or three columns: tables that share several columns of the same names, where no single column joins them.

In: columns and the relations found so far. Out: `Relation`s over tuples of columns as they are. Declared composite keys
are reported as declared; here are those that nobody declared.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations

from coset.relations.joins.column_values import NESTED, JoinColumn
from coset.relations.joins.declared import tuple_join
from coset.relations.joins.memory import Tests
from coset.relations.joins.names import words
from coset.relations.joins.overlap import TableReader
from coset.sql_text import identifier
from coset.state.objects import Relation

MOST_TESTED = 40
MOST_SHARED = 6
MANY_TABLES = 50
MOST_ROWS = 2_000_000
LEAST_CONTAINED = 0.8
LEAST_UNIQUE = 0.99
LEAST_VALUES = 10
CONFIDENCE = 0.7


def composite_joins(
    reader: TableReader, tests: Tests, columns: Sequence[JoinColumn], relations: Sequence[Relation]
) -> list[Relation]:
    tables = reader.tables
    named: dict[int, dict[str, JoinColumn]] = {}
    for column in columns:
        if not (column.is_names or column.elements or NESTED in column.name) and column.keys > 1:
            named.setdefault(column.table, {}).setdefault("".join(words(column.name)), column)
    joined = {(_table(each.left[0]), _table(each.right[0])) for each in relations}
    joined |= {(right, left) for left, right in joined}
    keys: dict[tuple[int, tuple[str, ...]], tuple[str, ...]] = {}
    found: list[Relation] = []
    tested = 0
    for left, right, shared in _sharing_names(named):
        pair = _table(tables[left].reference), _table(tables[right].reference)
        if pair in joined or max(tables[left].rows, tables[right].rows) > MOST_ROWS:
            continue
        for child, parent in ((left, right), (right, left)):
            if (parent, shared) not in keys:
                keys[parent, shared] = _key(reader, tests, parent, [named[parent][name] for name in shared])
            key = keys[parent, shared]
            if not key:
                continue
            if tested >= MOST_TESTED:
                return found
            tested += 1
            ours = [named[child]["".join(words(name))].name for name in key]
            relation = tuple_join(
                reader, tests, child, ours, parent, key, "measured", CONFIDENCE,
                ("columns of the same names, together unique on the right",),
            )  # fmt: skip
            if relation.left_match.value >= LEAST_CONTAINED:
                found.append(relation)
                break
    return found


def _sharing_names(named: dict[int, dict[str, JoinColumn]]) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Every two tables with columns of the same names, and those names. Names that very many tables have (`created`,
    `status`) tell nothing of two of them; some other name must be the same, too."""
    holders: dict[str, list[int]] = {}
    for table in sorted(named):
        for name in named[table]:
            holders.setdefault(name, []).append(table)
    pairs = {
        pair for tables in holders.values() if len(tables) <= MANY_TABLES for pair in combinations(tables, 2)
    }  # fmt: skip
    for left, right in sorted(pairs):
        shared = tuple(sorted(named[left].keys() & named[right].keys())[:MOST_SHARED])
        if len(shared) > 1:
            yield left, right, shared


def _table(reference: object) -> tuple[object, ...]:
    return tuple(getattr(reference, part) for part in ("source", "schema", "table"))


def _key(reader: TableReader, tests: Tests, place: int, shared: Sequence[JoinColumn]) -> tuple[str, ...]:
    """The smallest tuple of the shared columns that is unique, none of them being so alone."""
    table = reader.tables[place]
    if any(column.uniqueness >= LEAST_UNIQUE for column in shared) or table.rows < LEAST_VALUES:
        return ()
    enough = [
        tuple(column.name for column in several)
        for size in (2, 3)
        for several in combinations(shared, size)
        if math.prod(column.keys for column in several) >= table.rows * LEAST_UNIQUE
    ]
    if not enough:
        return ()  # There are not even enough combinations.

    def measure() -> list[str]:
        for names in enough:
            together = ", ".join(identifier(name) for name in names)
            [(count,)] = reader.connection.execute(
                f"SELECT count(DISTINCT ({together})) FROM {reader.relation(place)}"
            ).fetchall()
            if count >= LEAST_UNIQUE * table.rows:
                return list(names)
        return []

    reference = str(table.reference)
    return tuple(tests.recall(["key", reference, [column.name for column in shared]], [reference], measure))
