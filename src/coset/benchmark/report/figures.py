"""The pictures of a report: accuracy, datasets, tokens, tool errors; quality against cost and against consistency.

In: systems, in the order they are to be shown. Out: drawings. A system has the same colour in every picture; names of
points stand beside their points and never on each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from coset.benchmark.report.drawing import (
    FAINT,
    INK,
    ON_DEEP,
    ON_LIGHT,
    SOFT,
    Drawing,
    colour,
    fitted,
    spread_apart,
    ticks,
    width_of,
)
from coset.benchmark.report.tables import amount, dollars, percent
from coset.benchmark.systems import System

WIDTH = 860
HEIGHT = 420
LEFT, RIGHT, TOP, BOTTOM = 76, 300, 24, 58
"""Names of points stand in a column to the right of the plot, each joined to its point by a thin line."""


@dataclass(frozen=True)
class _Axis:
    title: str
    low: float
    high: float
    told: Callable[[float], str]


@dataclass(frozen=True)
class _Point:
    x: float
    y: float
    name: str
    told: str
    number: int


def quality_and_cost(systems: Sequence[System]) -> Drawing:
    """Stratified Pass@1 against the cost of a complete trial; against tokens, where a price is not known."""
    priced = all(system.cost is not None for system in systems)
    points = []
    for number, system in enumerate(systems):
        if system.stratified is None:
            continue
        x = (system.cost or 0.0) if priced else system.input_tokens + system.output_tokens
        told = f"{percent(system.stratified)}, {dollars(x) if priced else amount(x) + ' tokens'}"
        points.append(_Point(x, system.stratified, system.name, told, number))
    most = max((point.x for point in points), default=0.0) or 1.0
    title = "Cost per complete trial (US dollars)" if priced else "Tokens per complete trial (no price is known)"
    across = _Axis(title, 0.0, most * 1.12, dollars if priced else amount)
    return _scatter("Quality against cost", points, across, _quality(points, "Stratified Pass@1"), diagonal=False)


def capability_and_consistency(systems: Sequence[System]) -> Drawing | None:
    """Stratified Pass@1 against Pass^k; None when no run has a second trial."""
    points, k = [], 3
    known = [system.consistency_k for system in systems if system.consistency_k]
    if not known:
        return None
    k = min(known)
    for number, system in enumerate(systems):
        kept = system.pass_hat.get(k)
        if system.stratified is not None and kept is not None:
            told = f"Pass@1 {percent(system.stratified)}, Pass^{k} {percent(kept)}"
            points.append(_Point(system.stratified, kept, system.name, told, number))
    low = _floor([value for point in points for value in (point.x, point.y)])
    across = _Axis("Capability: stratified Pass@1", low, 1.0, lambda value: percent(value, 0))
    up = _Axis(f"Consistency: stratified Pass^{k} (all {k} of {k} trials pass)", low, 1.0, across.told)
    return _scatter("Capability against consistency", points, across, up, diagonal=True)


def _quality(points: Sequence[_Point], title: str) -> _Axis:
    return _Axis(title, _floor([point.y for point in points]), 1.0, lambda value: percent(value, 0))


def _floor(values: Sequence[float]) -> float:
    """Where an axis of shares begins: a round number with room below the lowest."""
    lowest = min(values, default=0.0)
    return max(0.0, (int(lowest * 10) - 1) / 10)


def _scatter(title: str, points: Sequence[_Point], across: _Axis, up: _Axis, *, diagonal: bool) -> Drawing:
    drawing = Drawing(WIDTH, HEIGHT, title)
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            LEFT + (x - across.low) / (across.high - across.low) * (right - LEFT),
            bottom - (y - up.low) / (up.high - up.low) * (bottom - TOP),
        )

    for tick in ticks(across.low, across.high, 5):
        x, _ = place(tick, up.low)
        drawing.line(x, TOP, x, bottom)
        drawing.text(x, bottom + 18, across.told(tick), size=11, anchor="middle", fill=SOFT)
    for tick in ticks(up.low, up.high, 5):
        _, y = place(across.low, tick)
        drawing.line(LEFT, y, right, y)
        drawing.text(LEFT - 8, y + 4, up.told(tick), size=11, anchor="end", fill=SOFT)
    drawing.line(LEFT, bottom, right, bottom, stroke=SOFT)
    drawing.line(LEFT, TOP, LEFT, bottom, stroke=SOFT)
    drawing.text((LEFT + right) / 2, HEIGHT - 14, across.title, anchor="middle")
    drawing.text(20, (TOP + bottom) / 2, up.title, anchor="middle", turned=True)
    if diagonal:
        drawing.line(*place(across.low, up.low), *place(across.high, up.high), stroke=SOFT, dashed=True)
    placed = [place(point.x, point.y) for point in points]
    # Two lines of text for each name.
    heights = spread_apart([y for _, y in placed], 36, TOP + 8, bottom - 12)
    for point, (x, y), height in zip(points, placed, heights, strict=True):
        drawing.line(x, y, right + 10, height, stroke=FAINT, width=1.5)
        drawing.text(right + 16, height, fitted(point.name, RIGHT - 24), fill=INK, bold=True)
        drawing.text(right + 16, height + 15, fitted(point.told, RIGHT - 24, 11), size=11, fill=SOFT)
    for point, (x, y) in zip(points, placed, strict=True):
        drawing.circle(x, y, 7, colour(point.number), hint=f"{point.name}: {point.told}")
    return drawing


LABELS = 200
ROW = 44


def accuracy(systems: Sequence[System]) -> Drawing:
    """Raw attempt accuracy and stratified Pass@1, with 95 % intervals and the score of each trial."""
    top, bottom = 46, 44
    drawing = Drawing(WIDTH, top + ROW * len(systems) + bottom, "Accuracy by system")
    values = 84
    panel = (WIDTH - LABELS - 2 * values - 20) / 2
    for number, title in enumerate(("Raw attempt accuracy", "Stratified Pass@1 (dots: single trials)")):
        left = LABELS + number * (panel + values)
        drawing.text(left, 24, title, size=13, bold=True)
        for tick in (0, 0.25, 0.5, 0.75, 1.0):
            x = left + tick * panel
            drawing.line(x, top - 8, x, top + ROW * len(systems))
            drawing.text(x, top + ROW * len(systems) + 16, percent(tick, 0), size=11, anchor="middle", fill=SOFT)
        for row, system in enumerate(systems):
            y = top + row * ROW
            score = system.stratified if number else system.raw
            key = "stratified" if number else "raw"
            if score is None:
                continue
            drawing.rectangle(left, y + 8, score * panel, 18, colour(row), hint=f"{system.name}: {percent(score)}")
            if interval := system.intervals.get(key):
                low, high = left + interval.low * panel, left + interval.high * panel
                drawing.line(low, y + 17, high, y + 17, stroke=INK, width=1.5)
                for x in (low, high):
                    drawing.line(x, y + 13, x, y + 21, stroke=INK, width=1.5)
            for trial in system.by_trial if number else ():
                drawing.circle(left + trial * panel, y + 31, 3, colour(row), opacity=0.8)
            counted = f"{system.passed}/{len(system.attempts)}"
            drawing.text(left + panel + 10, y + 22, percent(score), size=13, bold=True)
            if not number:
                drawing.text(left + panel + 10, y + 36, counted, size=11, fill=SOFT)
    for row, system in enumerate(systems):
        _label(drawing, system, top + row * ROW + 19)
    drawing.text(LABELS, drawing.height - 8, "bar: mean; line: 95 % bootstrap interval", size=11, fill=SOFT)
    return drawing


def datasets(systems: Sequence[System]) -> Drawing:
    """Pass@1 of every dataset under every system, as a heat map."""
    names = sorted({name for system in systems for name in system.by_dataset}, key=str.lower)
    column = max(96.0, min(170.0, (WIDTH - LABELS - 20) / max(1, len(systems))))
    top, row_height = 58, 30
    drawing = Drawing(LABELS + column * len(systems) + 20, top + row_height * len(names) + 14, "Pass@1 by dataset")
    for number, system in enumerate(systems):
        middle = LABELS + column * (number + 0.5)
        head, _, rest = system.name.partition(" · ")
        drawing.text(middle, 26, fitted(head, column - 8), anchor="middle", bold=True)
        drawing.text(middle, 44, fitted(rest, column - 8, 11), size=11, anchor="middle", fill=SOFT)
    for row, name in enumerate(names):
        y = top + row * row_height
        drawing.text(LABELS - 12, y + 19, fitted(name, LABELS - 20), anchor="end")
        for number, system in enumerate(systems):
            score = system.by_dataset.get(name)
            x = LABELS + column * number
            if score is None:
                drawing.rectangle(x + 2, y + 2, column - 4, row_height - 4, FAINT, corner=3)
                drawing.text(x + column / 2, y + 19, "not run", size=11, anchor="middle", fill=SOFT)
                continue
            hint = f"{name}, {system.name}: {percent(score)}"
            drawing.rectangle(x + 2, y + 2, column - 4, row_height - 4, _shade(score), hint=hint, corner=3)
            drawing.text(
                x + column / 2, y + 19, percent(score, 0), anchor="middle", fill=ON_DEEP if score > 0.55 else ON_LIGHT
            )
    return drawing


def resources(systems: Sequence[System]) -> Drawing:
    """Tokens (input, of it cached, output) and tool calls per complete trial."""
    top, bottom = 66, 40
    height = top + ROW * len(systems) + bottom
    drawing = Drawing(WIDTH, height, "Tokens and tool calls per complete trial")
    shades = (("input", "#2563a8"), ("input from cache", "#9dc0e6"), ("output", "#d97706"))
    tokens_width, calls_width, values = 330.0, 130.0, 90.0
    calls_left = LABELS + tokens_width + values
    drawing.text(LABELS, 22, "Tokens per trial", size=13, bold=True)
    drawing.text(calls_left, 22, "Tool calls per trial", size=13, bold=True)
    x = float(LABELS)
    for label, shade in shades:
        drawing.rectangle(x, 36, 12, 12, shade, corner=2)
        drawing.text(x + 17, 46, label, size=11, fill=SOFT)
        x += 17 + width_of(label, 11) + 18
    most_tokens = max((system.input_tokens + system.output_tokens for system in systems), default=0) or 1
    most_calls = max((system.tool_calls for system in systems), default=0) or 1
    for left, width, most in ((LABELS, tokens_width, most_tokens), (calls_left, calls_width, most_calls)):
        for tick in ticks(0, most, 4 if width > 200 else 2):
            place = left + tick / most * width
            drawing.line(place, top - 6, place, top + ROW * len(systems))
            drawing.text(place, top + ROW * len(systems) + 16, amount(tick), size=11, anchor="middle", fill=SOFT)
    for row, system in enumerate(systems):
        y = top + row * ROW
        _label(drawing, system, y + 18)
        parts = (system.input_tokens - system.cached_tokens, system.cached_tokens, system.output_tokens)
        x = float(LABELS)
        for (label, shade), part in zip(shades, parts, strict=True):
            width = part / most_tokens * tokens_width
            drawing.rectangle(x, y + 9, width, 22, shade, hint=f"{system.name}, {label}: {part:,.0f}")
            x += width
        drawing.text(x + 8, y + 25, amount(system.input_tokens + system.output_tokens))
        width = system.tool_calls / most_calls * calls_width
        drawing.rectangle(calls_left, y + 9, width, 22, "#2f855a", hint=f"{system.name}: {system.tool_calls:,.1f}")
        drawing.text(calls_left + width + 8, y + 25, amount(system.tool_calls))
    return drawing


def tool_errors(systems: Sequence[System]) -> Drawing:
    """Failed tool calls per complete trial, by kind."""
    totals: dict[str, float] = {}
    for system in systems:
        for kind, count in system.tool_errors.items():
            totals[kind] = totals.get(kind, 0.0) + count
    kinds = sorted(totals, key=lambda kind: (-totals[kind], kind))
    top, bar = 30 + 20 * len(systems), 15
    row_height = bar * len(systems) + 14
    drawing = Drawing(WIDTH, top + max(1, len(kinds)) * row_height + 34, "Tool errors by kind, per complete trial")
    for number, system in enumerate(systems):
        errors = sum(system.tool_errors.values())
        share = f"{errors / system.tool_calls:.0%} of its calls" if system.tool_calls else "no calls"
        drawing.rectangle(LABELS, 14 + 20 * number, 12, 12, colour(number), corner=2)
        drawing.text(LABELS + 18, 24 + 20 * number, f"{system.name}: {amount(errors)} errors, {share}", size=12)
    if not kinds:
        drawing.text(LABELS, top + 18, "no tool call failed", fill=SOFT)
        return drawing
    most = max(system.tool_errors.get(kind, 0.0) for system in systems for kind in kinds)
    width = WIDTH - LABELS - 80
    bottom = top + len(kinds) * row_height
    for tick in ticks(0, most, 5):
        x = LABELS + tick / most * width
        drawing.line(x, top, x, bottom)
        drawing.text(x, bottom + 18, amount(tick), size=11, anchor="middle", fill=SOFT)
    for row, kind in enumerate(kinds):
        y = top + row * row_height + 7
        drawing.text(LABELS - 12, y + bar * len(systems) / 2 + 4, kind, anchor="end")
        for number, system in enumerate(systems):
            count = system.tool_errors.get(kind, 0.0)
            length = count / most * width
            drawing.rectangle(LABELS, y + number * bar, length, bar - 2, colour(number), hint=f"{kind}: {count:.3g}")
            drawing.text(LABELS + length + 6, y + number * bar + 11, amount(count), size=11, fill=SOFT)
    return drawing


def _label(drawing: Drawing, system: System, y: float) -> None:
    """A system's name to the left of its row: how it worked, and below it with which model."""
    head, _, rest = system.name.partition(" · ")
    drawing.text(LABELS - 12, y, fitted(head, LABELS - 20), anchor="end", bold=True)
    drawing.text(LABELS - 12, y + 15, fitted(rest, LABELS - 20, 11), size=11, anchor="end", fill=SOFT)


def _shade(score: float) -> str:
    """From nearly white to deep blue."""
    light, deep = (238, 244, 251), (22, 78, 138)
    mixed = (round(low + (high - low) * score) for low, high in zip(light, deep, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)
