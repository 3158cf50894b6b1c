"""Questions that are asked: the wait, the answer, the SQL behind it.

In: a form with a question. Out: a page that shows how the question goes, and in the end its answer. A model's answer
has a run of its own, which the page leads to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from coset.routing.views.budgets import DETAILS
from coset.surfaces.web.asking import Asking
from coset.surfaces.web.chart import chart_of
from coset.surfaces.web.forms import number_in, read_form
from coset.surfaces.web.pages.questions import LEAST, LONGEST_QUESTION, MOST, confirmed, question_page
from coset.surfaces.web.rendering import render
from coset.surfaces.web.site import site_of
from coset.use_cases.ask import has_model
from coset.use_cases.results import Answer

SHOWN_ROWS, SHOWN_EVIDENCE = 200, 8


async def ask(request: Request) -> Response:
    fields = await read_form(request)
    question = fields.get("q", "").strip()
    site = site_of(request)
    budget = number_in(fields, "budget", DETAILS, LEAST, MOST)
    problem = ""
    if not question:
        problem = "the question is empty: ask for something in words"
    if len(question) > LONGEST_QUESTION:
        problem = f"the question is too long: at most {LONGEST_QUESTION:,} letters are read"
    if problem:
        return await run_in_threadpool(question_page, request, question, budget, problem)
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
    environment, answer = site_of(request).environment, asking.answer
    chart = None
    if answer is not None and not answer.stopped and not answer.truncated:
        chart = chart_of(answer.columns, answer.rows)
    return {
        "asking": asking, "number": request.path_params["number"], "question": asking.question,
        "budget": asking.budget, "most_rows": SHOWN_ROWS, "chart": chart,
        "has_model": has_model(environment.configuration), "evidence": _evidence(answer),
        "confirmed": confirmed(environment).get(asking.question) if asking.is_over else None,
    }  # fmt: skip


@dataclass(frozen=True)
class Stood:
    """A table or document that an answer was given with."""

    reference: str
    name: str
    said: str


def _evidence(answer: Answer | None) -> list[Stood]:
    """What the answer stands on: those of the view that its statements name come first."""
    if answer is None:
        return []
    if answer.view is None:
        return [Stood(each, each, "") for each in answer.references[:SHOWN_EVIDENCE]]
    statements = " ".join(answer.sql).lower()
    tables = sorted(
        answer.view.evidence.tables, key=lambda each: (each.sql_name.lower() not in statements, -each.score)
    )
    return [Stood(each.reference, each.sql_name, each.description or "") for each in tables[:SHOWN_EVIDENCE]]
