"""What is known of an object's role, and why: for `coset show`, `coset identities` and the view.

In: an open state. Out: plain rows. Support and opposition are the labelers' reasons as stored; nothing is computed
anew.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from coset.identities.inventory import COORDINATES, Inventory
from coset.state import EvidenceState
from coset.state.memberships import SignalRow, profile_of, realised_roles, signals_of, taught

TOP = 4


def explain(state: EvidenceState, reference: str, inventory: Inventory) -> dict[str, Any]:
    """The role of one object in both coordinates: memberships, runner-up, radii, reasons, what was taught."""
    found: dict[str, Any] = {}
    for coordinate in COORDINATES:
        row, ids = profile_of(state, reference, coordinate), inventory.ids(coordinate)
        if row is None:
            continue
        best = sorted(range(len(row.profile)), key=lambda number: (-row.profile[number], number))[:TOP]
        signals = signals_of(state, reference, coordinate)
        found[coordinate] = {
            "identity": row.identity,
            "membership": round(row.membership, 3),
            "runner-up": f"{row.runner_up} {row.runner_up_membership:.3f}",
            "profile": ", ".join(f"{ids[number]} {row.profile[number]:.2f}" for number in best if number < len(ids)),
            "stability radius": _radius(row.radius),
            "conservative radius": _radius(row.conservative_radius),
            "radius from losses": _radius(row.loss_radius),
            "support": [_reason(signal) for signal in signals if signal.supports],
            "opposition": [_reason(signal) for signal in signals if not signal.supports],
        }
        if row.pinned:
            found[coordinate]["said by a person"] = [
                f"{'is' if said.supports else 'is not'} {said.identity} (statement {said.number})"
                for said in taught(state, reference, coordinate)
            ]
    return found


def realised_identities(state: EvidenceState, inventory: Inventory) -> list[dict[str, Any]]:
    """Every role (entity and attribute) that some column plays, with its fiber and the strongest competitors."""
    found = []
    for row in realised_roles(state):
        entity, attribute = row.role.split(".")
        name = f"{_name(inventory, 'entity', entity)}: {_name(inventory, 'attribute', attribute).lower()}"
        found.append({**asdict(row), "fiber": list(row.fiber), "name": name})
    return found


def _name(inventory: Inventory, coordinate: Any, identity: str) -> str:
    names = {item.id: item.name for item in inventory.of(coordinate)}
    return names.get(identity, identity)


def _reason(signal: SignalRow) -> str:
    among = ", ".join(signal.identities[:3]) + (", ..." if len(signal.identities) > 3 else "")
    return f"{signal.reason} ({signal.labeler}: {'' if signal.supports else 'not '}{among})"


def _radius(value: float | None) -> str | float | None:
    return None if value is None else "any" if value < 0 else round(value, 4)
