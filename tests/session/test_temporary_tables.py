"""Temporary tables: rows kept under a name, read by later statements as `result.name`, and gone with the session."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from coset.environment.configuration import load_environment
from coset.errors import LimitReached, NotAllowed, UserError
from coset.session import own_tables
from coset.session.query_session import QuerySession


@pytest.fixture
def session(tmp_path: Path):
    with sqlite3.connect(tmp_path / "orders.db") as connection:
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, buyer TEXT, amount INTEGER)")
        connection.executemany(
            "INSERT INTO orders VALUES (?, ?, ?)", [(number, f"c{number % 7}", number) for number in range(500)]
        )
    with duckdb.connect(str(tmp_path / "crm.duckdb")) as connection:
        connection.execute("CREATE TABLE customers AS SELECT 'c' || i AS id, 'name ' || i AS name FROM range(7) t(i)")
    (tmp_path / "coset.yaml").write_text(
        "sources:\n  orders: {location: orders.db, limits: {snapshot_rows: 10}}\n  crm: {location: crm.duckdb}\n"
    )
    with QuerySession(load_environment(tmp_path)) as opened:
        yield opened


LABELS = pa.table({"id": ["c1", "c2", "c3"], "label": ["gold", "gold", None]})


def test_rows_are_read_back_and_join_with_tables_in_place_and_at_their_source(session: QuerySession):
    name = session.add_table("labels", LABELS)
    assert session.sql(f"SELECT * FROM {name} ORDER BY id").rows() == [("c1", "gold"), ("c2", "gold"), ("c3", None)]
    joined = session.sql(
        "SELECT l.label, count(*) AS orders, sum(o.amount) FROM orders.orders o JOIN Result.LABELS l ON l.id = o.buyer "
        "JOIN crm.customers c ON c.id = l.id WHERE o.amount < 70 GROUP BY ALL ORDER BY orders DESC"
    )
    assert joined.rows() == [("gold", 20, sum(n for n in range(70) if n % 7 in (1, 2))), (None, 10, 345)]


def test_a_result_keeps_its_types_as_a_temporary_table(session: QuerySession):
    statement = (
        "SELECT sum(amount)::HUGEINT * 100000000000000000000 AS big, DATE '2024-02-29' AS day, "
        "INTERVAL '-1 day' AS span, [1, 2] AS list, {'a': 1} AS struct, 1.50::DECIMAL(9,2) AS price, "
        "'x'::ENUM('x', 'y') AS kind FROM orders.orders"
    )
    result = session.sql(statement)
    session.add_table("kept", result.table, result.types)
    again = session.sql('SELECT * FROM result."kept"')
    assert again.types == result.types and again.rows() == result.rows()


def test_a_table_of_the_same_name_is_replaced(session: QuerySession):
    session.add_table("labels", LABELS)
    assert session.sql("SELECT count(*) FROM result.labels").rows() == [(3,)]
    session.add_table("Labels", pa.table({"other": [1]}))
    assert session.sql("SELECT other FROM result.labels").rows() == [(1,)]
    with pytest.raises(UserError, match="label"):
        session.sql("SELECT label FROM result.labels")


def test_an_empty_table_and_columns_of_one_name_are_kept(session: QuerySession):
    session.add_table("none", pa.table({"a": pa.array([], pa.int64())}))
    assert session.sql("SELECT * FROM result.none").rows() == []
    session.add_table("order", pa.table([pa.array([1]), pa.array([2])], names=["n", "N"]))
    assert session.sql('SELECT * FROM result."order"').columns == ("n", "N_1")


def test_a_name_that_is_none_is_told_with_those_there_are(session: QuerySession):
    with pytest.raises(UserError, match="none was made"):
        session.sql("SELECT * FROM result.labels")
    session.add_table("labels", LABELS)
    with pytest.raises(UserError, match=r"there are result\.labels"):
        session.sql("SELECT * FROM result.lables")
    for name in ("a.b", "1st", "x'; DROP", ""):
        with pytest.raises(UserError, match="cannot name"):
            session.add_table(name, LABELS)
    with pytest.raises(UserError, match="no column"):
        session.add_table("bare", pa.table({}))


def test_the_guard_still_holds(session: QuerySession):
    session.add_table("labels", LABELS)
    for statement in (
        "DELETE FROM result.labels",
        "INSERT INTO result.labels VALUES ('c9', 'gold')",
        "CREATE TABLE result.more AS SELECT 1",
        "COPY result.labels TO 'stolen.csv'",
        "SELECT * FROM read_parquet('*.parquet')",
        "SELECT * FROM result.information_schema.tables",
    ):
        with pytest.raises((NotAllowed, UserError)):
            session.sql(statement)
    assert session.sql("SELECT count(*) FROM result.labels").rows() == [(3,)]


def test_what_was_kept_goes_with_the_session(tmp_path: Path):
    (tmp_path / "a.csv").write_text("a\n1\n")
    (tmp_path / "coset.yaml").write_text("sources:\n  files: {location: a.csv}\n")
    with QuerySession(load_environment(tmp_path)) as session:
        session.add_table("labels", LABELS)
        assert list((tmp_path / ".coset" / "fetched").rglob("*.parquet"))
    assert not list((tmp_path / ".coset").rglob("*.parquet"))


def test_temporary_tables_may_not_grow_without_end(session: QuerySession, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(own_tables, "MOST_TABLES", 2)
    session.add_table("one", LABELS)
    session.add_table("two", LABELS)
    with pytest.raises(LimitReached, match="2 temporary tables"):
        session.add_table("three", LABELS)
    monkeypatch.setattr(own_tables, "MOST_BYTES", 100)
    with pytest.raises(LimitReached, match="larger"):
        session.add_table("two", LABELS)
    assert session.sql("SELECT count(*) FROM result.two").rows() == [(3,)]
