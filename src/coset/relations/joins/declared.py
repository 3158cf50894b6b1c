"""Declared joins: foreign keys that engines declare, and joins that people declare or reject.

In: tables with their foreign keys; what corrections say. Out: `Relation`s of provenance `declared` or `stated`, with
what they really reach. A declared key whose table is not among the tables is passed over; a rejected join is gone for
good.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from coset.environment.source import ForeignKey
from coset.relations.joins.column_values import JoinableTable
from coset.relations.joins.expressions import Tested, count_join, test_join, tested_from
from coset.relations.joins.memory import KnownColumns, Tests
from coset.relations.joins.overlap import Overlap, TableReader
from coset.sql_text import identifier
from coset.state.objects import Reference, Relation

if TYPE_CHECKING:
    from coset.environment.corrections import Join as SaidJoin


SAID = "a person said so"


def with_what_people_said(
    relations: Sequence[Relation], said: Sequence[SaidJoin], reader: TableReader, known: KnownColumns
) -> list[Relation]:
    """The relations without rejected ones, and with declared ones. Of two statements on the same columns the last
    holds."""
    last: dict[frozenset[tuple[str, ...]], SaidJoin] = {frozenset((each.left, each.right)): each for each in said}
    kept = [each for each in relations if not _is_rejected(each, last)]
    for pair, join in last.items():
        if join.rejected:
            continue
        place = next((place for place, each in enumerate(kept) if _pair(each) == pair), None)
        if place is not None and not join.left_expression and not join.right_expression:
            found = kept[place]
            reasons = (SAID, *(reason for reason in found.reasons if reason != SAID))
            kept[place] = replace(found, provenance="stated", confidence=1.0, reasons=reasons)
        elif (declared := _declared(join, reader, known)) is not None:
            kept = [*(each for each in kept if _pair(each) != pair), declared]
    return kept


def _pair(relation: Relation) -> frozenset[tuple[str, ...]]:
    return frozenset((tuple(map(str, relation.left)), tuple(map(str, relation.right))))


def _is_rejected(relation: Relation, said: dict[frozenset[tuple[str, ...]], SaidJoin]) -> bool:
    join = said.get(_pair(relation))
    return join is not None and join.rejected


def _declared(join: SaidJoin, reader: TableReader, known: KnownColumns) -> Relation | None:
    sides = []
    for names in (join.left, join.right):
        columns = [
            (place, column.name)
            for place, table in enumerate(reader.tables)
            for column in table.columns
            if str(replace(table.reference, path=(column.name,))) in names
        ]
        if len(columns) != len(names) or len({place for place, _ in columns}) != 1:
            return None
        sides.append(columns)
    left, right = sides
    if len(left) != len(right):
        return None
    if join.left_expression or join.right_expression or len(left) > 1:
        expressions = [
            written or ", ".join(identifier(name) for _, name in columns)
            for written, columns in ((join.left_expression, left), (join.right_expression, right))
        ]
        if len(left) > 1:
            expressions = [each if each.startswith("(") else f"({each})" for each in expressions]
        tested = count_join(
            reader.connection, "stated",
            (reader.relation(left[0][0]), identifier(left[0][1]), expressions[0]),
            (reader.relation(right[0][0]), identifier(right[0][1]), expressions[1]),
        )  # fmt: skip
    else:
        tested = _best(left[0], right[0], reader, known)
    references = [tuple(replace(reader.tables[p].reference, path=(name,)) for p, name in side) for side in sides]
    return Relation(
        left=references[0], right=references[1], kind=tested.kind, left_expression=tested.left_expression,
        right_expression=tested.right_expression, left_match=tested.left_match, right_match=tested.right_match,
        cardinality=tested.cardinality, provenance="stated", confidence=1.0, unmatched_left=tested.unmatched_left,
        unmatched_right=tested.unmatched_right, reasons=(SAID,),
    )  # fmt: skip


def _best(left: tuple[int, str], right: tuple[int, str], reader: TableReader, known: KnownColumns) -> Tested:
    """The way to look at two columns by which most rows of the left find a partner."""
    by_place = {(column.table, column.name): column for column in known.columns}
    one, other = by_place.get(left), by_place.get(right)
    best: Tested | None = None
    if one is not None and other is not None:
        for variant in known.variants.get(one.number, ()):
            for partner in known.variants.get(other.number, ()):
                if (variant.form == "date") == (partner.form == "date"):
                    tested = test_join(reader, Overlap(variant, partner, 1, 1))
                    if best is None or tested.left_match.value > best.left_match.value:
                        best = tested
    if best is not None:
        return best
    sides = [
        (reader.relation(place), identifier(name), f"CAST({identifier(name)} AS VARCHAR)")
        for place, name in (left, right)
    ]
    return count_join(reader.connection, "identity", sides[0], sides[1])


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
