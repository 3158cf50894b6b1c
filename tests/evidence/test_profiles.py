"""Profiles against the real engine: every type, every degenerate table, and how keys are told."""

from __future__ import annotations

import duckdb
import pytest

from coset.evidence import profiles as profiles_module
from coset.evidence.profiles import (
    MeasuredProfile,
    looks_like_date,
    looks_like_number,
    profile_table,
    profile_without_values,
    shape,
    share,
    without_values,
)
from coset.state.objects import Share


@pytest.fixture
def connection():
    with duckdb.connect() as connection:
        yield connection


def columns_of(connection: duckdb.DuckDBPyConnection, relation: str) -> list[tuple[str, str]]:
    return [(row[0], row[1]) for row in connection.execute(f"DESCRIBE {relation}").fetchall()]


def profiled(connection: duckdb.DuckDBPyConnection, select: str, **settings: int) -> dict[str, MeasuredProfile]:
    connection.execute(f"CREATE OR REPLACE TABLE profiled AS {select}")
    rows = connection.execute("SELECT count(*) FROM profiled").fetchone()[0]
    return profile_table(connection, "profiled", columns_of(connection, "profiled"), rows=rows, **settings)


def test_counts_range_mean_and_lengths_are_exact(connection):
    found = profiled(connection, "SELECT * FROM (VALUES (1, 'Ab 12-3'), (2, NULL), (6, 'x'), (NULL, 'x')) t(n, s)")
    number, text = found["n"], found["s"]
    assert (number.rows, number.sampled_rows, number.nulls, number.distinct) == (4, None, Share(0.25), 3)
    assert (number.minimum, number.maximum, number.mean, number.unique) == ("1", "6", 3.0, True)
    assert number.deviation == pytest.approx(2.6457513)
    assert (text.minimum, text.maximum, text.mean_length, text.maximum_length) == ("Ab 12-3", "x", 3.0, 7)
    assert (text.distinct, text.distinct_exact, text.unique) == (2, True, False)
    assert text.shapes == (("a", 2 / 3), ("Aa 9-9", 1 / 3))
    assert text.examples == ("x", "Ab 12-3")
    assert text.top == (("x", 2 / 3), ("Ab 12-3", 1 / 3))


EVERY_TYPE = """
    SELECT {'a': i} AS struct_, [i, 2] AS list_, MAP {'k': i} AS map_, '{"a":1}'::JSON AS json_, '\\xAA'::BLOB AS blob_,
        uuid() AS uuid_, INTERVAL 1 DAY AS interval_, 'a'::ENUM('a', 'b') AS enum_, i::HUGEINT AS hugeint_, '101'::BIT AS bit_,
        99999999999999999999999999999999999999::DECIMAL(38, 0) AS decimal_, 'nan'::DOUBLE AS nan_,
        CASE i WHEN 0 THEN 'inf'::DOUBLE WHEN 1 THEN '-inf'::DOUBLE ELSE 2.0 END AS infinite_, 1e308::DOUBLE AS huge_,
        'infinity'::TIMESTAMP AS forever_, TIME '10:00' AS time_, 1::UHUGEINT AS uhugeint_, [1, 2]::INT[2] AS array_,
        union_value(k := 1) AS union_, TIMESTAMPTZ '2020-01-01 00:00:00+00' AS zoned_, 12345678901234567890::BIGNUM AS bignum_,
        '1'::VARIANT AS variant_, NULL AS null_, i % 3 = 0 AS boolean_, DATE '2020-01-01' AS date_, 1.5::FLOAT AS float_,
        TIMESTAMP_NS '2020-01-01 10:00:00.123456789' AS nanoseconds_
    FROM range(4) AS r(i)
"""


def test_every_type_is_profiled(connection):
    found = profiled(connection, EVERY_TYPE)
    assert {name: profile.distinct for name, profile in found.items()} == {
        "struct_": 4, "list_": 4, "map_": 4, "json_": 1, "blob_": 1, "uuid_": 4, "interval_": 1, "enum_": 1, "hugeint_": 4,
        "bit_": 1, "decimal_": 1, "nan_": 1, "infinite_": 3, "huge_": 1, "forever_": 1, "time_": 1, "uhugeint_": 1,
        "array_": 1, "union_": 1, "zoned_": 1, "bignum_": 1, "variant_": 1, "null_": 0, "boolean_": 2, "date_": 1,
        "float_": 1, "nanoseconds_": 1,
    }  # fmt: skip
    assert {name for name, profile in found.items() if profile.nulls != Share(0.0)} == {"null_"}
    assert found["struct_"].examples == ("{'a': 0}", "{'a': 1}", "{'a': 2}", "{'a': 3}")
    assert found["blob_"].examples == ("\\xAA",)
    assert (found["forever_"].minimum, found["interval_"].maximum, found["bit_"].minimum) == (
        "infinity",
        "1 day",
        "101",
    )
    assert (found["nan_"].mean, found["nan_"].deviation, found["nan_"].whole_numbers) == (None, None, False)
    assert (found["infinite_"].minimum, found["infinite_"].maximum, found["infinite_"].mean) == ("-inf", "inf", 2.0)
    assert (found["huge_"].mean, found["huge_"].maximum) == (None, "1e+308")
    assert found["decimal_"].mean == pytest.approx(1e38)
    assert found["boolean_"].examples == ("true", "false")


def test_tables_without_rows_and_columns_of_nulls_have_empty_profiles(connection):
    empty = profiled(connection, EVERY_TYPE + " LIMIT 0")
    assert all(profile.rows == 0 and profile.distinct == 0 and not profile.examples for profile in empty.values())
    nulls = profiled(connection, "SELECT NULL::VARCHAR AS s, NULL::DOUBLE AS d, NULL::INTEGER[] AS l FROM range(3)")
    for profile in nulls.values():
        assert (profile.nulls, profile.distinct, profile.minimum, profile.mean) == (Share(1.0), 0, None, None)
        assert (profile.unique, profile.examples) == (None, ())


def test_names_with_quotes_and_slashes_are_quoted(connection):
    found = profiled(connection, """SELECT 1 AS "a""b; DROP TABLE x", 2 AS "t", 3 AS "c0", 'x' AS "select" """)
    assert [(name, profile.distinct) for name, profile in found.items()] == [
        ('a"b; DROP TABLE x', 1), ("t", 1), ("c0", 1), ("select", 1),
    ]  # fmt: skip


def test_five_thousand_columns_are_profiled_in_pieces(connection):
    kinds = {0: "'v' || i", 1: "i + {}"}
    columns = ", ".join(f"{kinds.get(n % 10, 'i = 0').format(n)} AS n{n}" for n in range(5_000))
    found = profiled(connection, f"SELECT {columns} FROM range(3) AS r(i)")
    assert len(found) == 5_000
    assert (found["n4991"].minimum, found["n4991"].maximum) == ("4991", "4993")
    assert found["n4990"].shapes == (("a9", 1.0),)
    assert (found["n4999"].distinct, found["n4999"].examples) == (2, ("true", "false"))


def test_a_cell_of_fifty_megabytes_never_leaves_the_engine_whole(connection):
    found = profiled(
        connection,
        """SELECT repeat('ä', 25_000_000) AS s, repeat('x', 20_000_000)::BLOB AS b
        UNION ALL SELECT repeat('ä', 25_000_000) || 'x', 'x'::BLOB UNION ALL SELECT 'short', NULL""",
    )
    assert found["s"].distinct == 3
    assert (found["s"].maximum_length, found["s"].minimum, len(found["s"].maximum)) == (25_000_001, "short", 200)
    assert max(len(value) for value in (*found["s"].examples, *found["b"].examples)) == 200
    assert (found["b"].distinct, found["b"].maximum_length) == (2, 20_000_000)


def test_bytes_that_are_no_text_and_replacement_characters_are_harmless(connection):
    found = profiled(
        connection, r"SELECT '\xFF\xFE\x00'::BLOB AS b, 'caf' || chr(65533) || chr(0) || '''' AS s FROM range(30000)"
    )
    assert found["b"].examples == ("\\xFF\\xFE\\x00",)
    assert found["s"].distinct == 1


def test_a_large_table_is_sampled_with_a_stated_error_and_the_same_every_time(connection):
    select = "SELECT CASE WHEN i % 4 = 0 THEN i::VARCHAR ELSE 'word' || i END AS s FROM range(30_000) AS r(i)"
    first, second = profiled(connection, select), profiled(connection, select)
    assert first == second
    looks = first["s"].number_text
    assert first["s"].sampled_rows == 1_000
    assert looks.error > 0
    assert abs(looks.value - 0.25) <= 2 * looks.error
    assert first["s"].nulls == Share(0.0)
    assert (first["s"].distinct, first["s"].unique) == (30_000, True)


def test_a_relation_that_is_itself_a_sample_says_so_in_every_share(connection):
    connection.execute("CREATE TABLE part AS SELECT CASE WHEN i % 2 = 0 THEN i END AS n FROM range(100) AS r(i)")
    found = profile_table(connection, "part", [("n", "BIGINT")], rows=10_000)["n"]
    assert (found.rows, found.sampled_rows, found.distinct_exact, found.unique) == (10_000, 100, False, None)
    assert found.nulls.value == 0.5
    assert found.nulls.error == pytest.approx(0.096, abs=0.002)


def test_a_share_of_nothing_in_a_sample_is_not_certain():
    assert share(0, 100, 100) == Share(0.0)
    assert share(0, 100, 1_000).error > 0.02
    assert share(3, 0, 0) == Share(0.0)


def test_large_tables_estimate_distinct_values_and_count_those_of_keys(connection, monkeypatch):
    monkeypatch.setattr(profiles_module, "EXACT_ROWS", 1_000)
    found = profiled(
        connection,
        """SELECT i AS key, i // 2 AS pair, 'v' || i % 7 AS few, i % 50000 AS many, least(i, 99_998) AS once_more,
            i % 95_000 AS nearly FROM range(100_000) AS r(i)""",
    )
    assert (found["key"].distinct, found["key"].distinct_exact, found["key"].unique) == (100_000, True, True)
    assert (found["few"].distinct_exact, found["few"].unique) == (False, False)
    for name, truth in (("pair", 50_000), ("few", 7), ("many", 50_000)):
        assert found[name].distinct == pytest.approx(truth, rel=0.15)
    assert found["pair"].unique is False
    # One value that occurs twice is only told by counting all; values that repeat now and then show in a part of them.
    assert (found["once_more"].distinct, found["once_more"].unique) == (99_999, False)
    assert found["nearly"].unique is False


# ---- without values, and what the engine cannot do


def test_schema_only_profiles_hold_no_value(connection):
    connection.execute("CREATE TABLE secret AS SELECT 'Jane' AS name, 5 AS salary, 2.0::DOUBLE AS whole")
    columns = columns_of(connection, "secret")
    bare = profile_without_values(connection, "secret", columns, rows=1)
    full = profile_table(connection, "secret", columns, rows=1)
    for profile in (*bare.values(), *(without_values(each) for each in full.values())):
        assert (profile.minimum, profile.maximum, profile.mean, profile.deviation) == (None, None, None, None)
        assert (profile.examples, profile.shapes, profile.top) == ((), (), ())
        assert (profile.rows, profile.distinct, profile.nulls) == (1, 1, Share(0.0))
    assert bare["name"].mean_length == 4.0


def test_a_column_the_engine_cannot_aggregate_is_only_counted(connection):
    connection.execute("CREATE TABLE odd AS SELECT {'a': i} AS s, i AS n FROM range(3) AS r(i)")
    # Declared as text, so length() fails on it.
    found = profile_table(connection, "odd", [("s", "VARCHAR"), ("n", "BIGINT")], rows=3)
    assert (found["s"].nulls, found["s"].distinct_exact, found["s"].examples) == (Share(0.0), False, ())
    assert (found["n"].distinct, found["n"].maximum) == (3, "2")


def test_a_missing_relation_is_an_error(connection):
    with pytest.raises(duckdb.Error, match="nowhere"):
        profile_table(connection, "nowhere", [("a", "INTEGER"), ("b", "VARCHAR")], rows=3)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Ab 12-3", "Aa 9-9"), ("", ""), ("ÄÖ-ü  ٣", "A-a 9"), ("日本", "a"), ("#A_1", "#A_9"), ("a" * 999, "a")],
)
def test_shapes(text, expected):
    assert shape(text) == expected


@pytest.mark.parametrize("text", ["1", "-1.5", "1,234.50", "$5", "12 %", "1e5", ".5", "(3)", " 7 ", "5."])
def test_numbers_are_told(text):
    assert looks_like_number(text)


@pytest.mark.parametrize("text", ["", "-", ".", "a1", "1-2", "1.2.3", "12 kg", "$", "1,23", "٣x"])
def test_what_is_no_number(text):
    assert not looks_like_number(text)


@pytest.mark.parametrize(
    "text",
    ["2020-01-31", "31/01/2020", "1.2.99", "20200131", "2020-01-31T10:00:00Z", "Jan 5, 2020", "5th of January 2020",
     "05-Jan-20", "2020-01-31 10:00:00.123+02:00", "Tue, 05 Jan 2021 10:00:00 GMT", "March 3, 2020 at 5:00 pm"],
)  # fmt: skip
def test_dates_are_told(text):
    assert looks_like_date(text)


@pytest.mark.parametrize("text", ["", "2020", "12345678", "1.2.3.4", "1-2", "may", "10:00"])
def test_what_is_no_date(text):
    assert not looks_like_date(text)
