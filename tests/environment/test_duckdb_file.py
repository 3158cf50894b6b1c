"""A DuckDB file: listing, reading in place, samples through `read`, change, and everything that can be wrong with a file."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from coset.environment.scan import EVERYTHING, Aggregate, All, Among, Any, Comparison, Null, Order, Scan
from coset.environment.source import ForeignKey, Limits, SourceSettings
from coset.environment.sources.duckdb_file import DuckDBFile
from coset.errors import LimitReached, SourceUnreachable, TableVanished


def source_of(path: Path, **limits: float) -> DuckDBFile:
    return DuckDBFile(SourceSettings(name="shop", location=str(path), kind="duckdb", limits=Limits(**limits)))


def make(path: Path, *statements: str) -> Path:
    with duckdb.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "shop.duckdb"


def rows_of(source: DuckDBFile, name: str, scan: Scan = EVERYTHING) -> list[tuple]:
    table = next(table for table in source.tables() if table.qualified_name == name)
    answer = source.read(table, scan).read_all()
    return list(zip(*[column.to_pylist() for column in answer.columns], strict=True))


def test_tables_of_all_schemas_have_their_types_keys_comments_and_exact_rows(file):
    make(
        file,
        "CREATE TYPE mood AS ENUM ('glad', 'sad')",
        "CREATE TABLE customer (id INTEGER PRIMARY KEY, mood mood, total HUGEINT NOT NULL)",
        "CREATE SCHEMA sales",
        "CREATE TABLE sales.line (a INTEGER, b INTEGER, PRIMARY KEY (b, a))",
        "CREATE TABLE sales.part (x INTEGER, y INTEGER, FOREIGN KEY (x, y) REFERENCES sales.line (b, a))",
        "COMMENT ON TABLE customer IS 'who buys'",
        "COMMENT ON COLUMN customer.total IS 'in cents'",
        "INSERT INTO customer SELECT range, 'glad', range FROM range(100)",
        "DELETE FROM customer WHERE id % 2 = 0",
    )
    customer, line, part = source_of(file).tables()
    assert [customer.qualified_name, line.qualified_name, part.qualified_name] == [
        "main.customer", "sales.line", "sales.part",
    ]  # fmt: skip
    assert [column.type for column in customer.columns] == ["INTEGER", "ENUM('glad', 'sad')", "HUGEINT"]
    assert [column.nullable for column in customer.columns] == [False, True, False]
    assert (customer.rows, customer.rows_exact) == (50, True)
    assert customer.comment == "who buys"
    assert customer.column("total").comment == "in cents"
    assert customer.primary_key == ("id",)
    assert line.primary_key == ("b", "a")
    assert part.foreign_keys == (ForeignKey(("x", "y"), "sales", "line", ("b", "a")),)


def test_views_that_bind_are_listed_and_others_are_not(file, tmp_path):
    (tmp_path / "numbers.csv").write_text("a\n1\n")
    make(
        file,
        "CREATE TABLE t AS SELECT 1 AS a",
        "CREATE VIEW good AS SELECT a, a::VARCHAR AS b FROM t",
        "COMMENT ON VIEW good IS 'fine'",
        f"CREATE VIEW reads_a_file AS SELECT * FROM read_csv('{tmp_path}/numbers.csv')",
        "CREATE TABLE gone (a INTEGER)",
        "CREATE VIEW broken AS SELECT * FROM gone",
        "DROP TABLE gone",
    )
    source = source_of(file)
    assert [(table.name, table.kind) for table in source.tables()] == [("good", "view"), ("t", "table")]
    good = source.tables()[0]
    assert [(column.name, column.type) for column in good.columns] == [("a", "INTEGER"), ("b", "VARCHAR")]
    assert (good.comment, good.rows) == ("fine", None)
    assert rows_of(source, "main.good") == [(1, "1")]


ODD = ["CARR#", "two words", "order", 'quo"te', "Größe", "MixedCase", "semi;colon", "per%cent", "{brace}"]


def test_odd_names_are_listed_read_and_attached(file):
    quoted = [name.replace('"', '""') for name in ODD]
    columns = ", ".join(f'{number} AS "{name}"' for number, name in enumerate(quoted))
    make(
        file,
        'CREATE SCHEMA "sel ect"',
        *[f'CREATE TABLE "sel ect"."{name}" AS SELECT {columns}' for name in quoted],
    )
    source = source_of(file)
    tables = source.tables()
    assert sorted(table.name for table in tables) == sorted(ODD)
    with duckdb.connect() as session:
        session.execute(f"ATTACH '{file}' AS f (READ_ONLY)")
        for table in tables:
            scan = Scan(where=All(tuple(Comparison(name, "=", ODD.index(name)) for name in ODD)))
            answer = source.read(table, scan).read_all()
            assert answer.column_names == ODD
            assert answer.to_pylist() == [{name: number for number, name in enumerate(ODD)}]
            place = source.in_place(table)
            assert place.attach == file
            relation = ".".join('"' + part.replace('"', '""') + '"' for part in ("f", *place.relation))
            assert session.execute(f"SELECT count(*) FROM {relation}").fetchone() == (1,)


def test_a_table_in_a_schema_within_a_schema_is_left_out(file):
    make(file, "CREATE SCHEMA a", "CREATE SCHEMA a.b", "CREATE TABLE a.b.t (x INTEGER)", "CREATE TABLE a.t (x INTEGER)")
    assert [table.qualified_name for table in source_of(file).tables()] == ["a.t"]


def test_a_thousand_tables_of_one_shape_are_listed(file):
    with duckdb.connect(file) as connection:
        connection.execute("BEGIN")
        for number in range(1000):
            connection.execute(f'CREATE TABLE "T {number}" (id INTEGER PRIMARY KEY, name VARCHAR)')
        connection.execute("INSERT INTO \"T 7\" VALUES (1, 'a'), (2, 'b')")
        connection.execute("COMMIT")
    tables = source_of(file).tables()
    assert len(tables) == 1000
    assert {table.primary_key for table in tables} == {("id",)}
    assert {table.name: table.rows for table in tables if table.rows} == {"T 7": 2}
    assert [table.name for table in tables] == sorted(table.name for table in tables)


def test_every_type_comes_back_as_it_was(file):
    make(file, "CREATE TABLE everything AS SELECT * FROM test_all_types()")
    source = source_of(file)
    (table,) = source.tables()
    assert len(table.columns) > 50
    with duckdb.connect() as session:
        session.execute(f"ATTACH '{file}' AS f (READ_ONLY)")
        for column in table.columns:
            answer = source.read(table, Scan(columns=(column.name,))).read_all()
            session.register("answer", answer)
            back = session.execute(f'SELECT "{column.name}"::{column.type}::VARCHAR FROM answer').fetchall()
            assert back == session.execute(f'SELECT "{column.name}"::VARCHAR FROM f.everything').fetchall(), column.type


SCANS = [
    Scan(),
    Scan(columns=("c", "a")),
    Scan(order=(Order("b"), Order("a", descending=True)), limit=4),
    Scan(order=(Order("b", nulls_first=True), Order("a"))),
    Scan(where=Any((Comparison("b", ">", "a"), Null("c"))), order=(Order("a"),)),
    Scan(where=All((Among("a", (1, 2, 3, 5)), Null("b", negated=True))), order=(Order("a"),)),
    Scan(where=Comparison("c", "<=", Decimal("0.50")), order=(Order("a"),)),
    Scan(aggregates=(Aggregate("count", None, "n"), Aggregate("sum", "c", "s"), Aggregate("avg", "a", "m"))),
    Scan(group_by=("b",), aggregates=(Aggregate("count_distinct", "c", "n"), Aggregate("max", "a", "last"))),
]
EXPECTED = [
    "SELECT * FROM t",
    "SELECT c, a FROM t",
    "SELECT * FROM t ORDER BY b NULLS LAST, a DESC NULLS LAST LIMIT 4",
    "SELECT * FROM t ORDER BY b NULLS FIRST, a",
    "SELECT * FROM t WHERE b > 'a' OR c IS NULL ORDER BY a",
    "SELECT * FROM t WHERE a IN (1, 2, 3, 5) AND b IS NOT NULL ORDER BY a",
    "SELECT * FROM t WHERE c <= 0.50 ORDER BY a",
    "SELECT count(*), sum(c), avg(a) FROM t",
    "SELECT b, count(DISTINCT c), max(a) FROM t GROUP BY b",
]


@pytest.mark.parametrize(("scan", "expected"), list(zip(SCANS, EXPECTED, strict=True)))
def test_a_scan_answers_as_the_same_statement(file, scan, expected):
    make(
        file,
        "CREATE TABLE t (a BIGINT, b VARCHAR, c DECIMAL(9,2))",
        "INSERT INTO t VALUES (1, 'a', 0.5), (2, 'A', -1), (3, 'ä ', NULL), (4, NULL, 0), (5, '', 12.34), (6, 'a', 0.51)",
    )
    answers = rows_of(source_of(file), "main.t", scan)
    with duckdb.connect(file, read_only=True) as connection:
        assert sorted(answers, key=str) == sorted(connection.execute(expected).fetchall(), key=str)
        if scan.order:
            assert answers == connection.execute(expected).fetchall()


def test_the_file_is_held_only_while_it_is_read(file):
    make(file, "CREATE TABLE t AS SELECT range AS i FROM range(200_000)")
    source = source_of(file)
    (table,) = source.tables()
    writes = f"import duckdb; duckdb.connect({str(file)!r}).execute('CREATE TABLE IF NOT EXISTS u (a INTEGER)')"

    def can_write() -> bool:
        return subprocess.run([sys.executable, "-c", writes], capture_output=True).returncode == 0

    assert can_write()
    reader = source.read(table)
    reader.read_next_batch()
    assert not can_write()
    assert reader.read_all().num_rows + 16_384 == 200_000
    assert can_write()
    reader = source.read(table)
    reader.read_next_batch()
    source.close()
    source.close()
    assert can_write()


def test_reading_works_while_a_session_has_the_file_attached(file):
    make(file, "CREATE TABLE t AS SELECT 1 AS a", "CREATE VIEW v AS SELECT a + 1 AS b FROM t")
    with duckdb.connect() as session:
        session.execute(f"ATTACH '{file}' AS f (READ_ONLY)")
        source = source_of(file)
        assert rows_of(source, "main.t") == [(1,)]
        assert session.execute("SELECT b FROM f.main.v").fetchall() == [(2,)]


def test_the_change_token_moves_with_every_change_and_only_then(file):
    make(file, "CREATE TABLE t (a INTEGER)", "INSERT INTO t VALUES (1)")
    source = source_of(file)
    (table,) = source.tables()
    token = source.change_token(table)
    source.read(table).read_all()
    assert source.change_token(table) == token == source.fingerprint()
    for statement in (
        "INSERT INTO t VALUES (2)",
        "UPDATE t SET a = 3",
        "DELETE FROM t WHERE rowid = 0",
        "TRUNCATE t",
        "ALTER TABLE t ADD COLUMN b INTEGER",
    ):
        make(file, statement)
        assert source.change_token(table) != token, statement
        token = source.change_token(table)
    assert [column.name for column in source.tables()[0].columns] == ["a", "b"]


def test_a_change_that_is_only_in_the_wal_is_seen(file):
    make(file, "CREATE TABLE t (a INTEGER)")
    source = source_of(file)
    before = source.fingerprint()
    writes = f"""
import duckdb, os
connection = duckdb.connect({str(file)!r})
connection.execute("INSERT INTO t VALUES (1)")
os._exit(0)
"""
    subprocess.run([sys.executable, "-c", writes], check=True)
    assert file.with_name("shop.duckdb.wal").exists()
    assert source.fingerprint() != before
    assert rows_of(source, "main.t") == [(1,)]


def test_a_vanished_table_or_column_is_named(file):
    make(file, "CREATE TABLE t (a INTEGER, b INTEGER)")
    source = source_of(file)
    (table,) = source.tables()
    make(file, "ALTER TABLE t DROP COLUMN b")
    with pytest.raises(TableVanished, match=r"'main\.t'"):
        source.read(table)
    make(file, "DROP TABLE t")
    with pytest.raises(TableVanished, match=r"'main\.t'"):
        source.read(table)


@pytest.mark.parametrize("value", ["repeat('ä', 600)", "repeat('x', 1200)::BLOB"])
def test_a_value_beyond_the_limit_is_refused_with_its_column_and_size(file, value):
    make(file, f'CREATE TABLE t AS SELECT 1 AS a, {value} AS "it\'s"')
    source = source_of(file, cell_bytes=1000)
    (table,) = source.tables()
    with pytest.raises(LimitReached, match=r"1,200 bytes in column .*it's.* of table 't'"):
        source.read(table).read_all()
    assert source.read(table, Scan(columns=("a",))).read_all().num_rows == 1
    assert rows_of(source_of(file, cell_bytes=1200), "main.t")


def test_a_statement_beyond_its_time_is_ended(file):
    endless = "range(10_000_000) a, range(10_000_000) b WHERE (a.range * b.range) % 1000003 = 17"
    make(file, f"CREATE VIEW v AS SELECT count(*) AS n FROM {endless}")
    source = source_of(file, query_seconds=0.3)
    (view,) = source.tables()
    with pytest.raises(LimitReached, match="query_seconds"):
        source.read(view).read_all()


def raises(path: Path) -> str:
    with pytest.raises(SourceUnreachable) as caught:
        source_of(path).tables()
    message = str(caught.value)
    assert message.startswith(f"source 'shop': {path} ")
    assert "\n" not in message
    return message


def test_what_is_not_a_duckdb_file_is_said_plainly(tmp_path, file):
    assert raises(tmp_path / "none.duckdb").endswith("does not exist")
    assert raises(tmp_path).endswith("is a folder, not a DuckDB file")
    (tmp_path / "text.duckdb").write_text("hello" * 2000)
    assert raises(tmp_path / "text.duckdb").endswith("is not a DuckDB file")
    (tmp_path / "empty.duckdb").touch()
    assert raises(tmp_path / "empty.duckdb").endswith("is not a DuckDB file")
    connection = sqlite3.connect(tmp_path / "lite.duckdb")
    connection.execute("CREATE TABLE t (a)")
    connection.close()
    assert "another database, such as SQLite" in raises(tmp_path / "lite.duckdb")


def test_a_damaged_or_shortened_file_is_said_plainly(tmp_path, file):
    make(file, "CREATE TABLE t AS SELECT range AS i FROM range(100_000)")
    content = file.read_bytes()
    (tmp_path / "short.duckdb").write_bytes(content[:6000])
    assert "cut short" in raises(tmp_path / "short.duckdb")
    (tmp_path / "flipped.duckdb").write_bytes(content[:13_000] + bytes(byte ^ 85 for byte in content[13_000:]))
    assert "damaged" in raises(tmp_path / "flipped.duckdb")


@pytest.mark.parametrize(("version", "reason"), [(5000, "newer DuckDB"), (30, "too old")])
def test_a_file_of_another_storage_version_is_said_plainly(tmp_path, file, version, reason):
    make(file, "CREATE TABLE t (a INTEGER)")
    content = bytearray(file.read_bytes())
    content[12:20] = version.to_bytes(8, "little")
    other = tmp_path / "other.duckdb"
    other.write_bytes(content)
    with pytest.raises(duckdb.Error) as caught:  # DuckDB itself tells the checksum that the changed header needs
        duckdb.connect(other, read_only=True)
    content[:8] = int(re.search(r"computed checksum (\d+)", str(caught.value))[1]).to_bytes(8, "little")
    other.write_bytes(content)
    assert reason in raises(other)


def test_a_file_that_another_process_writes_to_is_said_to_be_locked(file):
    make(file, "CREATE TABLE t (a INTEGER)")
    holds = f"import duckdb, sys; c = duckdb.connect({str(file)!r}); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", holds], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout.readline() == b"open\n"
        assert "is locked by a program" in raises(file)
        writer.stdin.close()
        writer.wait()
    assert len(source_of(file).tables()) == 1


def test_nothing_is_written_beside_the_file(file):
    make(file, "CREATE TABLE t AS SELECT 1 AS a")
    before = (file.stat().st_mtime_ns, list(file.parent.iterdir()))
    rows_of(source_of(file), "main.t")
    assert (file.stat().st_mtime_ns, list(file.parent.iterdir())) == before
