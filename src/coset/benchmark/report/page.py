"""The report as one HTML page that stands alone, in the light and in the dark: no script, no font, no address from
elsewhere. In the dark the tones of the pictures change with the page; their own colours stay."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from coset.benchmark.report.content import Picture, Section
from coset.benchmark.report.drawing import FAINT, INK, PAPER, SOFT
from coset.benchmark.report.tables import Grid
from coset.benchmark.report.trajectory import Course, SideBySide

STYLE = """
:root { color-scheme: light dark; --ink: #1f2933; --soft: #5f6b7a; --line: #e3e8ee; --paper: #ffffff; --page: #f6f8fa;
  --warned: #fffaf0; --code: #eef2f6; --good: #2f855a; --bad: #b83232 }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ee; --soft: #a3adba; --line: #37414d; --paper: #1b222b; --page: #12171d; --warned: #2b2415;
    --code: #27303a; --good: #68c894; --bad: #f08a8a }
}
body { font: 15px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif; color: var(--ink);
  background: var(--page); margin: 0 }
main { max-width: 920px; margin: 0 auto; padding: 24px 20px 64px }
h1 { font-size: 26px; margin: 12px 0 4px } h2 { font-size: 19px; margin: 0 0 12px }
p.lead { color: var(--soft); margin: 0 0 20px }
section { background: var(--paper); border: 1px solid var(--line); border-radius: 8px; padding: 18px 20px;
  margin: 0 0 18px }
section.warning { border-color: #d97706; background: var(--warned) }
figure { margin: 0 0 16px; overflow-x: auto } figure svg { max-width: 100%; height: auto }
figcaption { color: var(--soft); font-size: 13px; margin-top: 4px }
.scroll { overflow-x: auto; margin: 0 0 12px }
table { border-collapse: collapse; font-size: 13px; width: 100% }
th, td { padding: 5px 10px; border-bottom: 1px solid var(--line); text-align: right; vertical-align: top;
  white-space: nowrap }
th { color: var(--soft); font-weight: 600; white-space: normal }
th.text, td.text { text-align: left; white-space: normal; overflow-wrap: anywhere }
th.text:first-child, td.text:first-child { min-width: 120px }
.courses { display: grid; grid-template-columns: repeat(auto-fit, minmax(320px, 1fr)); gap: 16px }
.course { border: 1px solid var(--line); border-radius: 6px; padding: 10px 12px; min-width: 0 }
.course h3 { font-size: 15px; margin: 0 } .course p { margin: 2px 0 8px; color: var(--soft); font-size: 13px }
.course ol { margin: 0; padding-left: 24px; font-size: 13px }
.course li { margin: 0 0 6px; overflow-wrap: anywhere }
.course li.failed { color: var(--bad) }
code { font: 12px ui-monospace, 'DejaVu Sans Mono', monospace; background: var(--code); padding: 0 4px;
  border-radius: 3px }
.answer { margin: 10px 0 0 !important; color: var(--ink) !important; white-space: pre-wrap; overflow-wrap: anywhere }
.passed { color: var(--good) } .not-passed { color: var(--bad) }
"""
_TONES = {INK: "--ink", SOFT: "--soft", FAINT: "--line", PAPER: "--paper"}


def _pictures_in_the_dark() -> str:
    """A rule outweighs the attribute that it selects by."""
    rules = (
        f'svg [{what}="{tone}"] {{ {what}: var({name}) }}'
        for tone, name in _TONES.items()
        for what in ("fill", "stroke")
    )
    return f"@media (prefers-color-scheme: dark) {{ {' '.join(rules)} }}"


def page(title: str, lead: str, sections: Sequence[Section]) -> str:
    body = "\n".join(_section(section) for section in sections)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{escape(title)}</title>'
        f"<style>{STYLE}{_pictures_in_the_dark()}</style></head><body><main><h1>{escape(title)}</h1>"
        f'<p class="lead">{escape(lead)}</p>\n{body}\n</main></body></html>\n'
    )


def _section(section: Section) -> str:
    mark = ' class="warning"' if section.warning else ""
    parts = "\n".join(_part(part) for part in section.parts)
    return f"<section{mark}><h2>{escape(section.title)}</h2>\n{parts}</section>"


def _part(part: str | Grid | Picture | SideBySide) -> str:
    if isinstance(part, str):
        return f"<p>{escape(part)}</p>"
    if isinstance(part, Picture):
        return f"<figure>{part.drawing.svg()}<figcaption>{escape(part.caption)}</figcaption></figure>"
    return _grid(part) if isinstance(part, Grid) else _courses(part)


def _grid(grid: Grid) -> str:
    def cells(row: tuple[str, ...], tag: str) -> str:
        return "".join(
            f'<{tag} class="text">{escape(cell)}</{tag}>' if number in grid.texts else f"<{tag}>{escape(cell)}</{tag}>"
            for number, cell in enumerate(row)
        )

    rows = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in grid.rows)
    head = f"<thead><tr>{cells(grid.head, 'th')}</tr></thead>"
    return f'<div class="scroll"><table>{head}<tbody>{rows}</tbody></table></div>'


def _courses(found: SideBySide) -> str:
    head = f"<p><strong>{escape(found.dataset)}, question {escape(found.question)}.</strong> {escape(found.text)}</p>"
    return f'{head}<div class="courses">{"".join(map(_course, found.courses))}</div>'


def _course(course: Course) -> str:
    steps = "".join(
        f"<li{' class=failed' if line.failed else ''}><strong>{escape(line.title)}</strong> "
        f"{f'<code>{escape(line.tool)}</code>' if line.tool else ''} {escape(line.text)}</li>"
        for line in course.lines
    )
    mark = "passed" if course.passed else "not-passed"
    return (
        f'<div class="course"><h3>{escape(course.system)} <span class="{mark}">({escape(course.verdict)})</span></h3>'
        f'<p>{escape(course.summary)}</p><ol>{steps}</ol><p class="answer"><strong>Answer.</strong> '
        f"{escape(course.answer)}</p></div>"
    )
