"""What a `sql` round trip costs on top of plain DuckDB in the same process.

    python benchmarks/sql_round_trip.py [--json]

The same small SELECT over the same 10,000-row table: by DuckDB in-process, and through a warm session (parse in the
worker, guard, freshness of the local copy, run, rows back as Arrow). Runs are interleaved; medians are compared.
"""

from __future__ import annotations

import sqlite3
import statistics
import tempfile
import time
from pathlib import Path

import duckdb
from report import report

from coset import QuerySession, load_environment

RUNS = 200
SQL = "SELECT region, count(*) AS n, sum(amount) AS s FROM {table} WHERE amount > 10 GROUP BY region ORDER BY region"


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [(i, f"region {i % 7}", i % 101) for i in range(10_000)]
        with sqlite3.connect(folder / "shop.db") as connection:
            connection.execute("CREATE TABLE orders (id INTEGER, region TEXT, amount INTEGER)")
            connection.executemany("INSERT INTO orders VALUES (?, ?, ?)", rows)
        (folder / "coset.yaml").write_text("sources:\n  shop: {location: shop.db}\n")
        plain = duckdb.connect()
        plain.execute("CREATE TABLE orders (id BIGINT, region VARCHAR, amount BIGINT)")
        plain.executemany("INSERT INTO orders VALUES (?, ?, ?)", rows)
        with QuerySession(load_environment(folder)) as session:
            started = time.perf_counter()
            session.sql("SELECT 1")
            first = time.perf_counter() - started
            expected = plain.sql(SQL.format(table="orders")).fetchall()
            assert session.sql(SQL.format(table="shop.orders")).rows() == expected
            direct, through = [], []
            for _ in range(RUNS):
                started = time.perf_counter()
                plain.sql(SQL.format(table="orders")).to_arrow_table()
                direct.append(time.perf_counter() - started)
                started = time.perf_counter()
                session.sql(SQL.format(table="shop.orders"))
                through.append(time.perf_counter() - started)
    plain_ms, coset_ms = statistics.median(direct) * 1000, statistics.median(through) * 1000
    report(
        "sql round trip, small SELECT",
        {
            "DuckDB in-process, ms": plain_ms,
            "coset sql, warm, ms": coset_ms,
            "overhead, ms": coset_ms - plain_ms,
            "ratio": coset_ms / plain_ms,
            "first statement after opening, ms": first * 1000,
        },
        aim="overhead under 30 ms",
        met=coset_ms - plain_ms < 30,
    )


if __name__ == "__main__":
    main()
