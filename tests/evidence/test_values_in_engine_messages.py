"""What engines say of values that cannot be read never carries these values: not in a problem, not in an error."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import duckdb
import pymongo
import pytest

from commands import coset
from coset.engine_messages import HIDDEN, without_values
from engines.mysql import MySQLServer
from engines.postgresql import PostgreSQLServer

SECRETS = ("Quokka", "Smith", "4711")
VALUE = 'Quokka "Q" Smith\'s 4711'


def sqlite_file(folder: Path, request: pytest.FixtureRequest) -> str:
    with closing(sqlite3.connect(folder / "lite.db")) as connection:
        connection.execute("CREATE TABLE people (name TEXT)")
        connection.execute("INSERT INTO people VALUES (?)", [VALUE])
        connection.execute("CREATE VIEW documents AS SELECT json_extract(name, '$.a') AS a FROM people")
        connection.execute("CREATE VIEW sums AS SELECT abs(-9223372036854775807 - length(name) + 21) AS b FROM people")
        connection.execute("CREATE VIEW bytes AS SELECT CAST(CAST(name AS BLOB) || x'ff' AS TEXT) AS name FROM people")
        connection.commit()
    return "lite.db"


def duckdb_file(folder: Path, request: pytest.FixtureRequest) -> str:
    with duckdb.connect(str(folder / "duck.duckdb")) as connection:
        connection.execute("CREATE TABLE people (name VARCHAR, amount INTEGER)")
        connection.execute("INSERT INTO people VALUES (?, 4711)", [VALUE])
        connection.execute("CREATE VIEW numbers AS SELECT CAST(name AS INTEGER) AS n FROM people")
        connection.execute("CREATE VIEW small AS SELECT CAST(amount AS TINYINT) AS n FROM people")
        connection.execute("CREATE VIEW raised AS SELECT CASE WHEN amount > 0 THEN error(name) END AS n FROM people")
    return "duck.duckdb"


def postgresql(folder: Path, request: pytest.FixtureRequest) -> str:
    server: PostgreSQLServer = request.getfixturevalue("postgresql_server")
    url, written = server.create_database("values_told"), VALUE.replace("'", "''")
    server.run(
        url,
        f"""
        CREATE TABLE people (name text, amount integer); INSERT INTO people VALUES ('{written}', 4711);
        CREATE VIEW numbers AS SELECT name::integer AS n FROM people;
        CREATE VIEW days AS SELECT name::date AS d FROM people;
        CREATE VIEW small AS SELECT (amount::text || '99999999')::integer AS n FROM people;
        CREATE FUNCTION refused(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no "%"', $1; END $$;
        CREATE VIEW raised AS SELECT refused(name) AS r FROM people;
        """,
    )
    return url


def mysql(folder: Path, request: pytest.FixtureRequest) -> str:
    server: MySQLServer = request.getfixturevalue("mysql_server")
    url, written = server.create_database("values_told"), VALUE.replace("'", "''")
    with server.as_administrator() as run:
        run("USE values_told")
        run("CREATE TABLE people (name TEXT, amount BIGINT)")
        run(f"INSERT INTO people VALUES ('{written}', 4711)")
        run("CREATE VIEW documents AS SELECT json_extract(name, '$.a') AS a FROM people")
        run("CREATE VIEW patterns AS SELECT name REGEXP concat(name, '(') AS a FROM people")
        run("CREATE VIEW sums AS SELECT amount * 9223372036854775807 AS a FROM people")
    return url


def mongodb(folder: Path, request: pytest.FixtureRequest) -> str:
    url = request.getfixturevalue("mongodb_url")
    with pymongo.MongoClient(url) as client:
        client.drop_database("values_told")
        database = client.values_told
        database.people.insert_one({"name": VALUE})
        for view, expression in (
            ("numbers", {"$toInt": "$name"}),
            ("days", {"$dateFromString": {"dateString": "$name"}}),
            ("patterns", {"$regexMatch": {"input": "$name", "regex": {"$concat": ["$name", "("]}}}),
        ):
            database.command("create", view, viewOn="people", pipeline=[{"$set": {"n": expression}}])
    return f"{url}values_told"


@pytest.mark.parametrize(
    ("made", "views"),
    [
        (sqlite_file, ("documents", "sums", "bytes")),
        (duckdb_file, ("numbers", "small", "raised")),
        (postgresql, ("numbers", "days", "small", "raised")),
        (mysql, ("documents", "patterns", "sums")),
        (mongodb, ("numbers", "days", "patterns")),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_a_view_that_fails_on_a_value_is_told_without_it(
    made: Callable[[Path, pytest.FixtureRequest], str],
    views: tuple[str, ...],
    tmp_path: Path,
    request: pytest.FixtureRequest,
):
    (tmp_path / "coset.yaml").write_text(f"sources:\n  it: {{location: '{made(tmp_path, request)}'}}\n")
    ran = coset("comprehend", folder=tmp_path)
    said = [ran.stdout + ran.stderr]
    for view in views:
        asked = coset("sql", f"SELECT * FROM it.{view}", folder=tmp_path)
        said.append(asked.stdout + asked.stderr if asked.returncode else "")
    assert any(said[1:]), "none of the views failed"
    assert not [secret for secret in SECRETS for text in said if secret in text], said


@pytest.mark.parametrize(
    ("message", "known", "told"),
    [
        ('invalid input syntax for type integer: "Quokka "Q" Smith\'s"', "", f"invalid input syntax for type integer: {HIDDEN}"),
        ('column "name" does not exist', "SELECT name FROM t", 'column "name" does not exist'),
        ("Could not decode to UTF-8 column 'name' with text 'Quokka\\xff'", "name",
         f"Could not decode to UTF-8 column 'name' with text {HIDDEN}"),
        ("value 4711 of UTF-8 text doesn't fit", "", f"value {HIDDEN} of UTF-8 text doesn't fit"),
        ("no end 'Quokka of 4711", "", f"no end {HIDDEN}"),
        ("", "", ""),
    ],
)  # fmt: skip
def test_what_is_quoted_is_told_only_where_it_is_known(message: str, known: str, told: str):
    assert without_values(message, known) == told
