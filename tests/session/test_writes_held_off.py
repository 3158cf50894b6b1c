"""Live PostgreSQL, MariaDB and MongoDB are not written to, whatever is asked by whatever way, and whatever their own
views and functions try when they are read."""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
from starlette.testclient import TestClient

import coset
from coset.environment.scan import Comparison, Scan
from coset.environment.source import Limits, SourceSettings
from coset.environment.sources import open_source
from coset.errors import CosetError

WRITES = (
    "INSERT INTO {t} VALUES (9, 'x')",
    "UPDATE {t} SET name = 'x'",
    "DELETE FROM {t}",
    "TRUNCATE {t}",
    "DROP TABLE {t}",
    "ALTER TABLE {t} ADD COLUMN more INT",
    "CREATE TABLE {s}.more AS SELECT * FROM {t}",
    "CREATE VIEW {s}.more AS SELECT * FROM {t}",
    "CREATE INDEX more ON {t} (id)",
    "COPY {t} FROM '/etc/passwd'",
    "COPY (SELECT 1) TO PROGRAM 'touch /tmp/written'",
    "MERGE INTO {t} USING {t} AS o ON false WHEN NOT MATCHED THEN INSERT VALUES (9, 'x')",
    "WITH gone AS (DELETE FROM {t} RETURNING *) SELECT * FROM gone",
    "WITH more AS (INSERT INTO {t} VALUES (9, 'x') RETURNING *) SELECT * FROM more",
    "SELECT 1; DELETE FROM {t}",
    "SELECT 1; COMMIT; BEGIN READ WRITE; DELETE FROM {t}; COMMIT",
    "EXPLAIN ANALYZE DELETE FROM {t}",
    "PREPARE p AS DELETE FROM {t}",
    "SELECT * FROM {t} FOR UPDATE",
    "SELECT * INTO more FROM {t}",
    "SELECT * FROM {t} INTO OUTFILE '/tmp/written'",
    "SELECT setval('numbers', 99)",
    "SELECT nextval('numbers')",
    "SELECT write_one() FROM {t}",
    "SELECT {s}.write_one()",
    "SELECT * FROM postgres_query('live', 'DELETE FROM t')",
    "SELECT * FROM mysql_query('live', 'DELETE FROM t')",
    "SELECT * FROM mongo_query('live', 't', 'x')",
    "CALL write_one()",
    "CALL mysql_execute('live', 'DELETE FROM t')",
    "DO $$ BEGIN DELETE FROM t; END $$",
    "SET SESSION transaction_read_only = 0",
    "SET default_transaction_read_only = off",
    "RESET ALL",
    "LOCK TABLE {t}",
    "GRANT ALL ON {t} TO public",
    "ATTACH '{url}' AS other (TYPE postgres)",
    "db.t.deleteMany({{}})",
    '[{{"$out": "more"}}]',
)
VALUES = (
    "'; DELETE FROM t; --", "\\'; DELETE FROM t; -- ", "x\\", "\\", "'", "''", "\x00", "$$; DELETE FROM t; $$",
    '{"$out": "t"}', '"; db.t.drop(); "', "`; DROP TABLE t; `", "\u02bc; DELETE FROM t", "\xbf\x27 OR 1=1 -- ",
    "x' OR write_one() > 0 OR 'y' = 'x", "*/ DELETE FROM t /*", "${DELETE}", "%s%n", "\\x27; DELETE FROM t; --",
)  # fmt: skip


class Live:
    """One server with a table `t` of two rows, and how to see that it stayed as it was."""

    def __init__(self, kind: str, url: str, content: Callable[[], object]) -> None:
        self.kind, self.url, self._content = kind, url, content
        self.before = self.digest()

    def digest(self) -> str:
        return hashlib.sha256(repr(self._content()).encode()).hexdigest()


@pytest.fixture(params=["postgresql", "mysql", "mongodb"])
def live(request: pytest.FixtureRequest) -> Iterator[Live]:
    yield from {"postgresql": _postgresql, "mysql": _mysql, "mongodb": _mongodb}[request.param](request)


def _postgresql(request: pytest.FixtureRequest) -> Iterator[Live]:
    server = request.getfixturevalue("postgresql_server")
    url = request.getfixturevalue("create_database")("held_off")
    server.run(
        url,
        "DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE TABLE t (id int, name text); "
        "INSERT INTO t VALUES (1, 'a'), (2, 'b'); CREATE SEQUENCE numbers;"
        "CREATE TABLE slash AS SELECT E'x\\\\'::text AS name;"
        "CREATE FUNCTION write_one() RETURNS int LANGUAGE plpgsql AS "
        "$$ BEGIN INSERT INTO t VALUES (9, 'written'); RETURN 1; END $$;"
        "CREATE FUNCTION loosen() RETURNS int LANGUAGE plpgsql AS $$ BEGIN "
        "PERFORM set_config('default_transaction_read_only', 'off', false); "
        "PERFORM set_config('standard_conforming_strings', 'off', false); "
        "PERFORM set_config('statement_timeout', '0', false); PERFORM set_config('role', 'lesser', false); RETURN 1; END $$;"
        "DROP ROLE IF EXISTS lesser; CREATE ROLE lesser; GRANT SELECT ON t TO lesser;"
        "CREATE VIEW loosening AS SELECT loosen() AS id, 'x'::text AS name;"
        "CREATE VIEW writing AS SELECT write_one() AS id, 'x'::text AS name;",
    )
    yield Live(
        "postgresql", url,
        lambda: server.run(url, "SELECT * FROM t ORDER BY 1; SELECT last_value FROM numbers; SELECT relname FROM pg_class "
                                "WHERE relnamespace = 'public'::regnamespace ORDER BY 1"),
    )  # fmt: skip


def _mysql(request: pytest.FixtureRequest) -> Iterator[Live]:
    server = request.getfixturevalue("mysql_server")
    with server.as_administrator() as run:
        run("DROP DATABASE IF EXISTS held_off")
        url = server.create_database("held_off")
        run("SET GLOBAL log_bin_trust_function_creators = 1")
        for statement in (
            "USE held_off", "CREATE TABLE t (id int, name text)", "INSERT INTO t VALUES (1, 'a'), (2, 'b')",
            "CREATE FUNCTION write_one() RETURNS INT BEGIN INSERT INTO held_off.t VALUES (9, 'written'); RETURN 1; END",
            "CREATE FUNCTION loosen() RETURNS INT BEGIN SET SESSION sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES'; "
            "SET SESSION max_statement_time = 0; SET SESSION tx_read_only = 0; "
            "SET SESSION sql_select_limit = 0; SET SESSION character_set_client = latin1; RETURN 1; END",
            "CREATE TABLE slash AS SELECT 'x\\\\' AS name", "CREATE VIEW loosening AS SELECT loosen() AS id, 'x' AS name",
            "CREATE VIEW writing AS SELECT write_one() AS id, 'x' AS name",
        ):  # fmt: skip
            run(statement)
        yield Live(
            "mysql", url,
            lambda: (run("SELECT * FROM held_off.t ORDER BY id"), run("SHOW TABLES FROM held_off")),
        )  # fmt: skip


def _mongodb(request: pytest.FixtureRequest) -> Iterator[Live]:
    import pymongo

    address = request.getfixturevalue("mongodb_url")
    client: Any = pymongo.MongoClient(address)
    client.drop_database("held_off")
    database = client["held_off"]
    database.t.insert_many([{"_id": 1, "id": 1, "name": "a"}, {"_id": 2, "id": 2, "name": "b"}])
    database.slash.insert_one({"name": "x\\"})
    database.create_collection("loosening", viewOn="t", pipeline=[{"$match": {"id": 1}}])
    database.create_collection("writing", viewOn="t", pipeline=[{"$addFields": {"$name": {"$literal": "x"}}}][:0])
    yield Live(
        "mongodb", f"{address.rstrip('/')}/held_off",
        lambda: (list(database.t.find().sort("_id")), sorted(database.list_collection_names())),
    )  # fmt: skip
    client.close()


@pytest.fixture(params=["copied", "left at its source"])
def environment(
    live: Live, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[coset.Environment]:
    limits = ", limits: {snapshot_rows: 1}" if request.param == "left at its source" else ""
    (tmp_path / "coset.yaml").write_text(f"sources:\n  live: {{location: '${{LIVE_URL}}'{limits}}}\n")
    monkeypatch.setenv("LIVE_URL", live.url)
    with coset.open(tmp_path) as environment:
        yield environment


def statements(environment: coset.Environment, live: Live) -> list[str]:
    listing = environment.workspace.configuration
    assert "live" in listing.sources
    place = {"postgresql": "live.public", "mysql": "live", "mongodb": "live"}[live.kind]
    return [each.format(t=f"{place}.t", s=place, url=live.url) for each in WRITES]


def test_no_way_in_writes(live: Live, environment: coset.Environment):
    from mcp import Client

    from coset.surfaces.mcp.server import make_server
    from coset.surfaces.web.application import make_application
    from coset.surfaces.web.site import Site

    wanted = statements(environment, live)
    names = [row[0] for row in environment.sql("SELECT name FROM live.t ORDER BY id").rows]
    assert names == ["a", "b"]
    for statement in wanted:
        with pytest.raises(CosetError):
            environment.sql(statement)

    async def over_mcp() -> list[bool]:
        async with Client(make_server(environment)) as client:
            return [(await client.call_tool("sql", {"query": each})).is_error for each in wanted]

    assert all(asyncio.run(over_mcp()))
    with TestClient(make_application(Site(environment)), base_url="http://127.0.0.1:8766") as page:
        form = page.get("/sql").text.partition('name="form_token" value="')[2].partition('"')[0]
        for statement in wanted:
            assert page.post("/sql", data={"statement": statement, "form_token": form}).status_code == 400, statement
    assert live.digest() == live.before


def test_values_that_are_written_as_literals_stay_values(live: Live, environment: coset.Environment):
    for value in VALUES:
        text = value.replace("'", "''")
        for operator in ("=", "<>", ">"):
            if "\x00" not in value:
                found = environment.sql(f"SELECT count(*) FROM live.t WHERE name {operator} '{text}'").rows[0][0]
                assert found == sum(
                    {"=": name == value, "<>": name != value, ">": name.encode() > value.encode()}[operator]
                    for name in ("a", "b")
                )
    assert live.digest() == live.before


def test_what_the_database_runs_when_it_is_read_cannot_loosen_the_session(live: Live):
    """Its owner may not use our rights to write; nor may a setting that a view changed hold for the next statement."""
    settings = SourceSettings(name="live", location=live.url, kind=live.kind, limits=Limits(query_seconds=7))
    source = open_source(settings)
    try:
        tables = {table.name: table for table in source.tables()}
        # MariaDB's listing leaves out a view that it cannot describe without writing.
        tables.setdefault("writing", replace(tables["loosening"], name="writing", native_name="writing"))
        for _ in range(3):
            source.read(tables["loosening"]).read_all()
            if live.kind != "mongodb":
                with pytest.raises(CosetError, match=r"(?i)read.only"):
                    source.read(tables["writing"]).read_all()
            for value in VALUES[:4]:
                scan = Scan(where=Comparison("name", "=", value))
                assert source.read(tables["t"], scan).read_all().num_rows == 0
            slash = Scan(where=Comparison("name", "=", "x\\"))
            assert source.read(tables["slash"], slash).read_all().num_rows == 1
            source.change_token(tables["t"])
            source.tables()
    finally:
        source.close()
    assert live.digest() == live.before


def test_comprehension_reads_views_that_write_and_nothing_is_written(live: Live, environment: coset.Environment):
    environment.comprehend(jobs=1)
    assert environment.sql("SELECT count(*) FROM live.t").rows == [(2,)]
    assert live.digest() == live.before


@pytest.mark.parametrize("live", ["postgresql"], indirect=True)  # Passed for all three when it was written.
def test_the_workers_of_a_cluster_write_nothing(live: Live, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    distributed = pytest.importorskip("distributed")
    from coset.environment.configuration import load_environment
    from coset.evidence.work import over_cluster
    from coset.use_cases.comprehend import EVIDENCE, Settings, comprehend

    with sqlite3.connect(tmp_path / "shop.db") as database:
        database.execute("CREATE TABLE t (id INT)")
        database.execute("CREATE VIEW v AS SELECT * FROM t")
    with duckdb.connect(str(tmp_path / "crm.duckdb")) as crm:
        crm.execute("CREATE SEQUENCE s; CREATE TABLE t AS SELECT 1 AS id; CREATE VIEW v AS SELECT nextval('s') AS id")
    (tmp_path / "coset.yaml").write_text(
        "sources:\n  live: {location: '${LIVE_URL}'}\n  shop: {location: shop.db}\n  crm: {location: crm.duckdb}\n"
    )
    monkeypatch.setenv("LIVE_URL", live.url)
    files = {file: file.read_bytes() for file in (tmp_path / "shop.db", tmp_path / "crm.duckdb")}
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        settings = Settings(spread=over_cluster(cluster.scheduler_address))
        summary = comprehend(load_environment(tmp_path), settings, stages=EVIDENCE)
    assert summary.looked_at >= 4
    assert live.digest() == live.before
    assert {file: file.read_bytes() for file in files} == files
