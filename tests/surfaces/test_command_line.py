"""The command line as a person or a script meets it: real processes, exit codes, JSON, one-sentence errors."""

from __future__ import annotations

import json
import re
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from commands import coset


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    with sqlite3.connect(tmp_path / "orders.db") as connection:
        connection.execute("CREATE TABLE orders (id INTEGER, buyer TEXT, amount DECIMAL(10,2))")
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?)", [(1, "a", 10.5), (2, "b", 0.25), (3, "a", 4)])
    (tmp_path / "people.csv").write_text("id,name\na,Ann\nb,<b>Bob</b>\n")
    return tmp_path


@pytest.fixture
def made(shop: Path) -> Path:
    assert coset("init", "orders=orders.db", "people=people.csv", folder=shop).returncode == 0
    return shop


def test_init_writes_the_file_and_checks_the_sources(shop: Path):
    answer = coset("init", "orders=./orders.db", "people.csv", folder=shop)
    assert answer.returncode == 0, answer.stderr
    assert yaml.safe_load((shop / "coset.yaml").read_text()) == {
        "sources": {"orders": {"location": "orders.db"}, "people": {"location": "people.csv"}}
    }
    assert "wrote coset.yaml" in answer.stdout and "sqlite" in answer.stdout


def test_init_keeps_a_password_out_of_the_file_and_out_of_the_output(shop: Path):
    answer = coset("init", "crm=postgresql://reader:h%40nter2@127.0.0.1:1/crm", folder=shop)
    assert answer.returncode == 1, "the connection was tried and failed"
    text = (shop / "coset.yaml").read_text()
    assert "postgresql://reader:${CRM_PASSWORD}@127.0.0.1:1/crm" in text
    secrets = shop / ".coset" / "secrets.env"
    assert secrets.read_text() == "CRM_PASSWORD=h@nter2\n" and stat.S_IMODE(secrets.stat().st_mode) == 0o600
    shown = answer.stdout + answer.stderr + text
    assert "nter2" not in shown and "crm is unreachable" in shown


def test_init_names_every_problem_and_writes_nothing(shop: Path):
    answer = coset("init", "a=orders.db", "A=people.csv", "b=gone.db", "main=people.csv", "c=", folder=shop)
    assert answer.returncode == 2
    for expected in ("two sources named 'A'", "gone.db", "'main' means something else", "'c=' names no location"):
        assert expected in answer.stderr
    assert not (shop / "coset.yaml").exists()


def test_init_does_not_overwrite_unless_told_and_then_keeps_the_old_file(made: Path):
    before = (made / "coset.yaml").read_text()
    answer = coset("init", "people=people.csv", folder=made)
    assert answer.returncode == 2 and "--force" in answer.stderr
    assert (made / "coset.yaml").read_text() == before
    assert coset("init", "people=people.csv", "--force", folder=made).returncode == 0
    assert (made / "coset.yaml.bak").read_text() == before


def test_sources_lists_what_is_there_and_what_is_not(made: Path):
    with (made / "coset.yaml").open("a") as file:
        file.write("  gone: {location: gone.db}\n  nokey: {location: 'mysql://u:${NO_SUCH_VARIABLE}@h/d'}\n")
    answer = coset("sources", folder=made)
    assert answer.returncode == 1
    assert "orders" in answer.stdout and "gone is unreachable" in answer.stdout and "NO_SUCH_VARIABLE" in answer.stdout
    listed = json.loads(coset("sources", "--json", folder=made).stdout)["sources"]
    by_name = {source["name"]: source for source in listed}
    assert by_name["orders"]["tables"][0]["rows"] == 3
    assert [column["type"] for column in by_name["orders"]["tables"][0]["columns"]] == [
        "BIGINT",
        "VARCHAR",
        "DECIMAL(10,2)",
    ]
    assert not by_name["gone"]["reachable"] and by_name["people"]["reachable"]


def test_sources_shows_tables_and_columns_of_one(made: Path):
    answer = coset("sources", "orders", folder=made)
    assert answer.returncode == 0 and "orders.orders" in answer.stdout and "buyer VARCHAR" in answer.stdout
    answer = coset("sources", "nonesuch", folder=made)
    assert answer.returncode == 2 and "there is no source 'nonesuch'" in answer.stderr


JOIN = "SELECT p.name, sum(o.amount) AS total FROM orders.orders o JOIN people.people p ON p.id = o.buyer GROUP BY ALL ORDER BY 1"


def test_sql_prints_a_table_csv_or_json(made: Path):
    answer = coset("sql", JOIN, "-v", folder=made)
    assert answer.returncode == 0, answer.stderr
    assert "14.50" in answer.stdout and "<b>Bob</b>" in answer.stdout and "2 rows" in answer.stderr
    assert "snapshot" in answer.stderr
    assert coset("sql", JOIN, "--csv", folder=made).stdout.splitlines()[0] == '"name","total"'
    document = json.loads(coset("sql", "-", "--json", folder=made, stdin=JOIN).stdout)
    assert document["rows"] == [["<b>Bob</b>", 0.25], ["Ann", 14.5]]
    assert document["columns"] == [{"name": "name", "type": "VARCHAR"}, {"name": "total", "type": "DECIMAL(38,2)"}]
    assert document["truncated"] is False and document["row_count"] == 2


def test_sql_says_when_rows_are_cut(made: Path):
    answer = coset("sql", "SELECT * FROM range(50)", "--rows", "5", folder=made)
    assert "5 rows" in answer.stderr and "truncated" in answer.stderr
    assert json.loads(coset("sql", "SELECT * FROM range(50)", "--rows", "5", "--json", folder=made).stdout)["truncated"]


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        (["sql", "DROP TABLE orders.orders"], 2, "only a SELECT"),
        (["sql", "SELECT * FROM orders.order"], 2, "did you mean orders.orders?"),
        (["sql", "SELECT 1", "--file", "x.sql"], 2, "give one statement"),
        (["sql", "--file", "gone.sql"], 2, "gone.sql"),
        (["sql"], 2, "give one statement"),
        (["sql", "SELECT count(*) FROM range(100000000000)", "--seconds", "0.5"], 1, "after 0.5 seconds"),
        (["sql", "SELECT 1", "-e", "nowhere"], 2, "no environment file"),
        (["sql", "SELECT 1", "--nonesuch"], 2, "No such option"),
        (["nonesuch"], 2, "there is no command"),
        (["calc", "1 +"], 2, ""),
        (["calc", "__import__('os')"], 2, ""),
        (["init"], 2, "Missing argument"),
    ],
)
def test_errors_are_one_sentence_with_the_right_exit_code(arguments: list[str], code: int, expected: str, made: Path):
    answer = coset(*arguments, folder=made)
    assert answer.returncode == code, answer.stderr
    assert expected in answer.stderr and "Traceback" not in answer.stderr
    if not answer.stderr.startswith("Usage"):
        assert answer.stderr.startswith("coset: ") and answer.stderr.count("\n") == 1


def test_json_errors_have_one_shape(made: Path):
    answer = coset("sql", "SELECT * FROM nonesuch.t", "--json", folder=made)
    assert answer.returncode == 2
    error = json.loads(answer.stdout)["error"]
    assert set(error) == {"kind", "message"} and "nonesuch" in error["message"]


def test_a_cell_cannot_steer_the_terminal(made: Path):
    answer = coset(
        "sql", "SELECT chr(27) || '[31mred' AS a, '[bold]x[/bold]' AS b, 'two' || chr(10) || 'lines' AS c", folder=made
    )
    assert "\x1b[31m" not in answer.stdout and "[bold]x[/bold]" in answer.stdout and "two lines" in answer.stdout


def test_calc(made: Path):
    assert coset("calc", "0.1 + 0.2", folder=made).stdout == "0.3\n"
    assert json.loads(coset("calc", "mean([1, 2, 6])", "--json", folder=made).stdout)["value"] == 3
    assert "median" in coset("calc", "--functions", folder=made).stdout


@pytest.mark.parametrize("command", [[], ["init"], ["sources"], ["sql"], ["calc"]])
def test_help_says_what_it_does(command: list[str], tmp_path: Path):
    answer = coset(*command, "--help", folder=tmp_path)
    assert answer.returncode == 0 and answer.stdout.startswith("Usage:") and len(answer.stdout) > 200


def test_help_loads_no_database_library():
    script = (
        "import sys\nsys.argv = ['coset', '--help']\nfrom coset.surfaces.command_line import coset\n"
        "try:\n    coset.main(standalone_mode=False)\nexcept SystemExit:\n    pass\n"
        "heavy = {'duckdb', 'pyarrow', 'sqlglot', 'pydantic', 'rich', 'yaml', 'numpy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def test_help_groups_the_commands_and_a_misspelt_one_gets_the_nearest(shop: Path):
    answer = coset("--help", folder=shop)
    titles = ("Set up:", "Look:", "Ask:", "Correct:", "Serve:", "Measure:")
    assert [title for title in titles if title not in answer.stdout] == [] and "Others:" not in answer.stdout
    answer = coset("comprhend", folder=shop)
    assert answer.returncode == 2 and "did you mean comprehend" in answer.stderr
    assert "_COSET_COMPLETE=bash_complete" in coset("completion", "bash", folder=shop).stdout


def test_status_says_what_is_there_what_is_stale_and_what_needs_a_person(made: Path):
    before = coset("status", folder=made)
    assert before.returncode == 0 and "run `coset comprehend`" in before.stdout
    assert coset("comprehend", "--jobs", "1", folder=made).returncode == 0
    assert "up to date" in coset("status", folder=made).stdout
    (made / "people.csv").write_text("id,name\na,Ann\n")
    after = json.loads(coset("status", "--json", folder=made).stdout)
    assert after["tables"] == 2 and [each["reference"] for each in after["changed"]] == ["people/people"]


def test_lists_are_whole_lines_where_nobody_looks_and_csv_where_asked(made: Path):
    coset("comprehend", "--jobs", "1", folder=made)
    wide = coset("relations", folder=made, COLUMNS="40")
    assert all("orders.orders.buyer" in line for line in wide.stdout.splitlines() if "buyer" in line)
    rows = coset("relations", "orders.orders", "--csv", folder=made).stdout.splitlines()
    assert rows[0].startswith("from,to,how")


def test_names_are_taken_as_sql_has_them_and_as_references(made: Path):
    coset("comprehend", "--jobs", "1", folder=made)
    for written in ("orders.orders.amount", "orders/orders.amount", "orders.amount"):
        assert coset("show", written, folder=made).stdout.startswith("orders.orders.amount")
    for command in ("show", "recover", "relations", "diagnostics"):
        answer = coset(command, "orders.orders.amonut", folder=made)
        assert answer.returncode == 2 and "did you mean orders.orders.amount" in answer.stderr, command
    answer = coset("sql", "SELECT amonut FROM orders.orders", folder=made)
    assert answer.returncode == 2 and "did you mean amount" in answer.stderr


def test_json_is_json_all_the_way_down(made: Path):
    """No value is a Python object printed as text, whatever the command."""
    coset("comprehend", "--jobs", "1", folder=made)
    for arguments in (
        ("sources",), ("status",), ("status", "--review"), ("show", "orders.orders"), ("relations",), ("copies",),
        ("readings",), ("identities",), ("diagnostics",), ("labelers",), ("view", "amount of orders"), ("notes",),
        ("recover", "orders.orders"), ("sql", "SELECT * FROM orders.orders"), ("ask", "How many orders are there?"),
        ("ask", "Why is it so?"), ("runs",), ("run", "1"), ("run", "1", "--replay"), ("teach", "--list"),
        ("note", "--list"), ("comprehend",), ("calc", "1 + 1"),
    ):  # fmt: skip
        answer = coset(*arguments, "--json", folder=made)
        if arguments[0] == "notes":
            assert answer.returncode == 2
            continue
        document = json.loads(answer.stdout)
        assert isinstance(document, dict) and "error" not in document, (arguments, document)
        assert not re.search(r"\b[A-Z]\w+\(\w+=|<\w+(\.\w+)+ object at ", answer.stdout), arguments
