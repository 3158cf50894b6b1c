"""Tables of one shape read as one: over DuckDB, SQLite and CSV, whole or in part, with the guard and limits of any SQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from coset.environment.configuration import load_environment
from coset.environment.families import naming_column, relation_name
from coset.errors import NotAllowed, UserError
from coset.session.query_session import QuerySession

YEARS = range(2001, 2025)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QuerySession]:
    folder = tmp_path_factory.mktemp("families")
    with duckdb.connect(str(folder / "market.duckdb")) as connection:
        for number in range(25):
            name = f"{'ABCDE'[number % 5]}{'VWXYZ'[number // 5]}"
            connection.execute(f'CREATE TABLE "{name}" AS SELECT n AS day, n * {number} AS volume FROM range(10) t(n)')
        connection.execute("CREATE TABLE names AS SELECT 'AV' AS symbol, 'first' AS kind, 1 AS a, 2 AS b")
    with sqlite3.connect(folder / "log.db") as connection:
        for year in YEARS:
            more = ", note TEXT" if year > 2022 else ""
            connection.execute(f"CREATE TABLE log_{year} (id INTEGER, text TEXT, size REAL, kind TEXT{more})")
            values = ", '100'" if year > 2022 else ""
            connection.execute(f"INSERT INTO log_{year} VALUES (1, 'a', 1.5, 'x'{values}), (2, 'b', 2.5, 'y'{values})")
    (folder / "csv").mkdir()
    for month in range(1, 7):
        (folder / "csv" / f"sales_{month}.csv").write_text(f"item,amount\npen,{month}\ncap,{month * 10}\n")
    sources = {"market": "market.duckdb", "log": "log.db", "shop": "csv", "shut": "log.db, schema_only: true"}
    lines = "".join(f"  {name}: {{location: {place}}}\n" for name, place in sources.items())
    (folder / "coset.yaml").write_text(f"sources:\n{lines}")
    with QuerySession(load_environment(folder)) as opened:
        yield opened


def test_few_tables_are_fetched_alone_and_nothing_is_copied(session: QuerySession, tmp_path: Path):
    result = session.sql(
        "SELECT table_name, sum(volume) FROM market.all_tables WHERE table_name IN ('BV', 'CV') GROUP BY 1"
    )
    assert sorted(result.rows()) == [("BV", 45), ("CV", 90)]
    [use] = result.uses
    assert (use.table, use.reading, use.rows) == ("market.main.all_tables", "fetched", 20)
    assert session.sql("SELECT count(*) FROM market.all_tables WHERE table_name = 'nobody'").rows() == [(0,)]


def test_all_tables_are_gathered_once_and_the_copy_is_used_until_a_table_changes(session: QuerySession):
    sql = "SELECT table_name, max(volume) AS top FROM market.main.all_tables GROUP BY 1 ORDER BY top DESC LIMIT 1"
    first, second = session.sql(sql), session.sql(sql)
    assert first.rows() == second.rows() == [("EZ", 216)]
    assert [use.rows for use in (*first.uses, *second.uses)] == [250, 0]
    with duckdb.connect(session.environment.settings("market").location) as connection:
        connection.execute("INSERT INTO AV VALUES (11, 5000)")
    assert session.sql(sql).rows() == [("AV", 5000)]


def test_a_family_joins_with_the_column_that_names_its_tables(session: QuerySession):
    sql = "SELECT kind, count(*) FROM market.all_tables JOIN market.names ON symbol = table_name GROUP BY 1"
    [(kind, rows)] = session.sql(sql).rows()
    assert kind == "first" and rows in (10, 11)


def test_a_source_without_files_for_duckdb_is_gathered_through_its_own_client(session: QuerySession):
    sql = "SELECT count(*), count(DISTINCT table_name), sum(size), count(note) FROM log.log_all_tables"
    # A column that only some tables have is NULL for the others.
    assert session.sql(sql).rows() == [(48, 24, 96.0, 4)]
    part = "SELECT min(table_name), max(table_name), count(*) FROM log.log_all_tables WHERE kind = 'x' AND {}"
    assert session.sql(part.format("table_name >= 'log_2020'")).rows() == [("log_2020", "log_2024", 5)]
    assert session.sql(part.format("table_name BETWEEN 'log_2003' AND 'log_2004'")).rows()[0][2] == 2
    assert session.sql(part.format("table_name LIKE 'log_200%'")).rows()[0][2] == 9


def test_files_of_one_shape_are_a_family_too(session: QuerySession):
    sql = "SELECT item, sum(amount) FROM shop.sales_all_tables WHERE table_name <> 'sales_6' GROUP BY 1 ORDER BY 1"
    assert session.sql(sql).rows() == [("cap", 150), ("pen", 15)]


def test_no_value_of_a_schema_only_family_leaves_it(session: QuerySession):
    with pytest.raises(NotAllowed, match="schema-only"):
        session.sql("SELECT max(size) FROM shut.log_all_tables")
    with pytest.raises(NotAllowed, match="schema-only"):
        session.sql("SELECT text FROM shut.log_all_tables WHERE table_name = 'log_2001'")


def test_a_name_that_is_no_familys_is_a_mistake_with_the_nearest_tables(session: QuerySession):
    with pytest.raises(UserError, match=r"there is no table 'log\.logs_all'"):
        session.sql("SELECT * FROM log.logs_all")
    with pytest.raises(UserError, match=r"there is no table 'market\.log_all_tables'"):
        session.sql("SELECT * FROM market.log_all_tables")
    with pytest.raises(UserError, match="sizes"):
        session.sql("SELECT sizes FROM log.log_all_tables")


def test_names_are_the_same_for_whoever_makes_them():
    names = {
        "{}": "all_tables",
        "log_{}": "log_all_tables",
        "{}.csv": "all_tables_csv",
        "{}/orders": "orders_all_schemas",
    }
    assert {pattern: relation_name(pattern) for pattern in names} == names
    assert naming_column("{}", ["id"]) == "table_name" and naming_column("{}/orders", ["id"]) == "schema_name"
    assert naming_column("{}", ["ID", "Table_Name"]) == "table_name_2"
