"""What value groups, relations, sections of documents and rules are about, in the state: a soft profile each.

Tables, columns, nested paths and facets have theirs in `memberships`. An object is told by its kind and its reference:
a value group has the reference of its column. Replaced by kinds. Knows no model.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

from coset.state.evidence_state import EvidenceState
from coset.state.queries import add, execute, fetch, has_table, number, select

SURELY = 0.5
EvidenceKind = Literal["value group", "relation", "section", "rule"]


@dataclass(frozen=True)
class ProfileRow:
    """One object in one coordinate: its profile in inventory order, and why, in words."""

    kind: EvidenceKind
    reference: str
    coordinate: str
    digest: str
    """Of what it was made from."""
    identity: str
    membership: float
    runner_up: str
    runner_up_membership: float
    profile: tuple[float, ...]
    embedding: tuple[float, ...]
    reasons: tuple[str, ...]


def replace_profiles(state: EvidenceState, rows: Iterable[ProfileRow], kinds: Collection[EvidenceKind]) -> None:
    """Put rows of some kinds in the place of all that stand there of these."""
    execute(state, "DELETE FROM profiles WHERE kind IN (SELECT unnest($1::VARCHAR[]))", [list(kinds)])
    add(state, "profiles", rows)


def profiles(state: EvidenceState, kinds: Collection[EvidenceKind] | None = None) -> list[ProfileRow]:
    """All profiles, or those of some kinds."""
    return select(
        state,
        ProfileRow,
        "SELECT * FROM profiles WHERE $1::VARCHAR[] IS NULL OR list_contains($1::VARCHAR[], kind) "
        "ORDER BY kind, reference, coordinate",
        [None if kinds is None else list(kinds)],
    )


def number_of_objects(state: EvidenceState) -> int:
    """How many objects have a profile."""
    return number(state, "SELECT count(DISTINCT (kind, reference)) FROM profiles")


def data_digest(state: EvidenceState) -> str:
    """Changes with whatever the profiles of value groups and relations are made from: values, types, readings of
    tables, joins, roles and the prototypes of these."""
    parts = [
        fetch(state, f"SELECT count(*), sum(hash({what})::HUGEINT) FROM {table}")
        for table, what in (
            ("group_values", "column_reference, position, value, part"),
            ("columns", "reference, table_reference, type"),
            ("best_readings WHERE reference = table_reference", "reference, name"),
            ("relations", "id, left_columns, right_columns"),
            ("memberships", "reference, coordinate, embedding, precision"),
            ("prototypes", "coordinate, bank, position, identity, centre, precision, support, interpolation"),
        )
    ]
    return repr(parts)


def sure_entities(state: EvidenceState, least: float) -> dict[str, str]:
    """What tables, columns and paths are about, of those that are so sure."""
    rows = fetch(
        state,
        "SELECT reference, identity FROM memberships WHERE coordinate = 'entity' AND list_max(profile) >= $1 "
        "ORDER BY reference",
        [least],
    )
    return dict(rows)


def rules_by_entity(state: EvidenceState) -> dict[str, str]:
    """The entity of each rule that is surely about one, by the rule's reference. None of a state of an older coset."""
    if not has_table(state, "profiles"):
        return {}
    return dict(
        fetch(
            state,
            "SELECT reference, identity FROM profiles WHERE kind = 'rule' AND coordinate = 'entity' "
            f"AND membership >= {SURELY} ORDER BY reference",
        )
    )
