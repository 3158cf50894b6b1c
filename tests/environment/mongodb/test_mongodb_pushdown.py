"""MongoDB live: what is pushed means what DuckDB means."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal

import pytest
from bson import Decimal128, Int64, ObjectId

from coset.environment.scan import Aggregate, All, Among, Any, Comparison, Null, Order, Scan, family
from coset.environment.source import SourceSettings
from coset.environment.sources.mongodb.server import MongoDB
from environment.mongodb.mongodb_collections import check_all, only_table, rows_of

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
