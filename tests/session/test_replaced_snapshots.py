"""Copies that were replaced stay for readers that were told of them, but not without bound."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

import pytest

import coset
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
