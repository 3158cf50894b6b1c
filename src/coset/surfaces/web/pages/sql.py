"""SQL: one read-only SELECT over all sources, its rows, and the same rows as CSV.

In: a statement of a form. Out: the page with its rows, or a file. The session's guard and limits hold as everywhere.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from coset.errors import CosetError
from coset.surfaces.command_line.output import json_value
from coset.surfaces.web.forms import read_form
from coset.surfaces.web.rendering import render
from coset.surfaces.web.site import site_of

SHOWN_ROWS = 500


def sql(request: Request) -> Response:
    statement = request.query_params.get("statement", "")[:20_000]
    return render(request, "sql.html", statement=statement, result=None, problem="")


async def run(request: Request) -> Response:
    fields = await read_form(request)
    statement = fields.get("statement", "").strip()
    environment = site_of(request).environment
    result, problem = None, ""
    if statement:
        try:
            result = await environment.sql_async(statement)
        except CosetError as error:
            problem = str(error)
    else:
        problem = "there is no statement: write one SELECT"
    if result is not None and fields.get("as") == "csv":
        text = await run_in_threadpool(_csv, result.columns, result.rows)
        name = {"Content-Disposition": 'attachment; filename="rows.csv"'}
        return Response(text, media_type="text/csv; charset=utf-8", headers=name)
    return render(
        request, "sql.html", 400 if problem else 200, statement=statement, result=result, problem=problem,
        most_rows=SHOWN_ROWS,
    )  # fmt: skip


def _csv(columns: tuple[str, ...], rows: Sequence[tuple[object, ...]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(columns)
    writer.writerows([json_value(value) for value in row] for row in rows)
    return out.getvalue()
