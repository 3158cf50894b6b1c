"""A database of one's own for each test of PostgreSQL, and sources on it."""

from __future__ import annotations

import pytest

from coset.environment.source import Limits, SourceSettings
from coset.environment.sources import open_source
from coset.environment.sources.postgresql.source import PostgreSQL


@pytest.fixture
def database(postgresql_server, create_database, request):
    """A function that runs a script in a database of this test's own; `.url` is its URL."""
    url = create_database(request.node.originalname[:50])

    def run(script: str) -> str:
        return postgresql_server.run(url, script)

    run.url = url
    return run


@pytest.fixture
def opened(database):
    sources = []

    def make(url: str | None = None, **limits) -> PostgreSQL:
        settings = SourceSettings(name="shop", location=url or database.url, kind="postgresql", limits=Limits(**limits))
        sources.append(open_source(settings))
        return sources[-1]

    yield make
    for source in sources:
        source.close()
