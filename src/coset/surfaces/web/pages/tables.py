"""Tables: all of them by what they are, and the first rows of one.

In: words to find, in the address. Out: a list of originals with their readings, copies folded in; and as a part of a
table's own page its first rows, without values of a schema-only source or of personal columns.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from coset.surfaces.web.rendering import render
from coset.surfaces.web.site import site_of
from coset.use_cases.evidence import preview, tables

SHOWN = 500


def listed(request: Request) -> Response:
    find = request.query_params.get("find", "").strip()
    copies = request.query_params.get("copies") == "1"
    found = tables(site_of(request).environment.workspace, find, copies=copies)
    return render(
        request, "tables.html", rows=found[:SHOWN], find=find, copies=copies, left_out=max(0, len(found) - SHOWN)
    )


def first_rows(request: Request) -> Response:
    """The part of a table's page with its first rows."""
    found = preview(site_of(request).environment.workspace, request.query_params.get("reference", ""))
    return render(request, "first_rows.html", found=found)
