"""docs/tutorial.md is true: its commands are run in order, as printed, and print what it shows."""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"
BLOCKS = re.findall(r"^```(sh|text)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
COMMANDS = [text for kind, text in BLOCKS if kind == "sh"]
END = "--- end of block"
RULES = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(importlib.util.find_spec("bson") is None, reason="needs the [mongodb] extra"),
]


def expected() -> list[str]:
    """What is shown after each block of commands; empty where nothing is."""
    shown: list[str] = []
    for kind, text in BLOCKS:
        if kind == "sh":
            shown.append("")
        else:
            shown[-1] = text
    return shown


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Standard output of each block. One shell runs them all, as a reader's does; the first failure ends it."""
    folder = tmp_path_factory.mktemp("tutorial")
    script = folder / "tutorial.sh"
    script.write_text("set -e\n" + "".join(f"{text}echo '{END}'\n" for text in COMMANDS), encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COSET")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", str(script)], cwd=folder, capture_output=True, text=True, check=False,
        env={**kept, "PATH": path, "COLUMNS": "160", "NO_COLOR": "1"},
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout[-1500:]}\n{done.stderr[-1500:]}"
    return done.stdout.split(f"{END}\n")


@pytest.mark.parametrize("place", range(len(COMMANDS)), ids=[text.splitlines()[-1][:60] for text in COMMANDS])
def test_a_command_prints_what_the_page_shows(place: int, printed: list[str]):
    shown = expected()[place]
    if shown:
        assert doctest.OutputChecker().check_output(shown, printed[place], RULES), printed[place]


def test_most_commands_show_something():
    assert len(COMMANDS) >= 12 and sum(map(bool, expected())) >= 8
