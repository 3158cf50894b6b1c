"""Where tables and joins stand in the drawing of relations.

In: tables and joins of a state. Out: boxes and curves with their places, for a template to write as SVG. A source is a
column of boxes, a box lists the columns that join; sources and boxes are ordered so that few curves cross. The same
state gives the same drawing. Knows no colour.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from coset.state.tables import TableRow
from coset.surfaces.command_line.output import join_kind

WIDTH, GAP, HEAD, LINE, BETWEEN, TOP = 188, 86, 28, 19, 16, 34
MOST_TABLES, MOST_LINES, TALLEST = 60, 8, 1_100
SWEEPS, FEW = 6, 7


@dataclass(frozen=True)
class Box:
    """A table: where it stands, and the columns of it that join, each with its height."""

    reference: str
    source: str
    name: str
    rows: int | None
    x: float
    y: float
    height: float
    columns: tuple[tuple[str, str, float], ...]
    """(name, reference, y)"""
    left_out: int


@dataclass(frozen=True)
class Curve:
    """A join."""

    id: str
    tables: tuple[str, str]
    path: str
    title: str
    is_across: bool
    is_transformed: bool
    confidence: float


@dataclass(frozen=True)
class Drawing:
    width: float
    height: float
    heads: tuple[tuple[str, float], ...]
    """(source, x)"""
    boxes: tuple[Box, ...]
    curves: tuple[Curve, ...]
    left_out: int
    """Tables that join but are not drawn."""
    alone: int
    """Tables without a join."""
    box_width: float = WIDTH


def draw(tables: Sequence[TableRow], joins: Sequence[dict[str, Any]]) -> Drawing | None:
    """The drawing; None where nothing joins."""
    if not joins:
        return None
    degree: dict[str, int] = defaultdict(int)
    for join in joins:
        for side in {join["left_table"], join["right_table"]}:
            degree[side] += 1
    known = {table.reference: table for table in tables if table.reference in degree}
    chosen = sorted(sorted(known, key=lambda reference: (-degree[reference], reference))[:MOST_TABLES])
    shown = [join for join in joins if join["left_table"] in chosen and join["right_table"] in chosen]
    columns_of = _joining_columns(chosen, shown)
    stacks = _stacks(chosen, known, shown, columns_of)
    boxes, heads, x, tallest = {}, [], 0.0, 0.0
    for source, stack in stacks:
        heads.append((source, x))
        y = float(TOP)
        for reference in stack:
            box = _box(known[reference], columns_of[reference], x, y)
            boxes[reference] = box
            y += box.height + BETWEEN
        tallest = max(tallest, y)
        x += WIDTH + GAP
    curves = tuple(_curve(join, boxes) for join in shown)
    # A join within the last column bends out to its right.
    return Drawing(
        x - GAP + 60, tallest, tuple(heads), tuple(boxes.values()), curves, len(known) - len(chosen),
        len(tables) - len(known),
    )  # fmt: skip


def _joining_columns(chosen: Sequence[str], joins: Sequence[dict[str, Any]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {reference: [] for reference in chosen}
    for join in joins:
        for table, columns in (
            (join["left_table"], join["left_columns"]),
            (join["right_table"], join["right_columns"]),
        ):
            found[table] += [column for column in columns if column not in found[table]]
    return {table: sorted(columns) for table, columns in found.items()}


def _stacks(
    chosen: Sequence[str],
    known: dict[str, TableRow],
    joins: Sequence[dict[str, Any]],
    columns_of: dict[str, list[str]],
) -> list[tuple[str, list[str]]]:
    """The columns of boxes from left to right; a source that would be too tall has several."""
    by_source: dict[str, list[str]] = defaultdict(list)
    for reference in chosen:
        by_source[known[reference].source].append(reference)
    order = _order_of_sources(sorted(by_source), known, joins)
    neighbours: dict[str, list[str]] = defaultdict(list)
    for join in joins:
        neighbours[join["left_table"]].append(join["right_table"])
        neighbours[join["right_table"]].append(join["left_table"])
    height = {table: _height(len(columns_of[table])) + BETWEEN for table in chosen}
    for _ in range(SWEEPS):
        middle = {}
        for source in order:
            y = 0.0
            for table in by_source[source]:
                middle[table] = y + height[table] / 2
                y += height[table]
        for source in order:
            by_source[source].sort(
                key=lambda table: (
                    sum(middle[other] for other in neighbours[table]) / max(len(neighbours[table]), 1),
                    table,
                )
            )
    stacks: list[tuple[str, list[str]]] = []
    for source in order:
        stack: list[str] = []
        for table in by_source[source]:
            if stack and sum(height[each] for each in stack) + height[table] > TALLEST:
                stacks.append((source, stack))
                stack = []
            stack.append(table)
        stacks.append((source, stack))
    return stacks


def _order_of_sources(sources: list[str], known: dict[str, TableRow], joins: Sequence[dict[str, Any]]) -> list[str]:
    """The order in which joined sources stand nearest."""
    weights: dict[tuple[str, str], int] = defaultdict(int)
    for join in joins:
        left, right = sorted(known[join[side]].source for side in ("left_table", "right_table"))
        if left != right:
            weights[left, right] += 1

    def length(order: Iterable[str]) -> int:
        place = {source: number for number, source in enumerate(order)}
        return sum(
            weight * abs(place[left] - place[right])
            for (left, right), weight in weights.items()
            if left in place and right in place
        )

    if len(sources) <= FEW:
        return list(min(permutations(sources), key=length))
    order: list[str] = []
    by_weight = sorted(sources, key=lambda each: (-sum(w for pair, w in weights.items() if each in pair), each))
    for source in by_weight:  # Each where it makes the drawing the least longer.
        order = min(([*order[:place], source, *order[place:]] for place in range(len(order) + 1)), key=length)
    return order


def _height(columns: int) -> float:
    return HEAD + LINE * min(columns, MOST_LINES) + (LINE if columns > MOST_LINES else 0) + 6


def _box(table: TableRow, columns: list[str], x: float, y: float) -> Box:
    reference = table.reference
    lines = tuple(
        (column[len(reference) + 1 :], column, y + HEAD + LINE * (number + 0.5))
        for number, column in enumerate(columns[:MOST_LINES])
    )
    left_out = max(len(columns) - MOST_LINES, 0)
    return Box(reference, table.source, table.name, table.rows, x, y, _height(len(columns)), lines, left_out)


def _curve(join: dict[str, Any], boxes: dict[str, Box]) -> Curve:
    left, right = boxes[join["left_table"]], boxes[join["right_table"]]
    if left.x > right.x:
        left, right = right, left
        first, second = join["right_columns"], join["left_columns"]
    else:
        first, second = join["left_columns"], join["right_columns"]
    start, end = _port(left, first), _port(right, second)
    if left.x == right.x:
        out = left.x + WIDTH
        bend = out + min(20 + abs(end - start) / 8, 54)
        path = f"M{out:g} {start:g}C{bend:g} {start:g} {bend:g} {end:g} {out:g} {end:g}"
    else:
        begin, finish = left.x + WIDTH, right.x
        half = (finish - begin) / 2
        path = f"M{begin:g} {start:g}C{begin + half:g} {start:g} {finish - half:g} {end:g} {finish:g} {end:g}"
    title = (
        f"{', '.join(join['left_columns'])} = {', '.join(join['right_columns'])}: {join_kind(join['kind'])}, "
        f"{join['left_match']:.0%} and {join['right_match']:.0%} of rows match, {join['cardinality']}"
    )
    return Curve(
        join["id"], (left.reference, right.reference), path, title, left.source != right.source,
        join["kind"] != "identity", join["confidence"],
    )  # fmt: skip


def _port(box: Box, columns: Sequence[str]) -> float:
    for _, reference, y in box.columns:
        if reference in columns:
            return y
    return box.y + box.height - LINE / 2
