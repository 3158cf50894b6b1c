"""Any database over SQLAlchemy: the same tables, rows and answers as by the native source, read-only, with clear errors."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("sqlalchemy", reason="the extra sqlalchemy is not installed")

from coset.environment.configuration import parse_environment
from coset.environment.locations import recognise
from coset.environment.scan import Aggregate, Comparison, Scan
from coset.environment.source import Limits, SourceSettings
from coset.environment.sources.any_sql import dialects, statements
from coset.environment.sources.any_sql.source import AnySQL
from coset.errors import CosetError, LimitReached, SourceUnreachable, UserError
from coset.session.query_session import QuerySession
from coset.testing import check_source
from environment.any_sql.shops import ORDERS, opened, rows_of

ENGINES = ("sqlite", "duckdb", "postgresql", "mysql")


@pytest.mark.parametrize("engine", ENGINES)
def test_both_ways_give_the_same_rows(shops, engine):
    shop = shops(engine)
    found = []
    for location, kind in ((shop.native, shop.kind), (shop.other, "sqlalchemy")):
        source = opened(location, kind)
        found.append(rows_of(source))
        source.close()  # DuckDB opens a file in one way at a time
    assert found[0] == found[1]
    assert len(found[1]["customers"]) == 6 and len(found[1]["orders"]) == 300


@pytest.mark.parametrize("engine", ENGINES)
def test_it_passes_the_kit(shops, engine):
    shop = shops(engine)
    report = check_source(
        lambda: opened(shop.other, "sqlalchemy"),
        faults={
            "a database that is not there": lambda: opened(shop.other + "_missing", "sqlalchemy"),
            "an unknown dialect": lambda: opened("nosuch://here/db", "sqlalchemy"),
        },
        secrets=[shop.secret],
    )
    assert report.tables == 2 and report.rows == 306 and report.limits == 1
    assert {"compare:number", "compare:text", "group:text", "aggregate:sum", "order", "limit"} <= report.pushed
    if engine in {"postgresql", "mysql", "duckdb"}:
        assert "compare:time" in report.pushed


def test_reflection_gives_keys_and_comments(shops):
    source = opened(shops("postgresql").other, "sqlalchemy")
    tables = {table.name: table for table in source.tables()}
    source.close()
    assert tables["orders"].primary_key == ("id",)
    assert [(key.columns, key.references_table, key.references_columns) for key in tables["orders"].foreign_keys] == [
        (("customer_id",), "customers", ("id",))
    ]
    assert tables["customers"].comment == "who buys"
    assert tables["orders"].column("label").comment == "what it says"


@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_can_be_written(shops, engine):
    """Neither past the gate for statements, nor past the engine's own switch behind it."""
    from sqlalchemy import text

    source = opened(shops(engine).other, "sqlalchemy")
    connection = source._connect()
    try:
        with pytest.raises(UserError, match="only reads"):
            connection.execute(text("DELETE FROM orders"))
        with pytest.raises(Exception, match=r"(?i)read.?only|readonly"):
            connection.connection.dbapi_connection.cursor().execute("DELETE FROM orders")
    finally:
        connection.invalidate()
        connection.close()
        source.close()


def test_a_change_is_known_where_the_engine_tells(shops, postgresql_server, mysql_server):
    for engine, change in (
        (
            "postgresql",
            lambda: postgresql_server.run(
                shops("postgresql").native, "CREATE TABLE IF NOT EXISTS log (n int); INSERT INTO log VALUES (1);"
            ),
        ),
        ("mysql", lambda: _mysql(mysql_server, "CREATE TABLE IF NOT EXISTS log (n int)", "INSERT INTO log VALUES (1)")),
    ):
        change()
        source = opened(shops(engine).other, "sqlalchemy")
        (log,) = [table for table in source.tables() if table.name == "log"]
        before = source.change_token(log)
        assert before and before == source.change_token(log)
        change()
        assert source.change_token(log) != before
        source.close()
    postgresql_server.run(shops("postgresql").native, "DROP TABLE log;")
    _mysql(mysql_server, "DROP TABLE log")


def _mysql(server, *texts: str) -> None:
    with server.as_administrator() as run:
        run("USE any_sql")
        for text in texts:
            run(text)


def test_a_statement_ends_with_its_time(shops):
    source = AnySQL(SourceSettings("shop", shops("sqlite").other, "sqlalchemy", limits=Limits(query_seconds=0.2)))
    slow = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000) SELECT max(i) FROM n"
    with pytest.raises(LimitReached, match="query_seconds"):
        source._ask(lambda connection: connection.exec_driver_sql(slow).all())
    source.close()


def test_a_wrong_password_is_one_sentence_without_it(shops):
    shop = shops("mysql")
    wrong = shop.other.replace(shop.secret, "s3cr3t-wrong")
    source = opened(wrong, "sqlalchemy", secrets=("s3cr3t-wrong",))
    with pytest.raises(SourceUnreachable, match="refused the user name or password") as caught:
        source.tables()
    assert "s3cr3t" not in str(caught.value) and "\n" not in str(caught.value)


def test_a_server_that_is_not_there_and_a_dialect_that_is_not_installed_are_told():
    with pytest.raises(SourceUnreachable, match="nothing answers at"):
        opened("postgresql+psycopg://reader@127.0.0.1:1/db", "sqlalchemy").tables()
    with pytest.raises(UserError, match="pip install sqlalchemy-exasol"):
        opened("exa+websocket://here/db", "sqlalchemy").tables()
    with pytest.raises(UserError, match="no SQLAlchemy dialect 'nosuch'"):
        opened("nosuch://here/db", "sqlalchemy").tables()


def test_a_large_table_is_asked_for_groups_and_an_answer_alone_travels(shops, tmp_path):
    text = f"sources:\n  shop:\n    location: '{shops('duckdb').other}'\n    kind: sqlalchemy\n    limits: {{snapshot_rows: 10}}\n"
    with QuerySession(parse_environment(text, tmp_path / "coset.yaml")) as session:
        asked = "SELECT label, sum(quantity), count(*) FROM shop.orders WHERE label < 'n3' GROUP BY 1 ORDER BY 1"
        result = session.sql(asked)
        assert [(use.reading, use.rows) for use in result.uses] == [("computed at the source", 3)]
        wanted = [
            (label, sum(row[3] for row in ORDERS if row[2] == label), sum(row[2] == label for row in ORDERS))
            for label in ("n0", "n1", "n2")
        ]
        assert result.rows() == wanted


def test_equal_text_narrows_what_travels_where_the_engine_compares_in_its_own_way(shops, tmp_path, monkeypatch):
    """An engine whose collation is not known is still asked for rows with that text; DuckDB sorts out the rest."""
    known = dialects.ENGINES["sqlite"]
    monkeypatch.setitem(dialects.ENGINES, "sqlite", replace(known, text=None, pushes=known.pushes - dialects.TEXT))
    text = f"sources:\n  shop:\n    location: '{shops('sqlite').other}'\n    kind: sqlalchemy\n    limits: {{snapshot_rows: 10}}\n"
    with QuerySession(parse_environment(text, tmp_path / "coset.yaml")) as session:
        result = session.sql("SELECT count(*) FROM shop.orders WHERE label = 'n3'")
        assert result.rows() == [(43,)]
        assert [(use.reading, use.rows) for use in result.uses] == [("fetched", 43)]


def test_a_copy_is_as_old_as_the_user_allows_and_says_so(shops, tmp_path, monkeypatch):
    monkeypatch.setattr(AnySQL, "change_token", lambda self, table: None)
    head = f"sources:\n  shop:\n    location: '{shops('sqlite').other}'\n    kind: sqlalchemy\n"
    for age, travelled in ((0, 6), (3600, 0)):
        text = head + f"    limits: {{age_seconds: {age}}}\n"
        with QuerySession(parse_environment(text, tmp_path / "coset.yaml")) as session:
            session.sql("SELECT count(*) FROM shop.customers")
            (use,) = session.sql("SELECT count(*) FROM shop.customers").uses
            assert use.rows == travelled and use.age is not None and use.age >= 0


@pytest.mark.parametrize(
    ("engine", "wanted"),
    [
        ("mssql", "SELECT TOP 3 [label] AS [label] FROM [dbo].[orders] WHERE [quantity] > 2"),
        ("oracle", 'SELECT "label" AS "label" FROM "dbo"."orders" WHERE "quantity" > 2 FETCH FIRST 3 ROWS ONLY'),
        ("snowflake", 'SELECT "label" AS "label" FROM "dbo"."orders" WHERE "quantity" > 2 LIMIT 3'),
        ("bigquery", "SELECT `label` AS `label` FROM `dbo`.`orders` WHERE `quantity` > 2 LIMIT 3"),
        ("trino", 'SELECT "label" AS "label" FROM "dbo"."orders" WHERE "quantity" > 2 LIMIT 3'),
        ("databricks", "SELECT `label` AS `label` FROM `dbo`.`orders` WHERE `quantity` > 2 LIMIT 3"),
    ],
)
def test_a_scan_is_written_in_the_dialect(shops, engine, wanted):
    source = opened(shops("sqlite").other, "sqlalchemy")
    (orders,) = [table for table in source.tables() if table.name == "orders"]
    source.close()
    scan = Scan(columns=("label",), where=Comparison("quantity", ">", 2), limit=3)
    assert statements.statement(orders, dialects.engine_named(engine), scan, schema="dbo").sql == wanted


def test_sums_do_not_overflow_where_an_engine_adds_up_in_the_columns_type(shops):
    source = opened(shops("sqlite").other, "sqlalchemy")
    (orders,) = [table for table in source.tables() if table.name == "orders"]
    source.close()
    scan = Scan(aggregates=(Aggregate("sum", "quantity", "total"),))
    sql = statements.statement(orders, dialects.engine_named("mssql"), scan).sql
    assert sql == "SELECT SUM(CAST([quantity] AS NUMERIC(38, 0))) AS [total] FROM [orders]"


@pytest.mark.parametrize(
    ("location", "kind"),
    [
        ("mssql+pymssql://sa@host/db", "sqlalchemy"), ("oracle+oracledb://u@host/db", "sqlalchemy"),
        ("trino://u@host:8080/hive", "sqlalchemy"), ("databricks://token@host", "sqlalchemy"),
        ("postgresql+psycopg://u@host/db", "sqlalchemy"), ("postgresql://u@host/db", "postgresql"),
        ("s3://bucket/data", "object_store"), ("https://host/data.csv", "object_store"), ("grpc+tls://host:31337", "adbc"),
        ("adbc+sqlite:///shop.db", "adbc"), ("delta+s3://bucket/table", "delta"), ("iceberg+https://host/catalog", "iceberg"),
    ],
)  # fmt: skip
def test_a_location_says_its_kind(tmp_path, location, kind):
    assert recognise(location, tmp_path).kind == kind


def test_a_secret_in_the_options_is_refused(tmp_path):
    text = "sources:\n  lake: {location: 's3://b/x', options: {secret_access_key: plain}}\n"
    with pytest.raises(CosetError, match="is a secret"):
        parse_environment(text, tmp_path / "coset.yaml")
