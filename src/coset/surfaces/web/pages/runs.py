"""Runs and benchmark reports: the questions that were asked, and each as a trace with the SQL behind each number.

In: the audit and a folder of reports. Out: lists, the page of a run, and whether its answer still holds on today's
data.
"""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from coset.answering.audit.replay import Replay
from coset.answering.audit.runs import Run, RunSummary, Step, spent
from coset.environment.corrections import Question
from coset.surfaces.command_line.output import json_value
from coset.surfaces.web.pages.questions import confirmed
from coset.surfaces.web.rendering import read_form, render
from coset.surfaces.web.site import Site, site_of

NAME = "report.html"
MOST, DEEPEST = 500, 8
LARGEST = 64 << 20
POLICY = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; frame-ancestors 'none'"
)


def reports(request: Request) -> Response:
    folder = site_of(request).reports
    shown = []
    for name, path in reports_in(folder).items() if folder else ():
        stat = path.stat()
        shown.append((name, datetime.datetime.fromtimestamp(stat.st_mtime), stat.st_size))
    return render(request, "reports.html", folder=folder, reports=shown)


def report(request: Request) -> Response:
    folder = site_of(request).reports
    path = reports_in(folder).get(request.query_params.get("name", "")) if folder else None
    if path is None:
        raise HTTPException(404, "There is no such report.")
    if path.stat().st_size > LARGEST:
        raise HTTPException(413, f"The report is too large to be shown here: open {path} itself.")
    return HTMLResponse(path.read_bytes(), headers={"Content-Security-Policy": POLICY})


def reports_in(folder: Path) -> dict[str, Path]:
    """The reports below a folder, by the name of the folder that each lies in. Links are not followed."""
    found: dict[str, Path] = {}
    for place, folders, files in os.walk(folder):
        within = Path(place).relative_to(folder)
        folders[:] = sorted(name for name in folders if not name.startswith(".")) if len(within.parts) < DEEPEST else []
        path = Path(place) / NAME
        if NAME in files and not path.is_symlink():
            found[str(within)] = path
        if len(found) >= MOST:
            break
    return found


SHOWN_RUNS = 200
_IN_HEAD = {"input_tokens", "output_tokens", "cached_tokens", "cost", "seconds", "rows", "bytes", "truncated", "tool",
            "model", "digest", "columns", "preview", "sql", "query", "attempts", "step", "checks",
            "failed", "environment", "matched", "refused"}  # fmt: skip
_KINDS = {
    "view": "The evidence was chosen",
    "records": "The arbiter decided what the question means",
    "draft": "A first statement was run",
    "model": "A model was asked",
    "checks": "The answer was checked by counting",
    "answer": "The answer was given",
    "tool": "A tool was used",
    "objection": "The answer was objected to",
}


@dataclass(frozen=True)
class ShownStep:
    """A step as it is read: what happened, what it cost, its SQL, its rows, and the rest as text."""

    number: int
    title: str
    facts: tuple[str, ...]
    statements: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    checks: tuple[dict[str, Any], ...]
    texts: tuple[tuple[str, str], ...]
    failed: bool


def runs(request: Request) -> Response:
    environment = site_of(request).environment
    runs = environment.runs(SHOWN_RUNS)
    return render(request, "runs.html", runs=runs, confirmed=confirmed(environment), costs=costs_of(runs))


@dataclass(frozen=True)
class Costs:
    """What one way of answering cost in all."""

    mode: str
    runs: int
    answered: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    """None where the price of no model is known."""
    seconds: float


def costs_of(runs: Sequence[RunSummary]) -> list[Costs]:
    """What the runs cost, by mode."""
    found = []
    for mode in sorted({run.mode for run in runs}):
        of_mode = [run for run in runs if run.mode == mode]
        priced = [run.cost for run in of_mode if run.cost is not None]
        found.append(
            Costs(
                mode, len(of_mode), sum(run.status == "answered" for run in of_mode),
                sum(run.input_tokens for run in of_mode), sum(run.output_tokens for run in of_mode),
                sum(priced) if priced else None, sum(run.seconds or 0 for run in of_mode),
            )
        )  # fmt: skip
    return found


def run(request: Request) -> Response:
    return _page(request, site_of(request), None)


async def replayed(request: Request) -> Response:
    """The same page, with each statement run again."""
    await read_form(request)
    site, number = site_of(request), request.path_params["number"]

    return _page(request, site, await run_in_threadpool(site.environment.replay, number))


async def judge(request: Request) -> Response:
    """What a person says of an answer: right makes it a confirmed question, which later ones are answered by; of a
    wrong one, what it needs."""
    fields = await read_form(request)
    environment, number = site_of(request).environment, request.path_params["number"]

    def work() -> None:
        if fields.get("verdict") == "right":
            environment.confirm(number)
            return
        question = " ".join(environment.run(number).summary.question.split())
        needs = tuple(each.strip() for each in fields.get("needs", "").split(",") if each.strip())
        before = [each for each in environment.said().questions if each.question == question]
        if needs:
            environment.declare(Question(question=question, needs=needs))
        if before:
            environment.withdraw(*before)

    await run_in_threadpool(work)
    back = fields.get("back", "")
    return RedirectResponse(back if back.startswith("/asked/") else f"/runs/{number}", 303)


def _page(request: Request, site: Site, again: Replay | None) -> Response:
    found = site.environment.run(request.path_params["number"])
    summary = found.summary
    return render(
        request, "run.html", run=found, steps=[shown_step(step) for step in found.steps], again=again,
        spent=spent(summary.input_tokens, summary.output_tokens, summary.cost, summary.seconds),
        answer=_answer(found), statements=_statements(found),
        confirmed=confirmed(site.environment).get(summary.question),
    )  # fmt: skip


def shown_step(step: Step) -> ShownStep:
    data = step.data
    facts = []
    if data.get("step"):
        facts.append(str(data["step"]))
    if data.get("input_tokens") or data.get("output_tokens"):
        facts.append(f"{data.get('input_tokens') or 0:,} + {data.get('output_tokens') or 0:,} tokens")
    if isinstance(data.get("rows"), int):
        facts.append(f"{data['rows']:,} rows" + (", truncated" if data.get("truncated") else ""))
    if isinstance(data.get("cost"), int | float):
        facts.append(f"${data['cost']:.4f}")
    if isinstance(data.get("seconds"), int | float):
        facts.append(f"{data['seconds']:.2f} s")
    title = _KINDS.get(step.kind, step.kind)
    if isinstance(data.get("tool"), str):
        title = f"The agent used {data['tool']}"
    checks = data.get("checks")
    return ShownStep(
        step.number,
        title,
        tuple(facts),
        tuple(text for name in ("sql", "query") for text in _texts(data.get(name))),
        tuple(map(str, data.get("columns") or ())),
        tuple(tuple(row) for row in data.get("preview") or () if isinstance(row, list)),
        tuple(each for each in checks if isinstance(each, dict)) if isinstance(checks, list) else (),
        tuple((name, _as_text(value)) for name, value in data.items() if name not in _IN_HEAD and _is_said(value)),
        data.get("failed") is True,
    )


def _answer(found: Run) -> dict[str, Any] | None:
    """The answer with its rows as they are shown."""
    if found.answer is None:
        return None
    return {
        "columns": (),
        "rows": (),
        "text": "",
        "assumptions": (),
        "readings": (),
        "references": (),
        **json_value(found.answer),
    }


def _statements(found: Run) -> list[tuple[str, Any]]:
    """Each statement behind the answer, with what was kept of its result."""
    kept = {" ".join(each.sql.split()): each for each in found.results}
    wanted = _texts((found.answer or {}).get("sql")) or [each.sql for each in found.results]
    return [(sql, kept.get(" ".join(sql.split()))) for sql in wanted]


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value] if value.strip() else []
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _is_said(value: Any) -> bool:
    return value not in (None, "", [], {})


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
