"""Copies that were replaced stay for readers that were told of them, but not without bound."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

import pytest

import coset
from coset.environment.source import Limits, SourceSettings
from coset.environment.sources import open_source
from coset.session import snapshots


def copies(folder: Path) -> list[Path]:
    return sorted((folder / ".coset").rglob("*.parquet"))


def test_replaced_copies_go_when_they_take_too_much_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "a.db"
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE t (n INTEGER, s TEXT)")
    (tmp_path / "coset.yaml").write_text("sources:\n  a: {location: a.db}\n")
    monkeypatch.setattr(snapshots, "KEPT_BYTES", 100)
    with coset.open(tmp_path) as environment:
        for round_ in range(1, 6):
            with sqlite3.connect(file) as database:
                database.execute("INSERT INTO t VALUES (?, 'some text that takes room')", [round_])
            os.utime(file, ns=(time.time_ns(), time.time_ns() + round_))
            assert list(environment.sql("SELECT count(*) FROM a.t").rows[0]) == [round_]
            if round_ < 4:  # As if these had been made minutes ago; the last ones are young.
                for path in copies(tmp_path):
                    os.utime(path, (time.time() - 300,) * 2)
        assert 1 <= len(copies(tmp_path)) <= 3


def test_a_clock_that_jumps_makes_no_copy_look_young_nor_keeps_replaced_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "t.csv").write_text("n,s\n1,a\n2,b\n")
    settings = SourceSettings("t", str(tmp_path / "t.csv"), kind="files", limits=Limits(age_seconds=600))
    source = open_source(settings)
    (table,) = source.tables()
    kept = snapshots.Snapshots(tmp_path / "kept")
    kept.take(source, table, None)
    now = time.time()
    for jump, is_current in ((0, True), (500, True), (700, False), (10**9, False), (-700, False), (-(10**9), False)):
        monkeypatch.setattr(snapshots.time, "time", lambda jump=jump: now + jump)
        assert (kept.current(source, table, None) is not None) == is_current, jump
    monkeypatch.setattr(snapshots.time, "time", lambda: now - 10**6)
    latest = kept.take(source, table, None)
    assert [path for path in (tmp_path / "kept").rglob("*.parquet")] == [latest.path], (
        "of the future, so replaced long ago"
    )
    source.close()


def test_a_file_that_changes_under_a_jumping_clock_is_read_anew(tmp_path: Path):
    file = tmp_path / "a.db"
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE t (n INTEGER)")
    (tmp_path / "coset.yaml").write_text("sources:\n  a: {location: a.db}\n")
    with coset.open(tmp_path) as environment:
        for round_, moment in enumerate((4 * 10**9, -1_000_000, 1), start=1):
            with sqlite3.connect(file) as database:
                database.execute("INSERT INTO t VALUES (1)")
            os.utime(file, (moment, moment))
            assert environment.sql("SELECT count(*) FROM a.t").rows == [(round_,)]
            environment.comprehend(jobs=1)
            with environment.reading() as state:
                assert state.rows("SELECT rows FROM tables") == [{"rows": round_}]
