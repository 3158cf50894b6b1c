"""A stranger's path through `coset ui`: `python docs/strangers_path.py FOLDER [PICTURES]`.

In: an empty or absent folder. Out: a machine rental made there as own data, named with `coset init`, opened with
`coset ui`, and walked in a real browser from data that nobody has read to a join that was missing and a right answer.
Prints each step; with PICTURES, a screenshot after each. Needs Playwright and an installed Chromium.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from coset.demo.rental import write_rental

QUESTION = "How many payments do customers in Bergen have?"
SOURCES = ("crm=crm.sql", "erp=erp.sqlite", "fleet=fleet.duckdb", "service=service", "finance=finance")
COMMAND = [sys.executable, "-c", "from coset.surfaces.command_line import main; main()"]


def prepare(folder: Path) -> int:
    """Own data, and a `coset.yaml` that `coset init` wrote. The true answer, by the rows as they were made."""
    truth = next(each.truth for each in write_rental(folder).known if each.question == QUESTION)
    (folder / "coset.yaml").unlink()
    subprocess.run([*COMMAND, "init", *SOURCES], cwd=folder, check=True, capture_output=True)
    return int(truth)


def walk(page: Any, step: Callable[[str], None]) -> int:
    """Every click and every text that is typed, each told to `step` when it is done; the answer at the end."""
    page.goto("/")
    step("open the address that `coset ui` prints: nothing has been read yet")
    page.get_by_role("button", name="Read the sources").click()
    page.get_by_role("heading", name="Done in").wait_for()
    step("click Read the sources: progress is shown, then what was found")
    page.get_by_role("main").get_by_role("link", name="Ask", exact=True).click()
    page.get_by_label("What do you want to know?").fill(QUESTION)
    page.get_by_role("button", name="Answer it").click()
    page.get_by_role("heading", name="Not sure, so no answer").wait_for()
    step(f"click Ask, type “{QUESTION}” and click Answer it: it says what it lacks, and where to look")
    page.locator("li").filter(has=page.get_by_role("link", name="erp.zhl", exact=True)).get_by_role(
        "link", name="its joins"
    ).click()
    page.get_by_label("a column", exact=True).wait_for()
    step("click the joins of erp.zhl, the payments: none is known")
    page.get_by_label("a column", exact=True).fill("erp.zhl.beleg")
    page.get_by_label("the column that it joins").fill("erp.rgk.rgnr")
    page.get_by_role("button", name="Test and keep").click()
    page.locator("#kept").wait_for()
    step("name the two columns and click Test and keep: how they join is found, and how many rows match")
    page.get_by_role("button", name="Ask again").click()
    value = page.locator("p.value")
    value.wait_for()
    step("click Ask again: the answer, with the SQL behind it")
    answer = int(value.inner_text().replace(",", ""))
    page.get_by_role("button", name="the answer is right").click()
    page.get_by_text("a person confirmed it").wait_for()
    step("click Right: question and statement are kept for questions like it")
    return answer


def main() -> None:
    from playwright.sync_api import sync_playwright

    folder = Path(sys.argv[1])
    pictures = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    truth = prepare(folder)
    server = subprocess.Popen(
        [*COMMAND, "ui", "-e", str(folder), "--port", "0"], stderr=subprocess.PIPE, text=True
    )  # fmt: skip
    steps: list[str] = []
    try:
        said = server.stderr.readline() if server.stderr else ""
        chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            address = said.removeprefix("serving on ").split()[0].rstrip("/")
            page = browser.new_page(base_url=address, viewport={"width": 1280, "height": 900})
            page.set_default_timeout(300_000)

            def step(what: str) -> None:
                steps.append(what)
                print(f"{len(steps)}. {what}", flush=True)
                if pictures is not None:
                    pictures.mkdir(parents=True, exist_ok=True)
                    page.wait_for_load_state("networkidle")
                    page.screenshot(path=pictures / f"path-{len(steps)}.png")

            answer = walk(page, step)
            browser.close()
    finally:
        server.terminate()
        server.wait()
    print(f"{len(steps)} steps; the answer is {answer}, {'right' if answer == truth else f'but {truth} is true'}")
    sys.exit(answer != truth)


if __name__ == "__main__":
    main()
