"""Tables, one object, documents, quality: what is known of a thing, its first rows, and the forms that correct it.

In: a reference. Out: its page; and for what a person says of it, the statement kept, the roles realised anew, and a
page that shows what moved. Where the person came from a question, also what that question's view now shows.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from coset.errors import UserError
from coset.identities.explain import explain
from coset.identities.inventory import COORDINATES, Coordinate, Inventory
from coset.identities.store import IdentityStore
from coset.routing.views.budgets import DETAILS
from coset.state import EvidenceState, memberships
from coset.state.listings import everything_about
from coset.state.memberships import ColumnRole, TaughtRow, profile_of, roles_of_columns
from coset.surfaces.web.pages.questions import LEAST, MOST
from coset.surfaces.web.rendering import number_in, read_form, render
from coset.surfaces.web.site import Move, Site, ViewLine, site_of
from coset.use_cases import evidence
from coset.use_cases.corrections import Teaching
from coset.use_cases.evidence import copies_and_codes, preview, resolved

SHOWN = 500


def table_list(request: Request) -> Response:
    find = request.query_params.get("find", "").strip()
    copies = request.query_params.get("copies") == "1"
    found = evidence.tables(site_of(request).environment.workspace, find, copies=copies)
    return render(
        request, "tables.html", rows=found[:SHOWN], find=find, copies=copies, left_out=max(0, len(found) - SHOWN)
    )


def first_rows(request: Request) -> Response:
    """The part of a table's page with its first rows."""
    found = preview(site_of(request).environment.workspace, request.query_params.get("reference", ""))
    return render(request, "first_rows.html", found=found)


def documents(request: Request) -> Response:
    return render(request, "documents.html", documents=site_of(request).environment.documents())


def document(request: Request) -> Response:
    name = request.query_params.get("name", "")
    return render(request, "document.html", name=name, sections=site_of(request).environment.document(name))


def diagnostics(request: Request) -> Response:
    kind, place = (request.query_params.get(name, "").strip() for name in ("kind", "reference"))
    environment = site_of(request).environment
    everything = environment.diagnostics()
    shown = environment.diagnostics(place or None, kind=kind or None)
    kinds: dict[str, int] = {}
    for row in everything:
        kinds[row["kind"]] = kinds.get(row["kind"], 0) + 1
    return render(
        request, "diagnostics.html", rows=shown, kinds=sorted(kinds.items()), kind=kind, place=place,
        total=len(everything),
    )  # fmt: skip


SHOWN_PROFILE = 6
SHOWN_LINES = 60


@dataclass(frozen=True)
class RoleCard:
    """The role of an object in one coordinate, with the strongest of its profile."""

    coordinate: Coordinate
    identity: str
    meaning: str
    membership: float
    taught: bool
    reasons: dict[str, Any]
    profile: tuple[tuple[str, float], ...]
    statements: tuple[TaughtRow, ...]


def object_page(request: Request) -> Response:
    site = site_of(request)
    fields = dict(request.query_params)
    question, budget = fields.get("q", ""), number_in(fields, "budget", DETAILS, LEAST, MOST)
    inventory = site.inventory
    reference = resolved(site.environment.workspace, fields.get("reference", "")) or ""
    with site.environment.reading() as state:
        known = everything_about(state, reference)
        cards = role_cards(state, reference, inventory)
        roles = _roles_of_columns(state, reference) if known["kind"] == "table" else {}
    readings = [each for each in site.environment.readings(reference) if each.reference == reference]
    move = site.moves.get(number_in(fields, "moved", 0, 0, 10**9))
    return render(
        request, "object.html", reference=reference, known=known, cards=cards, roles=roles, move=move,
        inventory={coordinate: inventory.of(coordinate) for coordinate in COORDINATES}, question=question,
        budget=budget, trail=_trail(reference, known["kind"]), reading=readings[0] if readings else None,
        beside=copies_and_codes(site.environment.workspace, reference),
    )  # fmt: skip


def taught(request: Request) -> Response:
    """All that people said of roles."""
    site = site_of(request)
    with site.environment.reading() as state:
        statements = IdentityStore(state).statements()
    move = site.moves.get(number_in(dict(request.query_params), "moved", 0, 0, 10**9))
    return render(request, "taught.html", statements=statements, move=move)


async def teach(request: Request) -> Response:
    fields = await read_form(request)
    reference, coordinate = fields.get("reference", ""), fields.get("coordinate", "")
    identity = fields.get("identity", "").strip()
    if not identity or coordinate not in COORDINATES:
        raise UserError("say what it is: the id of an identity, such as those that the list offers")
    role = f"{identity}." if coordinate == "entity" else f".{identity}"
    site, negative = site_of(request), fields.get("negative") == "1"

    def work() -> int:
        return _moved(site, fields, lambda: site.environment.teach(reference, role, negative=negative), False)

    return _back_to(fields, await run_in_threadpool(work))


async def revoke(request: Request) -> Response:
    fields = await read_form(request)
    site, number = site_of(request), number_in(fields, "number", 0, 0, 10**9)

    def work() -> int:
        return _moved(site, fields, lambda: site.environment.revoke(number), True)

    return _back_to(fields, await run_in_threadpool(work))


def role_cards(state: EvidenceState, reference: str, inventory: Inventory) -> list[RoleCard]:
    """What is known of the role in each coordinate that the object has one in."""
    cards = []
    for coordinate, reasons in explain(state, reference, inventory).items():
        ids = inventory.ids(coordinate)  # type: ignore[arg-type]
        meanings = {one.id: one.meaning for one in inventory.of(coordinate)}  # type: ignore[arg-type]
        row = profile_of(state, reference, coordinate)
        if row is None:
            continue
        profile = sorted(zip(ids, row.profile, strict=False), key=lambda each: -each[1])[:SHOWN_PROFILE]
        statements = memberships.taught(state, reference, coordinate)
        cards.append(
            RoleCard(
                coordinate, reasons["identity"], meanings.get(reasons["identity"], ""), row.membership,  # type: ignore[arg-type]
                row.pinned, reasons, tuple(profile), tuple(statements),
            )
        )  # fmt: skip
    return cards


def _roles_of_columns(state: EvidenceState, table: str) -> dict[str, ColumnRole]:
    """The role of each column of a table, by the column's name."""
    return {row.name: row for row in roles_of_columns(state, table)}


def _moved(site: Site, fields: dict[str, str], change: Any, was_revoked: bool) -> int:
    """Carry out a change; the number under which the page finds what came of it."""
    question = fields.get("q", "").strip()
    budget = number_in(fields, "budget", DETAILS, LEAST, MOST)
    before = site.environment.view(question, budget).text if question else ""
    teaching: Teaching = change()
    lines: tuple[ViewLine, ...] = ()
    if question:
        after = site.environment.view(question, budget).text
        compared = difflib.ndiff(before.splitlines(), after.splitlines())
        lines = tuple(ViewLine(line[0] == "+", line[2:]) for line in compared if line[0] in "+-")[:SHOWN_LINES]
    return site.moves.add(Move(teaching, was_revoked, question, budget, lines))


def _back_to(fields: dict[str, str], number: int) -> Response:
    about = {"reference": fields.get("reference", ""), "moved": str(number)}
    if question := fields.get("q", "").strip():
        about |= {"q": question, "budget": fields.get("budget", "")}
    page = "/object" if about["reference"] and fields.get("back") != "taught" else "/taught"
    return RedirectResponse(f"{page}?{urlencode(about)}#moved", 303)


def _trail(reference: str, kind: str) -> list[tuple[str, str]]:
    """The way to an object: its source, its table, each with its reference."""
    source, _, rest = reference.partition("/")
    if not rest or kind == "source":
        return []
    trail = [(source, source)]
    if kind in {"column", "path", "facet"}:
        table = reference.rpartition("/")[0] + "/" + reference.rpartition("/")[2].partition(".")[0]
        trail.append((table.rpartition("/")[2], table))
    return trail
