"""Relations found with what is kept of earlier runs are those that are found without."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace

import duckdb
import pyarrow as pa
import pytest

from coset.environment.corrections import Join as SaidJoin
from coset.environment.source import Column, ForeignKey
from coset.relations.joins import JoinableTable, column_values, find_relations, neighbours, overlap, relate
from coset.relations.joins.find import empty_memory, remember
from coset.relations.joins.memory import JoinMemory
from coset.state.objects import Reference, Relation

Values = dict[str, list]


class Environment:
    """Tables in a DuckDB of their own that can be changed, with relations kept from one look to the next."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self.connection = connection
        self.memory = empty_memory()
        self.tables: dict[str, JoinableTable] = {}
        self.read: list[str] = []

    def put(self, name: str, values: Values, **options: object) -> None:
        self.put_all({name: values}, **options)

    def put_all(self, tables: dict[str, Values], **options: object) -> None:
        for name, values in tables.items():
            self._make(name, values, **options)
        self.memory.forget([f"shop/{name}" for name in tables])
        remember(self.memory, self.connection, [self.tables[name] for name in tables])

    def _make(self, name: str, values: Values, **options: object) -> None:
        self.connection.register("incoming", pa.table(values))
        self.connection.execute(f'CREATE OR REPLACE TABLE "{name}" AS FROM incoming').fetchall()
        self.connection.unregister("incoming")
        described = self.connection.execute(f'DESCRIBE "{name}"').fetchall()
        columns = tuple(Column(row[0], row[1], row[0], row[1]) for row in described)
        rows = len(next(iter(values.values())))
        table = JoinableTable(Reference("shop", None, name), f'"{name}"', columns, rows)
        self.tables[name] = replace(table, **options)

    def drop(self, name: str) -> None:
        del self.tables[name]
        self.memory.forget([f"shop/{name}"])

    def kept(self) -> list[Relation]:
        self.read.clear()
        tables = list(self.tables.values())
        return relate(self.memory, self.connection, tables, lambda table: self.read.append(str(table.reference.table)))

    def fresh(self) -> list[Relation]:
        return find_relations(self.connection, list(self.tables.values()))


@pytest.fixture
def environment() -> Iterator[Environment]:
    with duckdb.connect() as connection:
        made = Environment(connection)
        yield made
        made.memory.tables.close()


def codes(count: int, salt: str) -> list[str]:
    rng = random.Random(salt)
    return [f"{rng.randrange(16**10):010x}" for _ in range(count)]


def drawn(values: list, count: int, seed: int = 1) -> list:
    rng = random.Random(seed)
    return [rng.choice(values) for _ in range(count)]


def company(environment: Environment) -> None:
    people, products = codes(80, "people"), [f"PR-{n:04}" for n in range(60)]
    pairs = [(place, week) for place in codes(9, "places") for week in range(20)]
    worked = drawn(pairs, 400)
    tables: dict[str, Values] = {
        "person": {"id": people, "name": codes(80, "names")},
        "product": {"product_id": products, "price": [n / 7 for n in range(60)]},
        "orders": {
            "order_no": list(range(1, 301)),
            "buyer": [f"#{key}" for key in drawn(people, 300)],
            "product": drawn(products, 300, 2),
        },
        "returns": {"order_no": drawn(list(range(1, 301)), 90), "why": drawn(["broken", "late"], 90)},
        "plan": {"site": [p for p, _ in pairs], "week": [w for _, w in pairs]},
        "work": {"site": [p for p, _ in worked], "week": [w for _, w in worked]},
    }
    environment.put_all(tables)


CHANGES: dict[str, Callable[[Environment], None]] = {
    "rows are added": lambda e: e.put("person", {"id": codes(95, "people"), "name": codes(95, "names")}),
    "a parent loses its keys": lambda e: e.put("product", {"product_id": codes(60, "x"), "price": [1.5] * 60}),
    "a child refers elsewhere": lambda e: e.put(
        "returns", {"order_no": drawn(codes(80, "people"), 90), "why": drawn(["broken", "late"], 90)}
    ),
    "a table is gone": lambda e: e.drop("person"),
    "a better parent comes": lambda e: e.put("buyers", {"buyer": codes(80, "people"), "city": codes(80, "c")}),
    "a composite key is broken": lambda e: e.put("plan", {"site": codes(9, "places") * 20, "week": [3] * 180}),
    "a key is declared": lambda e: e.put(
        "returns",
        {"order_no": drawn(list(range(1, 301)), 90), "why": drawn(["broken", "late"], 90)},
        foreign_keys=(ForeignKey(("order_no",), None, "orders", ("order_no",)),),
    ),
    "a table loses all rows": lambda e: e.put("orders", {"order_no": [0][:0], "buyer": [""][:0], "product": [""][:0]}),
    "a family is named by values": lambda e: e.put(
        "prices {}", {"day": list(range(70)), "open": [n / 3 for n in range(70)]},
        members=tuple(f"PR-{n:04}" for n in range(60)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_after_a_change_the_relations_are_those_of_a_fresh_look(environment: Environment, change: str):
    company(environment)
    before = environment.kept()
    assert before == environment.fresh() and len(before) >= 4
    CHANGES[change](environment)
    after = environment.kept()
    assert after == environment.fresh()
    assert after != before
    company(environment)  # And back.
    assert environment.kept() == environment.fresh()


def test_only_tables_that_a_new_test_needs_are_read(environment: Environment):
    company(environment)
    environment.kept()
    assert environment.kept() == environment.fresh() and environment.read == []
    CHANGES["a child refers elsewhere"](environment)
    environment.kept()
    assert set(environment.read) == {"returns", "person"}


def test_a_table_that_is_away_for_a_while_is_related_again(environment: Environment):
    company(environment)
    before = environment.kept()
    person = environment.tables.pop("person")
    assert environment.kept() == environment.fresh() != before
    environment.tables["person"] = person
    assert environment.kept() == before


@pytest.mark.parametrize("seed", range(2))
def test_many_look_alike_columns_changed_at_random(
    environment: Environment, seed: int, monkeypatch: pytest.MonkeyPatch
):
    """With bounds so low that every one of them is reached."""
    monkeypatch.setattr(neighbours, "MOST_RIGHTS", 4)
    monkeypatch.setattr("coset.relations.joins.neighbours.MOST_RIGHTS", 4)
    monkeypatch.setattr(neighbours, "MANY_HOLDERS", 6)
    monkeypatch.setattr(overlap, "MOST_PAIRED", 20_000)
    rng = random.Random(seed)
    words = ("alpha", "beta", "gamma", "delta")

    def a_table(number: int) -> Values:
        rows = rng.choice((40, 40, 40, 55))
        word = rng.choice(words)
        return {
            f"{word}_id": rng.sample(range(rows * rng.choice((1, 1, 3))), rows),
            f"{rng.choice(words)}_code": [f"item {n}" for n in range(rows)],
            "label": drawn(codes(30, word), rows, number),
        }

    names = [f"{words[number % 4]}{chr(97 + number)}" for number in range(12)]
    environment.put_all({name: a_table(number) for number, name in enumerate(names)})
    assert environment.kept() == environment.fresh()
    for _ in range(4):
        for number in rng.sample(range(12), rng.choice((1, 1, 2))):
            if rng.random() < 0.25 and names[number] in environment.tables:
                environment.drop(names[number])
            else:
                environment.put(names[number], a_table(number))
        assert environment.kept() == environment.fresh()


def test_a_large_column_is_asked_for_the_keys_of_a_new_one(environment: Environment, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(column_values, "COUNTED_ROWS", 1_000)
    monkeypatch.setattr(column_values, "KEPT_VALUES", 500)
    environment.connection.execute(
        "CREATE TABLE big AS SELECT md5(CAST(i AS VARCHAR)) AS id, i * 3 AS n FROM range(20000) AS t(i)"
    ).fetchall()
    columns = (Column("id", "VARCHAR", "id", "VARCHAR"), Column("n", "BIGINT", "n", "BIGINT"))
    environment.tables["big"] = JoinableTable(Reference("shop", None, "big"), "big", columns, 20_000)
    remember(environment.memory, environment.connection, [environment.tables["big"]])
    assert environment.kept() == []
    found = environment.connection.execute("SELECT id FROM big WHERE n % 97 = 0 ORDER BY n").fetchall()
    environment.put("few", {"big_id": [row[0] for row in found]})
    [relation] = environment.kept()
    assert relation.left_match.value == 1.0 and [relation] == environment.fresh()
    assert "207 of 207 values" in relation.reasons[0], "though only a part of the large column's keys is kept"


def test_of_keys_only_hashes_are_kept(environment: Environment):
    company(environment)
    [relation] = [each for each in environment.kept() if each.left[0].path == ("buyer",)]
    text = str(environment.memory.tables.contents())
    kept = {code for code in (*codes(80, "people"), *codes(80, "names")) if code in text}
    assert kept == set(relation.unmatched_right), "as examples, what finds no partner is shown"


def test_an_empty_memory_has_nothing_to_relate():
    memory: JoinMemory = empty_memory()
    with duckdb.connect() as connection:
        assert relate(memory, connection, []) == []
    memory.tables.close()


def test_what_people_say_of_joins_wins(environment: Environment):
    company(environment)
    rejected = SaidJoin(left=("shop/orders.buyer",), right=("shop/person.id",), rejected=True)
    declared = SaidJoin(left=("shop/work.site",), right=("shop/plan.site",))
    found = relate(
        environment.memory, environment.connection, list(environment.tables.values()), said=[rejected, declared]
    )
    pairs = {(str(each.left[0]), str(each.right[0])): each for each in found if len(each.left) == 1}
    assert ("shop/orders.buyer", "shop/person.id") not in pairs
    stated = pairs["shop/work.site", "shop/plan.site"]
    assert (stated.provenance, stated.confidence, stated.left_match.value) == ("stated", 1.0, 1.0)
    again = relate(environment.memory, environment.connection, list(environment.tables.values()), said=[rejected])
    assert ("shop/orders.buyer", "shop/person.id") not in {(str(each.left[0]), str(each.right[0])) for each in again}
