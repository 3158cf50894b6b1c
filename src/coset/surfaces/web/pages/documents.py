"""Documents: which were read, and one with its sections, the rules they state and what they name.

In: the state. Out: a list, and the page of one document.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from coset.surfaces.web.rendering import render
from coset.surfaces.web.site import site_of


def listed(request: Request) -> Response:
    return render(request, "documents.html", documents=site_of(request).environment.documents())


def document(request: Request) -> Response:
    name = request.query_params.get("name", "")
    return render(request, "document.html", name=name, sections=site_of(request).environment.document(name))
