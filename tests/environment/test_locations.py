"""What lies at a location is told from its scheme, its first bytes, or its content."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import duckdb
import pytest

from coset.environment.locations import recognise
from coset.errors import UserError


@pytest.mark.parametrize(
    ("location", "kind"),
    [
        ("postgresql://h/d", "postgresql"),
        ("postgres://h/d", "postgresql"),
        ("mysql://h/d", "mysql"),
        ("MariaDB://h/d", "mysql"),
        ("mongodb+srv://h/d", "mongodb"),
    ],
)
def test_urls(location: str, kind: str, tmp_path: Path):
    assert recognise(location, tmp_path).kind == kind


def test_files_are_told_by_their_first_bytes_not_their_names(tmp_path: Path):
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("CREATE TABLE t (a)")
    duckdb.connect(str(tmp_path / "b.db")).close()
    (tmp_path / "dump").write_text("--\n-- PostgreSQL database dump\n--\n")
    (tmp_path / "c.csv").write_text("a\n1\n")
    (tmp_path / "c.jsonl.gz").write_bytes(b"")
    (tmp_path / "mongo" / "db").mkdir(parents=True)
    (tmp_path / "mongo" / "db" / "things.bson").write_bytes(b"")
    (tmp_path / "plain").mkdir()
    kinds = {name: recognise(name, tmp_path).kind for name in ("a.db", "b.db", "dump", "c.csv", "c.jsonl.gz")}
    assert kinds == {
        "a.db": "sqlite", "b.db": "duckdb", "dump": "postgresql_dump", "c.csv": "files", "c.jsonl.gz": "files",
    }  # fmt: skip
    assert recognise("mongo", tmp_path).kind == recognise("mongo/db", tmp_path).kind == "mongodump"
    assert recognise("plain/", tmp_path).kind == "files"
    assert recognise(f"sqlite:///{tmp_path}/a.db", tmp_path).absolute == str(tmp_path / "a.db")


@pytest.mark.parametrize(
    ("content", "name", "expected"),
    [
        (None, "gone.db", "there is no file or folder"),
        (b"", "empty.db", "is empty"),
        (b"rubbish", "broken.sqlite", "neither a SQLite nor a DuckDB"),
        (b"PGDMP\x01", "dump.sql", "pg_restore"),
        (b"%PDF", "paper.pdf", "of no kind that coset knows"),
        (b"", "things.bson", "name the folder"),
    ],
)
def test_what_cannot_be_a_source_is_told(content: bytes | None, name: str, expected: str, tmp_path: Path):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=expected):
        recognise(name, tmp_path)


def test_an_unknown_scheme_names_the_known_ones(tmp_path: Path):
    with pytest.raises(UserError, match="postgresql://"):
        recognise("nosuch://h/d", tmp_path)


@pytest.mark.parametrize("location", ["postgresql://[bad/db", "mysql://u:s3cret@h:port/d"])
def test_a_malformed_url_is_told_without_being_repeated(location: str, tmp_path: Path):
    with pytest.raises(UserError, match="not well-formed") as error:
        recognise(location, tmp_path)
    assert "s3cret" not in str(error.value)


def test_several_hosts_are_fine(tmp_path: Path):
    assert recognise("mongodb://a:1,b:2/d", tmp_path).kind == "mongodb"
