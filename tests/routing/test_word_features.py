"""Which words of a question each object answers best: a column competes for each word by itself."""

from __future__ import annotations

import numpy as np

from coset.routing.word_features import WORD_FEATURES, word_features

NEAR = np.array(
    # name  older  the
    [[0.9, 0.1, 0.2],   # a name
     [0.2, 0.5, 0.2],   # an age
     [0.3, 0.3, 0.2],   # something else
     [0.4, 0.9, 0.2]],  # alone in another group
    dtype=np.float32,
)  # fmt: skip
OF = np.array([0, 0, 0, 1])


def test_an_object_that_answers_a_weak_word_best_stands_beside_the_one_that_answers_the_strong() -> None:
    found = dict(zip(WORD_FEATURES, word_features(NEAR, OF, 2), strict=True))
    assert np.allclose(found["word_behind"], [0, 0, 0, 0])
    # The last word fits all alike, so that leading it is worth nothing.
    assert found["words_led"][2] < 0.01 < found["words_led"][1] < found["words_led"][0]
    assert found["word_share"][2] < 0.1 < found["word_share"][1]
    assert found["word_above"][1] > found["word_above"][2]


def test_shares_of_a_group_sum_to_one_and_groups_do_not_compete() -> None:
    _, _, share, led = word_features(NEAR, OF, 2)
    assert np.isclose(share[:3].sum(), 1.0) and np.isclose(share[3], 1.0) and np.isclose(led[3], 1.0)
    alone = word_features(NEAR[:3], OF[:3], 1)
    assert np.allclose(alone[2], share[:3])


def test_order_does_not_matter_and_nothing_gives_nothing() -> None:
    order = np.array([3, 1, 0, 2])
    for before, after in zip(word_features(NEAR, OF, 2), word_features(NEAR[order], OF[order], 2), strict=True):
        assert np.allclose(before[order], after, atol=1e-6)
    assert all(len(each) == 0 for each in word_features(NEAR[:0], OF[:0], 0))
    assert all((each == 0).all() for each in word_features(NEAR[:, :0], OF, 2))
