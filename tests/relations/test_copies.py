"""Copies: which table is a copy of which, by columns and rows; and which look alike and are none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import duckdb
import pytest

from coset.environment.corrections import Copy as SaidCopy
from coset.environment.source import Column
from coset.relations.copies import Standing, find_copies
from coset.relations.copies.stage import overruled, spoken_of
from coset.relations.joins import JoinableTable
from coset.state.objects import Copy, Reference

ORDERS = (
    "SELECT i AS order_id, 'C' || (i * 7919 % 611) AS customer, DATE '2020-01-01' + i::INTEGER AS ordered, "
    "round(i * 37.7 % 900, 2) AS amount, ['new', 'paid', 'sent'][1 + i * 31 % 3] AS status FROM range(1400) t(i)"
)


def made(connection: duckdb.DuckDBPyConnection, name: str, query: str) -> JoinableTable:
    schema, _, table = name.rpartition(".")
    relation = f'"{name}"'
    connection.execute(f"CREATE TABLE {relation} AS {query}")
    columns = connection.execute(f"DESCRIBE {relation}").fetchall()
    [(rows,)] = connection.execute(f"SELECT count(*) FROM {relation}").fetchall()
    return JoinableTable(
        Reference("shop", schema or None, table, ()), relation,
        tuple(Column(column[0], column[1], column[0], column[1]) for column in columns), rows,
    )  # fmt: skip


def copies_among(tables: dict[str, str], standing: Standing | None = None) -> dict[str, Copy]:
    with duckdb.connect() as connection:
        joinable = [made(connection, name, query) for name, query in tables.items()]
        return {copy.table: copy for copy in find_copies(connection, joinable, standing)}


def test_backup_load_archive_and_year_copy_point_to_their_original():
    found = copies_among(
        {
            "orders": ORDERS,
            "ORDERSB": f"SELECT * REPLACE (CASE WHEN order_id % 20 = 0 THEN 'lost' ELSE status END AS status) "
            f"FROM ({ORDERS}) WHERE order_id % 11 <> 0",
            "stg_orders": f"FROM ({ORDERS}) ORDER BY order_id DESC LIMIT 120",
            "arch.orders": f"FROM ({ORDERS}) ORDER BY order_id LIMIT 400",
            "orders_2021": f"FROM ({ORDERS}) WHERE year(ordered) = 2021",
            "orders_old": f"SELECT * EXCLUDE (status) FROM ({ORDERS}) WHERE order_id < 900",
        }
    )
    assert {(copy.table, copy.original, copy.kind) for copy in found.values()} == {
        ("shop/ORDERSB", "shop/orders", "backup"),
        ("shop/stg_orders", "shop/orders", "staging"),
        ("shop/arch/orders", "shop/orders", "archive"),
        ("shop/orders_2021", "shop/orders", "year copy"),
        ("shop/orders_old", "shop/orders", "superseded"),
    }
    assert found["shop/orders_old"].drift == "900 of 1,400 rows, nothing after 2022-06-18, without status"
    assert "differ in status" in found["shop/ORDERSB"].drift


def test_tables_that_partition_one_thing_are_no_copies():
    parts = {f"orders_{year}": f"FROM ({ORDERS}) WHERE year(ordered) = {year}" for year in (2020, 2021, 2022)}
    assert copies_among(parts) == {}


def test_lists_of_one_shape_with_the_same_numbers_are_no_copies():
    lists = {
        name: f"SELECT i AS id, '{name} ' || i AS name FROM range(1, 30) t(i)" for name in ("colours", "sizes", "units")
    }
    assert copies_among(lists) == {}


def test_the_newer_and_fuller_table_is_the_original_whatever_it_is_called():
    found = copies_among({"moves": f"FROM ({ORDERS}) WHERE order_id < 800", "moves_new": ORDERS})
    assert [(copy.table, copy.original) for copy in found.values()] == [("shop/moves", "shop/moves_new")]


def test_rows_that_were_purged_from_the_original_do_not_make_the_backup_the_original():
    found = copies_among({"moves": f"FROM ({ORDERS}) WHERE order_id > 700", "moves_bak": ORDERS})
    assert "shop/moves" not in found


def test_made_up_rows_are_a_trial_only_under_a_name_that_says_so():
    made_up = "SELECT -i AS order_id, 'x' AS customer, DATE '2000-01-01' AS ordered, 1.0 AS amount, 'x' AS status "
    few = f"{made_up} FROM range(1, 12) t(i)"
    found = copies_among({"orders": ORDERS, "orders_test": few, "returns": few})
    assert [(copy.table, copy.original, copy.kind) for copy in found.values()] == [
        ("shop/orders_test", "shop/orders", "test")
    ]


def test_tables_that_are_copies_of_each_other_have_one_original():
    found = copies_among({"a_list": ORDERS, "b_list": ORDERS, "c_list": ORDERS})
    assert len(found) == 2
    assert len({copy.original for copy in found.values()}) == 1


def test_a_table_that_stands_in_two_sources_is_a_copy_in_one_of_them():
    with duckdb.connect() as connection:
        here = made(connection, "orders", ORDERS)
        there = replace(here, reference=Reference("warehouse", None, "orders", ()))
        [copy] = find_copies(connection, [here, there])
    assert {copy.table, copy.original} == {"shop/orders", "warehouse/orders"}


@pytest.mark.parametrize(
    "sentence",
    ["ord_v1 is frozen.", "Since May ord_v1 is no longer loaded; use orders.", "La table ord_v1 n'est plus tenue."],
)
def test_a_sentence_retires_the_table_it_speaks_of(sentence: str):
    spoken = spoken_of([sentence], [("shop/ord_v1", "ord_v1"), ("shop/ord_v2", "ord_v2")])
    assert set(spoken.retired) == {"shop/ord_v1"}


def test_what_people_say_wins():
    found = [Copy("shop/a_bak", "shop/a", "backup", 0.9, "all rows"), Copy("shop/b", "shop/c", "backup", 0.9, "")]
    said = [SaidCopy(table="shop/b", rejected=True), SaidCopy(table="shop/d", original="shop/c", kind="archive")]
    kept = overruled(found, said, {"shop/a", "shop/a_bak", "shop/b", "shop/c", "shop/d"})
    assert [(copy.table, copy.original, copy.kind) for copy in kept] == [
        ("shop/a_bak", "shop/a", "backup"),
        ("shop/d", "shop/c", "archive"),
    ]


def test_days_and_numbers_beyond_all_others_are_compared_as_well():
    extremes = (
        "SELECT i AS id, 'N' || i AS name, CASE WHEN i % 2 = 0 THEN DATE '5874897-12-31' "
        "WHEN i % 3 = 0 THEN DATE 'infinity' ELSE DATE '2024-01-01' + i::INTEGER END AS ended, "
        "CAST('9' || repeat('0', 400) AS BIGNUM) AS huge FROM range(200) t(i)"
    )
    found = copies_among({"terms": extremes, "terms_bak": extremes})
    assert [(copy.table, copy.original) for copy in found.values()] == [("shop/terms_bak", "shop/terms")]


def test_a_table_that_cannot_be_compared_is_passed_over_and_named():
    passed_over: list[str] = []

    @contextmanager
    def passing_over(name: str) -> Iterator[None]:
        try:
            yield
        except duckdb.Error:
            passed_over.append(name)

    with duckdb.connect() as connection:
        tables = [made(connection, name, ORDERS) for name in ("orders", "orders_bak", "orders_gone")]
        connection.execute('DROP TABLE "orders_gone"')
        with pytest.raises(duckdb.Error):
            find_copies(connection, tables)
        found = find_copies(connection, tables, passing_over=passing_over)
    assert [(copy.table, copy.original) for copy in found] == [("shop/orders_bak", "shop/orders")]
    assert passed_over == ["shop/orders_gone"]


def test_tables_of_very_many_columns_are_compared_in_little_memory():
    columns = ", ".join(f"'K' || (i * {number} % 17) AS c{number}" for number in range(1, 200))
    query = f"SELECT 'R' || i AS c0, {columns} FROM range(40) t(i)"
    with duckdb.connect(config={"memory_limit": "500MB", "threads": "2"}) as connection:
        found = find_copies(connection, [made(connection, name, query) for name in ("wide", "wide_bak")])
    assert [(copy.table, copy.original) for copy in found] == [("shop/wide_bak", "shop/wide")]


def test_lines_whose_rows_mostly_stand_in_a_table_of_another_name_are_no_copy_of_it():
    bought = (
        "SELECT i AS order_no, i % 7 AS line, 'P' || (i * 31 % 97) AS part, 5 + i % 40 AS quantity FROM range(400) t(i)"
    )
    received = f"SELECT *, 7000 + order_no AS receipt, DATE '2024-01-01' + order_no::INTEGER AS day FROM ({bought})"
    found = copies_among({"purchase_lines": bought, "movements": f"FROM ({received}) WHERE order_no % 40 <> 0"})
    assert found == {}
    found = copies_among({"movements_bak": bought, "movements": f"FROM ({received}) WHERE order_no % 40 <> 0"})
    assert [(copy.table, copy.original) for copy in found.values()] == [("shop/movements_bak", "shop/movements")]
