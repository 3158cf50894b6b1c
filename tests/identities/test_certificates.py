"""Attacks on the certificates: inside a radius nothing may flip, just outside a good share must."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from coset.identities.certificates import (
    conservative_radius,
    drift_bound,
    keeps_assignment,
    loss_to_margin_radius,
    margins,
    stability_radius,
)
from coset.identities.prototypes import Array, PrototypeBank, assign, distances

Regime = Literal["near", "spread", "far", "tied"]
Precision = Literal["equal", "scalar", "diagonal"]

regimes = st.sampled_from(["near", "spread", "far", "tied"])
precisions = st.sampled_from(["equal", "scalar", "diagonal"])
seeds = st.integers(0, 2**32 - 1)
dimensions = st.one_of(st.integers(1, 4), st.integers(1, 96), st.just(96))
identities = st.one_of(st.integers(2, 4), st.integers(2, 120), st.just(120))


def bank_of(centres: Array, precision: Array) -> PrototypeBank:
    return PrototypeBank(centres, precision, np.zeros(len(centres)), np.zeros(len(centres)))


def draw_precisions(random: np.random.Generator, kind: Precision, count: int, width: int, spread: float = 2.0) -> Array:
    if kind == "equal":
        return np.full((count, 1), np.exp(random.uniform(-spread, spread)))
    return np.exp(random.uniform(-spread, spread, size=(count, 1 if kind == "scalar" else width)))


def draw(
    random: np.random.Generator, p: int, count: int, kind: Precision, regime: Regime, objects: int
) -> tuple[Array, PrototypeBank]:
    """Objects near their prototypes, anywhere, far from the origin, or next to a decision border."""
    centres = random.normal(size=(count, p))
    bank = bank_of(centres, draw_precisions(random, kind, count, p))
    home = centres[random.integers(count, size=objects)]
    embeddings = home + random.normal(size=(objects, p)) * (1.0 if regime == "spread" else 0.05)
    if regime == "far":
        offset = random.normal(size=(1, p)) * 1e5
        return embeddings + offset, bank_of(centres + offset, bank.precisions)
    if regime == "tied":
        embeddings = border(embeddings, centres[random.integers(count, size=objects)], bank)
        embeddings += random.normal(size=(objects, p)) * 10.0 ** random.uniform(-14, -2, size=(objects, 1))
    return embeddings, bank


def border(inside: Array, outside: Array, bank: PrototypeBank) -> Array:
    """By bisection, the last point on the way to another centre that still has its assignment."""
    home = assign(distances(inside, bank))
    low, high = np.zeros((len(inside), 1)), np.ones((len(inside), 1))
    for _ in range(50):
        middle = (low + high) / 2
        kept = (assign(distances(inside + middle * (outside - inside), bank)) == home)[:, None]
        low, high = np.where(kept, middle, low), np.where(kept, high, middle)
    return inside + low * (outside - inside)


def unit(vectors: Array) -> Array:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0)


def steepest(embeddings: Array, assignment: NDArray[np.int64], bank: PrototypeBank) -> Array:
    """For each object and competitor the direction in which the margin falls fastest (objects x identities x p)."""
    away = embeddings[:, None] - bank.centres[None]
    slope = unit_slopes(away, bank)
    rows = np.arange(len(embeddings))
    return unit(slope[rows, assignment][:, None] - slope)


def unit_slopes(away: Array, bank: PrototypeBank) -> Array:
    """The gradients of the distances."""
    pulled = away * bank.precisions[None]
    length = np.sqrt((pulled * away).sum(axis=-1, keepdims=True))
    return np.divide(pulled, length, out=np.zeros_like(pulled), where=length > 0)


def directions(
    random: np.random.Generator, embeddings: Array, assignment: NDArray[np.int64], bank: PrototypeBank, drawn: int
) -> Array:
    """Random directions, and for every competitor the two worst ones: towards it, and down the margin."""
    towards = unit(bank.centres[None] - embeddings[:, None])
    random_ones = unit(random.normal(size=(len(embeddings), drawn, embeddings.shape[1])))
    return np.concatenate([towards, steepest(embeddings, assignment, bank), random_ones], axis=1)


def certified(embeddings: Array, bank: PrototypeBank) -> tuple[Array, NDArray[np.int64], Array]:
    distance = distances(embeddings, bank)
    assignment = assign(distance)
    return distance, assignment, stability_radius(distance, assignment, bank)


def test_no_perturbation_within_the_radius_changes_an_assignment() -> None:
    tried = 0

    @settings(max_examples=160)
    @given(seed=seeds, p=dimensions, count=identities, kind=precisions, regime=regimes)
    def attack(seed: int, p: int, count: int, kind: Precision, regime: Regime) -> None:
        nonlocal tried
        random = np.random.default_rng(seed)
        wanted = int(np.clip(2e6 / (p * count), 800, 14_000))
        objects = max(4, wanted // (2 * count + 100))
        embeddings, bank = draw(random, p, count, kind, regime, objects)
        _, assignment, radius = certified(embeddings, bank)
        lengths = np.where(random.uniform(size=(objects, 1)) < 0.7, 1 - 1e-9, random.uniform(size=(objects, 1)))
        paths = directions(random, embeddings, assignment, bank, 100)
        moved = embeddings[:, None] + paths * (radius[:, None] * lengths)[..., None]
        # Far from the origin the sum is rounded: what counts is how far the point really moved.
        inside = np.linalg.norm(moved - embeddings[:, None], axis=-1) < radius[:, None]
        found = assign(distances(moved.reshape(-1, p), bank)).reshape(inside.shape)
        flipped = inside & (found != assignment[:, None])
        assert not flipped.any(), f"{int(flipped.sum())} flips, first at {np.argwhere(flipped)[0]}"
        tried += int(inside.sum())

    attack()
    assert tried >= 1_000_000


def first_flip(
    embeddings: Array, bank: PrototypeBank, distance: Array, assignment: NDArray[np.int64], radius: Array
) -> Array:
    """How many radii away a search finds another assignment: along the worst directions of the four worst competitors."""
    sensitivity = bank.sensitivities
    ratio = margins(distance, assignment) / (sensitivity[None] + sensitivity[assignment][:, None])
    rows, worst = np.arange(len(embeddings))[:, None], np.argsort(ratio, axis=1)[:, :4]
    towards = unit(bank.centres[None] - embeddings[:, None])
    paths = np.concatenate([steepest(embeddings, assignment, bank)[rows, worst], towards[rows, worst]], axis=1)
    found = np.full(len(embeddings), np.inf)
    for times in (3.0, 2.0, 1.5, 1.25, 1.1, 1.01):
        moved = embeddings[:, None] + paths * (times * radius)[:, None, None]
        other = assign(distances(moved.reshape(-1, embeddings.shape[1]), bank)).reshape(len(embeddings), -1)
        found[(other != assignment[:, None]).any(axis=1)] = times
    return found


@pytest.mark.parametrize(
    ("kind", "spread", "noise", "times", "share"),
    [
        # Objects near their prototypes: the radius is nearly exact while a prototype has one precision ...
        ("scalar", 0.2, 0.05, 1.1, 0.95),
        ("scalar", 2.0, 0.05, 1.5, 0.95),
        # ... or precisions that differ little between dimensions.
        ("diagonal", 0.2, 0.05, 1.5, 0.95),
        # Midway between prototypes the triangle inequality gives some of it away, in many dimensions more.
        ("scalar", 1.0, 0.5, 1.5, 0.15),
        ("scalar", 1.0, 0.5, 2.0, 0.85),
        # One number for the sharpest of 96 dimensions is a coarse account of the others.
        ("diagonal", 1.0, 0.05, 2.0, 0.95),
        ("diagonal", 2.0, 0.05, 3.0, 0.95),
    ],
)
def test_just_outside_the_radius_flips_are_found(
    kind: Precision, spread: float, noise: float, times: float, share: float
) -> None:
    for p, count in ((2, 3), (16, 30), (96, 110)):
        random = np.random.default_rng(p)
        centres = random.normal(size=(count, p))
        bank = bank_of(centres, draw_precisions(random, kind, count, p, spread))
        embeddings = centres[random.integers(count, size=150)] + random.normal(size=(150, p)) * noise
        distance, assignment, radius = certified(embeddings, bank)
        found = first_flip(embeddings, bank, distance, assignment, radius)
        assert (found <= times).mean() >= share, f"{p} dimensions: {(found <= times).mean():.2f} within {times} radii"


def test_the_radius_is_exact_on_the_line_between_two_prototypes() -> None:
    bank = bank_of(np.array([[0.0], [10.0]]), np.array([[1.0], [4.0]]))
    # d = x and 2 (10 - x): equal at 20/3; from x = 1 the margin is 17 and both together move 3 per step.
    distance, assignment, radius = certified(np.array([[1.0]]), bank)
    assert assignment.tolist() == [0]
    assert radius[0] == pytest.approx(17 / 3)
    assert assign(distances(np.array([[1 + 17 / 3 - 1e-9]]), bank)).tolist() == [0]
    assert assign(distances(np.array([[1 + 17 / 3 + 1e-9]]), bank)).tolist() == [1]
    assert conservative_radius(distance, assignment, bank)[0] == pytest.approx(17 / 4)


@given(seed=seeds, p=dimensions, count=identities, kind=precisions, regime=regimes)
def test_the_conservative_radius_is_never_larger(
    seed: int, p: int, count: int, kind: Precision, regime: Regime
) -> None:
    embeddings, bank = draw(np.random.default_rng(seed), p, count, kind, regime, 20)
    distance, assignment, radius = certified(embeddings, bank)
    conservative = conservative_radius(distance, assignment, bank)
    assert (conservative <= radius).all()
    assert (conservative >= 0).all()
    if kind == "equal":
        assert conservative == pytest.approx(radius)


def test_a_tie_has_radius_zero() -> None:
    centres = np.array([[1.0, 0.0], [-1.0, 0.0], [1.0, 0.0]])
    bank = bank_of(centres, np.ones((3, 1)))
    distance, assignment, radius = certified(np.array([[0.0, 5.0], [1.0, 0.0], [3.0, 1.0]]), bank)
    assert assignment.tolist() == [0, 0, 0]
    assert radius.tolist() == [0.0, 0.0, 0.0]
    assert conservative_radius(distance, assignment, bank).tolist() == [0.0, 0.0, 0.0]
    assert keeps_assignment(distance, assignment, np.zeros((3, 3))).tolist() == [False, False, False]


def test_one_identity_alone_never_changes() -> None:
    bank = bank_of(np.array([[1.0, 2.0]]), np.ones((1, 1)))
    distance, assignment, radius = certified(np.array([[5.0, 5.0]]), bank)
    assert radius.tolist() == [math.inf]
    assert conservative_radius(distance, assignment, bank).tolist() == [math.inf]
    assert keeps_assignment(distance, assignment, np.full((1, 1), 1e9)).tolist() == [True]
    # The losses say nothing of competitors that do not exist.
    assert loss_to_margin_radius(distance, np.ones((1, 1)), np.zeros((1, 1)), 4.0, bank)[1].tolist() == [0.0]


def test_an_assignment_that_is_not_the_nearest_has_radius_zero() -> None:
    bank = bank_of(np.array([[0.0], [10.0]]), np.ones((2, 1)))
    distance = distances(np.array([[1.0]]), bank)
    assert stability_radius(distance, np.array([1]), bank).tolist() == [0.0]


def signed(random: np.random.Generator, distance: Array, helpful: float) -> tuple[Array, Array]:
    """Support mostly for the nearest identity and opposition mostly for the others, with some of it wrong."""
    objects, count = distance.shape
    right = np.zeros((objects, count))
    right[np.arange(objects), distance.argmin(axis=1)] = 1.0
    wrong = random.uniform(size=(objects, count)) ** 4
    supporting = helpful * right + (1 - helpful) * wrong
    opposing = helpful * (1 - right) * random.uniform(0.5, 1.5, size=(objects, count)) + (1 - helpful) * wrong
    return supporting, opposing


def test_the_loss_bound_never_promises_more_than_the_true_radius() -> None:
    positive = 0

    @settings(max_examples=150)
    @given(
        seed=seeds,
        p=dimensions,
        count=st.integers(2, 30),
        kind=precisions,
        regime=st.sampled_from(["near", "spread", "tied"]),
        helpful=st.sampled_from([0.0, 0.5, 0.99, 1.0]),
        reach=st.floats(0.2, 3.0),
    )
    def attack(seed: int, p: int, count: int, kind: Precision, regime: Regime, helpful: float, reach: float) -> None:
        nonlocal positive
        random = np.random.default_rng(seed)
        embeddings, bank = draw(random, p, count, kind, regime, 60)
        distance, _, radius = certified(embeddings, bank)
        supporting, opposing = signed(random, distance, helpful)
        margin = float((reach * np.median(np.sort(distance, axis=1)[:, 1])) ** 2)
        candidate, promised = loss_to_margin_radius(distance, supporting, opposing, margin, bank)
        told = promised > 0
        assert (promised <= radius)[told].all()
        nearest = distance[np.arange(60), candidate]
        others = distance.copy()
        others[np.arange(60), candidate] = np.inf
        assert (nearest < others.min(axis=1))[told].all()
        positive += int(told.sum())

    attack()
    assert positive >= 2_000


def test_the_loss_bound_by_hand() -> None:
    bank = bank_of(np.array([[0.0], [4.0]]), np.ones((2, 1)))
    distance = distances(np.array([[1.0]]), bank)  # 1 and 3
    supporting, opposing = np.array([[0.5, 0.0]]), np.array([[0.0, 0.25]])
    # xi = 16: a = sqrt(0.5 * 1 / 0.5) = 1; l- = 0.25 * (16 - 9)^2; b = sqrt(16 - 7) = 3; (3 - 1) / 2.
    candidate, promised = loss_to_margin_radius(distance, supporting, opposing, 16.0, bank)
    assert candidate.tolist() == [0]
    assert promised[0] == pytest.approx(1.0)
    # Within a margin that the competitor is already beyond, the margin itself is all that is known: b = sqrt(4).
    assert loss_to_margin_radius(distance, supporting, opposing, 4.0, bank)[1][0] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("supporting", "opposing", "why"),
    [
        ([0.0, 0.0, 0.0], [0.0, 1.0, 1.0], "no support"),
        ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], "a competitor that nothing opposes"),
        ([1.0, 1.0, 1.0], [0.0, 1.0, 1.0], "support for all makes the losses too large"),
    ],
)
def test_the_loss_bound_is_silent_without_cover(supporting: list[float], opposing: list[float], why: str) -> None:
    bank = bank_of(np.array([[0.0], [4.0], [8.0]]), np.ones((3, 1)))
    distance = distances(np.array([[1.0]]), bank)
    promised = loss_to_margin_radius(distance, np.array([supporting]), np.array([opposing]), 9.0, bank)[1]
    assert promised.tolist() == [0.0], why


def test_the_loss_bound_is_not_made_of_rounding() -> None:
    """Two prototypes in one place: the opposing loss leaves exactly nothing, and its root must not be taken for some."""
    for seed in range(200):
        random = np.random.default_rng(seed)
        bank = bank_of(np.repeat(random.normal(size=(1, 3)), 2, axis=0), np.ones((2, 1)))
        distance = distances(bank.centres[:1], bank)
        supporting, opposing = np.array([[random.uniform(), 0.0]]), np.array([[0.0, random.uniform()]])
        assert loss_to_margin_radius(distance, supporting, opposing, random.uniform(0.1, 9), bank)[1][0] == 0.0


def changed(random: np.random.Generator, bank: PrototypeBank, size: float) -> PrototypeBank:
    """The bank after a refresh: some prototypes moved, some sharpened or blurred, some stayed."""
    moves = (random.uniform(size=(len(bank.centres), 1)) < 0.8) * size
    centres = bank.centres + moves * random.normal(size=bank.centres.shape) / math.sqrt(bank.centres.shape[1])
    return bank_of(centres, bank.precisions * np.exp(moves * random.normal(size=bank.precisions.shape)))


def test_distances_drift_no_further_than_the_bound_and_covered_objects_keep_their_assignment() -> None:
    tried, covered, lost = 0, 0, 0

    @settings(max_examples=150)
    @given(
        seed=seeds,
        p=dimensions,
        count=st.one_of(st.integers(2, 6), st.integers(2, 120)),
        kind=precisions,
        regime=regimes,
        size=st.sampled_from([0.0, 1e-12, 1e-6, 1e-2, 0.05, 0.3, 2.0]),
        shifted=st.booleans(),
    )
    def attack(seed: int, p: int, count: int, kind: Precision, regime: Regime, size: float, shifted: bool) -> None:
        nonlocal tried, covered, lost
        random = np.random.default_rng(seed)
        objects = int(np.clip(2e6 / (p * count), 200, 1_500))
        embeddings, before = draw(random, p, count, kind, regime, objects)
        after = changed(random, before, size)
        moved = embeddings + shifted * size * unit(random.normal(size=embeddings.shape)) * random.uniform(
            size=(objects, 1)
        )
        shift = np.linalg.norm(moved - embeddings, axis=1)
        old, new = distances(embeddings, before), distances(moved, after)
        drift = drift_bound(embeddings, before, after, shift)
        assert (np.abs(new - old) <= drift).all()
        kept = keeps_assignment(old, assign(old), drift)
        flipped = assign(new) != assign(old)
        assert not (kept & flipped).any()
        tried += objects
        covered += int(kept.sum())
        lost += int((~kept & ~flipped).sum())

    attack()
    assert tried >= 100_000
    # Not vacuous: of the objects that kept their assignment, the bound knew it of many.
    assert covered / (covered + lost) >= 0.4


def test_the_drift_bound_is_reached() -> None:
    """Object, old and new centre on a line, precision as before: the distance moves by exactly the bound."""
    before = bank_of(np.array([[0.0, 0.0], [50.0, 0.0]]), np.full((2, 1), 4.0))
    after = bank_of(np.array([[-1.0, 0.0], [50.0, 0.0]]), np.full((2, 1), 4.0))
    embeddings = np.array([[3.0, 0.0]])
    drift = drift_bound(embeddings, before, after, 0.5)
    assert drift[0] == pytest.approx([2 * 1.5, 2 * 0.5])
    moved = distances(embeddings + np.array([[0.5, 0.0]]), after) - distances(embeddings, before)
    assert np.abs(moved[0]) == pytest.approx(drift[0])


def test_precisions_alone_drift_with_the_distance_from_the_centre() -> None:
    before = bank_of(np.array([[0.0, 0.0]]), np.array([[1.0, 4.0]]))
    after = bank_of(np.array([[0.0, 0.0]]), np.array([[9.0, 4.0]]))
    assert drift_bound(np.array([[3.0, 4.0]]), before, after)[0, 0] == pytest.approx(2 * 5)
    assert distances(np.array([[5.0, 0.0]]), after)[0, 0] - 5 == pytest.approx(2 * 5)


def test_an_unchanged_bank_has_no_drift_and_keeps_all_but_ties() -> None:
    embeddings, bank = draw(np.random.default_rng(5), 8, 10, "diagonal", "spread", 200)
    drift = drift_bound(embeddings, bank, bank)
    assert (drift == 0).all()
    distance = distances(embeddings, bank)
    assert keeps_assignment(distance, assign(distance), drift).all()


def test_small_changes_cover_most_objects_and_great_ones_few() -> None:
    random = np.random.default_rng(6)
    embeddings, bank = draw(random, 32, 60, "scalar", "near", 500)
    distance = distances(embeddings, bank)
    shares = [
        keeps_assignment(distance, assign(distance), drift_bound(embeddings, bank, changed(random, bank, size))).mean()
        for size in (0.01, 5.0)
    ]
    assert shares[0] == 1.0
    assert shares[1] < 0.5
