"""A database of one's own for each test of MySQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest

from engines.mysql import MySQLServer
from environment.mysql.mysql_databases import Database


@pytest.fixture
def database(mysql_server: MySQLServer) -> Iterator[Database]:
    with closing(Database(mysql_server)) as database:
        yield database
