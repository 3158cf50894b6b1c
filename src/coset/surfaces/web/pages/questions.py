"""A question, and what it gets to see: requirements, demand, anchors and the view, within a budget that slides.

In: a question and a budget in the address. Out: the page, or the part of it that changes as the budget does. Nothing
is kept, and no language model is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from coset.api.environment import Environment
from coset.errors import CosetError, UserError
from coset.routing.objects.data_as_text import one_line
from coset.routing.views.budgets import DETAILS
from coset.routing.views.explanation import Explanation
from coset.routing.views.text import view_text
from coset.surfaces.web.forms import number_in, read_form
from coset.surfaces.web.rendering import render
from coset.surfaces.web.site import site_of
from coset.use_cases.ask import has_model

LEAST, MOST, STEP = 200, 12_000, 100
LONGEST_QUESTION, SHOWN_HISTORY = 8_000, 12


@dataclass(frozen=True)
class Weighted:
    """One line with a bar: how strong, relative to the strongest of its list, and what covers it."""

    name: str
    weight: float
    share: float
    coordinate: str = ""
    by: str = ""


def asked(request: Request) -> tuple[str, int]:
    """The question and the budget in the address."""
    fields = dict(request.query_params)
    question = fields.get("q", "").strip()
    if len(question) > LONGEST_QUESTION:
        raise UserError(f"the question is too long: at most {LONGEST_QUESTION:,} letters are read")
    return question, number_in(fields, "budget", DETAILS, LEAST, MOST)


def question(request: Request) -> Response:
    text, budget = asked(request)
    return question_page(request, text, budget)


def question_page(request: Request, text: str, budget: int, problem: str = "") -> Response:
    """The form with what was written in it, the view of it, and what was asked before."""
    environment = site_of(request).environment
    try:
        shown = explained(request, text, budget) if text and not problem else {"explanation": None}
    except UserError as mistake:
        shown, problem = {"explanation": None}, str(mistake)
    return render(
        request, "question.html", 400 if problem else 200, question=text, budget=budget, least=LEAST, most=MOST,
        step=STEP, has_model=has_model(environment.configuration), problem=problem,
        history=environment.runs(SHOWN_HISTORY), confirmed=confirmed(environment), **shown,
    )  # fmt: skip


async def show(request: Request) -> Response:
    """The form without a script: leads to the view, whose address holds the question and nothing secret."""
    fields = await read_form(request)
    about = {"q": fields.get("q", "").strip(), "budget": fields.get("budget", "")}
    return RedirectResponse(f"/question?{urlencode(about)}", 303)


def confirmed(environment: Environment) -> dict[str, str]:
    """The questions that a person confirmed, each with its statement."""
    try:
        return {each.question: each.sql for each in environment.said().questions if each.sql}
    except CosetError:  # A file with a mistake is told where it is written to.
        return {}


def view(request: Request) -> Response:
    """The part of the page below the question."""
    text, budget = asked(request)
    return render(request, "view.html", question=text, budget=budget, **explained(request, text, budget))


def explained(request: Request, text: str, budget: int) -> dict[str, Any]:
    found = site_of(request).environment.explain(text, budget)
    return {
        "explanation": found,
        "text": view_text(found.view),
        "requirements": _requirements(found),
        "demand": _demand(found),
        "passages": [(each, one_line(each.text, 300)) for each in found.view.passages],
    }


def _requirements(found: Explanation) -> list[Weighted]:
    most = max((weight for _, weight in found.requirements), default=0.0) or 1.0
    return [Weighted(f"query prototype {number}", weight, weight / most) for number, weight in found.requirements]


def _demand(found: Explanation) -> list[Weighted]:
    """The identities that the question asks for, with what covers each; those that the view is made for come first."""
    covered = {(coordinate, identity): by or "" for coordinate, identity, by in found.covered}
    most = max((gamma for _, _, gamma in found.demand), default=0.0) or 1.0
    lines = [
        Weighted(identity, gamma, gamma / most, coordinate, covered.get((coordinate, identity), ""))
        for coordinate, identity, gamma in found.demand
    ]
    return [line for line in lines if (line.coordinate, line.name) in covered or line.share > 0.1][:14]
