"""Pages lead where they say: links to files and to headings, and the file names of the state."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from coset.answering.audit.store import FILE_NAME as RUNS
from coset.answering.text_operations.labels import FILE_NAME as LABELS
from coset.state.file import FILE_NAME as STATE

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "benchmarks" / "README.md", *ROOT.glob("docs/*.md")]
)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def outside_code(page: Path) -> str:
    return re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def headings(page: Path) -> set[str]:
    """The names under which a heading is reached: small letters, blanks as hyphens, no marks."""
    found = re.findall(r"^#+ (.+)$", outside_code(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in found}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path):
    lost = []
    for link in LINK.findall(outside_code(page)):
        path, _, heading = link.partition("#")
        if "://" in link:
            continue
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (heading and heading not in headings(target)):
            lost.append(link)
    assert lost == []


def test_the_files_of_the_state_are_called_as_the_pages_say():
    named = {name for page in PAGES for name in re.findall(r"\.coset/([\w]+\.(?:duckdb|sqlite))", page.read_text())}
    assert named == {STATE, RUNS, LABELS}
