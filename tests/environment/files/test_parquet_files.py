"""Parquet files: types as they are, read in place."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coset.environment.scan import Scan
from coset.errors import SourceUnreachable
from environment.files.file_sources import PLAIN, files, one, rows, types, write


def test_parquet_types_come_as_they_are_and_are_read_in_place(tmp_path):
    moment = datetime.datetime(2024, 1, 2, 3, 4, 5, 678901)
    table = pa.table(
        {
            "small": pa.array([1, None], pa.int8()),
            "unsigned": pa.array([2**63, 1], pa.uint64()),
            "money": pa.array([Decimal("1.50"), Decimal("-0.05")], pa.decimal128(38, 2)),
            "moment": pa.array([moment, None], pa.timestamp("us")),
            "nanos": pa.array([1000, 2000], pa.timestamp("ns")),
            "zoned": pa.array([moment, None], pa.timestamp("us", "UTC")),
            "nested": pa.array([[{"a": 1}], []]),
            "map": pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64())),
            "bytes": pa.array([b"\x00\xff", b""]),
            "word": pa.array(["a", "b"]).dictionary_encode(),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=1)
    pq.write_table(
        pa.table({"old": pa.array([moment], pa.timestamp("ns"))}),
        tmp_path / "i.parquet",
        use_deprecated_int96_timestamps=True,
    )
    source = files(tmp_path)
    by_name = {table.name: table for table in source.tables()}
    assert types(by_name["t"]) == {
        "small": "TINYINT", "unsigned": "UBIGINT", "money": "DECIMAL(38,2)", "moment": "TIMESTAMP", "nanos": "TIMESTAMP_NS",
        "zoned": "TIMESTAMP WITH TIME ZONE", "nested": "STRUCT(a BIGINT)[]", "map": "MAP(VARCHAR, BIGINT)",
        "bytes": "BLOB", "word": "VARCHAR",
    }  # fmt: skip
    assert (by_name["t"].rows, by_name["t"].rows_exact) == (2, True)
    assert rows(source, by_name["i"])[0][0].replace(tzinfo=None) == moment
    place = source.in_place(by_name["t"])
    assert place is not None and place.sql.startswith("read_parquet(")
    direct = PLAIN.sql(f"SELECT * FROM {place.sql}").to_arrow_table()
    assert direct.to_pylist() == source.read(by_name["t"]).read_all().to_pylist()


def test_parquet_names_that_differ_by_case_keep_their_native_names(tmp_path):
    pq.write_table(
        pa.table([pa.array([1]), pa.array([2]), pa.array([3])], names=["id", "ID", "select"]), tmp_path / "t.parquet"
    )
    source, table = one(tmp_path / "t.parquet")
    assert [(column.name, column.native_name) for column in table.columns] == [
        ("id", "id"),
        ("ID_1", "ID"),
        ("select", "select"),
    ]
    assert rows(source, table, Scan(columns=("ID_1", "select"))) == [(2, 3)]


def test_damaged_parquet_is_refused_plainly(tmp_path):
    pq.write_table(pa.table({"a": list(range(1000))}), tmp_path / "t.parquet")
    whole = (tmp_path / "t.parquet").read_bytes()
    for content in (b"", b"PAR1", whole[:-30], b"garbage" * 100):
        with pytest.raises(SourceUnreachable, match=r"not a whole Parquet file|is damaged"):
            files(write(tmp_path / "b.parquet", content)).tables()
    source, table = one(write(tmp_path / "c.parquet", whole[:4] + b"\xff" * 300 + whole[304:]))
    with pytest.raises(SourceUnreachable, match=r"the file c\.parquet is"):
        rows(source, table)


def test_a_small_file_of_very_many_rows_is_looked_at_by_a_sample(tmp_path):
    import duckdb

    import coset

    with duckdb.connect() as connection:
        connection.execute(f"COPY (SELECT 7 AS n, 'x' AS word FROM range(3_000_000)) TO '{tmp_path}/many.parquet'")
    (tmp_path / "coset.yaml").write_text("sources:\n  b: {location: many.parquet, limits: {fetch_rows: 1000000}}\n")
    with coset.open(tmp_path) as environment:
        environment.comprehend()
        assert environment.sql("SELECT count(*) FROM b.many").rows == [(3_000_000,)]
        shown = str(environment.show("b.many"))
    assert "3000000" in shown.replace(",", "") and "100000" in shown.replace(",", "")
