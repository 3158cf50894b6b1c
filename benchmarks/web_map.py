"""The map of the web page at 20,000 objects: time to the first whole picture, page weight, time of a frame.

    python benchmarks/web_map.py [--json] [--objects 20000] [--runs 5]

Needs Chromium and playwright; Chromium runs headless, without a graphics card. The objects lie around the shipped
inventory's attributes as they do in a real state, in the state's own tables. First paint is from the start of the
navigation to the end of the frame that shows all objects, with nothing kept by the browser; the first visit makes the
server read the state, later ones do not. Weight is what travelled, compressed. Frames are drawn while it is panned.
On a machine that does other work the times say little: the load is told beside them.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from playwright.sync_api import Browser, sync_playwright
from report import report

from coset.identities.inventory import load_inventory
from coset.state import EvidenceState
from coset.state.queries import insert_arrow

AIM_SECONDS, AIM_BYTES = 2.0, 600_000
DIMENSIONS = 64
WORDS = ("customer", "order", "invoice", "product", "shipment", "ticket", "account", "payment", "region", "store",
         "device", "sensor", "patient", "visit", "course", "student", "employee", "contract", "price",
         "stock")  # fmt: skip
ENDS = ("id", "name", "code", "date", "status", "type", "amount", "count", "rate", "description", "city", "country",
        "email", "start", "end", "total", "score")  # fmt: skip
COMMAND = "from coset.surfaces.command_line import main; main()"
WEIGHT = """() => [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
    .reduce((sum, each) => sum + each.transferSize, 0)"""
PAN = """async frames => {
    const spent = [], plane = document.getElementById('plane'), started = performance.now();
    for (let n = 0; n < frames; n++) {
        move(n % 40 < 20 ? 6 : -6, n % 30 < 15 ? 4 : -4);
        await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
        spent.push(Number(plane.dataset.milliseconds));
    }
    return spent;
}"""


def fill(folder: Path, objects: int) -> None:
    """An environment whose state has so many objects with a role."""
    (folder / "rows.csv").write_text("a,b\n1,2\n")
    (folder / "coset.yaml").write_text("sources:\n  rows: {location: rows.csv}\n")
    generator, draw = random.Random(objects), np.random.default_rng(objects)
    ids = load_inventory(None).ids("attribute")
    centres = draw.normal(size=(len(ids), DIMENSIONS)) * 2
    plays = draw.integers(0, len(ids), objects)
    second = (plays + 1) % len(ids)
    embeddings = centres[plays] + draw.normal(size=(objects, DIMENSIONS)) * 0.6
    references = [
        f"{generator.choice(('crm', 'shop', 'billing', 'support'))}/public/{generator.choice(WORDS)}_{number // 20}."
        f"{generator.choice(WORDS)}_{generator.choice(ENDS)}_{number % 20}"
        for number in range(objects)
    ]
    flat = pa.array(embeddings.reshape(-1))
    lists = pa.ListArray.from_arrays(pa.array(np.arange(objects + 1) * DIMENSIONS, pa.int32()), flat)
    rows = pa.table(
        {
            "reference": references, "coordinate": ["attribute"] * objects, "is_table": [False] * objects,
            "digest": [""] * objects, "bank": [1] * objects, "identity": [ids[n] for n in plays],
            "membership": draw.uniform(0.3, 1, objects), "runner_up": [ids[n] for n in second],
            "runner_up_membership": draw.uniform(0, 0.3, objects), "radius": draw.uniform(0.05, 2, objects),
            "pinned": [False] * objects, "embedding": lists,
        }
    )  # fmt: skip
    prototypes = pa.Table.from_pylist(
        [
            {"bank": 1, "coordinate": "attribute", "position": n, "identity": each, "centre": centres[n].tolist(),
             "precision": [1.0] * DIMENSIONS, "support": 1.0, "interpolation": 0.5}
            for n, each in enumerate(ids)
        ]
    )  # fmt: skip
    with EvidenceState.open(folder / ".coset") as state:
        for name, table in (("memberships", rows), ("prototypes", prototypes)):
            insert_arrow(state, name, table)
        state.set_meta("identity_model", "generated")


def visit(browser: Browser, address: str, frames: int) -> tuple[float, int, list[float]]:
    """Seconds to the first picture, bytes that travelled, milliseconds of each frame while panning."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.goto(f"{address}map")
    page.wait_for_selector("#plane[data-painted]", timeout=120_000)
    painted = float(page.get_attribute("#plane", "data-painted") or 0) / 1000
    page.wait_for_load_state("networkidle")
    weight = int(page.evaluate(WEIGHT))
    spent = page.evaluate(PAN, frames) if frames else []
    context.close()
    return painted, weight, spent


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--objects", type=int, default=20_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        sys.exit("this needs chromium")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        fill(folder, asked.objects)
        server = subprocess.Popen(
            [sys.executable, "-c", COMMAND, "ui", "-e", str(folder), "--port", "0"], stderr=subprocess.PIPE, text=True
        )
        try:
            assert server.stderr is not None
            address = server.stderr.readline().split()[2]
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            first, weight, frames = visit(browser, address, 120)
            later = [visit(browser, address, 0)[0] for _ in range(asked.runs)]
            browser.close()
        finally:
            server.terminate()
            server.wait()
    frames.sort()
    median = statistics.median(later)
    report(
        f"web page: the map of {asked.objects:,} objects, headless Chromium",
        {
            "first paint, first visit, s": first,
            "first paint, median of later visits, s": median,
            "weight, compressed kB": weight / 1000,
            "frame while panning, median ms": statistics.median(frames),
            "frame while panning, 95 of 100 within ms": frames[int(0.95 * len(frames))],
            "load average": os.getloadavg()[0],
        },
        f"first paint under {AIM_SECONDS:g} s, under {AIM_BYTES // 1000} kB",
        max(first, median) < AIM_SECONDS and weight < AIM_BYTES,
    )


if __name__ == "__main__":
    main()
