"""The Gaussian realisation against the paper's formulas (Section 3.3), worked by hand or by a plain loop."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from coset.identities.prototypes import (
    Array,
    Calibration,
    Prior,
    PrototypeBank,
    RealisationSettings,
    assign,
    cap_support,
    distances,
    fibers,
    joint,
    membership_distance,
    memberships,
    realise,
)

UNCAPPED = RealisationSettings(support_cap=math.inf, shrinkage=1.0, epsilon=0.5)
"""The paper's own formulas: no cap on support."""

EMBEDDINGS = np.array([[1.0, 0.0], [3.0, 4.0], [9.0, 9.0]])
SCALAR = np.array([[2.0], [1.0], [4.0]])
SUPPORTING = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 0.0]])
PRIOR = Prior(centres=np.array([[0.0, 10.0], [5.0, 6.0]]), precisions=np.array([[4.0], [7.0]]))


def bank_of(centres: Array, precisions: Array) -> PrototypeBank:
    return PrototypeBank(centres, precisions, np.zeros(len(centres)), np.zeros(len(centres)))


def test_scalar_realisation_by_hand() -> None:
    bank = realise(EMBEDDINGS, SCALAR, SUPPORTING, PRIOR, UNCAPPED)
    # s_sup = 1*2 + 2*1 = 4; centre = (2*(1,0) + 2*(3,4)) / 4 = (2,2); alpha = 4 / (4 + 4) = 1/2.
    assert bank.support.tolist() == [4.0, 0.0]
    assert bank.interpolation.tolist() == [0.5, 0.0]
    assert bank.centres[0].tolist() == [1.0, 6.0]  # half (2,2), half (0,10)
    assert bank.precisions[0].tolist() == [0.5 * (0.5 + 4.0) + 0.5 * 4.0]  # with epsilon in the supported part alone


def test_without_support_the_prior_stands_to_the_last_digit() -> None:
    bank = realise(EMBEDDINGS, SCALAR, np.zeros((3, 2)), PRIOR, UNCAPPED)
    assert np.array_equal(bank.centres, PRIOR.centres)
    assert np.array_equal(bank.precisions, PRIOR.precisions)
    assert bank.support.tolist() == bank.interpolation.tolist() == [0.0, 0.0]


def test_without_objects_the_prior_stands() -> None:
    bank = realise(np.zeros((0, 2)), np.zeros((0, 1)), np.zeros((0, 2)), PRIOR, UNCAPPED)
    assert np.array_equal(bank.centres, PRIOR.centres)
    assert distances(np.zeros((0, 2)), bank).shape == (0, 2)


@pytest.mark.filterwarnings("error")
def test_no_shrinkage_is_support_alone_and_still_the_prior_where_there_is_none() -> None:
    settings = RealisationSettings(support_cap=math.inf, shrinkage=0.0, epsilon=0.5)
    bank = realise(EMBEDDINGS, SCALAR, SUPPORTING, PRIOR, settings)
    assert bank.interpolation.tolist() == [1.0, 0.0]
    assert bank.centres.tolist() == [[2.0, 2.0], [5.0, 6.0]]
    assert bank.precisions.tolist() == [[4.5], [7.0]]


def test_diagonal_realisation_by_hand() -> None:
    precisions = np.array([[1.0, 3.0], [2.0, 1.0], [1.0, 1.0]])
    prior = Prior(PRIOR.centres, np.array([[3.0, 6.0], [7.0, 7.0]]))
    bank = realise(EMBEDDINGS, precisions, np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]), prior, UNCAPPED)
    # Coordinatewise: s_sup = (3, 4); centre = ((1*1 + 2*3) / 3, (3*0 + 1*4) / 4) = (7/3, 1).
    # alpha is one number: mean 3.5 against the prior's mean 4.5.
    alpha = 3.5 / 8.0
    assert bank.interpolation[0] == pytest.approx(alpha)
    assert bank.centres[0] == pytest.approx([alpha * 7 / 3, alpha * 1 + (1 - alpha) * 10])
    assert bank.precisions[0] == pytest.approx([alpha * 3.5 + (1 - alpha) * 3, alpha * 4.5 + (1 - alpha) * 6])
    assert np.array_equal(bank.precisions[1], [7.0, 7.0])


def test_equal_diagonal_precisions_are_the_scalar_case() -> None:
    random = np.random.default_rng(1)
    embeddings, precisions = random.normal(size=(30, 5)), random.uniform(0.3, 4, size=(30, 1))
    supporting = random.uniform(size=(30, 4)) * (random.uniform(size=(30, 4)) < 0.3)
    prior = Prior(random.normal(size=(4, 5)), random.uniform(0.5, 2, size=(4, 1)))
    wide = Prior(prior.centres, np.repeat(prior.precisions, 5, axis=1))
    scalar = realise(embeddings, precisions, supporting, prior, RealisationSettings())
    diagonal = realise(embeddings, np.repeat(precisions, 5, axis=1), supporting, wide, RealisationSettings())
    assert diagonal.centres == pytest.approx(scalar.centres)
    assert diagonal.precisions == pytest.approx(np.repeat(scalar.precisions, 5, axis=1))
    assert distances(embeddings, diagonal) == pytest.approx(distances(embeddings, scalar))
    assert diagonal.sensitivities == pytest.approx(scalar.sensitivities)


def test_more_support_moves_the_prototype_from_the_prior_to_the_support() -> None:
    embeddings = np.array([[1.0]])
    prior = Prior(np.array([[0.0]]), np.array([[1.0]]))
    weights = [0.1, 1.0, 10.0, 1000.0]
    centres = [
        float(realise(embeddings, np.ones((1, 1)), np.array([[w]]), prior, UNCAPPED).centres[0, 0]) for w in weights
    ]
    assert centres == pytest.approx([w / (w + 1) for w in weights])


def test_capped_support_keeps_proportions_and_never_grows() -> None:
    supporting = np.array([[3.0, 0.2, 0.0], [1.0, 0.3, 0.0]])
    assert cap_support(supporting, 1.0).tolist() == [[0.75, 0.2, 0.0], [0.25, 0.3, 0.0]]
    assert np.array_equal(cap_support(supporting, math.inf), supporting)


def test_precision_does_not_grow_without_end_when_support_is_capped() -> None:
    prior = Prior(np.zeros((1, 2)), np.ones((1, 1)))
    few = realise(np.ones((1, 2)), np.full((1, 1), 4.0), np.ones((1, 1)), prior, RealisationSettings())
    many = realise(np.ones((500, 2)), np.full((500, 1), 4.0), np.ones((500, 1)), prior, RealisationSettings())
    assert many.precisions == pytest.approx(few.precisions)
    assert many.centres == pytest.approx(few.centres)


@pytest.mark.parametrize("width", [1, 7])
def test_distances_equal_a_plain_loop(width: int) -> None:
    random = np.random.default_rng(2)
    # More objects than one block of the vectorised loop.
    embeddings, centres = random.normal(size=(1100, 7)), random.normal(size=(3, 7))
    precisions = random.uniform(0.1, 5, size=(3, width))
    found = distances(embeddings, bank_of(centres, precisions))
    for row in (0, 1, 1023, 1024, 1099):
        for identity in range(3):
            total = 0.0
            for k in range(7):
                total += precisions[identity, k if width > 1 else 0] * (embeddings[row, k] - centres[identity, k]) ** 2
            assert found[row, identity] == pytest.approx(math.sqrt(total), rel=1e-14)


@pytest.mark.parametrize("width", [1, 16])
def test_distances_keep_their_digits_far_from_the_origin(width: int) -> None:
    random = np.random.default_rng(3)
    step = random.normal(size=(1, 16))
    far = np.full((1, 16), 2.0**20)  # a power of two, so that adding a whole number of 2^-20 is exact
    step = np.round(step * 2**20) / 2**20
    found = distances(far + step, bank_of(far, np.full((1, width), 4.0)))
    assert found[0, 0] == pytest.approx(2 * np.linalg.norm(step), rel=1e-14)
    assert distances(far, bank_of(far, np.full((1, width), 4.0)))[0, 0] == 0.0


def test_equal_prototypes_tie_and_the_inventory_order_decides() -> None:
    random = np.random.default_rng(4)
    for dimensions, identities in ((3, 2), (96, 120), (17, 33)):
        centres = np.repeat(random.normal(size=(1, dimensions)), identities, axis=0)
        for width in (1, dimensions):
            bank = bank_of(centres, np.full((identities, width), 1.7))
            distance = distances(random.normal(size=(50, dimensions)), bank)
            assert (distance == distance[:, :1]).all()
            assert (assign(distance) == 0).all()
    assert assign(np.array([[2.0, 1.0, 1.0], [3.0, 3.0, 3.0]])).tolist() == [1, 0]


profiles = arrays(np.float64, st.tuples(st.integers(1, 8), st.integers(1, 12)), elements=st.floats(0, 1e6))


@given(distance=profiles, temperature=st.floats(1e-3, 1e3))
def test_memberships_are_points_of_the_simplex_in_the_order_of_nearness(distance: Array, temperature: float) -> None:
    profile = memberships(distance, temperature)
    assert (profile >= 0).all()
    assert profile.sum(axis=1) == pytest.approx(np.ones(len(distance)))
    rows = np.arange(len(distance))
    assert (profile[rows, assign(distance)] == profile.max(axis=1)).all()


def test_memberships_by_hand() -> None:
    profile = memberships(np.array([[1.0, 1.0 + math.log(3)]]), 1.0)
    assert profile[0] == pytest.approx([3 / 4, 1 / 4])
    assert memberships(np.array([[1.0, 1.0 + 2 * math.log(2)]]), 2.0)[0] == pytest.approx([2 / 3, 1 / 3])


def test_the_papers_two_profiles_agree_in_the_hard_reading_and_differ_in_the_soft_one() -> None:
    one, other = np.array([3 / 4, 1 / 4]), np.array([2 / 3, 1 / 3])
    assert one.argmax() == other.argmax() == 0
    assert membership_distance(one, other) == pytest.approx(math.sqrt(2) / 12, rel=1e-15)
    assert membership_distance(one, one) == 0.0


simplex = arrays(np.float64, (3, 6), elements=st.floats(0, 50)).map(lambda each: memberships(each, 1.0))


@given(simplex)
def test_membership_distance_is_a_pseudometric(profile: Array) -> None:
    a, b, c = profile
    assert membership_distance(a, a) == 0.0
    assert membership_distance(a, b) >= 0.0
    assert membership_distance(a, b) == membership_distance(b, a)
    assert membership_distance(a, c) <= membership_distance(a, b) + membership_distance(b, c) + 1e-15
    assert membership_distance(a, b) <= math.sqrt(2) + 1e-15
    if membership_distance(a, b) == 0.0:
        assert a.argmax() == b.argmax()


@given(arrays(np.int64, st.integers(0, 40), elements=st.integers(0, 6)))
def test_fibers_partition_the_objects(assignment: np.ndarray) -> None:
    found = fibers(assignment, 7)
    assert len(found) == 7
    assert sorted(np.concatenate(found).tolist()) == list(range(len(assignment)))
    for identity, members in enumerate(found):
        assert (assignment[members] == identity).all()


@given(simplex, simplex)
def test_the_joint_profile_is_on_the_simplex_and_has_both_as_margins(entity: Array, attribute: Array) -> None:
    pairs = joint(entity, attribute)
    assert pairs.shape == (3, 36)
    assert (pairs >= 0).all()
    table = pairs.reshape(3, 6, 6)
    assert table.sum(axis=(1, 2)) == pytest.approx(np.ones(3))
    assert table.sum(axis=2) == pytest.approx(entity)
    assert table.sum(axis=1) == pytest.approx(attribute)


def test_sensitivity_is_the_norm_of_the_root_of_the_precision() -> None:
    bank = bank_of(np.zeros((2, 3)), np.array([[1.0, 9.0, 4.0], [0.25, 0.04, 0.01]]))
    assert bank.sensitivities == pytest.approx([3.0, 0.5])
    for row, expected in zip(bank.precisions, bank.sensitivities, strict=True):
        assert np.linalg.norm(np.diag(np.sqrt(row)), ord=2) == pytest.approx(expected)


def test_a_calibration_of_two_numbers_keeps_the_order_and_brings_certainties_together() -> None:
    distance = np.array([[1.0, 9.0, 9.0, 9.0, 20.0], [1.0, 1.3, 1.3, 1.3, 2.0]])
    plain = memberships(distance, Calibration(0.8).temperatures(distance))
    assert plain == pytest.approx(memberships(distance, 0.8))
    bent = memberships(distance, Calibration(0.8, 0.5).temperatures(distance))
    assert (np.argsort(-bent, axis=1, kind="stable") == np.argsort(-plain, axis=1, kind="stable")).all()
    assert bent[0, 0] < plain[0, 0] and bent[1, 0] > plain[1, 0]
    # The gap of the first object is 8 and that of the second .3.
    assert Calibration(2.0, 0.5).temperatures(distance)[:, 0] == pytest.approx([2 * 8**0.5, 2 * 0.3**0.5])


@pytest.mark.parametrize("identities", [1, 2, 3])
def test_a_calibration_stands_few_identities_and_ties(identities: int) -> None:
    profile = memberships(np.ones((2, identities)), Calibration(1.0, 0.5).temperatures(np.ones((2, identities))))
    assert profile == pytest.approx(np.full((2, identities), 1 / identities))
