"""What the state knows of columns besides their values, as the judging of joins reads it: roles, readings, written SQL.

In: an open state. Out: frozen rows by reference. Nothing is written here but the joins that were proposed, which the
realisation of identities reads: what is believed of them later must not change the roles that it was judged by.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coset.state.evidence_state import EvidenceState
from coset.state.objects import Relation
from coset.state.rows import table_of

PROPOSED_TABLE = """
    CREATE TABLE proposed_joins (
        left_columns VARCHAR[], right_columns VARCHAR[], right_table VARCHAR, cardinality VARCHAR, confidence DOUBLE
    );
    COMMENT ON TABLE proposed_joins IS 'Joins that values and names propose, before roles and readings judged them.';
"""


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


def store_proposed(state: EvidenceState, relations: Sequence[Relation]) -> None:
    """Replace the joins that were proposed."""
    rows = [
        [list(map(str, each.left)), list(map(str, each.right)), str(table_of(each.right[0])), each.cardinality,
         each.confidence]
        for each in relations
    ]  # fmt: skip
    state.connection.execute("DELETE FROM proposed_joins").fetchall()
    if rows:
        state.connection.executemany("INSERT INTO proposed_joins VALUES ($1, $2, $3, $4, $5)", rows)
