"""People and contact data are recognised, products and places are not, and masks show the form alone."""

from __future__ import annotations

import json

import pytest

from coset.evidence.personal import mask, personal_data

PEOPLE = ["Anna Smith", "John Miller", "Maria Garcia", "Peter O'Neil", "Laura Jean-Paul"]


@pytest.mark.parametrize(
    ("column", "type", "examples", "table", "kind"),
    [
        ("c7", "VARCHAR", ["ann@x.com", "bob.b+c@mail.example.org"], "", "email"),
        ("EmailAddress", "VARCHAR", [], "", "email"),
        ("c7", "VARCHAR", ["DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432"], "", "iban"),
        ("number", "VARCHAR", ["4111 1111 1111 1111", "5500-0000-0000-0004"], "", "card_number"),
        ("host", "VARCHAR", ["192.168.0.1", "2001:db8::1"], "", "ip_address"),
        ("x", "VARCHAR", ["+49 30 123456", "(212) 555-1234", "212-555-1234"], "", "phone"),
        ("home_phone", "VARCHAR", ["030 1234567", "5551234567"], "", "phone"),
        ("phone", "BIGINT", ["5551234567"], "", "phone"),
        ("first_name", "VARCHAR", ["Zuzana", "Björn"], "", "person_name"),
        ("customerLastName", "VARCHAR", ["Smith", "van Dyke"], "", "person_name"),
        ("author_name", "VARCHAR", ["Zadie Smith"], "", "person_name"),
        ("Name", "VARCHAR", ["Anna Smith"], "employees", "person_name"),
        ("who", "VARCHAR", PEOPLE, "", "person_name"),
        ("street_address", "VARCHAR", ["12 Main St", "Hauptstraße 5"], "", "address"),
        ("date_of_birth", "DATE", ["1980-02-03"], "", "birth_date"),
        ("DOB", "VARCHAR", ["03/02/1980"], "", "birth_date"),
        ("ssn", "VARCHAR", ["123-45-6789"], "", "national_id"),
    ],
)
def test_personal_data_is_recognised(column, type, examples, table, kind):
    found = personal_data(column, type, examples, table=table)
    assert found is not None
    assert found.kind == kind
    assert 0.5 <= found.confidence <= 1


@pytest.mark.parametrize(
    ("column", "type", "examples", "table"),
    [
        ("name", "VARCHAR", ["Blue Widget", "Red Chair", "Jack Daniels Bottle"], "products"),
        ("city", "VARCHAR", ["Paris", "Santa Maria", "San Jose", "St. George", "Fort James"], ""),
        ("product_name", "VARCHAR", ["Charlotte Sofa", "Victoria Lamp"], ""),
        ("company", "VARCHAR", ["Smith Holdings", "Johnson Group"], ""),
        ("name", "VARCHAR", ["Premium", "Basic"], "customer_type"),
        ("version", "VARCHAR", ["1.2.3", "1.2.4"], ""),
        ("id", "BIGINT", ["5551234567"], ""),
        ("order_number", "VARCHAR", ["4111111111111112", "1234567890"], ""),
        ("created", "DATE", ["1980-02-03"], ""),
        ("phone_type", "VARCHAR", ["mobile", "home"], ""),
        ("email_opt_out", "BOOLEAN", ["true"], ""),
        ("ip_address_count", "INTEGER", ["3"], ""),
        ("address_id", "INTEGER", ["3"], ""),
        ("last_name_changed", "TIMESTAMP", ["2020-01-01"], ""),
        ("day", "VARCHAR", ["2020-01-01", "2020-01-02"], ""),
        ("zip", "VARCHAR", ["10115", "90210"], ""),
        ("", "VARCHAR", [], ""),
        ("notes", "VARCHAR", ["", "  "], ""),
    ],
)
def test_what_is_not_personal_raises_no_alarm(column, type, examples, table):
    assert personal_data(column, type, examples, table=table) is None


@pytest.mark.parametrize(
    ("value", "kind", "masked"),
    [
        ("ann.lee@example.com", "email", "a***@***.com"),
        ("no at sign", "email", "***"),
        ("John Smith", "person_name", "J*** S***"),
        ("Émile Zola", "person_name", "É*** Z***"),
        ("+49 30 123456", "phone", "+** ** ****56"),
        ("12345", "phone", "*****"),
        ("4111 1111 1111 1234", "card_number", "**** **** **** 1234"),
        ("DE89370400440532013000", "iban", "******************3000"),
        ("192.168.0.1", "ip_address", "*.*.*.*"),
        ("1980-02-03", "birth_date", "****-**-**"),
        ("3 May 1980", "birth_date", "* *** ****"),
        ("12 Main Street", "address", "* M*** S***"),
        ("123-45-6789", "national_id", "***-**-****"),
        ("", "email", ""),
    ],
)
def test_masks_show_the_form_alone(value, kind, masked):
    assert mask(value, kind) == masked


def test_dirt_and_paths_of_personal_columns_are_shown_in_outline(tmp_path):
    import coset

    rows = [
        {"id": n, "email": f"{' ' * (n % 5 == 0)}quokka{n}@example.org", "more": {"mail": f"quokka{n}@example.org"}}
        for n in range(200)
    ]
    (tmp_path / "people.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "coset.yaml").write_text("sources:\n  hr: {location: people.jsonl}\n")
    with coset.open(tmp_path) as environment:
        environment.comprehend()
        shown = [str(environment.show(name)) for name in ("hr.people", "hr.people.email", "hr.people.more")]
        shown.append(str(environment.diagnostics()))
    assert "padding" in shown[1]
    assert not any("quokka" in each for each in shown)
