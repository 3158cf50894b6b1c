"""Joins that the engines declare: always reported, with what they really reach.

In: tables with their foreign keys. Out: `Relation`s of provenance `declared`. A key whose table is not among the tables
is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from coset.environment.source import ForeignKey
from coset.relations.joins.expressions import count_join, tested_from
from coset.relations.joins.joinable import JoinableTable
from coset.relations.joins.memory import Tests
from coset.relations.joins.reader import TableReader
from coset.sql_text import identifier
from coset.state.objects import Reference, Relation

Pair = tuple[tuple[int, str], tuple[int, str]]


def _keys(tables: Sequence[JoinableTable]) -> Iterator[tuple[int, int, ForeignKey]]:
    names: dict[tuple[str, str | None, str], int] = {}
    for place, table in enumerate(tables):
        reference = table.reference
        for name in {reference.table or "", *table.members}:
            names.setdefault((reference.source, reference.schema, name.lower()), place)
            names.setdefault((reference.source, None, name.lower()), place)
    for place, table in enumerate(tables):
        known = {column.name for column in table.columns}
        for key in table.foreign_keys:
            source = table.reference.source
            parent = names.get((source, key.references_schema, key.references_table.lower()))
            if parent is None or len(key.columns) != len(key.references_columns) or not set(key.columns) <= known:
                continue
            if set(key.references_columns) <= {column.name for column in tables[parent].columns}:
                yield place, parent, key


def declared_pairs(tables: Sequence[JoinableTable]) -> set[Pair]:
    """The single columns of declared keys, as (table, column) of both sides."""
    return {
        ((left, key.columns[0]), (right, key.references_columns[0]))
        for left, right, key in _keys(tables)
        if len(key.columns) == 1
    }


def declared_joins(reader: TableReader, tests: Tests) -> list[Relation]:
    found: list[Relation] = []
    for left, right, key in _keys(reader.tables):
        sides = (left, key.columns, right, key.references_columns)
        found.append(tuple_join(reader, tests, *sides, "declared", 1.0, ("declared by its source",)))
    return found


def tuple_join(
    reader: TableReader, tests: Tests,
    left: int, left_columns: Sequence[str], right: int, right_columns: Sequence[str],
    provenance: str, confidence: float, reasons: tuple[str, ...],
) -> Relation:  # fmt: skip
    """A join of one or several columns as they are."""
    one, other = _together(left_columns), _together(right_columns)
    tables = reader.tables
    references = [str(tables[left].reference), str(tables[right].reference)]

    def measure() -> list[object]:
        sides = (
            (reader.relation(left), _all_known(left_columns), one),
            (reader.relation(right), _all_known(right_columns), other),
        )
        return count_join(reader.connection, "identity", *sides).as_json()

    tested = tested_from(tests.recall(["tuple", *references, one, other], references, measure))
    return Relation(
        left=_references(tables[left], left_columns), right=_references(tables[right], right_columns), kind="identity",
        left_expression=one, right_expression=other, left_match=tested.left_match, right_match=tested.right_match,
        cardinality=tested.cardinality, provenance="declared" if provenance == "declared" else "measured",
        confidence=confidence, unmatched_left=tested.unmatched_left, unmatched_right=tested.unmatched_right,
        reasons=reasons,
    )  # fmt: skip


def _together(columns: Sequence[str]) -> str:
    if len(columns) == 1:
        return identifier(columns[0])
    return f"({', '.join(identifier(column) for column in columns)})"


def _all_known(columns: Sequence[str]) -> str:
    """The values as text; NULL when one is missing, since such a row refers to nothing."""
    if len(columns) == 1:
        return identifier(columns[0])
    return " || ', ' || ".join(f"CAST({identifier(column)} AS VARCHAR)" for column in columns)


def _references(table: JoinableTable, columns: Sequence[str]) -> tuple[Reference, ...]:
    place = table.reference
    return tuple(Reference(place.source, place.schema, place.table, (column,)) for column in columns)
