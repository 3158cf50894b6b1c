"""The dirt that was seen: where, what, how much of it, and the expression that cleans it.

In: the state. Out: a page, for everything or for one kind or one place.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from coset.surfaces.web.rendering import render
from coset.surfaces.web.site import site_of


def diagnostics(request: Request) -> Response:
    kind, place = (request.query_params.get(name, "").strip() for name in ("kind", "reference"))
    environment = site_of(request).environment
    everything = environment.diagnostics()
    shown = environment.diagnostics(place or None, kind=kind or None)
    kinds: dict[str, int] = {}
    for row in everything:
        kinds[row["kind"]] = kinds.get(row["kind"], 0) + 1
    return render(
        request, "diagnostics.html", rows=shown, kinds=sorted(kinds.items()), kind=kind, place=place,
        total=len(everything),
    )  # fmt: skip
