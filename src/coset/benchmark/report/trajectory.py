"""One question in two runs, side by side, step by step: what each looked at, ran and answered.

In: two systems. Out: a `SideBySide`, or None when they share no question. The question is one that flipped, where there
is one; otherwise the first that both have. Shows visible actions and results, nothing that a model thought.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from coset.benchmark.attempts import Attempt
from coset.benchmark.metrics import compare, natural
from coset.benchmark.systems import System

LONGEST = 220
MOST_STEPS = 40


@dataclass(frozen=True)
class Line:
    """One step as a person reads it."""

    title: str
    tool: str
    text: str
    failed: bool


@dataclass(frozen=True)
class Course:
    """One attempt, step by step."""

    system: str
    passed: bool
    verdict: str
    summary: str
    lines: tuple[Line, ...]
    answer: str


@dataclass(frozen=True)
class SideBySide:
    dataset: str
    question: str
    text: str
    courses: tuple[Course, ...]


def side_by_side(systems: Sequence[System]) -> SideBySide | None:
    """The courses of one question in the first two systems that share one."""
    if len(systems) < 2:
        return _alone(systems[0]) if systems else None
    first, second = systems[0], systems[1]
    flips = compare(first.attempts, second.attempts).flips
    both = {attempt.key[:2] for attempt in first.attempts} & {attempt.key[:2] for attempt in second.attempts}
    if flips:
        chosen = (flips[0].dataset, flips[0].question)
    elif both:
        chosen = min(both, key=lambda name: (name[0], natural(name[1])))
    else:
        return None
    wanted = flips[0].first > flips[0].second if flips else None
    picked = [
        _pick(first, chosen, wanted),
        _pick(second, chosen, None if wanted is None else not wanted),
    ]
    courses = tuple(_course(system, attempt) for system, attempt in zip((first, second), picked, strict=True))
    return SideBySide(*chosen, first.run.texts.get("/".join(chosen), ""), courses)


def _alone(system: System) -> SideBySide | None:
    if not system.attempts:
        return None
    attempt = next((each for each in system.attempts if each.passed), system.attempts[0])
    name = (attempt.dataset, attempt.question)
    return SideBySide(*name, system.run.texts.get("/".join(name), ""), (_course(system, attempt),))


def _pick(system: System, name: tuple[str, str], passed: bool | None) -> Attempt:
    trials = [attempt for attempt in system.attempts if attempt.key[:2] == name]
    return next((attempt for attempt in trials if passed is None or attempt.passed is passed), trials[0])


def _course(system: System, attempt: Attempt) -> Course:
    steps = system.run.trace(attempt)
    lines = [line for step in _as_written(steps) if (line := _line(step))]
    more = len(lines) - MOST_STEPS
    if more > 0:
        lines = [*lines[:MOST_STEPS], Line("", "", f"and {more} more steps", False)]
    summary = (
        f"trial {attempt.trial}: {_counted(attempt.requests, 'request')}, {_counted(attempt.tool_calls, 'tool call')}, "
        f"{attempt.tokens:,} tokens, {attempt.seconds:.1f} s"
    )
    verdict = attempt.verdict if attempt.status != "failed" else f"{attempt.verdict}: {attempt.error}"
    return Course(
        system.name, attempt.passed, _short(verdict), summary, tuple(lines), _short(attempt.answer or "none", 600)
    )


def _as_written(steps: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The steps with drafts as the arbiter wrote them, before tested expressions were put in."""
    written: list[str] = []
    found = []
    for step in steps:
        records = step.get("records")
        if step.get("kind") == "records" and isinstance(records, dict):
            queries = records.get("queries") or []
            written = [str(query["sql"]) for query in queries if isinstance(query, dict) and query.get("sql")]
        elif step.get("kind") == "draft" and written:
            step = {**step, "sql": written.pop(0)}
        found.append(step)
    return found


def _line(step: dict[str, Any]) -> Line | None:
    kind = step.get("kind")
    failed = bool(step.get("failed"))
    if kind == "view":
        text = str(step.get("text") or "")
        core = step.get("mode") == "core"
        what = "the plain schema" if core else "the evidence view"
        return Line("Evidence", "schema" if core else "route", f"{what}, {len(text):,} letters", False)
    if kind == "records":
        return Line("Decision", "arbiter", _short(_records(step)), False)
    if kind == "draft":
        told = step.get("text") if failed else f"{step.get('sql')} → {_counted(step.get('rows') or 0, 'row')}"
        return Line("Draft", "sql", _short(told), failed)
    if kind == "tool":
        arguments = step.get("arguments")
        asked = " ".join(str(value) for value in arguments.values()) if isinstance(arguments, dict) else ""
        rows = step.get("rows")
        gave = str(step.get("text")) if failed or rows is None else _counted(rows, "row")
        told = f"{_short(asked)} → {_short(gave, 120)}"
        return Line("Error" if failed else "Execution", str(step.get("tool") or ""), told, failed)
    if kind == "objection":
        return Line("Verification", "checks", _short("; ".join(map(str, step.get("objections") or []))), True)
    if kind in {"retry", "failure"}:
        return Line("Model", str(kind), _short(step.get("message")), True)
    return None


def _counted(count: int, what: str) -> str:
    return f"1 {what}" if count == 1 else f"{count:,} {what}s"


def _records(step: dict[str, Any]) -> str:
    """How the question was read, and how much was decided of it."""
    records = step.get("records")
    if not isinstance(records, dict):
        return "no records that could be used"
    counts = [f"{key}: {len(value)}" for key, value in records.items() if isinstance(value, list) and value]
    shape = records.get("shape")
    read = str(shape.get("meaning") or "") if isinstance(shape, dict) else ""
    return "; ".join(part for part in (read, ", ".join(counts)) if part) or "records"


def _short(value: Any, longest: int = LONGEST) -> str:
    text = " ".join(str(value or "").split())
    return text if len(text) <= longest else text[: longest - 1] + "…"
