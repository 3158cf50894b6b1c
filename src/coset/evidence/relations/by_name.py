"""Joins that names propose where values cannot: columns without values, or with a few that the right does not hold.

In: the columns and the relations found so far. Out: `Relation`s of provenance `inferred` and low confidence. A name is
believed only where the same way of naming holds for relations that the values of this environment show.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coset.evidence.column_expressions import column_kind
from coset.evidence.objects import Reference, Relation, Share
from coset.evidence.relations.joinable import JoinableTable, JoinColumn
from coset.evidence.relations.names import stem, words
from coset.evidence.relations.readings import value_sql

if TYPE_CHECKING:
    import duckdb

SAME_NAME, SAME_PATTERN = 0.6, 0.5
LEAST_RELATIONS = 2
UNLUCKY = 0.05
"""A column's values may all be missing on the right by bad luck if that is at least so likely."""


@dataclass(frozen=True)
class _Parent:
    right: tuple[Reference, ...]
    right_expression: str
    confidence: float
    reason: str


def propose_by_name(
    connection: duckdb.DuckDBPyConnection,
    tables: Sequence[JoinableTable],
    columns: Sequence[JoinColumn],
    relations: Sequence[Relation],
) -> list[Relation]:
    single = [each for each in relations if len(each.left) == 1 and len(each.right) == 1 and each.right[0].path]
    if len(single) < LEAST_RELATIONS:
        return []
    used = {each.left[0] for each in relations if len(each.left) == 1} | {
        each.right[0] for each in relations if len(each.right) == 1
    }
    missing = 1 - statistics.median(each.left_match.value for each in single)
    found: list[Relation] = []
    for column in columns:
        table = tables[column.table].reference
        place = Reference(table.source, table.schema, table.table, (column.name,))
        if column.is_names or column.elements or place in used or not stem(column.name):
            continue
        if column.keys and missing**column.keys < UNLUCKY:
            continue  # So many values would have met some partner.
        parent = _parent(tables, columns, column, single)
        if parent is None or (parent.right[0].source == table.source and parent.right[0].table == table.table):
            continue
        found.append(
            Relation(
                left=(place,),
                right=parent.right,
                kind="identity",
                left_expression=value_sql(column),
                right_expression=parent.right_expression,
                left_match=Share(0.0),
                right_match=Share(0.0),
                cardinality="n:1",
                provenance="inferred",
                confidence=parent.confidence,
                reasons=(parent.reason,),
            )
        )
    return found


def _parent(
    tables: Sequence[JoinableTable], columns: Sequence[JoinColumn], column: JoinColumn, relations: Sequence[Relation]
) -> _Parent | None:
    """The right side that columns of the same name refer to; else the table of that name, where names work so."""
    wanted = "".join(words(column.name))
    same = {
        (each.right, each.right_expression): each
        for each in relations
        if "".join(words(each.left[0].path[0])) == wanted and each.cardinality in ("n:1", "1:1")
    }
    if len(same) >= 1 and len({right for right, _ in same}) == 1:
        each = next(iter(same.values()))
        if _kinds_agree(tables, column, each.right[0]):
            return _Parent(
                each.right, each.right_expression, SAME_NAME, f"a column of the same name, {each.left[0]}, refers there"
            )
        return None
    if same:
        return None
    pattern = [each for each in relations if _is_named_after(each.left[0].path[0], each.right[0])]
    if len(pattern) < LEAST_RELATIONS or 2 * len(pattern) < len(relations):
        return None
    rights = {(each.right, each.right_expression) for each in relations}
    after = [
        (right, sql)
        for right, sql in sorted(rights, key=lambda item: (item[0], item[1]))
        if _is_named_after(column.name, right[0]) and _kinds_agree(tables, column, right[0])
    ]
    if len({right for right, _ in after}) == 1:
        right, sql = after[0]
        return _Parent(right, sql, SAME_PATTERN, f"named after {right[0]}, as {len(pattern)} other relations are")
    keys = [
        other
        for other in columns
        if other.uniqueness >= 0.98
        and other.keys > 1
        and not stem(other.name)
        and not other.is_names
        and "".join(stem(column.name)) == "".join(words(tables[other.table].reference.table or ""))
        and column_kind(other.type) == column_kind(column.type)
    ]
    if len(keys) != 1:
        return None
    table = tables[keys[0].table].reference
    right = (Reference(table.source, table.schema, table.table, (keys[0].name,)),)
    return _Parent(
        right, value_sql(keys[0]), SAME_PATTERN, f"named after {right[0]}, as {len(pattern)} other relations are"
    )


def _is_named_after(column: str, right: Reference) -> bool:
    """`contactid` after `contact.id`: the words of the column are those of the table and of its key."""
    if not right.path or not right.table:
        return False
    named = "".join(stem(column))
    return bool(named) and named in {"".join(words(right.table)), "".join(stem(right.path[0]))}


def _kinds_agree(tables: Sequence[JoinableTable], column: JoinColumn, right: Reference) -> bool:
    for table in tables:
        if (table.reference.source, table.reference.schema, table.reference.table) == (
            right.source, right.schema, right.table,
        ):  # fmt: skip
            for each in table.columns:
                if each.name == right.path[0]:
                    return column_kind(each.type) == column_kind(column.type)
    return False
