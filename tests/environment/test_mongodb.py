"""MongoDB live, against a real server: what is listed, that what is pushed means what DuckDB means, that nothing writes."""

from __future__ import annotations

import datetime
import json
import math
import socket
from collections import Counter
from decimal import Decimal

import duckdb
import pyarrow as pa
import pymongo
import pymongo.monitoring
import pytest
import sqlglot.expressions as sge
from bson import Decimal128, Int64, ObjectId, Timestamp

from coset.environment.scan import (
    EVERYTHING,
    Aggregate,
    All,
    Among,
    Any,
    Comparison,
    Null,
    Order,
    Scan,
    family,
    needed_operations,
    scan_to_sql,
)
from coset.environment.source import Limits, SourceSettings
from coset.environment.sources.mongodb.server import MongoDB
from coset.errors import LimitReached, SourceUnreachable, TableVanished
from engines.mongodb import running_mongod

READING = {
    "aggregate",
    "find",
    "getMore",
    "killCursors",
    "listCollections",
    "listDatabases",
    "hello",
    "endSessions",
    "saslStart",
    "saslContinue",
}


class Commands(pymongo.monitoring.CommandListener):
    """Keeps the name of every command that a client sends while it records."""

    def __init__(self) -> None:
        self.recording, self.names = True, set()

    def started(self, event):
        if self.recording:
            self.names.add(event.command_name)

    def succeeded(self, event):
        pass

    def failed(self, event):
        pass


COMMANDS = Commands()


@pytest.fixture(scope="module")
def writer(mongodb_url):
    """The tests' own client, made before commands are listened to: only those of sources are recorded."""
    with pymongo.MongoClient(mongodb_url) as client:
        client.admin.command("ping")
        pymongo.monitoring.register(COMMANDS)
        yield client
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


def rows_of(source, table, scan=EVERYTHING):
    return source.read(table, scan).read_all().to_pylist()


def only_table(source):
    (table,) = source.tables()
    return table


def test_the_commands_that_sources_send_are_recorded(database, source_of):
    database.c.insert_one({"a": 1})
    source = source_of(database)
    source.read(only_table(source)).read_all()
    assert {"aggregate", "listCollections", "hello"} <= COMMANDS.names <= READING
    pymongo.MongoClient(source.settings.location)[database.name].c.insert_one({"a": 1})
    assert "insert" in COMMANDS.names
    COMMANDS.names.discard("insert")


# --- what is listed


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


# --- large collections


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


# --- what is pushed

TEXTS = ["b", "B", "a", "ä", "Ä", "z", "", " ", "a ", "straße", "STRASSE", "a\x00b", "😀", "10", "9", None]
NUMBERS = [0, 1, -1, 5, 5, -(2**63), 2**63 - 1, 2**62, 2**53 + 1, None]
DOUBLES = [0.0, -0.0, 1.5, -1.5, math.nan, math.inf, -math.inf, 1e300, 3, Int64(4), 0.1, None]
DECIMALS = ["0.00", "1.50", "-1.50", "10", "123456789012.34", "-0.01", None]
TIMES = [
    datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 1, 12, 30, 15, 123000), datetime.datetime(1900, 2, 28),
    datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999000), None,
]  # fmt: skip
IDS = [ObjectId("0" * 24), ObjectId("f" * 24), ObjectId("65a000000000000000000000")]


@pytest.fixture(scope="module")
def mixed(writer, mongodb_url):
    """A collection with every kind of awkward value, its source, and its table."""
    database = writer.awkward
    # A collation of the collection's own must change nothing.
    database.create_collection("things", collation={"locale": "de", "strength": 1})
    documents = []
    for number in range(120):
        document = {
            "_id": number, "text": TEXTS[number % len(TEXTS)], "n": NUMBERS[number % len(NUMBERS)], "d": DOUBLES[number % len(DOUBLES)],
            "dec": DECIMALS[number % len(DECIMALS)] and Decimal128(DECIMALS[number % len(DECIMALS)]), "at": TIMES[number % len(TIMES)],
            "ok": [True, False, None][number % 3], "oid": IDS[number % len(IDS)], "either": [IDS[0], str(IDS[0]), "x", None][number % 4],
            "small": number % 4, "nested": {"a": number} if number % 2 else None, "any": ["x", 1, None][number % 3],
        }  # fmt: skip
        documents.append({key: value for key, value in document.items() if value is not None or number % 2})
    for document in documents:
        if isinstance(document.get("n"), int):
            document["n"] = Int64(document["n"])
    database.things.insert_many(documents)
    database.things.create_index("text")
    database.things.create_index("d")
    source = MongoDB(SourceSettings(name="awkward", location=mongodb_url + "awkward", kind="mongodb"))
    yield source, only_table(source)
    source.close()
    writer.drop_database("awkward")


def shown(value):
    """Equal for values that SQL takes as equal, also for NaN and the two zeros."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return str(value) if isinstance(value, dict | list) else value


_references = {}


def reference(source, table):
    """The whole table, as a DuckDB that holds it would have it."""
    key = (source.settings.location, source.change_token(table))
    if key not in _references:
        _references.clear()
        _references[key] = copied(source, table)
    return _references[key]


def copied(source, table):
    data = source.read(table).read_all()  # noqa: F841
    connection = duckdb.connect()
    casts = ", ".join(f'CAST("{column.name}" AS {column.type}) AS "{column.name}"' for column in table.columns)
    connection.execute(f"CREATE TABLE reference AS SELECT {casts} FROM data")
    return connection


def check_all(source, table, scans):
    connection = reference(source, table)
    for scan in scans:
        assert needed_operations(scan, lambda name: family(table.column(name).type)) <= MongoDB.pushes, scan
        sql = scan_to_sql(
            scan,
            sge.to_table("reference"),
            "duckdb",
            lambda name: sge.column(name, quoted=True),
            all_columns=tuple(c.name for c in table.columns),
        )
        wanted = [tuple(shown(value) for value in row) for row in connection.execute(sql).fetchall()]
        read = source.read(table, scan).read_all()
        outputs = (
            (*scan.group_by, *(item.alias for item in scan.aggregates))
            if scan.is_aggregate
            else (scan.columns or tuple(c.name for c in table.columns))
        )
        assert tuple(read.column_names) == outputs
        types = {
            description[0]: str(description[1]) for description in connection.execute(f"DESCRIBE {sql}").fetchall()
        }
        casts = ", ".join(f'CAST("{name}" AS {types[name]})' for name in outputs)
        got = [
            tuple(shown(value) for value in row) for row in connection.execute(f"SELECT {casts} FROM read").fetchall()
        ]
        rounded = {
            item.alias
            for item in scan.aggregates
            if item.function in {"sum", "avg"} and table.column(item.column).type == "DOUBLE"
        }
        for number, name in enumerate(outputs):
            if name in rounded:
                wanted, got = (
                    [
                        (
                            *row[:number],
                            row[number] if row[number] is None else f"{float(row[number]):.12g}",
                            *row[number + 1 :],
                        )
                        for row in some
                    ]
                    for some in (wanted, got)
                )
        if scan.order:
            assert got == wanted, (scan, sql)
        else:
            assert Counter(got) == Counter(wanted), (scan, sql)


LITERALS = {
    "text": ["a", "A", "ä", "", "a ", "straße", "a\x00b", "zz"],
    "n": [0, 1, -1, 5, 2**53, 2**53 + 1, 2**62 + 1, -(2**63), 2**63, 10**30, Decimal("0.5"), 1.5, 1e300],
    "d": [0, 1.5, -1.5, 1e300, 3, 4, Decimal("0.1"), 10**17],
    "dec": [0, Decimal("1.5"), Decimal("1.50"), Decimal("-1.505"), 10, 1.5, Decimal("123456789012.34")],
    "at": [
        datetime.datetime(2024, 1, 1), datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1, 12, 30, 15, 123000),
        datetime.datetime(2024, 1, 1, 12, 30, 15, 123456), datetime.datetime(2024, 1, 1, 12, 30, 15, 122999), datetime.datetime(1, 1, 1),
    ],
    "ok": [True, False],
    "oid": ["0" * 24, "F" * 24, "f" * 24, "abc", "65a", ""],
    "either": ["0" * 24, "x", "y"],
}  # fmt: skip


@pytest.mark.parametrize("column", LITERALS)
def test_comparisons_mean_what_they_mean_in_duckdb(mixed, column):
    source, table = mixed
    scans = [
        Scan(("_id", column), where=Comparison(column, operator, value))
        for operator in ("=", "<>", "<", "<=", ">", ">=")
        for value in LITERALS[column]
    ]
    scans += [
        Scan(("_id",), where=Among(column, tuple(LITERALS[column][:3]))),
        Scan(("_id",), where=Null(column)),
        Scan(("_id",), where=Null(column, negated=True)),
    ]
    check_all(source, table, scans)


def test_conditions_combine_and_null_is_known_for_every_column(mixed):
    source, table = mixed
    either = Any((Comparison("text", "=", "a"), All((Comparison("n", ">", 0), Null("d", negated=True)))))
    scans = [
        Scan(where=either),
        Scan(("_id",), where=All((either, Comparison("small", "<>", 1)))),
        Scan(("text",), where=Any((Comparison("ok", "=", True), Null("at")))),
    ]
    scans += [Scan(("_id",), where=Null(column.name, negated)) for column in table.columns for negated in (True, False)]
    check_all(source, table, scans)


@pytest.mark.parametrize("column", [*LITERALS, "small"])
def test_order_and_limit_are_duckdbs(mixed, column):
    source, table = mixed
    scans = [
        Scan((column, "_id"), order=(Order(column, descending, nulls_first), Order("_id")), limit=limit)
        for descending in (True, False)
        for nulls_first in (True, False)
        for limit in (None, 30)
    ]
    check_all(source, table, scans)
    assert source.read(table, Scan(limit=7)).read_all().num_rows == 7
    assert source.read(table, Scan(limit=0)).read_all().num_rows == 0


def aggregates_over(table, column):
    functions = ["count", "count_distinct", "min", "max"] + (
        ["sum", "avg"] if family(table.column(column).type) == "number" else []
    )
    return tuple(Aggregate(function, column, function) for function in functions)


@pytest.mark.parametrize("column", LITERALS)
def test_aggregates_are_duckdbs(mixed, column):
    source, table = mixed
    some = aggregates_over(table, column)
    finite = (
        tuple(Comparison(column, operator, bound) for operator, bound in ((">", -1e10), ("<", 1e10)))
        if column == "d"
        else (Null("_id", negated=True),)
    )
    rows = (Aggregate("count", None, "rows"),)
    check_all(source, table, [
        Scan(aggregates=rows + some, where=All(finite)),
        Scan(aggregates=rows + some, group_by=("small",), where=All(finite)),
        Scan(aggregates=rows + some, group_by=("ok", "either"), where=All(finite)),
        Scan(aggregates=rows + some, where=Comparison("_id", "<", 0)),
        Scan(aggregates=some, group_by=("small",), where=Comparison("_id", "<", 0)),
        Scan(aggregates=rows + some[:1], group_by=(column,)),
        Scan(group_by=(column,)),
        Scan(aggregates=some[1:2]),
    ])  # fmt: skip


def test_nan_is_the_greatest_number_and_makes_sums_nan(mixed):
    source, table = mixed
    check_all(source, table, [
        Scan(aggregates=(Aggregate("min", "d", "a"), Aggregate("max", "d", "b")), group_by=("small",)),
        Scan(aggregates=(Aggregate("min", "d", "a"), Aggregate("max", "d", "b")), where=Comparison("d", ">", 1.7e308)),
        Scan(aggregates=(Aggregate("sum", "d", "a"), Aggregate("avg", "d", "b")), where=Comparison("d", ">", 1.0)),
    ])  # fmt: skip


def test_sums_beyond_64_bits_are_exact(mixed):
    source, table = mixed
    exact = [2**63 - 1, 2**62, 2**53 + 1]
    scan = Scan(aggregates=(Aggregate("sum", "n", "s"),), where=Comparison("n", ">", 2**53))
    assert rows_of(source, table, scan) == [{"s": Decimal(12 * sum(exact))}]


def test_columns_say_what_can_be_pushed_for_them(mixed):
    source, table = mixed
    assert {"compare:text", "order", "group:text"} <= source.pushes_for(table, "oid")
    assert (
        source.pushes_for(table, "any")
        == source.pushes_for(table, "nested")
        == {"columns", "limit", "null", "aggregate:count"}
    )
    assert "aggregate:sum" in source.pushes_for(table, "dec")


def test_what_would_not_be_exact_is_refused_rather_than_answered(database, source_of):
    database.c.insert_many(
        [
            {"_id": n, "wide": Decimal128("1." + "1" * 28), "special": Decimal128("NaN"), "s": {"a": n}}
            for n in range(20)
        ]
    )
    source = source_of(database)
    table = only_table(source)
    sampled_source = source_of(database, snapshot_rows=5, sample_rows=5)
    sampled = only_table(sampled_source)
    assert table.column("wide").type == "DECIMAL(29,28)"
    check_all(
        source,
        table,
        [Scan(("_id",), where=Comparison("wide", ">", 1)), Scan(aggregates=(Aggregate("max", "wide", "m"),))],
    )
    for one, listed, scan in (
        (source, table, Scan(aggregates=(Aggregate("sum", "wide", "s"),))),
        (source, table, Scan(where=Comparison("special", "=", "NaN"))),
        (source, table, Scan(order=(Order("s"),))),
        (sampled_source, sampled, Scan(where=All((Null("_id", negated=True), Null("s"))))),
    ):
        with pytest.raises(ValueError, match="cannot be pushed"):
            one.read(listed, scan)


def test_only_the_columns_asked_for_leave_the_server(mixed):
    from coset.environment.sources.mongodb.pipeline import rows_pipeline

    _, table = mixed
    scan = Scan(("text",))
    assert rows_pipeline(table, scan, [table.column("text")]) == [{"$project": {"text": 1, "_id": 0}}]


# --- change


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


# --- what goes wrong


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


def test_values_of_every_bson_type_come_through(database, source_of):
    database.all.insert_one(
        {"_id": 1, "ts": Timestamp(7, 2), "s": {"deep": [{"x": Decimal128("1.5")}]}, "b": b"\x00\x01"}
    )
    source = source_of(database)
    assert rows_of(source, only_table(source)) == [
        {"_id": 1, "ts": '{"$timestamp":{"t":7,"i":2}}', "s": {"deep": [{"x": Decimal("1.5")}]}, "b": b"\x00\x01"}
    ]
    assert isinstance(source.read(only_table(source)), pa.RecordBatchReader)
