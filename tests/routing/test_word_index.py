"""Words shared by a question and the names of objects."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from coset.routing.search.words import WordIndex, stem, stems_of


def test_names_and_questions_meet_in_their_stems():
    assert stems_of("custOrders") == stems_of("orders of customers")[::-1]
    assert stem("orders") == stem("ordered") == stem("ordering") == stem("order")


def test_british_and_american_spellings_meet():
    pairs = ("enrolment enrollment", "colour color", "organisation organization", "theatres theater", "licence license",
             "catalogue catalogs", "analysed analyzing", "favourite favorite", "programme programs")  # fmt: skip
    for one, other in map(str.split, pairs):
        assert stem(one) == stem(other)
    assert len({stem(word) for word in ("hour", "tour", "course", "house", "rise", "raise", "user", "score")}) == 8


def test_common_words_say_nothing():
    assert stems_of("what is the of and") == ()


def test_a_whole_name_in_the_question_covers_the_object_wholly():
    index = WordIndex([stems_of("order_date"), stems_of("order_status"), stems_of("city")])
    found = index.overlap(stems_of("On which date was the order placed?"))
    assert found.of_object[0] == 1.0
    assert 0 < found.of_object[1] < 1
    assert found.of_object[2] == 0


def test_a_rare_word_weighs_more_than_a_common_one():
    index = WordIndex([stems_of("customer name"), *(stems_of("name") for _ in range(50))])
    question = stems_of("customer name")
    assert index.overlap(question).of_question[0] == 1.0
    assert index.overlap(question).of_question[1] < 0.3


def test_an_index_of_nothing_answers_nothing():
    assert len(WordIndex([]).overlap(("word",)).of_object) == 0


@given(
    st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=5), max_size=20), st.lists(st.sampled_from("abcdefghxy"))
)
def test_the_index_equals_the_plain_sum(objects: list[list[str]], question: list[str]):
    index = WordIndex(objects)
    found = index.overlap(question)
    counts = {word: sum(word in own for own in objects) for word in "abcdefghxy"}
    weight = {word: np.log1p(len(objects) / max(1, count)) for word, count in counts.items()}
    for number, own in enumerate(objects):
        shared = sum(weight[word] for word in set(own) & set(question))
        assert np.isclose(
            found.of_object[number], shared / max(sum(weight[word] for word in set(own)), 1e-6), atol=1e-5
        )
