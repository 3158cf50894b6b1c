"""What every command prints with `--json` is of the schema that docs/json-schemas.json has of it, errors too."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from json_commands import CALLS

from commands import coset
from coset.surfaces.command_line import COMMANDS
from made_once import MadeOnce
from surfaces.web.conftest import make_folder

jsonschema = pytest.importorskip("jsonschema", reason="needs jsonschema")
SCHEMAS: dict[str, Any] = json.loads((Path(__file__).parents[2] / "docs" / "json-schemas.json").read_text())["$defs"]
WITHOUT = {"mcp", "ui", "completion", "train", "bench", "demo", "map", "token", "export"}
"""Those that serve, print a script or a token, or write files of other tools."""


@pytest.fixture(scope="module")
def folder(made_once: MadeOnce, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = made_once("web-company", make_folder)
    return Path(shutil.copytree(made, tmp_path_factory.mktemp("json") / "demo"))


def test_every_command_that_prints_json_has_a_schema():
    assert set(CALLS) == set(SCHEMAS) - {"error"} == set(COMMANDS) - WITHOUT


@pytest.mark.parametrize("command", list(CALLS))
def test_what_a_command_prints_is_of_its_schema(command: str, folder: Path):
    for call in CALLS[command]:
        answer = coset(*call, "--json", folder=folder)
        jsonschema.validate(json.loads(answer.stdout), SCHEMAS[command])


@pytest.mark.parametrize("call", [("show", "nothing.here"), ("sql", "SELECT x FROM beacon.artcles"), ("run", "99")])
def test_errors_are_of_one_schema(call: tuple[str, ...], folder: Path):
    answer = coset(*call, "--json", folder=folder)
    assert answer.returncode == 2
    jsonschema.validate(json.loads(answer.stdout), SCHEMAS["error"])
