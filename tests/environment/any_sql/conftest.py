"""The shop in each engine that runs here."""

from __future__ import annotations

import sqlite3
from urllib.parse import quote

import duckdb
import pytest

from engines.mysql import PASSWORD
from environment.any_sql.shops import Shop, statements


@pytest.fixture(scope="session")
def shops(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    """A function that gives the shop of an engine, made when it is first asked for."""
    made: dict[str, Shop] = {}

    def make(engine: str) -> Shop:
        if engine not in made:
            made[engine] = globals()[f"_{engine}"](request, tmp_path_factory.mktemp(engine))
        return made[engine]

    return make


def _sqlite(request, folder) -> Shop:
    path = folder / "shop.db"
    with sqlite3.connect(path) as connection:
        for text in statements("sqlite"):
            connection.execute(text)
    return Shop("sqlite", str(path), f"sqlite:///{path}")


def _duckdb(request, folder) -> Shop:
    pytest.importorskip("duckdb_engine")
    path = folder / "shop.duckdb"
    with duckdb.connect(path) as connection:
        for text in statements("duckdb"):
            connection.execute(text)
    return Shop("duckdb", str(path), f"duckdb:///{path}")


def _postgresql(request, folder) -> Shop:
    pytest.importorskip("psycopg")
    server = request.getfixturevalue("postgresql_server")
    url = server.create_database("any_sql")
    server.run(
        url,
        ";\n".join(
            [
                *statements("postgresql"),
                "COMMENT ON TABLE customers IS 'who buys'",
                "COMMENT ON COLUMN orders.label IS 'what it says'",
            ]
        )
        + ";",
    )
    return Shop("postgresql", url, url.replace("postgresql://", "postgresql+psycopg://", 1))


def _mysql(request, folder) -> Shop:
    import pymysql

    server = request.getfixturevalue("mysql_server")
    url = server.create_database("any_sql")
    with (
        pymysql.connect(
            user="root", unix_socket=str(server.socket), database="any_sql", charset="utf8mb4", autocommit=True
        ) as connection,
        connection.cursor() as cursor,
    ):
        for text in statements("mysql"):
            cursor.execute(text)
    return Shop("mysql", url, url.replace("mysql://", "mysql+pymysql://", 1), quote(PASSWORD, safe=""))
