"""Statements that reach for files, settings, the catalog or the engine's own functions, sent the whole way."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import duckdb
import pytest

import coset
from coset.errors import CosetError

STATEMENTS = r"""
SELECT * FROM query('SELECT 1')
SELECT * FROM query_table('shop.orders')
SELECT * FROM query_table(['shop.orders','crm.customers'])
SELECT getvariable('x')
SELECT current_setting('home_directory')
SELECT getenv('HOME')
FROM '/etc/passwd'
FROM "/etc/passwd"
FROM 'list.csv'
FROM "list.csv"
SELECT * FROM read_csv_auto('/etc/passwd')
SELECT * FROM glob('/etc/*')
SELECT * FROM read_blob('/etc/passwd')
SELECT * FROM sniff_csv('/etc/passwd')
SELECT * FROM parquet_metadata('/x')
SELECT * FROM duckdb_secrets()
SELECT * FROM which_secret('x','s3')
SELECT * FROM pragma_database_list
SELECT * FROM information_schema.tables
SELECT * FROM sqlite_master
SELECT * FROM duckdb_logs
SELECT * FROM duckdb_settings()
SELECT * FROM pg_catalog.pg_settings
SELECT * FROM main.orders
SELECT * FROM temp.main.orders
SELECT * FROM memory.main.orders
SELECT * FROM system.main.duckdb_columns
SELECT * FROM system.information_schema.columns
SELECT shop.main.abs(1)
SELECT system.main.getenv('HOME')
SELECT main.getenv('X')
SELECT pg_catalog.current_setting('threads')
SELECT 'x'.getenv()
SELECT ('HOME').getenv()
SELECT list_transform(['HOME'], x -> getenv(x))
SELECT list_transform(['HOME'], lambda x: getenv(x))
SELECT [getenv(x) FOR x IN ['HOME']]
SELECT apply(['threads'], x -> current_setting(x))
SELECT list_aggregate(['a'], 'getenv')
SELECT list_aggr([1], 'sum'), getenv('HOME')
SELECT COLUMNS('.*') FROM duckdb_settings()
SELECT * REPLACE (getenv('HOME') AS id) FROM shop.orders
SELECT * EXCLUDE (id) RENAME (buyer AS b) FROM duckdb_tables()
WITH RECURSIVE x AS (SELECT 1 UNION ALL SELECT getenv('HOME')) SELECT * FROM x
WITH x AS MATERIALIZED (FROM duckdb_settings()) FROM x
SELECT * FROM shop.orders AT (VERSION => 1)
SELECT * FROM shop.orders WHERE id = (SELECT value FROM duckdb_settings() LIMIT 1)
VALUES (getenv('HOME'))
TABLE duckdb_settings
SHOW TABLES
SHOW ALL TABLES
DESCRIBE SELECT * FROM duckdb_settings()
SUMMARIZE duckdb_settings()
PIVOT duckdb_settings() ON name USING count(*)
EXPLAIN ANALYZE SELECT getenv('HOME')
CALL pragma_version()
PRAGMA version
LOAD httpfs
INSTALL httpfs
SET VARIABLE x = 1
EXPORT DATABASE '/tmp/x'
CHECKPOINT
VACUUM
USE memory
COMMENT ON TABLE shop.orders IS 'x'
SELECT nextval('s')
SELECT currval('s')
SELECT write_log('x')
SELECT * FROM enable_logging()
SELECT * FROM force_checkpoint()
SELECT pg_sleep(1)
SELECT sleep_ms(10)
SELECT txid_current()
SELECT current_database()
SELECT current_schemas(true)
SELECT current_query()
SELECT user
SELECT session_user
SELECT current_catalog
SELECT current_role
SELECT version()
SELECT setseed(0.1)
SELECT in_search_path('a','b')
SELECT has_table_privilege('x','y')
SELECT pg_get_viewdef(1)
SELECT * FROM test_all_types()
SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT 1'))
SELECT json_serialize_sql('SELECT 1')
SELECT * FROM sql_auto_complete('sel')
SELECT * FROM seq_scan('orders')
SELECT * FROM arrow_scan(1,2,3)
SELECT * FROM pandas_scan(1)
SELECT * FROM python_map_function(1)
SELECT * FROM read_ndjson_objects('/etc/passwd')
SELECT * FROM from_substrait('x')
SELECT finalize(1)
SELECT * FROM storage_info('orders')
SELECT * FROM pragma_storage_info('orders')
SELECT * FROM duckdb_approx_database_count()
SELECT * FROM checkpoint()
SELECT icu_sort_key('a','b')
SELECT to_base64(read_blob('/etc/passwd'))
SELECT content FROM read_text(['/etc/passwd'])
SELECT * FROM read_duckdb('crm.duckdb')
SELECT * FROM "crm.duckdb".customers
SELECT * FROM 'crm.duckdb'
SELECT * FROM sqlite_scan('shop.db','orders')
SELECT * FROM shop.sqlite_master
SELECT * FROM shop.main.sqlite_sequence
SELECT * FROM linked.x
SELECT * FROM result.x
SELECT * FROM __coset.x
SELECT * FROM coset_shop.main.orders
SELECT * FROM planned.main.t0
""".strip().splitlines()


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[coset.Environment]:
    folder = tmp_path_factory.mktemp("bypass")
    with sqlite3.connect(folder / "shop.db") as database:
        database.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, buyer INT)")
        database.execute("INSERT INTO orders VALUES (1, 2)")
    with duckdb.connect(str(folder / "crm.duckdb")) as crm:
        crm.execute("CREATE TABLE customers AS SELECT 2 AS id")
    (folder / "list.csv").write_text("code,label\nA,Alpha\n")
    (folder / "coset.yaml").write_text(
        "sources:\n  shop: {location: shop.db}\n  crm: {location: crm.duckdb}\n  list: {location: list.csv}\n"
    )
    with coset.open(folder) as environment, pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert environment.sql("SELECT count(*) FROM shop.orders o, crm.customers c WHERE o.buyer = c.id").rows == [
            (1,)
        ]
        yield environment


@pytest.mark.parametrize("statement", STATEMENTS)
def test_it_is_refused(statement: str, environment: coset.Environment):
    with pytest.raises(CosetError):
        environment.sql(statement)
