"""A picture of a realisation: objects, prototypes, fibers and radii of one coordinate in two dimensions.

In: an open state. Out: one HTML page without any outside part. The plane is the pair of directions in which the
realised prototypes differ most, so distances in it are true in part only; radii are drawn to the same scale.
"""

from __future__ import annotations

import html
import json
from collections import Counter
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coset.errors import UserError
from coset.identities.inventory import Coordinate, Inventory
from coset.identities.prototypes import Array
from coset.identities.store import IdentityStore
from coset.state import EvidenceState, memberships


def picture(state: EvidenceState, inventory: Inventory, coordinate: Coordinate, title: str) -> str:
    """The page. Names of objects are data: they reach the page as JSON and are shown as text only."""
    data = points(state, inventory, coordinate)
    template = files("coset.identities").joinpath("picture.html").read_text(encoding="utf-8")
    # A closing tag inside a name must not end the script.
    content = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c").replace("&", "\\u0026")
    return template.replace("{{title}}", html.escape(title)).replace("{{coordinate}}", coordinate).replace(
        "{{data}}", content
    )  # fmt: skip


@dataclass(frozen=True)
class Places:
    """One coordinate laid flat. Arrays have one entry an object, in the order of references; those that begin with
    `prototype` have one for each identity that has a fiber."""

    references: tuple[str, ...]
    identities: tuple[str, ...]
    memberships: Array
    runners_up: tuple[str, ...]
    runner_up_memberships: Array
    radii: Array
    """Below zero where nothing can change the role."""
    taught: NDArray[np.bool_]
    at: Array
    prototypes: tuple[str, ...]
    prototypes_at: Array
    prototype_support: Array
    prototype_interpolation: Array


def places(state: EvidenceState, coordinate: Coordinate) -> Places:
    """Where the objects of a coordinate lie, and the prototypes they are assigned to."""
    store = IdentityStore(state)
    store.require()
    rows = memberships.places(state, coordinate)
    if not rows.num_rows:
        raise UserError("there is nothing to draw: no object has a role in this coordinate")
    identities, bank = store.banks(coordinate)[int(rows.column("bank").to_numpy().max())]
    embeddings = rows.column("embedding").combine_chunks().flatten().to_numpy().reshape(rows.num_rows, -1)
    played = rows.column("identity").to_pylist()
    numbers = [identities.index(identity) for identity in sorted(set(played)) if identity in identities]
    plane = _plane(bank.centres[numbers] if len(numbers) > 2 else embeddings)
    middle = bank.centres[numbers].mean(axis=0)
    return Places(
        references=tuple(rows.column("reference").to_pylist()),
        identities=tuple(played),
        memberships=rows.column("membership").to_numpy(),
        runners_up=tuple(rows.column("runner_up").to_pylist()),
        runner_up_memberships=rows.column("runner_up_membership").to_numpy(),
        radii=rows.column("radius").to_numpy(),
        taught=rows.column("pinned").to_numpy(zero_copy_only=False),
        at=(embeddings - middle) @ plane,
        prototypes=tuple(identities[number] for number in numbers),
        prototypes_at=(bank.centres[numbers] - middle) @ plane,
        prototype_support=bank.support[numbers],
        prototype_interpolation=bank.interpolation[numbers],
    )


def points(state: EvidenceState, inventory: Inventory, coordinate: Coordinate) -> dict[str, Any]:
    """Places of objects and of the prototypes that have a fiber, with what a click shows."""
    found = places(state, coordinate)
    names = {item.id: item.name for item in inventory.of(coordinate)}
    counts = Counter(found.identities)
    return {
        "objects": [
            {
                "r": found.references[n], "i": found.identities[n], "m": round(float(found.memberships[n]), 3),
                "u": found.runners_up[n], "v": round(float(found.runner_up_memberships[n]), 3),
                "d": round(max(float(found.radii[n]), 0.0), 4), "p": bool(found.taught[n]),
                "x": round(float(found.at[n, 0]), 4), "y": round(float(found.at[n, 1]), 4),
            }
            for n in range(len(found.references))
        ],
        "prototypes": [
            {
                "i": identity, "n": names.get(identity, identity), "x": round(float(found.prototypes_at[n, 0]), 4),
                "y": round(float(found.prototypes_at[n, 1]), 4), "s": round(float(found.prototype_support[n]), 3),
                "a": round(float(found.prototype_interpolation[n]), 3), "c": counts[identity],
            }
            for n, identity in enumerate(found.prototypes)
        ],
    }  # fmt: skip


def _plane(values: Array) -> Array:
    """The two directions of most variance, each with a fixed sign so that the same state gives the same picture."""
    centred = values - values.mean(axis=0)
    directions = np.linalg.svd(centred, full_matrices=False)[2][:2].T
    if directions.shape[1] < 2:
        directions = np.hstack([directions, np.eye(directions.shape[0])[:, :1]])
    signs = np.sign(directions[np.abs(directions).argmax(axis=0), np.arange(2)])
    result: Array = directions * np.where(signs == 0, 1.0, signs)
    return result
