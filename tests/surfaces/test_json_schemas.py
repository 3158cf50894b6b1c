"""What every command prints with `--json` is of the schema that docs/json-schemas.json has of it, errors too."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from json_commands import ASKING, CALLS, ON_A_SERVER

from commands import coset
from coset.surfaces.command_line import COMMANDS
from coset.surfaces.command_line import coset as cli
from engines.postgresql import PostgreSQLServer
from made_once import MadeOnce
from surfaces.web.conftest import make_folder

jsonschema = pytest.importorskip("jsonschema", reason="needs jsonschema")
SCHEMAS: dict[str, Any] = json.loads((Path(__file__).parents[2] / "docs" / "json-schemas.json").read_text())["$defs"]
WITHOUT = {
    "mcp": "serves a protocol of its own",
    "ui": "serves pages",
    "completion": "prints a script of the shell",
    "train": "writes weights; prints its progress",
    "demo": "makes a folder and walks through it for a reader",
    "map": "writes a page",
    "token": "prints a token once, for a person",
    "export": "prints or writes the format of another tool, JSON where that is JSON",
    "bench joins": "writes a file of lines of JSON, in the format of its benchmark",
    "bench matching": "writes a file of lines of JSON, in the format of its benchmark",
    "bench routing": "writes a file of lines of JSON, in the format of its benchmark",
}
"""Commands that have no --json, and why."""


@pytest.fixture(scope="module")
def folder(made_once: MadeOnce, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = made_once("web-company", make_folder)
    return Path(shutil.copytree(made, tmp_path_factory.mktemp("json") / "demo"))


def every_command() -> dict[str, click.Command]:
    """Each with the words that call it; those of a group in place of the group."""
    found: dict[str, click.Command] = {}
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        if isinstance(command, click.Group):
            found |= {f"{name} {each}": command.commands[each] for each in command.commands}
        else:
            found[name] = command
    return found


def test_every_command_that_prints_json_has_a_schema():
    assert {*CALLS, *ASKING} == set(SCHEMAS) - {"error"} == set(every_command()) - set(WITHOUT)
    for name, command in every_command().items():
        assert any("--json" in each.opts for each in command.params) == (name not in WITHOUT), name


@pytest.mark.parametrize("command", list(CALLS))
def test_what_a_command_prints_is_of_its_schema(command: str, folder: Path):
    for call in CALLS[command]:
        answer = coset(*call, "--json", folder=folder)
        jsonschema.validate(json.loads(answer.stdout), SCHEMAS[command])


def test_a_server_with_schemas_and_comments_is_of_the_same_schema(
    create_database: Callable[[str], str], postgresql_server: PostgreSQLServer, tmp_path: Path
):
    url = create_database("json_schemas")
    postgresql_server.run(
        url,
        """CREATE SCHEMA vet;
        CREATE TABLE vet.keepers (keeper_id int PRIMARY KEY, name text);
        INSERT INTO vet.keepers SELECT i, 'Keeper ' || i FROM generate_series(1, 90) i;
        CREATE TABLE vet.animals (animal_id int PRIMARY KEY, keeper_id int, species char(1), born date);
        INSERT INTO vet.animals SELECT i, 1 + i % 90, (ARRAY['D', 'C'])[1 + i % 2], date '2012-01-01' + i
        FROM generate_series(1, 300) i;
        COMMENT ON TABLE vet.animals IS 'Patients of the practice';
        COMMENT ON COLUMN vet.animals.species IS 'D dog, C cat';""",
    )
    for call in (("init", f"vets={url}"), *ON_A_SERVER):
        answer = coset(*call, "--json", folder=tmp_path)
        assert answer.returncode == 0, answer.stdout + answer.stderr
        jsonschema.validate(json.loads(answer.stdout), SCHEMAS[call[0]])


def test_what_people_say_of_copies_and_records_is_told_as_json(folder: Path):
    said = coset("copies", "beacon.articles", "--of", "beacon.orders", "--kind", "backup", "--json", folder=folder)
    assert json.loads(said.stdout)["kept"]["original"] == "beacon/orders", said.stderr


@pytest.mark.parametrize("call", [("show", "nothing.here"), ("sql", "SELECT x FROM beacon.artcles"), ("run", "99")])
def test_errors_are_of_one_schema(call: tuple[str, ...], folder: Path):
    answer = coset(*call, "--json", folder=folder)
    assert answer.returncode == 2
    jsonschema.validate(json.loads(answer.stdout), SCHEMAS["error"])
