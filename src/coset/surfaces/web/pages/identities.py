"""Roles: those that are played here, one role or coordinate with its fiber and competitors, and the map of them all.

In: the state. Out: pages, and the map's points as JSON.
"""

from __future__ import annotations

import gzip
import json
import threading
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from coset.api.environment import Environment
from coset.errors import UserError
from coset.identities.explain import explain, realised_identities
from coset.identities.inventory import COORDINATES, Coordinate, Identity, Inventory, load_inventory
from coset.identities.picture import Places, places
from coset.identities.prototypes import Array
from coset.identities.store import IdentityStore
from coset.state import EvidenceState
from coset.state.file import stamp_of
from coset.state.memberships import members_of, nearly, played, profile_of, prototype_of
from coset.surfaces.web.rendering import render
from coset.surfaces.web.site import site_of

SCALE = 1_000
"""Places and radii are sent as whole thousandths: finer than a pixel at any zoom that shows two objects."""
_making = threading.Lock()


def map_page(request: Request) -> Response:
    coordinate = _coordinate(request)
    environment = site_of(request).environment
    with environment.reading():
        pass  # Says what to do where there is nothing to draw yet.
    return render(
        request, "map.html", coordinate=coordinate, coordinates=COORDINATES,
        chosen=environment.workspace.names().told(request.query_params.get("reference", "")),
        picked=request.query_params.get("identity", ""),
    )  # fmt: skip


def data(request: Request) -> Response:
    """The places, as JSON."""
    environment = site_of(request).environment
    folder = environment.configuration.state_folder
    with _making:  # Two requests at once make it once.
        content = _content(environment, folder, stamp_of(folder), _coordinate(request))
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(content, media_type="application/json", headers={"Content-Encoding": "gzip"})
    return Response(gzip.decompress(content), media_type="application/json")


def _coordinate(request: Request) -> Coordinate:
    wanted = request.query_params.get("coordinate", "attribute")
    for coordinate in COORDINATES:
        if wanted == coordinate:
            return coordinate
    raise HTTPException(404, f"There is no such coordinate: there are {' and '.join(COORDINATES)}.")


@lru_cache(maxsize=4)
def _content(environment: Environment, folder: Path, stamp: tuple[int, int] | None, coordinate: Coordinate) -> bytes:
    """The JSON, compressed."""
    with environment.reading() as state:
        found = places(state, coordinate)
    inventory = load_inventory(environment.configuration.identities_file)
    names = {item.id: item.name for item in inventory.of(coordinate)}
    known = environment.workspace.names()
    objects = [known.in_sql(each) for each in found.references]
    text = json.dumps(columns(found, names, objects), separators=(",", ":"), ensure_ascii=False)
    return gzip.compress(text.encode(), 5, mtime=0)


def columns(found: Places, names: dict[str, str], objects: list[str]) -> dict[str, object]:
    """The places in columns; identities are numbers into one list, prototypes come first in it."""
    ids = [*found.prototypes, *sorted({*found.identities, *found.runners_up} - set(found.prototypes))]
    number = {identity: place for place, identity in enumerate(ids)}
    return {
        "scale": SCALE,
        "identities": ids,
        "names": [names.get(identity, identity) for identity in ids],
        "objects": {
            "name": objects,
            "x": _whole(found.at[:, 0]), "y": _whole(found.at[:, 1]),
            "identity": [number[identity] for identity in found.identities],
            "membership": _whole(found.memberships),
            "runnerUp": [number[identity] for identity in found.runners_up],
            "runnerUpMembership": _whole(found.runner_up_memberships),
            "radius": _whole(np.maximum(found.radii, -1 / SCALE)),
            "taught": np.flatnonzero(found.taught).tolist(),
        },
        "prototypes": {
            "x": _whole(found.prototypes_at[:, 0]), "y": _whole(found.prototypes_at[:, 1]),
            "support": _whole(found.prototype_support), "interpolation": _whole(found.prototype_interpolation),
        },
    }  # fmt: skip


def _whole(values: Array) -> list[int]:
    whole: list[int] = np.rint(values * SCALE).astype(np.int64).tolist()
    return whole


EXPLAINED = 40
NEAR = 12
"""Of so many members the reasons are shown; the others are listed."""


@dataclass(frozen=True)
class Member:
    """An object of a fiber, with what was said for and against it."""

    reference: str
    is_table: bool
    membership: float
    runner_up: str
    runner_up_membership: float
    radius: float
    taught: bool
    support: tuple[str, ...] = ()
    opposition: tuple[str, ...] = ()


def listed(request: Request) -> Response:
    site = site_of(request)
    wanted = request.query_params.get("find", "").strip().lower()
    inventory = site.inventory
    with site.environment.reading() as state:
        IdentityStore(state).require()
        roles = realised_identities(state, inventory)
        counts = played(state)
    if wanted:
        roles = [
            role for role in roles
            if wanted in role["role"] or wanted in role["name"].lower()
            or any(wanted in reference.lower() for reference in role["fiber"])
        ]  # fmt: skip
    inventories = [
        (coordinate, [(one, counts.get((coordinate, one.id), 0)) for one in inventory.of(coordinate)])
        for coordinate in COORDINATES
    ]
    return render(request, "identities.html", roles=roles, find=wanted, inventories=inventories)


def role(request: Request) -> Response:
    """One role: an entity and an attribute."""
    site = site_of(request)
    inventory = site.inventory
    wanted = inventory.role(request.query_params.get("role", ""))
    if len(wanted) < 2:
        raise UserError("a role has an entity and an attribute, such as customer.identifier")
    entity, attribute = (inventory.of(coordinate)[wanted[coordinate]] for coordinate in COORDINATES)
    with site.environment.reading() as state:
        IdentityStore(state).require()
        found = [
            each for each in realised_identities(state, inventory) if each["role"] == f"{entity.id}.{attribute.id}"
        ]
        if not found:
            raise HTTPException(404, f"No column of this environment plays {entity.id}.{attribute.id}.")
        members = [
            (reference, {c: _member(state, reference, c, inventory, number) for c in COORDINATES})
            for number, reference in enumerate(found[0]["fiber"])
        ]
    return render(
        request, "role.html", role=found[0], entity=entity, attribute=attribute, members=members,
        competitors=_competitors([each for _, both in members for each in both.items() if each[1]]),
    )  # fmt: skip


def identity(request: Request) -> Response:
    """One identity of one coordinate."""
    site = site_of(request)
    coordinate, inventory = _coordinate_of(request.path_params["coordinate"]), site.inventory
    one: Identity = inventory.of(coordinate)[inventory.position(coordinate, request.query_params.get("id", ""))]
    with site.environment.reading() as state:
        IdentityStore(state).require()
        members = [
            member
            for number, reference in enumerate(members_of(state, coordinate, one.id))
            if (member := _member(state, reference, coordinate, inventory, number))
        ]
        prototype = prototype_of(state, coordinate, one.id)
        near = nearly(state, coordinate, one.id, NEAR)
    return render(
        request, "identity.html", coordinate=coordinate, identity=one, members=members, near=near,
        prototype=prototype and {"support": prototype[0], "interpolation": prototype[1]},
        competitors=_competitors([(coordinate, member) for member in members]),
    )  # fmt: skip


def _coordinate_of(written: str) -> Coordinate:
    for coordinate in COORDINATES:
        if written == coordinate:
            return coordinate
    raise HTTPException(404, f"There is no such coordinate: there are {' and '.join(COORDINATES)}.")


def _member(
    state: EvidenceState, reference: str, coordinate: Coordinate, inventory: Inventory, number: int
) -> Member | None:
    row = profile_of(state, reference, coordinate)
    if row is None:
        return None
    reasons: dict[str, Any] = {}
    if number < EXPLAINED:
        reasons = explain(state, reference, inventory).get(coordinate, {})
    return Member(
        reference, row.is_table, row.membership, row.runner_up, row.runner_up_membership, row.radius, row.pinned,
        tuple(reasons.get("support", ())), tuple(reasons.get("opposition", ())),
    )  # fmt: skip


def _competitors(members: list[tuple[Coordinate, Member | None]]) -> list[tuple[Coordinate, str, int, float]]:
    """The runners-up: how often each is one, and its strongest membership."""
    present = [(coordinate, member) for coordinate, member in members if member is not None]
    counts = Counter((coordinate, member.runner_up) for coordinate, member in present)
    strongest: dict[tuple[Coordinate, str], float] = {}
    for coordinate, member in present:
        key = (coordinate, member.runner_up)
        strongest[key] = max(strongest.get(key, 0.0), member.runner_up_membership)
    found = [(coordinate, name, number, strongest[coordinate, name]) for (coordinate, name), number in counts.items()]
    return sorted(found, key=lambda each: (-each[3], each[0], each[1]))[:8]
