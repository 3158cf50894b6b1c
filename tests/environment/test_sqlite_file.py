"""A SQLite file: types from what is stored, scans with DuckDB's meaning, and everything that can be wrong with a file."""

from __future__ import annotations

import datetime
import itertools
import os
import random
import sqlite3
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coset.environment.scan import EVERYTHING, Aggregate, All, Among, Any, Comparison, Null, Order, Scan, family
from coset.environment.source import ForeignKey, Limits, SourceSettings, Table
from coset.environment.sources.sqlite import listing as sqlite_listing
from coset.environment.sources.sqlite.columns import NOT_UTF8
from coset.environment.sources.sqlite.source import SQLiteFile
from coset.errors import LimitReached, SourceUnreachable, TableVanished


def source_of(path: Path, **limits: float) -> SQLiteFile:
    return SQLiteFile(SourceSettings(name="shop", location=str(path), kind="sqlite", limits=Limits(**limits)))


def make(path: Path, *statements: str) -> Path:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous = OFF")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path


def make_table(path: Path, columns: str, rows: list[tuple]) -> Path:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute(f"CREATE TABLE t ({columns})")
    if rows:
        connection.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(rows[0]))})", rows)
    connection.commit()
    connection.close()
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "shop.sqlite"


def table_of(source: SQLiteFile, name: str = "t") -> Table:
    return next(table for table in source.tables() if table.name == name)


def rows_of(source: SQLiteFile, scan: Scan = EVERYTHING, name: str = "t") -> list[tuple]:
    answer = source.read(table_of(source, name), scan).read_all()
    return list(zip(*[column.to_pylist() for column in answer.columns], strict=True))


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


day, moment = datetime.date, datetime.datetime
BIG = 2**53


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


def test_declared_keys_and_exact_rows_are_listed(file):
    make(
        file,
        "CREATE TABLE Parent (id INTEGER PRIMARY KEY, code TEXT NOT NULL)",
        "CREATE TABLE two (a INTEGER, b TEXT, v REAL, PRIMARY KEY (b, a)) WITHOUT ROWID",
        "CREATE TABLE child (id INTEGER PRIMARY KEY, PARENT_ID INTEGER REFERENCES parent, x INTEGER, y TEXT,"
        " FOREIGN KEY (y, x) REFERENCES two (B, A), FOREIGN KEY (x) REFERENCES missing (z))",
        "INSERT INTO parent VALUES (1, 'a'), (5, 'b')",
        "CREATE VIEW both AS SELECT p.id, p.code, 1 + 1 AS two FROM parent AS p",
    )
    tables = {table.name: table for table in source_of(file).tables()}
    assert list(tables) == ["Parent", "both", "child", "two"]
    parent = tables["Parent"]
    assert (parent.rows, parent.rows_exact, parent.kind, parent.schema) == (2, True, "table", None)
    assert parent.primary_key == ("id",)
    assert [column.nullable for column in parent.columns] == [False, False]
    assert tables["two"].primary_key == ("b", "a")
    assert set(tables["child"].foreign_keys) == {
        ForeignKey(("PARENT_ID",), None, "Parent", ("id",)),
        ForeignKey(("y", "x"), None, "two", ("b", "a")),
    }
    assert (tables["both"].kind, tables["both"].rows) == ("view", 2)
    assert [column.type for column in tables["both"].columns] == ["BIGINT", "VARCHAR", "BIGINT"]


def test_generated_strict_and_virtual_tables_are_read(file):
    make(
        file,
        "CREATE TABLE generated (a INTEGER, b INTEGER GENERATED ALWAYS AS (a * 2) STORED, c TEXT AS ('n' || a))",
        "INSERT INTO generated (a) VALUES (1), (2)",
        "CREATE TABLE strict_one (a INT, b ANY, c BLOB) STRICT",
        "INSERT INTO strict_one VALUES (1, 'x', x'00'), (2, 3, NULL)",
        "CREATE VIRTUAL TABLE words USING fts5(title, body)",
        "INSERT INTO words VALUES ('hello', 'world')",
        "CREATE TABLE serial (id INTEGER PRIMARY KEY AUTOINCREMENT)",
    )
    source = source_of(file)
    assert [table.name for table in source.tables()] == ["generated", "serial", "strict_one", "words"]
    assert rows_of(source, name="generated") == [(1, 2, "n1"), (2, 4, "n2")]
    assert rows_of(source, name="strict_one") == [(1, "x", b"\0"), (2, "3", None)]
    assert rows_of(source, name="words") == [("hello", "world")]


def test_what_this_sqlite_cannot_read_is_left_out(file):
    make(
        file,
        "CREATE TABLE fine (a)",
        "INSERT INTO fine VALUES (1)",
        "CREATE TABLE soon_gone (a)",
        "CREATE VIEW broken AS SELECT * FROM soon_gone",
        "DROP TABLE soon_gone",
        "CREATE VIEW unknown_function AS SELECT only_theirs(a) FROM fine",
        "PRAGMA writable_schema = ON",
        "INSERT INTO sqlite_master VALUES ('table', 'v', 'v', 0, 'CREATE VIRTUAL TABLE v USING nowhere(a)')",
    )
    source = source_of(file)
    assert [table.name for table in source.tables()] == ["fine"]
    assert rows_of(source, name="fine") == [(1,)]


def test_a_collation_that_only_the_writer_knows_does_not_matter(file):
    connection = sqlite3.connect(file)
    connection.create_collation("theirs", lambda a, b: (a > b) - (a < b))
    connection.execute("CREATE TABLE t (x TEXT COLLATE theirs, d DATE COLLATE theirs, n INTEGER COLLATE theirs)")
    connection.execute("CREATE INDEX i ON t (x)")
    connection.execute("INSERT INTO t VALUES ('b', '2024-01-05', 2), ('a', '2024-01-06', 1)")
    connection.commit()
    connection.close()
    source = source_of(file)
    assert [column.type for column in table_of(source).columns] == ["VARCHAR", "DATE", "BIGINT"]
    scan = Scan(
        columns=("x",), where=All((Comparison("x", ">=", "a"), Comparison("n", ">", 0))), order=(Order("x"), Order("d"))
    )
    assert rows_of(source, scan) == [("a",), ("b",)]


ODD = [
    "CARR#",
    "two words",
    "order",
    "select",
    'quo"te',
    "it's",
    "Ärger",
    "ärger",
    "MixedCase",
    "semi;colon",
    "",
    "%s",
    "?",
    ":p0",
    "{b}",
    "t",
]


def test_odd_names_are_listed_read_and_filtered(file):
    quoted = ['"' + name.replace('"', '""') + '"' for name in ODD]
    connection = sqlite3.connect(file)
    for name in quoted:
        connection.execute(f"CREATE TABLE {name} ({', '.join(f'{column} INTEGER' for column in quoted)})")
        connection.execute(f"INSERT INTO {name} VALUES ({', '.join(map(str, range(len(ODD))))})")
    connection.commit()
    connection.close()
    source = source_of(file)
    tables = source.tables()
    assert sorted(table.native_name for table in tables) == sorted(ODD)
    assert len({table.name.lower() for table in tables}) == len(ODD)
    for table in tables:
        assert [column.native_name for column in table.columns] == ODD
        names = [column.name for column in table.columns]
        assert len({name.lower() for name in names}) == len(ODD)
        scan = Scan(
            where=All(tuple(Comparison(name, "=", number) for number, name in enumerate(names))),
            order=(Order(names[3]),),
        )
        answer = source.read(table, scan).read_all()
        assert answer.column_names == names
        assert answer.to_pylist() == [{name: number for number, name in enumerate(names)}]
        grouped = Scan(group_by=(names[4],), aggregates=(Aggregate("sum", names[10], 'to"tal'),))
        assert source.read(table, grouped).read_all().to_pylist() == [{names[4]: 4, 'to"tal': 10}]


def test_a_path_with_odd_characters_is_opened(tmp_path):
    folder = tmp_path / "50% of ? & # ü"
    folder.mkdir()
    make(folder / "a?mode=rwc&b#c d%20.db", "CREATE TABLE t (a)")
    assert len(source_of(folder / "a?mode=rwc&b#c d%20.db").tables()) == 1
    assert [path.name for path in folder.iterdir()] == ["a?mode=rwc&b#c d%20.db"]


def test_two_thousand_tables_of_one_shape_are_listed(file):
    connection = sqlite3.connect(file)
    for number in range(2000):
        connection.execute(
            f'CREATE TABLE "T {number:04}" (id INTEGER PRIMARY KEY, name TEXT, price DECIMAL(8,2), day DATE)'
        )
        connection.execute(f"INSERT INTO \"T {number:04}\" VALUES (1, 'a', 9.99, '2024-01-05')")
    connection.commit()
    connection.close()
    tables = source_of(file).tables()
    assert [table.name for table in tables] == [f"T {number:04}" for number in range(2000)]
    assert {tuple(column.type for column in table.columns) for table in tables} == {
        ("BIGINT", "VARCHAR", "DECIMAL(8,2)", "DATE")
    }
    assert {table.rows for table in tables} == {1}


def test_a_table_of_as_many_columns_as_sqlite_allows_is_listed_and_read(file):
    names = [f"c{number}" for number in range(1900)]
    make(
        file,
        f"CREATE TABLE t ({', '.join(f'{name} TEXT' for name in names)})",
        "INSERT INTO t (c0, c1899) VALUES ('a', 'z')",
    )
    source = source_of(file)
    assert [column.name for column in table_of(source).columns] == names
    (row,) = rows_of(source)
    assert (row[0], row[1], row[1899]) == ("a", None, "z")


def test_a_view_that_costs_too_much_to_type_is_read_as_text(file, monkeypatch):
    monkeypatch.setattr(sqlite_listing, "VIEW_STEPS", 1_000_000)
    make(
        file,
        "CREATE TABLE t (a INTEGER)",
        "INSERT INTO t WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n LIMIT 1000) SELECT a FROM n",
        "CREATE VIEW huge AS SELECT x.a AS a FROM t AS x, t AS y, t AS z",
        "CREATE VIEW small AS SELECT a FROM t",
    )
    source = source_of(file)
    huge, small = table_of(source, "huge"), table_of(source, "small")
    assert (huge.rows, huge.columns[0].type) == (None, "VARCHAR")
    assert (small.rows, small.columns[0].type) == (1000, "BIGINT")
    assert rows_of(source, Scan(limit=1), "huge") == [("1",)]


# --- scans -----------------------------------------------------------------------------------------------------------

TEXT = ["a", "A", "ä", "Ä", "b ", "b", "", " ", "Straße", "zz", "12", "9", None, "O'Brien", "a\x00b", "😀", "�"]
INTEGERS = [0, 1, -1, 5, -7, BIG + 1, -(BIG + 3), 2**62, None, 12]
REALS = [0.1, -0.1, 1.5, 0.30000000000000004, 1e300, -1e-300, 3, None, 12, float("-inf")]
PRICES = [0.01, -0.01, 19.99, 20, 1234567.89, None, 0, -5.5, 0.1, 19.98]
DAYS = ["2024-01-05", "2024-01-06", "1999-12-31", None, "0001-01-01", "9999-12-31"]
TIMES = [
    "2024-01-05",
    "2024-01-05T00:00:00",
    "2024-01-05 10:00",
    "2024-01-05 10:00:00.5",
    "2024-01-05T10:00:00.500000",
    "1999-12-31 23:59:59.999999",
    None,
]
FLAGS = [0, 1, None]


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """A source, its table, and DuckDB with the whole table as `t`."""
    chosen = random.Random(7)
    columns = [TEXT, TEXT, [*TEXT, 12, 1.5], INTEGERS, REALS, PRICES, DAYS, TIMES, FLAGS]
    rows = [tuple(chosen.choice(values) for values in columns) for _ in range(400)]
    path = make_table(
        tmp_path_factory.mktemp("scans") / "s.sqlite",
        'txt TEXT COLLATE NOCASE, pad VARCHAR COLLATE RTRIM, mixed, num INTEGER, "real" REAL, price DECIMAL(12,2),'
        " day DATE COLLATE NOCASE, time DATETIME, flag BOOLEAN",
        rows,
    )
    connection = sqlite3.connect(path)
    connection.execute("CREATE INDEX txt_index ON t (txt)")
    connection.execute("CREATE INDEX num_index ON t (num)")
    connection.commit()
    connection.close()
    source = source_of(path)
    table = table_of(source)
    assert [column.type for column in table.columns] == [
        "VARCHAR", "VARCHAR", "VARCHAR", "BIGINT", "DOUBLE", "DECIMAL(12,2)", "DATE", "TIMESTAMP", "BOOLEAN",
    ]  # fmt: skip
    session = duckdb.connect()
    answer = source.read(table).read_all()
    assert answer.num_rows == 400
    session.register("answer", answer)
    session.execute("CREATE TABLE t AS SELECT * FROM answer")
    yield source, table, session
    session.close()


def ask(session: duckdb.DuckDBPyConnection, scan: Scan, table: Table) -> list[tuple]:
    """The same in DuckDB over the whole table, written independently of `scan_to_sql`, values as parameters."""
    parameters: list = []

    def where(condition) -> str:
        match condition:
            case All(parts):
                return "(" + " AND ".join(map(where, parts)) + ")"
            case Any(parts):
                return "(" + " OR ".join(map(where, parts)) + ")"
            case Null(column, negated):
                return f'"{column}" IS {"NOT " if negated else ""}NULL'
            case Among(column, values):
                parameters.extend(values)
                return f'"{column}" IN ({", ".join("?" * len(values))})'
            case Comparison(column, operator, value):
                parameters.append(value)
                return f'"{column}" {operator} ?'

    if scan.is_aggregate:
        functions = {"count_distinct": "count(DISTINCT {})"}
        outputs = [f'"{name}"' for name in scan.group_by]
        for item in scan.aggregates:
            column = "*" if item.column is None else f'"{item.column}"'
            outputs.append(functions.get(item.function, item.function + "({})").format(column))
    else:
        outputs = [f'"{name}"' for name in scan.columns or [column.name for column in table.columns]]
    sql = f"SELECT {', '.join(outputs)} FROM t"
    if scan.where:
        sql += f" WHERE {where(scan.where)}"
    if scan.group_by:
        sql += " GROUP BY " + ", ".join(f'"{name}"' for name in scan.group_by)
    if scan.order:
        sql += " ORDER BY " + ", ".join(
            f'"{order.column}" {"DESC" if order.descending else "ASC"} NULLS {"FIRST" if order.nulls_first else "LAST"}'
            for order in scan.order
        )
    if scan.limit is not None:
        sql += f" LIMIT {scan.limit}"
    return session.execute(sql, parameters).fetchall()


def same(pair, scan: Scan) -> None:
    source, table, session = pair
    answer = source.read(table, scan).read_all()
    ours = list(zip(*[column.to_pylist() for column in answer.columns], strict=True))
    theirs = ask(session, scan, table)
    if scan.order:
        assert ours == theirs, scan
    else:
        assert sorted(ours, key=repr) == sorted(theirs, key=repr), scan


OPERATORS = ["=", "<>", "<", "<=", ">", ">="]
CONSTANTS = {
    "txt": ["a", "A", "ä", "b", "b ", "", "12", "S", "�", "a\x00b", "😀"],
    "pad": ["b", "b ", "B"],
    "mixed": ["12", "1.5", "9", "a", ""],
    "num": [0, 1, -1, BIG + 1, 2**62, 2**63, -(2**63), -(2**64), Decimal("0.5"), Decimal("-1.5"), 1.5, float(BIG), float(2**62)],
    "real": [0.1, 0.3, 0.30000000000000004, 3, 12, Decimal("0.1"), BIG + 1, float("inf"), float("-inf"), float("nan")],
    "price": [Decimal("19.99"), Decimal("19.985"), 20, 0, Decimal("-0.01"), Decimal("-0.015"), 19.99, 0.1, -5.5, 10**20, Decimal("1e-30")],
    "day": [day(2024, 1, 5), day(1, 1, 1), moment(2024, 1, 5), moment(2024, 1, 5, 12), moment(1999, 12, 31, 23, 59, 59, 999999)],
    "time": [moment(2024, 1, 5), day(2024, 1, 5), moment(2024, 1, 5, 10), moment(2024, 1, 5, 10, 0, 0, 500000), moment(1999, 12, 31, 23, 59, 59, 999999)],
    "flag": [True, False],
}  # fmt: skip


@pytest.mark.parametrize("column", list(CONSTANTS))
def test_comparisons_mean_what_they_mean_in_duckdb(pair, column):
    key = next(name for name in ("num", "txt") if name != column)
    for operator, value in itertools.product(OPERATORS, CONSTANTS[column]):
        same(pair, Scan(columns=(column, key), where=Comparison(column, operator, value)))
    same(pair, Scan(where=Null(column)))
    same(pair, Scan(where=Null(column, negated=True)))


@pytest.mark.parametrize("column", list(CONSTANTS))
def test_membership_means_what_it_means_in_duckdb(pair, column):
    kinds = {}
    for value in CONSTANTS[column]:
        kinds.setdefault(type(value), []).append(value)
    for values in kinds.values():
        same(pair, Scan(where=Among(column, tuple(values))))
        same(pair, Scan(where=Among(column, (values[0],))))


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("txt", [*[f"x{number}" for number in range(3000)], "a", "ä", "b "]),
        ("num", [*range(10, 3000), -7]),
        ("price", [Decimal(number) / 100 for number in range(3000)]),
        ("time", [moment(2024, 1, 5) + datetime.timedelta(seconds=number) for number in range(3000)]),
    ],
)
def test_membership_in_a_long_list_means_the_same(pair, column, values):
    scan = Scan(where=Among(column, tuple(values)))
    same(pair, scan)
    assert pair[0].read(pair[1], scan).read_all().num_rows > 0


def test_conditions_combine(pair):
    parts = (
        Comparison("txt", ">", "a"),
        Null("num"),
        Comparison("price", "<", Decimal("19.99")),
        Among("flag", (True,)),
    )
    for first, second, third in itertools.permutations(parts, 3):
        same(pair, Scan(where=All((first, Any((second, third))))))
        same(pair, Scan(where=Any((All((first, second)), third))))


def test_order_and_limit_mean_what_they_mean_in_duckdb(pair):
    _, table, _ = pair
    for column, descending, nulls_first in itertools.product(table.columns, (False, True), (False, True)):
        order = Order(column.name, descending, nulls_first)
        same(pair, Scan(columns=(column.name,), order=(order,)))
        same(pair, Scan(columns=(column.name,), order=(order,), limit=17, where=Null("num", negated=True)))
    everything = tuple(Order(column.name) for column in table.columns)
    same(pair, Scan(order=everything))
    assert pair[0].read(table, Scan(limit=0)).read_all().num_rows == 0
    assert pair[0].read(table, Scan(limit=7)).read_all().num_rows == 7


def test_aggregates_mean_what_they_mean_in_duckdb(pair):
    source, table, _ = pair
    for column in table.columns:
        functions = ["count", "count_distinct", "min", "max"]
        pushed = source.pushes_for(table, column.name)
        assert ("aggregate:sum" in pushed) == (column.type != "DOUBLE")
        if family(column.type) == "number" and "aggregate:sum" in pushed:
            functions.append("sum")
        aggregates = tuple(Aggregate(function, column.name, f"{function}!") for function in functions)
        same(pair, Scan(aggregates=aggregates))
        same(pair, Scan(aggregates=aggregates, where=Comparison("num", ">", 2**63)))  # nothing
        same(pair, Scan(aggregates=(Aggregate("count", None, "n"), *aggregates), group_by=(column.name,)))
        same(pair, Scan(aggregates=aggregates, group_by=("flag", "txt"), where=Null("price", negated=True)))
        same(pair, Scan(group_by=(column.name,)))
    same(pair, Scan(aggregates=(Aggregate("count", None, "n"),)))


def test_a_sum_beyond_64_bits_is_exact(file):
    make_table(file, "a INTEGER, p DECIMAL(15,2)", [(2**63 - 1, 9999999999999.99)] * 10_000 + [(None, None), (5, 0.01)])
    source = source_of(file)
    scan = Scan(aggregates=(Aggregate("sum", "a", "a"), Aggregate("sum", "p", "p"), Aggregate("count", None, "n")))
    assert rows_of(source, scan) == [(Decimal((2**63 - 1) * 10_000 + 5), Decimal("99999999999999900.01"), 10_002)]


def test_average_is_not_promised():
    assert "aggregate:avg" not in SQLiteFile.pushes


def test_only_the_columns_asked_for_come_in_the_order_asked_for(pair):
    source, table, _ = pair
    answer = source.read(table, Scan(columns=("flag", "txt"), limit=1)).read_all()
    assert answer.schema == pa.schema([("flag", pa.bool_()), ("txt", pa.string())])


# --- reading, change, limits -----------------------------------------------------------------------------------------


def test_rows_come_as_a_stream_of_bounded_batches(file):
    make(
        file,
        "CREATE TABLE t (a INTEGER, b TEXT)",
        "INSERT INTO t WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n LIMIT 40000) SELECT a, 'n' || a FROM n",
        "CREATE TABLE large (a INTEGER, b BLOB)",
        "INSERT INTO large WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n LIMIT 200) SELECT a, zeroblob(400000) FROM n",
    )
    source = source_of(file)
    batches = list(source.read(table_of(source)))
    assert max(batch.num_rows for batch in batches) < 20_000
    assert [row for batch in batches for row in batch.column(0).to_pylist()] == list(range(1, 40_001))
    large = list(source.read(table_of(source, "large")))
    assert sum(batch.num_rows for batch in large) == 200
    assert max(batch.nbytes for batch in large) < 110_000_000


def test_the_change_token_moves_with_every_change_and_only_then(file):
    make(file, "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")
    source = source_of(file)
    table = table_of(source)
    token = source.change_token(table)
    source.read(table).read_all()
    assert source.change_token(table) == token == source.fingerprint()
    for statement in (
        "INSERT INTO t VALUES (2)",
        "UPDATE t SET a = 3",
        "DELETE FROM t WHERE rowid = 1",
        "DELETE FROM t",
        "ALTER TABLE t ADD COLUMN b",
    ):
        time.sleep(0.01)  # the clock of the file system ticks every few milliseconds
        make(file, statement)
        assert source.change_token(table) != token, statement
        token = source.change_token(table)
    assert [column.name for column in table_of(source).columns] == ["a", "b"]


def test_a_listing_is_kept_until_the_file_changes(file):
    make(file, "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")
    source = source_of(file)
    first = source.tables()
    assert source.tables()[0] is first[0]
    time.sleep(0.01)
    make(file, "INSERT INTO t VALUES ('x')")
    assert (table_of(source).columns[0].type, table_of(source).rows) == ("VARCHAR", 2)


def test_a_listed_table_can_be_read_by_a_fresh_source(pair):
    source, table, _ = pair
    fresh = SQLiteFile(source.settings)
    assert fresh.read(table).read_all().equals(source.read(table).read_all())
    assert "aggregate:sum" not in fresh.pushes_for(table, "real")


def test_a_vanished_table_or_column_is_named(file):
    make(file, "CREATE TABLE t (a INTEGER, b INTEGER)", "INSERT INTO t VALUES (1, 2)")
    source = source_of(file)
    table = table_of(source)
    make(file, "ALTER TABLE t DROP COLUMN b")
    with pytest.raises(TableVanished, match="table 't'"):
        source.read(table)
    make(file, "DROP TABLE t")
    with pytest.raises(TableVanished, match="table 't'"):
        source.read(table)


@pytest.mark.parametrize(
    ("declared", "first", "then"),
    [
        ("INTEGER", "1", "1.5"),
        ("INTEGER", "1", "'x'"),
        ("BOOLEAN", "1", "2"),
        ("DECIMAL(5,2)", "1.25", "1.125"),
        ("DECIMAL(5,2)", "1.25", "123456"),
        ("DATE", "'2024-01-05'", "'soon'"),
        ("DATETIME", "'2024-01-05'", "'2023-02-29'"),
        ("REAL", "1.5", "'x'"),
    ],
)
def test_a_value_that_came_after_the_listing_and_does_not_fit_is_never_bent(file, declared, first, then):
    make(file, f"CREATE TABLE t (x {declared})", f"INSERT INTO t VALUES ({first})")
    source = source_of(file)
    table = table_of(source)
    make(file, f"INSERT INTO t VALUES ({then})")
    with pytest.raises(TableVanished, match="table 't' now holds values"):
        source.read(table).read_all()


@pytest.mark.parametrize("value", ["CAST(zeroblob(1200) AS TEXT)", "zeroblob(1200)"])
def test_a_value_beyond_the_limit_is_refused_with_its_column_and_size(file, value):
    make(file, 'CREATE TABLE t (a INTEGER, "the x")', f"INSERT INTO t VALUES (1, 'short'), (2, {value})")
    source = source_of(file, cell_bytes=1000)
    table = table_of(source)
    for scan in (Scan(), Scan(order=(Order("a"),))):
        with pytest.raises(LimitReached, match="1,200 bytes in column 'the x' of table 't'"):
            source.read(table, scan).read_all()
    assert rows_of(source, Scan(columns=("a",))) == [(1,), (2,)]
    assert len(rows_of(source_of(file, cell_bytes=1200))) == 2


def test_a_row_of_several_values_within_the_limit_is_read_and_sorted(file):
    make(file, "CREATE TABLE t (a, b, n)", "INSERT INTO t VALUES (zeroblob(700), zeroblob(700), 2), (x'01', x'02', 1)")
    source = source_of(file, cell_bytes=1000)
    assert [row[2] for row in rows_of(source, Scan(order=(Order("n"),)))] == [1, 2]


def test_a_statement_beyond_its_time_is_ended(file, monkeypatch):
    monkeypatch.setattr(sqlite_listing, "VIEW_STEPS", 1_000_000)
    make(
        file,
        "CREATE TABLE t (a INTEGER)",
        "INSERT INTO t WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n LIMIT 1000) SELECT a FROM n",
        "CREATE VIEW endless AS SELECT x.a FROM t AS x, t AS y, t AS z, t AS w",
    )
    table = table_of(source_of(file), "t")
    source = source_of(file, query_seconds=0.2)
    endless = Table("endless", "endless", table.columns, kind="view")
    with pytest.raises(LimitReached, match="query_seconds"):
        source.read(endless, Scan(aggregates=(Aggregate("count", None, "n"),)))


def can_write(path: Path) -> bool:
    """Whether another process can write right now."""
    code = f"import sqlite3; c = sqlite3.connect({str(path)!r}, timeout=0); c.execute('INSERT INTO t VALUES (0)'); c.commit()"
    return subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def test_the_file_is_held_only_while_it_is_read(file):
    make(
        file,
        "CREATE TABLE t (a INTEGER)",
        "INSERT INTO t WITH RECURSIVE n(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n LIMIT 60000) SELECT a FROM n",
    )
    source = source_of(file)
    table = table_of(source)
    assert can_write(file)
    reader = source.read(table)
    reader.read_next_batch()
    assert source.change_token(table)
    assert not can_write(file)
    reader.read_all()
    assert can_write(file)
    reader = source.read(table)
    reader.read_next_batch()
    source.close()
    source.close()
    assert can_write(file)
    del reader
    reader = source.read(table)
    reader.read_next_batch()
    del reader
    assert can_write(file)


def test_the_source_cannot_write(file):
    make(file, "CREATE TABLE t (a)")
    connection = source_of(file)._connect()
    with pytest.raises(sqlite3.OperationalError, match=r"readonly|read-only"):
        connection.execute("INSERT INTO t VALUES (1)")
    connection.close()


# --- files that are in use, or are no SQLite files -------------------------------------------------------------------


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
