"""MySQL and MariaDB: how rows are read, and that nothing is written."""

from __future__ import annotations

import pytest

from coset.environment.scan import Comparison, Scan
from coset.environment.sources.mysql import connection as mysql_connection
from coset.errors import LimitReached, SourceUnreachable
from environment.mysql.mysql_databases import Database, connections, many_rows, table_of, wait_until


def test_rows_come_as_a_stream_of_batches(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mysql_connection, "BATCH_ROWS", 100)
    many_rows(database, 1000)
    source = database.source()
    reader = source.read(table_of(source, "many"))
    sizes = [batch.num_rows for batch in reader]
    assert sizes == [100] * 10
    monkeypatch.setattr(mysql_connection, "BATCH_BYTES", 500)
    assert max(batch.num_rows for batch in source.read(table_of(source, "many"))) < 60


def test_a_reader_may_be_open_while_other_questions_are_asked_and_may_be_given_up(database: Database) -> None:
    many_rows(database, 100_000)
    source = database.source()
    table = table_of(source, "many")
    reader = source.read(table)
    first = reader.read_next_batch()
    assert source.change_token(table) == source.change_token(table)
    assert first.num_rows + sum(batch.num_rows for batch in reader) == 100_000
    given_up = source.read(table)
    given_up.read_next_batch()
    del given_up
    never_started = source.read(table)
    del never_started
    wait_until(lambda: len(connections(database)) <= 1)
    source.close()
    source.close()
    wait_until(lambda: connections(database) == [])


def test_a_reader_sees_one_moment_of_the_table(database: Database) -> None:
    many_rows(database, 50_000)
    source = database.source()
    reader = source.read(table_of(source, "many"))
    database.run("DELETE FROM many")
    assert reader.read_all().num_rows == 50_000


def test_closing_ends_an_open_reader_with_a_plain_sentence(database: Database) -> None:
    many_rows(database, 100_000)
    source = database.source()
    reader = source.read(table_of(source, "many"))
    reader.read_next_batch()
    source.close()
    with pytest.raises(SourceUnreachable, match="closed while table 'many'"):
        reader.read_all()
    assert source.read(table_of(source, "many")).read_next_batch().num_rows > 0


@pytest.mark.parametrize("size", [70_000, 34_000_000])
def test_values_of_any_size_are_read_whole(database: Database, size: int) -> None:
    database.run("CREATE TABLE t (id INT, before_it TEXT, big LONGBLOB, after_it TEXT)")
    database.run(f"INSERT INTO t VALUES (1, REPEAT('b', 300), REPEAT('x', {size}), NULL), (2, NULL, NULL, 'end')")
    source = database.source()
    read = source.read(table_of(source, "t")).read_all()
    assert read["big"][0].as_py() == b"x" * size
    assert read["id"].to_pylist() == [1, 2] and read["after_it"].to_pylist() == [None, "end"]


@pytest.mark.parametrize("size", [2_001, 34_000_000])
def test_a_value_over_the_limit_is_refused_and_the_source_goes_on(database: Database, size: int) -> None:
    database.run("CREATE TABLE t (id INT, fits TEXT, big LONGTEXT)")
    database.run(
        f"INSERT INTO t VALUES (1, REPEAT('a', 1900), REPEAT('x', {size})), (2, REPEAT('a', 1900), REPEAT('a', 1900))"
    )
    source = database.source(cell_bytes=2_000)
    table = table_of(source, "t")
    with pytest.raises(LimitReached, match=rf"'big' in table 't' has {size} bytes.*cell_bytes = 2000"):
        source.read(table).read_all()
    assert source.read(table, Scan(columns=("id", "fits"))).read_all().num_rows == 2
    assert source.read(table, Scan(where=Comparison("id", "=", 2))).read_all().num_rows == 1


def test_a_write_through_the_connection_is_refused_by_the_server(database: Database) -> None:
    import pymysql

    database.run("CREATE TABLE t (a INT)")
    source = database.source()
    source.tables()
    connection = source._idle[0]
    for statement in (
        "INSERT INTO t VALUES (1)",
        "DELETE FROM t",
        "DROP TABLE t",
        "CREATE TABLE u (a INT)",
        "TRUNCATE t",
        "ALTER TABLE t ADD b INT",
    ):
        for begin in ("SELECT 1", "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"):
            connection.query(begin)
            with pytest.raises(pymysql.err.MySQLError) as refused:
                connection.query(statement)
            assert refused.value.args[0] == 1792
    assert database.run("SELECT COUNT(*) FROM t") == [(0,)]
