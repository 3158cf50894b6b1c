"""The pictures made of points: quality against cost, capability against consistency.

In: systems, in the order they are to be shown. Out: drawings. Names stand beside their points and never on each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from coset.benchmark.report.drawing import FAINT, INK, SOFT, Drawing, colour, fitted, spread_apart, ticks
from coset.benchmark.report.tables import amount, dollars, percent
from coset.benchmark.systems import System

WIDTH, HEIGHT = 860, 420
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
