"""Writes the reports of one or more systems into a folder.

In: systems, a folder, a title. Out: `report.html`, `report.md` with `figures/*.svg`, and `summary.json`, which has the
form that all of coset's benches share: benchmark, figures, aim, met. The HTML page stands alone, in the light and in
the dark; its form is `templates/report.html`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from coset.benchmark.metrics import compare
from coset.benchmark.report.content import Picture, Section, sections
from coset.benchmark.report.drawing import FAINT, INK, PAPER, SOFT
from coset.benchmark.report.markdown import markdown
from coset.benchmark.systems import System, figures_of
from coset.errors import MissingDependency

TONES = {INK: "--ink", SOFT: "--soft", FAINT: "--line", PAPER: "--paper"}
"""The colours of pictures that follow the page in the dark. A rule outweighs the attribute that it selects by."""


def write_reports(systems: Sequence[System], folder: Path, title: str, lead: str = "") -> Path:
    """All forms of the report; the path of the HTML."""
    found = sections(systems)
    pictures = folder / "figures"
    pictures.mkdir(parents=True, exist_ok=True)
    for section in found:
        for part in section.parts:
            if isinstance(part, Picture):
                (pictures / f"{part.name}.svg").write_text(part.drawing.svg(), encoding="utf-8")
    (folder / "report.md").write_text(markdown(title, lead, found, pictures.name), encoding="utf-8", errors="replace")
    (folder / "summary.json").write_text(json.dumps(_summary(systems, title), indent=1) + "\n", encoding="utf-8")
    path = folder / "report.html"
    path.write_text(_page(title, lead, found), encoding="utf-8", errors="replace")
    return path


def _page(title: str, lead: str, sections: Sequence[Section]) -> str:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ModuleNotFoundError as error:
        raise MissingDependency("a report as HTML", "ui") from error
    templates = Environment(loader=PackageLoader("coset.benchmark.report"), autoescape=True, undefined=StrictUndefined)
    return templates.get_template("report.html").render(title=title, lead=lead, sections=sections, tones=TONES)


def _summary(systems: Sequence[System], title: str) -> dict[str, object]:
    comparisons = []
    for other in systems[1:]:
        result = compare(systems[0].attempts, other.attempts)
        comparisons.append(
            {
                "first": systems[0].name, "second": other.name, "questions": result.questions,
                "flips": [vars(flip) for flip in result.flips], "by_question": vars(result.by_question),
                "by_attempt": vars(result.by_attempt),
            }
        )  # fmt: skip
    complete = all(not system.not_runnable and not system.leaks for system in systems)
    return {
        "benchmark": title,
        "figures": {system.name: figures_of(system) for system in systems},
        "comparisons": comparisons,
        "aim": "every dataset runs, and no prompt holds a ground truth",
        "met": complete,
    }
