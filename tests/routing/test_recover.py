"""Recovering evidence by reference and by words, within a budget."""

from __future__ import annotations

from dataclasses import replace

import pytest
from view_company import objects

from coset.errors import UserError
from coset.routing.objects.knowledge import Section
from coset.routing.search.recover import holding, recover, search
from coset.routing.views.budgets import cost


@pytest.fixture(scope="module")
def known():
    return objects()


def test_a_table_comes_back_with_all_its_columns_and_joins(known):
    found = recover(known, "shop/main/order")
    assert found.kind == "table" and found.left_out == 0
    for column in ("order_no", "customer_id", "status", "amount", '"placed at"'):
        assert f"\n  {column} " in found.text
    assert 'shop.items.order_no = shop."order".order_no' in found.text


def test_a_short_form_works_while_it_is_unambiguous(known):
    assert recover(known, "complaints.city").reference == "crm/complaints.city"
    with pytest.raises(UserError, match="may be"):
        recover(known, "customer_id")
    with pytest.raises(UserError, match="did you mean"):
        recover(known, "crm/complaints.citty")


def test_a_column_comes_back_with_values_dirt_role_and_what_people_said(known):
    text = recover(known, "crm/customers.segment").text
    assert "'K' 67" in text and "K is key account" in text and "ROLE" in text
    assert "clean: regexp_replace" in recover(known, "crm/customers.customer_id").text


def test_a_join_comes_back_by_the_reference_that_views_show(known):
    [relation] = [each for each in known.relations if "catalogue" in each.right_table]
    found = recover(known, relation.reference)
    assert found.kind == "join" and "shop.items.sku = catalogue.products.sku" in found.text and "REASONS" in found.text


def test_a_document_comes_back_word_for_word(known):
    assert "> Customers and what they complain about." in recover(known, "crm#description").text


def test_a_source_lists_its_tables_with_a_name_that_runs(known):
    text = recover(known, "shop").text
    assert 'shop."order" [shop/main/order], 900 rows' in text and "shop.events_all_tables" in text


@pytest.mark.parametrize("budget", [60, 120, 400, 2_000])
def test_a_budget_is_kept_and_what_did_not_fit_is_counted(known, budget):
    found = recover(known, "crm/customers", budget)
    assert found.cost == cost(found.text) <= budget
    whole = recover(known, "crm/customers", 20_000)
    lines = sum(len(content) for _, content in whole.sections)
    assert sum(len(content) for _, content in found.sections) + found.left_out == lines


def test_too_small_a_budget_and_no_reference_are_mistakes(known):
    with pytest.raises(UserError, match="at least 60"):
        recover(known, "crm/customers", 10)
    with pytest.raises(UserError, match="nothing to recover"):
        recover(known, "  ")


def test_names_values_and_documents_are_found_by_words(known):
    names = dict(search(known, "segment customer").sections)["NAMES"]
    assert any("crm.customers.segment" in line for line in names)
    assert dict(search(known, "basel").sections)["VALUES"] == ("crm.complaints.city = 'Basel', 34 rows",)
    assert "crm#description" in dict(search(known, "complain").sections)["DOCUMENTS"][0]


def test_where_no_name_holds_all_the_words_that_is_said_first_and_then_what_holds_some(known):
    text = search(known, "the segment of a zebra").text
    assert (
        text.startswith("SEARCH segment zebra\nNO NAME HOLDS ALL OF THESE; OF SOME\n") and "customers.segment" in text
    )
    assert "NAMES" in dict(search(known, "segments").sections), "the ending of a word does not matter"


def test_what_is_called_so_or_holds_it_is_known_by_reference(known):
    assert "crm/customers.segment" in holding(known, "customer segment")
    assert holding(known, "Basel") == {"crm/complaints.city"}
    assert not holding(known, "zebra segment") and not holding(known, "secretpage")


def test_nothing_found_is_said(known):
    assert "NOTHING FOUND" in search(known, "zebra").text
    with pytest.raises(UserError, match="nothing to search for"):
        search(known, " ?! ")


def test_a_file_name_finds_the_document_in_force_or_not(known, monkeypatch: pytest.MonkeyPatch):
    old = Section("rules/policy_2021.md#1", "rules/policy_2021.md", "", ("Policy 2021",), "Ten hours.", "superseded")
    monkeypatch.setattr(known, "knowledge", replace(known.knowledge, sections=(old,)))
    found = search(known, "policy_2021.md").text
    assert "[rules/policy_2021.md#1] (superseded)" in found and "> Ten hours." in found
    assert "Ten hours" not in search(known, "segment").text


def test_words_are_data_and_never_sql(known):
    found = search(known, "basel' OR '1'='1")
    assert found.reference == "basel 1" and "Basel" in found.text
    assert not any("Bern" in line or "Zug" in line for line in dict(found.sections)["VALUES"])


def test_nothing_hidden_is_recovered_or_found(known):
    texts = [
        recover(known, reference, 20_000).text
        for reference in ("weblog/visits", "weblog/visits.page", "crm/customers", "crm/customers.email")
    ]
    texts += [search(known, words, 20_000).text for words in ("secretpage", "mary", "miller", "smith1")]
    for hidden in ("SECRETPAGE", "mary.smith", "Miller"):
        assert not any(hidden in text for text in texts)
