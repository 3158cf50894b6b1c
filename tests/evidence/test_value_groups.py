"""The dictionaries of categorical columns: complete or said to be not, with exact counts, codes told from labels."""

from __future__ import annotations

import duckdb
import pytest

from coset.evidence.profiles import profile_table
from coset.evidence.sampled_rows import sampled_rows
from coset.evidence.value_groups import role_of, value_groups


@pytest.fixture
def connection():
    with duckdb.connect() as connection:
        yield connection


def groups_of(connection, select, rows=None):
    connection.execute(f"CREATE OR REPLACE TABLE grouped AS {select}")
    columns = [(row[0], row[1]) for row in connection.execute("DESCRIBE grouped").fetchall()]
    rows = rows or connection.execute("SELECT count(*) FROM grouped").fetchone()[0]
    profiles = profile_table(connection, "grouped", columns, rows=rows)
    counted = value_groups(connection, "grouped", columns, profiles, rows=rows)
    sample = sampled_rows(connection, "grouped", columns, rows=rows)
    assert value_groups(connection, "grouped", columns, profiles, rows=rows, sample=sample) == counted
    return counted


def test_a_small_dictionary_is_complete_with_counts_and_nulls(connection):
    found = groups_of(
        connection,
        """SELECT i AS id, CASE WHEN i < 6 THEN 'open' WHEN i < 9 THEN 'Closed Won' END AS status, i % 2 = 0 AS paid,
            i % 3 AS kind, (i % 2)::DECIMAL(5, 1) AS d, ('b' || i % 2)::ENUM('b0', 'b1') AS e FROM range(10) AS r(i)""",
    )
    assert list(found) == ["status", "paid", "kind", "d", "e"]
    status = found["status"]
    assert status.values == (("open", 6), ("Closed Won", 3), (None, 1))
    assert (status.complete, status.distinct, status.tail, status.role) == (True, 2, (), "labels")
    assert (found["paid"].values, found["paid"].role) == ((("false", 5), ("true", 5)), "flags")
    assert (found["kind"].values, found["kind"].role) == ((("0", 4), ("1", 3), ("2", 3)), "codes")
    assert found["d"].values == (("0.0", 5), ("1.0", 5))
    assert found["e"].values == (("b0", 5), ("b1", 5))


def test_values_of_equal_counts_are_in_the_same_order_whether_counted_by_statement_or_from_the_sample(connection):
    found = groups_of(
        connection,
        """SELECT CASE WHEN i % 121 < 119 THEN CASE i % 3 WHEN 0 THEN 'Ä' WHEN 1 THEN 'z' ELSE '' END || i % 121 END AS s,
            CASE i % 5 WHEN 0 THEN NULL WHEN 1 THEN 'x' WHEN 2 THEN 'ß' ELSE '' END AS few FROM range(3_630) AS r(i)""",
    )
    assert (found["s"].complete, found["few"].complete) == (False, True)
    assert found["few"].values == (("", 1452), ("x", 726), ("ß", 726), (None, 726))


def test_a_large_dictionary_is_top_and_tail_and_says_so(connection):
    found = groups_of(
        connection,
        "SELECT 'town ' || lpad(least(i % 400, i % 150)::VARCHAR, 3, '0') AS town, i % 400 AS n FROM range(20_000) AS r(i)",
    )
    town = found["town"]
    exact = connection.execute("SELECT town, count(*) FROM grouped GROUP BY 1 ORDER BY 2 DESC, 1").fetchall()
    assert "n" not in found
    assert (town.complete, town.distinct, town.role) == (False, 150, "labels")
    assert list(town.values) == exact[:50]
    assert list(town.tail) == exact[-20:]


def test_keys_prose_measures_dates_and_nested_values_have_no_group(connection):
    found = groups_of(
        connection,
        """SELECT i AS id, 'c' || i AS code, 'name ' || i AS name, repeat('a long sentence ', 60) || i % 2 AS prose,
            i * 0.37 AS amount, DATE '2020-01-01' + (i % 3)::INTEGER AS day, [i % 2] AS l, i % 150 AS reference,
            NULL::VARCHAR AS nothing FROM range(2_000) AS r(i)""",
    )
    assert found == {}


def test_the_labels_of_a_lookup_table_are_its_dictionary_but_names_of_a_wide_table_are_not(connection):
    lookup = groups_of(connection, "SELECT * FROM (VALUES (1, 'Gold'), (2, 'Silver'), (3, 'Bronze')) t(id, name)")
    assert lookup["name"].values == (("Bronze", 1), ("Gold", 1), ("Silver", 1))
    assert list(lookup) == ["name"]
    wide = groups_of(
        connection,
        "SELECT * FROM (VALUES (1, 'Ann', 1, 2, 3, 4), (2, 'Bob', 3, 4, 5, 6), (3, 'Cy', 6, 7, 8, 9)) t(id, name, a, b, c, d)",
    )
    assert wide == {}


def test_exactly_one_hundred_values_are_complete_and_one_more_is_not(connection):
    select = "SELECT 'value ' || i % {} AS v, 1 AS one FROM range(10_100) AS r(i)"
    assert groups_of(connection, select.format(100))["v"].complete
    found = groups_of(connection, select.format(101))["v"]
    assert (found.complete, found.distinct, len(found.values), len(found.tail)) == (False, 101, 50, 20)


def test_a_relation_that_is_a_sample_gives_no_complete_group(connection):
    found = groups_of(connection, "SELECT 'v' || i % 3 AS v FROM range(30) AS r(i)", rows=1_000)
    assert (found["v"].complete, found["v"].distinct) == (False, 3)


def test_tables_without_rows_or_values_have_no_groups(connection):
    assert groups_of(connection, "SELECT 'a' AS v LIMIT 0", rows=0 or None) == {}
    assert groups_of(connection, "SELECT NULL::VARCHAR AS v FROM range(5)") == {}


def test_more_columns_than_fit_one_statement_and_names_with_quotes(connection):
    columns = ", ".join(f"""i % 2 AS "c{n}""q" """ for n in range(120))
    found = groups_of(connection, f"SELECT {columns} FROM range(6) AS r(i)")
    assert len(found) == 120
    assert all(group.values == (("0", 3), ("1", 3)) for group in found.values())


@pytest.mark.parametrize(
    ("values", "role"),
    [
        (["Y", "N"], "flags"),
        (["true", "false"], "flags"),
        (["0", "1"], "flags"),
        (["1", "2", "30"], "codes"),
        (["USD", "EUR", "GBP"], "codes"),
        (["A1", "B-20", "c3"], "codes"),
        (["en", "de", "fr"], "codes"),
        (["new", "open", "Closed Won"], "labels"),
        (["PENDING", "CANCELLED", "IN TRANSIT"], "labels"),
        (["X1", "Y2", "Hello world", "Another one"], "mixed"),
        ([], "labels"),
        (["  "], "labels"),
    ],
)
def test_codes_are_told_from_labels(values, role):
    assert role_of(values) == role
