"""What a question speaks of that nothing here speaks of, on real sources with the shipped encoder."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest
from view_company import company, inventory

from coset.identities.model import VOCABULARY_FILE, WORDS_FILE
from coset.identities.text_encoder import TextEncoder
from coset.routing.anchors import AnchorIndex, look_up
from coset.routing.ranking.index import load_index, store_vectors
from coset.routing.ranking.model import ENCODER_FILE, shipped_folder
from coset.routing.ranking.query_model import encode_question
from coset.routing.search.coverage import Coverage, Vocabulary, role_words
from coset.state import EvidenceState

pytestmark = pytest.mark.skipif(
    not (shipped_folder() / ENCODER_FILE).exists(), reason="the routing encoder is not in this checkout"
)


@pytest.fixture(scope="module")
def asked():
    shared = Path(str(files("coset.identities").joinpath("weights")))
    encoder = TextEncoder(shipped_folder() / ENCODER_FILE, shared / VOCABULARY_FILE, shared / WORDS_FILE, 1)
    with EvidenceState.open(company().state_folder) as state:
        store_vectors(state, encoder, "spoken of")
        index, anchors = load_index(state, encoder, "spoken of"), AnchorIndex.load(state)
    played = frozenset({("entity", "customer"), ("entity", "order"), ("attribute", "amount")})
    vocabulary = Vocabulary(index, encoder, role_words(inventory(), played))

    def ask(question: str) -> Coverage:
        return vocabulary.coverage(encode_question(question, encoder).whole, look_up(question, anchors).words)

    return ask


def test_what_no_name_value_or_role_is_like_is_told(asked):
    assert asked("How many orders mention a solar eclipse?").unfound == ("solar eclipse",)


def test_a_question_about_the_data_has_nothing_unfound(asked):
    assert asked("What is the total amount of the orders in each city?").unfound == ()


def test_a_word_is_found_by_the_role_that_something_plays(asked):
    assert "buyers" not in asked("Which buyers complained in Basel?").unfound


def test_words_of_asking_and_parts_of_dates_are_never_unfound(asked):
    assert asked("How often did orders increase most in March 2024 compared to the previous year?").unfound == ()


def test_words_apart_are_phrases_apart_and_each_is_said_once(asked):
    assert asked("orders of giraffes, penguins or giraffes").unfound == ("giraffes", "penguins")


def test_a_question_about_nothing_here_is_further_than_one_about_the_data(asked):
    near = asked("Which customers placed the largest orders?").strength
    far = asked("Which enzymes bind zinc?").strength
    assert near is not None and far is not None and near > 0.63 > far


def test_equal_questions_are_answered_equally_whatever_was_asked_before(asked):
    question = "Which penguins ordered a chair?"
    before = asked(question)
    asked("penguins and chairs and enzymes")
    assert asked(question) == before
