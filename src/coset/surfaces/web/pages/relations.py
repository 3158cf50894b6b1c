"""The joins across sources: a drawing, and the list with expressions and match rates.

In: the state. Out: one page, for all sources or for what touches one of them.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from coset.state.read_model import ReadModel
from coset.surfaces.web.relation_drawing import draw
from coset.surfaces.web.rendering import render
from coset.surfaces.web.site import site_of
from coset.use_cases.evidence import joins


def relations(request: Request) -> Response:
    about = request.query_params.get("about", "").strip() or None
    try:
        least = min(max(float(request.query_params.get("least", "0")), 0.0), 1.0)
    except ValueError:
        least = 0.0
    environment = site_of(request).environment
    rows = joins(environment.workspace, about, least)
    with environment.reading() as state:
        model = ReadModel(state)
        tables, sources = list(model.tables.values()), sorted(model.sources)
    drawing = draw(tables, rows)
    rows.sort(key=lambda row: (_source(row["left_table"]) == _source(row["right_table"]), -row["confidence"]))
    return render(
        request, "relations.html", rows=rows, drawing=drawing, sources=sources, about=about or "", least=least,
        across=sum(_source(row["left_table"]) != _source(row["right_table"]) for row in rows),
    )  # fmt: skip


def _source(table: str) -> str:
    return table.partition("/")[0]
