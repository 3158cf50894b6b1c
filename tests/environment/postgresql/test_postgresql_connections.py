"""PostgreSQL against a real server: connections that are shared, dropped, refused or silent."""

from __future__ import annotations

import gc
import os
import socket
import sys
import threading
import time

import pytest

from coset.errors import MissingDependency, SourceUnreachable
from environment.postgresql.postgresql_tables import table_of

adbc = pytest.importorskip("adbc_driver_postgresql.dbapi")


def test_a_table_is_read_in_batches_while_other_questions_are_asked(database, opened):
    database("CREATE TABLE t AS SELECT i, repeat('x', 90) AS x FROM generate_series(1, 200000) i; CREATE TABLE u AS SELECT 1 AS i;")  # fmt: skip
    source = opened()
    table, small = table_of(source, "t"), table_of(source, "u")
    reader = source.read(table)
    first = reader.read_next_batch()
    assert first.num_rows < 100_000
    assert source.change_token(table) and source.read(small).read_all().num_rows == 1
    answers = []
    worker = threading.Thread(target=lambda: answers.append(source.tables()))
    worker.start()
    worker.join()
    assert len(answers[0]) == 2
    assert first.num_rows + sum(batch.num_rows for batch in reader) == 200_000


def _sessions(database, wanted: int) -> int:
    """How many sessions coset has at the server, given time to get down to `wanted`."""
    for _ in range(200):
        count = int(database("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'coset' AND datname = current_database()"))  # fmt: skip
        if count <= wanted:
            break
        time.sleep(0.05)
    return count


def test_nothing_stays_open_after_a_dropped_reader_an_error_or_close(database, opened):
    database("CREATE TABLE t AS SELECT i, repeat('x', 90) AS x FROM generate_series(1, 400000) i; CREATE VIEW broken AS SELECT 1 / (i - 100000) AS q FROM t;")  # fmt: skip
    source = opened()
    tables = {table.name: table for table in source.tables()}
    unread = source.read(tables["t"])
    begun = source.read(tables["t"])
    begun.read_next_batch()
    assert _sessions(database, 3) == 3
    del unread, begun
    gc.collect()
    assert _sessions(database, 1) == 1
    with pytest.raises(SourceUnreachable, match="division by zero"):
        source.read(tables["broken"]).read_all()
    assert _sessions(database, 1) == 1
    open_reader = source.read(tables["t"])
    open_reader.read_next_batch()
    source.close()
    source.close()
    assert _sessions(database, 0) == 0
    del open_reader
    assert source.read(tables["t"]).read_all().num_rows == 400_000


def test_a_restarted_server_is_connected_to_again(database, opened, postgresql_server):
    database("CREATE TABLE t AS SELECT 1 AS i")
    source = opened()
    table = table_of(source, "t")
    source.read(table).read_all()
    postgresql_server.stop()
    try:
        with pytest.raises(SourceUnreachable, match=r"nothing answers at 127\.0\.0\.1"):
            source.tables()
    finally:
        postgresql_server.start()
    assert source.read(table).read_all().num_rows == 1
    database("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'coset'")
    assert source.read(table).read_all().num_rows == 1
    assert source.tables() == [table]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_what_cannot_be_connected_to_is_told_in_one_sentence_without_the_password(database, opened, postgresql_server):
    database("DROP ROLE IF EXISTS locked_joe; CREATE ROLE locked_joe LOGIN PASSWORD 'right-one'")
    port = postgresql_server.port
    cases = {
        f"postgresql://locked_joe:hush-hush@127.0.0.1:{port}/postgres": "refused the user name or password",
        f"postgresql://locked_joe@127.0.0.1:{port}/postgres?password=hush-hush": "refused the user name or password",
        f"postgresql://locked_joe@127.0.0.1:{port}/postgres": "refused the user name or password",
        f"postgresql://postgres:hush-hush@127.0.0.1:{port}/nowhere": 'database "nowhere" does not exist',
        f"postgresql://nobody:hush-hush@127.0.0.1:{port}/postgres": 'role "nobody" does not exist',
        f"postgresql://joe:hush-hush@127.0.0.1:{_free_port()}/x": "nothing answers at 127.0.0.1",
        "postgresql://joe:hush-hush@host.invalid/x": "host of host.invalid is not known",
        "postgresql://joe:hush-hush@/x?host=/no/such/folder": "nothing answers at /no/such/folder",
        "postgresql://joe:hush-hush%zz@127.0.0.1/x": "cannot connect",
        "postgresql://joe:hush-hush@127.0.0.1:99999/x": "cannot connect",
        f"postgresql://joe:hush-hush@127.0.0.1:{port}/x?sslmode=require": "SSL",
    }
    for url, reason in cases.items():
        with pytest.raises(SourceUnreachable) as caught:
            opened(url).tables()
        text = str(caught.value)
        assert reason in text and text.startswith("source 'shop': ")
        assert "hush" not in text and "\n" not in text and len(text) < 200
        assert caught.value.__cause__ is None
    right = opened(f"postgresql://locked_joe:right%2Done@127.0.0.1:{port}/postgres")
    assert right._connections.rows("SELECT current_user::text") == [("locked_joe",)]
    by_socket = opened(f"postgresql://postgres@/postgres?host={postgresql_server.data}&port={port}")
    assert os.geteuid() != 0 or by_socket._connections.rows("SELECT inet_client_addr()::text") == [(None,)]


def test_a_missing_driver_says_what_to_install(opened, monkeypatch):
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql.dbapi", None)
    with pytest.raises(MissingDependency, match=r"pip install 'coset\[postgresql\]'"):
        opened().tables()


def test_a_server_that_accepts_and_stays_silent_is_given_up(opened):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        source = opened(f"postgresql://joe:hush@127.0.0.1:{silent.getsockname()[1]}/x", connect_seconds=1)
        with pytest.raises(SourceUnreachable, match="did not answer within 1 seconds"):
            source.tables()
