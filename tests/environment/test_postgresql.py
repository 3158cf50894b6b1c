"""PostgreSQL against a real server: what is listed, what each type becomes, and that pushed-down work is exact."""

from __future__ import annotations

import datetime
import gc
import math
import os
import socket
import sys
import threading
import time
from dataclasses import replace
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest

from coset.environment.scan import (  # fmt: skip
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
from coset.environment.source import Limits, SourceSettings
from coset.environment.sources import open_source
from coset.environment.sources.postgresql.source import PostgreSQL
from coset.errors import LimitReached, MissingDependency, SourceUnreachable, TableVanished

adbc = pytest.importorskip("adbc_driver_postgresql.dbapi")


@pytest.fixture
def database(postgresql_server, create_database, request):
    """A function that runs a script in a database of this test's own; `.url` is its URL."""
    url = create_database(request.node.originalname[:50])

    def run(script: str) -> str:
        return postgresql_server.run(url, script)

    run.url = url
    return run


@pytest.fixture
def opened(database):
    sources = []

    def make(url: str | None = None, **limits) -> PostgreSQL:
        settings = SourceSettings(name="shop", location=url or database.url, kind="postgresql", limits=Limits(**limits))
        sources.append(open_source(settings))
        return sources[-1]

    yield make
    for source in sources:
        source.close()


def table_of(source, name):
    return next(table for table in source.tables() if table.native_name == name)


def as_declared(source, table, scan=EVERYTHING):
    """A DuckDB connection with `rows`: what was read, cast to the types that were listed."""
    connection = duckdb.connect()
    connection.execute("SET timezone = 'UTC'").fetchall()
    read = source.read(table, scan).read_all()
    connection.register("arrived", read)
    casts = ", ".join(f'"{c.name}"::{c.type} AS "{c.name}"' for c in table.columns if c.name in read.column_names)
    connection.execute(f"CREATE TABLE rows AS SELECT {casts} FROM arrived").fetchall()
    return connection


def values(source, table, column, scan=EVERYTHING):
    """One column as DuckDB prints it."""
    name = '"' + column.replace('"', '""') + '"'
    return [value for (value,) in as_declared(source, table, scan).execute(f"SELECT {name}::VARCHAR FROM rows").fetchall()]  # fmt: skip


# Listing


def test_all_kinds_of_relations_are_listed_with_keys_and_comments(database, opened):
    database("""
        CREATE SCHEMA sales; CREATE SCHEMA empty;
        CREATE TABLE sales.customer (id int PRIMARY KEY, name text NOT NULL);
        COMMENT ON TABLE sales.customer IS 'who buys'; COMMENT ON COLUMN sales.customer.name IS 'full name';
        CREATE TABLE item (country text, number int, PRIMARY KEY (country, number));
        CREATE TABLE orders (id int PRIMARY KEY, customer int REFERENCES sales.customer, c text, n int,
            FOREIGN KEY (c, n) REFERENCES item (country, number));
        INSERT INTO sales.customer SELECT i, 'n' || i FROM generate_series(1, 7) i;
        CREATE VIEW v AS SELECT id FROM orders; CREATE MATERIALIZED VIEW m AS SELECT 1 AS one;
        CREATE MATERIALIZED VIEW unpopulated AS SELECT 1 AS one WITH NO DATA;
        CREATE TABLE measured (day date, value int) PARTITION BY RANGE (day);
        CREATE TABLE measured_1 PARTITION OF measured FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');
        CREATE TABLE measured_2 PARTITION OF measured FOR VALUES FROM ('2021-01-01') TO ('2022-01-01');
        INSERT INTO measured VALUES ('2020-05-05', 1), ('2021-05-05', 2);
        CREATE TEMP TABLE gone (i int);
    """)
    source = opened()
    tables = source.tables()
    assert [(t.schema, t.name, t.kind, t.rows, t.rows_exact) for t in tables] == [
        ("public", "item", "table", 0, True),
        ("public", "m", "view", 1, True),
        ("public", "measured", "table", 2, True),
        ("public", "orders", "table", 0, True),
        ("public", "unpopulated", "view", None, False),
        ("public", "v", "view", None, False),
        ("sales", "customer", "table", 7, True),
    ]
    by_name = {table.name: table for table in tables}
    customer, orders = by_name["customer"], by_name["orders"]
    assert (customer.comment, customer.primary_key, customer.column("name").comment) == (
        "who buys",
        ("id",),
        "full name",
    )
    assert (customer.column("name").nullable, orders.column("c").nullable) == (False, True)
    assert [
        (k.columns, k.references_schema, k.references_table, k.references_columns) for k in orders.foreign_keys
    ] == [
        (("c", "n"), "public", "item", ("country", "number")),
        (("customer",), "sales", "customer", ("id",)),
    ]
    assert customer.bytes > 0 and by_name["v"].bytes is None
    assert source.tables() == tables
    assert values(source, by_name["measured"], "value") == ["1", "2"]
    with pytest.raises(SourceUnreachable, match="has not been populated"):
        source.read(by_name["unpopulated"]).read_all()


def test_odd_names_and_names_differing_only_in_case_are_kept_apart(database, opened):
    long_name = "ü" * 31
    database(f"""
        CREATE TABLE "Orders" ("Id" int, "id" text, "CARR#" int, "select" int, "a ""b"" 'c' \\d" int, "c0" int, "{long_name}" int, "{{x}}" int);
        INSERT INTO "Orders" VALUES (1, 'upper', 2, 3, 4, 5, 6, 7), (2, 'upper2', 1, 3, 4, 1, 6, 7);
        CREATE TABLE orders (x int); INSERT INTO orders VALUES (42);
        CREATE SCHEMA "Public"; CREATE TABLE "Public"."order" ("CARR#" text); INSERT INTO "Public"."order" VALUES ('other schema');
        CREATE TABLE "it's {{0}} % " (x int); INSERT INTO "it's {{0}} % " VALUES (9);
    """)
    source = opened()
    tables = {(table.schema, table.name): table for table in source.tables()}
    assert set(tables) == {("Public", "order"), ("public_1", "Orders"), ("public_1", "orders_1"), ("public_1", "it's {0} % ")}  # fmt: skip
    upper = tables["public_1", "Orders"]
    assert [c.name for c in upper.columns] == [
        "Id",
        "id_1",
        "CARR#",
        "select",
        "a \"b\" 'c' \\d",
        "c0",
        long_name,
        "{x}",
    ]
    fresh = opened()  # Knows the tables from elsewhere, and has not listed them itself.
    for reader in (source, fresh):
        assert [
            tuple(row.values()) for row in reader.read(upper, Scan(order=(Order("c0"),))).read_all().to_pylist()
        ] == [
            (2, "upper2", 1, 3, 4, 1, 6, 7),
            (1, "upper", 2, 3, 4, 5, 6, 7),
        ]
        assert values(reader, tables["public_1", "orders_1"], "x") == ["42"]
        assert values(reader, tables["Public", "order"], "CARR#") == ["other schema"]
        assert values(reader, tables["public_1", "it's {0} % "], "x") == ["9"]
        assert reader.change_token(upper) != reader.change_token(tables["public_1", "orders_1"])
    wanted = Scan(columns=("id_1",), where=Comparison("a \"b\" 'c' \\d", "=", 4), order=(Order("CARR#"),))
    assert source.read(upper, wanted).read_all().to_pydict() == {"id_1": ["upper2", "upper"]}
    aliased = Scan(aggregates=(Aggregate("count", None, "x" * 80), Aggregate("max", "id_1", "x" * 81)))
    assert source.read(upper, aliased).read_all().to_pylist() == [{"x" * 80: 2, "x" * 81: "upper2"}]


def test_tables_and_columns_without_privilege_are_not_listed(database, opened, postgresql_server):
    database("""
        DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN;
        CREATE SCHEMA closed; CREATE TABLE closed.t (i int); GRANT SELECT ON closed.t TO reader;
        CREATE TABLE secret (i int); CREATE TABLE open (i int, key text, PRIMARY KEY (i)); GRANT SELECT ON open TO reader;
        CREATE TABLE partly (i int, hidden text, j numeric(4,1)); GRANT SELECT (i, j) ON partly TO reader;
        INSERT INTO partly VALUES (1, 'x', 1.5); INSERT INTO open VALUES (1, 'k');
        CREATE TABLE whole (i int) PARTITION BY LIST (i); CREATE TABLE part PARTITION OF whole FOR VALUES IN (1);
        GRANT SELECT ON part TO reader;
    """)
    source = opened(database.url.replace("postgres@", "reader@"))
    tables = {table.name: table for table in source.tables()}
    assert {name: [column.name for column in table.columns] for name, table in tables.items()} == {
        "open": ["i", "key"], "partly": ["i", "j"], "part": ["i"],
    }  # fmt: skip
    assert source.read(tables["partly"]).read_all().to_pylist() == [{"i": 1, "j": "1.5"}]
    database("REVOKE SELECT ON open FROM reader")
    with pytest.raises(SourceUnreachable, match=r"may not read table 'public\.open'"):
        source.read(tables["open"])


def test_rows_of_larger_tables_are_estimated(database, opened):
    database("""
        CREATE TABLE large AS SELECT i, repeat('x', 700) AS t FROM generate_series(1, 12000) i; ANALYZE large;
        CREATE TABLE never AS SELECT i, repeat('x', 700) AS t FROM generate_series(1, 12000) i;
        INSERT INTO large SELECT i, repeat('x', 700) FROM generate_series(1, 12000) i;
    """)
    source = opened()
    large, never = table_of(source, "large"), table_of(source, "never")
    assert not large.rows_exact and large.rows == pytest.approx(24000, rel=0.05)
    assert (never.rows, never.rows_exact) == (12000, True)


def test_a_table_locked_by_another_session_does_not_hold_up_the_listing(database, opened):
    database("CREATE TABLE busy (i int); INSERT INTO busy VALUES (1); CREATE TABLE free (i int);")
    holder = adbc.connect(database.url)
    try:
        holder.cursor().execute("LOCK TABLE busy IN ACCESS EXCLUSIVE MODE")
        source = opened(connect_seconds=0.3)
        tables = {table.name: table for table in source.tables()}
        assert (tables["busy"].rows_exact, tables["free"].rows_exact) == (False, True)
        with pytest.raises(SourceUnreachable, match="locked by another session"):
            source.read(tables["busy"]).read_all()
    finally:
        holder.close()


def test_a_thousand_tables_are_listed_with_counts(database, opened):
    database("""
        DO $$ BEGIN FOR i IN 1..1000 LOOP
            EXECUTE format('CREATE TABLE t%s (id int PRIMARY KEY, v numeric)', i);
            IF i % 100 = 0 THEN COMMIT; END IF;
        END LOOP; END $$;
        INSERT INTO t77 VALUES (1, 1.25);
    """)
    tables = opened().tables()
    assert len(tables) == 1000 and all(table.rows_exact for table in tables)
    found = next(table for table in tables if table.name == "t77")
    assert (found.rows, found.column("v").type) == (1, "DECIMAL(18,2)")


# Types

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


# Pushdown

TEXTS = ["a", "B", "b", "A", "Ä", "ä", "", " ", "a ", "a  b", "ab", "Zebra", "zebra", "é", "ß", "ss", "-a", "_", "'", "\\n", "\U0001f600", "￿", "10", "9", None]  # fmt: skip


@pytest.fixture
def mixed(database, opened):
    def text(value):
        return "NULL" if value is None else "'" + value.replace("'", "''") + "'"

    rows = []
    for number in range(300):
        value = TEXTS[number % len(TEXTS)]
        moment = None if number % 11 == 0 else f"20{number % 30:02d}-0{number % 9 + 1}-01 00:00:00" + (".000001" if number % 3 else "")  # fmt: skip
        rows.append(
            f"({number}, {text(value)}, {text(value)}, {text('big' if number % 2 else 'Small')}, {number * 7 % 23 - 11}, "
            f"{'NULL' if number % 13 == 0 else (number * 37 % 101 - 50) * 0.07:.2f}, {9007199254740993 + number % 5}, "
            f"{'NULL' if number % 7 == 0 else (number % 17) / 8 - 1}, {(number * 31 % 97) / 1000 - 0.04:.3f}, "
            f"{text(moment)}, {text(moment and moment[:10])}, {'NULL' if number % 5 == 0 else number % 2 == 0}, {number * 111.11:.2f})"
            if number % 13
            else f"({number}, {text(value)}, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)"
        )
    database(
        "CREATE TYPE size AS ENUM ('Small', 'big'); CREATE TABLE mixed (id int PRIMARY KEY, t text, c char(9), e size, i int, "
        "d numeric(9,2), big bigint, f double precision, n numeric, ts timestamp, day date, b boolean, m money);"
        f"INSERT INTO mixed VALUES {', '.join(rows)}; CREATE VIEW seen AS SELECT * FROM mixed;"
    )
    return opened()


COLUMNS = {"t": "text", "c": "text", "e": "text", "i": "number", "d": "number", "big": "number", "f": "number", "n": "number", "ts": "time", "day": "time", "b": "boolean", "m": "number"}  # fmt: skip
VALUES = {
    "text": ["a", "B", "", "a ", "zebra", "Ä", "'", "\\n", "\U0001f600", "big", "Small", "nowhere"],
    "number": [0, -1, 5, Decimal("-0.07"), 0.5, -0.75, 1e2, 9007199254740993, 9.007199254740992e15, Decimal("0.011"), 10**20],
    "time": [datetime.date(2005, 6, 1), datetime.datetime(2005, 6, 1), datetime.datetime(2010, 2, 1, 0, 0, 0, 1), datetime.date(1, 1, 1)],
    "boolean": [True, False],
}  # fmt: skip


def both(source, table, local, scan):
    """The scan's rows from the server and from DuckDB over the whole table, sorted, as text in the declared types."""
    import sqlglot.expressions as sge

    assert needed_operations(scan, lambda name: family(table.column(name).type)) <= PostgreSQL.pushes
    expected_sql = scan_to_sql(scan, sge.table_("rows"), "duckdb", lambda name: sge.column(name, quoted=True), all_columns=tuple(c.name for c in table.columns))  # fmt: skip
    expected = local.execute(expected_sql)
    description = [(column[0], str(column[1])) for column in expected.description]
    kinds = {name: "DECIMAL(38,0)" if kind == "HUGEINT" else kind for name, kind in description}
    expected_rows = [[None if v is None else str(v) for v in row] for row in expected.fetchall()]
    arrived = source.read(table, scan).read_all()
    assert arrived.column_names == list(kinds)
    local.register("arrived", arrived)
    casts = ", ".join(f'"{name}"::{kind}' for name, kind in kinds.items())
    got = [[None if v is None else str(v) for v in row] for row in local.execute(f"SELECT {casts} FROM arrived").fetchall()]  # fmt: skip
    local.unregister("arrived")
    if scan.order:
        return got, expected_rows
    order = {"key": lambda row: [(value is None, value or "") for value in row]}
    return sorted(got, **order), sorted(expected_rows, **order)


@pytest.mark.parametrize("relation", ["mixed", "seen"])
def test_pushed_work_gives_what_duckdb_gives_over_the_whole_table(mixed, relation):
    tables = {table.name: table for table in mixed.tables()}
    assert {family(tables["mixed"].column(name).type) for name in COLUMNS} == {"text", "number", "time", "boolean"}
    table = tables[relation]
    local = as_declared(mixed, table)
    scans = []
    for name, kind in COLUMNS.items():
        # The view's `numeric` column was not looked at: it is DOUBLE, and DuckDB compares and adds it as such.
        for value in VALUES[kind] if relation == "mixed" else VALUES[kind][:1]:
            scans += [Scan(columns=("id",), where=Comparison(name, operator, value)) for operator in (("=", "<>", "<", "<=", ">", ">=") if value == VALUES[kind][0] else ("=", "<"))]  # fmt: skip
        scans.append(Scan(columns=("id",), where=Among(name, tuple(VALUES[kind][:5]))))
        scans.append(Scan(columns=("id", name), where=Null(name)))
        scans.append(Scan(columns=(name,), where=Null(name, negated=True), order=(Order(name), Order("id")), limit=40))
        for descending in (False, True):
            for first in (False, True):
                scans.append(Scan(columns=("id",), order=(Order(name, descending, first), Order("id")), limit=150))
        scans.append(Scan(group_by=(name,)))
        aggregates = ["count", "count_distinct", "min", "max"]
        if kind == "number" and not (table.column(name).type == "DOUBLE" and name != "f"):
            aggregates += ["sum", "avg"]
        wanted = tuple(Aggregate(function, name, f"{function} of {name}") for function in aggregates)
        scans.append(Scan(aggregates=(Aggregate("count", None, "rows"), *wanted)))
        scans.append(Scan(aggregates=wanted, where=Comparison("id", "<", 0)))
        scans.append(Scan(group_by=("i", "b"), aggregates=wanted))
        scans.append(
            Scan(group_by=(name,), aggregates=(Aggregate("count", None, "rows"), Aggregate("avg", "big", "mean")))
        )
    scans.append(Scan(columns=("m", "t"), where=All((Any((Comparison("t", "<", "a"), Null("t"))), Comparison("id", ">=", 10))), order=(Order("id", True),), limit=7))  # fmt: skip
    scans.append(Scan(limit=0))
    for scan in scans:
        got, expected = both(mixed, table, local, scan)
        # DuckDB's own averages differ in the last binary digit from one plan to another.
        averages = [i + len(scan.group_by) for i, item in enumerate(scan.aggregates) if item.function == "avg"]
        for mine, theirs in zip(got, expected, strict=True):
            for position in averages:
                if theirs[position] is not None and math.isclose(
                    float(mine[position]), float(theirs[position]), rel_tol=4e-16
                ):
                    mine[position] = theirs[position]
        assert got == expected, scan


def test_text_is_ordered_by_bytes_where_the_server_sorts_by_language(mixed, postgresql_server, database):
    if postgresql_server.locale == "C":
        pytest.skip("no locale but C could be compiled on this machine")
    assert database("SELECT 'a' < 'B', 'B' < 'c'") == "t|t"
    table = table_of(mixed, "mixed")
    ordered = mixed.read(table, Scan(columns=("t",), order=(Order("t"),))).read_all()["t"].to_pylist()
    expected = sorted((value for value in ordered if value is not None), key=str.encode)
    assert ordered == expected + [None] * ordered.count(None)


def test_equality_of_text_uses_an_index(database, opened):
    database("CREATE TABLE t AS SELECT i, md5(i::text) AS h FROM generate_series(1, 20000) i; CREATE INDEX ON t (h); ANALYZE t;")  # fmt: skip
    source = opened()
    sent = []
    rows = source._connections.stream
    source._connections.stream = lambda sql, translate: sent.append(sql) or rows(sql, translate)
    found = source.read(table_of(source, "t"), Scan(where=Comparison("h", "=", "c4ca4238a0b923820dcc509a6f75849b"))).read_all()  # fmt: skip
    assert found["i"].to_pylist() == [1]
    assert "Index" in database(f"EXPLAIN {sent[0]}")


# Change


def test_a_token_stays_until_rows_or_columns_change(database, opened):
    database("CREATE TABLE t (i int); INSERT INTO t VALUES (1), (2); CREATE TABLE other (i int); CREATE VIEW v AS SELECT * FROM t;")  # fmt: skip
    source = opened()
    table = table_of(source, "t")
    tokens = [source.change_token(table)]
    source.read(table).read_all()
    database("INSERT INTO other VALUES (1); SELECT count(*) FROM t;")
    assert source.change_token(table) == tokens[0] == opened().change_token(table)
    changes = ["INSERT INTO t VALUES (3)", "UPDATE t SET i = 4 WHERE i = 3", "DELETE FROM t WHERE i = 4", "ALTER TABLE t ADD COLUMN j int", "ALTER TABLE t RENAME COLUMN j TO k", "TRUNCATE t", "DROP TABLE t CASCADE; CREATE TABLE t (i int)"]  # fmt: skip
    for change in changes:
        database(change)
        tokens.append(source.change_token(table))
    assert len(set(tokens)) == len(tokens) and None not in tokens


def test_tokens_of_partitioned_tables_follow_the_partitions_and_views_have_none(database, opened):
    database("""
        CREATE TABLE whole (i int) PARTITION BY LIST (i); CREATE TABLE part_1 PARTITION OF whole FOR VALUES IN (1);
        CREATE VIEW v AS SELECT * FROM whole; CREATE MATERIALIZED VIEW m AS SELECT * FROM whole;
    """)
    source = opened()
    tables = {table.name: table for table in source.tables()}
    assert source.change_token(tables["v"]) is None
    whole, materialised = [source.change_token(tables["whole"])], [source.change_token(tables["m"])]
    for change in ["INSERT INTO whole VALUES (1)", "CREATE TABLE part_2 PARTITION OF whole FOR VALUES IN (2)", "INSERT INTO part_2 VALUES (2)", "TRUNCATE part_1"]:  # fmt: skip
        database(change)
        whole.append(source.change_token(tables["whole"]))
    assert len(set(whole)) == 5
    assert source.change_token(tables["m"]) == materialised[0]
    database("REFRESH MATERIALIZED VIEW m")
    assert source.change_token(tables["m"]) != materialised[0]


# Safety


def test_a_write_is_refused_by_the_server_on_every_connection(database, opened):
    database("CREATE TABLE t (i int); CREATE SEQUENCE s;")
    source = opened()
    table = table_of(source, "t")
    source.read(table).read_all()
    for connection in (source._connections._catalog, source._connections._idle[0]):
        for write in ("INSERT INTO t VALUES (1)", "DROP TABLE t", "CREATE TABLE u (i int)", "SELECT nextval('s')"):
            with pytest.raises(adbc.Error, match="read-only transaction"), connection.cursor() as cursor:
                cursor.execute(write)
                cursor.fetchall()
    stubborn = opened(database.url + "?options=-c%20default_transaction_read_only%3Doff%20-c%20work_mem%3D5MB")
    assert stubborn._connections.rows("SELECT current_setting('transaction_read_only'), current_setting('work_mem'), current_setting('application_name')") == [("on", "5MB", "coset")]  # fmt: skip
    assert database("SELECT count(*) FROM t") == "0"


def test_a_value_over_the_limit_is_refused_without_being_read(database, opened):
    database("""
        CREATE TABLE docs (id int, body text, raw bytea, tree jsonb, parts text[]);
        INSERT INTO docs (id, body) VALUES (1, 'small'), (2, repeat('x', 3000000));
        CREATE TABLE fine AS SELECT 1 AS id, repeat('y', 1999999) AS body;
        CREATE VIEW seen AS SELECT id, body FROM docs;
    """)
    source = opened(cell_bytes=2_000_000)
    tables = {table.name: table for table in source.tables()}
    for name in ("docs", "seen"):
        with pytest.raises(
            LimitReached, match=rf"column 'body' of table 'public\.{name}' holds a value of 3,000,000 bytes"
        ):
            source.read(tables[name]).read_all()
        assert source.read(tables[name], Scan(columns=("id",))).read_all().num_rows == 2
        with pytest.raises(LimitReached, match="column 'body'"):
            source.read(tables[name], Scan(aggregates=(Aggregate("max", "body", "m"),))).read_all()
    assert len(source.read(tables["fine"]).read_all()["body"][0].as_py()) == 1_999_999
    for column, value in [("raw", "repeat('z', 2500000)::bytea"), ("tree", "to_jsonb(repeat('z', 2500000))"), ("parts", "array_fill('word'::text, ARRAY[500000])")]:  # fmt: skip
        database(
            f"UPDATE docs SET body = NULL, raw = NULL, tree = NULL, parts = NULL; UPDATE docs SET {column} = {value}"
        )
        with pytest.raises(LimitReached, match=f"column '{column}'"):
            source.read(tables["docs"]).read_all()


def test_a_huge_compressible_value_is_found_under_the_default_way_of_checking(database, opened):
    database("CREATE TABLE docs AS SELECT 1 AS id, repeat('x', 100000000) AS body")
    source = opened()
    table = table_of(source, "docs")
    before = _peak_memory()
    with pytest.raises(LimitReached, match="100,000,000 bytes, over the limit of 64,000,000"):
        source.read(table).read_all()
    assert _peak_memory() - before < 50_000_000


def _peak_memory() -> int:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def test_a_statement_over_the_time_limit_is_stopped_at_the_server(database, opened):
    database("CREATE VIEW slow AS SELECT 1 AS i, pg_sleep(20)::text AS t")
    source = opened(query_seconds=0.2)
    with pytest.raises(LimitReached, match=r"stopped at the limit of 0\.2 seconds"):
        source.read(table_of(source, "slow")).read_all()


def test_vanished_tables_and_columns_are_named(database, opened):
    database("CREATE TABLE t (i int, j int, k int); CREATE TABLE u (i int); CREATE SCHEMA s; CREATE TABLE s.w (i int);")
    source = opened()
    tables = {table.name: table for table in source.tables()}
    database("ALTER TABLE t DROP COLUMN j; ALTER TABLE t ALTER COLUMN k TYPE text; ALTER TABLE t ADD COLUMN new int; DROP TABLE u; DROP SCHEMA s CASCADE; INSERT INTO t VALUES (1);")  # fmt: skip
    with pytest.raises(TableVanished, match=r"'public\.t' no longer has column 'j'"):
        source.read(tables["t"])
    with pytest.raises(TableVanished, match=r"column 'k' of table 'public\.t' has another type"):
        source.read(tables["t"], Scan(columns=("k",)))
    assert source.read(tables["t"], Scan(columns=("i",))).read_all().to_pydict() == {"i": [1]}
    for gone in ("u", "w"):
        for ask in (source.read, source.change_token):
            with pytest.raises(TableVanished, match=rf"table '\w+\.{gone}' is gone"):
                ask(tables[gone])


# Connections


def test_a_table_is_read_in_batches_while_other_questions_are_asked(database, opened):
    database("CREATE TABLE t AS SELECT i, repeat('x', 90) AS x FROM generate_series(1, 200000) i; CREATE TABLE u AS SELECT 1 AS i;")  # fmt: skip
    source = opened()
    table, small = table_of(source, "t"), table_of(source, "u")
    reader = source.read(table)
    first = reader.read_next_batch()
    assert first.num_rows < 100_000
    assert source.change_token(table) and source.read(small).read_all().num_rows == 1
    answers = []
    worker = threading.Thread(target=lambda: answers.append(source.tables()))
    worker.start()
    worker.join()
    assert len(answers[0]) == 2
    assert first.num_rows + sum(batch.num_rows for batch in reader) == 200_000


def _sessions(database, wanted: int) -> int:
    """How many sessions coset has at the server, given time to get down to `wanted`."""
    for _ in range(200):
        count = int(database("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'coset' AND datname = current_database()"))  # fmt: skip
        if count <= wanted:
            break
        time.sleep(0.05)
    return count


def test_nothing_stays_open_after_a_dropped_reader_an_error_or_close(database, opened):
    database("CREATE TABLE t AS SELECT i, repeat('x', 90) AS x FROM generate_series(1, 400000) i; CREATE VIEW broken AS SELECT 1 / (i - 100000) AS q FROM t;")  # fmt: skip
    source = opened()
    tables = {table.name: table for table in source.tables()}
    unread = source.read(tables["t"])
    begun = source.read(tables["t"])
    begun.read_next_batch()
    assert _sessions(database, 3) == 3
    del unread, begun
    gc.collect()
    assert _sessions(database, 1) == 1
    with pytest.raises(SourceUnreachable, match="division by zero"):
        source.read(tables["broken"]).read_all()
    assert _sessions(database, 1) == 1
    open_reader = source.read(tables["t"])
    open_reader.read_next_batch()
    source.close()
    source.close()
    assert _sessions(database, 0) == 0
    del open_reader
    assert source.read(tables["t"]).read_all().num_rows == 400_000


def test_a_restarted_server_is_connected_to_again(database, opened, postgresql_server):
    database("CREATE TABLE t AS SELECT 1 AS i")
    source = opened()
    table = table_of(source, "t")
    source.read(table).read_all()
    postgresql_server.stop()
    try:
        with pytest.raises(SourceUnreachable, match=r"nothing answers at 127\.0\.0\.1"):
            source.tables()
    finally:
        postgresql_server.start()
    assert source.read(table).read_all().num_rows == 1
    database("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'coset'")
    assert source.read(table).read_all().num_rows == 1
    assert source.tables() == [table]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_what_cannot_be_connected_to_is_told_in_one_sentence_without_the_password(database, opened, postgresql_server):
    database("DROP ROLE IF EXISTS locked_joe; CREATE ROLE locked_joe LOGIN PASSWORD 'right-one'")
    port = postgresql_server.port
    cases = {
        f"postgresql://locked_joe:hush-hush@127.0.0.1:{port}/postgres": "refused the user name or password",
        f"postgresql://locked_joe@127.0.0.1:{port}/postgres?password=hush-hush": "refused the user name or password",
        f"postgresql://locked_joe@127.0.0.1:{port}/postgres": "refused the user name or password",
        f"postgresql://postgres:hush-hush@127.0.0.1:{port}/nowhere": 'database "nowhere" does not exist',
        f"postgresql://nobody:hush-hush@127.0.0.1:{port}/postgres": 'role "nobody" does not exist',
        f"postgresql://joe:hush-hush@127.0.0.1:{_free_port()}/x": "nothing answers at 127.0.0.1",
        "postgresql://joe:hush-hush@host.invalid/x": "host of host.invalid is not known",
        "postgresql://joe:hush-hush@/x?host=/no/such/folder": "nothing answers at /no/such/folder",
        "postgresql://joe:hush-hush%zz@127.0.0.1/x": "cannot connect",
        "postgresql://joe:hush-hush@127.0.0.1:99999/x": "cannot connect",
        f"postgresql://joe:hush-hush@127.0.0.1:{port}/x?sslmode=require": "SSL",
    }
    for url, reason in cases.items():
        with pytest.raises(SourceUnreachable) as caught:
            opened(url).tables()
        text = str(caught.value)
        assert reason in text and text.startswith("source 'shop': ")
        assert "hush" not in text and "\n" not in text and len(text) < 200
        assert caught.value.__cause__ is None
    right = opened(f"postgresql://locked_joe:right%2Done@127.0.0.1:{port}/postgres")
    assert right._connections.rows("SELECT current_user::text") == [("locked_joe",)]
    by_socket = opened(f"postgresql://postgres@/postgres?host={postgresql_server.data}&port={port}")
    assert os.geteuid() != 0 or by_socket._connections.rows("SELECT inet_client_addr()::text") == [(None,)]


def test_a_missing_driver_says_what_to_install(opened, monkeypatch):
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql.dbapi", None)
    with pytest.raises(MissingDependency, match=r"pip install 'coset\[postgresql\]'"):
        opened().tables()


def test_a_server_that_accepts_and_stays_silent_is_given_up(opened):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        source = opened(f"postgresql://joe:hush@127.0.0.1:{silent.getsockname()[1]}/x", connect_seconds=1)
        with pytest.raises(SourceUnreachable, match="did not answer within 1 seconds"):
            source.tables()


def test_arrow_types_are_plain_enough_for_parquet(database, opened, tmp_path):
    import pyarrow.parquet as pq

    database("CREATE TABLE t AS SELECT 1.5::numeric AS n, sum(1::bigint) AS s")
    source = opened()
    read = source.read(table_of(source, "t")).read_all()
    assert read.schema.types == [pa.string(), pa.string()]
    pq.write_table(read, tmp_path / "t.parquet")


def test_a_listing_is_the_same_after_names_are_restored_from_elsewhere(database, opened):
    database("CREATE TABLE t (n numeric); INSERT INTO t VALUES (1.5), ('NaN')")
    table = table_of(opened(), "t")
    assert values(opened(), replace(table), "n") == ["1.5", "nan"]
