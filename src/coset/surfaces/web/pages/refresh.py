"""Refresh: read the sources again, with live progress.

In: a form. Out: a page that shows how far it is, and in the end what changed. One goes at a time. While one goes the
state is being written, so this page reads none of it.
"""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from coset.surfaces.web.forms import read_form
from coset.surfaces.web.refreshing import Refreshing
from coset.surfaces.web.rendering import render
from coset.surfaces.web.site import Site, site_of


def refresh(request: Request) -> Response:
    return render(request, "refresh.html", **_shown(site_of(request)))


async def start(request: Request) -> Response:
    await read_form(request)
    site = site_of(request)
    going = site.refreshings.last()
    if going is None or going.is_over:
        refreshing = Refreshing()
        refreshing.start(site.environment)
        site.refreshings.add(refreshing)
    return RedirectResponse("/refresh", 303)


async def stop(request: Request) -> Response:
    await read_form(request)
    if (going := site_of(request).refreshings.last()) is not None:
        going.stop()
    return RedirectResponse("/refresh", 303)


def state(request: Request) -> Response:
    """The part of the page that changes while it goes."""
    return render(request, "refresh_state.html", **_shown(site_of(request)))


def _shown(site: Site) -> dict[str, Any]:
    sources = [(name, str(entry.location)) for name, entry in site.environment.configuration.sources.items()]
    return {"refreshing": site.refreshings.last(), "sources": sources}
