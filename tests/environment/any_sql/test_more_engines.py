"""Engines that companies have and that run here from packages: ClickHouse's own, and DuckDB behind Snowflake's client.

Both need packages that are not among the tests' own: `pip install chdb clickhouse-connect`; and `pip install fakesnow
snowflake-sqlalchemy "snowflake-connector-python<5"`, whose pins on sqlglot are older than coset's, so in an environment
made for it. Without them the tests skip.
"""

from __future__ import annotations

from urllib.parse import quote

import pytest

pytest.importorskip("sqlalchemy", reason="the extra sqlalchemy is not installed")

from coset.environment.scan import Aggregate, Scan
from coset.errors import CosetError, UserError
from coset.testing import SourceProblems, check_source
from engines.clickhouse import PASSWORD, run
from environment.any_sql.shops import clickhouse_statements, opened, rows_of, statements


@pytest.fixture(scope="module")
def clickhouse(clickhouse_server):
    run(clickhouse_server, "CREATE DATABASE any_sql")
    for text in clickhouse_statements():
        run(clickhouse_server, text, database="any_sql")
    return f"clickhousedb://reader:{quote(PASSWORD, safe='')}@{clickhouse_server}/any_sql"


def test_clickhouse_passes_the_kit(clickhouse):
    report = check_source(
        lambda: opened(clickhouse, "sqlalchemy"),
        faults={"a database that is not there": lambda: opened(clickhouse + "_missing", "sqlalchemy")},
        secrets=[PASSWORD],
        probes=1,
    )
    assert (report.tables, report.rows, report.limits) == (2, 306, 1)
    assert {"compare:number", "compare:text", "group:text", "aggregate:sum", "order", "limit"} <= report.pushed


def test_clickhouse_gives_the_rows_that_other_engines_give(clickhouse, shops):
    found = []
    for location, kind in ((shops("sqlite").native, "sqlite"), (clickhouse, "sqlalchemy")):
        source = opened(location, kind)
        found.append(rows_of(source))
        source.close()
    assert found[0]["orders"] == found[1]["orders"]
    assert [row[:4] for row in found[0]["customers"]] == [row[:4] for row in found[1]["customers"]]


def test_clickhouse_cannot_be_written_to(clickhouse):
    from sqlalchemy import text

    source = opened(clickhouse, "sqlalchemy")
    connection = source._connect()
    try:
        with pytest.raises(UserError, match="only reads"):
            connection.execute(text("INSERT INTO orders VALUES (1, 1, 'x', 1)"))
        with pytest.raises(Exception, match=r"(?i)read.?only"):
            connection.connection.dbapi_connection.cursor().execute("TRUNCATE TABLE orders")
    finally:
        connection.invalidate()
        connection.close()
        source.close()


def test_a_change_in_clickhouse_is_known(clickhouse, clickhouse_server):
    run(clickhouse_server, "CREATE TABLE log (n Int32) ENGINE = MergeTree ORDER BY n", database="any_sql")
    source = opened(clickhouse, "sqlalchemy")
    try:
        run(clickhouse_server, "INSERT INTO log VALUES (1)", database="any_sql")
        (log,) = [table for table in source.tables() if table.name == "log"]
        before = source.change_token(log)
        assert before and before == source.change_token(log)
        run(clickhouse_server, "INSERT INTO log VALUES (2)", database="any_sql")
        assert source.change_token(log) != before
    finally:
        source.close()
        run(clickhouse_server, "DROP TABLE log", database="any_sql")


def test_clickhouse_refuses_a_wrong_password_without_telling_it(clickhouse):
    with pytest.raises(CosetError) as told:
        opened(clickhouse.replace(quote(PASSWORD, safe=""), "wrong-one"), "sqlalchemy", secrets=("wrong-one",)).tables()
    assert "wrong-one" not in str(told.value)


@pytest.fixture
def snowflake(monkeypatch):
    for package in ("fakesnow", "snowflake.sqlalchemy"):
        pytest.importorskip(package, reason=f"no stand-in for Snowflake: {package} is not installed")
    import fakesnow
    import sqlalchemy

    location = "snowflake://reader:secret@account/any_sql/public"
    with fakesnow.patch():
        engine = sqlalchemy.create_engine(location)
        with engine.connect() as connection:
            for text in statements("snowflake"):
                connection.exec_driver_sql(text.replace("%", "%%"))
            connection.commit()
        engine.dispose()
        yield location


@pytest.mark.filterwarnings("ignore")
def test_snowflake_gives_what_duckdb_gives_but_for_sums_that_the_stand_in_rounds(snowflake):
    """fakesnow hands sums of decimals over as binary numbers, which Snowflake does not: they are refused, not rounded."""
    with pytest.raises(SourceProblems) as told:
        check_source(lambda: opened(snowflake, "sqlalchemy"), secrets=["secret"], probes=1)
    assert all("function='sum', column='balance'" in problem for problem in told.value.problems)
    assert all("not of its type DECIMAL(38,2)" in problem for problem in told.value.problems)
    source = opened(snowflake, "sqlalchemy")
    found = rows_of(source)
    source.close()
    assert len(found["customers"]) == 6 and len(found["orders"]) == 300


@pytest.mark.filterwarnings("ignore")
def test_a_count_by_group_is_computed_by_snowflake(snowflake):
    source = opened(snowflake, "sqlalchemy")
    (orders,) = [table for table in source.tables() if table.name == "orders"]
    scan = Scan(group_by=("quantity",), aggregates=(Aggregate("count", None, "n"),))
    found = source.read(orders, scan).read_all().to_pydict()
    source.close()
    assert sorted(zip(found["quantity"], found["n"], strict=True)) == [(each, 60) for each in range(5)]
