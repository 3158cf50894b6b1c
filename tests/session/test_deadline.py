"""A statement's time bounds all that it needs: parsing, planning, pivots, sources, running."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

import duckdb
import pytest

from coset.environment.configuration import load_environment
from coset.errors import LimitReached
from coset.session.query_session import QuerySession
from coset.session.worker_process import Deadline


@pytest.fixture
def session(tmp_path: Path):
    with sqlite3.connect(tmp_path / "orders.db") as connection:
        connection.execute("CREATE TABLE orders (id INTEGER, kind TEXT)")
        connection.executemany("INSERT INTO orders VALUES (?, ?)", [(n, f"k{n % 7}") for n in range(3000)])
    with duckdb.connect(str(tmp_path / "made.duckdb")) as connection:
        connection.execute(
            "CREATE VIEW endless AS SELECT count(*) AS n FROM range(1000000000000) a, range(1000000000) b"
        )
    (tmp_path / "coset.yaml").write_text(
        "sources:\n  shop: {location: orders.db, limits: {snapshot_rows: 10}}\n"
        "  made: {location: made.duckdb, limits: {query_seconds: 600}}\n"
    )
    with QuerySession(load_environment(tmp_path)) as opened:
        opened.sql("SELECT count(*) FROM shop.orders")
        yield opened


MANY_BLOCKS = "SELECT " + ", ".join(f"(SELECT count(*) FROM shop.orders WHERE id > {n})" for n in range(400))
MANY_PIVOTS = " UNION ALL BY NAME ".join(
    f"SELECT * FROM (PIVOT (SELECT kind || '{n}' AS k, id FROM shop.orders) ON k USING count(id))" for n in range(60)
)


@pytest.mark.parametrize(
    "sql", [MANY_BLOCKS, MANY_PIVOTS, "SELECT n FROM made.endless"], ids=["blocks", "pivots", "view"]
)
def test_no_part_of_a_statement_is_outside_its_time(sql: str, session: QuerySession):
    with pytest.raises(LimitReached, match="stopped after 1 seconds"):
        session.sql(sql, seconds=1)
    assert session.sql("SELECT count(*) FROM shop.orders").rows() == [(3000,)]


def test_a_copy_that_is_taken_does_not_count():
    deadline = Deadline(0.2)
    with deadline.paused():
        time.sleep(0.3)
    assert deadline.left() > 0


def test_what_fails_in_time_fails_as_itself():
    def failing() -> None:
        raise KeyError("gone")

    with pytest.raises(KeyError):
        Deadline(5).run(failing, lambda: None)
