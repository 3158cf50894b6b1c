"""Names in words, of any script and case."""

from __future__ import annotations

import pytest

from coset.identities.inventory import phrase_of
from coset.readings.words import readable, singular, spelled_out, words_of


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("custBillingAddr_ID2", "cust billing addr id 2"),
        ("HTTPServerName", "http server name"),
        ("order-date (UTC)", "order date utc"),
        ("ÜberGröße", "über größe"),
        ("descripción_Año", "descripción año"),
        ("de\u0301partement", "département"),
        ("ИмяКлиента", "имя клиента"),
        ("客户_名称2", "客户 名称 2"),
        ("हिन्दी_नाम", "हिन्दी नाम"),
        ("価格٣", "価格 ٣"),
        ("__", ""),
        ("", ""),
        ("💰", ""),
    ],
)
def test_names_are_split_at_case_digits_and_signs(name: str, words: str) -> None:
    assert " ".join(words_of(name)) == words


def test_abbreviations_are_written_in_full() -> None:
    assert spelled_out("cust_dob") == ("customer", "birth", "date")
    assert phrase_of("CUST_ADDR_2") == ("customer", "address")


def test_words_without_vowels_and_beginnings_of_words_are_read_where_they_mean_one_word() -> None:
    assert readable("CMPNY_Addre") == ("company", "address")
    # Words, and forms that databases use themselves, stay as they are.
    for name in ("customer_id", "auth_user", "css_file", "cast", "stg_orders", "no", "x1"):
        assert readable(name) == words_of(name)


@pytest.mark.parametrize(
    ("many", "one"),
    [
        ("customers", "customer"), ("categories", "category"), ("addresses", "address"), ("boxes", "box"),
        ("matches", "match"), ("movies", "movie"), ("sizes", "size"), ("prizes", "prize"), ("statuses", "status"),
        ("houses", "house"), ("databases", "database"), ("people", "person"), ("diagnoses", "diagnosis"),
        ("status", "status"), ("series", "series"), ("analysis", "analysis"), ("class", "class"), ("news", "news"),
        ("gas", "gas"), ("id", "id"),
    ],
)  # fmt: skip
def test_plurals_in_the_singular(many: str, one: str) -> None:
    assert singular(many) == one
    assert singular(one) == one
