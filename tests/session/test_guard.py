"""The guard against two files of statements: those that must be refused, and those that must pass and run."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from statement_corpus import CANARY, Statement, contents, fill_folder, locked, read, shop_knows

from coset.errors import NotAllowed, UserError
from coset.session import guard
from coset.session.allowed import lower, names
from coset.session.guard import Checked, TableName, check, parse

BYPASS = read("bypass_statements.sql")
HONEST = read("honest_statements.sql")


def by_name(statement: Statement) -> str:
    return statement.name


def tables_of(text: str) -> list[str]:
    return [str(table) for table in check(parse(text), lambda table: True).tables]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shop")
    fill_folder(folder)
    return folder


@pytest.fixture(scope="module")
def reader(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with locked(folder / "shop.duckdb") as connection:
        yield connection


# ---- the two files


def test_the_files_are_as_large_as_promised():
    assert len(BYPASS) >= 350
    assert len(HONEST) >= 200


@pytest.mark.parametrize("statement", BYPASS, ids=by_name)
def test_a_dangerous_statement_is_refused_for_the_right_reason(statement: Statement):
    with pytest.raises(UserError) as refusal:
        check(parse(statement.text), shop_knows)
    assert statement.says in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("statement", BYPASS, ids=by_name)
def test_what_the_engine_alone_does_with_it(
    statement: Statement, folder: Path, reader: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(folder)
    before = contents(folder)
    answer: list[Any] = []
    with reader.cursor() as connection:
        connection.execute("USE shop")
        try:
            result = connection.execute(statement.text)
            answer = result.fetchall() if result else []
            outcome = "answers"
        except duckdb.Error:
            outcome = "stops"
    assert outcome == statement.engine
    assert CANARY not in str(answer)
    assert contents(folder) == before


def test_without_locks_the_canaries_can_be_read(folder: Path, monkeypatch: pytest.MonkeyPatch):
    """Else the test above would prove nothing."""
    monkeypatch.chdir(folder)
    for file in ("read_text('canary.txt')", "'canary.csv'", "'canary.json'", "'canary.parquet'"):
        assert CANARY in str(duckdb.connect().execute(f"SELECT content FROM {file}").fetchall())


@pytest.mark.parametrize("statement", HONEST, ids=by_name)
def test_an_honest_statement_passes_and_runs(statement: Statement, reader: duckdb.DuckDBPyConnection):
    check(parse(statement.text), shop_knows)
    assert reader.sql(statement.text).to_arrow_table().num_columns > 0


# ---- the lists


def test_every_function_of_this_duckdb_was_reviewed():
    lists = names()
    for name, kind in (
        duckdb.connect()
        .execute("SELECT DISTINCT function_name, function_type FROM duckdb_functions() WHERE function_type <> 'pragma'")
        .fetchall()
    ):
        allowed = lists.table if kind in ("table", "table_macro") else lists.callable
        refused = lists.why_refused(lower(name)) is not None
        # A name may be harmless in one place and refused in the other, as `histogram` is.
        both = {"histogram"}
        assert (lower(name) in allowed) != refused or name in both, f"{kind} {name}"


def test_no_allowed_name_is_unknown_to_this_duckdb():
    lists = names()
    functions = {
        lower(n) for (n,) in duckdb.connect().execute("SELECT function_name FROM duckdb_functions()").fetchall()
    }
    assert lists.callable | lists.table <= functions
    types = {lower(n) for (n,) in duckdb.connect().execute("SELECT type_name FROM duckdb_types()").fetchall()}
    assert lists.types <= types
    assert types - lists.types == {"type"}


def test_no_function_that_touches_the_world_is_allowed():
    suspicious = ("read", "write", "file_", "glob", "scan", "secret", "env", "setting", "pragma", "duckdb", "query",
                  "sleep", "log_", "seq", "checkpoint", "serialize", "http", "variable", "attach", "copy")  # fmt: skip
    allowed = names().callable | names().table
    harmless = {"formatreadablesize", "formatreadabledecimalsize"}
    assert {name for name in allowed if any(part in name for part in suspicious)} == harmless


# ---- every node


def nodes(tree: Any) -> Iterator[dict[str, Any]]:
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, dict):
            yield node
            pending.extend(node.values())
        elif isinstance(node, list):
            pending.extend(node)


def test_a_new_field_is_refused_on_every_node():
    for statement in HONEST:
        tree = parse(statement.text)
        for node in nodes(tree["statements"][0]):
            node["of_tomorrow"] = {"class": "FUNCTION", "function_name": "read_text"}
            with pytest.raises(NotAllowed):
                check(tree, shop_knows)
            del node["of_tomorrow"]


def test_a_new_kind_is_refused_on_every_node():
    for statement in HONEST[::3]:
        tree = parse(statement.text)
        for node in nodes(tree["statements"][0]):
            for says in ("class", "type"):
                # A few parts say with "type" how they sort or count; those are no kinds of nodes.
                if says in node and isinstance(node[says], str) and "null_order" not in node:
                    was, node[says] = node[says], "OF_TOMORROW"
                    with pytest.raises(NotAllowed):
                        check(tree, shop_knows)
                    node[says] = was


def test_a_node_cannot_hide_in_a_plain_field():
    hidden = {"class": "FUNCTION", "type": "FUNCTION", "function_name": "read_text"}
    for statement in HONEST[::8]:
        tree = parse(statement.text)
        for node in nodes(tree["statements"][0]):
            for field, value in list(node.items()):
                if not isinstance(value, dict | list) and value is not None:
                    for hiding in (hidden, [hidden], [[hidden]]):
                        node[field] = hiding
                        with pytest.raises(UserError):
                            check(tree, shop_knows)
                    node[field] = value


@pytest.mark.parametrize(
    "tree",
    [
        {},
        {"error": None},
        {"error": False},
        {"error": False, "statements": "SELECT"},
        {"error": False, "statements": [None]},
        {"error": False, "statements": [{"node": []}]},
        {"error": False, "statements": [{"node": {"type": "SELECT_NODE", "cte_map": {"map": [{}]}}}]},
        {"error": False, "statements": [{"node": {"type": "SELECT_NODE", "select_list": 7}}]},
        {"error": False, "statements": [{"node": {"type": "SELECT_NODE", "from_table": {"type": "BASE_TABLE"}}}]},
    ],
)
def test_what_is_no_tree_of_duckdb_is_refused(tree: dict[str, Any]):
    with pytest.raises(UserError):
        check(tree, lambda table: True)


def test_a_function_named_differently_in_its_two_places_is_refused():
    tree = parse("SELECT upper('x')")
    tree["statements"][0]["node"]["select_list"][0]["qualified_name"]["path"] = ["read_text"]
    with pytest.raises(NotAllowed):
        check(tree, shop_knows)


# ---- tables


def test_the_tables_of_a_statement_come_once_each():
    text = """
        WITH recent AS (SELECT * FROM shop.main.orders WHERE id IN (SELECT id FROM archive.orders))
        SELECT * FROM recent JOIN customers ON true JOIN customers AS again ON true
        WHERE EXISTS (SELECT 1 FROM recent, edges) ORDER BY (SELECT max(visitor) FROM logs)
    """
    assert check(parse(text), shop_knows) == Checked(
        (
            TableName("shop", "main", "orders"),
            TableName("", "archive", "orders"),
            TableName("", "", "logs"),
            TableName("", "", "customers"),
            TableName("", "", "edges"),
        )
    )


@pytest.mark.parametrize(
    ("text", "tables"),
    [
        ("WITH a AS (SELECT 1) SELECT * FROM a", []),
        ('WITH "A" AS (SELECT 1) SELECT * FROM a', []),
        ("WITH a AS (SELECT * FROM b), b AS (SELECT 1) SELECT * FROM a", ["b"]),
        ("WITH RECURSIVE a AS (SELECT * FROM b), b AS (SELECT 1) SELECT * FROM a", ["b"]),
        ("WITH t AS (SELECT * FROM t) SELECT * FROM t", ["t"]),
        ("WITH RECURSIVE t AS (SELECT * FROM t) SELECT * FROM t", ["t"]),
        ("WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n FROM t WHERE false) FROM t", []),
        ("WITH RECURSIVE t AS (SELECT n FROM t UNION ALL SELECT n FROM t WHERE false) FROM t", ["t"]),
        ("WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL (WITH z AS (FROM t) FROM z WHERE false)) FROM t", []),
        ("WITH t AS (SELECT 1) SELECT * FROM main.t", ["main.t"]),
        ("WITH t AS (SELECT 1) SELECT (SELECT count(*) FROM t) FROM (FROM t), LATERAL (FROM t)", []),
        ("SELECT (WITH t AS (SELECT 1) FROM t) FROM t", ["t"]),
        ("(WITH t AS (SELECT 1) FROM t) UNION ALL FROM t", ["t"]),
        ("WITH t AS (SELECT 1) FROM t UNION ALL FROM t", []),
        ("FROM (WITH t AS (SELECT 1) FROM t) AS x, t", ["t"]),
        ("WITH t AS (SELECT 1 AS v) PIVOT t ON v IN (1) USING count(*)", []),
        ("WITH t AS (SELECT 1) SELECT * FROM (SUMMARIZE t)", []),
        ("WITH t AS (SELECT 1 AS v) SELECT v FROM t ORDER BY (SELECT 1 FROM t) LIMIT (SELECT 1 FROM t)", []),
        ("WITH t AS (SELECT 1) SELECT * FROM range((SELECT 1 FROM t))", []),
        ("WITH t AS (SELECT 1) SELECT * FROM (WITH t AS (SELECT * FROM t) FROM t)", []),
        ("WITH RECURSIVE t USING KEY (v) AS (SELECT 1 AS v UNION (SELECT v FROM recurring.t)) FROM t", []),
    ],
)
def test_names_in_with_count_only_where_duckdb_sees_them(text: str, tables: list[str]):
    assert tables_of(text) == tables
    # DuckDB agrees: with exactly these tables the statement runs, without any one of them it does not.
    for missing in [None, *tables]:
        connection = duckdb.connect()
        for table in tables:
            if table != missing:
                connection.execute(f"CREATE TABLE {table} AS SELECT 1 AS n")
        if missing is None:
            connection.execute(text).fetchall()
        else:
            with pytest.raises(duckdb.Error):
                connection.execute(text)


def test_the_environment_may_say_more_about_an_unknown_table():
    def known(table: TableName) -> bool:
        raise UserError(f"no '{table}', nearest is 'orders'")

    with pytest.raises(UserError, match="nearest is 'orders'"):
        check(parse("SELECT * FROM ordres"), known)
    with pytest.raises(NotAllowed, match="looks like a file"):
        check(parse("SELECT * FROM 'orders.csv'"), known)


def test_a_table_of_the_environment_may_be_named_like_a_file():
    assert check(parse('SELECT * FROM "orders.csv"'), lambda table: True).tables == (TableName("", "", "orders.csv"),)


def test_danger_is_told_before_an_unknown_table():
    with pytest.raises(NotAllowed, match="read_text"):
        check(parse("SELECT * FROM nowhere, read_text('x')"), shop_knows)


# ---- what a refusal says


def test_a_misspelt_function_gets_a_suggestion():
    with pytest.raises(NotAllowed, match=r"'lenght' is not among the functions .* did you mean 'length'"):
        check(parse("SELECT lenght(status) FROM orders"), shop_knows)


def test_a_syntax_error_names_its_place():
    with pytest.raises(UserError) as mistake:
        parse("SELECT 'ä', id\nFORM orders WHERE")
    assert str(mistake.value) == (
        'the statement does not parse: syntax error at or near "orders" (line 2, column 6, at «orders WHERE»)'
    )


def test_a_syntax_error_without_the_text_still_says_what_duckdb_said():
    row = duckdb.connect().execute("SELECT json_serialize_sql('SELEC 1')").fetchone()
    assert row is not None
    with pytest.raises(UserError, match=r'syntax error at or near "SELEC" \(at byte 0\)'):
        check(json.loads(row[0]), shop_knows)


def test_text_that_is_not_worth_parsing_is_refused_before_it_is_parsed():
    with pytest.raises(UserError, match="at most 100,000"):
        parse("SELECT " + "1 + " * 30_000 + "1")
    with pytest.raises(UserError, match="empty"):
        parse(" \n")
    for odd in ("SELECT '\0'", "SELECT '\ud800'"):
        with pytest.raises(UserError, match="no text"):
            parse(odd)


# ---- size


def test_a_long_but_flat_statement_passes():
    values = "VALUES " + ", ".join(f"({n}, 'v')" for n in range(6_000))
    assert check(parse(values), shop_knows).tables == ()
    union = " UNION ALL ".join(["SELECT id FROM orders"] * 2_000)
    assert len(check(parse(union), shop_knows).tables) == 1
    assert check(parse("SELECT " + " || ".join(["status"] * 250) + " FROM orders"), shop_knows)
    ctes = ", ".join(f"c{n} AS (SELECT * FROM {'orders' if n == 0 else f'c{n - 1}'})" for n in range(2_000))
    assert len(check(parse(f"WITH {ctes} SELECT * FROM c1999"), shop_knows).tables) == 1


def test_a_deep_statement_gets_a_plain_reason():
    for text in ("SELECT " + "abs(" * 800 + "1" + ")" * 800, "SELECT " + "(" * 20_000 + "1" + ")" * 20_000):
        with pytest.raises(UserError, match="deep"):
            check(parse(text), shop_knows)


def test_a_tree_of_any_depth_ends_in_a_plain_reason():
    template = parse("SELECT abs(1)")
    call = template["statements"][0]["node"]["select_list"][0]
    deep: Any = call["arguments"][0]["expression"]
    for _ in range(100_000):
        outer = {**call, "arguments": [{"name": "", "expression": deep}]}
        deep = outer
    template["statements"][0]["node"]["select_list"] = [deep]
    with pytest.raises(UserError, match="nested too deeply"):
        check(template, shop_knows)


def test_checking_does_not_change_the_tree():
    tree = parse(HONEST[40].text)
    before = copy.deepcopy(tree)
    check(tree, shop_knows)
    assert tree == before


def test_a_statement_that_is_no_select_can_be_told_from_a_syntax_error():
    assert guard.is_no_select(parse("PIVOT orders ON status USING sum(amount)"))
    assert not guard.is_no_select(parse("SELECT 1"))
