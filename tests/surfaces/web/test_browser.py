"""The page in a real browser: every page, every interaction, by mouse and by keyboard, in light and dark."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from surfaces.web.conftest import COLUMN, SCRIPT, ui_server

pytest.importorskip("playwright", reason="needs playwright")
from playwright.sync_api import Browser, Page, expect, sync_playwright

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
DOCUMENT = Path(__file__).parents[3] / "docs" / "ui.md"
QUESTION = "What is the list price of each product?"
PAGES = ("/", f"/question?q={QUESTION}", "/map", "/identities", "/identities/role?role=customer.identifier",
         "/identities/entity?id=customer", "/object?reference=beacon/articles", "/object?reference=orders.buyer_id",
         "/relations", "/diagnostics", "/runs", "/reports", "/taught", "/tables", "/documents", "/review",
         "/sql", "/links", "/refresh")  # fmt: skip
AXE = Path(__file__).parent / "axe" / "axe.min.js"
AT_MOST = 60_000


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def address(company: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of its own company: these tests teach it."""
    folder = shutil.copytree(company, tmp_path_factory.mktemp("browser") / "demo")
    with ui_server(folder) as address:
        yield address


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """A page at the usual size of a laptop; what goes wrong in it fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, base_url=address)
    context.set_default_timeout(AT_MOST)
    expect.set_options(timeout=AT_MOST)
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    yield page
    context.close()
    assert not wrong


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_fits_a_laptop_and_keeps_to_itself(scheme: str, page: Page, address: str):
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for path in PAGES if scheme == "light" else PAGES[:3]:
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        page.set_viewport_size({"width": 390, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{path} on a telephone"
        page.set_viewport_size({"width": 1280, "height": 800})
        shade = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (int(re.findall(r"\d+", shade)[0]) > 128) == (scheme == "light")
    page.wait_for_load_state("networkidle")
    assert asked and all(url.startswith(address) for url in asked)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_a_serious_fault_of_access(scheme: str, browser: Browser, address: str):
    """Contrast, names, roles, focus: what axe calls serious or critical."""
    context = browser.new_context(base_url=address, color_scheme=scheme, bypass_csp=True)  # type: ignore[arg-type]
    context.set_default_timeout(AT_MOST)
    page = context.new_page()
    wrong = []

    def decline() -> None:
        page.goto("/question?q=Why are unicorns blue?")
        page.get_by_role("button", name="Answer it").click()
        expect(page.get_by_role("heading", name="Not sure, so no answer")).to_be_visible()

    def keep_a_join() -> None:
        page.goto("/relations?about=beacon.orders")
        page.get_by_label("a column", exact=True).fill("beacon.orders.buyer_id")
        page.get_by_label("the column that it joins").fill("atlas.customers.customer_id")
        page.get_by_text("how", exact=True).last.click()
        page.get_by_role("button", name="Test and keep").click()
        expect(page.locator("#kept")).to_contain_text("Kept")

    def mistake_a_join() -> None:
        page.goto("/relations")
        page.get_by_label("a column", exact=True).fill("beacon.orders.nothing")
        page.get_by_label("the column that it joins").fill("atlas.customers.customer_id")
        page.get_by_role("button", name="Test and keep").click()
        expect(page.get_by_role("alert")).to_be_visible()

    for number, path in enumerate((*PAGES, decline, keep_a_join, mistake_a_join)):
        page.set_viewport_size({"width": 390 if number % 2 else 1280, "height": 800})
        if callable(path):
            path()
        else:
            page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        page.evaluate(AXE.read_text())
        found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        wrong += [
            (str(path), each["id"], each["nodes"][0]["html"][:200])
            for each in found["violations"]
            if each["impact"] in ("serious", "critical")
        ]
    context.close()
    assert not wrong


def test_a_statement_is_completed_run_charted_and_turned_over(page: Page):
    page.goto("/sql")
    editor = page.locator(".editor .cm-content")
    editor.click()
    page.keyboard.type("SELECT kind_of, count(*) AS n FROM beacon.art")
    expect(page.locator(".editor [role=option]").filter(has_text="articles")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.press("Delete")
    page.keyboard.type("SELECT product, count(*) AS n FROM support.tickets GROUP BY 1 ORDER BY 1")
    page.keyboard.press("Escape")
    page.keyboard.press("ControlOrMeta+Enter")
    expect(page.locator("canvas[data-drawn]")).to_be_visible()
    expect(page.get_by_role("cell", name="Beacon")).to_be_visible()
    assert re.search(r"/sql/\d+$", page.url)
    page.reload()
    expect(page.get_by_role("cell", name="Beacon")).to_be_visible()


def test_the_statement_behind_an_answer_is_changed_and_run_again_beside_it(page: Page):
    page.goto("/question?q=How many tickets are there?")
    page.get_by_role("button", name="Answer it").click()
    expect(page.locator(".value")).to_have_text(re.compile("600"))
    expect(page.get_by_role("heading", name="Evidence")).to_be_visible()
    page.locator(".editor .cm-content").click()
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.press("Delete")
    page.keyboard.type("SELECT 41 + 1 AS other")
    page.get_by_role("button", name="Run again").click()
    expect(page.locator("[data-result]").get_by_role("cell", name="42")).to_be_visible()
    assert "/asked/" in page.url
    page.get_by_role("button", name="the answer is right").click()
    expect(page.get_by_text("a person confirmed it")).to_be_visible()


def test_doubts_are_settled_by_keys_and_taken_back(page: Page):
    page.goto("/review")
    cards = page.locator("[data-doubt]")
    if cards.count() == 0:
        pytest.skip("the demo company leaves nothing in doubt")
    before = int(page.locator("#waiting").inner_text().replace(",", ""))
    expect(cards.first).to_have_class(re.compile("at"))
    page.keyboard.press("n")
    expect(page.locator("#waiting")).to_have_text(str(before - 1))
    page.keyboard.press("u")
    expect(page.locator("#waiting")).to_have_text(str(before))


def test_a_join_is_rejected_where_it_is_listed(page: Page):
    page.goto("/relations?about=beacon.orders")
    row = page.locator("tbody tr").filter(has=page.get_by_role("button", name=re.compile("^reject"))).first
    place = row.get_attribute("id")
    row.get_by_role("button", name=re.compile("^reject")).click()
    expect(page.locator("#kept")).to_contain_text("Rejected")
    expect(page.locator(f"tr[id='{place}']")).to_have_count(0)


def test_a_missing_join_is_said_tested_and_shown(page: Page):
    page.goto("/relations")
    page.get_by_label("a column", exact=True).fill("beacon.orders.buyer_id")
    page.get_by_label("the column that it joins").fill("atlas.customers.customer_id")
    page.get_by_role("button", name="Test and keep").click()
    expect(page.locator("#kept")).to_contain_text("of the rows on the left find a partner")
    expect(page.locator("tbody")).to_contain_text("accepted")
    assert "form_token" not in page.url
    page.get_by_label("a column", exact=True).fill("support.tickets.body")
    page.get_by_label("the column that it joins").fill("atlas.customers.customer_id")
    page.get_by_label("how they join").evaluate("each => each.closest('details').open = true")
    page.get_by_label("how they join").fill("left(body, 1) = customer_id")
    page.get_by_role("button", name="Test and keep").click()
    expect(page.locator("#kept")).to_contain_text("No value agrees")


def test_a_value_that_is_a_script_runs_on_no_page(page: Page):
    for path in ("/", "/question?q=Which notes are there?", "/identities?find=odd"):
        page.goto(path)
        assert page.evaluate("window.pwned") is None
    page.goto("/object?reference=odd/notes")
    expect(page.get_by_text(SCRIPT).first).to_be_visible()
    page.get_by_role("link", name=COLUMN).first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("onerror")
    page.goto("/map")
    page.wait_for_selector("#plane[data-painted]")
    page.fill("#find", "onerror")
    expect(page.locator("#found li")).to_have_count(1)
    assert page.evaluate("window.pwned") is None


def test_the_view_follows_the_budget_by_keyboard(page: Page):
    page.goto(f"/question?q={QUESTION}&budget=3000")
    many = page.locator("#view [data-reference]").count()
    page.focus("#budget")
    with page.expect_response(re.compile(r"/question/view.*budget=200")):
        page.keyboard.press("Home")
    expect(page.locator("#view .row span")).to_have_text(re.compile(r"^\d+ of 200 tokens"))
    few = page.locator("#view [data-reference]").count()
    assert few < many
    with page.expect_response(re.compile(r"/question/view.*budget=300")):
        page.keyboard.press("ArrowRight")
    expect(page.locator("#budget-told")).to_have_text("300 tokens")
    expect(page.locator("#view .row span")).to_have_text(re.compile("of 300 tokens"))
    assert "budget=300" in page.url


def test_a_slash_goes_to_the_question_and_the_view_follows_the_words(page: Page):
    page.goto("/diagnostics")
    page.keyboard.press("/")
    page.keyboard.type("How many tickets report error E42?")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/question"), wait_until="load")  # Its scripts are there, and the key is heard.
    expect(page.locator("#view")).to_contain_text("support.tickets")
    page.keyboard.press("/")
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type("Which plans are there?")
    expect(page.locator("#view")).to_contain_text("office.plans")
    expect(page.locator("#told")).to_contain_text(re.compile("came|the same evidence"))


def test_the_first_tab_skips_to_the_content(page: Page):
    page.goto("/identities")
    page.keyboard.press("Tab")
    expect(page.locator("a.skip")).to_be_focused()
    page.keyboard.press("Enter")
    assert page.url.endswith("#content")


def test_a_question_is_answered_on_its_page(page: Page):
    page.goto("/question?q=How many tickets are there?")
    page.get_by_role("button", name="Answer it").click()
    expect(page.locator(".value")).to_have_text(re.compile("600"))
    expect(page.locator(".editor .cm-content")).to_contain_text("SELECT")


def test_the_map_moves_zooms_tells_and_opens(page: Page):
    page.goto("/map?coordinate=entity")
    page.wait_for_selector("#plane[data-painted]")
    frames = "Number(document.getElementById('plane').dataset.frames)"
    place = page.evaluate("[X(objects.x[0]), Y(objects.y[0])]")
    box = page.locator("#plane").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + place[0], box["y"] + place[1])
    expect(page.locator("#tip")).to_be_visible()
    named = page.evaluate("objects.name[hovered]")
    expect(page.locator("#tip b")).to_have_text(named)
    page.mouse.down()
    page.mouse.up()
    expect(page.locator("#detail h2")).to_have_text(named)
    expect(page.locator("#detail")).to_contain_text("radius")
    before = page.evaluate("({...look})")
    page.mouse.wheel(0, -300)
    page.wait_for_function("before => look.scale > before.scale", arg=before)
    page.mouse.move(box["x"] + 300, box["y"] + 500)
    page.mouse.down()
    page.mouse.move(box["x"] + 380, box["y"] + 460, steps=4)
    page.mouse.up()
    moved = page.evaluate("({...look})")
    page.focus("#plane")
    drawn = page.evaluate(frames)
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(f"moved => look.left === moved.left + 48 && {frames} > {drawn}", arg=moved)
    page.keyboard.press("0")
    page.wait_for_function("look.scale === look.fit")
    page.locator("#identities button").first.click()
    expect(page.locator("#identities button").first).to_have_attribute("aria-pressed", "true")
    page.get_by_role("link", name="Open it").click()
    expect(page.get_by_role("heading", name="Members")).to_be_visible()


def test_an_object_is_found_on_the_map_by_keyboard(page: Page):
    page.goto("/map")
    page.wait_for_selector("#plane[data-painted]")
    page.focus("#find")
    page.keyboard.type("orders.buyer_id")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#detail h2")).to_have_text("beacon.orders.buyer_id")
    page.focus("#plane")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/object\?reference="))


def test_a_join_of_the_drawing_leads_to_its_line(page: Page):
    page.goto("/relations")
    page.locator("#graph [data-table='beacon/orders']").hover()
    expect(page.locator("#graph.looks a.join.on").first).to_be_attached()
    join = page.locator("#graph a.join").first
    target = join.get_attribute("href")
    join.focus()
    page.keyboard.press("Enter")
    expect(page.locator(f"tr{target}")).to_be_in_viewport()
    page.locator("#graph").get_by_text("articles", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("beacon.articles")


def test_a_stranger_corrects_an_identity_and_sees_the_view_change_in_five_clicks_or_fewer(page: Page):
    """The path in docs/ui.md."""
    written = DOCUMENT.read_text()
    assert QUESTION in written
    clicks = 0

    def click(what: str, place: object) -> None:
        nonlocal clicks
        assert f"**{what}**" in written, what
        clicks += 1
        place.click()  # type: ignore[attr-defined]

    page.goto("/")
    click("Ask the data", page.get_by_placeholder("Ask the data"))
    page.keyboard.type(QUESTION)
    page.keyboard.press("Enter")
    click("beacon.articles", page.get_by_role("link", name="beacon.articles"))
    entity = page.locator("#entity")
    before = entity.get_by_role("heading", level=2).get_by_role("link").inner_text()
    wanted = "product" if before != "product" else "publication"
    click("or another entity", entity.get_by_placeholder("or another entity"))
    page.keyboard.type(wanted)
    click("Teach", entity.get_by_role("button", name="Teach"))
    expect(page.locator("#moved")).to_contain_text("What moved")
    expect(page.locator("#moved .diff .come").filter(has_text=wanted).first).to_be_visible()
    click("See the view", page.get_by_role("link", name="See the view"))
    expect(page.locator("#view")).to_contain_text(wanted)
    assert clicks <= 5
    page.get_by_role("link", name="beacon.articles").click()
    page.get_by_role("button", name="Take back").click()
    expect(page.locator("#moved")).to_contain_text("Taken back")
    expect(page.locator("#entity h2")).to_contain_text(before)


def test_beyond_this_machine_the_page_asks_for_its_token(browser: Browser, company: Path):
    with ui_server(company, "--host", "0.0.0.0", COSET_UI_TOKEN="a-token-of-some-length") as address:
        context = browser.new_context(base_url=address.replace("0.0.0.0", "127.0.0.1"))
        page = context.new_page()
        page.goto("/identities")
        page.fill("input[name=token]", "a-token-of-some-length")
        page.get_by_role("button", name="Open").click()
        expect(page.get_by_role("heading", name="Roles", level=1)).to_be_visible()
        context.close()
