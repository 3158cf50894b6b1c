"""A SQLite file: tables, keys and names as they are listed, however odd they are."""

from __future__ import annotations

import sqlite3

from coset.environment.scan import Aggregate, All, Comparison, Order, Scan
from coset.environment.source import ForeignKey
from coset.environment.sources.sqlite import listing as sqlite_listing
from environment.sqlite.sqlite_files import make, rows_of, source_of, table_of


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
