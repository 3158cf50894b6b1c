"""Joins: a drawing of a table and its neighbours, and the list with expressions and match rates, to accept and reject.

In: the state, and what people said. Out: one page: of few tables all of them are drawn; of many, the one that is looked
for, or the one that most joins lead to. Also record links: entities whose records live in several tables, and why.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from coset.errors import CosetError
from coset.state.read_model import ReadModel
from coset.surfaces.web.relation_drawing import MOST_TABLES, draw
from coset.surfaces.web.rendering import number_in, read_form, render
from coset.surfaces.web.site import Site, site_of
from coset.use_cases import relations as links
from coset.use_cases.evidence import joins, resolved

READABLE = 30
"""So many tables can be read in one drawing."""
SHOWN_JOINS, SHOWN_RECORDS = 100, 60
Row = dict[str, Any]


def relations(request: Request) -> Response:
    fields = dict(request.query_params)
    about = fields.get("about", "").strip()
    environment = site_of(request).environment
    reference = resolved(environment.workspace, about) if about else None
    least = number_in(fields, "least", 0, 0, 100) / 100
    with environment.reading() as state:
        model = ReadModel(state)
        tables, sources = list(model.tables.values()), sorted(model.sources)
    everything = joins(environment.workspace, None, least)
    rows = joins(environment.workspace, about, least) if about else everything
    focus = _focus(reference, everything, {table.reference for table in tables}, whole=fields.get("all") == "1")
    drawn = neighbourhood(everything, focus) if focus else rows
    rows.sort(key=lambda row: (_source(row["left_table"]) == _source(row["right_table"]), -row["confidence"]))
    first = number_in(fields, "from", 0, 0, len(rows))
    return render(
        request, "relations.html", rows=rows[first : first + SHOWN_JOINS], total=len(rows), first=first,
        following=first + SHOWN_JOINS if first + SHOWN_JOINS < len(rows) else None, drawing=draw(tables, drawn),
        sources=sources, about=about, reference=reference, least=least, focus=focus, said=_said(site_of(request)),
        tables=sorted(table.reference for table in tables), drawn_at_most=MOST_TABLES,
        across=sum(_source(row["left_table"]) != _source(row["right_table"]) for row in rows),
    )  # fmt: skip


def neighbourhood(rows: list[Row], table: str) -> list[Row]:
    """The joins of a table, and those among its neighbours."""
    near = {table}
    for row in rows:
        if table in (row["left_table"], row["right_table"]):
            near |= {row["left_table"], row["right_table"]}
    return [row for row in rows if row["left_table"] in near and row["right_table"] in near]


def _focus(reference: str | None, rows: list[Row], tables: set[str], *, whole: bool) -> str | None:
    """The table in the middle of the drawing; None where all that is asked for is drawn."""
    if reference in tables:
        return reference
    if reference is not None and "." in reference.rpartition("/")[2]:
        table = reference.rpartition("/")[0] + "/" + reference.rpartition("/")[2].partition(".")[0]
        return table if table in tables else None
    degrees: Counter[str] = Counter(side for row in rows for side in {row["left_table"], row["right_table"]})
    if reference is not None or whole or len(degrees) <= READABLE:
        return None
    return min(degrees, key=lambda table: (-degrees[table], table))


def _said(site: Site) -> dict[str, str]:
    """What people said of joins, by the identity that the list has of each."""
    try:
        entries = site.environment.said().joins
    except CosetError:  # A file with a mistake is told where it is written to.
        return {}
    return {
        "|".join(sorted((*each.left, *each.right))): "rejected" if each.rejected else "accepted" for each in entries
    }


def _source(table: str) -> str:
    return table.partition("/")[0]


def link_entities(request: Request) -> Response:
    """The entities as they were last linked."""
    return render(request, "links.html", entities=links.known_entities(site_of(request).environment.workspace))


async def link(request: Request) -> Response:
    """Link records now."""
    await read_form(request)
    await run_in_threadpool(links.link_records, site_of(request).environment.workspace)
    return RedirectResponse("/links", 303)


def linked_entity(request: Request) -> Response:
    """One entity: what its records were linked by, things with several records, and pairs left apart."""
    workspace, entity = site_of(request).environment.workspace, request.path_params["entity"]
    key = request.query_params.get("key", "").strip()
    linked = links.links_of(workspace, entity)
    several = Counter(record.cluster for record in linked.records)
    records = [record for record in linked.records if several[record.cluster] > 1][:SHOWN_RECORDS]
    return render(
        request, "linked_entity.html", linked=linked, records=records, key=key,
        things=links.explain_links(workspace, entity, key) if key else (),
    )  # fmt: skip


async def judge_link(request: Request) -> Response:
    """Keep that two records are one thing, or two."""
    fields = await read_form(request)
    entity = request.path_params["entity"]
    one, other, same = fields.get("one", ""), fields.get("other", ""), fields.get("same") == "1"
    workspace = site_of(request).environment.workspace
    await run_in_threadpool(lambda: links.declare_link(workspace, one, other, same=same, entity=entity))
    return RedirectResponse(f"/links/{entity}", 303)
