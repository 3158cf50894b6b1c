"""A picture of a realisation: objects, prototypes, fibers and radii of one coordinate in two dimensions.

In: an open state. Out: one HTML page without any outside part. The plane is the pair of directions in which the
realised prototypes differ most, so distances in it are true in part only; radii are drawn to the same scale.
"""

from __future__ import annotations

import html
import json
from importlib.resources import files
from typing import Any

import numpy as np

from coset.errors import Mistake
from coset.evidence.state import EvidenceState
from coset.identities.inventory import Coordinate, Inventory
from coset.identities.prototypes import Array
from coset.identities.store import IdentityStore


def picture(state: EvidenceState, inventory: Inventory, coordinate: Coordinate, title: str) -> str:
    """The page. Names of objects are data: they reach the page as JSON and are shown as text only."""
    data = points(state, inventory, coordinate)
    template = files("coset.identities").joinpath("picture.html").read_text(encoding="utf-8")
    # A closing tag inside a name must not end the script.
    content = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c").replace("&", "\\u0026")
    return template.replace("{{title}}", html.escape(title)).replace("{{coordinate}}", coordinate).replace(
        "{{data}}", content
    )  # fmt: skip


def points(state: EvidenceState, inventory: Inventory, coordinate: Coordinate) -> dict[str, Any]:
    """Places of objects and of the prototypes that have a fiber, with what a click shows."""
    store = IdentityStore(state)
    store.require()
    rows = state.rows(
        "SELECT reference, identity, membership, runner_up, runner_up_membership, radius, bank, pinned, embedding "
        "FROM memberships WHERE coordinate = $1 ORDER BY reference", [coordinate],
    )  # fmt: skip
    if not rows:
        raise Mistake("there is nothing to draw: no object has a role in this coordinate")
    identities, bank = store.banks(coordinate)[max(row["bank"] for row in rows)]
    embeddings = np.array([row["embedding"] for row in rows])
    present = sorted({row["identity"] for row in rows})
    numbers = [identities.index(identity) for identity in present if identity in identities]
    plane = _plane(bank.centres[numbers] if len(numbers) > 2 else embeddings)
    middle = bank.centres[numbers].mean(axis=0)
    places, centres = (embeddings - middle) @ plane, (bank.centres[numbers] - middle) @ plane
    names = {item.id: item.name for item in inventory.of(coordinate)}
    return {
        "objects": [
            {
                "r": row["reference"], "i": row["identity"], "m": round(row["membership"], 3), "u": row["runner_up"],
                "v": round(row["runner_up_membership"], 3), "d": round(max(row["radius"], 0.0), 4),
                "p": bool(row["pinned"]), "x": round(float(place[0]), 4), "y": round(float(place[1]), 4),
            }
            for row, place in zip(rows, places, strict=True)
        ],
        "prototypes": [
            {
                "i": identities[number], "n": names.get(identities[number], identities[number]),
                "x": round(float(place[0]), 4), "y": round(float(place[1]), 4),
                "s": round(float(bank.support[number]), 3), "a": round(float(bank.interpolation[number]), 3),
                "c": sum(row["identity"] == identities[number] for row in rows),
            }
            for number, place in zip(numbers, centres, strict=True)
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
