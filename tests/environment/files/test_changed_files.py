"""Files that change, go, or are read by another process."""

from __future__ import annotations

import os
import random

import pytest

from coset.errors import TableVanished
from environment.files.file_sources import files, one, rows, workbook, write


def test_the_token_changes_with_the_files_of_the_table_alone(tmp_path):
    path = write(tmp_path / "a.csv", "a,b\n1,2\n")
    write(tmp_path / "b.csv", "a\n1\n")
    write(tmp_path / "parts" / "part-1.csv", "a\n1\n")
    write(tmp_path / "parts" / "part-2.csv", "a\n1\n")
    source = files(tmp_path)
    a, b, parts = source.tables()
    tokens, whole = [source.change_token(table) for table in (a, b, parts)], source.fingerprint()
    assert tokens == [files(tmp_path).change_token(table) for table in (a, b, parts)]
    assert whole == files(tmp_path).fingerprint()
    for content in ("a,b\n1,2\n3,4\n", "a,b\n1,3\n3,4\n", "a,b\n1,3\n", "a,b\n", "a,b,c\n1,3,4\n"):
        before = source.change_token(a), source.fingerprint()
        write(path, content)
        os.utime(path, ns=(0, random.getrandbits(40)))
        assert source.change_token(a) != before[0] and source.fingerprint() != before[1]
    assert [source.change_token(table) for table in (b, parts)] == tokens[1:]
    write(tmp_path / "parts" / "part-3.csv", "a\n1\n")
    assert source.change_token(parts) != tokens[2]
    path.unlink()
    assert source.change_token(a) == "missing"


def test_a_table_that_went_or_has_other_columns_has_vanished(tmp_path):
    for name, content in (("a.csv", "a,b\n1,2\n"), ("b.csv", "a,b\n1,2\n"), ("c.csv", "a\n1\n")):
        write(tmp_path / name, content)
    source = files(tmp_path)
    a, b, c = source.tables()
    (tmp_path / "a.csv").unlink()
    write(tmp_path / "b.csv", "a,b\n1,x\n")
    write(tmp_path / "c.csv", "a\n1\n2\n")
    with pytest.raises(TableVanished, match="table 'a' of source 'here' is gone"):
        source.read(a)
    with pytest.raises(TableVanished, match="table 'b' of source 'here' has other columns"):
        source.read(b)
    assert rows(source, c) == [(1,), (2,)]


def test_a_table_listed_before_is_read_by_another_process_without_listing(tmp_path):
    write(tmp_path / "a.csv", "a,b\n1,x\n")
    workbook(tmp_path / "b.xlsx", S=[["a"], [1]], T=[["b"], [2]])
    for table in files(tmp_path).tables():
        later = files(tmp_path)
        assert rows(later, table) == {"a": [(1, "x")], "b_S": [(1,)], "b_T": [(2,)]}[table.name]


def test_close_lets_go_of_everything(tmp_path):
    path = write(tmp_path / "t.csv", "größe\nfür\n".encode("cp1252"))
    source, table = one(path)
    copies = source._contents._temporary()
    reader = source.read(table)
    source.close()
    source.close()
    assert not copies.exists()
    del reader
    assert rows(source, source.tables()[0]) == [("für",)]
    source.close()
