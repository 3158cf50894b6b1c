"""Differences between left values, and series of editions and years, say what may match."""

from coset.relations.transformations import match
from coset.relations.transformations.matching import series_pairs
from coset.relations.transformations.resemblance import FEATURES, Columns, difference
from coset.relations.transformations.text import read_value

COUNTRIES = ["Norway", "Ghana", "Peru", "Chile", "Nepal", "Latvia", "Jordan", "Kenya", "Malta", "Qatar"]
OFFICES = [f"{office} of {country}" for country in COUNTRIES for office in ("Senate", "Treasury")]
EDITIONS = [f"{number}th Harbour Cup" for number in range(4, 20)]
YEARS = [f"Harbour Cup {year}" for year in range(1974, 1990)]


def bags(*texts):
    return [read_value(text).bag for text in texts]


def values(texts):
    return [read_value(text) for text in texts]


def test_a_difference_of_one_number_each_is_known_by_its_amount():
    assert difference(*bags("Harbour Cup 2008", "Harbour Cup 2011")) == (frozenset("#"), frozenset("#"), 3)
    assert difference(*bags("Harbour Cup 2008", "Harbour Cup")) == (frozenset({"2008"}), frozenset(), 0)
    assert difference(*bags("lot 123456", "lot 123457"))[2] == 0


def test_what_tells_two_left_values_apart_is_told_from_what_does_not():
    columns = Columns(OFFICES, ["Senate of Chile", "Royal Senate of Chile"])
    columns.learn_differences(range(len(OFFICES)))
    at = FEATURES.index("difference tells left values apart")
    senate, treasury = OFFICES.index("Senate of Chile"), OFFICES.index("Treasury of Chile")
    assert columns.features(treasury, 0, 0.5, 0.5)[at] > 1
    assert columns.features(senate, 1, 0.5, 0.5)[at] == 0


def test_a_row_of_the_other_office_is_not_taken_although_its_country_agrees():
    left = [office for office in OFFICES if office != "Senate of Chile"]
    right = [f"{office} (office)" for office in left] + ["Senate of Chile (office)"]
    joined = {(left[i], right[j]) for i, j in match(left, right).pairs}
    assert ("Treasury of Chile", "Senate of Chile (office)") not in joined
    assert len(joined) == len(left)


def test_editions_are_matched_with_years_by_the_one_shift_that_fits():
    pairs = series_pairs(values(YEARS), values(EDITIONS))
    assert pairs == {(n, n) for n in range(16)}


def test_editions_with_further_words_belong_to_the_series():
    assert (0, 0) in series_pairs(values(YEARS), values([f"{text} of Norway" for text in EDITIONS]))


def test_series_that_several_shifts_fit_are_left_alone():
    assert series_pairs(values(YEARS), values(EDITIONS[:10])) == set()


def test_years_against_years_and_short_series_are_left_alone():
    assert series_pairs(values(YEARS), values([f"{year} Harbour Cup" for year in range(1990, 2006)])) == set()
    assert series_pairs(values(YEARS[:6]), values(EDITIONS[:6])) == set()


def test_pairs_of_a_series_are_part_of_the_matches():
    others = ["Federal Bureau of Statistics", "National Library of Scotland", "Kingdom of Dali"]
    left, right = [*YEARS, *others], [*EDITIONS, "Dali Kingdom"]
    assert {(n, n) for n in range(16)} | {(18, 16)} == set(match(left, right).pairs)
