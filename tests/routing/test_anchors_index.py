"""The anchor index in memory: hashes, postings, misspelt words, schemas without rows, code texts, and its size."""

from __future__ import annotations

import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coset.readings.observed import ObservedColumn, ObservedEnvironment, ObservedTable
from coset.routing.anchors import AnchorIndex, find_anchors
from coset.routing.anchors.code_labels import label_pairs, listed_pairs
from coset.routing.anchors.hashed_texts import HashedTexts, Words, hashes_of, joined_hashes, sums_of
from coset.routing.anchors.spelling import Spelling, normalised, stem

WORDS = st.text(alphabet=string.ascii_lowercase + "äöé你", min_size=1, max_size=12)


@given(st.lists(st.lists(WORDS, max_size=5).map(" ".join), max_size=30))
def test_every_text_and_word_is_found_by_its_hash_and_no_other(texts: list[str]):
    hashed = HashedTexts(texts)
    keys = sorted({*texts, "never there"} - {""})
    for key, place in zip(keys, hashed.whole.places(hashes_of(keys)), strict=True):
        rows = [int(row) for row in hashed.whole.rows(int(place))] if place >= 0 else []
        assert rows == [row for row, text in enumerate(texts) if text == key]
    words = Words(hashed)
    for word in sorted({word for text in texts for word in text.split()}):
        (place,) = words.postings.places(hashes_of([word]))
        assert sorted(set(words.rows(int(place)).tolist())) == [
            row for row, text in enumerate(texts) if word in text.split()
        ]


@given(st.lists(st.lists(WORDS, min_size=1, max_size=5), min_size=1, max_size=20))
def test_the_hash_of_a_text_is_made_of_those_of_its_words(texts: list[list[str]]):
    import numpy as np

    sums, lengths = sums_of([word for words in texts for word in words])
    counts = np.array([len(words) for words in texts])
    for separator in (" ", ""):
        made = joined_hashes(sums, lengths, counts, separator)
        assert made.tolist() == hashes_of([separator.join(words) for words in texts]).tolist()


def test_texts_longer_than_a_chunk_are_hashed_whole():
    texts = ["a" * 300_000 + end for end in ("x", "y")]
    assert (HashedTexts(texts).whole.places(hashes_of(texts)) >= 0).all()
    assert len(set(hashes_of(texts).tolist())) == 2


@given(st.text(alphabet=string.ascii_lowercase, min_size=7, max_size=15), st.data())
def test_one_slip_in_a_known_word_is_found(word: str, data: st.DataObject):
    known = Spelling((Words(HashedTexts([word, "something", "else entirely"])),))
    place = data.draw(st.integers(0, len(word) - 2))
    slip = data.draw(st.sampled_from("abcxyz"))
    swapped = word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    for written in (
        word[:place] + word[place + 1 :], word[:place] + slip + word[place:], word[:place] + slip + word[place + 1 :],
        swapped,
    ):  # fmt: skip
        if written != word:
            assert word in [each.word for each in known.corrections(written)]


def test_a_short_word_with_another_letter_is_another_word():
    known = Spelling((Words(HashedTexts(["stage order quantity"])),))
    assert known.corrections("state") == ()
    assert [each.word for each in known.corrections("oder")] == ["order"]
    assert known.corrections("quantity") == ()
    assert known.corrections("überlang") == ()


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("Café-Zürich", "cafe zurich"), ("  A & B, Inc. ", "a and b inc"), ("#001Wt", "001wt"), ("北京", "北 京"),
        ("STRASSE", "strasse"), ("Straße", "strasse"), ("!!!", ""), ("İstanbul", "istanbul"),
    ],
)  # fmt: skip
def test_values_have_one_normalised_form(text: str, form: str):
    assert normalised(text) == form
    assert normalised(form) == form


def test_words_that_differ_by_their_endings_have_one_stem():
    assert len({stem(word) for word in ("shipping", "shipped", "ship")}) == 1
    assert len({stem(word) for word in ("ordered", "orders", "ordering")}) == 1
    assert stem("status") == stem("statuses")
    assert stem("rate") != stem("rat")


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("P = paid, S = sent", [("P", "paid"), ("S", "sent")]),
        ("1: yes; 2: no", [("1", "yes"), ("2", "no")]),
        ("status: 'P' means paid. 'S' stands for sent", [("P", "paid"), ("S", "sent")]),
        ("Breast Invasive Carcinoma (BRCA)", [("BRCA", "Breast Invasive Carcinoma")]),
        ("such as lung squamous cell carcinoma (LUSC).", [("LUSC", "lung squamous cell carcinoma")]),
        ("the net operating income (NOI)", [("NOI", "net operating income")]),
        ("LGG (Brain Lower Grade Glioma)", [("LGG", "Brain Lower Grade Glioma")]),
        ("A sentence without any code in it.", []),
    ],
)
def test_texts_that_explain_codes_are_understood(text: str, pairs: list[tuple[str, str]]):
    assert label_pairs(text) == pairs


def test_a_list_of_codes_is_understood_when_the_codes_are_known():
    assert listed_pairs("P paid, S sent, C cancelled", {"P", "S", "C"}) == [
        ("P", "paid"),
        ("S", "sent"),
        ("C", "cancelled"),
    ]
    assert listed_pairs("P paid, the rest is open", {"P"}) == []


def schema() -> ObservedEnvironment:
    orders = ObservedTable(
        "sales_orders",
        (
            ObservedColumn("ord_no", "whole", is_key=True),
            ObservedColumn("c17", "text", label="Delivery town", samples=("Basel", "Lyon")),
            ObservedColumn("st", "text", description="order state: P = paid, S = shipped", samples=("P", "S")),
            ObservedColumn("crt", "time", description="when the order was created by the customer"),
        ),
        reference="db.sales_orders",
    )
    return ObservedEnvironment("db", (orders, ObservedTable("clients", (ObservedColumn("nm", "text"),))))


def found(question: str, index: AnchorIndex) -> dict[tuple[str, str], float]:
    return {(each.reference, each.kind): each.score for each in reversed(find_anchors(question, index))}


def test_schemas_without_rows_are_looked_up_by_names_labels_descriptions_and_samples():
    index = AnchorIndex.from_observed(schema())
    assert found("all sales orders", index)["db.sales_orders", "name"] == 1.0
    assert found("by delivery towns", index)["db.sales_orders.c17", "name"] > 0.8
    assert found("deliveries to Lyon", index)["db.sales_orders.c17", "value"] > 0.8
    assert found("which were shipped?", index)["db.sales_orders.st", "code"] > 0.6
    assert found("which orders were created by each customer", index)["db.sales_orders.crt", "name"] > 0.2
    assert found("names of clients", index)["clients", "name"] == 1.0
    assert ("db.sales_orders.crt", "date") in found("sales orders in 2020", index)


def test_an_environment_without_anything_has_no_anchors():
    assert (
        find_anchors("how many orders in 2020 for 'x'?", AnchorIndex.from_observed(ObservedEnvironment("", ()))) == ()
    )


def test_thousands_of_namesakes_do_not_hide_the_one_whose_table_is_named():
    chosen = random.Random(1)
    words = ["".join(chosen.choices(string.ascii_lowercase, k=7)) for _ in range(400)]
    tables = tuple(
        ObservedTable(
            f"{chosen.choice(words)}_{number}",
            (
                ObservedColumn("name", "text"),
                ObservedColumn("status", "text"),
                ObservedColumn(chosen.choice(words), "text"),
            ),
            reference=f"t{number:04}",
        )
        for number in range(2_000)
    )
    shipments = ObservedTable(
        "shipments", (ObservedColumn("status", "text"), ObservedColumn("id", "whole")), reference="zz"
    )
    index = AnchorIndex.from_observed(ObservedEnvironment("", (*tables, shipments)))
    anchors = find_anchors("what is the status of each shipment?", index)
    assert [anchor.reference for anchor in anchors[:2]] == ["zz", "zz.status"]
    assert len(anchors) <= 40
    assert all(anchor.score < 0.5 for anchor in anchors[2:])
