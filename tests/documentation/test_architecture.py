"""docs/architecture.md describes the tree as it is: every path exists, every package is named, stages look back only."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "coset"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
STAGES = [
    ("environment",), ("session",), ("semantics",), ("state",), ("evidence",), ("readings",), ("identities",), ("relations",),
    ("routing",), ("answering",), ("use_cases",), ("api", "benchmark", "demo", "training"), ("surfaces",),
]  # fmt: skip
PLACE = {name: place for place, names in enumerate(STAGES) for name in names}


def paths_of_the_tree() -> Iterator[Path]:
    """The block of the tree: a folder's parents are the lines above it with less indentation."""
    block = PAGE.split("```")[1]
    above: list[tuple[int, Path]] = [(-1, ROOT)]
    for line in block.splitlines():
        if not (found := re.match(r"( *)(\S+/)", line)):
            continue
        indent = len(found[1])
        while above[-1][0] >= indent:
            above.pop()
        above.append((indent, above[-1][1] / found[2]))
        yield above[-1][1]


def test_every_folder_of_the_tree_exists():
    paths = list(paths_of_the_tree())
    assert len(paths) > 25
    assert [str(path) for path in paths if not path.is_dir()] == []


def test_every_package_is_on_the_page():
    named = {path.resolve() for path in paths_of_the_tree()}
    packages = {path.parent for path in PACKAGE.glob("*/__init__.py")} | {
        path.parent
        for stage in ("evidence", "relations", "routing", "answering", "surfaces")
        for path in PACKAGE.glob(f"{stage}/*/__init__.py")
    }
    assert packages - named == set()


def test_every_file_that_it_names_exists():
    links = re.findall(r"\]\((\.\./[^)#]+)\)", PAGE)
    assert len(links) > 25
    assert [link for link in links if not (ROOT / "docs" / link).exists()] == []


def imports(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        yield from (name.split(".")[1] for name in names if name.startswith("coset."))


@pytest.mark.parametrize("stage", PLACE)
def test_a_stage_imports_only_from_stages_before_it(stage: str):
    late = {
        f"{file.relative_to(PACKAGE)} imports coset.{name}"
        for file in (PACKAGE / stage).rglob("*.py")
        for name in imports(file)
        if PLACE.get(name, -1) > PLACE[stage]
    }
    assert late == set()


def test_every_stage_has_its_place():
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} <= set(PLACE)


def test_comprehension_is_walked_through_stage_by_stage():
    from coset.use_cases.comprehend import STAGES as OF_COMPREHENSION

    walked = re.findall(r"^- \*([^*]+)\*, `(\w+)`", PAGE, re.MULTILINE)
    assert walked == [(stage.what.capitalize(), stage.run.__name__) for stage in OF_COMPREHENSION]
