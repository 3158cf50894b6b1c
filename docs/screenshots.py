"""Pictures that Chromium takes: the page of `coset map`, and a view as text on a page.

In: a comprehended environment and its router. Out: PNG files with few colours, each below 150 kB. Needs Playwright,
Pillow and an installed Chromium.
"""

from __future__ import annotations

import html
import shutil
from pathlib import Path

from coset.environment.configuration import Environment
from coset.identities.inventory import load_inventory
from coset.identities.picture import picture
from coset.routing.router import Router
from coset.routing.views.text import view_text
from coset.state import EvidenceState

VIEWED = "Which customers with open invoices wrote tickets about Atlas?"
VIEW_BUDGET = 1_100
LARGEST = 150_000
PAGE = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; padding: 18px 22px; background: #12161d; color: #dfe4ec; width: max-content; max-width: 1200px; }}
pre {{ margin: 0; font: 13px/1.5 ui-monospace, "DejaVu Sans Mono", monospace;
  white-space: pre-wrap; overflow-wrap: anywhere; }}
b {{ color: #8fbaff; font-weight: 600; }} i {{ color: #f0b46a; font-style: normal; }}
p {{ margin: 0 0 10px; font: 13px ui-monospace, monospace; color: #8d97a8; }}
</style><p>$ coset view "{question}" --budget {budget}</p><pre>{text}</pre>"""
SECTIONS = ("EVIDENCE VIEW", "SOURCES", "TABLE", "JOINS", "PASSAGE", "FOUND IN THE DATA", "LEFT OUT", "APART")


def take_screenshots(environment: Environment, router: Router, folder: Path) -> None:
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 760})
        page.set_content(map_page(environment))
        page.get_by_role("button", name="Customer (").click()
        page.wait_for_timeout(400)
        page.screenshot(path=folder / "map.png")
        page.set_content(view_page(router))
        page.locator("body").screenshot(path=folder / "view.png")
        browser.close()
    for name in ("map.png", "view.png"):
        _make_small(folder / name)


def map_page(environment: Environment) -> str:
    with EvidenceState.read(environment.state_folder) as state:
        return picture(state, load_inventory(environment.identities_file), "entity", "coset: the demo company")


def view_page(router: Router) -> str:
    lines = view_text(router.view(VIEWED, VIEW_BUDGET)).splitlines()
    return PAGE.format(question=html.escape(VIEWED), budget=VIEW_BUDGET, text="\n".join(map(_coloured, lines)))


def _coloured(line: str) -> str:
    shown = html.escape(line)
    for section in SECTIONS:
        if line.startswith(section):
            return f"<b>{section}</b>{shown[len(section) :]}"
    name, blank, rest = shown.lstrip().partition(" ")
    indent = shown[: len(shown) - len(shown.lstrip())]
    return f"{indent}<i>{name}</i>{blank}{rest}" if indent else shown


def _make_small(file: Path) -> None:
    """Few colours: screenshots of text and dots look the same, and are a third of the size."""
    from PIL import Image

    Image.open(file).convert("RGB").quantize(64, dither=Image.Dither.NONE).save(file, optimize=True)
    if file.stat().st_size > LARGEST:
        raise SystemExit(f"{file} has {file.stat().st_size:,} bytes, more than {LARGEST:,}")
