"""Which words of a question each object answers best: a column competes for each word by itself."""

from __future__ import annotations

import numpy as np

from coset.routing.ranking.features import WORD_FEATURES, bounds_of, features_by_group, highest

NEAR = np.array(
    # name  older  the
    [[0.9, 0.1, 0.2],   # a name
     [0.2, 0.5, 0.2],   # an age
     [0.3, 0.3, 0.2],   # something else
     [0.4, 0.9, 0.2]],  # alone in another group
    dtype=np.float32,
)  # fmt: skip
SIZES = np.array([3, 1])


def by_group(near: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    return features_by_group(near, sizes, highest(near, bounds_of(sizes), -1.0, axis=0))


def test_an_object_that_answers_a_weak_word_best_stands_beside_the_one_that_answers_the_strong() -> None:
    found = dict(zip(WORD_FEATURES, by_group(NEAR, SIZES), strict=True))
    assert np.allclose(found["word_behind"], [0, 0, 0, 0])
    # The last word fits all alike, so that leading it is worth nothing.
    assert found["words_led"][2] < 0.01 < found["words_led"][1] < found["words_led"][0]
    assert found["word_share"][2] < 0.1 < found["word_share"][1]
    assert found["word_above"][1] > found["word_above"][2]


def test_shares_of_a_group_sum_to_one_and_groups_do_not_compete() -> None:
    _, _, share, led = by_group(NEAR, SIZES)
    assert np.isclose(share[:3].sum(), 1.0) and np.isclose(share[3], 1.0) and np.isclose(led[3], 1.0)
    alone = by_group(NEAR[:3], SIZES[:1])
    assert np.allclose(alone[2], share[:3])


def test_order_within_a_group_and_empty_groups_do_not_matter_and_nothing_gives_nothing() -> None:
    order = np.array([2, 0, 1, 3])
    found = by_group(NEAR, SIZES)
    assert np.allclose(found[:, order], by_group(NEAR[order], SIZES), atol=1e-6)
    for sizes in ([3, 0, 1], [0, 3, 1], [3, 1, 0]):
        assert np.array_equal(found, by_group(NEAR, np.array(sizes)))
    assert by_group(NEAR[:0], np.array([0])).shape == (len(WORD_FEATURES), 0)
    assert not by_group(NEAR[:, :0], SIZES).any()
