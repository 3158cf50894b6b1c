"""Every page shows what the commands say, as text, and a correction made on a page is kept and can be taken back."""

from __future__ import annotations

import html
import io
import json
import re
import threading
import time
import urllib.parse
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet
from starlette.testclient import TestClient

from answering.wire_servers import Say, Wire, call
from coset.answering.audit import RunRecorder
from coset.environment.configuration import load_environment
from coset.identities.picture import places
from coset.state import EvidenceState
from coset.state.listings import joins_of, quality_of
from coset.state.names import names_of
from surfaces.web.conftest import COLUMN, SCRIPT, open_client

QUESTION = "What is the list price of each product?"
ARTICLES = "beacon/articles"


def get(client: TestClient, address: str, **parameters: str) -> str:
    answer = client.get(address, params=parameters or None)
    assert answer.status_code == 200, re.sub(r"<[^>]+>", " ", answer.text)[-600:]
    return answer.text


def state_of(folder: Path) -> EvidenceState:
    return EvidenceState.read(load_environment(folder).state_folder)


def test_the_overview_counts_what_the_state_holds(client: TestClient, company: Path):
    page = get(client, "/")
    with state_of(company) as state:
        for table in ("tables", "columns", "relations"):
            assert f"<b>{state.count(table)}</b>" in page
        assert all(f"reference={row['source']}" in page for row in state.rows("SELECT source FROM sources"))
    assert "up to date" in get(client, "/freshness")


def test_the_overview_says_when_a_source_changed(own_company: Path):
    with open_client(own_company) as client:
        with (own_company / "odd" / "notes.csv").open("a") as file:
            file.write("99,more,more\n")
        page = get(client, "/freshness")
        assert "odd.notes" in page and "other content" in page
        (own_company / "odd" / "others.csv").write_text("a,b\n1,2\n")
        assert "odd/others" in get(client, "/freshness")


def test_an_environment_that_was_not_comprehended_says_what_to_do(tmp_path: Path):
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    (tmp_path / "coset.yaml").write_text("sources:\n  rows: {location: rows.csv}\n")
    with open_client(tmp_path) as client:
        page = get(client, "/")
        assert "coset comprehend" in page and "rows.csv" in page and 'href="/refresh"' in page
        empty = client.get("/map")
        assert empty.status_code == 400 and 'href="/refresh"' in empty.text
        assert "Refresh now" in get(client, "/refresh")
        refused = client.get("/map/data")
        assert refused.status_code == 400 and "coset comprehend" in refused.text


def test_the_question_page_shows_requirements_demand_anchors_and_the_view_within_its_budget(client: TestClient):
    page = get(client, "/question", q="How many tickets report error E42?", budget="1500")
    for part in ("Requirements", "Demand", "Anchors", "Left out", "support.tickets", "As a language model reads it"):
        assert part in page
    spent, budget = (
        int(number.replace(",", "")) for number in re.search(r"([\d,]+) of ([\d,]+) tokens", page).groups()
    )
    assert spent <= budget == 1500
    smaller = get(client, "/question/view", q="How many tickets report error E42?", budget="400")
    assert "<html" not in smaller
    assert len(re.findall("data-reference", smaller)) < len(re.findall("data-reference", page))


def test_a_question_without_words_and_a_wrong_budget_are_told_plainly(client: TestClient):
    assert client.get("/question/view", params={"q": ""}).status_code == 400
    assert "6,000 tokens" in get(client, "/question", q="customers", budget="many")
    assert "200 tokens" in get(client, "/question", q="customers", budget="1")
    assert client.get("/question", params={"q": "x" * 9_000}).status_code == 400


@pytest.mark.parametrize("coordinate", ["entity", "attribute"])
def test_the_map_has_every_object_where_the_picture_has_it(coordinate: str, client: TestClient, company: Path):
    assert f'data-coordinate="{coordinate}"' in get(client, "/map", coordinate=coordinate)
    data = json.loads(get(client, "/map/data", coordinate=coordinate))
    with state_of(company) as state:
        known, names = places(state, coordinate), names_of(state)  # type: ignore[arg-type]
    objects = data["objects"]
    assert objects["name"] == [names.in_sql(each) for each in known.references]
    assert tuple(data["identities"][number] for number in objects["identity"]) == known.identities
    assert objects["x"] == [round(1000 * x) for x in known.at[:, 0].tolist()]
    assert len(data["prototypes"]["x"]) == len(known.prototypes)
    assert client.get("/map/data", params={"coordinate": "nothing"}).status_code == 404


def test_identities_lead_to_their_members_with_support_opposition_and_competitors(client: TestClient):
    assert "customer.identifier" in get(client, "/identities")
    assert "invoice.status" in get(client, "/identities")
    assert "invoice.status" not in get(client, "/identities", find="buyer_id")
    role = get(client, "/identities/role", role="customer.identifier")
    assert "beacon.orders.buyer_id" in html.unescape(role.replace("<wbr>", ""))
    assert "Competitors" in role and "its name begins with" in role and "it holds text" in role
    assert "who buys, orders" in get(client, "/identities/entity", id="customer")
    assert "No object of this environment plays it" in get(client, "/identities/entity", id="crime")
    assert client.get("/identities/entity", params={"id": "nobody"}).status_code == 400
    assert client.get("/identities/role", params={"role": "crime.identifier"}).status_code == 404


def test_an_object_shows_what_is_known_and_why(client: TestClient):
    page = get(client, "/object", reference="orders.buyer_id")
    for part in ("beacon.orders.buyer_id", "distinct values", "stray characters", "For it", "Against it"):
        assert part in page
    table = get(client, "/object", reference="beacon/articles")
    assert "list_price_cents" in table and "primary key" in table
    assert "subscriptions" in get(client, "/object", reference="atlas")
    missing = client.get("/object", params={"reference": "nothing.here"})
    assert missing.status_code == 400 and "nothing known is called" in missing.text


def test_relations_and_diagnostics_list_what_the_commands_list(client: TestClient, company: Path):
    with state_of(company) as state:
        joins, dirt = joins_of(state), quality_of(state)
    page = get(client, "/relations")
    assert all(f'id="{join["id"]}"' in page for join in joins)
    assert page.count('class="join"') == len(joins)
    of_office = get(client, "/relations", about="office")
    assert 0 < of_office.count('class="join"') < len(joins)
    assert get(client, "/diagnostics").count("<tr><td>") == len(dirt)
    assert get(client, "/diagnostics", kind="mixed_case").count("<tr><td>") == sum(
        row["kind"] == "mixed_case" for row in dirt
    )


@pytest.mark.parametrize(
    "path", ["/", "/tables", "/relations", "/review", "/identities", "/diagnostics", "/object?reference=beacon.orders"]
)
def test_pages_call_things_as_sql_does(path: str, client: TestClient):
    text = html.unescape(re.sub(r"<[^>]*>", "", client.get(path).text))
    assert not re.findall(r"\b(?:atlas|beacon|office|support)/\w+", text)


def test_cells_names_and_descriptions_are_shown_as_text(client: TestClient, company: Path):
    """What could be a script is nowhere on a page but escaped."""
    with state_of(company) as state:
        column = next(
            row["reference"] for row in state.rows("SELECT reference FROM columns") if COLUMN in row["reference"]
        )
    pages = [
        get(client, "/"), get(client, "/identities"), get(client, "/object", reference=column),
        get(client, "/object", reference="odd/notes"), get(client, "/object", reference="odd"),
        get(client, "/question", q=f"Which notes say {SCRIPT}?", budget="4000"), get(client, "/diagnostics"),
    ]  # fmt: skip
    for page in pages:
        assert "<script>" not in page and "<img" not in page and "<b>bold" not in page
    assert html.escape(SCRIPT) in pages[3] and "&lt;img src=x" in pages[3]
    data = client.get("/map/data")
    assert data.headers["content-type"] == "application/json" and data.headers["x-content-type-options"] == "nosniff"


def form_of(page: str) -> dict[str, str]:
    return {"form_token": re.search(r'name="form_token" value="([^"]+)"', page)[1]}


def test_teaching_moves_the_role_and_the_view_and_can_be_taken_back(own_company: Path):
    with open_client(own_company) as client:
        page = get(client, "/object", reference=ARTICLES, q=QUESTION, budget="1500")
        before = re.search(r"Entity: <a[^>]*>(\w+)</a>", page)[1]
        wanted = "product" if before != "product" else "publication"
        said = {"reference": ARTICLES, "coordinate": "entity", "identity": wanted, "q": QUESTION, "budget": "1500"}
        answer = client.post("/teach", data={**form_of(page), **said})
        assert answer.status_code == 303
        moved = get(client, answer.headers["location"])
        assert "What moved" in moved and "changed:" in moved and "Entity: <a" in moved
        assert re.search(r"Entity: <a[^>]*>(\w+)</a>", moved)[1] == wanted
        assert "See the view" in moved and "1,500 tokens" in get(client, "/question", q=QUESTION, budget="1500")
        listed = get(client, "/taught")
        number = re.search(r'name="number" value="(\d+)"', listed)[1]
        back = client.post("/revoke", data={**form_of(listed), "number": number, "back": "taught"})
        assert "Taken back" in get(client, back.headers["location"])
        assert re.search(r"Entity: <a[^>]*>(\w+)</a>", get(client, "/object", reference=ARTICLES))[1] == before


def test_what_an_object_is_not_can_be_said_too(own_company: Path):
    with open_client(own_company) as client:
        page = get(client, "/object", reference=ARTICLES)
        before = re.search(r"Entity: <a[^>]*>(\w+)</a>", page)[1]
        said = {"reference": ARTICLES, "coordinate": "entity", "identity": before, "negative": "1"}
        moved = get(client, client.post("/teach", data={**form_of(page), **said}).headers["location"])
        assert f"is not <b>{before}</b>" in moved
        assert re.search(r"Entity: <a[^>]*>(\w+)</a>", moved)[1] != before
        wrong = client.post("/teach", data={**form_of(page), **said, "identity": "nonsense"})
        assert wrong.status_code == 400 and "is no entity of the inventory" in wrong.text


def until_over(client: TestClient, address: str) -> str:
    for _ in range(600):
        page = get(client, f"{address}/state")
        if "data-goes-on" not in page:
            return page
        time.sleep(0.1)
    raise AssertionError("it never ended")


def test_a_question_is_answered_without_a_model_with_its_sql(own_company: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("COSET_MODEL", raising=False)
    with open_client(own_company) as client:
        token = form_of(get(client, "/question"))
        asked = client.post("/ask", data={**token, "q": "How many tickets are there?"})
        assert asked.status_code == 303
        page = until_over(client, asked.headers["location"])
        assert "600" in page
        assert "SELECT" in page and "without a model" in page
        declined = until_over(
            client, client.post("/ask", data={**token, "q": "Why are unicorns blue?"}).headers["location"]
        )
        assert "Not sure" in declined
        assert client.post("/ask", data={**token, "q": " "}).status_code == 400
        assert client.get("/asked/999").status_code == 404
        assert "offline" in get(client, "/runs") and "declined" in get(client, "/runs")


def test_a_run_is_shown_with_the_sql_behind_it_and_can_be_run_again(own_company: Path):
    environment = load_environment(own_company)
    sql = "SELECT count(*) AS articles FROM beacon.articles"
    with RunRecorder(environment) as recorder:
        number = recorder.start(
            f"How many {SCRIPT}?", environment_version="x", mode="learned", models={"agent": "none"}, options={}
        )
        recorder.step("tool", {"tool": "sql", "sql": sql, "rows": 1, "seconds": 0.25})
        recorder.step("records", {"records": {"note": SCRIPT}})
        recorder.finish(
            "answered", {"value": 120, "text": "120", "sql": [sql], "columns": ["articles"], "rows": [[120]]}
        )
    with open_client(own_company) as client:
        assert f"/runs/{number}" in get(client, "/runs")
        page = get(client, f"/runs/{number}")
        assert "SELECT count(*) AS articles" in page and "The agent used sql" in page and "0.25 s" in page
        assert "<script>" not in page and html.escape(SCRIPT) in page
        again = client.post(f"/runs/{number}/replay", data=form_of(page))
        assert again.status_code == 200 and "The answer" in again.text
        assert client.get(f"/runs/{number + 7}").status_code == 400


def test_runs_and_reports_say_when_there_are_none(client: TestClient):
    assert "None was kept yet" in get(client, "/runs")
    assert "--reports" in get(client, "/reports")


def test_reports_are_listed_and_shown_where_they_can_do_nothing(company: Path, tmp_path: Path):
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "report.html").write_text(f"<h1>Figures</h1>{SCRIPT}")
    (tmp_path / "outside.html").write_text("secret")
    (tmp_path / "second").mkdir()
    (tmp_path / "second" / "report.html").symlink_to(tmp_path / "outside.html")
    with open_client(company, reports=tmp_path) as client:
        page = get(client, "/reports")
        assert "first" in page and "second" not in page
        shown = client.get("/reports/show", params={"name": "first"})
        assert "Figures" in shown.text and shown.headers["content-security-policy"].startswith("sandbox;")
        for name in ("second", "../outside.html", "first/../..", ""):
            assert client.get("/reports/show", params={"name": name}).status_code == 404


def test_a_page_that_is_not_there_says_so(client: TestClient):
    answer = client.get("/nowhere")
    assert answer.status_code == 404 and "There is no such page" in answer.text


def test_assets_can_be_kept_and_pages_cannot(client: TestClient):
    sheet = re.search(r'href="(/assets/style.css[^"]*)"', get(client, "/identities"))[1]
    assert "immutable" in client.get(sheet).headers["cache-control"]
    assert client.get("/identities").headers["cache-control"] == "no-store"
    assert client.get("/identities").headers["content-encoding"] == "gzip"


def test_a_model_that_is_set_is_asked_and_its_run_is_kept(own_company: Path, monkeypatch: pytest.MonkeyPatch):
    query = "SELECT count(*) AS n FROM beacon.articles"
    shape = {"meaning": "number of articles", "form": "value", "columns": ["n"]}
    script = [
        call("records", shape=shape, sql=query),
        call("answer", text="120", results=["result_1"], confidence=0.9),
    ]
    with Wire(*script) as wire, open_client(own_company) as client:
        monkeypatch.setenv("COSET_MODEL", wire.url)
        page = get(client, "/question")
        assert "Ask the model" in page
        asked = client.post("/ask", data={**form_of(page), "q": "How many articles are there?"})
        assert "/runs/1" in until_over(client, asked.headers["location"])
        run = get(client, "/runs/1")
        assert html.escape(query) in run and "120" in run


def test_a_question_can_be_called_off(own_company: Path, monkeypatch: pytest.MonkeyPatch):
    let_go = threading.Event()

    def thinking(request: dict[str, Any]) -> Say:
        let_go.wait(60)
        return call("answer", text="late", confidence=0.9)

    with Wire(thinking) as wire, open_client(own_company) as client:
        monkeypatch.setenv("COSET_MODEL", wire.url)
        token = form_of(get(client, "/question"))
        try:
            address = client.post("/ask", data={**token, "q": "How many articles are there?"}).headers["location"]
            assert "Call it off" in get(client, address)
            assert client.post(f"{address}/stop", data=token).status_code == 303
            assert "it was called off" in until_over(client, address)
        finally:
            let_go.set()


def test_tables_are_found_by_name_and_show_their_first_rows(client: TestClient):
    page = get(client, "/tables", find="invoices")
    assert "atlas.<wbr>invoices" in page and "tickets" not in page
    rows = get(client, "/tables/rows", reference="atlas.invoices")
    assert rows.count("<tr>") == 21 and "SELECT" not in rows
    assert "First rows" in get(client, "/object", reference="atlas.invoices")
    assert SCRIPT not in get(client, "/tables/rows", reference="odd/notes")


def test_a_doubt_is_settled_with_one_button_and_taken_back(own_company: Path):
    with open_client(own_company) as client:
        page = get(client, "/review")
        token = form_of(page)
        join = {"kind": "join", "about": "beacon.buyers.buyer_id", "other": "atlas/main/customers.customer_id"}
        assert client.post("/review", data={**token, **join, "rejected": "1"}).status_code == 303
        after = get(client, "/review")
        assert "does not join" in after and "beacon.buyers.buyer_id does not join" in after
        assert client.post("/review", data={**join}).status_code == 403, "a form of another page"
        assert client.post("/review/withdraw", data={**token, "kind": "join", "place": "0"}).status_code == 303
        assert "does not join" not in get(client, "/review")
        reading = {"kind": "reading", "about": "beacon/orders", "name": "web order", "back": "//evil.example"}
        answer = client.post("/review", data={**token, **reading})
        assert answer.headers["location"] == "/review"
        assert "beacon.orders is: web order" in get(client, "/review")


def test_a_missing_join_is_tested_at_once_and_a_wrong_name_keeps_what_was_written(own_company: Path):
    with open_client(own_company) as client:
        token = form_of(get(client, "/relations"))
        join = {"left": "beacon.orders.buyer_id", "right": "atlas.customers.customr_id"}
        wrong = client.post("/relations", data={**token, **join})
        assert (
            wrong.status_code == 400 and "customer_id" in wrong.text and 'value="beacon.orders.buyer_id"' in wrong.text
        )
        kept = client.post("/relations", data={**token, **join, "right": "atlas.customers.customer_id"})
        assert kept.status_code == 303 and token["form_token"] not in kept.headers["location"]
        page = client.get(kept.headers["location"]).text
        assert "of the rows on the left find a partner" in page and "accepted" in page
        assert "joins atlas.customers.customer_id" in get(client, "/review")
        assert client.post("/relations", data=join).status_code == 403, "a form of another page"


def test_a_statement_runs_on_its_page_and_its_rows_can_be_taken_away(client: TestClient):
    token = form_of(get(client, "/sql", statement="SELECT 1"))
    statement = "SELECT count(*) AS n FROM beacon.articles"
    ran = client.post("/sql", data={**token, "statement": statement})
    assert ran.status_code == 303 and re.fullmatch(r"/sql/\d+", ran.headers["location"])
    page = get(client, ran.headers["location"])
    assert "1 row<" in page and html.escape(statement) in page
    rows = client.get(f"{ran.headers['location']}/rows.csv")
    assert rows.headers["content-type"].startswith("text/csv") and rows.text.split() == ["n", "120"]
    taken = parquet.read_table(io.BytesIO(client.get(f"{ran.headers['location']}/rows.parquet").content))
    assert taken.to_pydict() == {"n": [120]}
    assert client.get(f"{ran.headers['location']}/rows.exe").status_code == 404
    assert client.get("/sql/99999").status_code == 404
    wrong = client.post("/sql", data={**token, "statement": "SELECT x FROM beacon.artcles"})
    assert wrong.status_code == 400 and "did you mean" in wrong.text and "beacon.artcles" in wrong.text


def test_rows_come_by_pages_and_as_a_part_of_another_page(client: TestClient):
    token = form_of(get(client, "/sql"))
    statement = "SELECT * FROM atlas.invoices ORDER BY ALL"
    part = client.post("/sql", data={**token, "statement": statement}, headers={"x-part": "1"})
    assert part.status_code == 200 and "<html" not in part.text and part.text.count("<tr>") == 51
    number = re.search(r'data-number="(\d+)"', part.text)[1]
    second = get(client, f"/sql/{number}", page="2")
    assert "page 2 of 12" in second and second.count("<tr>") == 51
    assert "page 12 of 12" in get(client, f"/sql/{number}", page="4000")


def test_names_are_there_to_complete_a_statement(client: TestClient):
    names = json.loads(get(client, "/sql/names"))
    assert "list_price_cents" in names["beacon"]["articles"] and "tickets" in names["support"]


def test_an_empty_question_keeps_the_form_and_a_form_token_is_never_in_an_address(client: TestClient):
    token = form_of(get(client, "/question"))
    empty = client.post("/ask", data={**token, "q": " ", "budget": "900"})
    assert empty.status_code == 400 and 'name="q"' in empty.text and "the question is empty" in empty.text
    assert 'value="900"' in empty.text
    shown = client.post("/question", data={**token, "q": "customers & co", "budget": "900"})
    assert shown.status_code == 303 and shown.headers["location"] == "/question?q=customers+%26+co&budget=900"
    for address in ("/question", "/question?q=customers", "/sql", "/review", "/object?reference=beacon/articles"):
        page = get(client, address)
        assert not re.search(r'formmethod="get"', page)
        for form in re.findall(r"<form.*?</form>", page, re.DOTALL):
            assert "form_token" not in form or 'method="post"' in form.partition(">")[0]


def test_a_right_answer_becomes_a_confirmed_question_and_can_be_taken_back(own_company: Path):
    with open_client(own_company) as client:
        token = form_of(get(client, "/question"))
        address = client.post("/ask", data={**token, "q": "How many tickets are there?"}).headers["location"]
        run = re.search(r"/runs/(\d+)/judge", until_over(client, address))[1]
        said = client.post(f"/runs/{run}/judge", data={**token, "verdict": "right", "back": address})
        assert said.headers["location"] == address and "a person confirmed it" in get(client, address)
        kept = (own_company / "coset.corrections.yaml").read_text()
        assert "How many tickets are there?" in kept and "SELECT" in kept
        assert "confirmed" in get(client, "/question") and "confirmed" in get(client, "/runs")
        client.post(f"/runs/{run}/judge", data={**token, "verdict": "wrong", "needs": "support.tickets, beacon.orders"})
        kept = (own_company / "coset.corrections.yaml").read_text()
        assert "SELECT" not in kept and "support/tickets" in kept and "beacon/orders" in kept
        assert client.post(f"/runs/{run}/judge", data={"verdict": "right"}).status_code == 403


def test_a_refresh_shows_how_far_it_is_and_what_it_read(own_company: Path):
    with open_client(own_company) as client:
        token = form_of(get(client, "/refresh"))
        with (own_company / "odd" / "notes.csv").open("a") as file:
            file.write("99,more,more\n")
        assert client.post("/refresh", data=token).headers["location"] == "/refresh"
        assert "data-goes-on" in get(client, "/refresh")
        assert client.get("/tables").status_code == 200, "pages do not wait for it"
        done = until_over(client, "/refresh")
        assert "Done in" in done and "1 of" in done
        assert "up to date" in get(client, "/freshness")


def test_documents_are_shown_with_their_rules_and_what_they_name(client: TestClient):
    assert "policy.md" in get(client, "/documents")
    name = re.search(r'/documents/show\?name=([^"]+policy\.md)"', get(client, "/documents"))
    page = get(client, "/documents/show", name=urllib.parse.unquote(name[1]))
    assert "Rule (" in page and "names " in page
    assert client.get("/documents/show", params={"name": "nonesuch.md"}).status_code == 400
