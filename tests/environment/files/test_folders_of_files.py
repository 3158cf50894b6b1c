"""A folder as a source: which files are tables, which are one table, and which are left out."""

from __future__ import annotations

import datetime
import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coset.environment.scan import Comparison, Scan
from coset.environment.sources.files.layout import LEADS_OUT
from coset.errors import SourceUnreachable
from environment.files.file_sources import PLAIN, files, one, rows, types, write


def test_each_file_is_a_table_named_by_its_path(tmp_path):
    write(tmp_path / "orders.csv", "a\n1\n")
    write(tmp_path / "2024" / "orders.csv", "a\n2\n")
    write(tmp_path / "2024" / "Q1" / "x y.json", '[{"a": 3}]')
    source = files(tmp_path)
    assert {table.name: rows(source, table) for table in source.tables()} == {
        "2024_Q1_x y": [(3,)], "2024_orders": [(2,)], "orders": [(1,)],
    }  # fmt: skip


def test_other_and_broken_files_are_left_out_with_the_reason(tmp_path):
    write(tmp_path / "good.csv", "a,b\n1,2\n")
    write(tmp_path / "bad.csv", "a,b\n1\n")
    write(tmp_path / "same.csv", "a,b\n3,4\n")
    for name in (".hidden.csv", "notes.md", "page.pdf", "x.txt", "x.yaml", "x.bin", "~$good.xlsx", "bad.parquet"):
        write(tmp_path / name, "x")
    write(tmp_path / ".git" / "t.csv", "a\n1\n")
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "gone.csv").symlink_to(tmp_path / "nowhere.csv")
    (tmp_path / "loop").symlink_to(tmp_path, target_is_directory=True)
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    write(outside / "key.csv", "secret,word\nhidden,1\n")
    (tmp_path / "key.csv").symlink_to(outside / "key.csv")
    (tmp_path / "out").symlink_to(outside, target_is_directory=True)
    (tmp_path / "environ.csv").symlink_to("/proc/self/environ")
    source = files(tmp_path)
    assert [table.name for table in source.tables()] == ["good", "same"]
    reasons = {path.name: reason for path, reason in source.skipped}
    assert reasons["bad.csv"] == "line 2 has 1 values where 2 are expected"
    assert reasons["bad.parquet"].startswith("is not a whole Parquet file")
    assert reasons["pipe.csv"] == "is not a regular file" and reasons["gone.csv"].startswith("cannot be opened")
    assert {reasons[name] for name in ("key.csv", "out", "environ.csv")} == {LEADS_OUT}
    assert reasons[".hidden.csv"] == "is hidden" and reasons["notes.md"] == "is not a kind of file that holds tables"
    assert set(reasons) == {
        "key.csv", "out", "environ.csv", "bad.csv", "bad.parquet", "pipe.csv", "gone.csv", ".hidden.csv", "notes.md", "page.pdf", "x.txt", "x.yaml", "x.bin",
        "~$good.xlsx",
    }  # fmt: skip


def test_a_place_without_readable_files_says_so(tmp_path):
    (tmp_path / "empty").mkdir()
    write(tmp_path / "other" / "a.md", "x")
    with pytest.raises(SourceUnreachable, match=r"empty is empty"):
        files(tmp_path / "empty").tables()
    with pytest.raises(SourceUnreachable, match=r"no file that can be read as a table \(a.md is not a kind"):
        files(tmp_path / "other").tables()
    with pytest.raises(SourceUnreachable, match="does not exist"):
        files(tmp_path / "nowhere").tables()
    with pytest.raises(SourceUnreachable, match=r"a.md is not a kind of file that holds tables; known are .*\.csv"):
        files(tmp_path / "other" / "a.md").tables()


def test_numbered_parts_with_the_same_columns_are_one_table(tmp_path):
    for number in range(3):
        write(tmp_path / "orders" / f"part-{number:04}.csv", f"id,code\n{number},{number}\n")
        write(tmp_path / "plain" / f"{number + 1}.jsonl", f'{{"id": {number}}}\n')
        write(tmp_path / "sales" / f"sales_{number}.csv", f"id\n{number}\n")
        (tmp_path / "events").mkdir(exist_ok=True)
        name = f"part-{number:05}-1a2b3c4d-1a2b-1a2b-1a2b-1a2b3c4d5e6f-c000.snappy.parquet"
        pq.write_table(pa.table({"id": [number]}), tmp_path / "events" / name)
    write(tmp_path / "orders" / "part-0003.csv", "id,code\n3,x3\n")
    source = files(tmp_path)
    tables = {table.name: table for table in source.tables()}
    assert {name: table.rows for name, table in tables.items()} == {"events": 3, "orders": 4, "plain": 3, "sales": 3}
    assert types(tables["orders"]) == {"id": "BIGINT", "code": "VARCHAR"}
    assert rows(source, tables["orders"]) == [(0, "0"), (1, "1"), (2, "2"), (3, "x3")]
    assert sorted(rows(source, tables["events"])) == [(0,), (1,), (2,)]


def test_files_whose_numbers_mean_something_or_whose_columns_differ_stay_apart(tmp_path):
    for name in ("2023", "2024"):
        write(tmp_path / "years" / f"{name}.csv", "a\n1\n")
        write(tmp_path / "y" / f"sales_{name}.csv", "a\n1\n")
    for name in ("600000", "600001"):
        write(tmp_path / "codes" / f"{name}.csv", "a\n1\n")
    write(tmp_path / "mixed" / "part-1.csv", "a\n1\n")
    write(tmp_path / "mixed" / "part-2.csv", "b\n1\n")
    assert [table.name for table in files(tmp_path).tables()] == [
        "codes_600000", "codes_600001", "mixed_part-1", "mixed_part-2", "y_sales_2023", "y_sales_2024", "years_2023", "years_2024",
    ]  # fmt: skip


def test_a_broken_part_leaves_out_the_whole_table(tmp_path):
    write(tmp_path / "orders" / "part-1.csv", "a,b\n1,2\n")
    write(tmp_path / "orders" / "part-2.csv", "a,b\n1\n")
    write(tmp_path / "ok.csv", "a\n1\n")
    source = files(tmp_path)
    assert [table.name for table in source.tables()] == ["ok"]
    assert [path.name for path, _ in source.skipped] == ["part-1.csv", "part-2.csv"]


def test_hive_partitions_are_one_table_with_the_keys_as_columns(tmp_path):
    for year, month in ((2023, "12"), (2024, "01")):
        folder = tmp_path / "sales" / f"year={year}" / f"month={month}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"x": [year * 100]}), folder / "part-0.parquet")
        write(tmp_path / "log" / f"day={year}-01-01" / "a.csv", f"v,w\n{year},x\n")
        write(tmp_path / "doc" / f"kind=a%20{year}" / "a.json", f'[{{"v": {year}}}]')
    source = files(tmp_path)
    tables = {table.name: table for table in source.tables()}
    assert types(tables["sales"]) == {"x": "BIGINT", "month": "VARCHAR", "year": "BIGINT"}
    assert types(tables["log"]) == {"v": "BIGINT", "w": "VARCHAR", "day": "DATE"}
    assert types(tables["doc"]) == {"v": "BIGINT", "kind": "VARCHAR"}
    assert sorted(rows(source, tables["sales"])) == [(202300, "12", 2023), (202400, "01", 2024)]
    assert sorted(rows(source, tables["log"]))[0] == (2023, "x", datetime.date(2023, 1, 1))
    assert sorted(rows(source, tables["doc"]))[0] == (2023, "a 2023")
    assert rows(source, tables["sales"], Scan(columns=("x",), where=Comparison("month", "=", "01"))) == [(202400,)]


def test_delta_and_iceberg_tables_are_left_out(tmp_path):
    write(tmp_path / "delta" / "_delta_log" / "0.json", "{}")
    write(tmp_path / "delta" / "part-0.csv", "a\n1\n")
    write(tmp_path / "ice" / "metadata" / "v1.metadata.json", "{}")
    write(tmp_path / "ok.csv", "a\n1\n")
    source = files(tmp_path)
    assert [table.name for table in source.tables()] == ["ok"]
    assert {path.name for path, _ in source.skipped} == {"delta", "ice"}


def test_odd_file_names_are_read_as_themselves(tmp_path):
    names = [
        "a b",
        "it's",
        'q"q',
        "ünï",
        "50%",
        "w*[1]?",
        "w[ab]",
        "select",
        "Order",
        "order",
        "x;y",
        "{a,b}",
        "a=b",
        "#1",
        "$x",
    ]
    decoys = ["wz1a", "wa", "wb"]  # what the patterns above would match
    for number, name in enumerate([*names, *decoys]):
        write(tmp_path / f"{name}.csv", f"n\n{number}\n")
        pq.write_table(pa.table({"n": [number]}), tmp_path / f"{name}.parquet")
    source = files(tmp_path)
    tables = {table.native_name: table for table in source.tables()}
    assert len({table.name.lower() for table in tables.values()}) == 2 * (len(names) + len(decoys))
    for number, name in enumerate([*names, *decoys]):
        for extension in ("csv", "parquet"):
            table = tables[f"{name}.{extension}"]
            assert rows(source, table) == [(number,)], table
            assert source.change_token(table) != "missing"
        place = source.in_place(tables[f"{name}.parquet"])
        assert PLAIN.execute(f"SELECT n FROM {place.sql}").fetchall() == [(number,)]


def test_many_files_written_alike_are_typed_each_for_itself(tmp_path):
    for number in range(40):
        value = {0: "007", 1: "x", 2: ""}.get(number, "1.5" if number % 2 else "5")
        write(tmp_path / f"t{number:02}.csv", f"file,id,value\nf,{number},{value}\n")
    write(tmp_path / "t98.csv", "file,id,value\n")
    write(tmp_path / "t99.csv", "file,id,value\nf,1\n")
    source = files(tmp_path)
    tables = {table.name: table for table in source.tables()}
    assert [path.name for path, _ in source.skipped] == ["t99.csv"]
    expected = {0: "VARCHAR", 1: "VARCHAR", 2: "VARCHAR", 3: "DOUBLE", 4: "BIGINT"}
    assert {number: types(tables[f"t{number:02}"])["value"] for number in expected} == expected
    assert (tables["t98"].rows, tables["t04"].rows) == (0, 1)
    for name in ("t00", "t03", "t04"):
        alone = write(tmp_path / "alone" / name / f"{name}.csv", (tmp_path / f"{name}.csv").read_bytes())
        assert one(alone)[1].columns == tables[name].columns
