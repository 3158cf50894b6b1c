"""A throw-away PostgreSQL for benchmarks: the one that the tests start."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from engines.postgresql import running_postgresql


@contextmanager
def postgresql() -> Iterator[str]:
    """The URL of an empty database on a server of our own."""
    with running_postgresql() as server:
        yield server.create_database("benchmark")


def execute(url: str, *statements: str) -> None:
    import adbc_driver_postgresql.dbapi as adbc

    with adbc.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
