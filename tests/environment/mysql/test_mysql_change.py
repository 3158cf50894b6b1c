"""MySQL and MariaDB: the token of a table changes with every change."""

from __future__ import annotations

import itertools
from contextlib import closing

import pytest

from coset.environment.sources.mysql import source as mysql
from coset.environment.sources.mysql.source import MySQL
from environment.mysql.mysql_databases import Database, rows_of, settings, table_of, wait_until


def test_the_token_changes_with_every_change_even_within_one_second(database: Database) -> None:
    database.run("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(10))")
    database.run("INSERT INTO t VALUES (1, 'a')")
    source = database.source()
    table = table_of(source, "t")
    seen = [source.change_token(table)]
    for statement in (
        "INSERT INTO t VALUES (2, 'b')",
        "UPDATE t SET a = 'c' WHERE id = 2",
        "UPDATE t SET a = 'd' WHERE id = 2",
        "DELETE FROM t WHERE id = 2",
        "ALTER TABLE t ADD b INT",
        "TRUNCATE t",
    ):
        assert source.change_token(table) == seen[-1]
        database.run(statement)
        seen.append(source.change_token(table))
    # Deleting what was inserted gives the rows of before: the same checksum, perhaps the same second.
    assert all(before != after for before, after in itertools.pairwise(seen)) and None not in seen
    with closing(MySQL(settings(database.url))) as other:
        assert other.change_token(table) == source.change_token(table)


def test_the_token_of_a_large_table_never_misses_a_change_of_the_same_second(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mysql, "CHECKSUM_BYTES", 0)
    database.run("CREATE TABLE t (id INT)")
    database.run("INSERT INTO t VALUES (1)")
    source = database.source()
    table = table_of(source, "t")
    seen = [source.change_token(table)]
    for number in range(5):
        database.run(f"UPDATE t SET id = {number + 2}")
        seen.append(source.change_token(table))
    assert len(set(seen)) == 6
    wait_until(lambda: source.change_token(table) == source.change_token(table))
    settled = source.change_token(table)
    database.run("INSERT INTO t VALUES (9)")
    assert source.change_token(table) != settled


def test_a_view_has_no_token(database: Database) -> None:
    database.run("CREATE VIEW v AS SELECT 1 AS one")
    source = database.source()
    view = table_of(source, "v")
    assert source.change_token(view) is None
    assert rows_of(source, view) == [(1,)]
