"""Explains a view: requirements, demand, anchors, scores, which object covers which, and what was left out.

In: the parts of one routing. Out: an `Explanation` and its text. For people and tests; a model never sees it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from coset.routing.objects.data_as_text import one_line
from coset.routing.request import Anchor
from coset.routing.views.text import anchor_line, places_of
from coset.routing.views.view import EvidenceView, view_values


@dataclass(frozen=True)
class Explanation:
    """One routing, taken apart. Every list has the strongest first."""

    view: EvidenceView
    requirements: tuple[tuple[int, float], ...]
    """(query prototype, weight): beta(q)."""
    demand: tuple[tuple[str, str, float], ...]
    """(coordinate, identity, activation): gamma(q)."""
    covered: tuple[tuple[str, str, str | None], ...]
    """(coordinate, identity, what covers it): None where nothing relevant plays it."""
    anchors: tuple[Anchor, ...]
    tables: tuple[tuple[str, float], ...]
    columns: tuple[tuple[str, float], ...]
    fell_out: tuple[tuple[str, float, str], ...]
    """(reference, score, why)."""
    passages: tuple[tuple[str, float, tuple[str, ...]], ...] = ()
    """(section of a document that the question found, score, tables and columns that it leads to): the second hop."""
    not_searched: tuple[tuple[str, str], ...] = ()
    """(column, why): values that are not held and were not asked for at the source."""
    note: str = ""

    @property
    def text(self) -> str:
        places = places_of(self.view.tables)
        sections = [
            (
                "REQUIREMENTS beta(q), by query prototype",
                [f"{number}: {beta:.3f}" for number, beta in self.requirements],
            ),
            (
                "DEMAND gamma(q)",
                [f"{coordinate} {identity} {gamma:.3f}" for coordinate, identity, gamma in self.demand],
            ),
            ("COVERED BY", [f"{kind} {identity}: {by or 'nothing relevant'}" for kind, identity, by in self.covered]),
            ("ANCHORS", [anchor_line(each, places).strip() for each in self.anchors]),
            (
                "PASSAGES that the question found -> what they lead to",
                [
                    one_line(f"{score:.2f} {reference} -> {', '.join(led) or 'nothing here'}", 400)
                    for reference, score, led in self.passages
                ],
            ),
            ("TABLES by score", [_scored(reference, score) for reference, score in self.tables]),
            ("COLUMNS by score", [_scored(reference, score) for reference, score in self.columns]),
            ("FELL OUT", [f"{_scored(reference, score)}: {why}" for reference, score, why in self.fell_out]),
            ("NOT SEARCHED", [one_line(f"{reference}: {why}", 400) for reference, why in self.not_searched]),
            ("NOTE", [one_line(self.note, 300)] if self.note else []),
        ]
        return "".join(
            f"{title}\n" + "".join(f"  {line}\n" for line in lines) for title, lines in sections if lines
        )  # fmt: skip

    def values(self) -> dict[str, Any]:
        """The same in the types of JSON."""
        return {**asdict(self), "view": view_values(self.view)}


def _scored(reference: str, score: float) -> str:
    return f"{score:.3f} {one_line(reference, 200)}"
