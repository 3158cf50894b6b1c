"""What tests of SQLite files share: a file of one's own, and one table as SQLite and as DuckDB read it."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import duckdb
import pytest

from environment.sqlite.sqlite_files import BIG, make_table, source_of, table_of


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "shop.sqlite"


TEXT = ["a", "A", "ä", "Ä", "b ", "b", "", " ", "Straße", "zz", "12", "9", None, "O'Brien", "a\x00b", "😀", "�"]
INTEGERS = [0, 1, -1, 5, -7, BIG + 1, -(BIG + 3), 2**62, None, 12]
REALS = [0.1, -0.1, 1.5, 0.30000000000000004, 1e300, -1e-300, 3, None, 12, float("-inf")]
PRICES = [0.01, -0.01, 19.99, 20, 1234567.89, None, 0, -5.5, 0.1, 19.98]
DAYS = ["2024-01-05", "2024-01-06", "1999-12-31", None, "0001-01-01", "9999-12-31"]
TIMES = [
    "2024-01-05",
    "2024-01-05T00:00:00",
    "2024-01-05 10:00",
    "2024-01-05 10:00:00.5",
    "2024-01-05T10:00:00.500000",
    "1999-12-31 23:59:59.999999",
    None,
]
FLAGS = [0, 1, None]


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """A source, its table, and DuckDB with the whole table as `t`."""
    chosen = random.Random(7)
    columns = [TEXT, TEXT, [*TEXT, 12, 1.5], INTEGERS, REALS, PRICES, DAYS, TIMES, FLAGS]
    rows = [tuple(chosen.choice(values) for values in columns) for _ in range(400)]
    path = make_table(
        tmp_path_factory.mktemp("scans") / "s.sqlite",
        'txt TEXT COLLATE NOCASE, pad VARCHAR COLLATE RTRIM, mixed, num INTEGER, "real" REAL, price DECIMAL(12,2),'
        " day DATE COLLATE NOCASE, time DATETIME, flag BOOLEAN",
        rows,
    )
    connection = sqlite3.connect(path)
    connection.execute("CREATE INDEX txt_index ON t (txt)")
    connection.execute("CREATE INDEX num_index ON t (num)")
    connection.commit()
    connection.close()
    source = source_of(path)
    table = table_of(source)
    assert [column.type for column in table.columns] == [
        "VARCHAR", "VARCHAR", "VARCHAR", "BIGINT", "DOUBLE", "DECIMAL(12,2)", "DATE", "TIMESTAMP", "BOOLEAN",
    ]  # fmt: skip
    session = duckdb.connect()
    answer = source.read(table).read_all()
    assert answer.num_rows == 400
    session.register("answer", answer)
    session.execute("CREATE TABLE t AS SELECT * FROM answer")
    yield source, table, session
    session.close()
