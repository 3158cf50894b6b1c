from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from answering.wire_servers import Say, Wire, call
from benchmark.small_checkout import make_checkout
from coset.benchmark.attempting import Outcome, Request, attempt, comprehend_environment
from made_once import MadeOnce

SCHEMAS = Path(__file__).parents[2] / "docs" / "json-schemas.json"


def of_schema(command: str, printed: Any) -> None:
    """What a command printed with `--json` is of its documented schema."""
    jsonschema = pytest.importorskip("jsonschema", reason="needs jsonschema")
    jsonschema.validate(printed, json.loads(SCHEMAS.read_text())["$defs"][command])


def asked(request: dict[str, Any]) -> str:
    """The question as the model reads it."""
    text = next(message["content"] for message in request["messages"] if message["role"] == "user")
    return str(text).rpartition("The question:\n")[2]


def has_results(request: dict[str, Any]) -> bool:
    return any(message["role"] == "tool" for message in request["messages"])


def right(request: dict[str, Any]) -> Say:
    """A model that answers both questions of the small checkout from its data."""
    if not has_results(request):
        return call(
            "sql", query="SELECT town, count(*) AS n, max(name) AS last FROM crm_database.customers GROUP BY town"
        )
    text = "20" if "Basel?" in asked(request) else "Chur"
    return call("answer", text=text, results=["result_1"], confidence=0.9)


class Here:
    """Attempts in this process: the same code without the seconds that a process takes to start. What is about
    processes (time-outs, deaths, interrupts, kills) is tried with real ones."""

    def run(self, request: Request, seconds: float) -> Outcome:
        return attempt(request) if request.question is not None else comprehend_environment(request)

    def close(self) -> None:
        return None

    def kill(self) -> int | None:
        return None


@contextmanager
def here(jobs: int) -> Iterator[list[Here]]:
    """In place of `attempt_places`."""
    yield [Here() for _ in range(jobs)]


@pytest.fixture
def wire() -> Iterator[Callable[..., Wire]]:
    """Scripted models, ended with the test."""
    with wires() as start:
        yield start


@contextmanager
def wires() -> Iterator[Callable[..., Wire]]:
    with ExitStack() as stack:
        yield lambda *script: stack.enter_context(Wire(*script))


@pytest.fixture(scope="session")
def comprehended_shop(made_once: MadeOnce) -> Path:
    """Folder with a checkout and its comprehended environment, made once. Its data are read where they are."""
    return made_once("benchmark-shop", make_shop)


def make_shop(folder: Path) -> None:
    from coset.benchmark.dab.checkout import read_checkout
    from coset.benchmark.dab.run import write_environment

    checkout = read_checkout(make_checkout(folder / "checkout"))
    environment = write_environment(checkout.datasets[0], folder / "environments" / "shop", hints=False)
    outcome = comprehend_environment(Request(environment, None, jobs=1))
    assert outcome.status == "answered", outcome.error


@pytest.fixture
def shop(comprehended_shop: Path, tmp_path: Path) -> Path:
    """A folder of one's own, see `own_shop`."""
    return own_shop(comprehended_shop, tmp_path)


def own_shop(comprehended: Path, folder: Path) -> Path:
    """A checkout and environments of one's own in `folder`, whose data are those that were comprehended before, so that
    nothing has to be comprehended again."""
    shutil.copytree(comprehended, folder, dirs_exist_ok=True)
    configuration = folder / "checkout" / "query_shop" / "db_config.yaml"
    data = comprehended / "checkout" / "query_shop" / "query_dataset"
    configuration.write_text(configuration.read_text().replace("query_dataset/", f"{data}/"))
    return folder
