"""The report as one HTML page that stands alone, in the light and in the dark; its form is `templates/report.html`."""

from __future__ import annotations

from collections.abc import Sequence

from coset.benchmark.report.content import Section
from coset.benchmark.report.drawing import FAINT, INK, PAPER, SOFT
from coset.errors import MissingDependency

TONES = {INK: "--ink", SOFT: "--soft", FAINT: "--line", PAPER: "--paper"}
"""The colours of pictures that follow the page in the dark. A rule outweighs the attribute that it selects by."""


def page(title: str, lead: str, sections: Sequence[Section]) -> str:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ModuleNotFoundError as error:
        raise MissingDependency("a report as HTML", "ui") from error
    templates = Environment(loader=PackageLoader("coset.benchmark.report"), autoescape=True, undefined=StrictUndefined)
    return templates.get_template("report.html").render(title=title, lead=lead, sections=sections, tones=TONES)
