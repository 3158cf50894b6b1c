"""The tables of a report as rows of text, for both HTML and Markdown.

In: systems and comparisons. Out: `Grid`s. Texts are plain here; who shows them escapes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coset.benchmark.metrics import Comparison, McNemar
from coset.benchmark.systems import System

MOST_FLIPS = 12
"""So many gains and so many losses are shown."""


@dataclass(frozen=True)
class Grid:
    """A table: its first column is text, the others are figures unless said otherwise."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    texts: tuple[int, ...] = (0,)
    """The columns that are text."""


def quality(systems: Sequence[System]) -> Grid:
    ks = sorted({k for system in systems for k in system.pass_hat if k > 1})
    ks = [k for k in ks if k in {3, 5}] or ks[-1:]
    rows = []
    for system in systems:
        interval = system.intervals.get("stratified")
        between = f"{percent(interval.low)} – {percent(interval.high)}" if interval else "–"
        row = [
            system.name, percent(system.stratified, 2), between, percent(system.raw, 2),
            f"{system.passed}/{len(system.attempts)}", str(system.trials),
        ]  # fmt: skip
        for k in ks:
            row += [percent(system.pass_at.get(k)), percent(system.pass_hat.get(k))]
        rows.append(tuple(row))
    head = ["system", "stratified Pass@1", "95 % interval", "raw accuracy", "attempts passed", "trials"]
    return Grid((*head, *(name for k in ks for name in (f"Pass@{k}", f"Pass^{k}"))), tuple(rows))


def usage(systems: Sequence[System]) -> Grid:
    head = (
        "per complete trial", "input tokens", "of it cached", "output tokens", "requests", "tool calls", "tool errors",
        "wall time", "of it models", "cost",
    )  # fmt: skip
    return Grid(
        head,
        tuple(
            (
                system.name, amount(system.input_tokens), amount(system.cached_tokens), amount(system.output_tokens),
                amount(system.requests), amount(system.tool_calls), amount(sum(system.tool_errors.values())),
                duration(system.seconds), duration(system.model_seconds), dollars(system.cost),
            )
            for system in systems
        ),
    )  # fmt: skip


def endings(systems: Sequence[System]) -> Grid:
    """How attempts ended, and what a reader must know before believing the figures."""
    return Grid(
        ("system", "passed", "wrong", "no answer", "not judged", "failed with an error", "stopped by a limit", "leaks",
         "mentions"),
        tuple(
            (
                system.name,
                *(str(system.verdicts.get(key, 0)) for key in ("passed", "wrong", "no answer", "not judged")),
                *(str(system.statuses.get(key, 0)) for key in ("failed", "stopped")), str(len(system.leaks)),
                str(len(system.mentions)),
            )
            for system in systems
        ),
    )  # fmt: skip


def by_dataset(systems: Sequence[System]) -> Grid:
    names = sorted({name for system in systems for name in system.by_dataset}, key=str.lower)
    return Grid(
        ("dataset", *(system.name for system in systems)),
        tuple((name, *(percent(system.by_dataset.get(name)) for system in systems)) for name in names),
    )


def by_question(systems: Sequence[System]) -> Grid:
    """Trials that passed, of each question."""
    counted: dict[tuple[str, str], list[str]] = {}
    for number, system in enumerate(systems):
        trials: dict[tuple[str, str], list[bool]] = {}
        for attempt in system.attempts:
            trials.setdefault((attempt.dataset, attempt.question), []).append(attempt.passed)
        for name, passed in trials.items():
            counted.setdefault(name, ["–"] * len(systems))[number] = f"{sum(passed)}/{len(passed)}"
    return Grid(
        ("dataset", "question", *(system.name for system in systems)),
        tuple((dataset, question, *cells) for (dataset, question), cells in counted.items()),
        (0, 1),
    )


def flips(comparison: Comparison) -> Grid:
    """The largest gains of the first run, then its largest losses."""
    shown = comparison.flips
    if len(shown) > 2 * MOST_FLIPS:
        shown = (*shown[:MOST_FLIPS], *shown[-MOST_FLIPS:])
    return Grid(
        ("dataset", "question", "first", "second", "change"),
        tuple(
            (
                flip.dataset,
                flip.question,
                percent(flip.first, 0),
                percent(flip.second, 0),
                f"{100 * (flip.first - flip.second):+.0f}",
            )
            for flip in shown
        ),
        (0, 1),
    )


def test_in_words(test: McNemar, what: str) -> str:
    probability = f"p = {test.probability:.4f}" if test.probability >= 0.0001 else "p < 0.0001"
    return (
        f"{test.only_first} of {test.pairs} {what} passed only in the first run and {test.only_second} only in the "
        f"second: {probability}"
    )


def percent(share: float | None, digits: int = 1) -> str:
    return "–" if share is None else f"{100 * share:.{digits}f} %"


def amount(number: float) -> str:
    """A count in the unit a person would use: 950, 12.3k, 4.56M."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= size:
            value = number / size
            return f"{value:.0f}{unit}" if value >= 100 else f"{value:.3g}{unit}"
    return f"{number:.0f}" if number == int(number) else f"{number:.3g}"


def dollars(cost: float | None) -> str:
    if cost is None:
        return "unknown"
    return f"${cost:.2f}" if cost >= 1 or cost == 0 else f"${cost:.4f}"


def duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
