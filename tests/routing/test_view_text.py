"""The view's text: everything in it that is SQL runs in the session as written, on SQLite, DuckDB and CSV."""

from __future__ import annotations

import re

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from view_company import GivenScores, company, inventory, no_demand, objects

from coset.routing.objects.data_as_text import literal, one_line, runnable
from coset.routing.objects.facts import RelationFacts
from coset.routing.objects.sql_names import as_list, equality, qualified
from coset.routing.request import Anchor
from coset.routing.views.budgets import cost, lines_cost
from coset.routing.views.join_plan import not_implied
from coset.routing.views.materialise import materialise
from coset.routing.views.text import HEADER, JOINS, anchor_lines, percent, view_text
from coset.session.query_session import QuerySession
from coset.sql_text import name


@pytest.fixture(scope="module")
def session():
    with QuerySession(company()) as opened:
        yield opened


@pytest.fixture(scope="module")
def view():
    known = objects()
    every = {
        column.reference: 0.5
        for table in known.tables
        if not known.tables[table].schema_only
        for column in known.columns(table)
    }
    return materialise(no_demand(), (), GivenScores({}, every), known, inventory(), 20_000)


def test_tables_and_columns_run_as_the_view_writes_them(view, session):
    assert {table.reference.split("/")[0] for table in view.tables} == {"crm", "shop", "catalogue"}
    for table in view.tables:
        expressions = [column.expression for column in table.columns]
        expressions += [each.expression for column in table.columns for each in column.cleaning if each.expression]
        rows = session.sql(f"SELECT {', '.join(expressions)} FROM {table.sql_name} LIMIT 2").rows()
        assert len(rows) == 2


def test_joins_run_as_the_view_writes_them_and_reach_what_it_says(view, session):
    known = {table.reference: table.sql_name for table in view.tables}
    sources = set()
    for relation in view.relations:
        left, right = known[relation.left_table], known[relation.right_table]
        [[joined]] = session.sql(f"SELECT count(*) FROM {left} JOIN {right} ON {relation.condition}").rows()
        [[rows]] = session.sql(f"SELECT count(*) FROM {left}").rows()
        assert relation.cardinality == "n:1" or relation.cardinality == "1:1"
        assert joined == round(rows * relation.left_match)
        sources.add((relation.left_table.split("/")[0], relation.right_table.split("/")[0]))
    assert {("shop", "crm"), ("shop", "catalogue")} <= sources


def test_the_conditions_of_the_plan_run_in_their_order(view, session):
    lines = view_text(view).splitlines()
    planned = [relation for relation in view.relations if relation.in_plan]
    first = lines.index(JOINS) + 1
    conditions = [line.split(" -- ")[0].strip() for line in lines[first : first + len(planned)]]
    names = {table.reference: table.sql_name for table in view.tables}
    reached = {planned[0].left_table}
    clause = f"FROM {names[planned[0].left_table]}"
    for relation, condition in zip(planned, conditions, strict=True):
        [new] = {relation.left_table, relation.right_table} - reached
        reached.add(new)
        clause += f" JOIN {names[new]} ON {condition}"
    [[joined]] = session.sql(f"SELECT count(*) {clause}").rows()
    assert joined > 0


def test_a_join_that_others_imply_is_not_told():
    def relation(name: str, left: str, right: str) -> RelationFacts:
        ends = left.rpartition(".")[0], right.rpartition(".")[0]
        return RelationFacts(name, *ends, (left,), (right,), "equal", "", "", 1.0, 1.0, "n:1", "measured", 1.0)

    one, other = relation("1", "s/a.x", "s/b.x"), relation("2", "s/b.x", "s/c.x")
    implied, itself, apart = (
        relation("3", "s/a.x", "s/c.x"),
        relation("4", "s/a.x", "s/a.y"),
        relation("5", "s/a.z", "s/c.z"),
    )
    assert not_implied([one, implied, itself, apart], [one, other]) == [itself, apart]


def test_places_of_one_value_share_a_line():
    anchors = [Anchor("Ghent", f"s/t{number}.city", "value", "exact", 0.9, "GHENT") for number in range(3)]
    named = Anchor("city", "s/t0.city", "name", "exact", 1.0)
    lines = anchor_lines([*anchors, named], {"s/t0.city": "s.t0.city"})
    assert lines == [
        "  \"Ghent\" value = 'GHENT' (exact 0.90) in s.t0.city; [s/t1.city]; [s/t2.city]",
        '  "city" name s.t0.city (exact 1.00)',
    ]


def test_values_in_the_text_are_literals_that_find_their_rows(view, session):
    checked = 0
    for table in view.tables:
        for column in table.columns:
            found = re.findall(r"(E?'(?:[^'\\]|''|\\.)*') ([\d,]+)(?:,|$| \|)", column.values)
            for written, count in found:
                sql = f"SELECT count(*) FROM {table.sql_name} WHERE {column.expression} = {written}"
                assert session.sql(sql).rows() == [(int(count.replace(",", "")),)]
                checked += 1
    assert checked >= 8


def test_the_same_lines_come_first_for_every_question(view):
    known = objects()
    other = materialise(no_demand(), (), GivenScores({}, {"crm/complaints.city": 0.9}), known, inventory(), 2_000)
    first, second = view_text(view).splitlines(), view_text(other).splitlines()
    assert first[:2] == second[:2] and first[0] == HEADER
    assert [t.reference for t in view.tables] == sorted(t.reference for t in view.tables)


def test_anchors_say_where_a_phrase_was_found_and_how():
    anchor = Anchor("key account", "crm/customers.segment", "code", "dictionary", 0.9, "K", "K: key account")
    scores = GivenScores({}, {"crm/customers.segment": 0.9})
    text = view_text(materialise(no_demand(), (anchor,), scores, objects(), inventory(), 2_000))
    assert "  \"key account\" code = 'K' (dictionary 0.90, K: key account) in crm.customers.segment" in text


@pytest.mark.parametrize(
    "written",
    ["order", "User", "select", "plain", "Mixed_Case1", "with space", 'quo"te', "1st", "ümlaut", "lambda", "date"],
)
def test_names_are_quoted_exactly_where_they_must_be(written):
    quoted = '"' + written.replace('"', '""') + '"'
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE {quoted} ({quoted} INTEGER); INSERT INTO {quoted} VALUES (7)")
        assert connection.execute(f"SELECT t.{name(written)} FROM {name(written)} AS t").fetchall() == [(7,)]
        assert connection.execute(f"SELECT {name(written)} FROM {name(written)}").fetchall() == [(7,)]
    assert (name(written) == written) == (written in {"plain", "Mixed_Case1", "date"})


def test_only_the_column_is_qualified_not_texts_or_fields_that_look_like_it():
    sql = """regexp_replace("id", '"id"', "x"."id") || "id" """
    assert qualified(sql, ["id"], "s.t") == """regexp_replace(s.t.id, '"id"', "x"."id") || s.t.id """


def test_a_side_of_elements_becomes_a_condition_that_runs():
    assert as_list('"a"') is None and as_list("'unnest(1)'") is None
    condition = equality("lower(unnest(l.tags))", "r.tag", 1)
    with duckdb.connect() as connection:
        sql = f"FROM (SELECT ['A', 'b'] AS tags) l JOIN (SELECT unnest(['a', 'b', 'c']) AS tag) r ON {condition} SELECT count(*)"
        assert connection.execute(sql).fetchall() == [(2,)]
    assert equality("unnest(l.a)", "unnest(r.b)", 1) == "list_has_any(l.a, r.b)"


def test_a_key_of_two_columns_is_compared_part_by_part():
    assert equality("(l.a, f(l.b, 1))", "(r.a, r.b)", 2) == "l.a = r.a AND f(l.b, 1) = r.b"


CONNECTION = duckdb.connect()


@given(st.text(max_size=40))
def test_a_literal_gives_back_its_value_and_stays_on_its_line(value):
    if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
        return
    written = literal(value, 100)
    assert written.isprintable() and "`" not in written
    assert CONNECTION.execute(f"SELECT {written}").fetchall() == [(value,)]


@given(st.text(max_size=200), st.integers(5, 80))
def test_one_line_is_one_short_printable_line(text, most):
    line = one_line(text, most)
    assert len(line) <= most and line.isprintable() and "`" not in line


def test_sql_with_odd_letters_in_its_texts_means_the_same_on_one_line():
    sql = "translate('a\u00a0b', '\u00a0', '_') || '`'"
    assert runnable(sql).isprintable()
    with duckdb.connect() as connection:
        assert connection.execute(f"SELECT {runnable(sql)}").fetchall() == [("a_b`",)]


@given(st.lists(st.text(st.characters(exclude_characters="\n"), max_size=60), max_size=6))
def test_the_cost_of_a_text_is_the_sum_of_its_lines(lines):
    assert cost("".join(line + "\n" for line in lines)) == lines_cost(lines)


def test_plain_prose_costs_about_a_token_a_word():
    sentence = "The quick brown fox jumps over the lazy dog. " * 20
    assert 180 <= cost(sentence) <= 240
    assert cost("") == 0 and cost("customer_id") in (2, 3) and cost("1234567") == 3


def test_a_share_that_is_not_all_never_reads_as_all():
    assert [percent(share) for share in (0.0, 0.001, 0.5, 0.999, 1.0)] == ["0%", "<1%", "50%", ">99%", "100%"]
