"""Joins that names propose where values cannot: columns without values, or with a few that the right does not hold.

In: the columns and the relations found so far. Out: `Relation`s of provenance `inferred` and low confidence. A name is
believed only where the same way of naming holds for relations that the values of this environment show.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from coset.evidence.column_expressions import column_kind
from coset.relations.joins.column_values import NESTED, JoinableTable, JoinColumn
from coset.relations.joins.expressions import value_sql
from coset.relations.joins.names import stem, words
from coset.state.objects import Reference, Relation, Share

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
    tables: Sequence[JoinableTable], columns: Sequence[JoinColumn], relations: Sequence[Relation]
) -> list[Relation]:
    single = [each for each in relations if len(each.left) == 1 and len(each.right) == 1 and each.right[0].path]
    if len(single) < LEAST_RELATIONS:
        return []
    used = {each.left[0] for each in relations if len(each.left) == 1} | {
        each.right[0] for each in relations if len(each.right) == 1
    }
    missing = 1 - statistics.median(each.left_match.value for each in single)
    customs = _Customs(tables, columns, single)
    found: list[Relation] = []
    for column in columns:
        if column.is_names or column.elements or NESTED in column.name or not stem(column.name):
            continue
        if column.keys and missing**column.keys < UNLUCKY:
            continue  # So many values would have met some partner.
        table = tables[column.table].reference
        place = Reference(table.source, table.schema, table.table, (column.name,))
        parent = None if place in used else customs.parent(column)
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


class _Customs:
    """How columns are named after what they refer to, as the relations of this environment show it."""

    def __init__(
        self, tables: Sequence[JoinableTable], columns: Sequence[JoinColumn], relations: Sequence[Relation]
    ) -> None:
        self._tables = tables
        self._types = {
            (table.reference.source, table.reference.schema, table.reference.table, column.name): column.type
            for table in tables
            for column in table.columns
        }
        self._by_name: dict[str, list[Relation]] = {}
        for each in relations:
            if each.cardinality in ("n:1", "1:1"):
                self._by_name.setdefault("".join(words(each.left[0].path[0])), []).append(each)
        self._after = sum(_is_named_after(each.left[0].path[0], each.right[0]) for each in relations)
        self._is_custom = self._after >= LEAST_RELATIONS and 2 * self._after >= len(relations)
        self._rights: dict[str, list[tuple[tuple[Reference, ...], str]]] = {}
        for right, sql in sorted({(each.right, each.right_expression) for each in relations}):
            for name in _names_given(right[0]):
                self._rights.setdefault(name, []).append((right, sql))
        self._keys: dict[str, list[JoinColumn]] = {}
        for column in columns:
            if column.uniqueness >= 0.98 and column.keys > 1 and not stem(column.name) and not column.is_names:
                name = "".join(words(tables[column.table].reference.table or ""))
                self._keys.setdefault(name, []).append(column)

    def parent(self, column: JoinColumn) -> _Parent | None:
        """The right side that columns of the same name refer to; else the table of that name, where names work so."""
        same = self._by_name.get("".join(words(column.name)), [])
        if same:
            each = same[-1]
            if len({other.right for other in same}) > 1 or not self._kinds_agree(column, each.right[0]):
                return None
            reason = f"a column of the same name, {same[0].left[0]}, refers there"
            return _Parent(each.right, same[0].right_expression, SAME_NAME, reason)
        if not self._is_custom:
            return None
        named = "".join(stem(column.name))
        after = [
            (right, sql) for right, sql in self._rights.get(named, ()) if self._kinds_agree(column, right[0])
        ]  # fmt: skip
        if len({right for right, _ in after}) == 1:
            right, sql = after[0]
            return _Parent(right, sql, SAME_PATTERN, f"named after {right[0]}, as {self._after} other relations are")
        keys = [other for other in self._keys.get(named, ()) if column_kind(other.type) == column_kind(column.type)]
        if len(keys) != 1:
            return None
        table = self._tables[keys[0].table].reference
        right = (Reference(table.source, table.schema, table.table, (keys[0].name,)),)
        reason = f"named after {right[0]}, as {self._after} other relations are"
        return _Parent(right, value_sql(keys[0]), SAME_PATTERN, reason)

    def _kinds_agree(self, column: JoinColumn, right: Reference) -> bool:
        type = self._types.get((right.source, right.schema, right.table, right.path[0]))
        return type is not None and column_kind(type) == column_kind(column.type)


def _names_given(right: Reference) -> set[str]:
    """What a column is called that is named after a key: `contact` after `contact.id` and after `people.contact_id`."""
    if not right.path or not right.table:
        return set()
    return {"".join(words(right.table)), "".join(stem(right.path[0]))} - {""}


def _is_named_after(column: str, right: Reference) -> bool:
    """`contactid` after `contact.id`: the words of the column are those of the table and of its key."""
    return "".join(stem(column)) in _names_given(right)
