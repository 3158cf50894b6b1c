"""The session over live servers: one statement across engines, copies renewed on change, large tables left where they are."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from coset.environment.configuration import load_environment
from coset.session.query_session import QuerySession
from coset.sql_text import literal


def session_over(folder: Path, **locations: str) -> QuerySession:
    entries = "".join(f"  {name}: {location}\n" for name, location in locations.items())
    (folder / "coset.yaml").write_text(f"sources:\n{entries}")
    return QuerySession(load_environment(folder))


@pytest.fixture
def execute_postgresql(create_database: Callable[[str], str]):
    import adbc_driver_postgresql.dbapi as adbc

    url = create_database("live_session")

    def execute(*statements: str) -> str:
        with adbc.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
        return url

    return execute


def test_postgresql_mongodb_and_csv_join_in_one_statement(tmp_path: Path, execute_postgresql, mongodb_url: str):
    import pymongo

    url = execute_postgresql(
        "DROP TABLE IF EXISTS customers", "CREATE TABLE customers (id int PRIMARY KEY, name text)",
        "INSERT INTO customers VALUES (1, 'Ann'), (2, 'Bob')",
    )  # fmt: skip
    client: pymongo.MongoClient = pymongo.MongoClient(mongodb_url)
    database = client["live_session"]
    database.orders.drop()
    database.orders.insert_many(
        [
            {"buyer": "c-1", "lines": [{"sku": "x", "n": 2}, {"sku": "y", "n": 1}]},
            {"buyer": "c-2", "lines": [{"sku": "y", "n": 5}]},
        ]
    )
    (tmp_path / "prices.csv").write_text("sku,price\nx,10.5\ny,2\n")
    mongodb = mongodb_url.rstrip("/") + "/live_session" if mongodb_url.count("/") <= 3 else mongodb_url
    with session_over(
        tmp_path,
        crm=f"{{location: '{url}'}}",
        shop=f"{{location: '{mongodb}'}}",
        prices="{location: prices.csv}",
    ) as session:
        assert {listing.problem for listing in session.catalogue.list_sources().listings.values()} == {None}
        orders = next(
            f"shop.{table.qualified_name}"
            for table in session.catalogue.list_sources().listings["shop"].tables
            if table.name == "orders"
        )
        result = session.sql(
            f"""
            SELECT c.name, sum(line.n * p.price) AS total
            FROM {orders} o, unnest(o.lines) AS l(line), prices.prices p, crm.customers c
            WHERE p.sku = line.sku AND c.id = CAST(replace(o.buyer, 'c-', '') AS INTEGER)
            GROUP BY ALL ORDER BY c.name
            """
        )
    client.close()
    assert result.rows() == [("Ann", 23.0), ("Bob", 10.0)]


def test_a_postgresql_copy_is_renewed_after_each_kind_of_change(tmp_path: Path, execute_postgresql):
    url = execute_postgresql("DROP TABLE IF EXISTS t", "CREATE TABLE t AS SELECT i AS a FROM generate_series(1, 5) i")
    with session_over(tmp_path, crm=f"{{location: '{url}'}}") as session:
        total = "SELECT sum(a) FROM crm.t"
        assert session.sql(total).rows() == [(15,)]
        assert session.sql(total).uses[0].rows == 0
        for change, expected in (
            ("INSERT INTO t VALUES (10)", 25),
            ("UPDATE t SET a = 0 WHERE a = 1", 24),
            ("DELETE FROM t WHERE a = 10", 14),
            ("TRUNCATE t", None),
        ):
            execute_postgresql(change)
            deadline = time.monotonic() + 30
            while session.sql(total).rows() != [(expected,)]:
                # PostgreSQL's statistics may lag behind a commit for a moment.
                assert time.monotonic() < deadline, change
                time.sleep(0.2)


LARGE = [
    ("SELECT kind, count(*) AS n, sum(amount) AS s, avg(amount) AS m FROM {t} WHERE amount >= 100 GROUP BY kind ORDER BY kind",
     "computed at the source", 8),
    ("SELECT count(DISTINCT kind), min(id), max(id), min(kind), max(kind) FROM {t}", "computed at the source", 1),
    ("SELECT DISTINCT kind FROM {t} ORDER BY 1", "computed at the source", 8),
    ("SELECT id, kind FROM {t} WHERE id IN (5, 7, 4000) ORDER BY id", "fetched", 3),
    ("SELECT id FROM {t} WHERE kind = 'B' ORDER BY amount DESC, id LIMIT 3", "fetched", 3),
    ("SELECT upper(kind) AS k, count(*) FROM {t} WHERE id <= 100 GROUP BY 1 ORDER BY 1", "fetched", 100),
    ("WITH x AS (SELECT * FROM {t}) SELECT sum(length(kind)) FROM x WHERE id BETWEEN 11 AND 20", "fetched", 10),
]  # fmt: skip
KINDS = ["a", "B", "b", "ä", "x\nc0=5\ny", "it's\n'", 'q"\\\n"c2=1', "100%_]\nc2=5\n["]
"""Some are made to break out of the text of a plan, a literal, a pattern or a list."""
EXPECTED_SETUP = (
    f"CREATE TABLE t AS SELECT i AS id, ([{', '.join(map(literal, KINDS))}])[i % {len(KINDS)} + 1] AS kind, "
    "i % 500 AS amount FROM range(1, 5001) r(i)"
)


@pytest.fixture(params=["postgresql", "mysql", "mongodb", "sqlite"])
def large_table(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The location of a 5,000-row table `t` in each engine that has one to leave tables with."""
    rows = [(i, KINDS[i % len(KINDS)], i % 500) for i in range(1, 5001)]
    if request.param == "postgresql":
        execute = request.getfixturevalue("execute_postgresql")
        values = ", ".join(f"({i}, {literal(kind)}, {amount})" for i, kind, amount in rows)
        return execute(
            "DROP TABLE IF EXISTS t", "CREATE TABLE t (id int, kind text, amount int)", f"INSERT INTO t VALUES {values}",
            "ANALYZE t",
        )  # fmt: skip
    if request.param == "mysql":
        import pymysql

        url = request.getfixturevalue("create_mysql_database")(f"live_{len(request.node.name)}")
        from urllib.parse import unquote, urlsplit

        parts = urlsplit(url)
        connection = pymysql.connect(
            host=parts.hostname, port=parts.port, user=unquote(parts.username or ""), password=unquote(parts.password or ""),
            database=parts.path.strip("/"), charset="utf8mb4", autocommit=True,
        )  # fmt: skip
        with connection, connection.cursor() as cursor:
            cursor.execute("DROP TABLE IF EXISTS t")
            cursor.execute("CREATE TABLE t (id int, kind varchar(40), amount int) CHARACTER SET utf8mb4")
            cursor.executemany("INSERT INTO t VALUES (%s, %s, %s)", rows)
            cursor.execute("ANALYZE TABLE t")
        return url
    if request.param == "mongodb":
        import pymongo

        url = request.getfixturevalue("mongodb_url")
        client: pymongo.MongoClient = pymongo.MongoClient(url)
        client["live_large"].t.drop()
        client["live_large"].t.insert_many([{"id": i, "kind": kind, "amount": amount} for i, kind, amount in rows])
        client.close()
        return url.rstrip("/") + "/live_large" if url.count("/") <= 3 else url
    import sqlite3

    with sqlite3.connect(tmp_path / "large.db") as database:
        database.execute("CREATE TABLE t (id INTEGER, kind TEXT COLLATE NOCASE, amount INTEGER)")
        database.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
    return str(tmp_path / "large.db")


def hostile_statements(count: int) -> list[str]:
    """Statements with literals that try to leave their quotes, made under a seed."""
    chance = random.Random(32)
    texts = [*KINDS, "", "c1", "' OR 1=1 --", "E'\\n'", "\n", "optional: c0=1", "\u2028c0=5", "a'; c0=1"]

    def condition(depth: int = 0) -> str:
        form = chance.randrange(10 if depth < 2 else 7)
        text = literal(chance.choice(texts))
        if form == 0:
            return f"kind {chance.choice(['=', '<>', '<', '>=', '>', '<='])} {text}"
        if form == 1:
            return (
                f"kind {chance.choice(['', 'NOT '])}IN ({', '.join(literal(each) for each in chance.sample(texts, 3))})"
            )
        if form == 2:
            return f"id {chance.choice(['=', '<', '>'])} {chance.choice([5, 77, 4000, 1e3, 2.5, -1])}"
        if form == 3:
            return f"amount BETWEEN {chance.randrange(300)} AND {chance.randrange(500)}"
        if form == 4:
            return f"kind = {text} || chr(10) || {literal(chance.choice(texts))}"
        if form == 5:
            return f"kind IS {chance.choice(['', 'NOT '])}NULL"
        if form == 6:
            return f"list_contains([{text}, {literal(chance.choice(texts))}], kind)"
        if form == 7:
            return f"NOT ({condition(depth + 1)})"
        return f"({condition(depth + 1)} {chance.choice(['AND', 'OR'])} {condition(depth + 1)})"

    shapes = [
        "SELECT count(*), sum(amount) FROM {{t}} WHERE {}",
        "SELECT kind, count(*) FROM {{t}} WHERE {} GROUP BY kind ORDER BY ALL",
        "SELECT id, kind FROM {{t}} WHERE {} ORDER BY id LIMIT 7",
        "SELECT count(*) FILTER (WHERE length(kind) > 1), max(upper(kind)) FROM {{t}} WHERE {}",
        "SELECT a.id FROM {{t}} a JOIN {{t}} b ON b.id = a.id AND b.amount < 9 WHERE a.kind <> 'b' AND a.{} ORDER BY 1",
    ]
    plain = [shapes[number % 4].format(condition().replace("{", "{{")) for number in range(count)]
    return [*plain, shapes[4].format("kind = " + literal(KINDS[4]))]


def test_what_is_pushed_answers_as_what_is_computed_here(large_table: str, tmp_path: Path):
    import duckdb

    truth = duckdb.connect()
    truth.execute(EXPECTED_SETUP)
    with session_over_large(large_table, tmp_path) as session:
        table = next(t for t in session.catalogue.list_sources().listings["big"].tables if t.name == "t")
        pushed = 0
        for sql in hostile_statements(60):
            result = session.sql(sql.format(t=f"big.{table.qualified_name}"))
            assert result.rows() == truth.execute(sql.format(t="t")).fetchall(), sql
            pushed += any((use.rows or 0) < 5000 for use in result.uses)
        assert pushed > 30


def session_over_large(large_table: str, tmp_path: Path) -> QuerySession:
    limits = "limits: {snapshot_rows: 1000}"
    if "@" in large_table and "://" in large_table:
        from coset.environment.secrets import passwords_of, without_password, write_secret

        if passwords := passwords_of(large_table):
            write_secret(tmp_path / ".coset" / "secrets.env", "P", passwords[-1])
            large_table = without_password(large_table, "${P}")
    return session_over(tmp_path, big=f"{{location: '{large_table}', {limits}}}")


def test_a_large_table_stays_in_its_engine(large_table: str, tmp_path: Path):
    import duckdb

    truth = duckdb.connect()
    truth.execute(EXPECTED_SETUP)
    with session_over_large(large_table, tmp_path) as session:
        table = next(t for t in session.catalogue.list_sources().listings["big"].tables if t.name == "t")
        for sql, reading, at_most in LARGE:
            result = session.sql(sql.format(t=f"big.{table.qualified_name}"))
            expected = truth.execute(sql.format(t="t")).fetchall()
            assert [
                tuple(pytest.approx(v) if isinstance(v, float) else v for v in row) for row in expected
            ] == result.rows(), sql
            assert result.uses[0].reading == reading, sql
            assert result.uses[0].rows <= at_most, sql
    assert not list((tmp_path / ".coset").glob("snapshots/**/*.parquet"))
