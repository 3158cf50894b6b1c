"""PostgreSQL against a real server: what each type becomes."""

from __future__ import annotations

import pyarrow as pa
import pytest

from coset.environment.scan import Scan
from coset.errors import SourceUnreachable, TableVanished
from environment.postgresql.postgresql_tables import as_declared, table_of, values

adbc = pytest.importorskip("adbc_driver_postgresql.dbapi")


TYPES = [
    ("smallint", "-32768", "SMALLINT", "-32768"),
    ("integer", "-2147483648", "INTEGER", "-2147483648"),
    ("bigint", "9223372036854775807", "BIGINT", "9223372036854775807"),
    ("oid", "4294967295", "BIGINT", "4294967295"),
    ("real", "1.5", "FLOAT", "1.5"),
    ("double precision", "0.1", "DOUBLE", "0.1"),
    ("double precision", "-Infinity", "DOUBLE", "-inf"),
    ("numeric(10,2)", "-12345678.90", "DECIMAL(10,2)", "-12345678.90"),
    ("numeric(38,38)", "0.00000000000000000000000000000000000001", "DECIMAL(38,38)", ".00000000000000000000000000000000000001"),
    ("numeric(3,-2)", "12345", "DECIMAL(5,0)", "12300"),
    ("numeric(3,5)", "0.00123", "DECIMAL(5,5)", ".00123"),
    ("numeric(60,2)", "1.25", "DECIMAL(18,2)", "1.25"),
    ("numeric", "0.1234567", "DECIMAL(18,7)", "0.1234567"),
    ("numeric", "-12345678901234567890.1234567", "DECIMAL(38,7)", "-12345678901234567890.1234567"),
    ("numeric", "1e60", "DOUBLE", "1e+60"),
    ("numeric", "NaN", "DOUBLE", "nan"),
    ("numeric", "Infinity", "DOUBLE", "inf"),
    ("numeric(10,2)", "NaN", "DOUBLE", "nan"),
    ("text", "ä € \U0001f600 ", "VARCHAR", "ä € \U0001f600 "),
    ("text", "", "VARCHAR", ""),
    ("varchar(5)", "ab ", "VARCHAR", "ab "),
    ("char(5)", "ab", "VARCHAR", "ab"),
    ('"char"', "x", "VARCHAR", "x"),
    ("name", "nm", "VARCHAR", "nm"),
    ("boolean", "t", "BOOLEAN", "true"),
    ("date", "0044-03-15 BC", "DATE", "0044-03-15 (BC)"),
    ("date", "infinity", "DATE", "infinity"),
    ("date", "-infinity", "DATE", "-infinity"),
    ("date", "5874897-12-31", "DATE", "5874897-12-31"),
    ("timestamp", "2024-02-29 23:59:59.999999", "TIMESTAMP", "2024-02-29 23:59:59.999999"),
    ("timestamp", "infinity", "TIMESTAMP", "infinity"),
    ("timestamp", "-infinity", "TIMESTAMP", "-infinity"),
    ("timestamptz", "2024-02-29 23:59:59.5+02", "TIMESTAMP WITH TIME ZONE", "2024-02-29 21:59:59.5+00"),
    ("timestamptz", "infinity", "TIMESTAMP WITH TIME ZONE", "infinity"),
    ("timestamptz", "-infinity", "TIMESTAMP WITH TIME ZONE", "-infinity"),
    ("time", "24:00:00", "TIME", "24:00:00"),
    ("time", "00:00:00.000001", "TIME", "00:00:00.000001"),
    ("timetz", "10:00:00.5+02", "VARCHAR", "10:00:00.5+02"),
    ("interval", "-1 year 2 days -00:00:00.000001", "VARCHAR", "-1 years 2 days -00:00:00.000001"),
    ("interval", "300000000 hours", "VARCHAR", "300000000:00:00"),
    ("bytea", "\\x00ff", "BLOB", "\\x00\\xFF"),
    ("uuid", "0191d5f3-0000-7000-8000-00000000000a", "UUID", "0191d5f3-0000-7000-8000-00000000000a"),
    ("json", '{"b": 1,  "a":2}', "JSON", '{"b": 1,  "a":2}'),
    ("jsonb", '{"a": [1, null]}', "JSON", '{"a": [1, null]}'),
    ("jsonb", "null", "JSON", "null"),
    ("integer[]", "{1,NULL,3}", "INTEGER[]", "[1, NULL, 3]"),
    ("integer[]", "[5:6]={7,8}", "INTEGER[]", "[7, 8]"),
    ("integer[]", "{}", "INTEGER[]", "[]"),
    ("integer[]", "{{1,2},{3,4}}", "JSON", "[[1, 2], [3, 4]]"),
    ("integer[][]", "{{1,2},{3,4}}", "JSON", "[[1, 2], [3, 4]]"),
    ("numeric(6,2)[]", "{1.50,NULL}", "DECIMAL(6,2)[]", "[1.50, NULL]"),
    ("numeric[]", "{1.234567890123456789}", "JSON", "[1.234567890123456789]"),
    ("text[]", '{"a b",NULL,""}', "VARCHAR[]", "[a b, NULL, '']"),
    ("char(3)[]", "{a}", "VARCHAR[]", "[a]"),
    ("date[]", "{2020-01-01,infinity,NULL}", "DATE[]", "[2020-01-01, infinity, NULL]"),
    ("timestamp[]", "{-infinity}", "TIMESTAMP[]", "[-infinity]"),
    ("jsonb[]", '{"{\\"a\\": 1}"}', "JSON", '[{"a": 1}]'),
    ("mood", "sad", "VARCHAR", "sad"),
    ("mood[]", "{sad,ok}", "VARCHAR[]", "[sad, ok]"),
    ("pair", "(1,x)", "JSON", '{"n": 1, "t": "x"}'),
    ("pair[]", '{"(1,x)"}', "JSON", '[{"n": 1, "t": "x"}]'),
    ("cents", "1.50", "DECIMAL(8,2)", "1.50"),
    ("more_cents", "1.50", "DECIMAL(8,2)", "1.50"),
    ("more_cents[]", "{1.50}", "JSON", "[1.50]"),
    ("code", "ab", "VARCHAR", "ab"),
    ("int4range", "[1,5)", "VARCHAR", "[1,5)"),
    ("int4multirange", "{[1,5)}", "VARCHAR", "{[1,5)}"),
    ("tstzrange", "[2020-01-01 00:00+02,)", "VARCHAR", '["2019-12-31 22:00:00+00",)'),
    ("point", "(1,2)", "VARCHAR", "(1,2)"),
    ("inet", "10.0.0.1/8", "VARCHAR", "10.0.0.1/8"),
    ("cidr", "10.0.0.0/8", "VARCHAR", "10.0.0.0/8"),
    ("macaddr", "08:00:2b:01:02:03", "VARCHAR", "08:00:2b:01:02:03"),
    ("xml", "<a>b</a>", "VARCHAR", "<a>b</a>"),
    ("tsvector", "a b", "VARCHAR", "'a' 'b'"),
    ("jsonpath", "$.a", "VARCHAR", '$."a"'),
    ("money", "-1234.56", "DECIMAL(19,2)", "-1234.56"),
    ("bit(3)", "101", "VARCHAR", "101"),
    ("bit varying", "10", "VARCHAR", "10"),
    ("regclass", "pg_class", "VARCHAR", "pg_class"),
    ("pg_lsn", "16/B374D848", "VARCHAR", "16/B374D848"),
    ("int2vector", "1 2", "VARCHAR", "1 2"),
    ("vector(2)", "[1,2.5]", "FLOAT[]", "[1.0, 2.5]"),
]  # fmt: skip


def test_every_type_arrives_whole_and_with_nulls(database, opened, tmp_path):
    # xml has no input function in a server built without libxml.
    has_xml = database("SELECT count(*) FROM pg_config WHERE setting LIKE '%with-libxml%'") != "0"
    types = [row for row in TYPES if row[0] != "xml" or has_xml]
    if database("SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'") == "0":
        types = [row for row in types if row[0] != "vector(2)"]
    else:
        database("CREATE EXTENSION vector")
    database("CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TYPE pair AS (n int, t text); CREATE DOMAIN cents AS numeric(8,2); CREATE DOMAIN more_cents AS cents CHECK (value > 0); CREATE DOMAIN code AS char(4);")  # fmt: skip
    columns = ", ".join(f"c{number} {row[0]}" for number, row in enumerate(types))
    literals = ", ".join("'" + row[1].replace("'", "''") + "'" for row in types)
    database(f"CREATE TABLE everything ({columns}); INSERT INTO everything VALUES ({literals}); INSERT INTO everything DEFAULT VALUES;")  # fmt: skip
    source = opened()
    table = table_of(source, "everything")
    connection = as_declared(source, table)
    texts = ", ".join(f"c{number}::VARCHAR" for number in range(len(types)))
    first, second = connection.execute(f"SELECT {texts} FROM rows").fetchall()
    got = [(row[0], row[1], column.type, text) for row, column, text in zip(types, table.columns, first, strict=True)]
    assert got == types
    assert set(second) == {None}
    connection.execute(f"COPY rows TO '{tmp_path}/rows.parquet'").fetchall()
    again = connection.execute(f"SELECT {texts} FROM '{tmp_path}/rows.parquet'").fetchall()
    assert again == [first, second]
    assert connection.execute("SELECT '-1 years 2 days -00:00:00.000001'::INTERVAL").fetchall()


def test_a_time_that_arrow_cannot_hold_is_an_error_and_not_another_time(database, opened):
    database("CREATE TABLE t (far timestamp, near int); INSERT INTO t VALUES ('294276-01-01', 1)")
    source = opened()
    with pytest.raises(
        SourceUnreachable, match=r"column 'far' of table 'public\.t' holds a time after the year 294246"
    ):
        source.read(table_of(source, "t")).read_all()
    assert values(source, table_of(source, "t"), "near", Scan(columns=("near",))) == ["1"]


def test_values_that_outgrow_the_listed_type_are_an_error_and_not_rounded(database, opened):
    database("CREATE TABLE t (n numeric, l int[]); INSERT INTO t VALUES (1.25, '{1}')")
    source = opened()
    table = table_of(source, "t")
    database("UPDATE t SET n = 1.256")
    with pytest.raises(TableVanished, match=r"column 'n' of table 'public\.t' has another type"):
        source.read(table).read_all()
    assert values(source, table_of(source, "t"), "n") == ["1.256"]
    database("UPDATE t SET l = '{{1,2}}', n = 1")
    with pytest.raises(SourceUnreachable, match=r"column 'l' of table 'public\.t' holds an array of 2 dimensions"):
        source.read(table).read_all()
    assert values(source, table_of(source, "t"), "l") == ["[[1, 2]]"]


def test_arrow_types_are_plain_enough_for_parquet(database, opened, tmp_path):
    import pyarrow.parquet as pq

    database("CREATE TABLE t AS SELECT 1.5::numeric AS n, sum(1::bigint) AS s")
    source = opened()
    read = source.read(table_of(source, "t")).read_all()
    assert read.schema.types == [pa.string(), pa.string()]
    pq.write_table(read, tmp_path / "t.parquet")
