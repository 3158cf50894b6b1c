"""Review: where a person's word is worth most, one button each, and what was said, to be taken back.

In: the doubts of the state and the corrections file. Out: a page; and for what a person decides an entry of the
corrections file, which the next comprehension heeds.
"""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from coset.environment.corrections import CodeList, Copy, Correction, Join, Reading
from coset.errors import UserError
from coset.surfaces.web.rendering import read_form, render
from coset.surfaces.web.site import site_of

SHOWN = 30


def review(request: Request) -> Response:
    environment = site_of(request).environment
    said = environment.said()
    kept = [*_numbered("join", said.joins), *_numbered("copy", said.copies), *_numbered("code list", said.code_lists),
            *_numbered("reading", said.readings)]  # fmt: skip
    return render(
        request, "review.html", doubts=environment.review(SHOWN), waiting=environment.status(look=False).doubts,
        settled=len(kept) + len(said.roles), kept=list(reversed(kept)),
    )  # fmt: skip


async def decide(request: Request) -> Response:
    """Keep one decision: it is so, or it is not."""
    fields = await read_form(request)
    environment = site_of(request).environment
    if fields.get("kind") == "role":
        about, role = fields.get("about", ""), fields.get("role", "").strip()
        await run_in_threadpool(environment.teach, about, f"{role}.")
        site_of(request).decisions.add(("role", about))
    else:
        entry = _entry(fields)
        await run_in_threadpool(environment.declare, entry)
        site_of(request).decisions.add((fields["kind"], fields.get("about", "").strip()))
    back = fields.get("back", "")
    return RedirectResponse(back if back.startswith(("/object?", "/relations?")) else "/review", 303)


async def undo(request: Request) -> Response:
    """Take back what was said last."""
    await read_form(request)
    site = site_of(request)

    def work() -> None:
        last = site.decisions.take()
        if last is not None and last[0] == "role":
            numbers = [each.number for each in site.environment.taught()]
            if numbers:
                site.environment.revoke(max(numbers))
            return
        said = site.environment.said()
        lists = {"join": said.joins, "copy": said.copies, "code list": said.code_lists, "reading": said.readings}
        kinds = [last[0]] if last is not None else [kind for kind, entries in lists.items() if entries]
        found = lists.get(kinds[0], ()) if kinds else ()
        if not found:
            raise UserError("there is nothing to take back")
        site.environment.withdraw(found[-1])

    await run_in_threadpool(work)
    return RedirectResponse("/review", 303)


async def withdraw(request: Request) -> Response:
    fields = await read_form(request)
    environment = site_of(request).environment

    def work() -> None:
        said = environment.said()
        lists = {"join": said.joins, "copy": said.copies, "code list": said.code_lists, "reading": said.readings}
        of_kind = lists.get(fields.get("kind", ""), ())
        found = [entry for place, entry in enumerate(of_kind) if str(place) == fields.get("place")]
        if not found:
            raise UserError("that entry is not there any more: load the page again")
        environment.withdraw(*found)

    await run_in_threadpool(work)
    return RedirectResponse("/review", 303)


def _entry(fields: dict[str, str]) -> Correction:
    kind, about, other = (fields.get(name, "").strip() for name in ("kind", "about", "other"))
    rejected = fields.get("rejected") == "1"
    if not about:
        raise UserError("nothing is named: load the page again")
    if kind == "join":
        return Join(left=(about,), right=(other,), rejected=rejected)
    if kind == "copy":
        return Copy(table=about, original=other or None, rejected=rejected)
    if kind == "code list":
        return CodeList(column=about, list=other, rejected=rejected)
    if kind == "reading":
        if not fields.get("name", "").strip():
            raise UserError("say what it is, in a few words")
        return Reading(reference=about, name=fields["name"].strip(), meaning=fields.get("meaning", "").strip() or None)
    raise UserError(f"'{kind}' cannot be decided here")


def _numbered(kind: str, entries: tuple[Correction, ...]) -> list[tuple[str, int, Correction, str]]:
    """Each entry with its kind, its place in the file, and what it says in words."""
    return [(kind, place, entry, _in_words(entry)) for place, entry in enumerate(entries)]


def _in_words(entry: Correction) -> str:
    if isinstance(entry, Join):
        return f"{', '.join(entry.left)} {'does not join' if entry.rejected else 'joins'} {', '.join(entry.right)}"
    if isinstance(entry, Copy):
        of = f" of {entry.original}" if entry.original else ""
        return f"{entry.table} is {'no copy' if entry.rejected else 'a copy'}{of}"
    if isinstance(entry, CodeList):
        return f"{entry.column} is {'not ' if entry.rejected else ''}decoded by {entry.list}"
    if isinstance(entry, Reading):
        return f"{entry.reference} is: {entry.name}"
    return str(entry)
