"""Databases of a real MySQL or MariaDB server for tests, and what a source gives of them."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable

import duckdb
import sqlglot.expressions as sge

from coset.environment.scan import EVERYTHING, Scan, family, needed_operations, scan_to_sql
from coset.environment.source import Limits, SourceSettings, Table
from coset.environment.sources import open_source
from coset.environment.sources.mysql.source import MySQL
from engines.mysql import PASSWORD, MySQLServer

numbers = itertools.count(1)


def settings(url: str, **limits: float) -> SourceSettings:
    return SourceSettings(name="shop", location=url, kind="mysql", limits=Limits(**limits), secrets=(PASSWORD,))


class Database:
    """A fresh database: its URL, statements as its owner, and sources on it that are closed at the end."""

    def __init__(self, server: MySQLServer) -> None:
        import pymysql

        self.server = server
        self.name = f"db_{next(numbers)}"
        self.url = server.create_database(self.name)
        self.connection = pymysql.connect(
            user="root", unix_socket=str(server.socket), database=self.name, autocommit=True, charset="utf8mb4"
        )
        self.sources: list[MySQL] = []

    def run(self, statement: str, *arguments: object) -> list[tuple[object, ...]]:
        with self.connection.cursor() as cursor:
            cursor.execute(statement, arguments or None)
            return list(cursor.fetchall())

    def source(self, url: str | None = None, **limits: float) -> MySQL:
        source = open_source(settings(url or self.url, **limits))
        assert isinstance(source, MySQL)
        self.sources.append(source)
        return source

    def close(self) -> None:
        for source in self.sources:
            source.close()
        self.connection.close()


def table_of(source: MySQL, name: str) -> Table:
    return next(table for table in source.tables() if table.name == name)


def rows_of(source: MySQL, table: Table, scan: Scan = EVERYTHING) -> list[tuple[object, ...]]:
    read = source.read(table, scan).read_all()
    return list(zip(*(column.to_pylist() for column in read.columns), strict=True))


def in_duckdb(source: MySQL, table: Table) -> duckdb.DuckDBPyConnection:
    session = duckdb.connect(config={"threads": 1})
    session.register("read", source.read(table).read_all())
    columns = ", ".join(f'CAST("{column.name}" AS {column.type}) AS "{column.name}"' for column in table.columns)
    session.sql(f"CREATE TABLE here AS SELECT {columns} FROM read")
    return session


def same_as_duckdb(source: MySQL, table: Table, scan: Scan, session: duckdb.DuckDBPyConnection | None = None) -> None:
    """The source's own answer equals DuckDB's over all rows, in order where the scan names one."""
    assert needed_operations(scan, lambda name: family(table.column(name).type)) <= MySQL.pushes
    session = session or in_duckdb(source, table)
    sql = scan_to_sql(
        scan,
        sge.to_table("here"),
        "duckdb",
        lambda name: sge.column(name, quoted=True),
        all_columns=tuple(column.name for column in table.columns),
    )
    for endless in ("inf", "nan"):
        sql = sql.replace(f" {endless}", f" CAST('{endless}' AS DOUBLE)").replace(
            f"-{endless}", f"CAST('-{endless}' AS DOUBLE)"
        )
    expected = session.execute(sql).fetchall()
    kinds = {name: str(kind).replace("HUGEINT", "DECIMAL(38,0)") for name, kind, *_ in session.description}
    given = source.read(table, scan).read_all()
    assert given.column_names == list(kinds)
    if list(kinds) == ["id"]:
        answer = [(number,) for number in given["id"].to_pylist()]
    else:
        session.register("given", given)
        casts = ", ".join(f'CAST("{name}" AS {kind})' for name, kind in kinds.items())
        answer = session.execute(f"SELECT {casts} FROM given").fetchall()
    if not scan.order:
        expected, answer = sorted(expected, key=repr), sorted(answer, key=repr)
    assert answer == expected, (scan, sql)


def many_rows(database: Database, count: int) -> None:
    database.run("CREATE TABLE many (id INT PRIMARY KEY, name VARCHAR(20))")
    digits = "(" + " UNION ALL ".join(f"SELECT {digit} AS i" for digit in range(10)) + ")"
    database.run(
        "INSERT INTO many SELECT n, CONCAT('name ', n) FROM (SELECT a.i + 10 * b.i + 100 * c.i + 1000 * d.i + 10000 * e.i AS n "
        f"FROM {digits} a, {digits} b, {digits} c, {digits} d, {digits} e) AS numbers WHERE n < {count}"
    )


def connections(database: Database, command: str | None = None) -> list[object]:
    rows = database.run(
        "SELECT ID, COMMAND FROM information_schema.PROCESSLIST WHERE DB = %s AND USER <> 'root'", database.name
    )
    return [number for number, doing in rows if command in {None, doing}]


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.1)
