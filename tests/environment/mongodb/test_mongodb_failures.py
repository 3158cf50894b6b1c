"""MongoDB live: change is noticed, and what goes wrong is told in one plain sentence."""

from __future__ import annotations

import socket

import pymongo
import pymongo.monitoring
import pytest

from coset.environment.source import Limits, SourceSettings
from coset.environment.sources.mongodb.server import MongoDB
from coset.errors import LimitReached, SourceUnreachable, TableVanished
from engines.mongodb import running_mongod
from environment.mongodb.mongodb_collections import COMMANDS, only_table, rows_of


def test_the_token_changes_with_every_write_and_only_then(database, source_of):
    database.c.insert_many([{"_id": n, "a": n} for n in range(10)])
    database.create_collection("v", viewOn="c", pipeline=[])
    source = source_of(database)
    table, view = source.tables()
    assert source.change_token(view) is None

    def after(action):
        before = source.change_token(table)
        action()
        return before != source.change_token(table)

    assert not after(lambda: source.read(table).read_all())
    assert not after(lambda: source.tables())
    assert after(lambda: database.c.insert_one({"_id": 99, "a": 1}))
    assert after(lambda: database.c.update_one({"_id": 1}, {"$set": {"a": 77}}))
    assert after(lambda: database.c.update_one({"_id": 1}, {"$set": {"b": 1}}))
    assert after(lambda: database.c.delete_one({"_id": 2}))
    assert after(lambda: database.c.replace_one({"_id": 3}, {"a": 4}))
    assert after(lambda: (database.c.drop(), database.c.insert_many([{"_id": n, "a": n} for n in range(10)])))
    assert after(lambda: database.c.delete_many({}))


def test_a_reader_stays_open_while_the_token_is_asked_for(database, source_of):
    database.c.insert_many([{"_id": n, "text": "x" * 200} for n in range(45_000)])
    source = source_of(database)
    table = only_table(source)
    reader = source.read(table)
    first = reader.read_next_batch()
    assert 0 < first.num_rows <= 20_000
    source.change_token(table)
    assert first.num_rows + reader.read_all().num_rows == 45_000
    half_read = source.read(table)
    half_read.read_next_batch()
    source.close()
    source.close()
    with pytest.raises(SourceUnreachable):
        half_read.read_all()


def test_a_dropped_collection_has_vanished(database, source_of):
    database.c.insert_one({"a": 1})
    source = source_of(database)
    table = only_table(source)
    database.c.drop()
    with pytest.raises(TableVanished, match=r"'c' of source 'shop'"):
        source.read(table)
    with pytest.raises(TableVanished):
        source.change_token(table)


def test_a_closed_port_is_one_plain_sentence():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    url = f"mongodb://someone:geheim@127.0.0.1:{port}/db"
    source = MongoDB(
        SourceSettings(
            name="shop", location=url, kind="mongodb", limits=Limits(connect_seconds=0.3), secrets=("geheim",)
        )
    )
    with pytest.raises(SourceUnreachable) as raised:
        source.tables()
    assert (
        str(raised.value) == f"source 'shop': no MongoDB server can be reached at 127.0.0.1:{port}: connection refused"
    )
    source.close()


@pytest.mark.parametrize(
    "url",
    [
        "mongodb://user:p@ss:geheim@host/db",
        "mongodb://user:geheim[@host/db",
        "mongodb://",
        "mongodb://h:geheim/db",
        "nonsense",
    ],
)
def test_a_broken_url_is_told_without_its_password(url):
    source = MongoDB(SourceSettings(name="shop", location=url, kind="mongodb", limits=Limits(connect_seconds=0.3)))
    with pytest.raises(SourceUnreachable) as raised:
        source.tables()
    assert "geheim" not in str(raised.value)


def test_a_statement_that_takes_too_long_is_ended_by_the_server(database, source_of):
    database.c.insert_many([{"_id": n} for n in range(100)])
    slow = {"$function": {"body": "function(x) { sleep(10); return x; }", "args": ["$_id"], "lang": "js"}}
    table = only_table(source_of(database))
    database.command("create", "slow", viewOn="c", pipeline=[{"$set": {"x": slow}}])
    source = source_of(database, query_seconds=0.3)
    listed = {one.name: one for one in source.tables()}
    assert "time limit" in listed["slow"].comment
    with pytest.raises(LimitReached, match="query_seconds"):
        source.read(listed["slow"]).read_all()
    assert len(rows_of(source, table)) == 100


def test_users_may_only_see_what_they_may_read_and_wrong_passwords_are_told(tmp_path):
    with running_mongod(tmp_path, "--auth") as address:
        COMMANDS.recording = False
        try:
            with pymongo.MongoClient(f"mongodb://{address}/") as admin:
                admin.admin.command("createUser", "root", pwd="r", roles=["root"])
            with pymongo.MongoClient(f"mongodb://root:r@{address}/") as admin:
                admin.db.c.insert_one({"a": 1})
                admin.db.secret.insert_one({"a": 1})
                admin.other.c.insert_one({"a": 1})
                admin.db.command("createUser", "reader", pwd="geheim", roles=["read"])
                one = [{"resource": {"db": "db", "collection": "c"}, "actions": ["find"]}]
                admin.db.command("createRole", "one", privileges=one, roles=[])
                admin.db.command("createUser", "narrow", pwd="n", roles=["one"])
        finally:
            COMMANDS.recording = True

        def source(user, password, database="/db"):
            url = f"mongodb://{user}:{password}@{address}{database}?authSource=db"
            return MongoDB(SourceSettings(name="shop", location=url, kind="mongodb", secrets=(password,)))

        for user in ("reader", "nobody"):
            with pytest.raises(SourceUnreachable, match="refused the user or password") as raised:
                source(user, "wrong-geheim").tables()
            assert "geheim" not in str(raised.value)
        reader = source("reader", "geheim")
        table, _ = reader.tables()
        assert (table.name, table.rows) == ("c", 1)
        assert reader.change_token(table)
        assert len(rows_of(reader, table)) == 1
        assert [one.schema for one in source("reader", "geheim", "/").tables()] == ["db", "db"]
        narrow = source("narrow", "n")
        (seen,) = narrow.tables()
        assert [column.name for column in seen.columns] == ["_id", "a"]
        assert narrow.change_token(seen) is None
        assert len(rows_of(narrow, seen)) == 1
        with pytest.raises(SourceUnreachable, match="not allowed"):
            source("reader", "geheim", "/other").tables()
