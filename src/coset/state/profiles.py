"""What value groups, relations, sections of documents and rules are about, in the state: a soft profile each.

Tables, columns, nested paths and facets have theirs in `memberships`. An object is told by its kind and its reference:
a value group has the reference of its column. Replaced as a whole. Knows no model.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from coset.state.evidence_state import EvidenceState
from coset.state.queries import add, execute, fetch, has_table, select

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


def replace_profiles(state: EvidenceState, rows: Iterable[ProfileRow]) -> None:
    with state.transaction():
        execute(state, "DELETE FROM profiles")
        add(state, "profiles", rows)


def profiles(state: EvidenceState, kind: EvidenceKind | None = None) -> list[ProfileRow]:
    """All profiles, or those of one kind."""
    return select(
        state,
        ProfileRow,
        "SELECT * FROM profiles WHERE $1 IS NULL OR kind = $1 ORDER BY kind, reference, coordinate",
        [kind],
    )


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
