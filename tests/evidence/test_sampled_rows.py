"""One sample for all steps: whole when small, bounded and repeatable when large, never stopped by one odd column."""

from __future__ import annotations

import datetime

import duckdb
import pytest

from coset.evidence.sampled_rows import CUT_CHARACTERS, SampledRows, sampled_rows


@pytest.fixture
def connection():
    with duckdb.connect() as connection:
        yield connection


def sampled(connection: duckdb.DuckDBPyConnection, select: str, **settings: int) -> SampledRows:
    connection.execute(f"CREATE OR REPLACE TABLE t AS {select}")
    columns = [(row[0], row[1]) for row in connection.execute("DESCRIBE t").fetchall()]
    rows = connection.execute("SELECT count(*) FROM t").fetchall()[0][0]
    return sampled_rows(connection, "t", columns, rows=rows, **settings)


def test_a_small_table_is_there_whole_as_text_and_as_values(connection):
    found = sampled(
        connection,
        """SELECT * FROM (VALUES
            (1, 'a', 1.50::DECIMAL(5, 2), DATE '1970-01-02', TIMESTAMPTZ '1970-01-01 01:00:00+01', true, [1, 2], 'x'::BLOB),
            (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)) AS v(n, "s""q", d, day, moment, b, l, bytes)""",
    )
    assert (found.rows, found.complete) == (2, True)
    assert {name: list(texts) for name, texts in found.texts.items()} == {
        "n": ["1", None], 's"q': ["a", None], "d": ["1.50", None], "day": ["1970-01-02", None],
        "moment": [found.texts["moment"][0], None], "b": ["true", None], "l": ["[1, 2]", None], "bytes": ["x", None],
    }  # fmt: skip
    assert {name: values[0] for name, values in found.values.items()} == {
        "n": 1, 's"q': "a", "d": 1.5, "day": 86_400_000_000, "moment": 0,
    }  # fmt: skip


def test_a_large_table_is_sampled_evenly_and_the_same_every_time(connection):
    select = "SELECT i, 'v' || i AS s FROM range(50_000) AS r(i)"
    first, second = sampled(connection, select), sampled(connection, select)
    assert (first.rows, first.complete) == (5_000, False)
    assert first == second
    assert first != sampled(connection, select, seed=1)
    assert 23_000 < sum(first.values["i"]) / 5_000 < 27_000
    assert [f"v{number}" for number in first.texts["i"]] == list(first.texts["s"])
    some = first.some_texts("i", 1_000)
    assert (len(some), [f"v{number}" for number in some]) == (1_000, first.some_texts("s", 1_000))


def test_very_many_columns_are_sampled_with_fewer_rows(connection):
    columns = ", ".join(f"i + {number} AS c{number}" for number in range(1_100))
    found = sampled(connection, f"SELECT {columns} FROM range(1_000) AS r(i)")
    assert (found.rows, found.complete, len(found.texts)) == (909, False, 1_100)
    assert {int(last) - int(first) for first, last in zip(found.texts["c0"], found.texts["c1099"], strict=True)} == {
        1099
    }


def test_long_cells_are_cut_and_moments_beyond_python_are_numbers(connection):
    found = sampled(
        connection,
        """SELECT repeat('ä', 5_000_000) AS s, '{"a": "' || repeat('x', 2_000_000) || '"}' AS j, DATE '200000-01-01' AS far,
            'infinity'::TIMESTAMP AS forever, range(1_000_000) AS l""",
    )
    assert found.texts["s"] == ("ä" * CUT_CHARACTERS,)
    assert len(found.texts["j"][0]) == CUT_CHARACTERS
    assert len(found.texts["l"][0]) <= 200
    assert found.values["far"][0] / 86_400e6 == pytest.approx(365.2425 * (200_000 - 1970), abs=2)
    assert (found.values["forever"], found.texts["forever"]) == ((None,), ("infinity",))
    assert not any(isinstance(value, datetime.date) for values in found.values.values() for value in values)


def test_a_column_that_cannot_be_read_as_its_type_says_is_empty_and_the_others_are_there(connection):
    connection.execute("CREATE TABLE odd AS SELECT {'a': i} AS s, i AS n FROM range(3) AS r(i)")
    found = sampled_rows(connection, "odd", [("s", "VARCHAR"), ("n", "BIGINT")], rows=3)
    assert (found.texts["s"], found.values["n"]) == ((None, None, None), (0, 1, 2))
    assert "s" not in found.values
    with pytest.raises(duckdb.Error, match="nowhere"):
        sampled_rows(connection, "nowhere", [("a", "INTEGER")], rows=3)


def test_a_table_without_rows_has_columns_without_values(connection):
    found = sampled(connection, "SELECT 1 AS n, 'x' AS s LIMIT 0")
    assert (found.rows, found.complete, found.texts, found.values["n"]) == (0, True, {"n": (), "s": ()}, ())
