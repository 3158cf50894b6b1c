"""Joins: a drawing of a table and its neighbours, and the list of joins, to accept, reject and add to.

In: the state, and what people say. Out: one page: of few tables all of them are drawn; of many, the one that is looked
for, or the one that most joins lead to. What is said of a join is tested on the data and holds at once. Also record
links: entities whose records live in several tables, and why.
"""

from __future__ import annotations

from collections import Counter
from typing import Any
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from coset.errors import CosetError, UserError
from coset.state.read_model import ReadModel
from coset.surfaces.web.relation_drawing import MOST_TABLES, draw
from coset.surfaces.web.rendering import number_in, read_form, render
from coset.surfaces.web.site import Site, site_of
from coset.use_cases import relations as links
from coset.use_cases.evidence import joins, resolved

READABLE = 30
"""So many tables can be read in one drawing."""
SHOWN_JOINS, SHOWN_RECORDS, SHOWN_COLUMNS = 100, 60, 4_000
Row = dict[str, Any]


def relations(request: Request) -> Response:
    return _relations_page(request, dict(request.query_params))


def _relations_page(request: Request, fields: dict[str, str], problem: str = "") -> Response:
    """The page; with what was written in the form where that could not be kept."""
    about = fields.get("about", "").strip()
    environment = site_of(request).environment
    reference = resolved(environment.workspace, about) if about else None
    least = number_in(fields, "least", 0, 0, 100) / 100
    with environment.reading() as state:
        model = ReadModel(state)
        tables, sources = list(model.tables.values()), sorted(model.sources)
        columns = sorted(model.columns)[:SHOWN_COLUMNS]
    everything = joins(environment.workspace, None, least)
    rows = joins(environment.workspace, about, least) if about else everything
    focus = _focus(reference, everything, {table.reference for table in tables}, whole=fields.get("all") == "1")
    drawn = neighbourhood(everything, focus) if focus else rows
    rows.sort(key=lambda row: (_source(row["left_table"]) == _source(row["right_table"]), -row["confidence"]))
    first = number_in(fields, "from", 0, 0, len(rows))
    return render(
        request, "relations.html", 400 if problem else 200, rows=rows[first : first + SHOWN_JOINS], total=len(rows),
        first=first,
        following=first + SHOWN_JOINS if first + SHOWN_JOINS < len(rows) else None, drawing=draw(tables, drawn),
        sources=sources, about=about, reference=reference, least=least, focus=focus, said=_said(site_of(request)),
        tables=sorted(table.reference for table in tables), drawn_at_most=MOST_TABLES,
        across=sum(_source(row["left_table"]) != _source(row["right_table"]) for row in rows),
        columns=columns, problem=problem, fields=fields, kept=_just_said(fields, everything),
        declined=_declined(site_of(request)),
    )  # fmt: skip


async def say(request: Request) -> Response:
    """Keep that two columns join, or that they do not; tested at once."""
    fields = await read_form(request)
    workspace = site_of(request).environment.workspace
    left, right, rejected = fields.get("left", "").strip(), fields.get("right", "").strip(), "rejected" in fields
    expression = fields.get("expression", "").strip() or None
    try:
        if not left or not right:
            raise UserError("name both columns")
        await run_in_threadpool(lambda: links.declare_join(workspace, left, right, expression, rejected=rejected))
        ends = [resolved(workspace, each) or each for each in (left, right)]
    except UserError as mistake:
        return await run_in_threadpool(_relations_page, request, fields, str(mistake))
    site_of(request).decisions.add(("join", ends[0]))
    shown = {"about": fields.get("about", ""), "left": ends[0], "right": ends[1], "kept": "no" if rejected else "yes"}
    return RedirectResponse(f"/relations?{urlencode(shown)}#kept", 303)


def _just_said(fields: dict[str, str], rows: list[Row]) -> dict[str, Any] | None:
    """What a person said last, with the join as it was tested; None where the page was opened otherwise."""
    if fields.get("kept") not in ("yes", "no"):
        return None
    ends = {fields.get("left", ""), fields.get("right", "")}
    tested = next((row for row in rows if {*row["left_columns"], *row["right_columns"]} == ends), None)
    sides = [*tested["left_columns"], *tested["right_columns"]] if tested else sorted(ends)
    return {"ends": sides, "rejected": fields["kept"] == "no", "join": tested}


def _declined(site: Site) -> str:
    """The question that was last asked, where it got no answer: a join may be what it lacked."""
    last = site.askings.last()
    return last.question if last is not None and last.answer is not None and last.answer.is_declined else ""


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
