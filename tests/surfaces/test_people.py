"""Many people on one server: tokens with names and rights, who asked and who said, health, and figures for Prometheus."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from starlette.testclient import TestClient

import coset
from api.mcp_processes import http_server
from api.server_processes import AT_MOST
from api.shop import copy_of
from coset.errors import CosetError, UserError
from coset.people import People, new_token
from coset.surfaces.command_line.serving import token_command
from coset.surfaces.metrics import Metrics
from coset.surfaces.web.application import make_application
from coset.surfaces.web.gate import right_needed
from coset.surfaces.web.pages import ROUTES
from coset.surfaces.web.site import Site

ANN, BOB, EVE = "the-token-of-ann-0", "the-token-of-bob-0", "the-token-of-eve-0"
FILE = """
people:
  ann: {token: "${ANN_TOKEN}", may: [look, ask, correct]}
  bob: {token: "${BOB_TOKEN}", may: [look]}
"""
HTTP = httpx2.Client(timeout=AT_MOST)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture(scope="module")
def own(shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = copy_of(shop, tmp_path_factory.mktemp("own"))
    (folder / "people.yaml").write_text(FILE)
    return folder


@pytest.fixture(scope="module")
def server(own: Path) -> Iterator[str]:
    with http_server(own, "--people", str(own / "people.yaml"), ANN_TOKEN=ANN, BOB_TOKEN=BOB) as (address, _):
        yield address


@asynccontextmanager
async def client_of(address: str, token: str):
    async with (
        httpx2.AsyncClient(headers=bearer(token), timeout=AT_MOST) as http,
        Client(streamable_http_client(address, http_client=http)) as client,
    ):
        yield client


def test_each_is_offered_what_they_may_use_and_refused_the_rest(server: str):
    async def run() -> None:
        async with client_of(server, ANN) as ann, client_of(server, BOB) as bob:
            everything = {tool.name for tool in (await ann.list_tools()).tools}
            looking = {tool.name for tool in (await bob.list_tools()).tools}
            assert everything - looking == {"ask", "teach", "correct", "read"} and {"view", "sql"} <= looking
            for name, arguments in (
                ("ask", {"question": "How many customers are there?"}),
                ("correct", {"about": "crm.customers", "note": "bob was here"}),
                ("teach", {"reference": "crm.customers.city", "role": ".name"}),
            ):
                refused = await bob.call_tool(name, arguments)
                assert refused.is_error and "bob may not use" in refused.content[0].text

    asyncio.run(run())


def test_who_asked_and_who_said_is_kept(server: str, own: Path):
    async def run() -> int:
        async with client_of(server, ANN) as ann:
            noted = await ann.call_tool("correct", {"about": "crm.customers", "note": "only active ones"})
            assert not noted.is_error, noted.content
            taught = await ann.call_tool("teach", {"reference": "crm.customers.city", "role": ".name"})
            assert not taught.is_error and taught.structured_content["statements"], taught.content
            asked = await ann.call_tool("ask", {"question": "How many customers are there?"})
            return int(asked.structured_content["run"])

    number = asyncio.run(run())
    said = (own / "coset.corrections.yaml").read_text()
    assert said.count("by: ann") == 2 and "bob" not in said and "'on': '20" in said
    with coset.open(own) as environment:
        run_of_ann = environment.run(number)
        assert run_of_ann.summary.by == "ann" and run_of_ann.options["by"] == "ann"
        environment.note("crm.customers", "said at the machine")
        assert environment.ask_offline("How many customers are there?").run
        assert environment.runs(1)[0].by is None


def test_without_a_token_that_is_somebodys_nothing_is_told(server: str):
    for headers in ({}, bearer("wrong"), bearer(EVE), {"Authorization": f"Basic {ANN}"}):
        for path in ("/mcp", "/metrics"):
            refused = HTTP.get(server.removesuffix("/mcp") + path, headers=headers)
            assert refused.status_code == 401 and "ann" not in refused.text and ANN not in refused.text


def test_health_needs_no_token_and_tells_nothing_of_the_data(server: str):
    found = HTTP.get(server.removesuffix("/mcp") + "/health")
    assert found.status_code == 200
    assert found.json() == {"status": "ok", "version": coset.__version__, "comprehended": True}


def test_figures_are_what_prometheus_reads(server: str):
    async def run() -> None:
        async with client_of(server, BOB) as bob:
            await bob.call_tool("sql", {"query": "SELECT count(*) FROM crm.customers"})
            assert (await bob.call_tool("sql", {"query": "SELECT * FROM nowhere.at_all"})).is_error

    asyncio.run(run())
    answer = HTTP.get(server.removesuffix("/mcp") + "/metrics", headers=bearer(BOB))
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    found = families(answer.text)
    assert found["coset_requests_total"][("kind", "sql"), ("outcome", "ok")] >= 1
    assert found["coset_requests_total"][("kind", "sql"), ("outcome", "failed")] >= 1
    assert found["coset_request_seconds_count"][(("kind", "sql"),)] >= 2
    assert found["coset_request_seconds_bucket"][("kind", "sql"), ("le", "+Inf")] >= 2
    assert found["coset_refused_total"][(("why", "token"),)] >= 1
    assert found["process_resident_memory_bytes"][()] > 50_000_000
    assert found["coset_state_published_timestamp_seconds"][()] > 1_600_000_000
    assert "customers" not in answer.text and "nowhere" not in answer.text


def families(text: str) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
    """What a scraper makes of it: by Prometheus' own parser where it is installed."""
    found: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
    try:
        from prometheus_client.parser import text_string_to_metric_families

        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                found.setdefault(sample.name, {})[tuple(sorted(sample.labels.items()))] = sample.value
    except ImportError:
        for line in text.splitlines():
            if not line.startswith("#"):
                name, labels, value = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line).groups()
                pairs = tuple(sorted(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or "")))
                found.setdefault(name, {})[pairs] = float(value)
    return found


def test_labels_cannot_break_out_of_their_line():
    metrics = Metrics()
    metrics.count("coset_refused_total", why='a "b"\nc\\')
    assert 'coset_refused_total{why="a \\"b\\"\\nc\\\\"} 1' in metrics.text().splitlines()


def test_taking_a_person_out_of_the_file_needs_no_restart(tmp_path: Path):
    first, digest = new_token()
    second, other = new_token()
    path = tmp_path / "people.yaml"
    path.write_text(
        f"people:\n  ann: {{token_sha256: {digest}, may: [look]}}\n  bob: {{token_sha256: {other}, may: [ask]}}\n"
    )
    people = People(path, tmp_path / "none.env")
    assert people.find(first).name == "ann" and people.find(second).may("ask") and people.find("other") is None
    path.write_text(f"people:\n  bob: {{token_sha256: {other}, may: [ask]}}\n")
    os.utime(path, ns=(1, 1))
    assert people.find(first) is None and people.named("ann") is None and people.find(second).name == "bob"
    path.unlink()
    with pytest.raises(CosetError, match="cannot be read"):
        people.find(second)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("people: {ann: {token: a-plain-token-in-a-file, may: [look]}}", "must be a reference"),
        ("people: {ann: {token_sha256: abc, may: [look]}}", "64 hexadecimal digits"),
        ("people: {ann: {may: [look]}}", "give either"),
        ("people: {ann: {token: '${ANN_TOKEN}', may: [everything]}}", "may"),
        ("people: {ann: {token: '${SHORT_TOKEN}', may: [look]}}", "too short"),
        ("people: {a: {token: '${ANN_TOKEN}', may: [look]}, b: {token: '${ANN_TOKEN}', may: [ask]}}", "same token"),
        ("people: {}", "people"),
        ("[", "no valid YAML"),
    ],
)
def test_a_mistake_in_the_file_is_told_without_a_token(monkeypatch, tmp_path: Path, text: str, told: str):
    monkeypatch.setenv("ANN_TOKEN", ANN)
    monkeypatch.setenv("SHORT_TOKEN", "short")
    path = tmp_path / "people.yaml"
    path.write_text(text)
    with pytest.raises(UserError, match=told) as error:
        People(path, tmp_path / "none.env")
    assert ANN not in str(error.value) and "a-plain-token" not in str(error.value)


def test_a_token_is_made_with_the_line_for_the_file(tmp_path: Path):
    made = CliRunner().invoke(token_command, ["ann", "--may", "look,correct"])
    token = re.search(r"^  (\S{40,})$", made.stderr, re.MULTILINE)[1]
    (tmp_path / "people.yaml").write_text("people:\n" + made.stdout)
    person = People(tmp_path / "people.yaml", tmp_path / "none.env").find(token)
    assert person.name == "ann" and person.rights == {"look", "correct"} and token not in made.stdout
    assert isinstance(CliRunner().invoke(token_command, ["ann", "--may", "all"]).exception, UserError)


def test_the_page_knows_its_people(monkeypatch, own: Path):
    monkeypatch.setenv("ANN_TOKEN", ANN)
    monkeypatch.setenv("BOB_TOKEN", BOB)
    with coset.open(own) as environment:
        people = People(own / "people.yaml", environment.configuration.secrets_file)
        application = make_application(Site(environment), people=people)
        with TestClient(application, base_url="http://127.0.0.1:8766", follow_redirects=False) as client:
            assert client.get("/health").json()["status"] == "ok"
            assert client.get("/metrics").status_code == 401
            assert client.post("/token", data={"token": EVE}).status_code == 403
            cookie = client.post("/token", data={"token": BOB}).headers["set-cookie"]
            assert BOB not in cookie and cookie.startswith("coset_ui=bob.")
            assert client.get("/").status_code == 200 and client.get("/metrics").status_code == 200
            refused = client.post("/teach", data={"form_token": "x"})
            assert refused.status_code == 403 and "bob may not do this: it needs the right 'correct'" in refused.text
            assert "needs the right 'ask'" in client.post("/ask", data={"q": "x"}).text
            client.cookies.clear()
            client.cookies.set("coset_ui", cookie.split(";")[0].partition("=")[2].replace("bob.", "ann."))
            assert client.get("/relations").status_code == 401  # a cookie that was changed is nobody's


def test_every_form_of_the_page_needs_a_right_beyond_looking_unless_it_changes_nothing():
    open_forms = {
        route.path for route in ROUTES if "POST" in route.methods and right_needed("POST", route.path) == "look"
    }
    assert open_forms == {"/question", "/sql", "/runs/{number:int}/replay"}
