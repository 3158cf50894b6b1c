"""Relations on made-up tables: every kind of transformation, traps of serial numbers, declared keys, odd input."""

from __future__ import annotations

import datetime
import hashlib
import random
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from coset.environment.source import Column, ForeignKey
from coset.relations.joins import JoinableTable, find_relations
from coset.session.guard import check, parse
from coset.state.objects import Reference, Relation


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        yield opened


def table(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    columns: dict[str, list],
    *,
    source: str = "shop",
    types: dict[str, str] | None = None,
    primary_key: tuple[str, ...] = (),
    foreign_keys: tuple[ForeignKey, ...] = (),
    members: tuple[str, ...] = (),
) -> JoinableTable:
    relation = '"' + f"{source} {name}".replace('"', '""') + '"'
    arrow = pa.table([pa.array(values) for values in columns.values()], names=[f"c{n}" for n in range(len(columns))])
    connection.register("incoming", arrow)
    listed = []
    for number, column in enumerate(columns):
        value = f"c{number}"
        if types and column in types:
            value = f"CAST({value} AS {types[column]})"
        listed.append(f'{value} AS "{column.replace(chr(34), chr(34) * 2)}"')
    connection.execute(f"CREATE TABLE {relation} AS SELECT {', '.join(listed)} FROM incoming").fetchall()
    connection.unregister("incoming")
    described = connection.execute(f"DESCRIBE {relation}").fetchall()
    found = tuple(Column(row[0], row[1], row[0], row[1]) for row in described)
    rows = len(next(iter(columns.values())))
    return JoinableTable(Reference(source, None, name), relation, found, rows, primary_key, foreign_keys, members)


def codes(count: int, salt: str = "") -> list[str]:
    return [hashlib.sha256(f"{salt}{number}".encode()).hexdigest()[:10] for number in range(count)]


def drawn(values: list, count: int, seed: int = 1) -> list:
    rng = random.Random(seed)
    return [rng.choice(values) for _ in range(count)]


def pairs(relations: list[Relation]) -> set[tuple[str, str]]:
    return {
        (" + ".join(str(each) for each in relation.left), " + ".join(str(each) for each in relation.right))
        for relation in relations
    }


def only(relations: list[Relation]) -> Relation:
    assert len(relations) == 1, pairs(relations)
    return relations[0]


def matched(
    connection: duckdb.DuckDBPyConnection, relation: Relation, left: JoinableTable, right: JoinableTable
) -> float:
    """The match rate by running the expressions as anybody would, after the guard has seen them."""
    sql = (
        f"SELECT avg(CASE WHEN k IN (SELECT {relation.right_expression} FROM right_side) THEN 1.0 ELSE 0.0 END) "
        f"FROM (SELECT {relation.left_expression} AS k FROM left_side) WHERE k IS NOT NULL"
    )
    check(parse(sql), lambda _: True)
    for name, each in (("left_side", left), ("right_side", right)):
        connection.execute(f"CREATE OR REPLACE VIEW {name} AS SELECT * FROM {each.relation}").fetchall()
    return connection.execute(sql).fetchall()[0][0]


KEYS = codes(80)
NUMBERS = random.Random(3).sample(range(100_000, 999_999), 80)
DAYS = [datetime.date(2024, 1, 1) + datetime.timedelta(days=number) for number in range(80)]


def on_some(values: list, change, share: float = 0.2) -> list:
    rng = random.Random(5)
    return [change(value) if rng.random() < share else value for value in values]


TRANSFORMATIONS = {
    "identity": (KEYS, lambda key: key, None),
    "trim": (KEYS, lambda key: f"{key}  ", None),
    "case": (KEYS, lambda key: key.upper(), None),
    "stray_characters": (KEYS, lambda key: f"#{key} ", None),
    "prefix": (NUMBERS, lambda key: f"cust_{key}", None),
    "suffix": (NUMBERS, lambda key: f"{key}_cu", None),
    "zero_padding": ([str(number) for number in NUMBERS], lambda key: key.zfill(10), None),
    "numeric": (NUMBERS, lambda key: f"{key}.0", None),
    "separators": (KEYS, lambda key: f"{key[:3]}-{key[3:6]}-{key[6:]}", None),
    "date": (DAYS, lambda key: key.strftime("%d.%m.%Y"), None),
    "piece": (NUMBERS, lambda key: f"C{key % 7}X/{2015 + key % 9}/{key}", None),
}


@pytest.mark.parametrize("kind", TRANSFORMATIONS)
def test_each_transformation_is_found_with_expressions_that_join_every_row(connection, kind):
    keys, write, _ = TRANSFORMATIONS[kind]
    customers = table(connection, "customers", {"customer_key": keys, "city": drawn(["Rome", "Oslo", "Bern"], 80)})
    orders = table(
        connection,
        "orders",
        {"amount": [number / 7 for number in range(400)], "customer_key": [write(key) for key in drawn(keys, 400)]},
        source="sales",
    )
    relation = only(find_relations(connection, [customers, orders]))
    assert (str(relation.left[0]), str(relation.right[0])) == (
        "sales/orders.customer_key",
        "shop/customers.customer_key",
    )
    assert relation.kind == kind
    assert relation.cardinality == "n:1"
    assert relation.left_match.value == 1.0
    assert relation.unmatched_left == ()
    assert matched(connection, relation, orders, customers) == 1.0


def test_prefixes_that_differ_on_both_sides_are_swapped(connection):
    left = table(
        connection,
        "ratings",
        {"stars": drawn([1, 2, 3], 900), "item_ref": [f"rateid_{n}" for n in drawn(list(range(1, 301)), 900)]},
    )
    right = table(connection, "items", {"item_id": [f"itemid_{n}" for n in range(1, 301)], "label": codes(300, "x")})
    relation = only(find_relations(connection, [left, right]))
    assert relation.kind == "prefix_swap"
    assert matched(connection, relation, left, right) == 1.0


def test_stray_characters_on_some_rows_of_both_sides(connection):
    accounts = table(connection, "Account", {"Id": on_some(codes(60), lambda key: f"#{key}")}, source="core")
    calls = table(
        connection, "Call", {"OwnerRef": on_some(drawn(codes(60), 200), lambda key: f"{key}  ")}, source="phone"
    )
    relation = only(find_relations(connection, [accounts, calls]))
    assert relation.kind == "stray_characters"
    assert relation.left_match.value == 1.0
    assert matched(connection, relation, calls, accounts) == 1.0


def test_numbers_written_with_separators_join_plain_numbers(connection):
    numbers = random.Random(4).sample(range(1000, 9999), 90)
    customers = table(connection, "customers", {"customer_id": numbers, "name": codes(90, "n")})
    orders = table(connection, "orders", {"customer_id": [f"{n // 1000}-{n % 1000:03}" for n in drawn(numbers, 300)]})
    relation = only(find_relations(connection, [customers, orders]))
    assert relation.kind == "separators"
    assert relation.left_match.value == 1.0
    assert matched(connection, relation, orders, customers) == 1.0


def test_values_that_name_the_tables_of_a_family(connection):
    names = tuple(sorted({code[:4].upper() for code in codes(120, "t")}))
    family = table(
        connection,
        "trades",
        {"day": DAYS, "price": [number / 3 for number in range(80)]},
        source="trade",
        members=names,
    )
    listing = table(connection, "listing", {"symbol": [*names[:90], "ZZZZ1"], "company": codes(91, "c")})
    relation = only(find_relations(connection, [family, listing]))
    assert relation.kind == "table_name"
    assert (str(relation.left[0]), str(relation.right[0])) == ("shop/listing.symbol", "trade/trades")
    named = connection.execute(f"SELECT {relation.right_expression}").fetchall()
    assert [row[0] for row in named] == list(names), "the names stand in the expression, which needs no table"
    check(parse(f"SELECT {relation.right_expression}"), lambda _: True)
    assert relation.left_match.value == pytest.approx(90 / 91)
    assert relation.right_match.value == pytest.approx(90 / len(names))
    assert relation.unmatched_left == ("ZZZZ1",)


def test_serial_numbers_alone_join_nothing(connection):
    tables = [
        table(
            connection,
            name,
            {"id": list(range(1, rows + 1)), "label": codes(rows, name), "weight": [n / 7 for n in range(rows)]},
        )
        for name, rows in (("pumps", 100), ("invoices", 140), ("songs", 90))
    ]
    tables.append(table(connection, "visits", {"id": list(range(1, 201)), "age": drawn(list(range(20, 70)), 200)}))
    tables.append(table(connection, "beds", {"id": list(range(1, 71)), "floor": drawn([1, 2, 3, 4, 5], 70)}))
    assert pairs(find_relations(connection, tables)) == set()


def test_of_two_parents_with_the_same_numbers_the_name_decides(connection):
    tables = [
        table(connection, "customers", {"id": list(range(1, 101)), "name": codes(100, "n")}),
        table(connection, "products", {"id": list(range(1, 101)), "label": codes(100, "l")}),
        table(
            connection,
            "orders",
            {
                "id": list(range(1, 301)),
                "customer_id": drawn(list(range(1, 101)), 300, 1),
                "product_id": drawn(list(range(1, 101)), 300, 2),
            },
        ),
    ]
    assert pairs(find_relations(connection, tables)) == {
        ("shop/orders.customer_id", "shop/customers.id"),
        ("shop/orders.product_id", "shop/products.id"),
    }


def test_two_foreign_keys_of_one_parent_are_not_joined_with_each_other(connection):
    keys = codes(50)
    tables = [
        table(connection, "person", {"id": keys, "born": drawn(DAYS, 50)}),
        table(connection, "badge", {"person_id": keys[:40], "colour": drawn(["red", "blue"], 40)}),
        table(connection, "trip", {"person_id": drawn(keys, 300), "length": [n / 3 for n in range(300)]}),
    ]
    assert pairs(find_relations(connection, tables)) == {
        ("shop/badge.person_id", "shop/person.id"),
        ("shop/trip.person_id", "shop/person.id"),
    }


def test_a_key_that_refers_to_several_tables(connection):
    one, other = codes(60, "a"), codes(60, "b")
    tables = [
        table(connection, "lead", {"id": one, "name": codes(60, "x")}),
        table(connection, "deal", {"id": other, "name": codes(60, "y")}),
        table(connection, "task", {"what": drawn(one + other, 400), "hours": [n / 3 for n in range(400)]}),
    ]
    assert pairs(find_relations(connection, tables)) == {
        ("shop/task.what", "shop/lead.id"),
        ("shop/task.what", "shop/deal.id"),
    }


def test_dangling_keys_are_counted_and_shown(connection):
    keys = codes(80)
    parent = table(connection, "parent", {"id": keys[:60], "size": [n / 3 for n in range(60)]})
    child = table(connection, "child", {"parent_id": keys[:80] * 5 + [None] * 10})
    relation = only(find_relations(connection, [parent, child]))
    assert relation.left_match.value == pytest.approx(0.75)
    assert relation.right_match.value == 1.0
    assert set(relation.unmatched_left) <= set(keys[60:])
    assert len(relation.unmatched_left) == 5


def test_a_column_without_values_is_joined_by_its_name_alone(connection):
    keys = {name: codes(40, name) for name in ("contact", "account")}
    tables = [table(connection, name, {"id": keys[name], "note": codes(40, name + "n")}) for name in keys]
    tables.append(
        table(connection, "cases", {"contactid": drawn(keys["contact"], 90), "accountid": drawn(keys["account"], 90)})
    )
    tables.append(table(connection, "quotes", {"accountid": drawn(keys["account"], 90)}))
    tables.append(
        table(
            connection,
            "chats",
            {"contactid": [None] * 9, "visitorid": [None] * 9},
            types={"contactid": "VARCHAR", "visitorid": "VARCHAR"},
        )
    )
    relations = {str(each.left[0]): each for each in find_relations(connection, tables)}
    proposed = relations["shop/chats.contactid"]
    assert str(proposed.right[0]) == "shop/contact.id"
    assert proposed.provenance == "inferred"
    assert proposed.confidence <= 0.6
    assert "shop/chats.visitorid" not in relations
    assert len(relations) == 4


def test_a_composite_key_joins_where_no_single_column_does(connection):
    places, days = [f"{code} site" for code in codes(12)], list(range(1, 21))
    pairs_of = [(place, day) for place in places for day in days]
    rows = drawn(pairs_of, 500)
    plan = table(
        connection,
        "plan",
        {"site": [p for p, _ in pairs_of], "week": [d for _, d in pairs_of], "hours": [n / 3 for n in range(240)]},
    )
    work = table(
        connection,
        "work",
        {"site": [p for p, _ in rows], "week": [d for _, d in rows], "cost": [n / 9 for n in range(500)]},
    )
    relation = only(find_relations(connection, [plan, work]))
    assert [str(each) for each in relation.left] == ["shop/work.site", "shop/work.week"]
    assert relation.left_match.value == 1.0
    assert relation.cardinality == "n:1"
    assert matched(connection, relation, work, plan) == 1.0


def test_declared_keys_are_kept_whatever_they_match(connection):
    parent = table(connection, "parent", {"code": [1, 2, 3], "kind": [1, 1, 1], "x": codes(3)})
    child = table(
        connection,
        "child",
        {"ref": [1, 2, 9, None], "kind": [1, 1, 1, 1]},
        foreign_keys=(
            ForeignKey(("ref",), None, "parent", ("code",)),
            ForeignKey(("ref", "kind"), None, "PARENT", ("code", "kind")),
            ForeignKey(("ref",), None, "gone", ("id",)),
        ),
    )
    relations = find_relations(connection, [parent, child])
    assert [each.provenance for each in relations] == ["declared", "declared"]
    single, double = sorted(relations, key=lambda each: len(each.left))
    assert single.left_match.value == pytest.approx(2 / 3)
    assert single.unmatched_left == ("9",)
    assert double.left_match.value == pytest.approx(2 / 3)


def test_elements_of_lists_join(connection):
    keys = codes(40)
    tags = table(connection, "tag", {"id": keys, "text": codes(40, "t")})
    posts = table(connection, "post", {"tag_ids": [drawn(keys, 3, n) for n in range(120)]})
    texts = table(connection, "memo", {"tag_ids": ['["' + '","'.join(drawn(keys, 3, n)) + '"]' for n in range(120)]})
    relations = find_relations(connection, [tags, posts, texts])
    assert pairs(relations) == {("shop/post.tag_ids[]", "shop/tag.id"), ("shop/memo.tag_ids[]", "shop/tag.id")}
    for relation in relations:
        assert relation.left_match.value == 1.0
        check(parse(f"SELECT {relation.left_expression} FROM memo"), lambda _: True)


def test_odd_names_empty_tables_and_single_rows_do_no_harm(connection):
    keys = codes(30)
    odd = 'id "of" it; DROP'
    tables = [
        table(connection, "it's / a.table", {odd: keys, "€": codes(30, "e")}),
        table(connection, "other [x]", {odd: drawn(keys, 90)}),
        table(connection, "empty", {"id": [], "other_id": []}, types={"id": "VARCHAR", "other_id": "INTEGER"}),
        table(connection, "one", {"id": [1], "flag": [True], "blob": [b"\x00\xff"]}),
        table(connection, "nulls", {"a": [None, None]}, types={"a": "VARCHAR"}),
        table(connection, "blank", {"a": ["", "  "], "b": ["-", None]}),
    ]
    relation = only(find_relations(connection, tables))
    assert relation.left[0].path == (odd,)
    check(parse(f"SELECT {relation.left_expression}, {relation.right_expression} FROM t"), lambda _: True)
    assert find_relations(connection, []) == []
    assert find_relations(connection, tables[2:3]) == []


def test_the_same_tables_give_the_same_relations_and_leave_nothing_behind(connection):
    keys = codes(60)
    tables = [
        table(connection, "a", {"id": keys, "v": codes(60, "v")}),
        table(connection, "b", {"a_id": on_some(drawn(keys, 200), lambda key: f"#{key}"), "n": list(range(200))}),
    ]
    before = connection.execute("SELECT count(*) FROM duckdb_tables()").fetchall()
    seen: list[str] = []
    first = find_relations(connection, tables, progress=seen.append)
    assert first == find_relations(connection, tables)
    assert first == find_relations(connection, tables, seed=9)
    assert seen == ["shop/a", "shop/b"]
    assert connection.execute("SELECT count(*) FROM duckdb_tables()").fetchall() == before


def test_prose_measures_and_truth_values_are_no_keys(connection):
    prose = ["It rained on the day we met and nothing was as it should have been, number " + code for code in codes(50)]
    tables = [
        table(connection, "letters", {"text": prose, "share": [n / 50 for n in range(50)], "done": ["yes", "no"] * 25}),
        table(connection, "notes", {"text": prose, "share": [n / 50 for n in range(50)], "done": ["yes", "no"] * 25}),
        table(connection, "states", {"done": ["yes", "no"], "word": ["done", "open"]}),
    ]
    assert pairs(find_relations(connection, tables)) == set()


def test_large_columns_are_joined_by_a_part_of_their_values(connection):
    connection.execute(
        "CREATE TABLE big AS SELECT md5(CAST(i AS VARCHAR)) AS id, i AS n FROM range(300000) AS t(i)"
    ).fetchall()
    connection.execute(
        "CREATE TABLE few AS SELECT md5(CAST(i * 997 AS VARCHAR)) AS big_id FROM range(250) AS t(i)"
    ).fetchall()
    varchar, number = ("VARCHAR", "BIGINT")
    big = JoinableTable(
        Reference("w", None, "big"),
        "big",
        (Column("id", varchar, "id", varchar), Column("n", number, "n", number)),
        300_000,
    )
    few = JoinableTable(Reference("w", None, "few"), "few", (Column("big_id", varchar, "big_id", varchar),), 250)
    relation = only(find_relations(connection, [big, few]))
    assert (str(relation.left[0]), str(relation.right[0])) == ("w/few.big_id", "w/big.id")
    assert relation.left_match.value == 1.0


@pytest.mark.shared
def test_the_known_joins_of_the_development_environments_are_found():
    shared = Path(__file__).parents[3] / "shared" / "environments"
    if not shared.is_dir():
        pytest.skip("the development environments are not here")
    import sys

    sys.path.insert(0, str(Path(__file__).parents[2]))
    import tempfile

    from benchmarks.relations import configuration, side_of, truth_of
    from benchmarks.relations_loading import open_environment

    with tempfile.TemporaryDirectory() as work:
        for name in ("agnews", "bookreview", "music_brainz_20k"):
            opened, tables = open_environment(configuration(shared / name, Path(work)))
            with opened:
                found = {
                    frozenset((side_of(each, "left"), side_of(each, "right")))
                    for each in find_relations(opened, tables)
                }
            assert {frozenset(pair) for pair in truth_of(shared, name)} <= found
