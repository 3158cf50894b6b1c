"""A small drawing that becomes SVG: texts, rectangles, lines, circles. Nothing else is needed for our pictures.

In: shapes in pixels, texts of any origin (they are escaped). Out: one `<svg>` element that stands alone, without
scripts, fonts or addresses from elsewhere. Widths of texts are estimated, for no browser is at hand to measure them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import Literal

Anchor = Literal["start", "middle", "end"]
INK, SOFT, FAINT, PAPER = "#1f2933", "#5f6b7a", "#e3e8ee", "#ffffff"
"""The four tones of every picture. A page in the dark changes them, by their value; nothing else has these values."""
ON_LIGHT, ON_DEEP = "#1f2934", "#fffffe"
"""Texts on a colour of the picture's own, which stays in the dark."""
PALETTE = ("#2563a8", "#d97706", "#2f855a", "#9333a8", "#b83232", "#0e7490", "#6b7280", "#a16207")
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"


def colour(number: int) -> str:
    return PALETTE[number % len(PALETTE)]


def width_of(text: str, size: float = 12) -> float:
    """About how wide a text is: a little more than it will be."""
    narrow = sum(letter in "iljtfI.,:;'|! ()[]" for letter in text)
    wide = sum(letter in "mwMW@%—" or ord(letter) > 0x2E80 for letter in text)
    return size * (0.6 * (len(text) - narrow - wide) + 0.36 * narrow + 0.95 * wide)


def fitted(text: str, width: float, size: float = 12) -> str:
    """The text, cut with an ellipsis where it would be wider."""
    if width_of(text, size) <= width:
        return text
    while text and width_of(text + "…", size) > width:
        text = text[:-1]
    return text.rstrip() + "…"


@dataclass
class Drawing:
    """Shapes on a sheet. `title` is what is read aloud and shown when one points at it."""

    width: float
    height: float
    title: str
    parts: list[str] = field(default_factory=list)

    def text(
        self, x: float, y: float, text: str, *, size: float = 12, anchor: Anchor = "start", fill: str = INK,
        bold: bool = False, turned: bool = False,
    ) -> None:  # fmt: skip
        weight = ' font-weight="600"' if bold else ""
        turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
        self.parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" text-anchor="{anchor}" fill="{fill}"{weight}{turn}>'
            f"{escape(_printable(text))}</text>"
        )

    def rectangle(
        self, x: float, y: float, width: float, height: float, fill: str, *, hint: str = "", corner: float = 0
    ) -> None:
        told = f"<title>{escape(_printable(hint))}</title>" if hint else ""
        self.parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(0.0, width):.1f}" height="{height:.1f}" rx="{corner:g}" '
            f'fill="{fill}">{told}</rect>'
        )

    def line(
        self, x1: float, y1: float, x2: float, y2: float, *, stroke: str = FAINT, width: float = 1, dashed: bool = False
    ) -> None:
        dash = ' stroke-dasharray="4 4"' if dashed else ""
        self.parts.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{stroke}" '
            f'stroke-width="{width:g}"{dash}/>'
        )

    def circle(
        self, x: float, y: float, radius: float, fill: str, *, hint: str = "", opacity: float = 1, ring: str = PAPER
    ) -> None:
        told = f"<title>{escape(_printable(hint))}</title>" if hint else ""
        self.parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{fill}" fill-opacity="{opacity:g}" '
            f'stroke="{ring}" stroke-width="1">{told}</circle>'
        )

    def path(self, points: list[tuple[float, float]], stroke: str, *, width: float = 2) -> None:
        steps = " ".join(f"{'M' if not number else 'L'}{x:.1f} {y:.1f}" for number, (x, y) in enumerate(points))
        self.parts.append(f'<path d="{steps}" fill="none" stroke="{stroke}" stroke-width="{width:g}"/>')

    def svg(self) -> str:
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height:g}" '
            f'width="{self.width:g}" height="{self.height:g}" role="img" font-family="{FONT}">'
            f"<title>{escape(self.title)}</title>"
            f'<rect width="{self.width:g}" height="{self.height:g}" fill="{PAPER}"/>{"".join(self.parts)}</svg>'
        )


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers from `low` to `high`."""
    import math

    span = high - low
    if span <= 0:
        return [low]
    rough = span / max(1, about)
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * each for each in (1, 2, 2.5, 5, 10) if unit * each >= rough - 1e-12)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


def spread_apart(places: list[float], gap: float, low: float, high: float) -> list[float]:
    """Places moved as little as needed so that neighbours are `gap` apart and all lie between `low` and `high`."""
    order = sorted(range(len(places)), key=lambda number: places[number])
    found = list(places)
    before = low - gap
    for number in order:
        found[number] = before = max(found[number], before + gap)
    after = high + gap
    for number in reversed(order):
        found[number] = after = min(found[number], after - gap)
    return found


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)
