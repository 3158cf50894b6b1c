"""One small company, comprehended once for all tests of the web page, with a source in it that tries to be HTML."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import coset
from api.mcp_processes import clean_environment
from coset.demo import make_company, prepare_folder
from coset.surfaces.web.application import make_application
from coset.surfaces.web.site import Site

SCRIPT = "<script>window.pwned = 1</script>"
COLUMN = "<img src=x onerror=window.pwned=2>"
ADDRESS = "http://127.0.0.1:8766"


@pytest.fixture(scope="session")
def company(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The demo company with few rows, comprehended. Nobody writes to it: `own_company` is a copy for that."""
    shared = tmp_path_factory.getbasetemp() if worker_id == "master" else tmp_path_factory.getbasetemp().parent
    folder = shared / "web-company"
    with (shared / "web-company.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # Workers of one run share it.
        if not (shared / "web-company.ready").exists():
            make_folder(folder)
            (shared / "web-company.ready").touch()
    return folder


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
    return Path(shutil.copytree(company, tmp_path / "own", ignore=shutil.ignore_patterns("snapshots")))


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
    process = subprocess.Popen(
        [sys.executable, "-c", "from coset.surfaces.command_line import main; main()", "ui", "-e", str(folder),
         "--port", "0", *more],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        env=clean_environment(**variables),
    )  # fmt: skip
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith("serving on "), line
        yield line.split()[2].rstrip("/")
    finally:
        process.terminate()
        process.wait()
