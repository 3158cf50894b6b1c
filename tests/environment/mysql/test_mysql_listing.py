"""MySQL and MariaDB: what is listed."""

from __future__ import annotations

from contextlib import closing

import pytest

from coset.environment.scan import Aggregate, Comparison, Order, Scan
from coset.environment.sources import open_source
from coset.environment.sources.mysql import catalog as mysql_catalog
from coset.environment.sources.mysql.source import MySQL
from engines.mysql import MySQLServer
from environment.mysql.mysql_databases import Database, rows_of, settings, table_of


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
