"""The report as Markdown, with its pictures as files beside it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest

from coset.benchmark.report.content import Picture, Section
from coset.benchmark.report.tables import Grid
from coset.benchmark.report.trajectory import Course, Line, SideBySide

_MARKS = re.compile(r"([\\`*_\[\]<>#|~])")


def markdown(title: str, lead: str, sections: Sequence[Section], pictures: str) -> str:
    """`pictures` is the folder of the pictures, from where the text will be."""
    lines = [f"# {plain(title)}", "", plain(lead), ""]
    for section in sections:
        lines += [f"## {plain(section.title)}", ""]
        for part in section.parts:
            if isinstance(part, str):
                lines += [f"- {plain(part)}" if section.warning else plain(part)]
                lines += [] if section.warning else [""]
            elif isinstance(part, Picture):
                lines += [
                    f"![{plain(part.drawing.title)}]({pictures}/{part.name}.svg)",
                    "",
                    f"*{plain(part.caption)}*",
                    "",
                ]
            elif isinstance(part, Grid):
                lines += [*_grid(part), ""]
            else:
                lines += [*_courses(part), ""]
        if section.warning:
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def plain(text: str) -> str:
    """A text of any origin that Markdown shows as it is, on one line."""
    return _MARKS.sub(r"\\\1", " ".join(text.split()))


def _grid(grid: Grid) -> list[str]:
    rule = ["---" if number in grid.texts else "---:" for number in range(len(grid.head))]
    rows = [_row([plain(cell) for cell in row]) for row in (grid.head, *grid.rows)]
    return [rows[0], _row(rule), *rows[1:]]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _courses(found: SideBySide) -> list[str]:
    courses = found.courses
    lines = [f"**{plain(found.dataset)}, question {plain(found.question)}.** {plain(found.text)}", ""]
    lines += [_row([f"{plain(course.system)} ({plain(course.verdict)})" for course in courses])]
    lines += [_row(["---"] * len(courses)), _row([f"*{plain(course.summary)}*" for course in courses])]
    for number, steps in enumerate(zip_longest(*(course.lines for course in courses)), start=1):
        lines.append(_row([_step(number, step) for step in steps]))
    return [*lines, _row([_answer(course) for course in courses])]


def _step(number: int, line: Line | None) -> str:
    if line is None:
        return ""
    return f"**{number}. {plain(line.title)}** \\[{plain(line.tool)}\\] {plain(line.text)}"


def _answer(course: Course) -> str:
    return f"**Answer.** {plain(course.answer)}"
