"""PostgreSQL against a real server: what is listed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from coset.environment.scan import Aggregate, Comparison, Order, Scan
from coset.errors import SourceUnreachable
from environment.postgresql.postgresql_tables import table_of, values

adbc = pytest.importorskip("adbc_driver_postgresql.dbapi")


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


def test_a_listing_is_the_same_after_names_are_restored_from_elsewhere(database, opened):
    database("CREATE TABLE t (n numeric); INSERT INTO t VALUES (1.5), ('NaN')")
    table = table_of(opened(), "t")
    assert values(opened(), replace(table), "n") == ["1.5", "nan"]


def test_shows_how_views_are_defined(database, opened):
    database(
        "CREATE TABLE a (id int); CREATE VIEW v AS SELECT id FROM a WHERE id > 0; "
        "CREATE MATERIALIZED VIEW m AS SELECT id FROM a"
    )
    found = {query.name: query for query in opened().written_queries()}
    assert set(found) == {"v", "m"} and found["v"].schema == "public"
    assert "WHERE (id > 0)" in " ".join(found["v"].text.split())
