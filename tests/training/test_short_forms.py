"""Short forms: only such as mean one word, and no form that is a word or in use by itself."""

from __future__ import annotations

from coset.training.short_forms import short_forms

KNOWN = frozenset(("company", "document", "documents", "contract", "contact", "category", "center", "cast", "castle"))


def test_forms_without_vowels_and_beginnings() -> None:
    forms = short_forms({"company": 20, "category": 20}, KNOWN)
    assert forms == {"cmpny": "company", "comp": "company", "compa": "company", "ctgry": "category",
                     "cate": "category", "categ": "category"}  # fmt: skip


def test_a_form_of_two_words_is_the_much_more_frequent_one_or_none() -> None:
    assert "cntrct" in short_forms({"contract": 10, "contact": 10}, KNOWN)
    assert "cont" not in short_forms({"contract": 10, "contact": 10}, KNOWN)
    assert short_forms({"contract": 30, "contact": 10}, KNOWN)["cont"] == "contract"
    assert short_forms({"document": 10, "documents": 20}, KNOWN)["docu"] == "document"


def test_what_is_a_word_or_in_use_is_left_alone() -> None:
    assert "cast" not in short_forms({"castle": 30}, KNOWN)
    assert "comp" not in short_forms({"company": 30, "comp": 3}, KNOWN)
    assert short_forms({"company": 5}, KNOWN) == {} == short_forms({"unheardof": 50}, KNOWN)
