"""SQLite files that others use, and files that are none."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from coset.errors import SourceUnreachable
from environment.sqlite.sqlite_files import make, make_table, rows_of, source_of, table_of


def test_an_idle_wal_database_is_read_without_a_trace(file):
    make(file, "PRAGMA journal_mode = WAL", "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")
    assert list(file.parent.iterdir()) == [file]
    source = source_of(file)
    assert rows_of(source) == [(1,)]
    assert list(file.parent.iterdir()) == [file]


def test_a_wal_database_in_use_is_read_as_of_now(file):
    make(file, "PRAGMA journal_mode = WAL", "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")
    source = source_of(file)
    before = source.fingerprint()
    writer = sqlite3.connect(file)
    writer.execute("INSERT INTO t VALUES (2)")
    writer.commit()
    assert source.fingerprint() != before
    assert rows_of(source) == [(1,), (2,)]
    after = source.fingerprint()
    assert rows_of(source) == [(1,), (2,)]
    assert source.fingerprint() == after
    writer.close()


def test_a_change_of_an_idle_wal_database_while_it_is_read_is_noticed(file):
    make(
        file,
        "PRAGMA journal_mode = WAL",
        "CREATE TABLE t (a INTEGER)",
        "INSERT INTO t WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n LIMIT 60000) SELECT a FROM n",
    )
    source = source_of(file)
    reader = source.read(table_of(source))
    reader.read_next_batch()
    make(file, "UPDATE t SET a = 0")
    with pytest.raises(SourceUnreachable, match="was changed while it was read"):
        reader.read_all()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_wal_database_in_a_folder_that_cannot_be_written_to_is_read(file):
    make(file, "PRAGMA journal_mode = WAL", "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")
    file.chmod(0o444)
    file.parent.chmod(0o555)
    try:
        assert rows_of(source_of(file)) == [(1,)]
    finally:
        file.parent.chmod(0o755)
    file.chmod(0o644)
    writer = sqlite3.connect(file)
    writer.execute("INSERT INTO t VALUES (2)")
    writer.commit()
    copy = file.parent / "copy"
    copy.mkdir()
    for suffix in ("", "-wal"):
        (copy / f"c.db{suffix}").write_bytes(file.with_name(file.name + suffix).read_bytes())
    copy.chmod(0o555)
    try:
        assert "a -wal file that needs a writable folder" in raises(copy / "c.db")
    finally:
        copy.chmod(0o755)
        writer.close()


def raises(path: Path, **limits: float) -> str:
    with pytest.raises(SourceUnreachable) as caught:
        source_of(path, **limits).tables()
    message = str(caught.value)
    assert message.startswith(f"source 'shop': {path} ")
    assert "\n" not in message
    return message


def test_what_is_not_a_sqlite_file_is_said_plainly(tmp_path):
    assert raises(tmp_path / "none.db").endswith("does not exist")
    assert not (tmp_path / "none.db").exists()
    assert raises(tmp_path).endswith("is a folder, not a SQLite file")
    (tmp_path / "text.db").write_text("hello" * 2000)
    assert raises(tmp_path / "text.db").endswith("is not a SQLite database, or it is encrypted")
    duckdb.connect(tmp_path / "duck.db").close()
    assert raises(tmp_path / "duck.db").endswith("is a DuckDB file, not a SQLite one; give it the kind duckdb")
    (tmp_path / "encrypted.db").write_bytes(random.Random(1).randbytes(8192))
    assert raises(tmp_path / "encrypted.db").endswith("is not a SQLite database, or it is encrypted")


def test_a_damaged_or_shortened_file_is_said_plainly(tmp_path, file):
    make_table(file, "a INTEGER, b TEXT", [(number, "x" * 100) for number in range(2000)])
    content = file.read_bytes()
    (tmp_path / "short.db").write_bytes(content[: len(content) // 2])
    assert "is damaged" in raises(tmp_path / "short.db")
    (tmp_path / "flipped.db").write_bytes(content[:4096] + bytes(byte ^ 85 for byte in content[4096:]))
    assert "is damaged" in raises(tmp_path / "flipped.db")


def test_a_file_in_an_exclusive_transaction_is_waited_for_and_then_said_to_be_locked(file):
    make(file, "CREATE TABLE t (a)")
    holds = f"""
import sqlite3, sys
c = sqlite3.connect({str(file)!r}, isolation_level=None)
c.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
sys.stdin.readline()
"""
    with subprocess.Popen([sys.executable, "-c", holds], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout.readline() == b"locked\n"
        started = time.monotonic()
        assert "is locked by a program" in raises(file, connect_seconds=0.3)
        assert time.monotonic() - started >= 0.3
        writer.stdin.close()
        writer.wait()
    assert len(source_of(file).tables()) == 1


def test_an_unfinished_write_is_said_plainly(file):
    make_table(file, "a INTEGER, b TEXT", [(number, "x" * 500) for number in range(500)])
    crashes = f"""
import os, sqlite3
c = sqlite3.connect({str(file)!r}, isolation_level=None)
c.execute("PRAGMA cache_size = 2")
c.execute("BEGIN")
c.execute("UPDATE t SET b = b || 'y'")
os._exit(0)
"""
    subprocess.run([sys.executable, "-c", crashes], check=True)
    assert file.with_name(file.name + "-journal").exists()
    assert "unfinished write" in raises(file)
    assert file.with_name(file.name + "-journal").exists()
