"""A count by group, computed at a PostgreSQL server: through SQLAlchemy against the native source, in one run.

    python benchmarks/pushdown_sqlalchemy.py [rows]

Prints seconds (the median of five) and the ratio; the second figure is of a copy of the whole table.
"""

import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from coset.environment.scan import EVERYTHING, Aggregate, Scan
from coset.environment.source import SourceSettings
from coset.environment.sources import open_source
from engines.postgresql import running_postgresql

ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
COUNT = Scan(group_by=("label",), aggregates=(Aggregate("count", None, "n"), Aggregate("sum", "quantity", "q")))


def timed(source, table, scan):
    seconds = []
    for _ in range(5 if scan is COUNT else 1):
        started = time.perf_counter()
        rows = source.read(table, scan).read_all().num_rows
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds), rows


with running_postgresql() as server:
    url = server.create_database("speed")
    server.run(
        url,
        "CREATE TABLE orders AS SELECT i AS id, 'label ' || i % 50 AS label, i % 7 AS quantity "
        f"FROM generate_series(1, {ROWS}) AS s(i); ANALYZE orders;",
    )
    found = {}
    for kind, location in (("postgresql", url), ("sqlalchemy", url.replace("://", "+psycopg://", 1))):
        source = open_source(SourceSettings("shop", location, kind))
        (table,) = source.tables()
        found[kind] = [timed(source, table, scan) for scan in (COUNT, EVERYTHING)]
        source.close()
for place, name in enumerate(("count by group", "whole table")):
    native, other = found["postgresql"][place], found["sqlalchemy"][place]
    assert native[1] == other[1]
    ratio = other[0] / native[0]
    print(f"{name}: native {native[0]:.3f} s, SQLAlchemy {other[0]:.3f} s, ratio {ratio:.2f}, {other[1]} rows")
