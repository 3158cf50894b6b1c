"""Where realisations live in the evidence state: profiles, embeddings, banks, signals, and what people taught.

In: realisations. Out: the same, by reference. A row keeps its whole profile, never just its winner. The bank of
the last realisation is kept, because the drift bound compares it with the new one. Knows no model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from coset.errors import UserError
from coset.identities.inventory import COORDINATES, Coordinate, Inventory
from coset.identities.prototypes import Array, PrototypeBank
from coset.identities.realise import Embedded, KnownEmbedding, Realisation
from coset.identities.signals import Signal
from coset.identities.teaching import Taught
from coset.state import EvidenceState, memberships
from coset.state.memberships import TaughtRow
from coset.state.names import resolve

BANK = 1
"""The number of the one bank that a state keeps; earlier releases kept several."""


@dataclass(frozen=True)
class StoredRow:
    """One object in one coordinate as the state holds it."""

    reference: str
    digest: str
    bank: int
    embedding: Array
    precision: Array
    profile: Array
    identity: str
    runner_up: str
    pinned: bool


class IdentityStore:
    """The identities' tables of an open state."""

    def __init__(self, state: EvidenceState) -> None:
        self.state = state

    # What people taught

    def statements(self) -> list[TaughtRow]:
        return memberships.taught(self.state)

    def taught(self, inventory: Inventory) -> list[Taught]:
        """The statements whose identities the inventory has."""
        found = []
        for row in self.statements():
            coordinate: Coordinate = row.coordinate  # type: ignore[assignment]
            if row.identity in inventory.ids(coordinate):
                position = inventory.position(coordinate, row.identity)
                found.append(Taught(row.reference, coordinate, position, row.supports, row.number))
        return found

    # Realisations

    def replace(
        self,
        inventory: Inventory,
        model: str,
        embedded: Embedded,
        signals: Sequence[Sequence[Signal]] | None,
        realised: dict[Coordinate, Realisation],
    ) -> None:
        """Store a realisation whole: what stands in the state depends on evidence and corrections alone, never on the
        runs before. Without `signals` those that are stored stay."""
        memberships.replace_roles(
            self.state, model, _prototype_rows(inventory, realised), _membership_rows(inventory, embedded, realised),
            None if signals is None else _signal_rows(inventory, embedded, signals),
        )  # fmt: skip

    def known_embeddings(self) -> dict[str, KnownEmbedding]:
        """Embeddings by the digest of the features they were made from."""
        found: dict[str, KnownEmbedding] = {}
        for coordinate in COORDINATES:
            for digest, embedding, precision in memberships.embeddings(self.state, coordinate):
                known = found.setdefault(digest, KnownEmbedding({}, {}))
                known.embeddings[coordinate] = np.asarray(embedding, dtype=np.float64)
                known.precisions[coordinate] = np.asarray(precision, dtype=np.float64)
        return found

    def banks(self, coordinate: Coordinate) -> dict[int, tuple[list[str], PrototypeBank]]:
        """Every bank that a stored row was examined with, with the ids of its identities in order."""
        return {
            row.bank: (
                list(row.identities),
                PrototypeBank(
                    np.array(row.centres), np.array(row.precisions), np.array(row.support), np.array(row.interpolation)
                ),
            )
            for row in memberships.banks(self.state, coordinate)
        }

    def rows(self, coordinate: Coordinate) -> dict[str, StoredRow]:
        return {
            row.reference: StoredRow(
                row.reference, row.digest, row.bank, np.array(row.embedding), np.array(row.precision),
                np.array(row.profile), row.identity, row.runner_up, row.pinned,
            )
            for row in memberships.embedded(self.state, coordinate)
        }  # fmt: skip

    def profiles(self, coordinate: Coordinate) -> dict[str, NDArray[np.float32]]:
        """The profile of every object that has one, by reference."""
        found = memberships.profiles(self.state, coordinate)
        if not found.num_rows:
            return {}
        flat = found.column("profile").combine_chunks().flatten().to_numpy().astype(np.float32)
        return dict(zip(found.column("reference").to_pylist(), flat.reshape(found.num_rows, -1), strict=True))

    def signals(self, coordinate: Coordinate, inventory: Inventory) -> list[list[Signal]]:
        """The stored signals of one coordinate, one list per object."""
        ids = inventory.ids(coordinate)
        places = {identity: number for number, identity in enumerate(ids)}
        objects: dict[str, list[Signal]] = {
            reference: [] for reference in memberships.references_with_role(self.state, coordinate)
        }
        for row in memberships.signals(self.state, coordinate):
            named = tuple(places[identity] for identity in row.identities if identity in places)
            signal = Signal(row.labeler, coordinate, named, row.supports, row.reason)
            objects.setdefault(row.reference, []).append(signal)
        return list(objects.values())

    def require(self) -> None:
        if self.state.meta(memberships.MODEL) is None:
            raise UserError("no identities are realised yet: run `coset comprehend`")

    def resolve_object(self, written: str) -> str:
        """The full reference of an object that has a role; else `UserError`, with the nearest references."""
        reference = resolve(self.state, written)
        if not memberships.has_role(self.state, reference):
            raise UserError(f"'{reference}' has no role: roles are for tables, columns, nested paths and facets")
        return reference


def _prototype_rows(inventory: Inventory, realised: dict[Coordinate, Realisation]) -> pa.Table:
    rows: list[dict[str, Any]] = []
    for coordinate, part in realised.items():
        for position, identity in enumerate(inventory.of(coordinate)):
            rows.append(
                {
                    "bank": BANK, "coordinate": coordinate, "position": position, "identity": identity.id,
                    "centre": part.bank.centres[position].tolist(),
                    "precision": part.bank.precisions[position].tolist(),
                    "support": float(part.bank.support[position]),
                    "interpolation": float(part.bank.interpolation[position]),
                }
            )  # fmt: skip
    return pa.Table.from_pylist(rows)


def _membership_rows(
    inventory: Inventory,
    embedded: Embedded,
    realised: dict[Coordinate, Realisation],
) -> pa.Table:
    parts = []
    for coordinate, part in realised.items():
        plays = ~embedded.is_table if coordinate == "attribute" else np.ones(len(embedded.references), dtype=bool)
        numbers = np.flatnonzero(plays)
        if not len(numbers):  # Tables alone, and they play no attribute.
            continue
        ids = np.array(inventory.ids(coordinate), dtype=object)
        winner, second = part.assignment[numbers], part.runner_up[numbers]
        at = np.arange(len(numbers))
        profile = part.memberships[numbers]
        parts.append(
            pa.table(
                {
                    "reference": [embedded.references[n] for n in numbers],
                    "coordinate": [coordinate] * len(numbers),
                    "is_table": embedded.is_table[numbers],
                    "digest": [embedded.digests[n] for n in numbers],
                    "bank": [BANK] * len(numbers),
                    "identity": ids[winner].tolist(),
                    "membership": profile[at, winner],
                    "runner_up": ids[second].tolist(),
                    "runner_up_membership": profile[at, second],
                    "radius": np.where(np.isfinite(part.radius[numbers]), part.radius[numbers], -1.0),
                    "conservative_radius": np.where(
                        np.isfinite(part.conservative_radius[numbers]), part.conservative_radius[numbers], -1.0
                    ),
                    "loss_radius": part.loss_radius[numbers],
                    "pinned": part.pinned[numbers],
                    "profile": _lists(profile),
                    "embedding": _lists(embedded.embeddings[coordinate][numbers]),
                    "precision": _lists(embedded.precisions[coordinate][numbers]),
                }
            )
        )
    return pa.concat_tables(parts) if parts else pa.table({})


def _signal_rows(inventory: Inventory, embedded: Embedded, signals: Sequence[Sequence[Signal]]) -> pa.Table:
    rows = [
        {
            "reference": reference, "coordinate": signal.coordinate, "labeler": signal.labeler,
            "supports": signal.supports, "reason": signal.reason,
            "identities": [inventory.of(signal.coordinate)[position].id for position in signal.identities],
        }
        for reference, own in zip(embedded.references, signals, strict=True)
        for signal in own
    ]  # fmt: skip
    schema = pa.schema(
        [("reference", pa.string()), ("coordinate", pa.string()), ("labeler", pa.string()), ("supports", pa.bool_()),
         ("reason", pa.string()), ("identities", pa.list_(pa.string()))]
    )  # fmt: skip
    return pa.Table.from_pylist(rows, schema=schema)


def _lists(values: Array) -> pa.Array:
    """A matrix as a column of lists. Doubles: a stored embedding must give the very distances that were certified."""
    offsets = pa.array(np.arange(len(values) + 1) * values.shape[1], type=pa.int32())
    return pa.ListArray.from_arrays(offsets, pa.array(np.ascontiguousarray(values).reshape(-1), type=pa.float64()))
