"""The map: objects, prototypes, fibers and radii of one coordinate on a plane.

In: the state. Out: a page with a canvas, and the places as JSON in columns, made once for each state and kept: a
thousand objects are a few dozen kilobytes.
"""

from __future__ import annotations

import gzip
import json
import threading
from functools import lru_cache
from pathlib import Path

import numpy as np
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from coset.api.environment import Environment
from coset.identities.inventory import COORDINATES, Coordinate, load_inventory
from coset.identities.picture import Places, places
from coset.identities.prototypes import Array
from coset.routing.objects.objects_of_state import stamp_of
from coset.surfaces.web.rendering import render
from coset.surfaces.web.site import site_of

SCALE = 1_000
"""Places and radii are sent as whole thousandths: finer than a pixel at any zoom that shows two objects."""
_making = threading.Lock()


def map_page(request: Request) -> Response:
    coordinate = _coordinate(request)
    with site_of(request).environment.reading():
        pass  # Says what to do where there is nothing to draw yet.
    return render(
        request, "map.html", coordinate=coordinate, coordinates=COORDINATES,
        chosen=request.query_params.get("reference", ""), picked=request.query_params.get("identity", ""),
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
    text = json.dumps(columns(found, names), separators=(",", ":"), ensure_ascii=False)
    return gzip.compress(text.encode(), 5, mtime=0)


def columns(found: Places, names: dict[str, str]) -> dict[str, object]:
    """The places in columns; identities are numbers into one list, prototypes come first in it."""
    ids = [*found.prototypes, *sorted({*found.identities, *found.runners_up} - set(found.prototypes))]
    number = {identity: place for place, identity in enumerate(ids)}
    return {
        "scale": SCALE,
        "identities": ids,
        "names": [names.get(identity, identity) for identity in ids],
        "objects": {
            "reference": found.references,
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
