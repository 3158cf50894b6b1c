"""A question: the evidence it gets within a budget, the wait, the answer, and the SQL behind it.

In: a question and a budget in the address. Out: the page, or the part of it that changes. Showing the view keeps
nothing and asks no model; asking keeps a run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from coset.api.environment import Environment
from coset.errors import CosetError, UserError
from coset.routing.objects.data_as_text import one_line
from coset.routing.views.budgets import DETAILS
from coset.routing.views.explanation import Explanation
from coset.routing.views.text import view_text
from coset.surfaces.web.background import Asking
from coset.surfaces.web.rendering import number_in, read_form, render
from coset.surfaces.web.results import chart_of
from coset.surfaces.web.site import site_of
from coset.use_cases.ask import has_model
from coset.use_cases.results import Answer

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


def _asked_of(request: Request) -> tuple[str, int]:
    """The question and the budget in the address."""
    fields = dict(request.query_params)
    question = fields.get("q", "").strip()
    if len(question) > LONGEST_QUESTION:
        raise UserError(f"the question is too long: at most {LONGEST_QUESTION:,} letters are read")
    return question, number_in(fields, "budget", DETAILS, LEAST, MOST)


def question(request: Request) -> Response:
    text, budget = _asked_of(request)
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
    text, budget = _asked_of(request)
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
class AnswerEvidence:
    """A table or document that an answer was given with."""

    reference: str
    name: str
    said: str


def _evidence(answer: Answer | None) -> list[AnswerEvidence]:
    """What the answer stands on: those of the view that its statements name come first."""
    if answer is None:
        return []
    if answer.view is None:
        return [AnswerEvidence(each, each, "") for each in answer.references[:SHOWN_EVIDENCE]]
    statements = " ".join(answer.sql).lower()
    tables = sorted(
        answer.view.evidence.tables, key=lambda each: (each.sql_name.lower() not in statements, -each.score)
    )
    return [
        AnswerEvidence(each.reference, each.sql_name, each.description or each.reading)
        for each in tables[:SHOWN_EVIDENCE]
    ]
