"""Documents as columns and Arrow: what type a path gets, that nothing is lost, and that DuckDB can cast to that type."""

from __future__ import annotations

import datetime
import json
import math
import uuid
from decimal import Decimal

import bson
import duckdb
import pyarrow as pa
import pytest
from bson import Binary, Code, DatetimeMS, Decimal128, Int64, MaxKey, MinKey, ObjectId, Regex, Timestamp
from bson.dbref import DBRef
from hypothesis import given, settings
from hypothesis import strategies as st

from coset.environment.sources.mongodb.documents import (
    Fields,
    Items,
    Observed,
    Scalar,
    Shape,
    columns_of,
    decimal_of,
    shape_of,
)
from coset.environment.sources.mongodb.documents_to_arrow import DocumentsToArrow, DoesNotFit, json_text
from coset.environment.sources.mongodb.server import codec_options


def observed(documents):
    result = Observed()
    result.observe_documents(documents)
    return result


def through_bson(documents):
    return bson.decode_all(b"".join(bson.encode(document) for document in documents), codec_options())


def table_of(documents, *, complete=True, learned_from=None):
    """Column types, and the rows as DuckDB has them after the cast to those types."""
    documents = through_bson(documents)
    columns = columns_of(observed(through_bson(learned_from) if learned_from else documents), complete=complete)
    batch = DocumentsToArrow(columns, columns).batch(documents)
    source = pa.Table.from_batches([batch])  # noqa: F841 - DuckDB reads it by name
    casts = ", ".join(f'CAST("{column.name.replace(chr(34), chr(34) * 2)}" AS {column.type})' for column in columns)
    rows = duckdb.connect().execute(f"SELECT {casts} FROM source").fetchall()
    return {column.name: column.type for column in columns}, rows


def value_and_type(*values):
    """The type of one field with these values in turn, and what SQL shows of them."""
    types, rows = table_of([{"x": value} for value in values])
    return types["x"], [row[0] for row in rows]


MOMENT = datetime.datetime(2024, 2, 29, 23, 59, 59, 123000)
KEY = uuid.UUID("12345678-1234-5678-1234-567812345678")
OID = ObjectId("0123456789abcdef01234567")


@pytest.mark.parametrize(
    ("values", "expected_type", "expected"),
    [
        (["a", "", None], "VARCHAR", ["a", "", None]),
        ([1, -1, Int64(2**63 - 1), Int64(-(2**63))], "BIGINT", [1, -1, 2**63 - 1, -(2**63)]),
        ([1.0, 2.5], "DOUBLE", [1.0, 2.5]),
        ([1, 2.5, Int64(2**53)], "DOUBLE", [1.0, 2.5, 2.0**53]),
        ([Int64(2**53 + 1), 2.5], "JSON", ["9007199254740993", "2.5"]),
        ([True, False, None], "BOOLEAN", [True, False, None]),
        ([True, 1], "JSON", ["true", "1"]),
        ([MOMENT, datetime.datetime(1, 1, 1)], "TIMESTAMP", [MOMENT, datetime.datetime(1, 1, 1)]),
        ([OID, None], "VARCHAR", ["0123456789abcdef01234567", None]),
        ([OID, "text"], "VARCHAR", ["0123456789abcdef01234567", "text"]),
        ([Binary(KEY.bytes, 4)], "UUID", [KEY]),
        ([b"\x00\xff", Binary(b"abc", 5)], "BLOB", [b"\x00\xff", b"abc"]),
        ([Decimal128("1.50"), Decimal128("-10")], "DECIMAL(4,2)", [Decimal("1.50"), Decimal("-10.00")]),
        ([Decimal128("1.5"), 1000], "DECIMAL(5,1)", [Decimal("1.5"), Decimal("1000.0")]),
        ([Decimal128("1E+3")], "DECIMAL(4,0)", [Decimal(1000)]),
        ([Decimal128("0.001")], "DECIMAL(3,3)", [Decimal("0.001")]),
        ([Decimal128("0")], "DECIMAL(1,0)", [Decimal(0)]),
        ([Decimal128("1." + "0" * 33), Decimal128("123456.5")], "DECIMAL(7,1)", [Decimal("1.0"), Decimal("123456.5")]),
        ([Decimal128("1E-30"), Decimal128("1E+20")], "VARCHAR", ["1E-30", "1E+20"]),
        ([Decimal128("NaN"), Decimal128("1.5")], "VARCHAR", ["NaN", "1.5"]),
        ([Decimal128("1.5"), 2.5], "JSON", ['"1.5"', "2.5"]),
        ([["a", "b"], [], None, ["c", None]], "VARCHAR[]", [["a", "b"], [], None, ["c", None]]),
        ([[[1], [2, 3]], [[]]], "BIGINT[][]", [[[1], [2, 3]], [[]]]),
        ([[], []], "JSON[]", [[], []]),
        ([{}, {}], "JSON", ["{}", "{}"]),
        ([None, None], "JSON", [None, None]),
        ([{"a": 1}, {"a": None}, None, {}], 'STRUCT("a" BIGINT)', [{"a": 1}, {"a": None}, None, {"a": None}]),
        ([[{"a": 1}, None], [{"b": "x"}]], 'STRUCT("a" BIGINT, "b" VARCHAR)[]', [[{"a": 1, "b": None}, None], [{"a": None, "b": "x"}]]),
        (["text", 1], "JSON", ['"text"', "1"]),
        (["text", {"a": [1]}], "JSON", ['"text"', '{"a":[1]}']),
        ([["a"], "a"], "JSON", ['["a"]', '"a"']),
        ([["a", 1]], "JSON[]", [['"a"', "1"]]),
    ],
)  # fmt: skip
def test_values_get_the_narrowest_type_that_holds_them_all(values, expected_type, expected):
    assert value_and_type(*values) == (expected_type, expected)


def test_conflict_makes_only_that_path_json():
    kind, rows = value_and_type({"a": {"b": 1, "c": "x"}}, {"a": {"b": "one", "c": "y"}})
    assert kind == 'STRUCT("a" STRUCT("b" JSON, "c" VARCHAR))'
    assert rows == [{"a": {"b": "1", "c": "x"}}, {"a": {"b": '"one"', "c": "y"}}]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Timestamp(7, 2), '{"$timestamp":{"t":7,"i":2}}'),
        (Regex("^a", "i"), '{"$regularExpression":{"pattern":"^a","options":"i"}}'),
        (Code("f()"), '{"$code":"f()"}'),
        (Code("f()", {"a": Int64(1)}), '{"$code":"f()","$scope":{"a":1}}'),
        (MinKey(), '{"$minKey":1}'),
        (MaxKey(), '{"$maxKey":1}'),
        (DatetimeMS(2**62), '{"$date":{"$numberLong":"4611686018427387904"}}'),
    ],
)
def test_values_without_a_sql_type_are_extended_json(value, text):
    assert value_and_type(value) == ("JSON", [text])


def test_json_text_is_plain_where_sql_has_a_plain_text_and_never_invalid():
    value = {
        "id": OID,
        "at": MOMENT,
        "n": math.nan,
        "i": -math.inf,
        "u": Binary(KEY.bytes, 4),
        "b": b"\x01",
        "d": Decimal128("1.10"),
    }
    assert json.loads(json_text(value)) == {
        "id": str(OID), "at": "2024-02-29T23:59:59.123000Z", "n": {"$numberDouble": "NaN"}, "i": {"$numberDouble": "-Infinity"},
        "u": str(KEY), "b": {"$binary": {"base64": "AQ==", "subType": "00"}}, "d": "1.10",
    }  # fmt: skip


def test_dates_outside_pythons_years_are_timestamps_while_duckdb_holds_them():
    year_20000 = 568_971_820_800_000
    documents = [{"x": DatetimeMS(year_20000)}, {"x": MOMENT}, {"x": None}]
    columns = columns_of(observed(through_bson(documents)), complete=True)
    batch = DocumentsToArrow(columns, columns).batch(through_bson(documents))
    source = pa.Table.from_batches([batch])  # noqa: F841
    assert columns[0].type == "TIMESTAMP"
    assert duckdb.connect().execute("SELECT year(x) FROM source").fetchall() == [(20000,), (2024,), (None,)]


def test_a_reference_is_the_document_it_is():
    kind, rows = value_and_type(DBRef("users", OID, "main"))
    assert kind == 'STRUCT("$ref" VARCHAR, "$id" VARCHAR, "$db" VARCHAR)'
    assert rows == [{"$ref": "users", "$id": str(OID), "$db": "main"}]


def test_symbol_and_undefined_are_text_and_null():
    symbol = bson.encode({"x": "abc"}).replace(b"\x02x\x00", b"\x0ex\x00")
    undefined = bson.encode({"x": None}).replace(b"\x0ax\x00", b"\x06x\x00")
    documents = bson.decode_all(symbol + undefined, codec_options())
    columns = columns_of(observed(documents), complete=True)
    assert [(column.name, column.type) for column in columns] == [("x", "VARCHAR")]
    assert DocumentsToArrow(columns, columns).batch(documents).to_pylist() == [{"x": "abc"}, {"x": None}]


def test_text_that_is_not_utf8_is_kept_with_replacement_characters():
    documents = bson.decode_all(bson.encode({"x": "ab"}).replace(b"ab", b"a\xff"), codec_options())
    columns = columns_of(observed(documents), complete=True)
    assert DocumentsToArrow(columns, columns).batch(documents).to_pylist() == [{"x": "a\ufffd"}]


def test_half_a_character_from_json_does_not_stop_the_read():
    documents = [{"x": json.loads('"a\\ud800b"')}]
    columns = columns_of(observed(documents), complete=True)
    assert DocumentsToArrow(columns, columns).batch(documents).to_pylist() == [{"x": "a?b"}]


def test_id_is_first_and_other_columns_are_as_first_seen():
    types, _ = table_of([{"b": 1, "a": 1}, {"c": 1, "_id": 1, "a": 2}])
    assert list(types) == ["_id", "b", "a", "c"]


def test_names_that_sql_cannot_tell_apart_are_told_apart_on_every_level():
    documents = [
        {"id": 1, "ID": "one", "": 2, "a.b": 3, "$c": 4, 'q"q': 5, "order": 6, "n": {"x": 1, "X": "b", "": 3, 'q"': 4}}
    ]
    types, rows = table_of(documents)
    assert list(types) == ["id", "ID_1", "column", "a.b", "$c", 'q"q', "order", "n"]
    assert rows == [(1, "one", 2, 3, 4, 5, 6, {"x": 1, "X_1": "b", "column": 3, 'q"': 4})]


def test_keys_that_are_data_make_one_json_column():
    many = [{"counts": {f"user{number}": number}} for number in range(3000)]
    types, rows = table_of(many)
    assert types == {"counts": "JSON"}
    assert rows[2999] == ('{"user2999":2999}',)
    sparse = [{"counts": {f"user{number % 100}": 1}} for number in range(300)]
    assert table_of(sparse)[0] == {"counts": "JSON"}
    full = [{"counts": {f"field{number}": 1 for number in range(100)}}] * 3
    assert table_of(full)[0]["counts"].startswith('STRUCT("field0" BIGINT')


def test_thousands_of_outermost_fields_go_to_the_rest_column():
    types, rows = table_of([{f"f{number}": number} for number in range(1200)])
    assert list(types)[-1] == "_rest"
    assert len(types) == 1001
    assert rows[1100][-1] == '{"f1100":1100}'


def test_deep_nesting_and_trees_end_in_json():
    deep: object = "bottom"
    for level in range(20):
        deep = {f"level{level}": deep}
    types, rows = table_of([{"x": deep}])
    assert types["x"].count("STRUCT") == 7
    assert types["x"].endswith("JSON" + ")" * 7)
    assert "bottom" in str(rows)
    tree = {"name": "a", "children": [{"name": "b", "children": [{"name": "c", "children": []}]}]}
    types, rows = table_of([{"tree": tree, "children": tree["children"]}])
    assert types == {"tree": 'STRUCT("name" VARCHAR, "children" JSON)', "children": "JSON"}
    assert json.loads(rows[0][1]) == tree["children"]


def test_integers_beyond_64_bits_are_kept_as_json():
    documents = [{"x": 2**70}, {"x": 1}]
    columns = columns_of(observed(documents), complete=True)
    assert columns[0].type == "JSON"
    assert DocumentsToArrow(columns, columns).batch(documents).to_pylist() == [{"x": str(2**70)}, {"x": "1"}]


@pytest.mark.parametrize(
    "later", [{"a": "text"}, {"a": 1, "new": 2}, {"a": 1, "n": {"b": 1, "c": 2}}, {"a": 1, "n": [1]}, {"a": 2.5}]
)
def test_a_value_that_does_not_fit_is_an_error_that_names_the_field(later):
    columns = columns_of(observed([{"a": 1, "n": {"b": 1}}]), complete=True)
    with pytest.raises(DoesNotFit) as raised:
        DocumentsToArrow(columns, columns).batch([{"a": 1}, later])
    assert raised.value.path[0] in {"a", "new", "n"}


def test_what_a_sample_did_not_have_is_in_the_rest_column():
    sample = [{"a": 1, "n": {"b": 1}, "d": Decimal128("1.5")}]
    documents = [
        {"a": 2, "n": {"b": 2}, "d": Decimal128("2.5")},
        {"a": "text", "n": {"b": 1, "c": "new"}, "other": [1]},
        {"a": Int64(3), "d": Decimal128("1.55")},
    ]
    types, rows = table_of(documents, complete=False, learned_from=sample)
    assert list(types) == ["a", "n", "d", "_rest"]
    assert rows[0] == (2, {"b": 2}, Decimal("2.5"), None)
    assert rows[1][:3] == (None, None, None)
    assert json.loads(rows[1][3]) == {"other": [1], "a": "text", "n": {"b": 1, "c": "new"}}
    assert rows[2] == (3, None, None, '{"d":"1.55"}')


def test_a_field_named_like_the_rest_column_keeps_its_name():
    types, rows = table_of([{"_rest": 1}], complete=False)
    assert types == {"_rest": "BIGINT", "_rest_1": "JSON"}
    assert rows == [(1, None)]


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(), st.text(max_size=5), st.binary(max_size=4),
    st.datetimes(datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31)).map(lambda m: m.replace(microsecond=0)),
    st.builds(ObjectId, st.binary(min_size=12, max_size=12)),
    st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-(10**20), max_value=10**20).map(Decimal128),
)  # fmt: skip
keys = st.sampled_from(["a", "A", "b", "", "$x", "p.q", "ä"])
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=8
)
documents_strategy = st.lists(st.dictionaries(keys, values, max_size=4), min_size=1, max_size=6)


def expected(shape: Shape, value):
    """What a row must show of a value, worked out value by value."""
    if value is None:
        return None
    if isinstance(shape, Items):
        return [expected(shape.item, item) for item in value]
    if isinstance(shape, Fields):
        return {
            name: expected(field, value.get(key)) for name, (key, field) in zip(shape.names, shape.fields, strict=True)
        }
    assert isinstance(shape, Scalar)
    if shape.type == "JSON":
        return json_text(value)
    if shape.type == "VARCHAR":
        return str(value)
    if shape.type.startswith("DECIMAL"):
        return value.to_decimal() if isinstance(value, Decimal128) else Decimal(value)
    return float(value) if shape.type == "DOUBLE" else value


@settings(max_examples=80, deadline=None)
@given(documents_strategy)
def test_no_value_of_any_document_is_lost_or_changed(documents):
    documents = through_bson(documents)
    columns = columns_of(observed(documents), complete=True)
    rows = DocumentsToArrow(columns, columns).batch(documents).to_pylist() if columns else []
    for document, row in zip(documents, rows, strict=bool(columns)):
        for column in columns:
            assert repr(row[column.name]) == repr(expected(shape_of(column), document.get(column.native_name))) or row[
                column.name
            ] == expected(shape_of(column), document.get(column.native_name))


@settings(max_examples=80, deadline=None)
@given(documents_strategy, documents_strategy)
def test_two_observations_merge_into_what_one_would_have_seen(first, second):
    first, second = through_bson(first), through_bson(second)
    together, apart, other = observed(first), observed(first), observed(second)
    together.observe_documents(second)
    apart.merge(other)
    assert columns_of(together, complete=True) == columns_of(apart, complete=True)


@given(st.decimals(allow_nan=True).filter(lambda number: len(number.as_tuple().digits) <= 34))
def test_decimals_decode_as_the_driver_decodes_them(number):
    try:
        stored = Decimal128(number)
    except Exception:
        return
    assert str(decimal_of(stored)) == str(stored.to_decimal())
