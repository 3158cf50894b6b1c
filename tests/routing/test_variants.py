"""Other spellings of a value in its column, and what is no spelling of it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coset.routing.anchors.match_values import slips, variants_of
from coset.routing.anchors.spelling import normalised
from coset.routing.anchors.stored import HeldValues

LANGUAGES = ["English", " Eng.", "Eng.", "EEng.", "Egnlish", "Engl.", "French", "Fre.", "Finnish", "E.", "Spanish"]


def held(values: list[str]) -> HeldValues:
    other = ["English", "Engish"]  # Another column has values of its own.
    every = [*other, *values]
    objects = np.array([0] * len(other) + [1] * len(values), dtype=np.int64)
    return HeldValues(objects, pa.array(every), pa.array([normalised(each) for each in every]))


def test_misspellings_and_abbreviations_of_a_value_are_found_in_its_own_column():
    assert set(variants_of(held(LANGUAGES), 1, "English", ["English"])) == {
        "Egnlish",
        "Eng.",
        " Eng.",
        "EEng.",
        "Engl.",
    }


def test_values_that_are_equal_but_for_blanks_come_first():
    values = ["Closed", "Closed ", "Closed  ", "Clsed"]
    assert variants_of(held(values), 1, "Closed", values[:3]) == ("Closed ", "Closed  ", "Clsed")


@pytest.mark.parametrize("value", ["US-West", "Q1 2020", "SKU-001"])
def test_codes_that_differ_in_a_digit_or_are_short_words_are_no_variants(value):
    assert (
        variants_of(held(["US-West", "US-East", "Q1 2020", "Q1 2021", "SKU-001", "SKU-002"]), 1, value, [value]) == ()
    )


def test_a_column_of_very_many_values_is_not_looked_through():
    many = ["English", "Egnlish", *(f"word{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(500))]
    assert variants_of(held(many), 1, "English", ["English"]) == ()


@given(st.text("abcd", max_size=7), st.text("abcd", max_size=7))
def test_slips_are_the_same_both_ways_and_none_for_equal_texts(one, other):
    assert slips(one, other, 2) == slips(other, one, 2)
    assert (slips(one, other, 2) == 0) == (one == other)
