"""First local copy of a 1-million-row PostgreSQL table against ADBC fetching the same table to Arrow.

    python benchmarks/snapshot_postgresql.py [--json]

Both read the same table from the same server, alternating, five times each; the copy is thrown away in between. The
copy ends as a typed Parquet file, plain ADBC in memory.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from pathlib import Path

from postgresql_server import execute, postgresql
from report import report

from coset import QuerySession, load_environment

RUNS = 5
TABLE = """
    CREATE TABLE orders AS SELECT i AS id, 'customer ' || (i % 50000) AS buyer,
        (ARRAY['north', 'south', 'east', 'west'])[i % 4 + 1] AS region,
        (i % 100000) / 100.0::double precision AS amount,
        (i % 9 = 0) AS paid, timestamp '2024-01-01' + i * interval '1 second' AS placed_at,
        date '2020-01-01' + i % 2000 AS due, (i % 500)::int AS product
    FROM generate_series(1, 1000000) i
"""


def main() -> None:
    import adbc_driver_postgresql.dbapi as adbc

    with postgresql() as url, tempfile.TemporaryDirectory() as name:
        execute(url, TABLE, "ANALYZE orders")
        folder = Path(name)
        (folder / "coset.yaml").write_text(f"sources:\n  crm: {{location: '{url}'}}\n")
        plain, copied = [], []
        with QuerySession(load_environment(folder)) as session, adbc.connect(url) as connection:
            session.sql("SELECT 1")
            for _ in range(RUNS):
                started = time.perf_counter()
                with connection.cursor() as cursor:
                    cursor.execute("SELECT * FROM orders")
                    table = cursor.fetch_arrow_table()
                plain.append(time.perf_counter() - started)
                assert table.num_rows == 1_000_000
                shutil.rmtree(folder / ".coset" / "snapshots", ignore_errors=True)
                started = time.perf_counter()
                result = session.sql("SELECT count(*) FROM crm.orders")
                copied.append(time.perf_counter() - started)
                assert result.rows() == [(1_000_000,)] and result.uses[0].rows == 1_000_000
    adbc_s, coset_s = statistics.median(plain), statistics.median(copied)
    report(
        "first snapshot of 1,000,000 PostgreSQL rows, 8 columns",
        {"ADBC to Arrow, s": adbc_s, "coset snapshot to Parquet, s": coset_s, "ratio": coset_s / adbc_s},
        aim="within 1.5 times",
        met=coset_s <= 1.5 * adbc_s,
    )


if __name__ == "__main__":
    main()
