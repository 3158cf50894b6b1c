"""A SQLite file while it is read: streams, change, limits, and that nothing is written."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from coset.environment.scan import Aggregate, Order, Scan
from coset.environment.source import Table
from coset.environment.sources.sqlite import listing as sqlite_listing
from coset.environment.sources.sqlite.source import SQLiteFile
from coset.errors import LimitReached, TableVanished
from environment.sqlite.sqlite_files import make, rows_of, source_of, table_of


def test_rows_come_as_a_stream_of_bounded_batches(file):
    make(
        file,
        "CREATE TABLE t (a INTEGER, b TEXT)",
        "INSERT INTO t WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n LIMIT 40000) SELECT a, 'n' || a FROM n",
        "CREATE TABLE large (a INTEGER, b BLOB)",
        "INSERT INTO large WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n LIMIT 200) SELECT a, zeroblob(400000) FROM n",
    )
    source = source_of(file)
    batches = list(source.read(table_of(source)))
    assert max(batch.num_rows for batch in batches) < 20_000
    assert [row for batch in batches for row in batch.column(0).to_pylist()] == list(range(1, 40_001))
    large = list(source.read(table_of(source, "large")))
    assert sum(batch.num_rows for batch in large) == 200
    assert max(batch.nbytes for batch in large) < 110_000_000


def test_the_change_token_moves_with_every_change_and_only_then(file):
    make(file, "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")
    source = source_of(file)
    table = table_of(source)
    token = source.change_token(table)
    source.read(table).read_all()
    assert source.change_token(table) == token == source.fingerprint()
    for statement in (
        "INSERT INTO t VALUES (2)",
        "UPDATE t SET a = 3",
        "DELETE FROM t WHERE rowid = 1",
        "DELETE FROM t",
        "ALTER TABLE t ADD COLUMN b",
    ):
        time.sleep(0.01)  # the clock of the file system ticks every few milliseconds
        make(file, statement)
        assert source.change_token(table) != token, statement
        token = source.change_token(table)
    assert [column.name for column in table_of(source).columns] == ["a", "b"]


def test_a_listing_is_kept_until_the_file_changes(file):
    make(file, "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")
    source = source_of(file)
    first = source.tables()
    assert source.tables()[0] is first[0]
    time.sleep(0.01)
    make(file, "INSERT INTO t VALUES ('x')")
    assert (table_of(source).columns[0].type, table_of(source).rows) == ("VARCHAR", 2)


def test_a_listed_table_can_be_read_by_a_fresh_source(pair):
    source, table, _ = pair
    fresh = SQLiteFile(source.settings)
    assert fresh.read(table).read_all().equals(source.read(table).read_all())
    assert "aggregate:sum" not in fresh.pushes_for(table, "real")


def test_a_vanished_table_or_column_is_named(file):
    make(file, "CREATE TABLE t (a INTEGER, b INTEGER)", "INSERT INTO t VALUES (1, 2)")
    source = source_of(file)
    table = table_of(source)
    make(file, "ALTER TABLE t DROP COLUMN b")
    with pytest.raises(TableVanished, match="table 't'"):
        source.read(table)
    make(file, "DROP TABLE t")
    with pytest.raises(TableVanished, match="table 't'"):
        source.read(table)


@pytest.mark.parametrize(
    ("declared", "first", "then"),
    [
        ("INTEGER", "1", "1.5"),
        ("INTEGER", "1", "'x'"),
        ("BOOLEAN", "1", "2"),
        ("DECIMAL(5,2)", "1.25", "1.125"),
        ("DECIMAL(5,2)", "1.25", "123456"),
        ("DATE", "'2024-01-05'", "'soon'"),
        ("DATETIME", "'2024-01-05'", "'2023-02-29'"),
        ("REAL", "1.5", "'x'"),
    ],
)
def test_a_value_that_came_after_the_listing_and_does_not_fit_is_never_bent(file, declared, first, then):
    make(file, f"CREATE TABLE t (x {declared})", f"INSERT INTO t VALUES ({first})")
    source = source_of(file)
    table = table_of(source)
    make(file, f"INSERT INTO t VALUES ({then})")
    with pytest.raises(TableVanished, match="table 't' now holds values"):
        source.read(table).read_all()


@pytest.mark.parametrize("value", ["CAST(zeroblob(1200) AS TEXT)", "zeroblob(1200)"])
def test_a_value_beyond_the_limit_is_refused_with_its_column_and_size(file, value):
    make(file, 'CREATE TABLE t (a INTEGER, "the x")', f"INSERT INTO t VALUES (1, 'short'), (2, {value})")
    source = source_of(file, cell_bytes=1000)
    table = table_of(source)
    for scan in (Scan(), Scan(order=(Order("a"),))):
        with pytest.raises(LimitReached, match="1,200 bytes in column 'the x' of table 't'"):
            source.read(table, scan).read_all()
    assert rows_of(source, Scan(columns=("a",))) == [(1,), (2,)]
    assert len(rows_of(source_of(file, cell_bytes=1200))) == 2


def test_a_row_of_several_values_within_the_limit_is_read_and_sorted(file):
    make(file, "CREATE TABLE t (a, b, n)", "INSERT INTO t VALUES (zeroblob(700), zeroblob(700), 2), (x'01', x'02', 1)")
    source = source_of(file, cell_bytes=1000)
    assert [row[2] for row in rows_of(source, Scan(order=(Order("n"),)))] == [1, 2]


def test_a_statement_beyond_its_time_is_ended(file, monkeypatch):
    monkeypatch.setattr(sqlite_listing, "VIEW_STEPS", 1_000_000)
    make(
        file,
        "CREATE TABLE t (a INTEGER)",
        "INSERT INTO t WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n LIMIT 1000) SELECT a FROM n",
        "CREATE VIEW endless AS SELECT x.a FROM t AS x, t AS y, t AS z, t AS w",
    )
    table = table_of(source_of(file), "t")
    source = source_of(file, query_seconds=0.2)
    endless = Table("endless", "endless", table.columns, kind="view")
    with pytest.raises(LimitReached, match="query_seconds"):
        source.read(endless, Scan(aggregates=(Aggregate("count", None, "n"),)))


def can_write(path: Path) -> bool:
    """Whether another process can write right now."""
    code = f"import sqlite3; c = sqlite3.connect({str(path)!r}, timeout=0); c.execute('INSERT INTO t VALUES (0)'); c.commit()"
    return subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def test_the_file_is_held_only_while_it_is_read(file):
    make(
        file,
        "CREATE TABLE t (a INTEGER)",
        "INSERT INTO t WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n LIMIT 60000) SELECT a FROM n",
    )
    source = source_of(file)
    table = table_of(source)
    assert can_write(file)
    reader = source.read(table)
    reader.read_next_batch()
    assert source.change_token(table)
    assert not can_write(file)
    reader.read_all()
    assert can_write(file)
    reader = source.read(table)
    reader.read_next_batch()
    source.close()
    source.close()
    assert can_write(file)
    del reader
    reader = source.read(table)
    reader.read_next_batch()
    del reader
    assert can_write(file)


def test_the_source_cannot_write(file):
    make(file, "CREATE TABLE t (a)")
    connection = source_of(file)._connect()
    with pytest.raises(sqlite3.OperationalError, match=r"readonly|read-only"):
        connection.execute("INSERT INTO t VALUES (1)")
    connection.close()
