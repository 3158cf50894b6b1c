"""Questions and documents in other languages: which one it is, and what their words mean."""

from __future__ import annotations

import pytest

from coset.routing.search.languages import all_stems, gloss, in_english, language_of


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("How many customers are there in Bonn?", "en"),
        ("Wie viele Kunden sind in Bonn?", "de"),
        ("¿Cuántos clientes hay en Bonn que no son empresas?", "es"),
        ("Quelles factures ne sont pas payées ?", "fr"),
        ("Hoeveel facturen zijn niet betaald?", "nl"),
        ("Ile faktur nie jest zapłaconych?", "pl"),
        ("customers of die Post", "en"),
        ("asdf qwerty", "en"),
        ("", "en"),
    ],
)
def test_small_words_say_which_language_it_is(text: str, code: str):
    assert language_of(text) == code


def test_known_words_are_put_in_english_and_names_stay():
    assert gloss("Wie viele Rechnungen von KUNAG sind offen?").split()[2:4] == ["invoice", "von"]
    assert "KUNAG" in gloss("Wie viele Rechnungen von KUNAG sind offen?")
    assert gloss("How many invoices are open?") == "How many invoices are open?"


def test_compounds_are_read_by_their_parts():
    assert in_english("kundennummer", "de") == "customer number"
    assert in_english("xyzzy", "de") == ""


def test_a_text_is_found_by_its_own_words_and_by_what_they_mean():
    stems = all_stems("Eine Rechnung ist nicht bezahlt, wenn der Betrag offen ist.")
    assert {"rechnung", "invoic", "betrag", "amount"} <= set(stems)
    assert "invoic" not in all_stems("An invoice number".replace("invoice", "Rechnung"))
