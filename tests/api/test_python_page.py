"""docs/python.md is true: every example runs, every public name has one."""

from __future__ import annotations

import doctest
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import coset
from answering.wire_servers import Say, Wire, call
from api.shop import copy_of

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
TEXT = PAGE.read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", TEXT, re.DOTALL | re.MULTILINE))
RULES = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


@pytest.fixture(scope="module")
def names(shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What the page's examples can name: the shop in the working folder, an open environment, a scripted model."""
    folder = tmp_path_factory.mktemp("page")
    copy_of(shop, folder / "shop")
    before = Path.cwd()
    os.chdir(folder)
    with Wire(counting_model) as wire, coset.open("shop") as environment:
        yield {"coset": coset, "environment": environment, "model": wire.url}
    os.chdir(before)


def counting_model(request: dict[str, Any]) -> Say:
    """Runs one statement, and answers when it has seen a result."""
    if any(message["role"] == "tool" for message in request["messages"]):
        return call("answer", text="60", results=["result_1"], confidence=0.9)
    return call("sql", query="SELECT count(*) FROM crm.customers")


@pytest.mark.parametrize("title", SECTIONS)
def test_the_examples_of_the_page_do_what_it_shows(title: str, names: dict[str, Any]):
    kept = dict(names)
    found = doctest.DocTestParser().get_doctest(SECTIONS[title], kept, title, str(PAGE), 0)
    assert found.examples, "a section without an example"
    said: list[str] = []
    outcome = doctest.DocTestRunner(optionflags=RULES).run(found, out=said.append, clear_globs=False)
    opened = found.globs.get("environment")
    if opened is not names["environment"] and isinstance(opened, coset.Environment):
        opened.close()
    assert outcome.failed == 0, "".join(said)


def test_every_public_name_has_an_example():
    examples = "\n".join(example.source for example in doctest.DocTestParser().get_examples(TEXT))
    missing = [name for name in coset.__all__ if f"coset.{name}" not in examples]
    missing += [
        name
        for name in vars(coset.Environment)
        if not name.startswith("_") and not re.search(rf"environment\.{name}\b", examples)
    ]
    missing += [
        f"{kind.__name__}.{name}"
        for kind in (coset.Rows, coset.View)
        for name in vars(kind)
        if not name.startswith("_") and name not in TEXT
    ]
    assert not missing


def test_every_public_name_says_what_it_is():
    for name in coset.__all__:
        assert getattr(coset, name).__doc__, name
    for name, member in vars(coset.Environment).items():
        assert name.startswith("_") or member.__doc__, name
