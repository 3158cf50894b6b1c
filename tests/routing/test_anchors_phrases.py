"""Phrases of a question: what is quoted, named, coded, counted and dated in it, in any language and at any length."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coset.errors import UserError
from coset.routing.anchors import phrases_of
from coset.routing.anchors.phrases import MOST_CHARACTERS, MOST_WORDS, read_question


def texts(question: str, kind: str) -> list[str]:
    return [phrase.text for phrase in phrases_of(question) if phrase.kind == kind]


def test_quoted_strings_are_one_phrase_each_whatever_the_marks():
    question = "Is 'Closed Won' the same as \"In Progress,\" or “Driver's Permit” or `net total`?"
    assert texts(question, "quoted") == ["Closed Won", "In Progress", "Driver's Permit", "net total"]


def test_capitalised_runs_are_names_with_the_small_words_between_them():
    assert texts("How much did the Bank of America and Anna O'Neil pay?", "name") == ["Bank of America and Anna O'Neil"]
    assert texts("how many in New York, Lower Saxony", "name") == ["New York", "Lower Saxony"]


def test_the_first_word_of_a_sentence_is_no_name_by_its_capital_alone():
    assert texts("Orders by region. Show them", "name") == []


@pytest.mark.parametrize("code", ["A-12", "TCGA-BRCA", "LGG", "00Q7x9", "978-0975315729", "ann@x.com"])
def test_codes_are_found(code: str):
    assert texts(f"which rows have {code} in them?", "code") == [code]


def test_ordinals_years_and_quarters_are_no_codes():
    assert texts("the 3rd and 10th best of the 1990s in Q3 2021 at 5k", "code") == []


@pytest.mark.parametrize(
    ("written", "value", "unit"),
    [
        ("2.5 million", 2_500_000, ""), ("10%", 10, "%"), ("$3k", 3_000, "$"), ("1,234.5 kg", 1234.5, "kg"),
        ("4711", 4711, ""), ("€20", 20, "€"), ("12 percent", 12, "%"), ("-5", -5, ""), ("3 billion", 3e9, ""),
    ],
)  # fmt: skip
def test_numbers_have_their_magnitude_and_unit(written: str, value: float, unit: str):
    (found,) = [phrase for phrase in phrases_of(f"more than {written} in all") if phrase.quantity]
    assert found.text == written
    assert (found.quantity.value, found.quantity.unit) == (value, unit)


def day(text: str | None) -> datetime.date | None:
    return datetime.date.fromisoformat(text) if text else None


@pytest.mark.parametrize(
    ("written", "first", "last"),
    [
        ("March 2020", "2020-03-01", "2020-03-31"),
        ("between 2019 and 2021", "2019-01-01", "2021-12-31"),
        ("from March 2019 to June 2020", "2019-03-01", "2020-06-30"),
        ("Q3 2021", "2021-07-01", "2021-09-30"),
        ("third quarter of 2021", "2021-07-01", "2021-09-30"),
        ("last week of June 2014", "2014-06-24", "2014-06-30"),
        ("first week of Feb 2015", "2015-02-01", "2015-02-07"),
        ("second half of 2018", "2018-07-01", "2018-12-31"),
        ("5 March 2020", "2020-03-05", "2020-03-05"),
        ("March 5th, 2020", "2020-03-05", "2020-03-05"),
        ("2020-02-29", "2020-02-29", "2020-02-29"),
        ("2020-02", "2020-02-01", "2020-02-29"),
        ("25/12/2019", "2019-12-25", "2019-12-25"),
        ("1990s", "1990-01-01", "1999-12-31"),
        ("2019-2021", "2019-01-01", "2021-12-31"),
        ("since May 2019", "2019-05-01", None),
        ("after 2019", "2020-01-01", None),
        ("before 2010", None, "2009-12-31"),
    ],
)
def test_dates_are_ranges(written: str, first: str | None, last: str | None):
    (found,) = [phrase for phrase in phrases_of(f"how many were sold {written}?") if phrase.dates]
    assert found.text == written
    assert (found.dates.first, found.dates.last) == (day(first), day(last))


def test_an_ambiguous_day_has_both_readings_and_an_impossible_one_none():
    found = [phrase.dates.first for phrase in phrases_of("sold on 03/04/2020") if phrase.dates]
    assert found == [datetime.date(2020, 3, 4), datetime.date(2020, 4, 3)]
    assert not [phrase for phrase in phrases_of("sold on 31 June") if phrase.dates]


def test_runs_have_at_most_six_words_and_no_stop_word_stands_alone():
    found = [phrase for phrase in phrases_of("the net weight of all heavy parts not started in this plant") if phrase]
    runs = [phrase for phrase in found if phrase.kind in ("word", "words")]
    assert max(phrase.last - phrase.first for phrase in runs) == MOST_WORDS
    assert {"net weight", "not started", "plant"} <= {phrase.text for phrase in runs}
    assert not {"the", "of", "all", "in"} & {phrase.text for phrase in runs}


@pytest.mark.parametrize("question", ["", "  \n\t "])
def test_an_empty_question_is_a_mistake(question: str):
    with pytest.raises(UserError, match="empty"):
        phrases_of(question)


def test_a_very_long_question_is_cut_and_says_so():
    read = read_question("how many Orders of Ännchen " * 2_000)
    assert "54,000 characters" in read.note
    assert len(read.text) <= MOST_CHARACTERS
    assert read_question("short").note == ""
    assert read_question("x" * 50_000).note


@pytest.mark.parametrize(
    ("question", "normal"),
    [
        ("Wie viele Kunden gibt es in München?", "munchen"),
        ("北京的客户有多少?", "北 京"),
        ("сколько заказов в Москве?", "москве"),
        ("كم عدد العملاء؟", "عدد العملاء"),
    ],
)
def test_other_languages_have_phrases_too(question: str, normal: str):
    assert normal in {phrase.normal for phrase in phrases_of(question)}


@given(st.text(min_size=1, max_size=200))
def test_any_text_is_read_and_every_phrase_stands_where_it_says(question: str):
    if not question.strip():
        return
    read = read_question(question)
    for phrase in read.phrases:
        assert read.text[phrase.begin : phrase.end] == phrase.text
        assert 0 <= phrase.first <= phrase.last <= len(read.words)
    assert read_question(question) == read
