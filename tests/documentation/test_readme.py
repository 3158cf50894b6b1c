"""The README, the index and the pictures: commands in the form a newcomer needs, figures that are there, nothing left out."""

from __future__ import annotations

import re
import tomllib
import xml.etree.ElementTree
from pathlib import Path

import pytest

from coset.demo import make_company, truth
from coset.surfaces.command_line import COMMANDS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCS = ROOT / "docs"
LARGEST_PICTURE = 150_000


def commands() -> list[str]:
    return [line for line in README.splitlines() if line.startswith("python3 -m venv")]


def test_two_commands_install_and_run_the_demo_and_the_tests():
    """Each whole, on one line, with extras that exist; tests/packaging runs what the first one ends with."""
    demo, tests = commands()
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert demo.endswith("pip install '.[all]' && coset demo") and tests.endswith("python -m pytest -n 2")
    for command in (demo, tests):
        [extra] = re.findall(r"pip install '\.\[(\w+)\]'", command)
        assert extra in extras


def test_the_answer_that_it_shows_is_the_true_one():
    both = truth(make_company())[0]
    shown = re.search(r"true +(\d+): (.+?) and (\d+) more", README)
    assert shown, "the README shows the demo's first answer"
    named = shown[2].split(", ")
    assert int(shown[1]) == len(both.customers) == len(named) + int(shown[3])
    assert set(named) <= {customer.name for customer in both.customers}
    assert f"{make_company().rows:,} rows, seed 7" in README


def test_every_command_that_it_names_exists():
    named = set(re.findall(r"^coset (\w+)", README, re.MULTILINE)) | set(re.findall(r"`coset (\w+)", README))
    assert named - set(COMMANDS) == set() and {"init", "comprehend", "view", "ask", "mcp"} <= named


def test_every_script_that_it_names_exists():
    for text in (README, (ROOT / "benchmarks" / "README.md").read_text(), (ROOT / "CONTRIBUTING.md").read_text()):
        for script in re.findall(r"python ((?:benchmarks|docs)/\w+\.py)", text):
            assert (ROOT / script).is_file(), script


def test_every_page_is_in_the_index():
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    pages = {page.name for page in DOCS.glob("*.md")} - {"README.md"}
    assert {page for page in pages if f"]({page})" not in index} == set()


@pytest.mark.parametrize("picture", sorted((DOCS / "pictures").iterdir()), ids=lambda path: path.name)
def test_a_picture_is_small_and_used(picture: Path):
    texts = [README, *(page.read_text(encoding="utf-8") for page in DOCS.glob("*.md"))]
    assert any(f"pictures/{picture.name}" in text for text in texts), "no page shows it"
    assert picture.stat().st_size < LARGEST_PICTURE
    if picture.suffix == ".png":
        assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["flow", "profiles", "realisation", "demand", "budget"])
def test_a_drawing_has_a_title_and_follows_the_colours_of_its_reader(name: str):
    picture = DOCS / "pictures" / f"{name}.svg"
    root = xml.etree.ElementTree.parse(picture).getroot()
    assert root.find("{http://www.w3.org/2000/svg}title") is not None, "a title, for those who cannot see it"
    assert "prefers-color-scheme: dark" in picture.read_text(encoding="utf-8")


def test_the_method_page_says_what_its_figures_show():
    method = (DOCS / "method.md").read_text(encoding="utf-8")
    shown = re.search(r"an identifier\s+with (0\.\d\d),\s+a code with (0\.\d\d)", method)
    drawn = (DOCS / "pictures" / "profiles.svg").read_text(encoding="utf-8")
    second = drawn.split("support/tickets.customer_ref")[1].split("customers.segment")[0]
    assert shown and all(f">{number}<" in second for number in shown.groups()), "run python docs/figures.py, then read"
