"""Pictures of every page of `coset ui` at 1280 and 390 pixels: `python docs/page_screenshots.py ENVIRONMENT FOLDER`.

In: a comprehended environment (the demo's, for the names below) and where the pictures go. Out: `NAME-1280.png` and
`NAME-390.png`. A real server is started and ended. Needs Playwright and an installed Chromium.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

PAGES = {
    "overview": "/", "ask": "/question?q=Which customers use both products?", "tables": "/tables",
    "table": "/object?reference=beacon.orders", "joins": "/relations", "links": "/links", "documents": "/documents",
    "review": "/review", "sql": "/sql", "roles": "/identities", "quality": "/diagnostics", "map": "/map",
    "runs": "/runs", "refresh": "/refresh",
}  # fmt: skip
STATEMENT = "SELECT product, count(*) AS tickets FROM support.tickets GROUP BY 1 ORDER BY 1"
WIDTHS = (1280, 390)


def take(address: str, folder: Path) -> None:
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for width in WIDTHS:
            page = browser.new_page(base_url=address, viewport={"width": width, "height": 800})
            page.set_default_timeout(60_000)
            for name, path in PAGES.items():
                page.goto(path)
                page.wait_for_load_state("networkidle")
                if name == "sql":
                    page.locator(".editor .cm-content").click()
                    page.keyboard.type(STATEMENT)
                    page.keyboard.press("Escape")
                    page.keyboard.press("ControlOrMeta+Enter")
                    page.wait_for_selector("canvas[data-drawn]")
                page.screenshot(path=folder / f"{name}-{width}.png")
            page.close()
        browser.close()


def main() -> None:
    environment, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-c", "from coset.surfaces.command_line import main; main()"]
    server = subprocess.Popen(
        [*command, "ui", "-e", environment, "--port", "0"], stderr=subprocess.PIPE, text=True
    )  # fmt: skip
    try:
        said = server.stderr.readline() if server.stderr else ""
        take(said.removeprefix("serving on ").split()[0].rstrip("/"), folder)
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
