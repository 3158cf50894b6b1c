"""MySQL and MariaDB against a real server: what is listed, how rows are read, what is pushed down, what goes wrong."""

from __future__ import annotations

import datetime
import itertools
import json
import logging
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest
import sqlglot.expressions as sge

from coset.environment.scan import (
    EVERYTHING,
    Aggregate,
    All,
    Among,
    Any,
    Comparison,
    Null,
    Order,
    Scan,
    family,
    needed_operations,
    scan_to_sql,
)
from coset.environment.source import Limits, SourceSettings, Table
from coset.environment.sources import open_source
from coset.environment.sources.mysql import catalog as mysql_catalog
from coset.environment.sources.mysql import connection as mysql_connection
from coset.environment.sources.mysql import source as mysql
from coset.environment.sources.mysql.connection import connect, parse_address
from coset.environment.sources.mysql.source import MySQL
from coset.errors import LimitReached, MissingDependency, Mistake, SourceUnreachable, TableVanished
from engines.mysql import PASSWORD, MySQLServer, running_mysql_server

Run = Callable[..., list[tuple[object, ...]]]
numbers = itertools.count(1)


def settings(url: str, **limits: float) -> SourceSettings:
    return SourceSettings(name="shop", location=url, kind="mysql", limits=Limits(**limits), secrets=(PASSWORD,))


class Database:
    """A fresh database: its URL, statements as its owner, and sources on it that are closed at the end."""

    def __init__(self, server: MySQLServer) -> None:
        import pymysql

        self.server = server
        self.name = f"db_{next(numbers)}"
        self.url = server.create_database(self.name)
        self.connection = pymysql.connect(
            user="root", unix_socket=str(server.socket), database=self.name, autocommit=True, charset="utf8mb4"
        )
        self.sources: list[MySQL] = []

    def run(self, statement: str, *arguments: object) -> list[tuple[object, ...]]:
        with self.connection.cursor() as cursor:
            cursor.execute(statement, arguments or None)
            return list(cursor.fetchall())

    def source(self, url: str | None = None, **limits: float) -> MySQL:
        source = open_source(settings(url or self.url, **limits))
        assert isinstance(source, MySQL)
        self.sources.append(source)
        return source

    def close(self) -> None:
        for source in self.sources:
            source.close()
        self.connection.close()


@pytest.fixture
def database(mysql_server: MySQLServer) -> Iterator[Database]:
    with closing(Database(mysql_server)) as database:
        yield database


def table_of(source: MySQL, name: str) -> Table:
    return next(table for table in source.tables() if table.name == name)


def rows_of(source: MySQL, table: Table, scan: Scan = EVERYTHING) -> list[tuple[object, ...]]:
    read = source.read(table, scan).read_all()
    return list(zip(*(column.to_pylist() for column in read.columns), strict=True))


# Listing


def test_an_empty_database_has_no_tables(mysql_url: str) -> None:
    with closing(open_source(settings(mysql_url))) as source:
        assert source.tables() == []


def test_tables_are_listed_with_keys_comments_sizes_and_exact_rows(database: Database) -> None:
    database.run(
        "CREATE TABLE customer (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL COMMENT 'full name') COMMENT 'who buys'"
    )
    database.run("CREATE TABLE line (a INT, b INT, PRIMARY KEY (b, a))")
    database.run(
        "CREATE TABLE purchase (no INT, customer INT, la INT, lb INT, FOREIGN KEY (customer) REFERENCES customer (id), "
        "FOREIGN KEY (lb, la) REFERENCES line (b, a))"
    )
    database.run("INSERT INTO customer VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    database.run("CREATE VIEW buyers AS SELECT name FROM customer")
    tables = {table.name: table for table in database.source().tables()}
    assert list(tables) == ["buyers", "customer", "line", "purchase"]
    customer = tables["customer"]
    assert (customer.schema, customer.kind, customer.rows, customer.rows_exact) == (None, "table", 3, True)
    assert customer.comment == "who buys"
    assert customer.column("name").comment == "full name"
    assert [column.nullable for column in customer.columns] == [False, False]
    assert customer.bytes is not None and customer.bytes > 0
    assert tables["line"].primary_key == ("b", "a")
    keys = {key.references_table: key for key in tables["purchase"].foreign_keys}
    assert (keys["line"].columns, keys["line"].references_columns) == (("lb", "la"), ("b", "a"))
    assert (keys["customer"].columns, keys["customer"].references_schema) == (("customer",), None)
    assert (tables["buyers"].kind, tables["buyers"].rows, tables["buyers"].comment) == ("view", None, None)


def test_odd_names_work_for_tables_and_columns(database: Database) -> None:
    odd = ["CARR#", "order", "two words", "it's", 'a"b', "back`tick", "Größe", "100%", "a.b", "x;--", "back\\slash"]
    for place, name in enumerate(odd):
        quoted = "`" + name.replace("`", "``") + "`"
        database.run(f"CREATE TABLE {quoted} ({quoted} INT, `select` VARCHAR(9))")
        database.run(f"INSERT INTO {quoted} VALUES ({place}, 'v')")
    source = database.source()
    tables = {table.name: table for table in source.tables()}
    assert sorted(tables) == sorted(odd)
    for place, name in enumerate(odd):
        scan = Scan(columns=("select", name), where=Comparison(name, "=", place), order=(Order(name),))
        assert rows_of(source, tables[name], scan) == [("v", place)]
        grouped = Scan(group_by=(name,), aggregates=(Aggregate("avg", name, "average of it"),))
        assert rows_of(source, tables[name], grouped) == [(place, float(place))]
        assert source.change_token(tables[name])


def test_names_that_differ_only_in_case_stay_apart(database: Database) -> None:
    database.run("CREATE TABLE Thing (a INT)")
    database.run("CREATE TABLE thing (b INT)")
    database.run("INSERT INTO Thing VALUES (1)")
    database.run("INSERT INTO thing VALUES (2)")
    source = database.source()
    first, second = source.tables()
    assert (first.name, first.native_name, second.name, second.native_name) == ("Thing", "Thing", "thing_1", "thing")
    assert rows_of(source, first) == [(1,)]
    assert rows_of(source, second) == [(2,)]
    tokens = source.change_token(first), source.change_token(second)
    database.run("INSERT INTO thing VALUES (3)")
    assert source.change_token(first) == tokens[0]
    assert source.change_token(second) != tokens[1]


def test_without_a_database_every_database_is_a_schema(mysql_server: MySQLServer) -> None:
    with closing(Database(mysql_server)) as one, closing(Database(mysql_server)) as other:
        one.run("CREATE TABLE t (id INT PRIMARY KEY)")
        one.run("INSERT INTO t VALUES (7)")
        other.run("CREATE TABLE t (id INT)")
        other.run(f"CREATE TABLE u (t INT, FOREIGN KEY (t) REFERENCES `{one.name}`.t (id))")
        with closing(open_source(settings(mysql_server.url()))) as source:
            tables = {(table.schema, table.name): table for table in source.tables()}
            assert {"mysql", "sys", "information_schema", "performance_schema"}.isdisjoint(
                schema for schema, _ in tables
            )
            assert tables[(one.name, "t")].rows == 1
            assert tables[(other.name, "u")].foreign_keys[0].references_schema == one.name
        with closing(MySQL(settings(mysql_server.url()))) as fresh:
            assert rows_of(fresh, tables[(one.name, "t")]) == [(7,)]
            assert fresh.change_token(tables[(other.name, "t")])
        # Within its own database, a reference to another one leads nowhere.
        assert table_of(other.source(), "u").foreign_keys == ()


def test_many_tables_are_listed_with_few_statements(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mysql_catalog, "COUNTED_AT_ONCE", 20)
    for number in range(100):
        database.run(f"CREATE TABLE t{number:03} (a INT, b VARCHAR(10)) ENGINE = MEMORY")
    source = database.source()
    before = int(str(database.run("SHOW GLOBAL STATUS LIKE 'Questions'")[0][1]))
    tables = source.tables()
    after = int(str(database.run("SHOW GLOBAL STATUS LIKE 'Questions'")[0][1]))
    assert [table.name for table in tables] == [f"t{number:03}" for number in range(100)]
    assert all(table.rows_exact for table in tables)
    assert after - before < 30


# Types

TYPES = """CREATE TABLE kinds (
    id INT PRIMARY KEY, flag BOOLEAN, ti TINYINT UNSIGNED, si SMALLINT, mi MEDIUMINT UNSIGNED, bi BIGINT UNSIGNED,
    zf INT(5) ZEROFILL, de DECIMAL(10,2), wide DECIMAL(38,10), wider DECIMAL(65,30), fl FLOAT, f2 FLOAT(7,4), dbl DOUBLE,
    b1 BIT(1), b64 BIT(64), d DATE, dt DATETIME(6), dt0 DATETIME, ts TIMESTAMP(3) NULL, tm TIME(6), y YEAR,
    ch CHAR(5), vc VARCHAR(20) CHARACTER SET latin1, tx MEDIUMTEXT, bin BINARY(3), vb VARBINARY(9), bl LONGBLOB,
    en ENUM('b', 'A', 'ü'), st SET('x', 'y'), js JSON, po POINT)"""
EXPECTED_TYPES = {
    "id": "INTEGER", "flag": "TINYINT", "ti": "UTINYINT", "si": "SMALLINT", "mi": "UINTEGER", "bi": "UBIGINT",
    "zf": "UINTEGER", "de": "DECIMAL(10,2)", "wide": "DECIMAL(38,10)", "wider": "VARCHAR", "fl": "FLOAT", "f2": "FLOAT",
    "dbl": "DOUBLE", "b1": "BOOLEAN", "b64": "UBIGINT", "d": "DATE", "dt": "TIMESTAMP", "dt0": "TIMESTAMP",
    "ts": "TIMESTAMP WITH TIME ZONE", "tm": "VARCHAR", "y": "SMALLINT", "ch": "VARCHAR", "vc": "VARCHAR",
    "tx": "VARCHAR", "bin": "BLOB", "vb": "BLOB", "bl": "BLOB", "en": "VARCHAR", "st": "VARCHAR", "js": "JSON",
    "po": "VARCHAR",
}  # fmt: skip


def test_every_type_is_read_without_loss(database: Database) -> None:
    database.run("SET time_zone = '+05:00'")
    database.run(TYPES)
    database.run(
        "INSERT INTO kinds VALUES (1, 2, 255, -32768, 16777215, 18446744073709551615, 42, -12345678.90, "
        "1234567890123456789012345678.0123456789, 12345678901234567890123456789012345.5, 3.14159274, 999.0001, 1e300, "
        "1, 18446744073709551615, '1000-01-01', '9999-12-31 23:59:59.999999', '2020-02-29', '2020-01-01 05:00:00.125', "
        "'-838:59:58.999999', 2155, 'ab', 'äß', %s, 'a', X'00FF', X'FF00', 'ü', 'x,y', '{\"a\": [1, null]}', POINT(1, 2))",
        "emoji 😀 'quoted' \\ back",
    )
    database.run("INSERT INTO kinds (id) VALUES (2)")
    source = database.source()
    table = table_of(source, "kinds")
    assert {column.name: column.type for column in table.columns} == EXPECTED_TYPES
    read = source.read(table).read_all()
    session = duckdb.connect()
    session.register("read", read)
    # DuckDB hands a moment with a time zone to Python only where pytz is installed: Arrow does without.
    wanted = {name: kind for name, kind in EXPECTED_TYPES.items() if name != "ts"}
    assert read["ts"].to_pylist() == [datetime.datetime(2020, 1, 1, 0, 0, 0, 125000, datetime.UTC), None]
    casts = ", ".join(f'CAST("{name}" AS {kind}) AS "{name}"' for name, kind in wanted.items())
    first, second = session.sql(f"SELECT {casts} FROM read ORDER BY id").fetchall()
    values = dict(zip(wanted, first, strict=True))
    assert json.loads(values.pop("js")) == {"a": [1, None]}
    assert values == {
        "id": 1, "flag": 2, "ti": 255, "si": -32768, "mi": 16777215, "bi": 18446744073709551615, "zf": 42,
        "de": Decimal("-12345678.90"), "wide": Decimal("1234567890123456789012345678.0123456789"),
        "wider": "12345678901234567890123456789012345.500000000000000000000000000000",
        "fl": 3.1415927410125732, "f2": 999.0001220703125, "dbl": 1e300, "b1": True, "b64": 18446744073709551615,
        "d": datetime.date(1000, 1, 1), "dt": datetime.datetime(9999, 12, 31, 23, 59, 59, 999999),
        "dt0": datetime.datetime(2020, 2, 29), "tm": "-838:59:58.999999", "y": 2155, "ch": "ab", "vc": "äß",
        "tx": "emoji 😀 'quoted' \\ back", "bin": b"a\x00\x00", "vb": b"\x00\xff", "bl": b"\xff\x00", "en": "ü",
        "st": "x,y", "po": "POINT(1 2)",
    }  # fmt: skip
    assert second == (2, *[None] * (len(wanted) - 1))
    assert session.sql("SELECT CAST(tm AS INTERVAL) < INTERVAL 0 SECOND FROM read WHERE id = 1").fetchall() == [(True,)]


def test_every_type_survives_parquet(database: Database, tmp_path: Path) -> None:
    database.run(TYPES)
    database.run(
        "INSERT INTO kinds (id, tm, dt, wide) VALUES (1, '-00:00:00.000001', '2020-01-01 00:00:00.000001', 0.0000000001)"
    )
    source = database.source()
    session = duckdb.connect()
    session.register("read", source.read(table_of(source, "kinds")).read_all())
    casts = ", ".join(f'CAST("{name}" AS {kind}) AS "{name}"' for name, kind in EXPECTED_TYPES.items())
    session.sql(f"COPY (SELECT {casts} FROM read) TO '{tmp_path / 'x.parquet'}'")
    kept = session.sql(f"SELECT tm, dt, wide FROM '{tmp_path / 'x.parquet'}'").fetchall()
    assert kept == [("-00:00:00.000001", datetime.datetime(2020, 1, 1, 0, 0, 0, 1), Decimal("0.0000000001"))]
    types = {name: str(kind) for name, kind, *_ in session.sql(f"DESCRIBE FROM '{tmp_path / 'x.parquet'}'").fetchall()}
    assert types == EXPECTED_TYPES


def test_dates_of_no_calendar_are_null_however_they_are_asked_for(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    database.run("SET sql_mode = 'ALLOW_INVALID_DATES'")
    database.run("CREATE TABLE t (id INT, d DATE NOT NULL, dt DATETIME(6), ts TIMESTAMP NULL)")
    database.run(
        "INSERT INTO t VALUES (1, '0000-00-00', '0000-00-00', '0000-00-00'), (2, '2020-05-00', '2020-00-00 10:00:00', NULL), "
        "(3, '2020-02-31', '2020-02-31 01:00:00', NULL), (4, '2020-02-29', '2020-02-29 00:00:00.000001', '2020-02-29'), "
        "(5, '0000-03-01', '0000-03-01', NULL)"
    )
    source = database.source()
    table = table_of(source, "t")
    assert table.column("d").nullable
    with caplog.at_level(logging.WARNING):
        read = source.read(table, Scan(order=(Order("id"),))).read_all()
    assert [read[name].is_null().to_pylist() for name in ("d", "dt", "ts")] == [
        [True, True, True, False, False],
        [True, True, True, False, False],
        [True, True, True, False, True],
    ]
    assert "3 values of 't.d'" in caplog.text and "1 values of 't.ts'" in caplog.text
    for name in ("d", "dt"):
        for condition in (
            Null(name),
            Null(name, negated=True),
            Comparison(name, "<", datetime.date(2021, 1, 1)),
            Comparison(name, "<>", datetime.date(2021, 1, 1)),
        ):
            same_as_duckdb(source, table, Scan(columns=("id",), where=condition))
        same_as_duckdb(source, table, Scan(group_by=(name,), aggregates=(Aggregate("count", name, "n"),)))
    assert rows_of(source, table, Scan(columns=("id",), where=Null("ts", negated=True))) == [(4,)]


def test_text_of_every_character_set_is_read_and_half_a_surrogate_pair_does_no_harm(database: Database) -> None:
    database.run(
        "CREATE TABLE t (a VARCHAR(9), b VARCHAR(9) CHARACTER SET utf16, c VARCHAR(9) CHARACTER SET utf8mb3, "
        "d VARCHAR(9) CHARACTER SET cp1251, e VARCHAR(9) COLLATE utf8mb4_bin)"
    )
    database.run("INSERT INTO t VALUES ('😀ä', '😀ä', 'ä€', 'Жя', 'ä ')")
    source = database.source()
    table = table_of(source, "t")
    assert table.column("d").native_type == "varchar(9) character set cp1251"
    assert rows_of(source, table) == [("😀ä", "😀ä", "ä€", "Жя", "ä ")]
    for name, value in (("b", "😀ä"), ("c", "ä€"), ("d", "Жя"), ("d", "日本"), ("e", "ä"), ("e", "ä ")):
        for operator in ("=", "<="):
            same_as_duckdb(source, table, Scan(columns=("a",), where=Comparison(name, operator, value)))
    database.run("SET sql_mode = ''")
    database.run("INSERT INTO t (a) VALUES (_binary X'61EDA08062')")
    if database.run("SELECT 1 FROM t WHERE HEX(a) = '61EDA08062'"):
        assert rows_of(source, table, Scan(columns=("a",), where=Null("b")))[0][0].startswith("a\ufffd")


# Reading


def test_rows_come_as_a_stream_of_batches(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mysql_connection, "BATCH_ROWS", 100)
    many_rows(database, 1000)
    source = database.source()
    reader = source.read(table_of(source, "many"))
    sizes = [batch.num_rows for batch in reader]
    assert sizes == [100] * 10
    monkeypatch.setattr(mysql_connection, "BATCH_BYTES", 500)
    assert max(batch.num_rows for batch in source.read(table_of(source, "many"))) < 60


def test_a_reader_may_be_open_while_other_questions_are_asked_and_may_be_given_up(database: Database) -> None:
    many_rows(database, 100_000)
    source = database.source()
    table = table_of(source, "many")
    reader = source.read(table)
    first = reader.read_next_batch()
    assert source.change_token(table) == source.change_token(table)
    assert first.num_rows + sum(batch.num_rows for batch in reader) == 100_000
    given_up = source.read(table)
    given_up.read_next_batch()
    del given_up
    never_started = source.read(table)
    del never_started
    wait_until(lambda: len(connections(database)) <= 1)
    source.close()
    source.close()
    wait_until(lambda: connections(database) == [])


def test_a_reader_sees_one_moment_of_the_table(database: Database) -> None:
    many_rows(database, 50_000)
    source = database.source()
    reader = source.read(table_of(source, "many"))
    database.run("DELETE FROM many")
    assert reader.read_all().num_rows == 50_000


def test_closing_ends_an_open_reader_with_a_plain_sentence(database: Database) -> None:
    many_rows(database, 100_000)
    source = database.source()
    reader = source.read(table_of(source, "many"))
    reader.read_next_batch()
    source.close()
    with pytest.raises(SourceUnreachable, match="closed while table 'many'"):
        reader.read_all()
    assert source.read(table_of(source, "many")).read_next_batch().num_rows > 0


@pytest.mark.parametrize("size", [70_000, 34_000_000])
def test_values_of_any_size_are_read_whole(database: Database, size: int) -> None:
    database.run("CREATE TABLE t (id INT, before_it TEXT, big LONGBLOB, after_it TEXT)")
    database.run(f"INSERT INTO t VALUES (1, REPEAT('b', 300), REPEAT('x', {size}), NULL), (2, NULL, NULL, 'end')")
    source = database.source()
    read = source.read(table_of(source, "t")).read_all()
    assert read["big"][0].as_py() == b"x" * size
    assert read["id"].to_pylist() == [1, 2] and read["after_it"].to_pylist() == [None, "end"]


@pytest.mark.parametrize("size", [2_001, 34_000_000])
def test_a_value_over_the_limit_is_refused_and_the_source_goes_on(database: Database, size: int) -> None:
    database.run("CREATE TABLE t (id INT, fits TEXT, big LONGTEXT)")
    database.run(
        f"INSERT INTO t VALUES (1, REPEAT('a', 1900), REPEAT('x', {size})), (2, REPEAT('a', 1900), REPEAT('a', 1900))"
    )
    source = database.source(cell_bytes=2_000)
    table = table_of(source, "t")
    with pytest.raises(LimitReached, match=rf"'big' in table 't' has {size} bytes.*cell_bytes = 2000"):
        source.read(table).read_all()
    assert source.read(table, Scan(columns=("id", "fits"))).read_all().num_rows == 2
    assert source.read(table, Scan(where=Comparison("id", "=", 2))).read_all().num_rows == 1


def test_a_write_through_the_connection_is_refused_by_the_server(database: Database) -> None:
    import pymysql

    database.run("CREATE TABLE t (a INT)")
    source = database.source()
    source.tables()
    connection = source._idle[0]
    for statement in (
        "INSERT INTO t VALUES (1)",
        "DELETE FROM t",
        "DROP TABLE t",
        "CREATE TABLE u (a INT)",
        "TRUNCATE t",
        "ALTER TABLE t ADD b INT",
    ):
        for begin in ("SELECT 1", "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"):
            connection.query(begin)
            with pytest.raises(pymysql.err.MySQLError) as refused:
                connection.query(statement)
            assert refused.value.args[0] == 1792
    assert database.run("SELECT COUNT(*) FROM t") == [(0,)]


# Pushdown

VALUES: dict[str, list[object]] = {
    "n": [-7, 0, 3, 3, None, 2147483647, -2147483648, 1, 2, 20, None, 5],
    "u": [18446744073709551615, 0, None, 5, 5, 1, 2, 3, 4, 9007199254740993, 9, 9],
    "x": [0.1, -0.0, 0.0, 1e300, None, -2.5, 2.5, 3.0, 1e-300, 0.30000000000000004, 7.0, 7.0],
    "m": ["0.10", "0.20", "0.40", "-1234.50", None, "0.00", "99999999.99", "1.10", "1.01", "2.00", "2.00", "-0.01"],
    "w": ["0.1", "99999999999999999999.0123456789", None, "-5", "1", "1", "2", "3", "4", "5", "6", "7"],
    "s": ["a", "A", "ä", "a ", "", None, "Z", "back\\slash 'quote' \"d\"", "😀", "\ttab\nline", "z\x00\x1a\x08", "ss"],
    "l": ["a", "A", "ä", "a ", "", None, "Z", "ß", "ss", "é", "e", "\\"],
    "c": ["a", "A", "ä", "b", "", None, "Z", "ß", "ss", "é", "e", "\\"],
    "e": ["b", "A", "ü", "b", None, "A", "A", "b", "ü", "ü", "b", "b"],
    "d": ["2020-01-01", "2020-01-02", "1000-01-01", "9999-12-31", None, "2020-01-01", "2019-12-31", "2020-02-29", "2021-01-01", "2021-01-01", "2022-01-01", "2022-01-01"],
    "dt": ["2020-01-01", "2020-01-01 00:00:00.000001", "2019-12-31 23:59:59.999999", "9999-12-31 23:59:59.999999", None, "2020-01-01 12:00", "2020-01-01", "1000-01-01", "2021-05-05 05:05:05.5", "2021-01-01", "2022-01-01", "2022-01-01"],
    "y": [2020, 1999, 0, 2155, None, 2020, 1901, 2000, 2001, 2002, 2003, 2004],
    "b": [1, 0, None, 1, 0, 0, 0, 1, 1, 1, 0, None],
    "f": [1, 2, 0, None, 1, 1, 1, 0, 0, 2, 2, -1],
    "tm": ["-00:00:01", "10:00:00", "9:00:00", "100:00:00", None, "00:00:00", "00:00:00", "23:59:59.999999", "1:1:1", "2:2:2", "3:3:3", "3:3:3"],
    "g": ["1.5", "0", "1.5", "2", "2", "2", None, None, "0", "0", "0", "0"],
}  # fmt: skip
PROBES: dict[str, list[object]] = {
    "n": [3, -7, 20, 0, Decimal("2.5"), 2.5, 1e30, float("inf"), float("-inf"), float("nan")],
    "u": [5, 0, -1, 18446744073709551615, 9007199254740993, Decimal("0.5")],
    "x": [0.1, 0, 0.0, -2.5, Decimal("0.1"), 1e300, 0.30000000000000004, 0.3, float("inf")],
    "m": [Decimal("0.1"), 0, 2, Decimal("-0.01"), 1.1, Decimal("99999999.99"), float("-inf")],
    "w": [Decimal("99999999999999999999.0123456789"), Decimal("99999999999999999999.0123456788"), 1, Decimal("0.1")],
    "s": ["a", "A", "a ", "", "ä", "A ", "back\\slash 'quote' \"d\"", "😀", "\ttab\nline", "z\x00\x1a\x08", "%", "ß", "SS"],
    "l": ["a", "A", "a ", "", "ä", "日本", "😀", "ß", "SS", "\\"],
    "c": ["a", "A", "a ", "", "ä", "日本", "ß"],
    "e": ["b", "A", "a", "", "ü"],
    "d": [datetime.date(2020, 1, 1), datetime.date(1000, 1, 1), datetime.datetime(2020, 1, 1, 12), datetime.datetime(2020, 1, 1)],
    "dt": [datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 1, 0, 0, 0, 1), datetime.date(2020, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)],
    "y": [2020, 20, 0, 99, 1999],
    "b": [True, False],
    "f": [1, 2, 0],
    "tm": ["10:00:00.000000", "00:00:00.000000", "1", "-"],
    "g": [Decimal("1.5"), 0, 2],
}  # fmt: skip


@pytest.fixture(scope="module")
def odd_values(mysql_server: MySQLServer) -> Iterator[tuple[MySQL, Table, duckdb.DuckDBPyConnection]]:
    """A table full of values that engines treat differently, and the same rows in DuckDB."""
    with closing(Database(mysql_server)) as database:
        database.run(
            "CREATE TABLE odd (id INT PRIMARY KEY, n INT, u BIGINT UNSIGNED, x DOUBLE, m DECIMAL(10,2), w DECIMAL(38,10), "
            "s VARCHAR(50) COLLATE utf8mb4_general_ci, l VARCHAR(20) CHARACTER SET latin1, c CHAR(4), "
            "e ENUM('b', 'A', 'ü'), d DATE, dt DATETIME(6), y YEAR, b BIT(1), f TINYINT(1), tm TIME(6), g DECIMAL(3,1), "
            "KEY (s), KEY (dt), KEY (l))"
        )
        for place in range(12):
            row = [place, *(VALUES[name][place] for name in VALUES)]
            database.run(f"INSERT INTO odd VALUES ({', '.join(['%s'] * len(row))})", *row)
        source = database.source()
        table = table_of(source, "odd")
        yield source, table, in_duckdb(source, table)


def in_duckdb(source: MySQL, table: Table) -> duckdb.DuckDBPyConnection:
    session = duckdb.connect(config={"threads": 1})
    session.register("read", source.read(table).read_all())
    columns = ", ".join(f'CAST("{column.name}" AS {column.type}) AS "{column.name}"' for column in table.columns)
    session.sql(f"CREATE TABLE here AS SELECT {columns} FROM read")
    return session


def same_as_duckdb(source: MySQL, table: Table, scan: Scan, session: duckdb.DuckDBPyConnection | None = None) -> None:
    """The source's own answer equals DuckDB's over all rows, in order where the scan names one."""
    assert needed_operations(scan, lambda name: family(table.column(name).type)) <= MySQL.pushes
    session = session or in_duckdb(source, table)
    sql = scan_to_sql(
        scan,
        sge.to_table("here"),
        "duckdb",
        lambda name: sge.column(name, quoted=True),
        all_columns=tuple(column.name for column in table.columns),
    )
    for endless in ("inf", "nan"):
        sql = sql.replace(f" {endless}", f" CAST('{endless}' AS DOUBLE)").replace(
            f"-{endless}", f"CAST('-{endless}' AS DOUBLE)"
        )
    expected = session.execute(sql).fetchall()
    kinds = {name: str(kind).replace("HUGEINT", "DECIMAL(38,0)") for name, kind, *_ in session.description}
    given = source.read(table, scan).read_all()
    assert given.column_names == list(kinds)
    if list(kinds) == ["id"]:
        answer = [(number,) for number in given["id"].to_pylist()]
    else:
        session.register("given", given)
        casts = ", ".join(f'CAST("{name}" AS {kind})' for name, kind in kinds.items())
        answer = session.execute(f"SELECT {casts} FROM given").fetchall()
    if not scan.order:
        expected, answer = sorted(expected, key=repr), sorted(answer, key=repr)
    assert answer == expected, (scan, sql)


@pytest.mark.parametrize("name", list(VALUES))
def test_comparisons_at_the_server_mean_what_they_mean_in_duckdb(
    odd_values: tuple[MySQL, Table, duckdb.DuckDBPyConnection], name: str
) -> None:
    source, table, session = odd_values
    for value in PROBES[name]:
        for operator in ("=", "<>", "<", "<=", ">", ">="):
            scan = Scan(columns=("id",), where=Comparison(name, operator, value))  # type: ignore[arg-type]
            same_as_duckdb(source, table, scan, session)
    finite = tuple(value for value in PROBES[name] if not isinstance(value, float) or abs(value) < 1e301)
    for values in (finite, finite[:1]):
        same_as_duckdb(source, table, Scan(columns=("id",), where=Among(name, values)), session)  # type: ignore[arg-type]
    for condition in (Null(name), Null(name, negated=True)):
        same_as_duckdb(source, table, Scan(columns=("id",), where=condition), session)
    both = All((Any((Comparison(name, "=", finite[0]), Null(name))), Comparison("id", "<", 8)))  # type: ignore[arg-type]
    same_as_duckdb(source, table, Scan(columns=("id", name), where=both), session)


@pytest.mark.parametrize("name", list(VALUES))
def test_order_and_limit_at_the_server_are_those_of_duckdb(
    odd_values: tuple[MySQL, Table, duckdb.DuckDBPyConnection], name: str
) -> None:
    source, table, session = odd_values
    for descending, nulls_first in itertools.product((False, True), repeat=2):
        order = (Order(name, descending, nulls_first), Order("id"))
        same_as_duckdb(source, table, Scan(columns=("id", name), order=order), session)
        same_as_duckdb(source, table, Scan(columns=("id",), order=order, limit=3), session)
    assert len(rows_of(source, table, Scan(limit=5))) == 5
    assert rows_of(source, table, Scan(limit=0)) == []


@pytest.mark.parametrize("name", list(VALUES))
def test_groups_and_aggregates_at_the_server_are_those_of_duckdb(
    odd_values: tuple[MySQL, Table, duckdb.DuckDBPyConnection], name: str
) -> None:
    source, table, session = odd_values
    functions = ["count", "count_distinct", "min", "max"]
    if family(table.column(name).type) == "number":
        functions += ["sum", "avg"]
    aggregates = (
        Aggregate("count", None, "rows"),
        *(Aggregate(function, name, f"{function} it") for function in functions),
    )  # type: ignore[arg-type]
    for group in ((), ("g",), ("s",), ("e", "b")):
        if name in {"x"} and group == ():
            continue  # 1e300 swallows the rest in an order that neither engine promises
        same_as_duckdb(source, table, Scan(group_by=group, aggregates=aggregates), session)
    same_as_duckdb(source, table, Scan(group_by=(name,), aggregates=(Aggregate("sum", "id", "total"),)), session)
    same_as_duckdb(source, table, Scan(group_by=(name,)), session)
    nothing = Comparison("id", ">", 1000)
    same_as_duckdb(source, table, Scan(where=nothing, aggregates=aggregates), session)
    same_as_duckdb(source, table, Scan(where=nothing, group_by=(name,), aggregates=aggregates), session)


def test_long_texts_sort_and_group_by_their_ends(database: Database) -> None:
    database.run("CREATE TABLE t (id INT, s LONGTEXT, v VARCHAR(3000))")
    for number in range(12):
        database.run(
            f"INSERT INTO t VALUES ({number}, CONCAT(REPEAT('x', 150000), {number % 4}), CONCAT(REPEAT('y', 2500), {number % 3}))"
        )
    source = database.source()
    table = table_of(source, "t")
    session = in_duckdb(source, table)
    for name in ("s", "v"):
        same_as_duckdb(source, table, Scan(columns=("id",), order=(Order(name, descending=True), Order("id"))), session)
        same_as_duckdb(source, table, Scan(group_by=(name,), aggregates=(Aggregate("count", None, "n"),)), session)
        distinct = (Aggregate("count_distinct", name, "n"), Aggregate("max", name, "last"))
        same_as_duckdb(source, table, Scan(aggregates=distinct), session)


def test_an_exact_comparison_still_uses_the_index(database: Database) -> None:
    database.run("CREATE TABLE t (id INT, s VARCHAR(20), d DATETIME, KEY (s), KEY (d))")
    many_rows(database, 5000)
    database.run("INSERT INTO t SELECT id, CONCAT('Name ', id), '2020-01-01' + INTERVAL id HOUR FROM many")
    database.run("ANALYZE TABLE t")
    source = database.source()
    table = table_of(source, "t")
    for condition, found in (
        (Comparison("s", "=", "Name 77"), 1),
        (Comparison("s", "=", "name 77"), 0),
        (Among("s", ("Name 1", "NAME 2", "Name 3")), 2),
        (Comparison("d", "<", datetime.datetime(2020, 1, 1, 5)), 5),
    ):
        before = read_by_scanning(source)
        assert len(rows_of(source, table, Scan(columns=("id",), where=condition))) == found
        assert read_by_scanning(source) - before < 100, condition


def read_by_scanning(source: MySQL) -> int:
    connection = source._idle[0]
    return int(mysql_connection.fetch(connection, "SHOW SESSION STATUS LIKE 'Handler_read_rnd_next'")[0][1] or 0)


# Change


def test_the_token_changes_with_every_change_even_within_one_second(database: Database) -> None:
    database.run("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(10))")
    database.run("INSERT INTO t VALUES (1, 'a')")
    source = database.source()
    table = table_of(source, "t")
    seen = [source.change_token(table)]
    for statement in (
        "INSERT INTO t VALUES (2, 'b')",
        "UPDATE t SET a = 'c' WHERE id = 2",
        "UPDATE t SET a = 'd' WHERE id = 2",
        "DELETE FROM t WHERE id = 2",
        "ALTER TABLE t ADD b INT",
        "TRUNCATE t",
    ):
        assert source.change_token(table) == seen[-1]
        database.run(statement)
        seen.append(source.change_token(table))
    # Deleting what was inserted gives the rows of before: the same checksum, perhaps the same second.
    assert all(before != after for before, after in itertools.pairwise(seen)) and None not in seen
    with closing(MySQL(settings(database.url))) as other:
        assert other.change_token(table) == source.change_token(table)


def test_the_token_of_a_large_table_never_misses_a_change_of_the_same_second(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mysql, "CHECKSUM_BYTES", 0)
    database.run("CREATE TABLE t (id INT)")
    database.run("INSERT INTO t VALUES (1)")
    source = database.source()
    table = table_of(source, "t")
    seen = [source.change_token(table)]
    for number in range(5):
        database.run(f"UPDATE t SET id = {number + 2}")
        seen.append(source.change_token(table))
    assert len(set(seen)) == 6
    wait_until(lambda: source.change_token(table) == source.change_token(table))
    settled = source.change_token(table)
    database.run("INSERT INTO t VALUES (9)")
    assert source.change_token(table) != settled


def test_a_view_has_no_token(database: Database) -> None:
    database.run("CREATE VIEW v AS SELECT 1 AS one")
    source = database.source()
    view = table_of(source, "v")
    assert source.change_token(view) is None
    assert rows_of(source, view) == [(1,)]


# What goes wrong


def test_a_wrong_password_port_database_or_host_is_one_plain_sentence(mysql_server: MySQLServer) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        dead_port = unused.getsockname()[1]
        cases = {
            mysql_server.url(
                "coset", password="wr0ng-s3cret"
            ): "refused user 'tester'; check the user and the password",
            f"mysql://tester:wr0ng-s3cret@127.0.0.1:{dead_port}/coset": f"127.0.0.1:{dead_port}: Connection refused",
            mysql_server.url("nowhere"): "there is no database 'nowhere'",
            "mysql://tester:wr0ng-s3cret@no-such-host.invalid/coset": "cannot connect to no-such-host.invalid:3306",
            mysql_server.url("coset") + "?ssl=true": "no encrypted connection",
            mysql_server.url("coset") + "?unix_socket=/nowhere/socket": "cannot connect to /nowhere/socket",
        }
        for url, reason in cases.items():
            with closing(open_source(settings(url))) as source, pytest.raises(SourceUnreachable) as raised:
                source.tables()
            message = str(raised.value)
            assert reason in message, message
            assert message.startswith("source 'shop': ") and "\n" not in message and len(message) < 200
            assert "wr0ng-s3cret" not in message and PASSWORD not in message
            assert raised.value.__cause__ is None


def test_a_missing_driver_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymysql", None)
    with pytest.raises(MissingDependency, match=r"pip install 'coset\[mysql\]'"):
        MySQL(settings("mysql://u:p@127.0.0.1/x")).tables()


def test_a_host_that_accepts_and_says_nothing_is_given_up(mysql_server: MySQLServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"mysql://u:p@127.0.0.1:{silent.getsockname()[1]}/x"
        with (
            closing(open_source(settings(url, connect_seconds=0.3))) as source,
            pytest.raises(SourceUnreachable, match=r"within 0\.3 seconds"),
        ):
            source.tables()


def test_what_is_no_mysql_server_is_said_to_be_none(mysql_server: MySQLServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:

        def greet() -> None:
            connection, _ = other.accept()
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 9)
            connection.close()

        threading.Thread(target=greet, daemon=True).start()
        url = f"mysql://u:p@127.0.0.1:{other.getsockname()[1]}/x"
        with (
            closing(open_source(settings(url))) as source,
            pytest.raises(SourceUnreachable, match="is not a MySQL or MariaDB server"),
        ):
            source.tables()


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("mysql://user:s3cret/pw@host:1/db", "host or port is not valid"),
        ("postgresql://user:s3cret@host/db", "does not start with mysql://"),
        ("mysql://user:s3cret@host/db?sslmode=x", "unknown URL option 'sslmode'"),
    ],
)
def test_a_url_that_cannot_be_right_is_a_mistake_without_the_password(url: str, reason: str) -> None:
    with pytest.raises(Mistake, match=reason) as raised:
        open_source(settings(url))
    assert "s3cret" not in str(raised.value)


def test_a_url_is_taken_apart_with_its_percent_signs() -> None:
    address = parse_address(
        "mariadb://us%40er:p%2Fw%25%C3%A4@db.example/my%20shop?ssl_ca=/ca.pem&ssl_verify_identity=true", "shop"
    )
    assert (address.user, address.password, address.host, address.port) == ("us@er", "p/w%ä", "db.example", 3306)
    assert (address.database, address.ssl_ca, address.encrypt) == ("my shop", "/ca.pem", True)
    assert "p/w" not in repr(address)


def test_a_table_or_column_that_vanished_is_named(database: Database) -> None:
    database.run("CREATE TABLE t (a INT, b INT)")
    database.run("CREATE TABLE base (a INT)")
    database.run("CREATE VIEW v AS SELECT a FROM base")
    source = database.source()
    table, view = table_of(source, "t"), table_of(source, "v")
    database.run("ALTER TABLE t DROP b")
    with pytest.raises(TableVanished, match="'t' has other columns"):
        source.read(table)
    database.run("DROP TABLE t")
    database.run("DROP TABLE base")
    with pytest.raises(TableVanished, match="source 'shop': table 't' is gone"):
        source.read(table)
    with pytest.raises(TableVanished, match="table 't' is gone"):
        source.change_token(table)
    with pytest.raises(TableVanished, match="view 'v' refers to tables or columns that are gone"):
        source.read(view)
    # A view over nothing neither fails the listing nor hides the rest of it.
    database.run("CREATE TABLE still_here (a INT)")
    assert "still_here" in {table.name for table in source.tables()}


def test_missing_privileges_are_named(database: Database) -> None:
    database.run("CREATE TABLE allowed (a INT)")
    database.run("CREATE TABLE denied (a INT)")
    user = f"user_{database.name}"
    database.run(f"CREATE USER {user} IDENTIFIED BY 'x1y2'")
    url = database.server.url(database.name, user, "x1y2")
    with pytest.raises(SourceUnreachable, match=f"user '{user}' may not use database"):
        database.source(url).tables()
    database.run(f"GRANT SELECT ON `{database.name}`.allowed TO {user}")
    database.run(f"GRANT INSERT ON `{database.name}`.denied TO {user}")
    source = database.source(url)
    tables = {table.name: table for table in source.tables()}
    assert tables["allowed"].rows_exact and rows_of(source, tables["allowed"]) == []
    assert not tables["denied"].rows_exact
    with pytest.raises(SourceUnreachable, match="may not read table 'denied'; grant it SELECT"):
        source.read(tables["denied"])
    with pytest.raises(SourceUnreachable, match="may not read table 'denied'"):
        source.change_token(tables["denied"])
    assert source.change_token(tables["allowed"])


def test_a_statement_that_takes_too_long_is_ended_by_the_server(database: Database) -> None:
    many_rows(database, 3_000)
    database.run("CREATE VIEW slow AS SELECT COUNT(*) AS n FROM many a, many b, many c WHERE a.id + b.id + c.id = -1")
    source = database.source(query_seconds=0.2)
    with pytest.raises(LimitReached, match=r"table 'slow' took longer than query_seconds = 0\.2"):
        source.read(table_of(source, "slow")).read_all()
    wait_until(lambda: connections(database, "Query") == [])


def test_a_connection_that_was_killed_is_replaced_without_a_word(database: Database) -> None:
    many_rows(database, 10)
    source = database.source()
    table = table_of(source, "many")
    for ask in (source.tables, lambda: source.change_token(table), lambda: source.read(table).read_all()):
        for connection in connections(database):
            database.run(f"KILL {connection}")
        assert ask()


def test_encryption_and_a_server_that_goes_away_and_comes_back(tmp_path: Path) -> None:
    with running_mysql_server() as server:
        with server.as_administrator() as run:
            run("CREATE DATABASE d")
            run("CREATE TABLE d.t (a INT)")
            run("INSERT INTO d.t VALUES (1)")
        with closing(MySQL(settings(server.url("d")))) as source:
            table = table_of(source, "t")
            token = source.change_token(table)
            server.stop()
            with pytest.raises(SourceUnreachable, match="Connection refused"):
                source.tables()
            server.start(*certificates(tmp_path))
            assert rows_of(source, table) == [(1,)]
            assert source.tables()[0].rows == 1
            # UPDATE_TIME went with the server's memory, twice: only the sum over the rows tells of the change.
            assert token and source.change_token(table) == source.change_token(table)
            token = source.change_token(table)
            with server.as_administrator() as run:
                run("UPDATE d.t SET a = 2")
            server.stop()
            server.start(*certificates(tmp_path))
            assert source.change_token(table) != token
        if not certificates(tmp_path):
            return
        authority = tmp_path / "ca.pem"
        for options in ("", "?ssl=true", f"?ssl_ca={authority}", f"?ssl_ca={authority}&ssl_verify_identity=true"):
            with closing(connect(parse_address(server.url("d") + options, "shop"), Limits())) as connection:
                assert mysql_connection.fetch(connection, "SHOW STATUS LIKE 'Ssl_cipher'")[0][1]
        with closing(connect(parse_address(server.url("d") + "?ssl=false", "shop"), Limits())) as connection:
            assert not mysql_connection.fetch(connection, "SHOW STATUS LIKE 'Ssl_cipher'")[0][1]
        for options, reason in (
            ("?ssl_verify_identity=true", "no encrypted connection"),
            ("?ssl_ca=/nowhere/ca.pem", "certificate that the URL names: No such file"),
        ):
            source = MySQL(settings(server.url("d") + options))
            with pytest.raises(SourceUnreachable, match=reason):
                source.tables()


def certificates(folder: Path) -> list[str]:
    """Server options for encryption, with a certificate made here; none where openssl is not installed."""
    if shutil.which("openssl") is None:
        return []
    key, certificate = folder / "key.pem", folder / "ca.pem"
    if not certificate.exists():
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
             "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)],
            check=True, capture_output=True,
        )  # fmt: skip
    return [f"--ssl-cert={certificate}", f"--ssl-key={key}"]


def many_rows(database: Database, count: int) -> None:
    database.run("CREATE TABLE many (id INT PRIMARY KEY, name VARCHAR(20))")
    digits = "(" + " UNION ALL ".join(f"SELECT {digit} AS i" for digit in range(10)) + ")"
    database.run(
        "INSERT INTO many SELECT n, CONCAT('name ', n) FROM (SELECT a.i + 10 * b.i + 100 * c.i + 1000 * d.i + 10000 * e.i AS n "
        f"FROM {digits} a, {digits} b, {digits} c, {digits} d, {digits} e) AS numbers WHERE n < {count}"
    )


def connections(database: Database, command: str | None = None) -> list[object]:
    rows = database.run(
        "SELECT ID, COMMAND FROM information_schema.PROCESSLIST WHERE DB = %s AND USER <> 'root'", database.name
    )
    return [number for number, doing in rows if command in {None, doing}]


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.1)
