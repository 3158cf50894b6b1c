"""Benchmark reports: those that lie in the folder that `coset ui --reports` names.

In: the folder. Out: a list, and each report as it was written: a page that stands alone. It is shown in a sandbox, so
whatever a report holds, it runs nothing and reaches nothing.
"""

from __future__ import annotations

import datetime
import os
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from coset.surfaces.web.rendering import render
from coset.surfaces.web.site import site_of

NAME = "report.html"
MOST, DEEPEST = 500, 8
LARGEST = 64 << 20
POLICY = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; frame-ancestors 'none'"
)


def listed(request: Request) -> Response:
    folder = site_of(request).reports
    shown = []
    for name, path in reports_in(folder).items() if folder else ():
        stat = path.stat()
        shown.append((name, datetime.datetime.fromtimestamp(stat.st_mtime), stat.st_size))
    return render(request, "reports.html", folder=folder, reports=shown)


def report(request: Request) -> Response:
    folder = site_of(request).reports
    path = reports_in(folder).get(request.query_params.get("name", "")) if folder else None
    if path is None:
        raise HTTPException(404, "There is no such report.")
    if path.stat().st_size > LARGEST:
        raise HTTPException(413, f"The report is too large to be shown here: open {path} itself.")
    return HTMLResponse(path.read_bytes(), headers={"Content-Security-Policy": POLICY})


def reports_in(folder: Path) -> dict[str, Path]:
    """The reports below a folder, by the name of the folder that each lies in. Links are not followed."""
    found: dict[str, Path] = {}
    for place, folders, files in os.walk(folder):
        within = Path(place).relative_to(folder)
        folders[:] = sorted(name for name in folders if not name.startswith(".")) if len(within.parts) < DEEPEST else []
        path = Path(place) / NAME
        if NAME in files and not path.is_symlink():
            found[str(within)] = path
        if len(found) >= MOST:
            break
    return found
