"""Anchors over a company of SQLite, DuckDB and CSV sources: names, values, codes, ranges; what is held and what is not."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

from coset.environment.configuration import load_environment
from coset.evidence.work import here
from coset.routing.anchors import (
    AnchorIndex,
    SearchSettings,
    ValueIndexSettings,
    build_value_index,
    find_anchors,
    look_up,
)
from coset.routing.request import Anchor
from coset.session.query_session import QuerySession
from coset.state import EvidenceState
from coset.state.queries import execute
from coset.use_cases.comprehend import EVIDENCE, Settings, comprehend

CANCERS = {"BRCA": "Breast Invasive Carcinoma", "LGG": "Brain Lower Grade Glioma", "LUAD": "Lung Adenocarcinoma"}
STORES = ["Masimo Corporation", "Blue Harbor Trading", "Acme, Inc.", "Nordwind GmbH", "Café Zürich", "New York Books"]
SMALL = ValueIndexSettings(most_values=100, fewest_values=100)


def make_company(folder: Path) -> None:
    with sqlite3.connect(folder / "shop.db") as shop:
        shop.execute(
            "CREATE TABLE customers (customer_id TEXT PRIMARY KEY, full_name TEXT, email TEXT, town TEXT, since INTEGER)"
        )
        people = ["Anna Smith", "John Miller", "Maria Garcia", "Peter Jones", "Laura Brown", "Emma Davis"]
        shop.executemany(
            "INSERT INTO customers VALUES (?, ?, ?, ?, ?)",
            [
                (f"CUST-{n:04}", people[n % 6], f"person{n}@example.org", ["Basel", "Lyon", "New York"][n % 3], n)
                for n in range(90)
            ],
        )
        shop.execute(
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, cust_id TEXT, status TEXT, qty INTEGER, placed_on TEXT, "
            "voucher TEXT, paid TEXT)"
        )
        shop.executemany(
            "INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    4000 + n,
                    f"CUST-{n % 90:04}",
                    "PSC"[n % 3],
                    n % 7 + 1,
                    f"2020-{n % 12 + 1:02}-15",
                    f"VCH-{n:05}",
                    "yes",
                )
                for n in range(1200)
            ],
        )
    with duckdb.connect(str(folder / "clinic.duckdb")) as clinic:
        clinic.execute("CREATE TABLE cancer_codes (code VARCHAR, label VARCHAR)")
        clinic.executemany("INSERT INTO cancer_codes VALUES (?, ?)", list(CANCERS.items()))
        clinic.execute(
            "CREATE TABLE samples AS SELECT i AS sample_no, ['BRCA', 'LGG', 'LUAD'][i % 3 + 1] AS cancer, "
            "'TCGA-' || cancer AS project, DATE '2014-01-01' + (i % 300)::INT AS taken, 'yes' AS usable, "
            "['Not Started', 'Not Started ', 'In Progress'][i % 3 + 1] AS review FROM range(600) r(i)"
        )
    rows = [f'{n},"{STORES[n % 6]}",{n % 5},yes,{1990 + n % 20}' for n in range(60)]
    (folder / "stock.csv").write_text("sku,store,stock_on_hand,active,model_year\n" + "\n".join(rows) + "\n")
    (folder / "pay.csv").write_text("person,salary_band\n" + "".join(f"p{n},Band{n % 3}\n" for n in range(30)))
    (folder / "schema.yml").write_text(
        "models:\n  - name: orders\n    columns:\n      - {name: status, description: 'P paid, S sent, C cancelled'}\n"
    )
    (folder / "coset.yaml").write_text(
        "sources:\n  shop: {location: shop.db, documents: [schema.yml]}\n  clinic: {location: clinic.duckdb}\n"
        "  stock: {location: stock.csv}\n  secret: {location: pay.csv, schema_only: true}\n"
    )


class Company:
    """The company with its state, index and an open session."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = load_environment(folder)
        comprehend(self.environment, Settings(spread=here), stages=EVIDENCE)
        self.session = QuerySession(self.environment)
        self.summary = self.build()

    def build(self, settings: ValueIndexSettings = SMALL, *, session: bool = True):
        with EvidenceState.open(self.environment.state_folder) as state:
            summary = build_value_index(state, self.session if session else None, settings)
            self.index = AnchorIndex.load(state)
        return summary

    def rows(self, sql: str) -> list[tuple]:
        with EvidenceState.read(self.environment.state_folder) as state:
            return execute(state, sql).fetchall()

    def ask(self, question: str) -> dict[tuple[str, str], Anchor]:
        """Anchors by reference and kind."""
        found: dict[tuple[str, str], Anchor] = {}
        for anchor in find_anchors(question, self.index, self.session):
            found.setdefault((anchor.reference, anchor.kind), anchor)
        return found


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Company]:
    folder = tmp_path_factory.mktemp("company")
    make_company(folder)
    made = Company(folder)
    yield made
    made.session.close()


@pytest.fixture
def own_company(company: Company, tmp_path: Path) -> Iterator[Company]:
    """A copy that a test may change: what was comprehended is known there."""
    shutil.copytree(company.folder, tmp_path / "copy")
    made = Company(tmp_path / "copy")
    yield made
    made.session.close()


# ---- names


@pytest.mark.parametrize(
    ("question", "reference", "match"),
    [
        ("what is in stock_on_hand?", "stock/stock.stock_on_hand", "exact"),
        ("how much stock on hand is there?", "stock/stock.stock_on_hand", "exact"),
        ("how many CUSTOMERS are there?", "shop/customers", "exact"),
        ("list every customer", "shop/customers", "normalised"),
        ("which cancer code is it", "clinic/main/cancer_codes", "normalised"),
        ("mean quantity per order", "shop/orders.qty", "abbreviation"),
        ("the customer id of each", "shop/orders.cust_id", "abbreviation"),
        ("which stock keeping unit sells best?", "stock/stock.sku", "abbreviation"),
        ("which vouchr was used?", "shop/orders.voucher", "fuzzy"),
        ("how many custmers?", "shop/customers", "fuzzy"),
    ],
)
def test_names_are_found_in_the_forms_people_write(company: Company, question: str, reference: str, match: str):
    anchor = company.ask(question)[reference, "name"]
    assert anchor.match == match
    assert 0.5 <= anchor.score <= 1.0
    assert (anchor.score == 1.0) == (match == "exact")


def test_a_column_whose_table_is_named_too_comes_before_its_namesakes(company: Company):
    found = find_anchors("status of the orders", company.index)
    assert found[0].reference in ("shop/orders", "shop/orders.status")
    assert {anchor.reference for anchor in found[:2]} == {"shop/orders", "shop/orders.status"}


# ---- values


@pytest.mark.parametrize(
    ("question", "reference", "value", "match"),
    [
        ("orders from Nordwind GmbH", "stock/stock.store", "Nordwind GmbH", "exact"),
        ("orders from nordwind gmbh", "stock/stock.store", "Nordwind GmbH", "normalised"),
        ("what does Acme Inc sell?", "stock/stock.store", "Acme, Inc.", "normalised"),
        ("what does Cafe Zurich sell?", "stock/stock.store", "Café Zürich", "normalised"),
        ("what does Nordwnid GmbH sell?", "stock/stock.store", "Nordwind GmbH", "fuzzy"),
        ("what does Masimo sell?", "stock/stock.store", "Masimo Corporation", "fuzzy"),
        ("samples that are 'In Progress'", "clinic/main/samples.review", "In Progress", "exact"),
        ("what did CUST-0007 buy?", "shop/customers.customer_id", "CUST-0007", "exact"),
    ],
)
def test_values_are_found(company: Company, question: str, reference: str, value: str, match: str):
    anchor = company.ask(question)[reference, "value"]
    assert (anchor.value, anchor.match) == (value, match)
    assert anchor.score >= 0.45


def test_other_stored_forms_of_a_value_are_told(company: Company):
    anchor = company.ask("samples not started")["clinic/main/samples.review", "value"]
    assert anchor.value == "Not Started"
    assert anchor.variants == ("Not Started ",)


def test_a_value_within_a_longer_value_is_not_meant(company: Company):
    found = company.ask("what does New York Books sell?")
    assert found["stock/stock.store", "value"].value == "New York Books"
    assert ("shop/customers.town", "value") not in found
    assert company.ask("who lives in New York?")["shop/customers.town", "value"].value == "New York"


def test_a_value_that_many_columns_hold_is_weaker_than_a_telling_one(tmp_path: Path):
    columns = [f"flag_{n}" for n in range(40)]
    rows = [",".join([*("yes" for _ in columns), ["violet", "amber"][n % 2]]) for n in range(20)]
    (tmp_path / "t.csv").write_text(",".join([*columns, "shade"]) + "\n" + "\n".join(rows) + "\n")
    (tmp_path / "coset.yaml").write_text("sources:\n  t: {location: t.csv}\n")
    environment = load_environment(tmp_path)
    comprehend(environment, Settings(spread=here), stages=EVIDENCE)
    with EvidenceState.open(environment.state_folder) as state:
        build_value_index(state)
        found = find_anchors("is it yes or violet?", AnchorIndex.load(state))
    scores = {anchor.value: anchor.score for anchor in reversed(found)}
    assert scores["violet"] > 1.5 * scores.get("yes", 0.0)


# ---- codes


def test_a_label_leads_to_its_code_in_the_dictionary_and_in_the_columns_that_join_it(company: Company):
    found = company.ask("How many samples of breast invasive carcinoma were taken?")
    for reference in ("clinic/main/cancer_codes.code", "clinic/main/samples.cancer"):
        anchor = found[reference, "code"]
        assert (anchor.value, anchor.match) == ("BRCA", "dictionary")
        assert anchor.note.startswith('BRCA: "Breast Invasive Carcinoma" (clinic/main/cancer_codes')
        assert anchor.score > 0.8


def test_a_code_is_given_as_the_joining_column_writes_it(company: Company):
    assert company.rows(
        "SELECT kind FROM relations WHERE list_contains(left_columns, 'clinic/main/samples.project') "
        "AND list_contains(right_columns, 'clinic/main/cancer_codes.code')"
    )
    anchor = company.ask("samples of brain lower grade glioma")["clinic/main/samples.project", "code"]
    assert (anchor.value, anchor.match) == ("TCGA-LGG", "dictionary")


def test_a_text_about_a_column_says_what_its_codes_stand_for(company: Company):
    anchor = company.ask("how many orders were cancelled?")["shop/orders.status", "code"]
    assert (anchor.value, anchor.match) == ("C", "dictionary")
    assert "schema.yml" in anchor.note


# ---- numbers and dates


def test_a_number_is_an_anchor_beside_the_name_of_what_it_numbers(company: Company):
    anchor = company.ask("what is in order 4711?")["shop/orders.id", "number"]
    assert (anchor.value, anchor.match) == ("4711", "searched")
    unsearched = {each.reference: each for each in find_anchors("what is in order 4711?", company.index)}
    assert unsearched["shop/orders.id"].match == "range"
    assert ("shop/orders.id", "number") not in company.ask("what is in order 99999?")
    assert not [key for key in company.ask("give me 5 things") if key[1] == "number"]


def test_dates_lead_to_the_columns_that_overlap_them(company: Company):
    found = company.ask("how many samples were taken in the last week of June 2014?")
    assert found["clinic/main/samples.taken", "date"].value == "2014-06-24 to 2014-06-30"
    assert ("shop/orders.placed_on", "date") not in found
    assert ("shop/orders.placed_on", "date") in company.ask("orders in March 2020")
    assert ("stock/stock.model_year", "date") in company.ask("stock of model year 1995")
    assert not [key for key in company.ask("orders in 1812") if key[1] == "date"]


def test_a_date_that_no_column_can_have_is_told(company: Company):
    def told(question: str) -> list[str]:
        return [word.text for word in look_up(question, company.index, company.session).absent]

    assert told("orders in March 1812") == ["March", "1812"]
    assert told("orders in March 2020") == told("stock of model year 1995") == []


@pytest.mark.parametrize("question", ["the hand is Starbucks stock", "the cancers of Starbucks code"])
def test_a_name_among_the_words_of_a_loose_finding_is_not_found_by_it(company: Company, question: str):
    found = look_up(question, company.index, company.session)
    assert [anchor for anchor in found.anchors if "Starbucks" in anchor.phrase and anchor.match == "fuzzy"]
    assert [word.text for word in found.words if not word.is_found] == ["Starbucks"]


# ---- what is not held


def test_a_column_of_many_values_is_searched_at_the_source_and_not_sampled(company: Company):
    (status,) = company.rows("SELECT status FROM indexed_columns WHERE reference = 'shop/orders.voucher'")
    assert status == ("searched",)
    anchor = company.ask("which order used VCH-00977?")["shop/orders.voucher", "value"]
    assert (anchor.value, anchor.match, anchor.note) == ("VCH-00977", "searched", "found at the source")
    assert company.ask("which order used 'vch-00977'?")["shop/orders.voucher", "value"].value == "VCH-00977"
    assert ("shop/orders.voucher", "value") not in company.ask("which order used VCH-99999?")


def test_a_column_that_turns_out_larger_than_was_estimated_is_searched_too(tmp_path: Path):
    rows = "".join(f"town {n % 105},{n}\n" for n in range(210))
    (tmp_path / "t.csv").write_text(f"town,n\n{rows}")
    (tmp_path / "coset.yaml").write_text("sources:\n  t: {location: t.csv}\n")
    environment = load_environment(tmp_path)
    comprehend(environment, Settings(spread=here), stages=EVIDENCE)
    with EvidenceState.open(environment.state_folder) as state, QuerySession(environment) as session:
        assert build_value_index(state, session, SMALL).searched == 1
        (row,) = state.rows("SELECT status, held, reason FROM indexed_columns")
        assert (row["status"], row["reason"]) == ("searched", "it has more than 100 distinct values")
        assert row["held"] < 100
        assert build_value_index(state, session, ValueIndexSettings(most_values=105)).searched == 0


def test_what_was_not_searched_is_reported(company: Company):
    question = "which order used VCH-00977?"
    without = look_up(question, company.index)
    assert {each.reference for each in without.not_searched} >= {"shop/orders.voucher"}
    none = look_up(question, company.index, company.session, SearchSettings(most_columns=0))
    assert [each.reason for each in none.not_searched if each.reference == "shop/orders.voucher"] == [
        "the search ended after 0 columns"
    ]
    no_time = look_up(question, company.index, company.session, SearchSettings(seconds=0))
    assert any("took 0 s" in each.reason for each in no_time.not_searched)
    everything = look_up(question, company.index, company.session)
    assert "shop/orders.voucher" not in {each.reference for each in everything.not_searched}


def test_a_literal_with_quotes_is_searched_as_a_literal(company: Company):
    found = look_up('which voucher is "x\') OR 1=1 --"?', company.index, company.session)
    assert not [anchor for anchor in found.anchors if anchor.match == "searched"]
    assert not [each for each in found.not_searched if each.reference == "shop/orders.voucher"]


def test_personal_columns_are_never_held_but_may_be_asked_for_what_the_question_says(company: Company):
    held = company.rows("SELECT value FROM indexed_values WHERE reference LIKE 'shop/customers.%'")
    values = {value for (value,) in held}
    assert "Basel" in values
    assert not [value for value in values if "@" in value or "Smith" in value or "*" in value]
    question = "what did Anna Smith order?"
    anchor = company.ask(question)["shop/customers.full_name", "value"]
    assert (anchor.value, anchor.match) == ("Anna Smith", "searched")
    found = look_up(question, company.index, company.session, SearchSettings(personal=False))
    assert "shop/customers.full_name" not in {each.reference for each in found.anchors if each.kind == "value"}
    assert ("shop/customers.full_name", "it holds personal data") in {
        (each.reference, each.reason) for each in found.not_searched
    }


def test_of_a_schema_only_source_names_are_found_and_values_never(company: Company):
    assert company.rows("SELECT count(*) FROM indexed_values WHERE reference LIKE 'secret/%'") == [(0,)]
    found = look_up("the salary band Band1 of 'p7'", company.index, company.session)
    assert ("secret/pay.salary_band", "name") in {(each.reference, each.kind) for each in found.anchors}
    assert not [each for each in found.anchors if each.reference.startswith("secret/") and each.kind != "name"]


# ---- the build


def test_the_summary_counts_what_is_held_searched_and_withheld(company: Company):
    summary = company.summary
    assert (summary.tables, summary.looked_at, summary.problems) == (6, 6, ())
    assert summary.searched == 1
    assert summary.withheld == 4  # two personal columns, two of the schema-only source
    assert summary.values == company.rows("SELECT count(*) FROM indexed_values")[0][0]


def test_only_tables_that_changed_are_looked_at_again(own_company: Company):
    assert own_company.build().looked_at == 0
    before = own_company.rows("SELECT reference, value FROM indexed_values ORDER BY ALL")
    with sqlite3.connect(own_company.folder / "shop.db") as shop:
        shop.execute("UPDATE customers SET town = 'Uppsala' WHERE customer_id = 'CUST-0001'")
    comprehend(own_company.environment, Settings(spread=here), stages=EVIDENCE)
    # Between the two, what is not sure to be there any more is not found.
    with EvidenceState.read(own_company.environment.state_folder) as state:
        stale = AnchorIndex.load(state)
    assert not [each for each in find_anchors("who lives in Lyon?", stale) if each.kind == "value"]
    assert own_company.build().looked_at == 1
    after = own_company.rows("SELECT reference, value FROM indexed_values ORDER BY ALL")
    assert set(after) - set(before) == {("shop/customers.town", "Uppsala")}
    assert own_company.ask("who lives in Uppsala?")["shop/customers.town", "value"].value == "Uppsala"


def test_a_table_that_is_gone_is_forgotten_and_a_source_that_becomes_schema_only_too(own_company: Company):
    settings = own_company.folder / "coset.yaml"
    text = settings.read_text().replace("stock.csv}", "stock.csv, schema_only: true}")
    settings.write_text("\n".join(line for line in text.splitlines() if "clinic" not in line) + "\n")
    own_company.environment = load_environment(own_company.folder)
    comprehend(own_company.environment, Settings(spread=here), stages=EVIDENCE)
    summary = own_company.build()
    assert summary.removed == 2
    held = own_company.rows("SELECT DISTINCT table_reference FROM indexed_values")
    assert sorted(held) == [("shop/customers",), ("shop/orders",)]


def test_without_a_session_what_the_state_knows_is_held_and_a_later_session_completes_it(
    company: Company, own_company: Company
):
    with EvidenceState.open(own_company.environment.state_folder) as state:
        for name in ("indexed_tables", "indexed_columns", "indexed_values", "code_labels"):
            execute(state, f"DELETE FROM {name}")
    alone = own_company.build(session=False)
    assert alone.searched > company.summary.searched
    known = "SELECT count(*) FROM indexed_values WHERE reference = 'shop/customers.customer_id'"
    assert own_company.rows(known)[0][0] < 90
    completed = own_company.build()
    assert completed.looked_at == 6
    assert own_company.rows(known) == [(90,)]


def test_a_state_whose_values_were_never_indexed_says_so(own_company: Company):
    with EvidenceState.open(own_company.environment.state_folder) as state:
        for name in ("indexed_tables", "indexed_columns", "indexed_values", "code_labels"):
            execute(state, f"DROP TABLE {name}")
    with EvidenceState.read(own_company.environment.state_folder) as state:
        index = AnchorIndex.load(state)
    found = look_up("customers in 'Lyon'", index)
    assert found.anchors[0].reference == "shop/customers"
    assert "shop/customers.town" in {each.reference for each in found.not_searched}
    searched = find_anchors("customers in 'Lyon'", index, own_company.session)
    assert [each.match for each in searched if each.reference == "shop/customers.town"] == ["searched"]


def test_the_same_question_has_the_same_anchors_strongest_first_and_no_more_than_asked(company: Company):
    question = "How many orders of 'New York Books' or Masimo were cancelled in March 2020, stock and status by town?"
    found = find_anchors(question, company.index, company.session)
    with EvidenceState.read(company.environment.state_folder) as state:
        again = find_anchors(question, AnchorIndex.load(state), company.session)
    assert found == again
    assert [anchor.score for anchor in found] == sorted((anchor.score for anchor in found), reverse=True)
    assert all(0 < anchor.score <= 1 for anchor in found)
    few = look_up(question, company.index, company.session, SearchSettings(most_anchors=3)).anchors
    assert few == found[:3]


def test_a_question_about_nothing_in_the_data_has_no_anchor(company: Company):
    assert find_anchors("why do whales sing beneath arctic ice?", company.index, company.session) == ()


def test_very_long_questions_and_other_languages_are_answered(company: Company):
    long = look_up("orders of Masimo Corporation " * 2_000, company.index)
    assert "58,000 characters" in long.note
    assert {"shop/orders", "stock/stock.store"} <= {anchor.reference for anchor in long.anchors}
    assert company.ask("Wie viele Kunden wohnen in Basel?")["shop/customers.town", "value"].value == "Basel"
    find_anchors("北京的客户有多少? \ud800 \x00", company.index)


def test_a_large_table_of_a_server_is_asked_with_a_filter_that_the_server_answers(
    tmp_path: Path, create_database: Callable[[str], str]
):
    import adbc_driver_postgresql.dbapi as adbc

    url = create_database("anchors")
    with adbc.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(
            "CREATE TABLE parcels AS SELECT 'PX-' || i AS tracking, (ARRAY['Road', 'Rail', 'Air'])[i % 3 + 1] AS way "
            "FROM generate_series(1, 3000) i"
        )
        cursor.execute("ANALYZE parcels")
    (tmp_path / "coset.yaml").write_text(
        f"sources:\n  post: {{location: '{url}', limits: {{snapshot_rows: 100, sample_rows: 200}}}}\n"
    )
    environment = load_environment(tmp_path)
    comprehend(environment, Settings(spread=here), stages=EVIDENCE)
    with QuerySession(environment) as session, EvidenceState.open(environment.state_folder) as state:
        summary = build_value_index(state, session, SMALL)
        index = AnchorIndex.load(state)
        assert summary.problems == ()
        found = {anchor.reference: anchor for anchor in find_anchors("where is px-2977 on Rail?", index, session)}
        ran: list[tuple] = []
        original = session.sql
        session.sql = lambda *given, **named: ran.append(original(*given, **named)) or ran[-1]  # type: ignore[method-assign]
        find_anchors("where is PX-2977?", index, session)
    assert found["post/public/parcels.way"].value == "Rail"
    assert (found["post/public/parcels.tracking"].value, found["post/public/parcels.tracking"].match) == (
        "PX-2977",
        "searched",
    )
    assert [use.rows for result in ran for use in result.uses] == [1]
