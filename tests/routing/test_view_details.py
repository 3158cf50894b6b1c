"""What a view tells of columns: prose, padded values, thin facets, names behind keys."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

import pytest
from view_company import GivenScores, demanding, inventory, no_demand, objects

from coset.environment.configuration import load_environment
from coset.evidence.work import here
from coset.identities.comprehension import comprehend_identities
from coset.identities.model import load_model
from coset.routing.anchors.match_texts import MENTIONED
from coset.routing.objects.facts import ColumnFacts, RoleFacts, ValuesFacts
from coset.routing.objects.knowledge import CodeList, CodeSet
from coset.routing.objects.objects_of_state import StateObjects
from coset.routing.request import Anchor
from coset.routing.views.budgets import cost
from coset.routing.views.choice import ChoiceSettings, choose
from coset.routing.views.details import Width, view_column
from coset.routing.views.materialise import materialise
from coset.routing.views.text import cleaning_text, column_line, role_text, view_text
from coset.routing.views.view import Cleaning, Role, ViewColumn
from coset.state import EvidenceState
from coset.use_cases.comprehend import EVIDENCE, Settings, comprehend

ORDER = "shop/main/order"


def column(**facts) -> ColumnFacts:
    return ColumnFacts("s/t.c", "s/t", "column", 0, "c", "c", "VARCHAR", **facts)


def test_a_column_of_prose_shows_how_its_texts_are_written():
    texts = ("ok", "The parcel came late and the box was open, but the lamp inside worked as promised and looks good.")
    shown = view_column(column(examples=texts, mean_length=140.0, distinct=2), (), 0.0, "short", Width())
    assert "the box was open" in shown.values


def test_values_that_differ_in_blanks_are_one_where_the_column_is_padded():
    values = ValuesFacts(True, 4, (("Closed", 5), ("Open", 4), ("Closed ", 2), ("Closed  ", 1)))
    padded = column(values=values, cleaning=(Cleaning("padding", 0.3, "blanks", 'trim("c")'),))
    assert view_column(padded, (), 0.0, "short", Width()).values == "2 values when trimmed: 'Closed', 'Open'"
    assert view_column(padded, (), 0.0, "full", Width()).values == "2 values when trimmed: 'Closed' 8, 'Open' 4"
    plain = view_column(column(values=values), (), 0.0, "full", Width()).values
    assert plain.startswith("4 values: 'Closed' 5")


def test_a_table_that_a_shown_key_refers_to_comes_with_its_name_and_join():
    view = materialise(
        no_demand(), (), GivenScores({ORDER: 0.9}, {f"{ORDER}.amount": 0.9}), objects(), inventory(), 2_000
    )
    columns = {each.reference for table in view.tables for each in table.columns}
    assert "crm/customers.full name" in columns
    assert any({"crm/customers", ORDER} == {each.left_table, each.right_table} for each in view.relations)


def test_what_is_not_found_is_said_in_the_view_and_in_one_without_a_match():
    shown = materialise(
        no_demand(),
        (),
        GivenScores({ORDER: 0.9}, {f"{ORDER}.amount": 0.9}, unfound=("warranty",)),
        objects(),
        inventory(),
        2_000,
    )
    assert 'NOT FOUND no name, value or role here is like: "warranty"' in view_text(shown)
    nothing = materialise(no_demand(), (), GivenScores(nearness=0.1, unfound=('a "b"',)), objects(), inventory(), 2_000)
    assert not nothing.matched and "\"a 'b'\"" in view_text(nothing)


@pytest.mark.parametrize("budget", [150, 170, 200, 260, 400, 800, 3_000])
def test_what_is_not_found_keeps_to_the_budget_and_costs_what_the_text_costs(budget):
    unfound = tuple(f"a phrase of some length {number}" for number in range(8))
    scores = GivenScores({ORDER: 0.9}, {f"{ORDER}.amount": 0.9}, unfound=unfound, unread=("crm/customers.segment",))
    view = materialise(no_demand(), (), scores, objects(), inventory(), budget)
    assert view.cost == cost(view_text(view)) <= budget and view.tables
    assert view == materialise(no_demand(), (), scores, objects(), inventory(), budget)


def test_that_a_text_mentions_a_name_does_not_prove_that_the_question_is_about_the_data():
    mention = Anchor("Boston", f"{ORDER}.status", "value", "searched", MENTIONED, None, "2 of 9 texts say it")
    far = GivenScores({ORDER: 0.9}, {f"{ORDER}.amount": 0.9}, nearness=0.1)
    assert not materialise(no_demand(), (mention,), far, objects(), inventory(), 2_000).matched


@pytest.fixture(scope="module")
def letters(tmp_path_factory: pytest.TempPathFactory) -> StateObjects:
    """Texts of which a few name a year."""
    folder = tmp_path_factory.mktemp("letters")
    with sqlite3.connect(folder / "letters.db") as connection:
        connection.execute("CREATE TABLE letters (letter_no INTEGER PRIMARY KEY, body TEXT)")
        rows = [
            (n, f"We thank you for your kind letter number {n}" + (f", written in {1900 + n}." if n % 5 == 0 else "."))
            for n in range(1, 101)
        ]
        connection.executemany("INSERT INTO letters VALUES (?, ?)", rows)
    (folder / "coset.yaml").write_text("sources:\n  letters:\n    location: letters.db\n")
    environment = load_environment(str(folder))
    comprehend(environment, Settings(spread=here), stages=EVIDENCE)
    with EvidenceState.open(environment.state_folder) as state:
        comprehend_identities(state, load_model())
    return StateObjects(environment.state_folder)


def test_a_facet_that_few_rows_have_covers_no_demand(letters: StateObjects):
    facets = [
        each for each in letters.columns("letters/letters") if each.kind == "facet" and (each.coverage or 1) < 0.3
    ]
    assert facets, "the texts have no thin facet: this test would say nothing"
    for facet in facets:
        role = facet.roles.get("attribute")
        assert isinstance(role, RoleFacts)
        scores = GivenScores({"letters/letters": 0.9}, {facet.reference: 0.9})
        demand = demanding({("attribute", role.identity): 0.9})
        named = Anchor("year", facet.reference, "name", "exact", 1.0)
        wanted = choose(demand, (named,), scores, letters, inventory(), ChoiceSettings())
        assert facet.reference not in wanted.covered.values()
        assert facet.reference not in {pick.column.reference for pick in wanted.picks if "named" in pick.why}


@pytest.mark.parametrize(
    ("entity", "attribute", "label"),
    [
        (Role("trade", 0.9, "", 0.0), Role("amount", 0.5, "", 0.0), "trade.amount 0.45"),
        (Role("trade", 0.4, "", 0.0), Role("sequence", 0.4, "", 0.0), ""),
        (Role("trade", 0.4, "", 0.0), Role("region", 0.9, "", 0.0), ".region 0.90"),
        (Role("trade", 0.6, "order", 0.4), Role("amount", 0.6, "", 0.0), "trade.amount 0.36 or order.amount 0.24"),
        (Role("trade", 0.6, "order", 0.1), Role("amount", 0.45, "", 0.0), ""),
    ],
)
def test_a_role_that_is_hardly_sure_is_no_label_but_the_marks_stay(entity: Role, attribute: Role, label: str):
    column = ViewColumn("t/t.x", "column", "x", "VARCHAR", ("demanded",), 1.0, entity=entity, attribute=attribute)
    assert column_line(column, "t/t") == "  x VARCHAR" + (f" | {label}" if label else "") + " | demanded"
    # Where values speak, a role says less than they do.
    assert column_line(replace(column, values="1 .. 9"), "t/t") == "  x VARCHAR | 1 .. 9 | demanded"


def test_codes_are_told_with_what_they_stand_for_in_place_of_their_values():
    values = ValuesFacts(True, 3, (("20", 50), ("10", 30), ("x", 1)))
    labels = (("10", "Proposal"), ("20", "In force"), ("30", "Ended"))
    by = "w.LISTS(CODE, TEXT) WHERE \"DOM\" = 'STATE' AND \"LANG\" = 'EN'"
    own = column(values=values, labels=labels, decoded_by=by)
    shown = view_column(own, (), 0.0, "short", Width())
    assert shown.codes == "'20' In force, '10' Proposal; list: w.LISTS \"DOM\" = 'STATE'"
    assert shown.values == "without a label: 'x' 1"
    whole = view_column(own, (), 0.0, "full", Width(whole=True))
    assert whole.codes.endswith(by) and "'20' 50" in whole.values
    named = CodeSet("STATE", CodeList("w/LISTS", "CODE", "TEXT", "", "current", 1.0), labels, (own.reference,))
    assert view_column(own, (), 0.0, "short", Width(), codes=named).codes == "of STATE"


def test_of_many_codes_only_those_that_the_question_leads_to_are_told():
    labels = tuple((f"K{number}", f"Customer {number}") for number in range(60))
    shown = view_column(column(distinct=60, labels=labels), (), 0.0, "short", Width(), anchored=("K7",))
    assert shown.codes == "'K7' Customer 7"


@pytest.mark.parametrize(
    ("cleaning", "told"),
    [
        (
            Cleaning("null_tokens", 0.14, "x", "CASE WHEN \"c\" IN ('', '-') THEN NULL ELSE \"c\" END"),
            "'', '-' means none 14%",
        ),
        (Cleaning("sentinel", 0.4, "x", 'CASE WHEN ("c") IN (9999) THEN NULL ELSE "c" END'), "9999 means none 40%"),
        (Cleaning("padding", 0.05, "x", 'trim("c")'), "padded 5%"),
        (
            Cleaning("date_as_text", 1.0, "", 'CAST("c" AS DATE)', "DATE"),
            'dates as text, clean: CAST("c" AS DATE) (gives DATE)',
        ),
    ],
)
def test_what_anybody_would_write_is_said_in_words(cleaning: Cleaning, told: str):
    assert cleaning_text(cleaning) == told


def test_nested_types_are_told_by_the_names_of_their_fields():
    nested = 'STRUCT("code" VARCHAR, "objects" STRUCT("kind" VARCHAR, "area m2" BIGINT)[])'
    shown = ViewColumn("t/t.x", "column", "x", nested, (), 0.0)
    assert column_line(shown, "t/t") == '  x STRUCT(code, objects STRUCT(kind, "area m2" BIGINT)[])'


def test_a_table_whose_role_is_hardly_sure_has_none():
    assert role_text(Role("setting", 0.15, "link", 0.09)) == role_text(Role("link", 0.33, "", 0.0)) == ""
    assert role_text(Role("security", 0.33, "stock", 0.28)) == "security 0.33 or stock 0.28"
    assert role_text(Role("link", 0.4, "security", 0.1)) == "link 0.40"
