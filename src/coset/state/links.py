"""Record links in the state: entities that live in several tables, their records in clusters, and pairs left apart.

In: what linking found. Out: the same as frozen rows. `linked_entities` has one row an entity, `linked_records` one a
record, `link_pairs` one a pair that was followed or refused, each with why. Also what linking reads of documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from coset.state.evidence_state import EvidenceState
from coset.state.inserting import insert_rows

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
        state.connection.execute("DELETE FROM linked_entities; DELETE FROM linked_records; DELETE FROM link_pairs")
        insert_rows(state.connection, "linked_entities", [_entity_row(each) for each in entities])
        insert_rows(
            state.connection, "linked_records",
            [
                {
                    "entity": each.entity, "cluster": each.cluster, "table_reference": each.table, "key": each.key,
                    "evidence": each.evidence, "flags": each.flags,
                }
                for each in records
            ],
        )  # fmt: skip
        insert_rows(state.connection, "link_pairs", [asdict(each) for each in pairs])


def linked_entities(state: EvidenceState) -> list[LinkedEntity]:
    if not _has_links(state):
        return []
    rows = state.rows("SELECT * EXCLUDE (made_at) FROM linked_entities ORDER BY records DESC, entity")
    return [LinkedEntity(**{**row, "tables": tuple(row["tables"]), "reasons": tuple(row["reasons"])}) for row in rows]


def linked_records(state: EvidenceState, entity: str) -> list[LinkedRecord]:
    rows = state.rows(
        "SELECT entity, cluster, table_reference AS \"table\", key, evidence, flags FROM linked_records "
        "WHERE entity = $1 ORDER BY cluster, table_reference, key",
        [entity],
    )
    return [LinkedRecord(**row) for row in rows]


def link_pairs(
    state: EvidenceState, entity: str, *, followed: bool | None = None, keys: Iterable[tuple[str, str]] | None = None,
    most: int | None = None,
) -> list[LinkPair]:  # fmt: skip
    """The pairs of an entity, the heaviest first; `keys`: those of some records (table, key) alone."""
    wanted = None if keys is None else [f"{table}\n{key}" for table, key in keys]
    rows = state.rows(
        "SELECT * FROM link_pairs WHERE entity = $1 AND ($2 IS NULL OR followed = $2) AND ($3 IS NULL OR "
        "list_contains($3::VARCHAR[], left_table || chr(10) || left_key) "
        "OR list_contains($3::VARCHAR[], right_table || chr(10) || right_key)) "
        "ORDER BY followed DESC, weight DESC NULLS LAST, left_table, left_key, right_table, right_key LIMIT $4",
        [entity, followed, wanted, most if most is not None else 9_223_372_036_854_775_807],
    )
    return [LinkPair(**row) for row in rows]


def sections_in_force(state: EvidenceState) -> list[SectionText]:
    """What documents that hold say, with what they name."""
    named: dict[str, list[str]] = {}
    for row in state.rows("SELECT section_reference, target_reference FROM mentions ORDER BY ALL"):
        named.setdefault(row["section_reference"], []).append(row["target_reference"])
    rows = state.rows("SELECT reference, text FROM sections WHERE status = 'current' ORDER BY reference")
    return [SectionText(row["text"], tuple(named.get(row["reference"], ()))) for row in rows]


def versions_of_tables(state: EvidenceState) -> list[tuple[Any, ...]]:
    """What tells whether a table is as it was when it was linked."""
    return state.connection.execute(
        "SELECT reference, shape, token, digest, rows FROM tables ORDER BY reference"
    ).fetchall()


def _entity_row(each: LinkedEntity) -> Mapping[str, Any]:
    from coset.state.evidence_state import now

    return {**asdict(each), "tables": list(each.tables), "reasons": list(each.reasons), "made_at": now()}


def _has_links(state: EvidenceState) -> bool:
    """A state of an earlier release, opened for reading, has no such table."""
    return bool(state.rows("SELECT 1 AS there FROM information_schema.tables WHERE table_name = 'linked_entities'"))
