"""A question, and what it gets to see: requirements, demand, anchors and the view, within a budget that slides.

In: a question and a budget in the address. Out: the page, or the part of it that changes as the budget does. Nothing
is kept, and no language model is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from coset.errors import UserError
from coset.routing.objects.data_as_text import one_line
from coset.routing.views.budgets import DETAILS
from coset.routing.views.explanation import Explanation
from coset.routing.views.text import view_text
from coset.surfaces.web.forms import number_in
from coset.surfaces.web.rendering import render
from coset.surfaces.web.site import site_of
from coset.use_cases.ask import has_model

LEAST, MOST, STEP = 200, 12_000, 100
LONGEST_QUESTION = 8_000


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
    shown = explained(request, text, budget) if text else {"explanation": None}
    environment = site_of(request).environment.configuration
    return render(
        request, "question.html", question=text, budget=budget, least=LEAST, most=MOST, step=STEP,
        has_model=has_model(environment), **shown,
    )  # fmt: skip


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
