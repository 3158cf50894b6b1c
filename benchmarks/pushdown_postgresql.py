"""A count by group over a 20-million-row PostgreSQL table: computed there, not pulled.

    python benchmarks/pushdown_postgresql.py [--rows 20000000] [--json]

The same statement through coset, by the server itself over ADBC, and (on a tenth of the rows, scaled) by pulling the
two columns with ADBC and grouping locally, which is what a session without push-down would do.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import duckdb
from postgresql_server import execute, postgresql
from report import report

from coset import QuerySession, load_environment


def main() -> None:
    import adbc_driver_postgresql.dbapi as adbc

    rows = int(sys.argv[sys.argv.index("--rows") + 1]) if "--rows" in sys.argv else 20_000_000
    with postgresql() as url, tempfile.TemporaryDirectory() as name:
        print(f"making {rows:,} rows ...", file=sys.stderr)
        execute(
            url,
            f"CREATE UNLOGGED TABLE events AS SELECT i AS id, 'kind ' || i % 12 AS kind, (i % 1000)::float8 AS amount "
            f"FROM generate_series(1, {rows}) i",
            "ANALYZE events",
        )
        folder = Path(name)
        (folder / "coset.yaml").write_text(f"sources:\n  crm: {{location: '{url}'}}\n")
        sql = (
            "SELECT kind, count(*) AS n, sum(amount) AS total FROM {table} "
            "WHERE amount < 900 GROUP BY kind ORDER BY kind"
        )
        with QuerySession(load_environment(folder)) as session, adbc.connect(url) as connection:
            session.sql("SELECT 1")
            with connection.cursor() as cursor:
                started = time.perf_counter()
                cursor.execute(sql.format(table="events"))
                expected = cursor.fetchall()
                server_s = time.perf_counter() - started
            started = time.perf_counter()
            result = session.sql(sql.format(table="crm.events"))
            coset_s = time.perf_counter() - started
            with connection.cursor() as cursor:
                started = time.perf_counter()
                cursor.execute(f"SELECT kind, amount FROM events WHERE id <= {rows // 10}")
                local = duckdb.connect()
                local.register("pulled", cursor.fetch_arrow_table())
                local.sql("SELECT kind, count(*), sum(amount) FROM pulled WHERE amount < 900 GROUP BY kind").fetchall()
                pull_s = (time.perf_counter() - started) * 10
        assert [tuple(row) for row in expected] == result.rows()
        use = result.uses[0]
    report(
        f"count by group over {rows:,} PostgreSQL rows",
        {
            "the server itself, s": server_s,
            "coset sql, s": coset_s,
            "ratio to the server": coset_s / server_s,
            "pulling the rows instead (scaled from a tenth), s": pull_s,
            "rows that travelled": float(use.rows or 0),
            "how": use.reading,
        },
        aim="no row is pulled, within 1.2 times of the server",
        met=use.reading == "computed at the source" and coset_s <= 1.2 * server_s + 0.1,
    )


if __name__ == "__main__":
    main()
