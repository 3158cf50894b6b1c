"""Small SVG drawings that read in light and in dark: text, lines, bars, dots.

In: numbers and words. Out: one SVG file's text. Colours come from one style sheet inside the file, which follows the
reader's colour scheme, so a picture needs no second version. Knows nothing of what is drawn.
"""

from __future__ import annotations

from html import escape

STYLE = """
text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1c2330; }
.soft { fill: #5b6472; } .small { font-size: 11.5px; } .bold { font-weight: 600; }
.code { font-family: ui-monospace, monospace; font-size: 12px; }
.line { stroke: #8a93a3; fill: none; } .grid { stroke: #d5dae3; fill: none; } .box { fill: #f4f6fa; stroke: #b9c1ce; }
.a { fill: #2f6fd0; } .b { fill: #d9822b; } .c { fill: #2e9e6b; } .d { fill: #b0489c; } .e { fill: #8a93a3; }
.sa { stroke: #2f6fd0; } .sb { stroke: #d9822b; } .sc { stroke: #2e9e6b; } .sd { stroke: #b0489c; }
.se { stroke: #8a93a3; }
.hollow { fill: none; } .thin { stroke-width: 1.5; } .faint { opacity: .35; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6e9f0; } .soft { fill: #a3acba; } .line { stroke: #7f8998; } .grid { stroke: #333c4a; }
  .box { fill: #1b222c; stroke: #46505f; }
  .a { fill: #6aa2f5; } .b { fill: #f0a45a; } .c { fill: #5cc795; } .d { fill: #d981c8; }
  .sa { stroke: #6aa2f5; } .sb { stroke: #f0a45a; } .sc { stroke: #5cc795; } .sd { stroke: #d981c8; }
}
"""


class Drawing:
    """Collects shapes; `text_of_file` gives the SVG."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.width, self.height, self.title = width, height, title
        self.shapes: list[str] = []

    def text(self, x: float, y: float, words: str, style: str = "", anchor: str = "start") -> None:
        self.shapes.append(
            f'<text x="{x:.1f}" y="{y:.1f}" class="{style}" text-anchor="{anchor}">{escape(words)}</text>'
        )

    def box(self, x: float, y: float, width: float, height: float, style: str = "box", radius: float = 0) -> None:
        self.shapes.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{height:.1f}" rx="{radius}" '
            f'class="{style}"/>'
        )

    def dot(self, x: float, y: float, radius: float, style: str) -> None:
        self.shapes.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" class="{style}"/>')

    def diamond(self, x: float, y: float, size: float, style: str) -> None:
        corners = f"{x},{y - size} {x + size},{y} {x},{y + size} {x - size},{y}"
        self.shapes.append(f'<polygon points="{corners}" class="{style}"/>')

    def path(self, points: list[tuple[float, float]], style: str = "line", arrow: bool = False) -> None:
        steps = " ".join(f"{'L' if place else 'M'}{x:.1f} {y:.1f}" for place, (x, y) in enumerate(points))
        end = ' marker-end="url(#tip)"' if arrow else ""
        self.shapes.append(f'<path d="{steps}" class="{style}"{end}/>')

    def text_of_file(self) -> str:
        tip = (
            '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            '<path d="M0 0L8 4L0 8z" class="e"/></marker>'
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}" '
            f'height="{self.height}" role="img"><title>{escape(self.title)}</title><style>{STYLE}</style>'
            f"<defs>{tip}</defs>\n" + "\n".join(self.shapes) + "\n</svg>\n"
        )
