"""The documentation says what is true: the command reference is what --help prints, links lead somewhere, settings are
named, examples run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from coset.environment.configuration import LimitsEntry, SourceEntry
from coset.environment.sources import KINDS
from coset.surfaces.command_line import COMMANDS

ROOT = Path(__file__).parents[2]
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "benchmarks").glob("*.md")]


def test_the_command_reference_is_what_help_prints():
    made = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "command_reference.py")], capture_output=True, text=True, check=True
    ).stdout
    written = (ROOT / "docs" / "command-line.md").read_text()
    assert written == made, "run: python docs/command_reference.py > docs/command-line.md"
    assert all(f"coset {name}" in written for name in COMMANDS)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path):
    for target in re.findall(r"\]\(([^)#\s]+)", document.read_text()):
        if "://" not in target:
            assert (document.parent / target).exists(), target


def test_every_setting_and_every_kind_is_documented():
    text = "\n".join(path.read_text() for path in DOCUMENTS)
    for name in [*SourceEntry.model_fields, *LimitsEntry.model_fields, *KINDS, "secrets_file", "state_folder"]:
        assert f"`{name}" in text, f"{name} is not documented"


def test_the_first_command_of_the_session_page_prints_what_the_page_shows(tmp_path: Path):
    import os
    import shutil

    page = (ROOT / "docs" / "session.md").read_text()
    command = next(line for line in page.splitlines() if line.startswith("cd examples/shop"))
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns(".coset", "coset.yaml*"))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    answer = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True,
        env={**os.environ, "PATH": path, "COLUMNS": "120"},
    )  # fmt: skip
    shown = page.split("```\nsource ")[1].split("```")[0]
    squeezed = [" ".join(line.split()) for line in ("source " + shown).splitlines() if line.strip()]
    printed = [" ".join(line.split()) for line in answer.stdout.splitlines() if line.strip()]
    assert [line.strip("─ ") for line in printed] == [line.strip("─ ") for line in squeezed]


def test_every_page_has_its_place_on_the_site():
    import yaml

    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
    listed = sorted(page for section in nav for pages in section.values() for page in pages)
    assert listed == sorted(path.name for path in (ROOT / "docs").glob("*.md"))


def test_the_python_reference_is_what_the_docstrings_say_each_with_an_example():
    made = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "python_reference.py")], capture_output=True, text=True, check=True
    ).stdout
    written = (ROOT / "docs" / "python-reference.md").read_text()
    assert written == made, "run: python docs/python_reference.py > docs/python-reference.md"
    methods = written.partition("## Environment\n")[2].partition("\n## ")[0].split("\n### ")[1:]
    assert len(methods) > 40
    assert not [method.partition("\n")[0] for method in methods if "```python\n>>> " not in method]
