"""Names as people and models write them, and the references that they mean."""

from __future__ import annotations

import pytest

from coset.errors import UserError
from coset.state.names import Names

NAMES = Names(
    [
        "sales", "sales/public/orders", "sales/public/orders.cust_no", "sales/arch/orders", "sales/arch/orders.cust_no",
        "crm", "crm/people", "crm/people.name", "crm/people.orders", "crm/people.doc", "crm/people.doc.items[].sku",
        "crm/people.doc#signed on", 'crm/"odd.name"', 'crm/"odd.name".x', "log/events_{}", "log/events_{}.moment",
    ],
    schemas={"sales/public/orders": "public", "sales/arch/orders": "arch"},
    members={"log/events_{}": ["events_2023", "events_2024"]},
    in_sql={
        "sales/public/orders": "sales.public.orders", "sales/arch/orders": "sales.arch.orders",
        "crm/people": "crm.people", 'crm/"odd.name"': 'crm."odd.name"', "log/events_{}": "log.events_all_tables",
    },
)  # fmt: skip


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("sales/public/orders.cust_no", "sales/public/orders.cust_no"),
        ("sales.public.orders.cust_no", "sales/public/orders.cust_no"),
        ('"Sales"."public"."ORDERS"', "sales/public/orders"),
        ("arch.orders", "sales/arch/orders"),
        ("crm.people.name", "crm/people.name"),
        ("PEOPLE", "crm/people"),
        ("items[].sku", "crm/people.doc.items[].sku"),
        ("people.doc#signed on", "crm/people.doc#signed on"),
        ('crm."odd.name".x', 'crm/"odd.name".x'),
        ("log.events_all_tables.moment", "log/events_{}.moment"),
        ("log.events_2024", "log/events_{}"),
    ],
)
def test_a_name_in_any_form_means_one_reference(written: str, meant: str):
    assert NAMES.resolve(written) == meant


def test_a_name_that_several_things_have_is_asked_back():
    with pytest.raises(UserError, match=r"may be sales\.public\.orders or sales\.arch\.orders: say which"):
        NAMES.resolve("sales.orders")


def test_a_schema_may_be_left_out_where_the_name_is_unique():
    names = Names(["sales/public/orders", "sales/public/orders.cust_no"], schemas={"sales/public/orders": "public"})
    assert names.resolve("sales.orders.cust_no") == "sales/public/orders.cust_no"
    assert names.resolve("sales/orders") == "sales/public/orders"


def test_a_misspelt_name_is_told_with_the_nearest():
    with pytest.raises(UserError, match=r"did you mean crm\.people\.name"):
        NAMES.resolve("crm.peple.name")


@pytest.mark.parametrize(
    ("reference", "told"),
    [
        ("sales/public/orders.cust_no", "sales.public.orders.cust_no"),
        ('crm/"odd.name".x', 'crm."odd.name".x'),
        ("crm/people.orders", "crm.people.orders"),
        ("crm/people.birth date", 'crm.people."birth date"'),
        ("crm/people.doc.items[].sku", "crm.people.doc.items[].sku"),
        ("crm/people.doc#signed on", "crm.people.doc#signed on"),
        ("log/events_{}.moment", "log.events_all_tables.moment"),
        ("crm", "crm"),
        ("share/handbook.md", "share/handbook.md"),
    ],
)
def test_people_are_told_the_name_that_sql_has(reference: str, told: str):
    assert NAMES.in_sql(reference) == told
    if reference in NAMES.references:
        assert NAMES.resolve(told) == reference


def test_names_within_a_sentence_are_those_of_sql():
    said = "sales/public/orders.cust_no = crm/people.doc.items[].sku, not sales/arch/orders_old (log/events_{}.moment)."
    assert NAMES.told(said) == (
        "sales.public.orders.cust_no = crm.people.doc.items[].sku, not sales/arch/orders_old (log.events_all_tables.moment)."
    )
