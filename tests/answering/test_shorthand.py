"""Short names for long expressions: read in a view, written like columns, run as the tested expression."""

from __future__ import annotations

import duckdb
import pytest

from coset.answering.evidence.shorthand import Shorthand, one_cleaning, shortened
from coset.routing.views.text import view_text
from coset.routing.views.view import Cleaning, EvidenceView, LeftOut, ViewColumn, ViewRelation, ViewTable
from coset.state.objects import LOOK_FIRST

BORN = "CAST(try_strptime(\"born\", ['%d.%m.%Y', '%Y-%m-%d']) AS DATE)"
YEAR = "try_cast(nullif(regexp_extract(\"note\", 'since ((?:19|20)\\d{2})', 1), '') AS INTEGER)"
STRIP = "nullif(regexp_extract({}, '^(?:customer|buyer)_(.+)$', 1), '')"


def column(table: str, name: str, **more: object) -> ViewColumn:
    return ViewColumn(f"{table}.{name}", "column", name, "VARCHAR", ("demanded",), 1.0, **more)  # type: ignore[arg-type]


def view_of(*, trim: str = 'trim("name")') -> EvidenceView:
    people = ViewTable(
        "crm/people", "crm.people", 3, 1.0,
        (
            column("crm/people", "id"),
            column("crm/people", "name", cleaning=(Cleaning("padding", 0.1, "padded", trim),)),
            column("crm/people", "born", cleaning=(Cleaning("date_as_text", 1.0, "dates as text", BORN),)),
            ViewColumn("crm/people.note#year", "facet", YEAR, "INTEGER", ("demanded",), 1.0),
        ), 0,
    )  # fmt: skip
    orders = ViewTable("shop/orders", "shop.orders", 4, 1.0, (column("shop/orders", "buyer"),), 0)
    condition = f"{STRIP.format('shop.orders.buyer')} = {STRIP.format('crm.people.id')}"
    relation = ViewRelation("relation_1", ("shop/orders.buyer",), ("crm/people.id",), condition, "transformed", 1.0, 1.0,
                            "n:1", "measured", 0.9, True, "shop/orders", "crm/people")  # fmt: skip
    return EvidenceView("digest", 2000, 100, True, (people, orders), (relation,), (), (), LeftOut())


@pytest.fixture
def names() -> Shorthand:
    names = Shorthand()
    shortened(view_of(), names)
    return names


@pytest.fixture(scope="module")
def database() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("ATTACH ':memory:' AS crm")
    connection.execute("ATTACH ':memory:' AS shop")
    connection.execute("CREATE TABLE crm.people (id VARCHAR, name VARCHAR, born VARCHAR, note VARCHAR)")
    connection.execute(
        "INSERT INTO crm.people VALUES ('customer_1', 'Ada ', '10.12.1815', 'since 1901'), "
        "('customer_2', 'Bo', '1990-02-03', 'since 1999'), ('customer_3', 'Cy', 'unknown', 'new')"
    )
    connection.execute("CREATE TABLE shop.orders (buyer VARCHAR, note VARCHAR)")
    connection.execute("INSERT INTO shop.orders VALUES ('buyer_1', 'x'), ('buyer_1', 'y'), ('buyer_2', 'z')")
    return connection


def test_a_long_expression_has_a_name_in_the_view_and_a_short_one_stays(names: Shorthand):
    text = view_text(shortened(view_of(), Shorthand()))
    assert 'clean: "born clean"' in text and 'facet note#year INTEGER := "note#year"' in text
    assert '  shop.orders."buyer key" = crm.people."id key" -- ' in text and "padded" in text
    assert "try_strptime" not in text and "regexp_extract" not in text
    assert len(text) < 0.8 * len(view_text(view_of()))
    assert names.references["born clean"] == "crm/people.born" and names.references["id key"] == "crm/people.id"


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ('SELECT count("born clean") FROM crm.people', [(2,)]),
        ('SELECT p."born clean" FROM crm.people p ORDER BY p."born clean" DESC NULLS LAST LIMIT 1', "1990-02-03"),
        (
            'SELECT "note#year", count(*) FROM crm.people GROUP BY "note#year" ORDER BY 1',
            [(1901, 1), (1999, 1), (None, 1)],
        ),
        (
            'SELECT p.name, count(*) AS n FROM shop.orders o JOIN crm.people AS p ON o."buyer key" = p."id key" '
            "GROUP BY p.name ORDER BY n DESC",
            [("Ada ", 2), ("Bo", 1)],
        ),
        # Two tables have a column `note`: the name means that of the table it was made for.
        (
            'SELECT max("note#year") FROM shop.orders JOIN crm.people ON "buyer key" = crm.people."id key"',
            [(1999,)],
        ),
        # What a subquery hands on under a name is a column of its own.
        ('WITH y AS (SELECT "note#year" FROM crm.people) SELECT sum(y."note#year") FROM y', [(3900,)]),
        ('SELECT sum("note#year") FROM (SELECT id, "note#year" FROM crm.people)', [(3900,)]),
        ('SELECT count(*) FROM crm.people WHERE name <> \'"note#year"\' -- "born clean"', [(3,)]),
        (
            'SELECT name FROM crm.people p WHERE EXISTS (SELECT 1 FROM shop.orders o WHERE o."buyer key" = p."id key" '
            'AND p."note#year" > 1950)',
            [("Bo",)],
        ),
        ('SELECT "NOTE#YEAR" + 1 AS next FROM crm.people ORDER BY 1 LIMIT 1', [(1902,)]),
    ],
)
def test_a_statement_with_names_runs_as_the_expressions(
    names: Shorthand, database: duckdb.DuckDBPyConnection, sql: str, rows: object
):
    found = database.execute(names.expand(sql)).fetchall()
    assert (str(found[0][0]) if isinstance(rows, str) else found) == rows


def test_expanding_twice_is_expanding_once(names: Shorthand):
    sql = names.expand('SELECT "note#year", p."born clean" AS born FROM crm.people p')
    assert names.expand(sql) == sql and 'AS "note#year"' in sql


def test_what_cannot_be_read_is_left_to_the_session(names: Shorthand):
    assert names.expand('SELECT FROM WHERE "note#year" (') == 'SELECT FROM WHERE "note#year" ('


def test_two_expressions_never_share_a_name():
    first = Cleaning("a", 0.5, "one way", "regexp_replace(\"name\", '^[#]+', '') || 'aaaaaaaa'")
    second = Cleaning("b", 0.5, "another way", "regexp_replace(\"name\", '[ ]+$', '') || 'bbbbbbb'")
    table = ViewTable("a/t", "a.t", 1, 1.0, (column("a/t", "name", cleaning=(first, second)),), 0)
    names = Shorthand()
    view = shortened(EvidenceView("d", 1, 1, True, (table,), (), (), (), LeftOut()), names)
    assert [each.expression for each in view.tables[0].columns[0].cleaning] == ['"name clean"', '"name clean 2"']
    assert "'^[#]+'" in names.expand('SELECT "name clean" FROM a.t')
    assert "'[ ]+$'" in names.expand('SELECT "name clean 2" FROM a.t')


def test_a_stored_column_keeps_its_own_name():
    dirty = Cleaning("date_as_text", 1.0, "dates as text", BORN)
    columns = (column("a/t", "born", cleaning=(dirty,)), column("a/t", '"Born Clean"'))
    table = ViewTable("a/t", "a.t", 1, 1.0, columns, 0)
    names = Shorthand()
    shortened(EvidenceView("d", 1, 1, True, (table,), (), (), (), LeftOut()), names)
    assert names.expand('SELECT "born clean" FROM a.t') == 'SELECT "born clean" FROM a.t'
    assert "try_strptime" in names.expand('SELECT "born clean 2" FROM a.t')


def test_names_can_be_kept_and_taken_up_again(names: Shorthand):
    again = Shorthand()
    again.restore(names.kept())
    sql = 'SELECT p."born clean" FROM crm.people p'
    assert again.expand(sql) == names.expand(sql) != sql


NO_VALUE = "CASE WHEN trim(\"name\") IN ('', '[unknown]') THEN NULL ELSE \"name\" END"
PERHAPS = 'CASE WHEN trim("name") IN (\'unknown\') THEN NULL ELSE "name" END'


def test_several_ways_to_clean_a_text_are_one(database: duckdb.DuckDBPyConnection):
    dirt = (
        Cleaning("null_tokens", 0.01, "'[unknown]' (2) stand where there is no value", NO_VALUE),
        Cleaning("padding", 0.01, "", 'trim("name")', "VARCHAR"),
        Cleaning("null_tokens", 0.01, f"'unknown' (1) may mean 'no value' here; {LOOK_FIRST}", PERHAPS),
    )
    table = ViewTable("crm/people", "crm.people", 3, 1.0, (column("crm/people", "name", cleaning=dirt),), 0)
    names = Shorthand()
    view = shortened(EvidenceView("digest", 2000, 100, True, (table,), (), (), (), LeftOut()), names)
    text = view_text(view)
    assert text.count("clean:") == text.count('clean: "name clean"') == 2 and LOOK_FIRST in text
    expression = names.expand('SELECT p."name clean" FROM s p')
    sql = f"WITH s(name) AS (VALUES (' Ada '), ('[unknown] '), ('unknown')) {expression}"
    assert database.execute(sql).fetchall() == [("Ada",), (None,), ("unknown",)]


def test_ways_to_clean_that_are_no_text_any_more_stay_apart():
    padding = Cleaning("padding", 0.1, "", 'trim("born")')
    for found in ((padding,), (padding, Cleaning("date_as_text", 1.0, "", BORN, "DATE")), ()):
        assert one_cleaning(found) == found
