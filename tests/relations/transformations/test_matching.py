"""Pairs are found by rule and by resemblance, and only where there is reason to."""

import os
import random
import subprocess
import sys

import pytest

from coset.relations.transformations import match

TITLES = [
    "Ministry of Education (Norway)", "Ministry of Finance (Norway)", "Federal Bureau of Statistics",
    "National Library of Scotland", "2008 Harbour Cup season", "2009 Harbour Cup season", "2010 Harbour Cup season",
    "St. Olaf's Hospital", "Royal Northern Infirmary", "Kingdom of Dali", "Charles II of Navarre",
    "Charles III of Navarre", "Boreal toad", "Painted burrowing frog", "Thompson-Center Contender",
    "Insular Government of the Philippine Islands", "Sacred Cod of Massachusetts", "Magdalen with the Smoking Flame",
]  # fmt: skip


def pairs_of(left, right, **options):
    return {(left[i], right[j]) for i, j in match(left, right, **options).pairs}


def test_typos_extra_words_and_other_word_orders_are_matched():
    expected = {
        ("Federal Bureau of Statistics", "Federal Statistics Bureau"),
        ("National Library of Scotland", "Natoinal Library of Scotland"),
        ("Kingdom of Dali", "Dali Kingdom"),
        ("Boreal toad", "Boreal Toad"),
        ("Magdalen with the Smoking Flame", "Magdalene with the Smoking Flame"),
        ("St. Olaf's Hospital", "Saint Olafs Hospital"),
    }
    assert pairs_of(TITLES, [right for _, right in expected]) == expected


def test_numbers_must_agree():
    found = pairs_of(TITLES, ["Harbour Cup season 2009", "Harbour Cup 2010", "Charles III, King of Navarre"])
    assert found == {
        ("2009 Harbour Cup season", "Harbour Cup season 2009"),
        ("2010 Harbour Cup season", "Harbour Cup 2010"),
        ("Charles III of Navarre", "Charles III, King of Navarre"),
    }


def test_a_right_value_joins_at_most_one_left_value_by_resemblance():
    matches = match(TITLES, ["Ministry of Education of Norway", "Ministry of Finance of Norway"])
    rights = [j for _, j in matches.pairs]
    assert sorted(rights) == [0, 1]


def test_damaged_utf8_is_read_as_what_it_was():
    left = ["Côte d'Ivoire Assembly", "Ryūkyū Kingdom", "Zürich Canton", "Sao Paulo State"]
    right = [text.encode().decode("latin-1") for text in left[:3]]
    assert pairs_of(left, right) == set(zip(left[:3], right, strict=True))


def test_every_copy_of_a_value_is_joined_and_nulls_are_not():
    matches = match(["a1", None, "b2", "a1", ""], ["A1", "B2", None, "A1", ""])
    assert matches.pairs == [(0, 0), (0, 3), (2, 1), (3, 0), (3, 3)]
    assert matches.rule is not None and matches.rule.kind == "case"
    assert matches.by_rule == 5 and matches.by_resemblance == 0


def test_what_the_rule_leaves_is_matched_by_resemblance():
    left = ["Jan Kotas", "Andrew Cencici", "Nancy Freehafer", "Mariya Sergienko", "Lara Constable", "Alida Bogle"]
    right = [
        "Kotas, Jan",
        "Cencici, Andrew",
        "Freehafer, Nancy",
        "Sergienko, Mariya",
        "Constable, Lara",
        "Bogle Alidda",
    ]
    matches = match(left, right)
    assert matches.pairs == [(n, n) for n in range(6)]
    assert (matches.by_rule, matches.by_resemblance) == (5, 1)


def test_columns_that_have_nothing_to_do_with_each_other_give_no_pairs():
    cities = ["Oslo", "Bergen", "Lima", "Quito", "Accra", "Dakar", "Hanoi", "Perth", "Turin", "Leeds"]
    matches = match(TITLES, cities)
    assert matches.pairs == [] and matches.rule is None and matches.condition("l", "r") is None


def test_a_higher_probability_asks_for_closer_matches():
    right = ["Insular Government", "Sacred Cod", "Royal Infirmary", "Boreal Toad", "Thompson/Center Contender"]
    everything, sure = match(TITLES, right), match(TITLES, right, least_probability=0.99)
    assert set(sure.pairs) < set(everything.pairs)


def test_the_same_columns_give_the_same_pairs_whatever_their_order():
    right = ["Federal Statistics Bureau", "Dali Kingdom", "Sacred Cod", "Olaf's Hospital", "Harbour Cup 2010"]
    first = pairs_of(TITLES, right)
    assert len(first) >= 4
    for seed in range(3):
        left, other = list(TITLES), list(right)
        random.Random(seed).shuffle(left)
        random.Random(seed + 9).shuffle(other)
        assert pairs_of(left, other) == first


def test_where_rules_join_one_to_many_a_left_value_may_be_guessed_many_times():
    painters = ["Anna Ancher", "Peder Balke", "Carl Bloch", "Johan Dahl", "Akseli Gallen", "Vilhelm Hammershoi"]
    right = [f"{painter} - {title}" for painter in painters for title in ("Summer", "Winter", "Harbour")]
    misspelled = [text.replace("Vilhelm", "Wilhelm") for text in right]
    assert {(i // 3, i) for i in range(18)} == set(match(painters, misspelled).pairs)


def test_features_are_the_same_in_every_run():
    program = (
        "from coset.relations.transformations.resemblance import Columns\n"
        "from coset.relations.transformations import fuzzy\n"
        f"columns = Columns({TITLES!r}, [title[::-1] + ' ' + title[4:] for title in {TITLES!r}])\n"
        f"print(fuzzy.candidates(columns, range({len(TITLES)})).features.tobytes().hex())"
    )
    outcomes = {
        subprocess.run(
            [sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(outcomes) == 1 and len(outcomes.pop()) > 1000


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([], []), (["a"], []), ([None], ["a"]), (["", ""], ["", None]), (["x" * 200_000, "y"], ["x" * 200_000 + "z"]),
        (["!!!", "???"], ["...", "!!"]), (["\ud800 broken"], ["\ud800 brokn"]), (["日本国", "中国"], ["日本", "中国 "]),
        (["a"] * 50, ["A"] * 50), (["1"], ["1"]),
    ],
)  # fmt: skip
def test_odd_columns_are_survived(left, right):
    matches = match(left, right)
    assert all(left[i] and right[j] for i, j in matches.pairs)
