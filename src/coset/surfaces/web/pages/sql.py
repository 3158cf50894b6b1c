"""SQL: one read-only SELECT over all sources, its rows by pages, a chart where they invite one, CSV and Parquet.

In: a statement of a form. Out: the page with its rows, a part of a page, or a file. What a statement gave is kept in
memory under a number, so that a page can be turned and a file taken without asking the sources again. The session's
guard and limits hold as everywhere.
"""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from coset.errors import CosetError
from coset.surfaces.web.rendering import number_in, read_form, render
from coset.surfaces.web.results import ShownResult
from coset.surfaces.web.site import site_of
from coset.use_cases.evidence import sql_names

FORMATS = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}
LONGEST_STATEMENT = 20_000


def sql(request: Request) -> Response:
    statement = request.query_params.get("statement", "")[:LONGEST_STATEMENT]
    return render(request, "sql.html", statement=statement, shown=None, number=0, page=1, problem="")


def result(request: Request) -> Response:
    """What a statement gave, a page of it."""
    shown = _kept(request)
    page = number_in(dict(request.query_params), "page", 1, 1, shown.pages)
    template = "result.html" if request.headers.get("x-part") == "1" else "sql.html"
    return render(
        request, template, statement=shown.statement, shown=shown, number=request.path_params["number"], page=page,
        problem="",
    )  # fmt: skip


async def run(request: Request) -> Response:
    fields = await read_form(request)
    statement = fields.get("statement", "").strip()
    site, problem = site_of(request), ""
    is_part = request.headers.get("x-part") == "1"
    if not statement:
        problem = "there is no statement: write one SELECT"
    else:
        try:
            shown = ShownResult(statement, await site.environment.sql_async(statement))
        except CosetError as error:
            problem = str(error)
    if problem:
        template = "result.html" if is_part else "sql.html"
        return render(request, template, 400, statement=statement, shown=None, number=0, page=1, problem=problem)
    number = site.results.add(shown)
    if is_part:
        return render(request, "result.html", shown=shown, number=number, page=1, problem="")
    return RedirectResponse(f"/sql/{number}", 303)


async def file(request: Request) -> Response:
    """All rows that the statement gave, as a file."""
    shown, format = _kept(request), request.path_params["format"]
    if format not in FORMATS:
        raise HTTPException(404, f"There is no such file: rows are given as {' and '.join(FORMATS)}.")
    content = await run_in_threadpool(shown.as_csv if format == "csv" else shown.as_parquet)
    name = {"Content-Disposition": f'attachment; filename="rows.{format}"'}
    return Response(content, media_type=FORMATS[format], headers=name)


def names(request: Request) -> Response:
    """What may stand in a statement, for completion: sources, tables, columns."""
    return JSONResponse(sql_names(site_of(request).environment.workspace))


def _kept(request: Request) -> ShownResult:
    found = site_of(request).results.get(request.path_params["number"])
    if found is None:
        raise HTTPException(404, "That result is no longer kept here: run its statement again.")
    return found
