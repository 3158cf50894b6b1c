"""Who may not come in: other names, other pages, forms without the token of the page, strangers beyond this machine."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from coset.errors import UserError
from coset.surfaces.command_line import COMMANDS
from coset.surfaces.command_line.serving import ui_command
from coset.surfaces.http_server import check_exposure
from surfaces.web.conftest import ADDRESS, open_client

TOKEN = "a-token-of-some-length"
HOST = ADDRESS.removeprefix("http://")


class _Tags(HTMLParser):
    """The tags of a page with the names of their attributes, as a browser reads them."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, set[str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, {name for name, _ in attrs}))


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8766", "127.0.0.1.evil.example", "", "localhost.evil"])
def test_a_name_that_was_bent_to_this_machine_is_refused(host: str, client: TestClient):
    assert client.get("/", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("host", ["127.0.0.1:8766", "localhost", "localhost:9", "[::1]:8766"])
def test_names_of_this_machine_are_taken(host: str, client: TestClient):
    assert client.get("/runs", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:9999", "http://localhost:8766"])
def test_a_request_that_another_page_makes_is_refused(origin: str, client: TestClient):
    assert client.get("/question/view?q=customers", headers={"origin": origin}).status_code == 403
    assert client.post("/teach", headers={"origin": origin}).status_code == 403


def test_requests_of_its_own_pages_and_links_from_elsewhere_are_taken(client: TestClient):
    assert client.get("/runs", headers={"origin": ADDRESS, "sec-fetch-site": "same-origin"}).status_code == 200
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert client.get("/runs", headers=link).status_code == 200
    for site in ("cross-site", "same-site"):
        assert client.get("/map/data", headers={"sec-fetch-site": site, "sec-fetch-mode": "no-cors"}).status_code == 403
    assert client.get("/runs", headers={**link, "sec-fetch-dest": "iframe"}).status_code == 403
    assert client.post("/ask", headers=link).status_code == 403


@pytest.mark.parametrize("address", ["/teach", "/revoke", "/ask", "/asked/1/stop", "/runs/1/replay"])
def test_a_form_without_the_token_of_its_page_changes_nothing(address: str, client: TestClient):
    assert client.post(address, data={"q": "x", "number": "1"}).status_code == 403
    assert client.post(address, data={"form_token": "guessed"}).status_code == 403
    assert client.post(address, json={"form_token": "x"}).status_code == 415
    assert client.post(address, data={"form_token": "x" * 100_000}).status_code == 413
    assert client.get(address).status_code in {404, 405}


def test_every_answer_has_a_policy_that_runs_no_foreign_script(client: TestClient):
    for address in ("/", "/map", "/nowhere", "/assets/page.js", "/map/data"):
        answer = client.get(address)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
        assert answer.headers["referrer-policy"] == "same-origin"
    tags = _Tags()
    tags.feed(client.get("/question?q=customers").text)
    assert tags.seen
    for tag, attributes in tags.seen:  # What a column is called stands in the text, where it does nothing.
        assert tag != "style" and (tag != "script" or "src" in attributes)
        assert not [name for name in attributes if name.startswith("on") or name == "style"]


def test_nothing_on_a_page_leads_to_another_server(client: TestClient):
    for address in ("/", "/map", "/question", "/relations"):
        text = client.get(address).text
        assert not re.search(r'(?:src|href|action)="(?:https?:)?//', text)


def test_beyond_this_machine_a_token_is_asked_for(company: Path):
    with open_client(company, token=TOKEN) as client:
        page = {"accept": "text/html"}
        asked = client.get("/identities?find=a", headers=page)
        assert asked.status_code == 303 and asked.headers["location"].startswith("/token?next=")
        assert client.get("/map/data").status_code == 401
        assert client.get("/runs", headers={"authorization": f"Bearer {TOKEN}x"}).status_code == 401
        assert client.get("/runs", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
        assert "token" in client.get("/token").text
        assert client.post("/token", data={"token": "wrong"}).status_code == 403
        opened = client.post(asked.headers["location"], data={"token": TOKEN})
        assert opened.status_code == 303 and opened.headers["location"] == "/identities?find=a"
        cookie = opened.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=strict" in cookie and TOKEN not in cookie
        assert client.get("/identities", headers=page).status_code == 200
        elsewhere = client.post("/token?next=//evil.example/", data={"token": TOKEN})
        assert elsewhere.headers["location"] == "/"


def test_it_does_not_listen_beyond_this_machine_without_a_token():
    from coset.surfaces.web.application import TOKEN_VARIABLE

    for host in ("0.0.0.0", "192.168.1.5", "::"):
        with pytest.raises(UserError, match=TOKEN_VARIABLE):
            check_exposure(host, None, TOKEN_VARIABLE, "the page asks for")
    with pytest.raises(UserError, match="too short"):
        check_exposure("0.0.0.0", "short", TOKEN_VARIABLE, "the page asks for")
    check_exposure("127.0.0.1", None, TOKEN_VARIABLE, "the page asks for")


def test_a_missing_part_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch, company: Path):
    loaded = ("coset.surfaces.web", "coset.surfaces.http_server")
    for name in [name for name in sys.modules if name.startswith(loaded)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    answer = CliRunner().invoke(ui_command, ["-e", str(company)])
    assert "pip install 'coset[ui]'" in str(answer.exception)
    assert "ui" in COMMANDS


def test_a_folder_of_reports_that_is_none_is_a_mistake(company: Path):
    answer = CliRunner().invoke(ui_command, ["-e", str(company), "--reports", str(company / "nowhere")])
    assert isinstance(answer.exception, UserError)
