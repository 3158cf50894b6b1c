"""PostgreSQL against a real server: change is noticed, nothing is written, limits hold."""

from __future__ import annotations

import pytest

from coset.environment.scan import Aggregate, Scan
from coset.errors import LimitReached, TableVanished
from environment.postgresql.postgresql_tables import table_of

adbc = pytest.importorskip("adbc_driver_postgresql.dbapi")


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
