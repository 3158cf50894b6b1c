"""Files: every scan gives what DuckDB gives over all rows, as a stream."""

from __future__ import annotations

import datetime
import random

import duckdb
import pyarrow as pa
import pytest

from coset.environment.scan import Aggregate, All, Among, Any, Comparison, Null, Order, Scan
from coset.environment.source import Table
from coset.environment.sources.files.source import Files
from environment.files.file_sources import files, one, rows, workbook, write


def random_rows(count: int) -> list[tuple]:
    dice = random.Random(7)
    texts = ["a", "A", "b", "ä", "Ä", "a ", " a", "z", "Z", None, "éa", "10", "9"]
    return [
        (
            number,
            dice.choice([None, -5, 0, 3, 7]),
            dice.choice([None, -1.5, 0.25, 2.0, 1e10]),
            dice.choice(texts),
            dice.choice([None, datetime.date(2024, 1, 1), datetime.date(1969, 12, 31)]),
            dice.choice([None, datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 1, 0, 0, 0, 1)]),
            dice.choice([None, True, False]),
        )
        for number in range(count)
    ]


NAMES = ("id", "whole", "Real", "the text", "day", "moment", "select")
SCANS = [
    Scan(columns=("the text", "id")),
    Scan(columns=("id",), where=Comparison("the text", ">=", "a"), order=(Order("id"),)),
    Scan(columns=("id",), where=Comparison("the text", "=", "a"), order=(Order("id"),)),
    Scan(columns=("id",), where=Among("the text", ("a ", "Ä", "it's")), order=(Order("id"),)),
    Scan(columns=("id",), where=Comparison("whole", "<", 0), order=(Order("id", descending=True),), limit=5),
    Scan(columns=("id",), where=Comparison("Real", "<>", 0.25), order=(Order("id"),)),
    Scan(columns=("id",), where=Comparison("day", ">", datetime.date(1970, 1, 1)), order=(Order("id"),)),
    Scan(columns=("id",), where=Comparison("moment", ">", datetime.datetime(2024, 1, 1)), order=(Order("id"),)),
    Scan(columns=("id",), where=Comparison("select", "=", True), order=(Order("id"),)),
    Scan(columns=("id",), where=Any((Null("day"), All((Null("whole", negated=True), Comparison("id", "<", 9))))),
         order=(Order("id"),)),
    Scan(columns=("the text", "id"), order=(Order("the text", nulls_first=True), Order("id", descending=True)), limit=30),
    Scan(columns=("the text", "id"), order=(Order("the text", descending=True), Order("id"))),
    Scan(aggregates=tuple(Aggregate(name, "whole", name) for name in ("count", "count_distinct", "sum", "avg", "min", "max"))),
    Scan(aggregates=(Aggregate("count", None, "n"), Aggregate("sum", "whole", "s")), where=Comparison("id", "<", 0)),
    Scan(group_by=("the text", "select"), aggregates=(Aggregate("count", None, "n"), Aggregate("max", "moment", "m"))),
    Scan(group_by=("day",), aggregates=(Aggregate("min", "the text", "t"), Aggregate("sum", "Real", "r"))),
    Scan(group_by=("moment", "whole")),
]  # fmt: skip


@pytest.fixture(scope="module")
def scanned(tmp_path_factory) -> tuple[Files, dict[str, Table], duckdb.DuckDBPyConnection]:
    folder = tmp_path_factory.mktemp("scanned")
    values = random_rows(200)
    whole = pa.table([pa.array(column) for column in zip(*values, strict=True)], names=list(NAMES))
    connection = duckdb.connect()
    connection.register("arrow", whole)
    connection.execute("CREATE TABLE whole AS SELECT * FROM arrow")
    connection.execute(f"COPY whole TO '{folder}/c.csv' (HEADER)")
    connection.execute(f"COPY whole TO '{folder}/p.parquet'")
    connection.execute(f"COPY whole TO '{folder}/j.json'")
    workbook(folder / "x.xlsx", S=[list(NAMES), *map(list, values)])
    source = files(folder)
    return source, {table.name: table for table in source.tables()}, connection


@pytest.mark.parametrize("name", ["c", "p", "j", "x"])
@pytest.mark.parametrize("scan", SCANS, ids=range(len(SCANS)))
def test_every_scan_gives_what_duckdb_gives_over_all_rows(scanned, name, scan):
    import sqlglot.expressions as sge

    from coset.environment.scan import scan_to_sql

    source, tables, connection = scanned
    table = tables[name]
    if name == "x" and "moment" in repr(scan):
        pytest.skip("Excel keeps no microseconds")
    sql = scan_to_sql(
        scan, sge.to_table("whole"), "duckdb", lambda column: sge.column(column, quoted=True), all_columns=NAMES
    )
    expected = connection.execute(sql).fetchall()
    found = rows(source, table, scan)
    if not scan.order:
        expected, found = sorted(expected, key=repr), sorted(found, key=repr)
    assert [tuple(map(str, row)) for row in found] == [tuple(map(str, row)) for row in expected]


def test_rows_come_as_a_stream_of_small_batches(tmp_path):
    content = "id,name\n" + "".join(f"{number},n{number}\n" for number in range(100_000))
    source, table = one(write(tmp_path / "t.csv", content))
    reader = source.read(table)
    assert reader.schema.names == ["id", "name"]
    first = reader.read_next_batch()
    assert 0 < first.num_rows < 50_000
    assert source.change_token(table)  # while the reader is open
    assert first.num_rows + sum(batch.num_rows for batch in reader) == 100_000
