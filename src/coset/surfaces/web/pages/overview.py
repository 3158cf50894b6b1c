"""The environment at a glance, and its refresh with live progress.

In: the state. Out: a page of what there is, what joins, what is dirty and what is in doubt; whether the sources are
still as they were read, which takes longer; and how far a comprehension is.
"""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from coset.errors import UserError
from coset.evidence.changes import differences
from coset.identities.explain import realised_identities
from coset.identities.inventory import Inventory
from coset.state import EvidenceState
from coset.state.memberships import MODEL, doubtful, taught
from coset.state.read_model import ReadModel
from coset.state.relations import RelationRow, across_sources
from coset.state.tables import kinds_of_dirt, source_overviews
from coset.surfaces.web.background import Refreshing
from coset.surfaces.web.rendering import read_form, render
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


SHOWN = 8
CLEAR = 0.5
"""A membership below this is worth a look."""


def overview(request: Request) -> Response:
    site = site_of(request)
    try:
        with site.environment.reading() as state:
            shown = at_a_glance(state, site.inventory)
    except UserError as mistake:
        named = site.environment.configuration.sources
        return render(
            request, "not_comprehended.html", sources=[(name, str(entry.location)) for name, entry in named.items()],
            problem=str(mistake),
        )  # fmt: skip
    return render(request, "overview.html", **shown, questions=_suggested(site))


def freshness(request: Request) -> Response:
    """Whether a comprehension would find something to do."""
    site = site_of(request)
    with site.environment.reading() as state:
        found = differences(site.environment.configuration, state)
    return render(request, "freshness.html", differences=found, shown=found[:SHOWN])


def at_a_glance(state: EvidenceState, inventory: Inventory) -> dict[str, Any]:
    sources = source_overviews(state)
    roles = realised_identities(state, inventory) if state.meta(MODEL) else []
    return {
        "sources": sources,
        "totals": {
            "tables": sum(row.tables for row in sources),
            "columns": sum(row.columns for row in sources),
            "rows": sum(row.rows or 0 for row in sources),
            "relations": ReadModel(state).count(RelationRow),
            "across": len(across_sources(state)),
            "dirt": sum(row.dirt for row in sources),
            "roles": len(roles),
            "taught": len(taught(state)),
        },
        "read_at": max((row.listed_at for row in sources), default=None),
        "joins": across_sources(state)[:SHOWN],
        "dirt": kinds_of_dirt(state),
        "shared": [row for row in roles if row["sources"] > 1][:SHOWN],
        "doubtful": doubtful(state, CLEAR, SHOWN),
    }


def _suggested(site: Site) -> tuple[str, ...]:
    """Questions to begin with: the demo's own, where this is the demo."""
    from coset.demo.folder import MARK

    if not (site.environment.configuration.path.parent / MARK).is_file():
        return ()
    from coset.demo.questions import QUESTIONS

    return tuple(each.text for each in QUESTIONS)
