"""What the state knows of columns besides their values, as the judging of joins reads it: roles, readings, written SQL.

In: an open state. Out: frozen rows by reference. Nothing is written here but the joins that were proposed, which the
realisation of identities reads: what is believed of them later must not change the roles that it was judged by.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coset.state.evidence_state import EvidenceState
from coset.state.inserting import insert_rows
from coset.state.objects import Relation
from coset.state.rows import relation_row


@dataclass(frozen=True)
class Profiles:
    """The soft roles of tables and columns in one coordinate: by reference, in the order of `identities`."""

    identities: tuple[str, ...]
    by_reference: dict[str, NDArray[np.float64]]


@dataclass(frozen=True)
class ReadName:
    """What a reader takes a table or column to be, and how sure it is."""

    name: str
    confidence: float


@dataclass(frozen=True)
class ProposedReference:
    left: str
    right: str
    right_table: str


def profiles(state: EvidenceState, coordinate: str) -> Profiles:
    """Empty where no roles were realised."""
    connection = state.connection
    named = connection.execute(
        "SELECT list(identity ORDER BY position) FROM prototypes WHERE coordinate = $1 AND bank = "
        "(SELECT max(bank) FROM prototypes)",
        [coordinate],
    ).fetchall()
    identities = tuple(named[0][0] or ()) if named else ()
    rows = connection.execute(
        "SELECT reference, profile FROM memberships WHERE coordinate = $1", [coordinate]
    ).fetchall()
    found = {reference: np.asarray(profile) for reference, profile in rows if len(profile) == len(identities)}
    return Profiles(identities, found)


def read_names(state: EvidenceState) -> dict[str, tuple[ReadName, ...]]:
    """By reference, the surest first."""
    found: dict[str, list[ReadName]] = {}
    for reference, name, confidence in state.connection.execute(
        "SELECT reference, name, max(confidence) FROM readings WHERE name <> '' GROUP BY reference, name "
        "ORDER BY reference, max(confidence) DESC, name"
    ).fetchall():
        found.setdefault(reference, []).append(ReadName(name, confidence))
    return {reference: tuple(names) for reference, names in found.items()}


def written_joins(state: EvidenceState) -> frozenset[frozenset[str]]:
    """Pairs of columns that SQL of people holds equal."""
    rows = state.connection.execute(
        "SELECT columns, others FROM sql_uses WHERE kind = 'join' AND len(columns) = 1 AND len(others) = 1"
    ).fetchall()
    return frozenset(frozenset((columns[0], others[0])) for columns, others in rows)


def store_proposed(state: EvidenceState, relations: Iterable[Relation], kept_of: Sequence[str] = ()) -> None:
    """Replace the joins that were proposed, except those of the tables `kept_of`, which could not be looked at."""
    columns = ("id", "left_table", "left_columns", "right_columns", "right_table", "cardinality", "confidence")
    rows = {row["id"]: {name: row[name] for name in columns} for row in map(relation_row, relations)}
    with state.transaction():
        state.connection.execute(
            "DELETE FROM proposed_joins WHERE list_contains($1::VARCHAR[], id) "
            "OR NOT list_has_any($2::VARCHAR[], [left_table, right_table])",
            [list(rows), list(kept_of)],
        )
        insert_rows(state.connection, "proposed_joins", list(rows.values()))


def proposed_references(state: EvidenceState) -> list[ProposedReference]:
    """Columns that refer to others by what was proposed or declared, many to one, the surest first."""
    rows = state.connection.execute(
        "SELECT left_columns[1], right_columns[1], right_table FROM proposed_joins WHERE len(left_columns) = 1 "
        "AND len(right_columns) = 1 AND cardinality IN ('n:1', '1:1') ORDER BY confidence DESC, id"
    ).fetchall()
    return [ProposedReference(*row) for row in rows]


def background_digest(state: EvidenceState) -> str:
    """Changes with whatever joins are judged by: roles, readings, written SQL, and what was proposed."""
    parts = [
        state.connection.execute(f"SELECT count(*), sum(hash({what})::HUGEINT) FROM {table}").fetchall()
        for table, what in (
            ("memberships", "reference, coordinate, identity, round(membership, 3)"),
            ("readings", "reference, name, round(confidence, 3)"),
            ("sql_uses", "kind, columns, others"),
            ("proposed_joins", "id, confidence"),
        )
    ]
    return repr(parts)
