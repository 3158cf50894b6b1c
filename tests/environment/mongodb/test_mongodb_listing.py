"""MongoDB live: what is listed, of large collections too."""

from __future__ import annotations

import datetime
import json
import math
from decimal import Decimal

import pyarrow as pa
import pymongo
import pymongo.monitoring
import pytest
from bson import Decimal128, Int64, Timestamp

from coset.environment.scan import Aggregate, All, Among, Comparison, Null, Order, Scan
from coset.environment.sources.mongodb.server import MongoDB
from coset.errors import SourceUnreachable, TableVanished
from environment.mongodb.mongodb_collections import COMMANDS, READING, check_all, only_table, rows_of


def test_the_commands_that_sources_send_are_recorded(database, source_of):
    database.c.insert_one({"a": 1})
    source = source_of(database)
    source.read(only_table(source)).read_all()
    assert {"aggregate", "listCollections", "hello"} <= COMMANDS.names <= READING
    pymongo.MongoClient(source.settings.location)[database.name].c.insert_one({"a": 1})
    assert "insert" in COMMANDS.names
    COMMANDS.names.discard("insert")


def test_collections_views_and_time_series_are_listed_with_rows_types_and_comments(database, source_of):
    described = {
        "bsonType": "object",
        "title": "Orders",
        "properties": {"total": {"bsonType": "double", "description": "in euro"}},
    }
    database.create_collection("orders", validator={"$jsonSchema": described})
    database.orders.insert_many([{"total": 1.5, "lines": [{"sku": "a", "n": 1}]}, {"total": 2.0}])
    database.create_collection("big orders", viewOn="orders", pipeline=[{"$match": {"total": {"$gt": 1.7}}}])
    database.create_collection("measured", timeseries={"timeField": "at", "metaField": "m"})
    database.measured.insert_one({"at": datetime.datetime(2024, 1, 1), "m": 1, "v": 2.5})
    database.create_collection("last", capped=True, size=4096)
    tables = {table.name: table for table in source_of(database).tables()}
    assert list(tables) == ["big orders", "last", "measured", "orders"]
    orders = tables["orders"]
    assert [(column.name, column.type) for column in orders.columns] == [
        ("_id", "VARCHAR"), ("total", "DOUBLE"), ("lines", 'STRUCT("sku" VARCHAR, "n" BIGINT)[]'),
    ]  # fmt: skip
    assert (orders.kind, orders.rows, orders.rows_exact, orders.primary_key, orders.comment) == (
        "collection",
        2,
        True,
        ("_id",),
        "Orders",
    )
    assert orders.column("total").comment == "in euro"
    assert orders.bytes
    assert (tables["big orders"].kind, tables["big orders"].rows, tables["big orders"].primary_key) == ("view", 1, ())
    assert (tables["measured"].rows, tables["measured"].column("v").type) == (1, "DOUBLE")
    assert [column.name for column in tables["last"].columns] == ["_id"]
    source = source_of(database)
    assert [row["v"] for row in rows_of(source, tables["measured"])] == [2.5]
    assert [row["total"] for row in rows_of(source, tables["big orders"])] == [2.0]
    assert rows_of(source, tables["last"]) == []


def test_without_a_database_in_the_url_every_database_is_a_schema(database, source_of):
    database.one.insert_one({"a": 1})
    source = source_of(None)
    tables = [table for table in source.tables() if table.schema == database.name]
    assert [table.qualified_name for table in tables] == [f"{database.name}.one"]
    assert {table.schema for table in source.tables()}.isdisjoint({"admin", "config", "local"})
    assert [row["a"] for row in rows_of(source, tables[0])] == [1]
    assert source.change_token(tables[0]) is not None


def test_names_of_any_kind_are_listed_and_read(database, source_of):
    names = ["order", "Order", "a b", "CARR#", 'q"q', "größe", "x.y", "-"]
    for number, name in enumerate(names):
        database[name].insert_one({"n": number})
    source = source_of(database)
    tables = source.tables()
    assert len({table.name.lower() for table in tables}) == len(names)
    assert {table.native_name: rows_of(source, table)[0]["n"] for table in tables} == {
        name: n for n, name in enumerate(names)
    }


def test_fields_with_odd_names_are_filtered_sorted_and_read(database, source_of):
    database.odd.insert_many([{"_id": n, "a.b": n, "": str(n), "order": -n, "A.B": n % 2} for n in range(5)])
    database.command(
        "update",
        "odd",
        updates=[
            {
                "q": {},
                "u": [
                    {"$replaceWith": {"$setField": {"field": {"$literal": "$d"}, "input": "$$ROOT", "value": "$_id"}}}
                ],
                "multi": True,
            }
        ],
    )
    source = source_of(database)
    table = only_table(source)
    assert [column.name for column in table.columns] == ["_id", "a.b", "column", "order", "A.B_1", "$d"]
    scan = Scan(
        ("column", "$d"),
        where=All((Comparison("a.b", ">", 1), Comparison("A.B_1", "=", 0))),
        order=(Order("$d", descending=True),),
    )
    assert rows_of(source, table, scan) == [{"column": "4", "$d": 4}, {"column": "2", "$d": 2}]


def test_an_empty_database_has_no_tables(database, source_of):
    assert source_of(database).tables() == []


def test_a_view_that_fails_does_not_hide_the_others(database, source_of):
    database.good.insert_one({"a": "x"})
    database.create_collection(
        "bad", viewOn="good", pipeline=[{"$project": {"b": {"$divide": [1, {"$strLenCP": "$nothing"}]}}}]
    )
    source = source_of(database)
    bad, good = source.tables()
    assert good.rows == 1
    assert "cannot be read" in bad.comment
    with pytest.raises(SourceUnreachable, match="bad"):
        source.read(bad).read_all()


def test_listing_again_reads_no_unchanged_collection_again(database, source_of, monkeypatch):
    database.a.insert_one({"x": 1})
    database.b.insert_one({"x": 1})
    source = source_of(database)
    before = source.tables()
    read, documents = [], MongoDB._documents
    monkeypatch.setattr(
        MongoDB,
        "_documents",
        lambda self, database, native, pipeline: read.append(native) or documents(self, database, native, pipeline),
    )
    assert source.tables() == before
    assert read == []
    database.b.insert_one({"x": 1, "y": 2})
    assert [column.name for column in source.tables()[1].columns] == ["_id", "x", "y"]
    assert read == ["b"]


def test_a_large_collection_is_sampled_and_nothing_outside_the_sample_is_lost(database, source_of):
    database.large.insert_many([{"_id": n, "a": n, "t": datetime.datetime(2024, 1, 1), "f": 0.5} for n in range(300)])
    source = source_of(database, snapshot_rows=100, sample_rows=5)
    table = only_table(source)
    assert [column.name for column in table.columns] == ["_id", "a", "t", "f", "_rest"]
    assert (table.rows, table.rows_exact) == (300, False)
    database.large.update_one({"_id": 7}, {"$set": {"a": "text", "new": [1]}})
    database.large.update_one({"_id": 8}, {"$set": {"f": Int64(2**60)}})
    database.large.update_one({"_id": 9}, {"$set": {"a": [1, 10**6], "f": math.nan}})
    odd = {row["_id"]: (row["a"], json.loads(row["_rest"])) for row in rows_of(source, table) if row["_rest"]}
    assert odd == {7: (None, {"new": [1], "a": "text"}), 8: (8, {"f": 2**60}), 9: (None, {"a": [1, 10**6]})}
    # What is pushed must see the same NULLs as the column shows.
    check_all(source, table, [
        Scan(("_id",), where=Null("a")), Scan(("_id",), where=Null("f")), Scan(("_id",), where=Comparison("a", ">", 290)),
        Scan(("_id",), where=Comparison("f", ">", 1)), Scan(("_rest", "_id"), where=Among("_id", (7, 8))),
        Scan(aggregates=(Aggregate("count", "a", "n"), Aggregate("sum", "a", "s"), Aggregate("max", "a", "m"))),
    ])  # fmt: skip
    assert source.pushes_for(table, "_rest") == {"columns", "limit"}
    assert "compare:number" in source.pushes_for(table, "a")


def test_a_collection_that_changed_shape_asks_for_a_refresh(database, source_of):
    database.c.insert_one({"_id": 1, "a": 1})
    source = source_of(database)
    table = only_table(source)
    database.c.insert_one({"_id": 2, "a": "text"})
    with pytest.raises(TableVanished, match=r"'c'.*a holds a value of type string.*refresh"):
        source.read(table).read_all()
    database.c.replace_one({"_id": 2}, {"a": 2, "b": 3})
    with pytest.raises(TableVanished, match="refresh"):
        source.read(table).read_all()
    assert [row["a"] for row in rows_of(source, table, Scan(("a",)))] == [1, 2]


def test_values_of_every_bson_type_come_through(database, source_of):
    database.all.insert_one(
        {"_id": 1, "ts": Timestamp(7, 2), "s": {"deep": [{"x": Decimal128("1.5")}]}, "b": b"\x00\x01"}
    )
    source = source_of(database)
    assert rows_of(source, only_table(source)) == [
        {"_id": 1, "ts": '{"$timestamp":{"t":7,"i":2}}', "s": {"deep": [{"x": Decimal("1.5")}]}, "b": b"\x00\x01"}
    ]
    assert isinstance(source.read(only_table(source)), pa.RecordBatchReader)
