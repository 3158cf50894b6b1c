"""Realise an environment's identities and keep them: the last step of `coset comprehend`, and all of `coset teach`.

In: an open state and a model. Out: rows in the state, and a summary of what changed role. Everything is realised and
kept anew where anything differs, so that equal evidence gives equal roles; only embeddings of unchanged features are
taken over. The summary tells objects whose features changed, or whose margin the drift of the bank may have used up,
from those that are certified to have kept their role.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coset.identities.certificates import drift_bound, keeps_assignment
from coset.identities.inventory import COORDINATES, Coordinate
from coset.identities.model import IdentityModel
from coset.identities.prototypes import assign, distances
from coset.identities.realise import (
    Embedded,
    Realisation,
    all_signals,
    embed,
    realise_coordinate,
)
from coset.identities.store import IdentityStore
from coset.readings.observe import observe
from coset.state import EvidenceState

REALISED = "realised"
"""The key of the state's `meta` under which a digest of all stands that the roles were realised from."""


@dataclass(frozen=True)
class RoleChange:
    """An object whose assignment in one coordinate is another than before."""

    reference: str
    coordinate: Coordinate
    before: str
    after: str


@dataclass(frozen=True)
class RoleSummary:
    """What a realisation did."""

    objects: int
    encoded: int
    """Objects whose features are new."""
    examined: int
    """Objects that were looked at again: new features, or a margin that the drift bound does not cover."""
    certified: int
    """Objects that the drift bound keeps in their role without a look."""
    changes: tuple[RoleChange, ...]


def comprehend_identities(state: EvidenceState, model: IdentityModel) -> RoleSummary:
    """Bring the identities of a state up to date with its evidence and with what was taught."""
    store = IdentityStore(state)
    environment = observe(state)
    taught = store.taught(model.inventory)
    seen = hashlib.blake2b(
        repr((model.name, model.inventory, environment, taught)).encode("utf-8", "replace"), digest_size=16
    ).hexdigest()
    if state.meta(REALISED) == seen:
        return RoleSummary(len(environment.objects), 0, 0, len(environment.objects), ())
    same_model = state.meta("identity_model") == model.name
    known = store.known_embeddings() if same_model else {}
    embedded = embed(environment, model, known)
    signals = all_signals(environment, model)
    realised = {
        coordinate: realise_coordinate(coordinate, embedded, signals, model.coordinates[coordinate], taught)
        for coordinate in COORDINATES
    }
    before = {coordinate: store.rows(coordinate) for coordinate in COORDINATES} if same_model else {}
    examined = (
        _to_examine(store, model, embedded, realised) if before else np.ones(len(embedded.references), dtype=bool)
    )
    changes = []
    for coordinate, rows in before.items():
        ids = model.inventory.ids(coordinate)
        for number in np.flatnonzero(examined):
            old = rows.get(embedded.references[number])
            after = ids[realised[coordinate].assignment[number]]
            if old is not None and old.identity != after:
                changes.append(RoleChange(old.reference, coordinate, old.identity, after))
    store.replace(model.inventory, model.name, embedded, signals, realised)
    state.set_meta(REALISED, seen)
    encoded = sum(digest not in known for digest in embedded.digests)
    return RoleSummary(len(embedded.references), encoded, int(examined.sum()), int((~examined).sum()), tuple(changes))


def _to_examine(
    store: IdentityStore, model: IdentityModel, embedded: Embedded, realised: dict[Coordinate, Realisation]
) -> NDArray[np.bool_]:
    """True where an object is new, changed, pinned, or not covered by the drift bound in some coordinate."""
    examined = np.zeros(len(embedded.references), dtype=bool)
    for coordinate in COORDINATES:
        rows, banks, new = store.rows(coordinate), store.banks(coordinate), realised[coordinate]
        ids = list(model.inventory.ids(coordinate))
        by_bank: dict[int, list[int]] = {}
        for number, (reference, digest) in enumerate(zip(embedded.references, embedded.digests, strict=True)):
            if coordinate == "attribute" and embedded.is_table[number]:
                continue
            row = rows.get(reference)
            if row is None or row.digest != digest or row.pinned or new.pinned[number] or row.bank not in banks:
                examined[number] = True
            else:
                by_bank.setdefault(row.bank, []).append(number)
        for bank, numbers in by_bank.items():
            identities, old = banks[bank]
            if identities != ids:
                examined[numbers] = True
                continue
            embeddings = embedded.embeddings[coordinate][numbers]
            distance = distances(embeddings, old)
            covered = keeps_assignment(distance, assign(distance), drift_bound(embeddings, old, new.bank))
            examined[np.array(numbers)[~covered]] = True
    return examined
