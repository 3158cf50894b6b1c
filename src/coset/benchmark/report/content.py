"""What a report says, in order, before it becomes HTML or Markdown.

In: systems. Out: sections of sentences, tables and pictures. Both forms of the report show the same sections.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coset.benchmark.attempts import COMPARED_PLAINLY
from coset.benchmark.metrics import compare
from coset.benchmark.report import figures, tables
from coset.benchmark.report.drawing import Drawing
from coset.benchmark.report.tables import Grid
from coset.benchmark.report.trajectory import SideBySide, side_by_side
from coset.benchmark.systems import System


@dataclass(frozen=True)
class Picture:
    name: str
    """Of its file, where it has one."""
    drawing: Drawing
    caption: str


@dataclass(frozen=True)
class Section:
    title: str
    parts: tuple[str | Grid | Picture | SideBySide, ...]
    """In the order they are shown; a text is a paragraph."""
    warning: bool = False


def sections(systems: Sequence[System]) -> list[Section]:
    """The whole report."""
    found = [*_warnings(systems), _quality(systems), _datasets(systems), _cost(systems)]
    if consistency := figures.capability_and_consistency(systems):
        caption = (
            "Pass^k counts a question only when all k trials pass, averaged over every subset of k trials; it cannot "
            "exceed Pass@1. On the dashed line nothing is lost to inconsistency."
        )
        found.append(Section("Capability and consistency", (Picture("consistency", consistency, caption),)))
    errors = Picture(
        "tool_errors", figures.tool_errors(systems), "Failed tool calls by kind, mean over complete trials."
    )
    found.append(Section("Tool errors", (errors,)))
    found += _comparisons(systems)
    if course := side_by_side(systems):
        found.append(Section("One question, step by step", (course,)))
    found.append(Section("Every question", ("Trials that passed:", tables.by_question(systems))))
    found.append(Section("How attempts ended", (tables.endings(systems), *_settings(systems))))
    return found


def _warnings(systems: Sequence[System]) -> list[Section]:
    lines = []
    for system in systems:
        for attempt in system.leaks:
            where = f"{attempt.dataset} {attempt.question}, trial {attempt.trial}"
            lines.append(f"{system.name}: {where}: {'; '.join(attempt.leaks)}. Its verdict means nothing.")
        for name, why in system.not_runnable.items():
            lines.append(f"{system.name}: {name} was not run: {why}")
        if plainly := sum(attempt.reason == COMPARED_PLAINLY for attempt in system.attempts):
            lines.append(f"{system.name}: {plainly} answers were {COMPARED_PLAINLY}.")
        if unjudged := system.verdicts.get("not judged"):
            lines.append(f"{system.name}: {unjudged} answers could not be judged and count as not passed.")
        if failed := system.statuses.get("failed"):
            lines.append(f"{system.name}: {failed} attempts ended with an error and count as not passed.")
    return [Section("To know first", tuple(lines), warning=True)] if lines else []


def _quality(systems: Sequence[System]) -> Section:
    explained = (
        "Stratified Pass@1 is the mean over datasets of the mean over questions of the share of trials that passed. "
        "Intervals: questions are drawn again within their dataset, and trials within their question; where all or no "
        "attempts passed, nothing can be drawn that was not seen, and the interval has no width."
    )
    caption = "Accuracy over all attempts (left), and with every dataset counted alike (right)."
    return Section(
        "Accuracy",
        (Picture("accuracy", figures.accuracy(systems), caption), tables.quality(systems), explained),
    )


def _datasets(systems: Sequence[System]) -> Section:
    picture = Picture("datasets", figures.datasets(systems), "Pass@1 of each dataset.")
    return Section("Datasets", (picture,))


def _cost(systems: Sequence[System]) -> Section:
    return Section(
        "Cost",
        (
            Picture("cost", figures.quality_and_cost(systems), "Up and to the left is better."),
            Picture("resources", figures.resources(systems), "Means over complete trials; all requests counted."),
            tables.usage(systems),
        ),
    )


def _comparisons(systems: Sequence[System]) -> list[Section]:
    found = []
    for other in systems[1:]:
        comparison = compare(systems[0].attempts, other.attempts)
        if not comparison.questions:
            continue
        said = (
            f"By question (the majority of its trials), {tables.test_in_words(comparison.by_question, 'questions')}. "
            f"By attempt, {tables.test_in_words(comparison.by_attempt, 'pairs')}. McNemar's exact test, two-sided; "
            "trials of one question resemble each other, so the first is the careful one."
        )
        if not comparison.flips:
            flipped: tuple[str | Grid, ...] = ("No question has another share of passed trials.",)
        else:
            more = len(comparison.flips) - 2 * tables.MOST_FLIPS
            left_out = (f"and {more} more between these; summary.json has them all.",) if more > 0 else ()
            flipped = ("Questions whose share of passed trials differs:", tables.flips(comparison), *left_out)
        found.append(Section(f"{systems[0].name} against {other.name}", (said, *flipped)))
    return found


def _settings(systems: Sequence[System]) -> tuple[Grid, ...]:
    keys = {
        "mode": "mode", "model": "model", "arbiter_model": "arbiter's model", "text_model": "model for texts",
        "hints": "hints", "budget": "evidence budget", "steps": "steps at most", "max_tokens": "tokens at most",
        "verify": "verification", "coset": "coset",
    }  # fmt: skip
    rows = tuple(
        (told, *("–" if (value := system.run.settings.get(key)) is None else str(value) for system in systems))
        for key, told in keys.items()
    )
    return (Grid(("setting", *(system.name for system in systems)), rows, tuple(range(len(systems) + 1))),)
