"""One small company, comprehended once for all tests of the web page, with a source in it that tries to be HTML."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import coset
from api.server_processes import serving
from coset.demo import make_company, prepare_folder
from coset.surfaces.web.application import make_application
from coset.surfaces.web.site import Site
from made_once import MadeOnce

SCRIPT = "<script>window.pwned = 1</script>"
COLUMN = "<img src=x onerror=window.pwned=2>"
ADDRESS = "http://127.0.0.1:8766"


@pytest.fixture(scope="session")
def company(made_once: MadeOnce) -> Path:
    """The demo company with few rows, comprehended. Nobody writes to it: `own_company` is a copy for that."""
    return made_once("web-company", make_folder)


def make_folder(folder: Path) -> None:
    whole = make_company(7, small=True)
    few = {name: getattr(whole, name).slice(0, 600) for name in ("invoices", "sessions", "tickets", "orders")}
    for name, key in (("order_lines", "order"), ("buyers", "account")):
        few[name] = getattr(whole, name).join(few["orders"].select([key]), key, join_type="left semi").sort_by(key)
    prepare_folder(folder, replace(whole, **few), as_dump=False)
    (folder / "odd").mkdir()
    rows = "\n".join(f"{number},{SCRIPT},<b>bold {number % 3}</b>" for number in range(30))
    (folder / "odd" / "notes.csv").write_text(f'note_no,"{COLUMN}",remark\n{rows}\n')
    with (folder / "coset.yaml").open("a") as file:
        file.write(f'  odd:\n    location: odd\n    description: "{SCRIPT}"\n')
    with coset.open(folder) as environment:
        environment.comprehend(jobs=1)


@pytest.fixture
def own_company(company: Path, tmp_path: Path) -> Path:
    """A copy to teach."""
    return Path(shutil.copytree(company, tmp_path / "own", ignore=shutil.ignore_patterns("snapshots", "runs*")))


@contextmanager
def open_client(folder: Path, token: str | None = None, **options: object) -> Iterator[TestClient]:
    with (
        coset.open(folder) as environment,
        TestClient(
            make_application(Site(environment, **options), token=token), base_url=ADDRESS, follow_redirects=False
        ) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def client(company: Path) -> Iterator[TestClient]:
    with open_client(company) as client:
        yield client


@contextmanager
def ui_server(folder: Path, *more: str, **variables: str) -> Iterator[str]:
    """A real `coset ui` on a free port: its address."""
    with serving("ui", "-e", str(folder), "--port", "0", *more, **variables) as (said, _):
        yield said.split()[0].rstrip("/")
