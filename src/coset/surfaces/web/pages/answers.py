"""Questions that are asked: the wait, the answer, the SQL behind it.

In: a form with a question. Out: a page that shows how the question goes, and in the end its answer. A model's answer
has a run of its own, which the page leads to.
"""

from __future__ import annotations

from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from coset.errors import UserError
from coset.routing.views.budgets import DETAILS
from coset.surfaces.web.asking import Asking
from coset.surfaces.web.forms import number_in, read_form
from coset.surfaces.web.pages.questions import LEAST, LONGEST_QUESTION, MOST
from coset.surfaces.web.rendering import render
from coset.surfaces.web.site import site_of
from coset.use_cases.ask import has_model

SHOWN_ROWS = 200


async def ask(request: Request) -> Response:
    fields = await read_form(request)
    question = fields.get("q", "").strip()
    if not question:
        raise UserError("the question is empty: ask for something in words")
    if len(question) > LONGEST_QUESTION:
        raise UserError(f"the question is too long: at most {LONGEST_QUESTION:,} letters are read")
    site = site_of(request)
    budget = number_in(fields, "budget", DETAILS, LEAST, MOST)
    is_offline = fields.get("how") == "offline" or not has_model(site.environment.configuration)
    asking = Asking(question, budget, is_offline)
    asking.start(site.environment)
    return RedirectResponse(f"/asked/{site.askings.add(asking)}", 303)


async def asked(request: Request) -> Response:
    asking = _asking(request)
    return render(request, "asked.html", **_shown(request, asking))


async def state(request: Request) -> Response:
    """The part of the page that changes while the question goes."""
    return render(request, "asked_state.html", **_shown(request, _asking(request)))


async def stop(request: Request) -> Response:
    await read_form(request)
    _asking(request).stop()
    return RedirectResponse(f"/asked/{request.path_params['number']}", 303)


def _asking(request: Request) -> Asking:
    found = site_of(request).askings.get(request.path_params["number"])
    if found is None:
        raise HTTPException(
            404, "That question is no longer kept here: runs are under Runs, others can be asked again."
        )
    return found


def _shown(request: Request, asking: Asking) -> dict[str, Any]:
    return {
        "asking": asking, "number": request.path_params["number"], "question": asking.question,
        "budget": asking.budget, "most_rows": SHOWN_ROWS,
        "has_model": has_model(site_of(request).environment.configuration),
    }  # fmt: skip
