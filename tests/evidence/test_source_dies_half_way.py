"""A source that dies half-way, with real servers: the rest is kept, the state says what is missing, and the next run
completes it. The first run is held up by a view that sleeps, so that everything dies at a moment that is known."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from urllib.parse import quote

import duckdb
import pymongo
import pytest

from commands import COMMAND, coset
from engines.mongodb import running_mongod
from engines.mysql import PASSWORD, USER, MySQLServer
from engines.postgresql import PostgreSQLServer

DATABASE = "dies_half_way"
HELD_UP = "b_held_up"


def rows_of(folder: Path, sql: str) -> list[tuple]:
    with duckdb.connect(str(folder / ".coset" / "state.duckdb"), read_only=True) as connection:
        return connection.execute(sql).fetchall()


def problems_of(folder: Path) -> dict[str, str | None]:
    return dict(rows_of(folder, "SELECT reference, problem FROM tables"))


def fill_postgresql(server: PostgreSQLServer) -> str:
    url = server.create_database(DATABASE)
    server.run(
        url,
        "CREATE TABLE a_first AS SELECT 1000 + i * 7 AS customer_id, 'city ' || i % 9 AS city FROM generate_series(0, 199) i;"
        f"CREATE VIEW {HELD_UP} AS SELECT pg_sleep(600)::text AS nap;"
        "CREATE TABLE c_after (day DATE, total NUMERIC(9, 2), note TEXT);"
        "INSERT INTO c_after VALUES ('2024-01-31', 1.50, NULL), ('9999-12-31', -1, 'x');",
    )
    return url


def fill_mysql(server: MySQLServer) -> str:
    with server.as_administrator() as run:
        run(f"CREATE DATABASE {DATABASE}")
        run(f"CREATE TABLE {DATABASE}.orders (order_no INT PRIMARY KEY, customer_id INT, status VARCHAR(9))")
        values = ", ".join(f"({number}, {1000 + number % 200 * 7}, 'paid')" for number in range(900))
        run(f"INSERT INTO {DATABASE}.orders VALUES {values}")
    return server.url(DATABASE)


def wait_until_held_up(server: PostgreSQLServer, process: subprocess.Popen[str]) -> None:
    asked = f"SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%{HELD_UP}%' AND wait_event = 'PgSleep';"
    while server.run(server.url(), asked) != "1":
        assert process.poll() is None, f"comprehension ended before it was held up: {process.communicate()}"
        time.sleep(0.1)


def cut_off(server: PostgreSQLServer) -> None:
    """The server lives on, but this database is gone for everyone who uses it or comes to it."""
    ended = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{DATABASE}';"
    server.run(server.url(), f"ALTER DATABASE {DATABASE} ALLOW_CONNECTIONS false;{ended}")


@pytest.fixture
def company(tmp_path: Path, mysql_server: MySQLServer, postgresql_server: PostgreSQLServer):
    """Three servers and a folder of files; the servers run on at the end, for the tests to come."""
    files = tmp_path / "files"
    files.mkdir()
    (files / "kept.csv").write_text("n,word\n" + "".join(f"{number},w{number % 5}\n" for number in range(50)))
    (files / "gone.csv").write_text("m,letter\n1,a\n2,b\n")
    duckdb.execute(f"COPY (SELECT i AS id, 'x' || i AS name FROM range(5000) r(i)) TO '{files / 'cut.parquet'}'")
    (tmp_path / "coset.yaml").write_text(
        "sources:\n  pg: {location: '${PG_URL}'}\n  my: {location: '${MY_URL}'}\n  mo: {location: '${MO_URL}', limits: {connect_seconds: 3}}\n"
        "  files: {location: files}\n"
    )
    try:
        yield tmp_path
    finally:
        if mysql_server.process is None:
            mysql_server.start()
        with mysql_server.as_administrator() as run:
            run(f"DROP DATABASE IF EXISTS {DATABASE}")


def test_the_rest_is_kept_and_the_next_run_completes_it(
    company: Path, mysql_server: MySQLServer, postgresql_server: PostgreSQLServer, tmp_path_factory
):
    urls = {"MY_URL": fill_mysql(mysql_server), "PG_URL": fill_postgresql(postgresql_server)}
    documents = [{"_id": number, "tags": ["a", "b"], "weight": number / 2} for number in range(30)]
    whole = (company / "files" / "cut.parquet").read_bytes()

    with running_mongod(tmp_path_factory.mktemp("first")) as address:
        pymongo.MongoClient(address).shop.parcels.insert_many(documents)
        urls["MO_URL"] = f"mongodb://{address}/shop"
        process = subprocess.Popen(
            [*COMMAND, "comprehend", "--jobs", "1"], cwd=company, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, env={**os.environ, **urls},
        )  # fmt: skip
        wait_until_held_up(postgresql_server, process)
    # The MongoDB server is down now; the others and two files go, too, and the held-up run goes on.
    (company / "files" / "gone.csv").unlink()
    (company / "files" / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    mysql_server.process.kill()
    mysql_server.process.wait()
    mysql_server.process = None
    cut_off(postgresql_server)
    said, _ = process.communicate()
    assert process.returncode == 1, said
    for name in (f"pg.public.{HELD_UP}", "pg.public.c_after", "my.orders", "mo.parcels", "files.gone", "files.cut"):
        assert f"{name} could not be read: " in said
    assert quote(PASSWORD, safe="") not in said and PASSWORD not in said and "Traceback" not in said
    problems = problems_of(company)
    assert {name for name, problem in problems.items() if problem is None} == {"pg/public/a_first", "files/kept"}
    assert rows_of(company, "SELECT rows FROM tables WHERE problem IS NULL ORDER BY rows") == [(50,), (200,)]
    assert "problem: " in coset("show", "pg/public/c_after", folder=company, **urls).stdout
    shown = json.loads(coset("show", "mo", "--json", folder=company, **urls).stdout)
    assert [bool(table["problem"]) for table in shown["tables"]] == [True]
    done = rows_of(company, "SELECT reference, comprehended_at FROM tables WHERE problem IS NULL ORDER BY ALL")

    # All is back, but for the file that is gone.
    mysql_server.start()
    postgresql_server.run(postgresql_server.url(), f"ALTER DATABASE {DATABASE} ALLOW_CONNECTIONS true;")
    postgresql_server.run(urls["PG_URL"], f"CREATE OR REPLACE VIEW {HELD_UP} AS SELECT 'awake' AS nap;")
    (company / "files" / "cut.parquet").write_bytes(whole)
    with running_mongod(tmp_path_factory.mktemp("second")) as address:
        pymongo.MongoClient(address).shop.parcels.insert_many(documents)
        urls["MO_URL"] = f"mongodb://{address}/shop"
        answer = coset("comprehend", "--jobs", "1", "--json", folder=company, **urls)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert json.loads(answer.stdout)["looked_at"] == 5
    names = ("a_first", HELD_UP, "c_after")
    expected = {f"pg/public/{name}" for name in names} | {"my/orders", "mo/parcels", "files/kept", "files/cut"}
    assert problems_of(company) == dict.fromkeys(expected)
    again = "SELECT reference, comprehended_at FROM tables WHERE name IN ('a_first', 'kept') ORDER BY ALL"
    assert rows_of(company, again) == done, "what was done is not read again"
    joined = rows_of(company, "SELECT left_columns, right_columns FROM relations")
    assert (["my/orders.customer_id"], ["pg/public/a_first.customer_id"]) in joined
    assert USER not in str(rows_of(company, "SELECT * FROM sources"))


def test_a_file_that_is_damaged_later_keeps_what_was_known_of_it(tmp_path: Path):
    folder = tmp_path / "files"
    folder.mkdir()
    for name in ("first", "second"):
        rows = f"SELECT i AS {name}_id, i % 7 AS {name}_kind FROM range(3000) r(i)"
        duckdb.execute(f"COPY ({rows}) TO '{folder / name}.parquet'")
    (tmp_path / "coset.yaml").write_text("sources:\n  f: {location: files}\n")
    assert coset("comprehend", "--jobs", "1", folder=tmp_path).returncode == 0
    profile = "SELECT reference, distinct_values, maximum FROM columns ORDER BY ALL"
    known = rows_of(tmp_path, profile)
    assert ("f/second.second_id", 3000, "2999") in known and len(known) == 4

    whole = (folder / "second.parquet").read_bytes()
    (folder / "second.parquet").write_bytes(whole[:-100])
    answer = coset("comprehend", "--jobs", "1", folder=tmp_path)
    assert answer.returncode == 1 and "second.parquet could not be read: is not a whole Parquet file" in answer.stdout
    assert rows_of(tmp_path, profile) == known
    assert "is not a whole Parquet file" in (problems_of(tmp_path)["f/second"] or "")
    [(skipped,)] = rows_of(tmp_path, "SELECT skipped FROM sources")
    assert len(skipped) == 1 and "second.parquet" in skipped[0]

    (folder / "second.parquet").write_bytes(whole)
    answer = coset("comprehend", "--jobs", "1", "--json", folder=tmp_path)
    assert answer.returncode == 0 and json.loads(answer.stdout)["looked_at"] == 1
    assert problems_of(tmp_path) == {"f/first": None, "f/second": None} and rows_of(tmp_path, profile) == known
