"""What connects the tables, in the state: joins, copies, code lists with their labels.

In: relations, copies and code lists as they were found. Out: the same, as frozen rows. Knows how they are kept, not how
they are found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coset.state.evidence_state import EvidenceState
from coset.state.names import resolve
from coset.state.queries import fetch, select
from coset.state.tables import StateRow

Texts = tuple[str, ...]


@dataclass(frozen=True)
class RelationRow(StateRow):
    TABLE = "relations"
    ORDER = "id"
    id: str
    left_table: str
    right_table: str
    left_columns: Texts
    right_columns: Texts
    kind: str
    left_expression: str
    right_expression: str
    left_match: float
    left_match_error: float
    right_match: float
    right_match_error: float
    cardinality: str
    provenance: str
    confidence: float
    unmatched_left: Texts
    unmatched_right: Texts
    reasons: Texts

    @property
    def tables(self) -> frozenset[str]:
        return frozenset((self.left_table, self.right_table))

    @property
    def crosses_sources(self) -> bool:
        return self.left_table.partition("/")[0] != self.right_table.partition("/")[0]


@dataclass(frozen=True)
class CodeLabel:
    """What a code of a column stands for, by a list that is current."""

    column_reference: str
    code: str
    label: str
    list_reference: str
    language: str | None


def joins_within(state: EvidenceState, written: str | None = None, least: float = 0.0) -> list[RelationRow]:
    """The joins of at least this confidence: all, or those that touch a source, a table or a column."""
    reference = resolve(state, written) if written else None
    return select(
        state,
        RelationRow,
        "SELECT * FROM relations WHERE confidence >= $1 AND ($2 IS NULL OR left_table = $2 OR right_table = $2 "
        "OR starts_with(left_table, $2 || '/') OR starts_with(right_table, $2 || '/') "
        "OR list_contains(left_columns, $2) OR list_contains(right_columns, $2)) "
        "ORDER BY left_columns, right_columns",
        [least, reference],
    )


def relation_of(state: EvidenceState, id: str) -> RelationRow | None:
    rows = select(state, RelationRow, "SELECT * FROM relations WHERE id = $1", [id])
    return rows[0] if rows else None


def joins_between(state: EvidenceState, one: Sequence[str], other: Sequence[str]) -> list[RelationRow]:
    """The joins between some columns and some others, whichever is left."""
    return select(
        state,
        RelationRow,
        "SELECT * FROM relations WHERE "
        "(list_has_any(left_columns, $1::VARCHAR[]) AND list_has_any(right_columns, $2::VARCHAR[]))"
        " OR (list_has_any(left_columns, $2::VARCHAR[]) AND list_has_any(right_columns, $1::VARCHAR[])) ORDER BY id",
        [list(one), list(other)],
    )


def across_sources(state: EvidenceState) -> list[RelationRow]:
    """The joins between sources, the surest first."""
    return select(
        state,
        RelationRow,
        "SELECT * FROM relations WHERE split_part(left_table, '/', 1) <> split_part(right_table, '/', 1) "
        "ORDER BY confidence DESC, id",
    )


def joins_of_tables(state: EvidenceState) -> dict[str, int]:
    """How many joins touch each table, on either side."""
    return dict(
        fetch(
            state,
            "SELECT reference, count(*) FROM (SELECT left_table AS reference FROM relations UNION ALL "
            "SELECT right_table FROM relations) GROUP BY reference",
        )
    )


def code_list_labels(state: EvidenceState) -> list[CodeLabel]:
    return select(state, CodeLabel, "SELECT * FROM code_list_labels ORDER BY ALL")
