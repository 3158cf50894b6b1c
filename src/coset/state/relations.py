"""What connects the tables, in the state: joins, copies, code lists with their labels, record links.

In: relations, copies and code lists as they were found. Out: the same, as frozen rows. Knows how they are kept, not how
they are found.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from coset.state.evidence_state import EvidenceState
from coset.state.memberships import MembershipRow
from coset.state.queries import execute, fetch, insert, select
from coset.state.rows import now
from coset.state.tables import StateRow


@dataclass(frozen=True)
class LinkedEntity:
    """An entity with records in several tables, or several for one thing in one table."""

    entity: str
    tables: tuple[str, ...]
    records: int
    clusters: int
    """Things."""
    linked: int
    """Things with more than one record."""
    near_misses: int
    reasons: tuple[str, ...]
    """What records were linked by, with how many pairs each gave."""
    problem: str | None = None


@dataclass(frozen=True)
class LinkedRecord:
    entity: str
    cluster: int
    table: str
    key: str
    evidence: str
    flags: str | None


@dataclass(frozen=True)
class LinkPair:
    """Two records that are one thing (`followed`), or might be and were left apart for a `reason`."""

    entity: str
    left_table: str
    left_key: str
    right_table: str
    right_key: str
    kind: str
    evidence: str
    weight: float | None
    followed: bool
    reason: str | None


@dataclass(frozen=True)
class SectionText:
    """A section of a document that holds, and the tables and columns that it names."""

    text: str
    named: tuple[str, ...]


def store_links(
    state: EvidenceState,
    entities: Iterable[LinkedEntity],
    records: Iterable[LinkedRecord],
    pairs: Iterable[LinkPair],
) -> None:
    """Replace all links."""
    with state.transaction():
        for table in ("linked_entities", "linked_records", "link_pairs"):
            execute(state, f"DELETE FROM {table}")
        insert(state, "linked_entities", [_entity_row(each) for each in entities])
        insert(state, "linked_records", [_record_row(each) for each in records])
        insert(state, "link_pairs", [asdict(each) for each in pairs])


def linked_entities(state: EvidenceState) -> list[LinkedEntity]:
    """The largest first; none in a state of an earlier release that is open for reading."""
    if not fetch(state, "SELECT 1 FROM information_schema.tables WHERE table_name = 'linked_entities'"):
        return []
    return select(state, LinkedEntity, "FROM linked_entities ORDER BY records DESC, entity")


def linked_records(state: EvidenceState, entity: str) -> list[LinkedRecord]:
    return select(
        state,
        LinkedRecord,
        'SELECT *, table_reference AS "table" FROM linked_records '
        "WHERE entity = $1 ORDER BY cluster, table_reference, key",
        [entity],
    )


def link_pairs(
    state: EvidenceState, entity: str, *, followed: bool | None = None, keys: Iterable[tuple[str, str]] | None = None,
    most: int | None = None,
) -> list[LinkPair]:  # fmt: skip
    """The pairs of an entity, the heaviest first; `keys`: those of some records (table, key) alone."""
    wanted = None if keys is None else [f"{table}\n{key}" for table, key in keys]
    return select(
        state, LinkPair,
        "SELECT * FROM link_pairs WHERE entity = $1 AND ($2::BOOLEAN IS NULL OR followed = $2) AND ($3::VARCHAR[] "
        "IS NULL OR "
        "list_contains($3::VARCHAR[], left_table || chr(10) || left_key) "
        "OR list_contains($3::VARCHAR[], right_table || chr(10) || right_key)) "
        "ORDER BY followed DESC, weight DESC NULLS LAST, left_table, left_key, right_table, right_key LIMIT $4",
        [entity, followed, wanted, most if most is not None else 2**62],
    )  # fmt: skip


def sections_in_force(state: EvidenceState) -> list[SectionText]:
    """What documents that hold say, with what they name."""
    return select(
        state, SectionText,
        "SELECT s.text, list(m.target_reference ORDER BY m.target_reference) FILTER (m.target_reference IS NOT "
        "NULL) AS named "
        "FROM sections s LEFT JOIN mentions m ON m.section_reference = s.reference WHERE s.status = 'current' "
        "GROUP BY s.reference, s.text ORDER BY s.reference",
    )  # fmt: skip


def all_roles(state: EvidenceState) -> list[MembershipRow]:
    return select(state, MembershipRow, f"FROM {MembershipRow.TABLE} ORDER BY {MembershipRow.ORDER}")


def roles_in_brief(state: EvidenceState) -> list[tuple[Any, ...]]:
    return fetch(state, "SELECT reference, coordinate, identity FROM memberships ORDER BY ALL")


def _entity_row(each: LinkedEntity) -> dict[str, Any]:
    return {**asdict(each), "tables": list(each.tables), "reasons": list(each.reasons), "made_at": now()}


def _record_row(each: LinkedRecord) -> dict[str, Any]:
    return {
        "entity": each.entity, "cluster": each.cluster, "table_reference": each.table, "key": each.key,
        "evidence": each.evidence, "flags": each.flags,
    }  # fmt: skip


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
