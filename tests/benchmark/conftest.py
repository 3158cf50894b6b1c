from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from answering.wire_servers import Say, Wire, call
from benchmark.small_checkout import make_checkout
from coset.benchmark.attempting import Outcome, Request, attempt, comprehend_environment


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


@pytest.fixture
def wire() -> Iterator[Callable[..., Wire]]:
    """Scripted models, ended with the test."""
    running: list[Wire] = []

    def start(*script: Any) -> Wire:
        running.append(Wire(*script).__enter__())
        return running[-1]

    yield start
    for each in running:
        each.__exit__()


@pytest.fixture(scope="session")
def comprehended_shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a checkout and its comprehended environment, made once; to be copied."""
    from coset.benchmark.dab.checkout import read_checkout
    from coset.benchmark.dab.environments import write_environment

    folder = tmp_path_factory.mktemp("shop")
    checkout = read_checkout(make_checkout(folder / "checkout"))
    environment = write_environment(checkout.datasets[0], folder / "environments" / "shop", hints=False)
    outcome = comprehend_environment(Request(environment, None, jobs=1))
    assert outcome.status == "answered", outcome.error
    return folder


@pytest.fixture
def shop(comprehended_shop: Path, tmp_path: Path) -> Path:
    """A checkout of one's own, with the environments beside it already comprehended: `checkout`, `environments`."""
    from coset.benchmark.dab.checkout import read_checkout
    from coset.benchmark.dab.environments import write_environment

    shutil.copytree(comprehended_shop, tmp_path, dirs_exist_ok=True)
    checkout = read_checkout(tmp_path / "checkout")
    write_environment(checkout.datasets[0], tmp_path / "environments" / "shop", hints=False)
    return tmp_path
