"""Roles in the state: memberships with their whole profiles, prototype banks, signals, and what people taught.

In: rows as Arrow tables, which the identities make. Out: frozen rows, or Arrow tables where vectors are wanted. What
value groups, relations, sections and rules are about stands apart, in `profiles`, told by kind and reference. Knows no
inventory and no model.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import pyarrow as pa

from coset.state.evidence_state import EvidenceState
from coset.state.queries import add, arrow, execute, fetch, has_table, insert_arrow, number, select, texts

SURELY = 0.5
EvidenceKind = Literal["value group", "relation", "section", "rule"]


@dataclass(frozen=True)
class EvidenceProfileRow:
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


def replace_profiles(state: EvidenceState, rows: Iterable[EvidenceProfileRow], kinds: Collection[EvidenceKind]) -> None:
    """Put rows of some kinds in the place of all that stand there of these. Only those that differ are written."""
    known, now = evidence_profiles(state, kinds), dict.fromkeys(rows)
    gone = [each for each in known if each not in now]
    execute(
        state,
        "DELETE FROM profiles WHERE list_contains($1::VARCHAR[], concat_ws(chr(31), kind, reference, coordinate))",
        [["\x1f".join((each.kind, each.reference, each.coordinate)) for each in gone]],
    )
    kept = set(known)
    add(state, "profiles", [each for each in now if each not in kept])


def evidence_profiles(state: EvidenceState, kinds: Collection[EvidenceKind] | None = None) -> list[EvidenceProfileRow]:
    """All profiles, or those of some kinds."""
    return select(
        state,
        EvidenceProfileRow,
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


Texts = tuple[str, ...]
MODEL = "identity_model"
"""What `meta` has once roles are realised: the model."""


@dataclass(frozen=True)
class MembershipRow:
    """The role of an object in one coordinate, without its vectors. A radius below zero: nothing can change it."""

    TABLE: ClassVar[str] = "memberships"
    ORDER: ClassVar[str] = "reference, coordinate"
    reference: str
    coordinate: str
    is_table: bool
    identity: str
    membership: float
    runner_up: str
    runner_up_membership: float
    pinned: bool
    radius: float


@dataclass(frozen=True)
class ProfileRow(MembershipRow):
    """The same with its profile, in the inventory's order, and its radii."""

    conservative_radius: float
    loss_radius: float | None
    profile: tuple[float, ...]


@dataclass(frozen=True)
class EmbeddedRow:
    """An object in one coordinate as it was examined."""

    reference: str
    digest: str
    bank: int
    embedding: tuple[float, ...]
    precision: tuple[float, ...]
    profile: tuple[float, ...]
    identity: str
    runner_up: str
    pinned: bool


@dataclass(frozen=True)
class BankRow:
    """The prototypes of one coordinate that some row was examined with, by the order of its identities."""

    bank: int
    identities: Texts
    centres: tuple[list[float], ...]
    precisions: tuple[list[float], ...]
    support: tuple[float, ...]
    interpolation: tuple[float, ...]


@dataclass(frozen=True)
class SignalRow:
    reference: str
    coordinate: str
    labeler: str
    supports: bool
    reason: str
    identities: Texts


@dataclass(frozen=True)
class TaughtRow:
    """What a person said an object is, or is not."""

    number: int
    reference: str
    coordinate: str
    identity: str
    supports: bool
    said_at: datetime.datetime


@dataclass(frozen=True)
class RealisedRole:
    """An entity and an attribute that some column plays, its fiber, and the strongest competitors."""

    role: str
    objects: int
    fiber: Texts
    membership: float
    entity_competitor: str
    attribute_competitor: str
    sources: int


@dataclass(frozen=True)
class ColumnRole:
    """The role of a column in both coordinates."""

    name: str
    reference: str
    role: str
    membership: float


# What is written


def replace_roles(
    state: EvidenceState, model: str, prototypes: pa.Table, memberships: pa.Table, signals: pa.Table | None
) -> None:
    """Store a realisation whole. Without `signals` those that are stored stay."""
    with state.transaction():
        for table, rows in (("prototypes", prototypes), ("memberships", memberships), ("signals", signals)):
            if rows is not None:
                execute(state, f"DELETE FROM {table}")
                insert_arrow(state, table, rows)
        state.set_meta(MODEL, model)


def replace_taught(state: EvidenceState, rows: Iterable[TaughtRow]) -> None:
    with state.transaction():
        execute(state, "DELETE FROM taught")
        add(state, "taught", rows)


# What is read of one object


def has_role(state: EvidenceState, reference: str) -> bool:
    return bool(fetch(state, "SELECT 1 FROM memberships WHERE reference = $1 LIMIT 1", [reference]))


def profile_of(state: EvidenceState, reference: str, coordinate: str) -> ProfileRow | None:
    rows = select(
        state,
        ProfileRow,
        "SELECT * EXCLUDE (embedding, precision, digest) FROM memberships WHERE reference = $1 AND coordinate = $2",
        [reference, coordinate],
    )
    return rows[0] if rows else None


def signals_of(state: EvidenceState, reference: str, coordinate: str) -> list[SignalRow]:
    """What speaks for roles of an object, then what speaks against."""
    return select(
        state,
        SignalRow,
        "SELECT * FROM signals WHERE reference = $1 AND coordinate = $2 ORDER BY supports DESC, labeler",
        [reference, coordinate],
    )


def taught(state: EvidenceState, reference: str | None = None, coordinate: str | None = None) -> list[TaughtRow]:
    """What people said, of everything or of one object in one coordinate."""
    return select(
        state,
        TaughtRow,
        "SELECT * FROM taught WHERE ($1 IS NULL OR reference = $1) AND ($2 IS NULL OR coordinate = $2) ORDER BY number",
        [reference, coordinate],
    )


def roles_of_columns(state: EvidenceState, table: str) -> list[ColumnRole]:
    return select(
        state,
        ColumnRole,
        "SELECT c.name, c.reference, e.identity || '.' || a.identity AS role, "
        "e.membership * a.membership AS membership "
        "FROM columns c JOIN memberships e ON e.reference = c.reference AND e.coordinate = 'entity' "
        "JOIN memberships a ON a.reference = c.reference AND a.coordinate = 'attribute' WHERE c.table_reference = $1",
        [table],
    )


# What is read of a coordinate, or of everything


def embeddings(state: EvidenceState, coordinate: str) -> list[tuple[str, list[float], list[float]]]:
    """(digest of the features, embedding, precision) of every object."""
    rows = fetch(state, "SELECT digest, embedding, precision FROM memberships WHERE coordinate = $1", [coordinate])
    return [(digest, embedding, precision) for digest, embedding, precision in rows]


def embedded(state: EvidenceState, coordinate: str) -> list[EmbeddedRow]:
    return select(
        state,
        EmbeddedRow,
        "SELECT reference, digest, bank, embedding, precision, profile, identity, runner_up, pinned "
        "FROM memberships WHERE coordinate = $1 ORDER BY reference",
        [coordinate],
    )


def banks(state: EvidenceState, coordinate: str) -> list[BankRow]:
    """Every bank that a stored row was examined with."""
    return select(
        state,
        BankRow,
        "SELECT bank, list(identity ORDER BY position) AS identities, list(centre ORDER BY position) AS centres, "
        "list(precision ORDER BY position) AS precisions, list(support ORDER BY position) AS support, "
        "list(interpolation ORDER BY position) AS interpolation FROM prototypes WHERE coordinate = $1 "
        "GROUP BY bank ORDER BY bank",
        [coordinate],
    )


def prototype_of(state: EvidenceState, coordinate: str, identity: str) -> tuple[float, float] | None:
    """The support and interpolation of an identity's newest prototype."""
    rows = fetch(
        state,
        "SELECT support, interpolation FROM prototypes WHERE coordinate = $1 AND identity = $2 "
        "ORDER BY bank DESC LIMIT 1",
        [coordinate, identity],
    )
    return (rows[0][0], rows[0][1]) if rows else None


def members_of(state: EvidenceState, coordinate: str, identity: str) -> list[str]:
    """What plays an identity: tables first, then the surest."""
    return texts(
        state,
        "SELECT reference FROM memberships WHERE coordinate = $1 AND identity = $2 "
        "ORDER BY is_table DESC, membership DESC, reference",
        [coordinate, identity],
    )


def nearly(state: EvidenceState, coordinate: str, identity: str, most: int) -> list[MembershipRow]:
    """What plays another identity, with this one as the runner-up, the strongest first."""
    return select(
        state,
        MembershipRow,
        "SELECT * FROM memberships WHERE coordinate = $1 AND runner_up = $2 "
        f"ORDER BY runner_up_membership DESC, reference LIMIT {most}",
        [coordinate, identity],
    )


def doubtful(state: EvidenceState, below: float, most: int) -> list[MembershipRow]:
    """Roles that little would change, of tables first."""
    return select(
        state,
        MembershipRow,
        "SELECT * FROM memberships WHERE NOT pinned AND membership < $1 AND radius >= 0 "
        "AND NOT contains(reference, '#') ORDER BY is_table DESC, radius, reference, coordinate LIMIT $2",
        [below, most],
    )


def unsure_tables(state: EvidenceState, below: float) -> list[MembershipRow]:
    """Tables of whose entity nobody has spoken and that is not sure."""
    return select(
        state,
        MembershipRow,
        "SELECT * FROM memberships WHERE is_table AND coordinate = 'entity' AND NOT pinned AND membership < $1",
        [below],
    )


def played(state: EvidenceState) -> dict[tuple[str, str], int]:
    """How many objects play each identity, by coordinate and identity."""
    rows = fetch(state, "SELECT coordinate, identity, count(*) FROM memberships GROUP BY ALL")
    return {(coordinate, identity): count for coordinate, identity, count in rows}


def surely_played(state: EvidenceState, least: float) -> list[tuple[str, str]]:
    """(coordinate, identity) that some object plays with at least this membership."""
    rows = fetch(state, "SELECT DISTINCT coordinate, identity FROM memberships WHERE membership >= $1", [least])
    return [(coordinate, identity) for coordinate, identity in rows]


def references_with_role(state: EvidenceState, coordinate: str) -> list[str]:
    return texts(state, "SELECT reference FROM memberships WHERE coordinate = $1 ORDER BY 1", [coordinate])


def signals(state: EvidenceState, coordinate: str) -> list[SignalRow]:
    return select(
        state, SignalRow, "SELECT * FROM signals WHERE coordinate = $1 ORDER BY reference, labeler", [coordinate]
    )


def realised_roles(state: EvidenceState) -> list[RealisedRole]:
    """The roles that columns play, those that span several sources first."""
    return select(
        state,
        RealisedRole,
        "SELECT e.identity || '.' || a.identity AS role, count(*) AS objects, "
        "list(a.reference ORDER BY e.membership * a.membership DESC, a.reference) AS fiber, "
        "avg(e.membership * a.membership) AS membership, "
        "mode(e.runner_up || '.' || a.identity) AS entity_competitor, "
        "mode(e.identity || '.' || a.runner_up) AS attribute_competitor, "
        "count(DISTINCT split_part(a.reference, '/', 1)) AS sources "
        "FROM memberships e JOIN memberships a ON e.reference = a.reference AND e.coordinate = 'entity' "
        "AND a.coordinate = 'attribute' GROUP BY ALL ORDER BY sources DESC, objects DESC, role",
    )


def widths_of_profiles(state: EvidenceState) -> list[tuple[str, int]]:
    """How many identities the profiles of each coordinate have."""
    rows = fetch(state, "SELECT DISTINCT coordinate, len(profile) FROM memberships")
    return [(coordinate, width) for coordinate, width in rows]


# With vectors, as Arrow tables


def profiles(state: EvidenceState, coordinate: str) -> pa.Table:
    """`reference` and `profile` of every object."""
    return arrow(
        state, "SELECT reference, profile FROM memberships WHERE coordinate = $1 ORDER BY reference", [coordinate]
    )


def places(state: EvidenceState, coordinate: str) -> pa.Table:
    """Every object of a coordinate with its role and embedding."""
    return arrow(
        state,
        "SELECT reference, identity, membership, runner_up, runner_up_membership, radius, bank, pinned, embedding "
        "FROM memberships WHERE coordinate = $1 ORDER BY reference",
        [coordinate],
    )


def memberships_table(state: EvidenceState) -> pa.Table:
    """One row an object and coordinate: its role, the runner-up, the certified radius (infinite where nothing can
    change the role), whether a person said so, and the whole profile in the order of the inventory."""
    return arrow(
        state,
        "SELECT reference, CASE WHEN is_table THEN 'table' ELSE 'column' END AS object, coordinate, identity, "
        "membership, runner_up, runner_up_membership, CASE WHEN radius < 0 THEN 'inf'::DOUBLE ELSE radius END AS "
        "radius, pinned AS taught, profile FROM memberships ORDER BY reference, coordinate DESC",
    )


# For views


@dataclass(frozen=True)
class ReasonRow:
    """Why an object plays the identity that it plays, or why not."""

    reference: str
    coordinate: str
    supports: bool
    reason: str


def reasons_for(
    state: EvidenceState, references: Sequence[str], coordinate: str, without: Sequence[str]
) -> list[ReasonRow]:
    """The reasons of labelers (but for those named in `without`) that speak of the identity each object plays; what
    speaks of fewest identities first."""
    return select(
        state,
        ReasonRow,
        "SELECT s.reference, s.coordinate, s.supports, s.reason FROM signals s JOIN memberships m "
        "ON m.reference = s.reference AND m.coordinate = s.coordinate AND list_contains(s.identities, m.identity) "
        "WHERE s.reference IN (SELECT unnest($1::VARCHAR[])) AND s.coordinate = $2 "
        "AND NOT list_contains($3::VARCHAR[], s.labeler) "
        "ORDER BY s.reference, s.coordinate, len(s.identities), s.labeler, s.reason",
        [list(references), coordinate, list(without)],
    )


def profiles_of(state: EvidenceState, references: Sequence[str]) -> list[ProfileRow]:
    """The roles of some objects in both coordinates."""
    return select(
        state,
        ProfileRow,
        "SELECT * EXCLUDE (embedding, precision, digest) FROM memberships "
        "WHERE reference IN (SELECT unnest($1::VARCHAR[]))",
        [list(references)],
    )
