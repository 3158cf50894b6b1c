"""The path of docs/ui.md in a real browser: from data that nobody has read to a missing join and a right answer."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import pytest

from surfaces.web.conftest import ui_server

playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DOCS = Path(__file__).parents[3] / "docs"
pytestmark = [pytest.mark.long, pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")]


def test_a_stranger_gets_from_own_data_to_a_corrected_join_and_a_right_answer(tmp_path: Path):
    spec = importlib.util.spec_from_file_location("strangers_path", DOCS / "strangers_path.py")
    assert spec is not None and spec.loader is not None
    path = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(path)
    truth = path.prepare(tmp_path / "company")
    steps: list[str] = []
    with ui_server(tmp_path / "company") as address, playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(base_url=address, viewport={"width": 1280, "height": 900})
        page.set_default_timeout(300_000)
        addresses: list[str] = []
        page.on("request", lambda request: addresses.append(request.url))
        assert path.walk(page, steps.append) == truth
        browser.close()
    assert len(steps) == 7 and f"{truth} is true" in (DOCS / "ui.md").read_text(encoding="utf-8")
    assert not [each for each in addresses if "form_token" in each]
    said = (tmp_path / "company" / "coset.corrections.yaml").read_text(encoding="utf-8")
    assert "erp/zhl.beleg" in said and path.QUESTION in said
