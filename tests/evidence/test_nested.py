"""Paths inside nested columns and inside text that holds JSON or Python literals."""

from __future__ import annotations

import datetime
import json
import random
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from coset.evidence import nested
from coset.evidence.nested import NestedPath, as_json_text, find_paths
from coset.session.guard import check, parse

ENVIRONMENTS = Path(__file__).parents[3] / "shared" / "environments"


def column(values: list[str | None], name: str = "c") -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    quoted = '"' + name.replace('"', '""') + '"'
    connection.execute(f"CREATE TABLE t AS SELECT unnest($1::VARCHAR[]) AS {quoted}", [values])
    return connection


def paths(
    connection: duckdb.DuckDBPyConnection, type: str = "VARCHAR", name: str = "c"
) -> dict[tuple[str, ...], NestedPath]:
    found = find_paths(connection, "t", name, type)
    if type == "VARCHAR":
        texts = connection.execute("SELECT left(c, 301) FROM t AS t(c) WHERE c IS NOT NULL LIMIT 1000").fetchall()
        assert find_paths(connection, "t", name, type, glance=[text for (text,) in texts]) == found
    for path in found:
        check(parse(f"SELECT {path.expression} FROM src.t"), lambda table: True)
        if path.keys_expression:
            check(parse(f"SELECT {path.keys_expression} FROM src.t"), lambda table: True)
    return {path.path: path for path in found}


def read(connection: duckdb.DuckDBPyConnection, path: NestedPath) -> list[object]:
    described = connection.execute(f"DESCRIBE SELECT {path.expression} AS v FROM t").fetchall()
    assert described[0][1] == path.type
    return [row[0] for row in connection.execute(f"SELECT {path.expression} FROM t").fetchall()]


def documents(count: int = 60) -> list[dict[str, object]]:
    names = ["Anna", "O'Neil", 'the "Rock"', "both ' and \"", "Zoë\tTab", "back\\slash", "None", "a, b: {c}"]
    return [
        {
            "id": n,
            "name": names[n % len(names)],
            "price": n / 4 if n % 3 else None,
            "active": n % 2 == 0,
            "tags": [f"t{n % 5}", "x"][: n % 3],
            "owner": {"city": f"City {n % 4}", "zip code": f"{n:05}"},
            "lines": [{"sku": f"S{n}-{k}", "count": k} for k in range(n % 4)],
        }
        for n in range(count)
    ]


@pytest.mark.parametrize("write", [json.dumps, repr], ids=["json", "python"])
def test_documents_in_text_give_every_value_back(write) -> None:
    made = documents()
    connection = column([write(one) for one in made])
    found = paths(connection)
    assert read(connection, found["id",]) == [one["id"] for one in made]
    assert read(connection, found["name",]) == [one["name"] for one in made]
    assert read(connection, found["price",]) == [one["price"] for one in made]
    assert read(connection, found["active",]) == [one["active"] for one in made]
    assert read(connection, found["tags", "[]"]) == [one["tags"] for one in made]
    assert read(connection, found["owner", "city"]) == [one["owner"]["city"] for one in made]  # type: ignore[index]
    assert read(connection, found["owner", "zip code"]) == [one["owner"]["zip code"] for one in made]  # type: ignore[index]
    assert read(connection, found["lines", "[]", "sku"]) == [[line["sku"] for line in one["lines"]] for one in made]  # type: ignore[index,attr-defined]
    assert read(connection, found["lines", "[]", "count"]) == [[line["count"] for line in one["lines"]] for one in made]  # type: ignore[index,attr-defined]
    assert len(found) == 9
    assert found["price",].coverage.value == pytest.approx(40 / 60)
    assert found["tags", "[]"].coverage.value == pytest.approx(40 / 60)
    assert found["lines", "[]", "sku"].coverage.value == pytest.approx(45 / 60)
    assert all(path.coverage.error == 0 for path in found.values())
    assert found["owner", "city"].examples == ("City 0", "City 1", "City 2")


def test_lists_of_python_strings_in_text() -> None:
    lists = [["a", "b's"], ["c"], [], ["Salt, Pepper & Spice", 'say "x"']] * 5
    connection = column([repr(one) for one in lists])
    found = paths(connection)
    assert list(found) == [("[]",)]
    assert read(connection, found["[]",]) == lists
    assert "Python literals" in found["[]",].description
    assert found["[]",].coverage.value == 0.75


def test_what_cannot_be_converted_is_counted_and_reads_as_null() -> None:
    texts = ["{'a': 1}"] * 8 + ["{'a': 'it's'}", "{'x', 'y'}"]
    connection = column([*texts])
    found = paths(connection)
    assert read(connection, found["a",]) == [1] * 8 + [None] * 2
    assert found["a",].coverage.value == 0.8
    assert "20.0% cannot be converted" in found["a",].description


def test_json_and_python_literals_may_stand_in_one_column() -> None:
    connection = column(['{"a": null, "b": "x"}', "{'a': None, 'b': 'y'}", "{'a': 3, 'b': \"z's\"}"])
    found = paths(connection)
    assert read(connection, found["b",]) == ["x", "y", "z's"]
    assert read(connection, found["a",]) == [None, None, 3]


def test_python_literals_become_the_json_of_the_same_value() -> None:
    chance = random.Random(4)
    letters = "ab'\"\\\n\t\r\x00\x1b\xa0é,{}[]():NoneTrue nan x41u😀"

    def value(depth: int) -> object:
        kind = chance.random()
        if depth < 3 and kind < 0.25:
            return {text(): value(depth + 1) for _ in range(3)}
        if depth < 3 and kind < 0.5:
            return [value(depth + 1) for _ in range(3)]
        return chance.choice([None, True, False, 3, -2.5, 1e20, text()])

    def text() -> str:
        return "".join(chance.choices(letters, k=chance.randrange(0, 10)))

    values = [value(0) for _ in range(1500)]
    connection = column([repr(one) for one in values])
    made = connection.execute(f"SELECT try_cast({as_json_text(chr(34) + 'c' + chr(34))} AS JSON) FROM t").fetchall()
    assert [json.loads(row[0]) for row in made] == values


def test_tuples_and_calls_become_lists() -> None:
    value = {"t": (1,), "d": Decimal("1.5"), "w": datetime.datetime(2020, 1, 5, 0, 0), 7: "k"}
    connection = column([repr(value)] * 3)
    found = paths(connection)
    assert read(connection, found["t", "[]"])[0] == [1]
    assert read(connection, found["d", "[]"])[0] == ["1.5"]
    assert read(connection, found["w", "[]"])[0] == [2020, 1, 5, 0, 0]
    assert read(connection, found["7",])[0] == "k"


def test_structs_lists_and_maps_give_their_leaves() -> None:
    connection = duckdb.connect()
    connection.execute(
        """CREATE TABLE t AS SELECT {'a': n, 'b c': [{'x': 'p' || n, 'y': [n, n + 1]}, {'x': 'q', 'y': NULL}],
           'm': MAP {'k' || n: {'z': n / 2}}} AS c, [[1, n], []] AS l, MAP {'one': n, 'two': 2} AS m, row(n, 'x') AS r,
           [n, 1, 2]::INTEGER[3] AS f FROM range(4) s(n) UNION ALL SELECT NULL, NULL, NULL, NULL, NULL"""
    )
    types = {row[0]: row[1] for row in connection.execute("DESCRIBE t").fetchall()}
    found = paths(connection, types["c"])
    assert list(found) == [("a",), ("b c", "[]", "x"), ("b c", "[]", "y", "[]"), ("m", "*", "z")]
    assert sorted(read(connection, found["b c", "[]", "y", "[]"])[:4]) == [[0, 1], [1, 2], [2, 3], [3, 4]]  # type: ignore[type-var]
    assert found["a",].coverage.value == 0.8
    assert found["m", "*", "z"].type.endswith("[]")
    assert list(paths(connection, types["l"], "l")) == [("[]", "[]")]
    assert paths(connection, types["m"], "m")["*",].keys_expression == 'map_keys("m")'
    assert list(paths(connection, types["r"], "r")) == [("1",), ("2",)]
    assert read(connection, paths(connection, types["f"], "f")["[]",])[0] == [0, 1, 2]


def test_keys_that_are_data_are_one_path() -> None:
    made = [{"prices": {f"2020-01-{(n + k) % 28 + 1:02}": {"open": n + k} for k in range(3)}} for n in range(40)]
    connection = column([json.dumps(one) for one in made])
    found = paths(connection)
    assert list(found) == [("prices", "*", "open")]
    assert read(connection, found["prices", "*", "open"]) == [[n, n + 1, n + 2] for n in range(40)]
    flat = column([json.dumps({"votes": {f"user{n}x{k}": k for k in range(3)}}) for n in range(40)])
    votes = paths(flat)["votes", "*"]
    assert votes.keys_expression is not None
    keys = flat.execute(f"SELECT {votes.keys_expression} FROM t LIMIT 1").fetchone()
    assert keys == (["user0x0", "user0x1", "user0x2"],)


def test_a_place_that_holds_now_a_value_now_a_list_has_both_paths() -> None:
    connection = column(['{"a": "x"}', '{"a": ["y", "z"]}', '{"a": {"b": 1}}', '{"a": 3}'])
    found = paths(connection)
    assert read(connection, found["a",]) == ["x", None, None, "3"]
    assert "mixed types" in found["a",].description
    assert read(connection, found["a", "[]"])[1] == ["y", "z"]
    assert read(connection, found["a", "b"]) == [None, None, 1, None]


def test_odd_keys_are_read_or_left_out() -> None:
    value = {'q"uote': 1, "do.t": 2, "sl\\ash": 3, "star*": 4, "": 5, "it's": 6, "[0]": 7, "größe": 8}
    connection = column([json.dumps(value)] * 3, 'c "x"')
    found = paths(connection, name='c "x"')
    expected = {(key,): number for key, number in value.items() if key}
    assert {path: read(connection, one)[0] for path, one in found.items()} == expected


def test_deep_documents_are_handed_on_whole_below_six_steps() -> None:
    deep: object = "end"
    for _ in range(40):
        deep = {"a": deep}
    connection = column([json.dumps(deep)] * 3)
    found = paths(connection)
    assert list(found) == [("a",) * 6]
    assert found[("a",) * 6].type == "JSON"
    endless = '{"a":' * 20_000 + "1" + "}" * 20_000
    assert list(paths(column([json.dumps(deep), endless]))) == [("a",) * 6]
    assert paths(column([endless] * 3)) == {}


def test_wide_documents_are_bounded() -> None:
    connection = column([json.dumps({f"{'xyz'[n % 3]}{chr(97 + n % 26)}field{n}q": n for n in range(1500)})] * 3)
    assert len(paths(connection)) <= 200


def test_a_column_with_one_huge_cell_is_read() -> None:
    huge = json.dumps({"items": [{"n": n} for n in range(200_000)]})
    connection = column([huge])
    found = paths(connection)
    assert list(found) == [("items", "[]", "n")]
    assert found["items", "[]", "n"].coverage.value == 1


def test_very_many_rows_are_counted_on_a_stated_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nested, "_ALL_ROWS", 10_000)
    monkeypatch.setattr(nested, "_SAMPLED_ROWS", 5_000)
    connection = duckdb.connect()
    connection.execute(
        """CREATE TABLE t AS SELECT CASE WHEN n % 4 = 0 THEN '{"b": 1}' ELSE '{"a": 1}' END AS c FROM range(20000) s(n)"""
    )
    found = paths(connection)["a",]
    assert 0 < found.coverage.error < 0.03
    assert abs(found.coverage.value - 0.75) <= 2 * found.coverage.error
    assert "5,000 sampled rows" in found.description


@pytest.mark.parametrize(
    "values",
    [
        [], [None] * 5, [""] * 5, ["plain words"] * 5, ["[draft] a note", "[final] another", "(see below)"], ["12"] * 5,
        ["{broken", "[1, 2", "{'a': "], ["[]"] * 5, ["{}"] * 5, ["{not json} at all"] * 5,
    ],
    ids=["no rows", "nulls", "empty", "words", "brackets", "numbers", "broken", "lists of none", "no keys", "braces"],
)  # fmt: skip
def test_plain_columns_have_no_paths(values: list[str | None]) -> None:
    assert paths(column(values)) == {}


def test_other_types_have_no_paths() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT range AS c FROM range(5)")
    assert find_paths(connection, "t", "c", "BIGINT") == []
    assert find_paths(connection, "t", "c", "DECIMAL(10,2)") == []


def test_a_json_column_is_read_without_conversion() -> None:
    connection = duckdb.connect()
    connection.execute("""CREATE TABLE t AS SELECT '{"a": [1, 2]}'::JSON AS c FROM range(5)""")
    found = paths(connection, "JSON")
    assert read(connection, found["a", "[]"]) == [[1, 2]] * 5


def test_a_column_may_bear_the_name_of_its_key_or_of_anything_used_inside() -> None:
    for name in ("a", "x", "v", "document"):
        connection = duckdb.connect()
        connection.execute(
            f"""CREATE TABLE t AS SELECT '{{"{name}": 1, "b": [{{"{name}": 2}}]}}'::JSON AS {name} FROM range(4)"""
        )
        found = paths(connection, "JSON", name)
        assert {path: (read(connection, one)[0], one.coverage.value) for path, one in found.items()} == {
            (name,): (1, 1.0),
            ("b", "[]", name): ([2], 1.0),
        }
        as_text = column([f"{{'{name}': \"it's\"}}"] * 4, name)
        assert read(as_text, paths(as_text, name=name)[name,]) == ["it's"] * 4


def test_a_variant_is_read_as_json() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT {'a': [1, 2], 'b': 'x'}::VARIANT AS c FROM range(4)")
    found = paths(connection, "VARIANT")
    assert read(connection, found["b",]) == ["x"] * 4


# --------------------------------------------------------------------------------------------------------------------
# Real columns
# --------------------------------------------------------------------------------------------------------------------


@pytest.mark.shared
@pytest.mark.parametrize("name", ["author", "categories", "features", "description"])
def test_real_text_with_documents_gives_paths_that_read(name: str) -> None:
    file = ENVIRONMENTS / "bookreview/query_dataset/books_info.loaded.duckdb"
    if not file.exists():
        pytest.skip("the development environments are not here")
    connection = duckdb.connect(str(file), read_only=True)
    found = find_paths(connection, "books_info", name, "VARCHAR")
    assert found
    for path in found:
        check(parse(f"SELECT {path.expression} FROM src.t"), lambda table: True)
        connection.execute(f"SELECT {path.expression} FROM books_info").fetchall()
        assert path.coverage.value > 0.2
        assert path.examples
