"""A database of one's own for each test of MongoDB; every command that its sources send is held against those that read."""

from __future__ import annotations

import pymongo
import pymongo.monitoring
import pytest

from coset.environment.source import Limits, SourceSettings
from coset.environment.sources.mongodb.server import MongoDB
from environment.mongodb.mongodb_collections import COMMANDS, READING


@pytest.fixture(scope="session")
def unheard_client(mongodb_url):
    """The tests' own client, made before commands are listened to: only those of sources are recorded."""
    with pymongo.MongoClient(mongodb_url) as client:
        client.admin.command("ping")
        pymongo.monitoring.register(COMMANDS)
        yield client


@pytest.fixture(scope="module")
def writer(unheard_client):
    COMMANDS.recording = True
    yield unheard_client
    COMMANDS.recording = False


@pytest.fixture(autouse=True)
def only_reading_commands(writer):
    yield
    assert COMMANDS.names <= READING


@pytest.fixture
def database(writer, request):
    name = f"t{abs(hash(request.node.name)) % 10**12}"
    yield writer[name]
    writer.drop_database(name)


@pytest.fixture
def source_of(mongodb_url):
    opened = []

    def open_source(database, **limits):
        url = mongodb_url + (database.name if database is not None else "")
        opened.append(MongoDB(SourceSettings(name="shop", location=url, kind="mongodb", limits=Limits(**limits))))
        return opened[-1]

    yield open_source
    for source in opened:
        source.close()
