"""MySQL and MariaDB: every type is read without loss."""

from __future__ import annotations

import datetime
import json
import logging
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from coset.environment.scan import Aggregate, Comparison, Null, Order, Scan
from environment.mysql.mysql_databases import Database, rows_of, same_as_duckdb, table_of

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
