"""One SELECT across all sources: in place, from local copies, and cut down at the source."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from coset.environment.configuration import load_environment
from coset.errors import CosetError, LimitReached, NotAllowed, TableVanished, UserError
from coset.session.query_session import QuerySession
from coset.session.worker_process import WorkerLimits

REGIONS = ["north", "South", "süd", None]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Orders in SQLite, customers in DuckDB, regions in a CSV file."""
    with sqlite3.connect(tmp_path / "orders.db") as connection:
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, buyer TEXT, region TEXT, amount INTEGER)")
        connection.executemany(
            "INSERT INTO orders VALUES (?, ?, ?, ?)",
            [(number, f"c{number % 50}", REGIONS[number % 4], number * 3 % 101) for number in range(1000)],
        )
        connection.execute('CREATE TABLE "CARR# of ""select""" ("order" TEXT, "größe" REAL)')
        connection.execute('INSERT INTO "CARR# of ""select""" VALUES (\'a\', 1.5)')
    with duckdb.connect(str(tmp_path / "crm.duckdb")) as connection:
        connection.execute("CREATE TABLE customers AS SELECT 'c' || i AS id, 'name ' || i AS name FROM range(50) t(i)")
        connection.execute("CREATE SCHEMA archive; CREATE TABLE archive.old AS SELECT 7 AS a")
    (tmp_path / "regions.csv").write_text("region,manager\nnorth,Ann\nSouth,Bob\nsüd,Ćiro\n", encoding="utf-8")
    (tmp_path / "coset.yaml").write_text(
        "sources:\n  orders: {location: orders.db}\n  crm: {location: crm.duckdb}\n  regions: {location: regions.csv}\n"
    )
    return tmp_path


@pytest.fixture
def open_session(shop: Path):
    opened: list[QuerySession] = []

    def open_it(extra: str = "", **limits: float) -> QuerySession:
        if extra:
            (shop / "coset.yaml").write_text(
                f"sources:\n  orders: {{location: orders.db, {extra}}}\n  crm: {{location: crm.duckdb}}\n"
                "  regions: {location: regions.csv}\n"
            )
        opened.append(QuerySession(load_environment(shop), WorkerLimits(**limits)))
        return opened[-1]

    yield open_it
    for session in opened:
        session.close()


OpenSession = Callable[..., QuerySession]
STAYS = "limits: {snapshot_rows: 10}"


def truth(shop: Path, sql: str) -> list[tuple[object, ...]]:
    """What plain DuckDB says of the same tables."""
    connection = duckdb.connect()
    connection.execute(f"ATTACH '{shop}/crm.duckdb' AS crm (READ_ONLY)")
    connection.execute("CREATE SCHEMA orders; CREATE SCHEMA regions")
    rows = sqlite3.connect(shop / "orders.db").execute("SELECT * FROM orders").fetchall()
    connection.execute("CREATE TABLE orders.orders (id BIGINT, buyer VARCHAR, region VARCHAR, amount BIGINT)")
    connection.executemany("INSERT INTO orders.orders VALUES (?, ?, ?, ?)", rows)
    connection.execute(f"CREATE VIEW regions.regions AS FROM read_csv('{shop}/regions.csv')")
    return connection.execute(sql).fetchall()


JOIN = """
    SELECT r.manager, count(*) AS orders, sum(o.amount) AS amount
    FROM orders.orders o JOIN crm.customers c ON c.id = o.buyer JOIN regions.regions r USING (region)
    WHERE c.name <> 'name 3' GROUP BY ALL ORDER BY ALL
"""


def test_one_statement_joins_three_kinds_of_source(open_session: OpenSession, shop: Path):
    session = open_session()
    result = session.sql(JOIN)
    assert result.rows() == truth(shop, JOIN)
    assert {use.table: use.reading for use in result.uses} == {
        "orders.orders": "snapshot", "crm.main.customers": "in place", "regions.regions": "snapshot",
    }  # fmt: skip


def test_a_copy_is_kept_while_nothing_changes_and_renewed_when_something_does(open_session: OpenSession, shop: Path):
    session = open_session()
    count = "SELECT count(*) FROM orders.orders"
    assert session.sql(count).uses[0].rows == 1000
    assert session.sql(count).uses[0].rows == 0
    assert open_session().sql(count).uses[0].rows == 0, "another session uses the same copy"
    with sqlite3.connect(shop / "orders.db") as connection:
        connection.execute("INSERT INTO orders VALUES (5000, 'c1', 'north', 1)")
    copies = shop / ".coset" / "snapshots" / "orders"
    (earlier,) = copies.glob("*.parquet")
    result = session.sql(count)
    assert result.rows() == [(1001,)] and result.uses[0].rows == 1001
    assert earlier.exists(), "another session may have been told its path and not have opened it yet"
    hour_ago = time.time() - 3600
    os.utime(earlier, (hour_ago, hour_ago))
    with sqlite3.connect(shop / "orders.db") as connection:
        connection.execute("INSERT INTO orders VALUES (5001, 'c1', 'north', 1)")
    assert session.sql(count).rows() == [(1002,)]
    assert not earlier.exists() and len(list(copies.glob("*.parquet"))) == 2, "nobody waits for it any more"


def test_sessions_that_copy_the_same_table_at_once_do_not_take_it_from_each_other(open_session: OpenSession):
    sessions = [open_session() for _ in range(4)]
    ready, answers = threading.Barrier(len(sessions)), []

    def ask(session: QuerySession) -> None:
        ready.wait()
        try:
            answers.append(session.sql("SELECT count(*) FROM orders.orders").rows())
        except CosetError as error:
            answers.append(error)

    threads = [threading.Thread(target=ask, args=(session,)) for session in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [[(1000,)]] * len(sessions)


AGGREGATES = [
    "SELECT count(*) FROM orders.orders",
    "SELECT region, count(*) AS n FROM orders.orders GROUP BY region ORDER BY n, region",
    "SELECT region AS r, sum(amount), avg(amount) FROM orders.orders WHERE amount > 40 GROUP BY 1 ORDER BY 1",
    "SELECT region, round(avg(amount), 2) + 1 AS mean FROM orders.orders GROUP BY ALL ORDER BY mean",
    "SELECT count(DISTINCT buyer), min(region), max(amount), sum(amount) / count(*) FROM orders.orders",
    "SELECT DISTINCT region FROM orders.orders ORDER BY region NULLS FIRST",
    "SELECT region FROM orders.orders GROUP BY region HAVING count(*) > 10 ORDER BY max(id) DESC",
    "WITH t AS (SELECT buyer, sum(amount) AS s FROM orders.orders WHERE region = 'South' GROUP BY buyer) "
    "SELECT c.name, t.s FROM t JOIN crm.customers c ON c.id = t.buyer ORDER BY 2 DESC, 1 LIMIT 5",
    "SELECT sum(amount) FROM orders.orders WHERE amount < 0",
    "SELECT o.region, count(o.region) c FROM orders.orders AS o WHERE o.id IN (1, 2, 3, 5, 8) GROUP BY o.region ORDER BY 1",
]


@pytest.mark.parametrize("sql", AGGREGATES)
def test_plain_aggregates_of_a_large_table_are_computed_at_the_source(sql: str, open_session: OpenSession, shop: Path):
    result = open_session(STAYS).sql(sql)
    assert result.rows() == truth(shop, sql)
    use = next(use for use in result.uses if use.table == "orders.orders")
    assert use.reading == "computed at the source" and use.rows <= 50
    assert not list((shop / ".coset" / "snapshots").glob("orders/*.parquet"))


FETCHES = [
    ("SELECT id FROM orders.orders WHERE amount = 100 AND region = 'north' ORDER BY id", 1000 // 101 + 1),
    ("SELECT * FROM orders.orders LIMIT 3", 3),
    ("SELECT id, buyer FROM orders.orders WHERE amount >= 50 ORDER BY amount DESC, id LIMIT 4 OFFSET 2", 6),
    ("SELECT max(length(buyer)) FROM orders.orders WHERE id BETWEEN 10 AND 19", 10),
    ("SELECT buyer, row_number() OVER (ORDER BY id) FROM orders.orders WHERE id < 5 ORDER BY 1", 5),
    ("WITH x AS (SELECT * FROM orders.orders) SELECT c.name FROM x JOIN crm.customers c ON c.id = x.buyer "
     "WHERE x.id IN (7, 9) ORDER BY 1", 2),
    ("SELECT a.id FROM orders.orders a, orders.orders b WHERE a.id = 1 AND b.id = a.id", 1),
    ("SELECT count(*) FILTER (WHERE amount > 3) FROM orders.orders WHERE id < 20", 20),
    ("SELECT id FROM orders.orders WHERE region IS NULL AND id < 9 ORDER BY 1", 2),
    ("SELECT upper(region) AS r, count(*) FROM orders.orders WHERE id <= 7 GROUP BY 1 ORDER BY 1", 8),
    ("SELECT o.id, r.manager FROM orders.orders o LEFT JOIN regions.regions r USING (region) WHERE o.id < 4 ORDER BY 1", 4),
    ("SELECT id FROM orders.orders WHERE false", 0),
    ("SELECT id FROM orders.orders WHERE buyer LIKE 'c4%' AND id < 100 ORDER BY id", 100),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "at_most"), FETCHES)
def test_of_a_large_table_only_what_is_needed_travels(sql: str, at_most: int, open_session: OpenSession, shop: Path):
    result = open_session(STAYS).sql(sql)
    ordered = "ORDER BY" in sql
    expected = truth(shop, sql)
    assert (result.rows() if ordered else sorted(result.rows())) == (expected if ordered else sorted(expected))
    use = next(use for use in result.uses if use.table == "orders.orders")
    assert use.reading == "fetched" and use.rows <= at_most


def test_pulling_too_much_is_refused_with_the_way_out(open_session: OpenSession):
    session = open_session("limits: {snapshot_rows: 10, fetch_rows: 100}")
    with pytest.raises(LimitReached, match=r"more than 100 rows of 'orders.orders'.*filter or aggregate"):
        session.sql("SELECT max(length(buyer)) FROM orders.orders")
    assert session.sql("SELECT count(*) FROM orders.orders").rows() == [(1000,)]


def test_nothing_is_left_behind_after_a_statement(open_session: OpenSession, shop: Path):
    session = open_session(STAYS)
    session.sql("SELECT id FROM orders.orders WHERE id < 5")
    assert not list((shop / ".coset" / "fetched").rglob("*.parquet"))
    session.close()
    assert not list((shop / ".coset" / "fetched").iterdir())


def test_schema_only_lets_counts_out_and_no_value(open_session: OpenSession, shop: Path):
    session = open_session("schema_only: true")
    counts = "SELECT count(*), count(DISTINCT buyer) FROM orders.orders WHERE region IS NOT NULL AND amount IS NOT NULL"
    assert session.sql(counts).rows() == truth(shop, counts)
    for sql in (
        "SELECT * FROM orders.orders",
        "SELECT region, count(*) FROM orders.orders GROUP BY region",
        "SELECT max(buyer) FROM orders.orders",
        "SELECT sum(amount) FROM orders.orders",
        "SELECT DISTINCT buyer FROM orders.orders",
        "SELECT count(*) FROM orders.orders o JOIN crm.customers c ON c.id = o.buyer",
        "SELECT (SELECT count(*) FROM orders.orders), (SELECT any_value(buyer) FROM orders.orders)",
        # A value can be read by counting, one question after the other.
        "SELECT count(*) FROM orders.orders WHERE amount > 50",
        "SELECT count(*) FROM orders.orders WHERE region IS NOT NULL AND buyer = 'c1'",
        "SELECT count(*) FROM orders.orders WHERE region IS NULL OR amount BETWEEN 3 AND 7",
        "SELECT count(*) FILTER (WHERE amount > 50) FROM orders.orders",
        "SELECT count(CASE WHEN amount > 50 THEN 1 END) FROM orders.orders",
        "SELECT count(*) FROM orders.orders GROUP BY amount HAVING amount > 50",
        "SELECT count(*) FROM orders.orders WHERE buyer IN (SELECT id FROM crm.customers)",
        "SELECT count(*) FROM (SELECT amount FROM orders.orders ORDER BY amount LIMIT 3)",
        "SELECT count(*) FROM crm.customers c WHERE EXISTS (FROM orders.orders o WHERE o.buyer = c.id)",
        "SELECT count(*) FROM (SELECT DISTINCT amount > 50 FROM orders.orders)",
        "SELECT min(amount), max(amount) FROM orders.orders",
    ):
        with pytest.raises(NotAllowed, match="schema-only"):
            session.sql(sql)
    written = [path for path in (shop / ".coset").rglob("*") if path.is_file()]
    assert not any("süd".encode() in path.read_bytes() for path in written)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT * FROM orders", "source.table"),
        ("SELECT * FROM orders.order", r"did you mean orders\.orders"),
        ("SELECT * FROM shop.orders", r"did you mean orders\.orders"),
        ("SELECT * FROM crm.old_things", "there is no table"),
        ("SELECT nonesuch FROM orders.orders", "nonesuch"),
        ("SELEC 1", "syntax error"),
        ("SELECT id + buyer::INT FROM orders.orders WHERE id = 1", "column buyer"),
    ],
)
def test_mistakes_are_told_with_the_way_out(sql: str, expected: str, open_session: OpenSession):
    with pytest.raises(UserError, match=expected) as error:
        open_session().sql(sql)
    assert "\n" not in str(error.value)


def test_an_unknown_column_is_told_before_anything_is_copied(open_session: OpenSession, shop: Path):
    with pytest.raises(UserError):
        open_session().sql("SELECT nonesuch FROM orders.orders")
    assert not (shop / ".coset" / "snapshots" / "orders").exists()


@pytest.mark.parametrize("sql", ["DELETE FROM crm.customers", "SELECT 1; SELECT 2", "SELECT * FROM read_csv('x.csv')"])
def test_what_is_not_one_harmless_select_is_refused(sql: str, open_session: OpenSession):
    with pytest.raises(UserError):
        open_session().sql(sql)


def test_odd_names_and_schemas(open_session: OpenSession):
    session = open_session()
    assert session.sql('SELECT "order", "größe" FROM orders."CARR# of ""select"""').rows() == [("a", 1.5)]
    assert session.sql('SELECT "ORDER" FROM Orders."carr# OF ""SELECT"""').rows() == [("a",)]
    assert session.sql("SELECT a FROM crm.archive.old").rows() == [(7,)]
    assert session.sql("SELECT a FROM crm.old").rows() == [(7,)]
    assert session.sql("SELECT count(*) FROM crm.main.customers").rows() == [(50,)]


def test_a_pivot_without_values_works(open_session: OpenSession, shop: Path):
    sql = "PIVOT (SELECT region, buyer, amount FROM orders.orders WHERE id < 8) ON region USING sum(amount) ORDER BY buyer"
    result = open_session().sql(sql)
    assert result.rows() == truth(shop, sql)
    assert list(result.columns) == ["buyer", "South", "north", "süd"]


def test_a_table_that_vanishes_between_listing_and_reading_is_told(
    open_session: OpenSession, shop: Path, monkeypatch: pytest.MonkeyPatch
):
    session = open_session()
    source = session.catalogue.list_sources().sources["orders"]
    read = source.read

    def drop_and_read(*arguments: object) -> object:
        with sqlite3.connect(shop / "orders.db") as connection:
            connection.execute("DROP TABLE orders")
        return read(*arguments)

    monkeypatch.setattr(source, "read", drop_and_read)
    with pytest.raises(TableVanished, match="orders"):
        session.sql("SELECT * FROM orders.orders")
    with pytest.raises(UserError, match="there is no table"):
        session.sql("SELECT * FROM orders.orders")
    assert session.sql("SELECT count(*) FROM crm.customers").rows() == [(50,)]


def test_new_tables_and_columns_are_seen_without_reopening(open_session: OpenSession, shop: Path):
    session = open_session()
    session.sql("SELECT count(*) FROM orders.orders")
    with sqlite3.connect(shop / "orders.db") as connection:
        connection.execute("ALTER TABLE orders ADD COLUMN note TEXT DEFAULT 'x'")
        connection.execute("CREATE TABLE fresh AS SELECT 3 AS a")
    assert session.sql("SELECT DISTINCT note, a FROM orders.orders, orders.fresh").rows() == [("x", 3)]


def test_a_source_that_is_down_stops_no_other(shop: Path):
    (shop / "regions.csv").unlink()
    with QuerySession(load_environment(shop)) as session:
        assert session.sql("SELECT count(*) FROM orders.orders").rows() == [(1000,)]
        with pytest.raises(CosetError, match="regions"):
            session.sql("SELECT * FROM regions.regions")


def test_only_the_sources_that_a_statement_names_are_opened(open_session: OpenSession):
    session = open_session()
    session.sql("SELECT count(*) FROM crm.customers")
    assert set(session.catalogue.listings) == {"crm"}


def test_an_attached_duckdb_file_is_not_left_locked(open_session: OpenSession, shop: Path):
    session = open_session(idle_seconds=0.2)
    session.sql("SELECT count(*) FROM crm.customers")
    deadline = time.monotonic() + 20
    while True:
        try:
            with duckdb.connect(str(shop / "crm.duckdb")) as connection:
                connection.execute("INSERT INTO customers VALUES ('c99', 'new')")
            break
        except duckdb.IOException:
            assert time.monotonic() < deadline, "the file stays locked"
            time.sleep(0.1)
    assert session.sql("SELECT count(*) FROM crm.customers").rows() == [(51,)]


def test_a_file_open_for_writing_elsewhere_is_told(open_session: OpenSession, shop: Path):
    import subprocess
    import sys

    session = open_session()
    script = f"import duckdb, time; c = duckdb.connect({str(shop / 'crm.duckdb')!r}); print('open', flush=True); time.sleep(60)"
    writer = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    try:
        assert writer.stdout.readline() == b"open\n"
        with pytest.raises(CosetError, match="open for writing"):
            session.sql("SELECT count(*) FROM crm.customers")
    finally:
        writer.kill()
        writer.wait()
    assert session.sql("SELECT count(*) FROM crm.customers").rows() == [(50,)]


def test_the_users_files_are_not_changed(open_session: OpenSession, shop: Path):
    files = [shop / name for name in ("orders.db", "crm.duckdb", "regions.csv")]
    before = [(path.read_bytes(), path.stat().st_mtime_ns) for path in files]
    open_session().sql(JOIN)
    assert [(path.read_bytes(), path.stat().st_mtime_ns) for path in files] == before
    assert {path.name for path in shop.iterdir()} == {"orders.db", "crm.duckdb", "regions.csv", "coset.yaml", ".coset"}


def test_threads_share_a_session(open_session: OpenSession):
    session = open_session()
    answers: list[object] = []
    threads = [
        threading.Thread(
            target=lambda n=n: answers.append(session.sql(f"SELECT {n} + count(*) FROM orders.orders").rows())
        )
        for n in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [[(1000 + n,)] for n in range(6)]


def test_a_deeply_nested_statement_is_refused_and_the_session_lives(open_session: OpenSession):
    session = open_session()
    for sql in (
        "SELECT " + "(" * 20000 + "1" + ")" * 20000,
        "SELECT " + "-" * 30000 + "1",
        "SELECT 1" + " + 1" * 20000,
    ):
        with pytest.raises(CosetError):
            session.sql(sql)
    assert session.sql("SELECT 1").rows() == [(1,)]


def test_results_speak_arrow(open_session: OpenSession):
    result = open_session().sql("SELECT sum(amount) AS s FROM orders.orders")
    assert duckdb.sql("SELECT s FROM result").fetchall() == result.rows()
    assert isinstance(result.rows()[0][0], int)
