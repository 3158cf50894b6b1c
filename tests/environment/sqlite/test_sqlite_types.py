"""A SQLite file: a column is typed by what is stored in it, and no value is lost."""

from __future__ import annotations

import datetime
import sqlite3
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coset.environment.sources.sqlite.columns import NOT_UTF8
from environment.sqlite.sqlite_files import BIG, day, make, make_table, moment, rows_of, source_of, table_of


def typed(path: Path, declared: str, values: list) -> tuple[str, list]:
    """The type of a column with these values, and the values as they are read and cast to it by DuckDB."""
    make_table(path, f"x {declared}", [(value,) for value in values])
    source = source_of(path)
    table = table_of(source)
    answer = source.read(table).read_all()
    with duckdb.connect() as session:
        session.register("answer", answer)
        cast = session.execute(f"SELECT x::{table.columns[0].type} FROM answer").fetchall()
    return table.columns[0].type, [value for (value,) in cast]


@pytest.mark.parametrize(
    ("declared", "values", "expected_type", "expected"),
    [
        ("INTEGER", [1, None, -(2**63), 2**63 - 1], "BIGINT", [1, None, -(2**63), 2**63 - 1]),
        ("", [1, 2], "BIGINT", [1, 2]),
        ("TEXT", [1, 2], "VARCHAR", ["1", "2"]),
        ("REAL", [1, 2.5], "DOUBLE", [1.0, 2.5]),
        ("", [1, 2.5, BIG - 1], "DOUBLE", [1.0, 2.5, float(BIG - 1)]),
        ("", [1, 2.5, BIG], "VARCHAR", ["1", "2.5", str(BIG)]),
        ("", [1, 1e300, None], "DOUBLE", [1.0, 1e300, None]),
        ("", [BIG + 1, 1e300], "VARCHAR", [str(BIG + 1), "1.0e+300"]),
        ("", [-BIG, -0.5], "VARCHAR", [str(-BIG), "-0.5"]),
        ("REAL", [float("inf"), 0.1], "DOUBLE", [float("inf"), 0.1]),
        ("DECIMAL(10,2)", [1, 19.99, -0.01, None], "DECIMAL(10,2)", [Decimal("1.00"), Decimal("19.99"), Decimal("-0.01"), None]),
        ("NUMERIC(5,2)", [999.99, 0.1], "DECIMAL(5,2)", [Decimal("999.99"), Decimal("0.10")]),
        ("NUMERIC(5,2)", [1000.0, 0.1], "DOUBLE", [1000.0, 0.1]),
        ("DECIMAL(10,2)", [0.1 + 0.2], "DOUBLE", [0.1 + 0.2]),
        ("DECIMAL(10,2)", [1.005], "DOUBLE", [1.005]),
        ("DECIMAL(18,2)", [1e13, 0.5], "DOUBLE", [1e13, 0.5]),
        ("DECIMAL(18,2)", [9999999999999.99], "DECIMAL(18,2)", [Decimal("9999999999999.99")]),
        ("DECIMAL(12)", [5], "DECIMAL(12,0)", [Decimal(5)]),
        ("DECIMAL(20,0)", [10**17], "BIGINT", [10**17]),
        ("DECIMAL(10,2)", [19.99, "n/a"], "VARCHAR", ["19.99", "n/a"]),
        ("MONEY", [19.9999, 3], "DECIMAL(19,4)", [Decimal("19.9999"), Decimal("3.0000")]),
        ("DECIMAL", [1.5, 2], "DOUBLE", [1.5, 2.0]),
        ("BOOLEAN", [0, 1, None], "BOOLEAN", [False, True, None]),
        ("BOOLEAN", [0, 2], "BIGINT", [0, 2]),
        ("BOOLEAN", ["true"], "VARCHAR", ["true"]),
        ("INTEGER", [0, 1], "BIGINT", [0, 1]),
        ("DATE", ["2024-02-29", None, "0001-01-01"], "DATE", [day(2024, 2, 29), None, day(1, 1, 1)]),
        ("DATE", ["2023-02-29"], "VARCHAR", ["2023-02-29"]),
        ("DATE", ["0000-01-01"], "VARCHAR", ["0000-01-01"]),
        ("DATE", ["2024-02-29", ""], "VARCHAR", ["2024-02-29", ""]),
        ("DATE", ["29.02.2024"], "VARCHAR", ["29.02.2024"]),
        ("DATE", ["2024-1-05"], "VARCHAR", ["2024-1-05"]),
        ("DATE", ["2024-01-05\x00x"], "VARCHAR", ["2024-01-05\x00x"]),
        ("DATE", [1704067200], "BIGINT", [1704067200]),
        ("DATE", ["2024-01-05", 2024], "VARCHAR", ["2024-01-05", "2024"]),
        ("DATE", ["2024-01-05", "2024-01-05 10:00:00"], "TIMESTAMP", [moment(2024, 1, 5), moment(2024, 1, 5, 10)]),
        ("DATETIME", ["2024-01-05"], "TIMESTAMP", [moment(2024, 1, 5)]),
        (
            "TIMESTAMP",
            ["2024-01-05T10:11", "2024-01-05 10:11:12", "2024-01-05T10:11:12.5", "2024-01-05 23:59:59.999999", "9999-12-31"],
            "TIMESTAMP",
            [
                moment(2024, 1, 5, 10, 11), moment(2024, 1, 5, 10, 11, 12), moment(2024, 1, 5, 10, 11, 12, 500000),
                moment(2024, 1, 5, 23, 59, 59, 999999), moment(9999, 12, 31),
            ],
        ),
        ("DATETIME", ["2024-01-05 24:00:00"], "VARCHAR", ["2024-01-05 24:00:00"]),
        ("DATETIME", ["2024-01-05 10:11:60"], "VARCHAR", ["2024-01-05 10:11:60"]),
        ("DATETIME", ["2024-01-05 10:11:12.1234567"], "VARCHAR", ["2024-01-05 10:11:12.1234567"]),
        ("DATETIME", ["2024-01-05 10:11:12Z"], "VARCHAR", ["2024-01-05 10:11:12Z"]),
        ("DATETIME", ["2024-01-05 10:11:12+02:00"], "VARCHAR", ["2024-01-05 10:11:12+02:00"]),
        ("DATETIME", ["2024-01-05 10:11:12.5x"], "VARCHAR", ["2024-01-05 10:11:12.5x"]),
        ("DATETIME", ["now"], "VARCHAR", ["now"]),
        ("TEXT", ["2024-01-05"], "VARCHAR", ["2024-01-05"]),
        ("TEXT", ["a\x00b", "", " é "], "VARCHAR", ["a\x00b", "", " é "]),
        ("", ["a", 1, 0.1 + 0.2, 1e20, None], "VARCHAR", ["a", "1", "0.3", "1.0e+20", None]),
        ("INTEGER", [1, "one", 1.5], "VARCHAR", ["1", "one", "1.5"]),
        ("BLOB", [b"\x00\xff", None], "BLOB", [b"\x00\xff", None]),
        ("BLOB", [b"\x00\xff", "text", 7], "BLOB", [b"\x00\xff", b"text", b"7"]),
        ("TEXT", ["a", b"\xff"], "BLOB", [b"a", b"\xff"]),
        ("BLOB", ["only text"], "VARCHAR", ["only text"]),
        ("BLOB", [1, 2], "BIGINT", [1, 2]),
        ("BLOB", [1.5, "x"], "VARCHAR", ["1.5", "x"]),
        ("INTEGER", [], "BIGINT", []),
        ("VARCHAR(10)", [], "VARCHAR", []),
        ("BLOB", [None], "BLOB", [None]),
        ("", [None], "VARCHAR", [None]),
        ("DOUBLE PRECISION", [], "DOUBLE", []),
        ("NUMERIC", [None], "DOUBLE", [None]),
        ("NUMERIC(8,3)", [], "DECIMAL(8,3)", []),
        ("DATE", [None], "DATE", [None]),
        ("DATETIME", [], "TIMESTAMP", []),
        ("BOOLEAN", [], "BOOLEAN", []),
        ("JSON", [], "VARCHAR", []),
    ],
)  # fmt: skip
def test_a_column_is_typed_by_what_is_stored(file, declared, values, expected_type, expected):
    assert typed(file, declared, values) == (expected_type, expected)


NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.integers(-1000, 1000) | st.floats(allow_nan=False) | st.decimals(
    -(10**6), 10**6, places=2
).map(float)  # fmt: skip
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["2024-01-05", "2024-01-05 10:00:00", "2023-02-29", "12", "1.50", "x"]
)


@settings(max_examples=40, deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    declared=st.sampled_from(
        ["", "INTEGER", "REAL", "TEXT", "BLOB", "DECIMAL(10,2)", "NUMERIC", "DATE", "DATETIME", "BOOLEAN"]
    ),
    values=st.lists(st.none() | NUMBERS, max_size=5) | st.lists(st.none() | NUMBERS | TEXTS, max_size=5),
)
def test_no_value_is_lost_whatever_the_declaration(tmp_path_factory, declared, values):
    path = tmp_path_factory.mktemp("any") / "any.sqlite"
    column_type, read = typed(path, declared, values)
    connection = sqlite3.connect(path)
    stored = connection.execute("SELECT x, CAST(x AS TEXT) FROM t").fetchall()
    connection.close()
    for value, (raw, as_text) in zip(read, stored, strict=True):
        if raw is None:
            assert value is None
        elif column_type == "VARCHAR":
            assert value == as_text
        elif column_type == "DECIMAL(10,2)":
            assert float(value) == raw
        elif column_type == "DATE":
            assert value.isoformat() == raw
        elif column_type == "TIMESTAMP":
            assert value == datetime.datetime.fromisoformat(raw)
        else:
            assert value == raw


def test_text_that_is_not_utf8_is_shown_with_replacement_characters_and_never_compared_here(file):
    make(
        file,
        "CREATE TABLE t (x TEXT, y STRING, z TEXT)",
        "INSERT INTO t VALUES (CAST(x'4dfc6c6c6572' AS TEXT), CAST(x'80' AS TEXT), 'Müller')",
    )
    source = source_of(file)
    assert rows_of(source) == [("M�ller", "�", "Müller")]
    table = table_of(source)
    assert [column.comment for column in table.columns] == [NOT_UTF8, NOT_UTF8, None]
    for column, pushed in (("x", False), ("y", False), ("z", True)):
        assert ("compare:text" in source.pushes_for(table, column)) is pushed
        assert ("group:text" in source.pushes_for(table, column)) is pushed
        assert "null" in source.pushes_for(table, column)


def test_a_utf16_database_is_read_but_its_text_not_compared_there(file):
    make(
        file,
        "PRAGMA encoding = 'UTF-16le'",
        "CREATE TABLE t (x TEXT, y BLOB)",
        "INSERT INTO t VALUES ('ä€😀', 'ü'), ('b', x'00')",
    )
    source = source_of(file)
    assert rows_of(source) == [("ä€😀", "ü".encode()), ("b", b"\0")]
    assert "compare:text" not in source_of(file).pushes_for(table_of(source), "x")
    assert "compare:number" in source_of(file).pushes_for(table_of(source), "x")
