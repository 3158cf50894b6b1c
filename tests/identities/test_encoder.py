"""The encoder: bounded precisions, a column between three places, several encoders as one, and what the file holds."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from coset.identities import encoder as encoder_module
from coset.identities.encoder import (
    Committee,
    Encoder,
    Mixture,
    Perceptron,
    arrays_of,
    as_one,
    committee_of,
    restored,
    rounded,
)
from coset.identities.prototypes import Prior, RealisationSettings, distances, realise


def perceptron(random: np.random.Generator, inputs: int, outputs: int) -> Perceptron:
    shapes = ((inputs, 5), (5,), (5, 5), (5,), (5, outputs), (outputs,))
    return Perceptron(*(random.normal(size=shape) for shape in shapes))


def encoder_of(width: int = 1, *, mixed: bool, seed: int = 0) -> Encoder:
    random = np.random.default_rng(seed)
    mixture = None
    if mixed:
        gate = (random.normal(size=shape) for shape in ((18, 7), (7,), (7, 3), (3,)))
        mixture = Mixture(perceptron(random, 4, 4), *gate)
    return Encoder(
        random.normal(size=6), np.abs(random.normal(size=6)) + 0.5, perceptron(random, 14, 4),
        random.normal(size=(5, width)), random.normal(size=width), mixture,
    )  # fmt: skip


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("mixed", [False, True])
def test_the_encoder_keeps_precisions_within_their_bounds(width: int, mixed: bool) -> None:
    random = np.random.default_rng(1)
    encoder = encoder_of(width, mixed=mixed)
    vectors, numbers = random.normal(size=(50, 12)) * 100, random.normal(size=(50, 6)) * 100
    vectors[::3, 8:] = 0.0
    embeddings, precisions = encoder.encode(vectors.astype(np.float32), numbers.astype(np.float32))
    assert embeddings.shape == (50, 4)
    assert precisions.shape == (50, width)
    assert np.isfinite(embeddings).all()
    assert ((precisions >= 0.25) & (precisions <= 4.0)).all()
    # Each object for itself: its row does not depend on the others.
    alone = encoder.encode(vectors[7:8].astype(np.float32), numbers[7:8].astype(np.float32))
    assert alone[0] == pytest.approx(embeddings[7:8])
    assert alone[1] == pytest.approx(precisions[7:8])


def test_a_column_lies_between_its_table_the_table_it_refers_to_and_its_own_place() -> None:
    random = np.random.default_rng(2)
    encoder = encoder_of(mixed=True)
    table, other, own = (random.normal(size=4).astype(np.float32) for _ in range(3))
    nothing, numbers = np.zeros(4, dtype=np.float32), random.normal(size=(1, 6)).astype(np.float32)

    def place(*vectors: np.ndarray) -> np.ndarray:
        return encoder.encode(np.concatenate(vectors)[None], numbers)[0][0]

    tables = [place(each, each, nothing) for each in (table, other)]
    # A table's place follows from its text alone, whatever its numbers are.
    assert np.array_equal(tables[0], encoder.encode(np.concatenate([table, table, nothing])[None], 3 * numbers)[0][0])
    free, _ = replace(encoder, mixture=None).encode(np.concatenate([own, table, other])[None], numbers)
    corners = np.array([*tables, free[0]])
    shares, *_ = np.linalg.lstsq(np.vstack([corners.T, np.ones(3)]), [*place(own, table, other), 1.0])
    assert (shares > 0).all() and shares.sum() == pytest.approx(1.0)
    unlinked, *_ = np.linalg.lstsq(np.vstack([corners.T, np.ones(3)]), [*place(own, table, nothing), 1.0])
    assert unlinked[1] == pytest.approx(0.0, abs=1e-9)


def seen(objects: int = 30) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(3)
    return random.normal(size=(objects, 12)).astype(np.float32), random.normal(size=(objects, 6)).astype(np.float32)


@pytest.mark.parametrize("width", [1, 4])
def test_the_squared_distances_of_a_committee_are_the_mean_of_those_of_its_members(width: int) -> None:
    members = tuple(encoder_of(width, mixed=True, seed=seed) for seed in range(3))
    random = np.random.default_rng(4)
    priors = [Prior(random.normal(size=(5, 4)), np.ones((5, width))) for _ in members]
    prior = Prior(*as_one([(each.centres, each.precisions) for each in priors]))
    embeddings, precisions = Committee(members).encode(*seen())
    assert embeddings.shape == (30, 12) and precisions.shape == (30, 1 if width == 1 else 12)
    nothing, settings = np.zeros((30, 5)), RealisationSettings()

    def squares(of_objects: np.ndarray, sharp: np.ndarray, of_roles: Prior) -> np.ndarray:
        return distances(of_objects, realise(of_objects, sharp, nothing, of_roles, settings)) ** 2

    alone = [squares(*member.encode(*seen()), own) for member, own in zip(members, priors, strict=True)]
    assert squares(embeddings, precisions, prior) == pytest.approx(np.mean(alone, axis=0))


def test_a_committee_of_one_is_that_one() -> None:
    alone = encoder_of(mixed=True)
    for expected, found in zip(alone.encode(*seen()), Committee((alone,)).encode(*seen()), strict=True):
        assert np.array_equal(expected, found)


def test_what_is_stored_says_the_same_in_a_fraction_of_the_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder_module, "LEAST", 20)  # The matrices of this test are small.
    committee = Committee((encoder_of(mixed=True), encoder_of(mixed=False, seed=1)))
    stored = rounded(arrays_of(committee, "entity"))
    assert stored["entity.0.own.first_weight"].dtype == np.int8
    again = committee_of(restored(stored), "entity", 0.25, 4.0)
    assert [member.mixture is None for member in again.members] == [False, True]
    for expected, found in zip(committee.encode(*seen()), again.encode(*seen()), strict=True):
        assert np.corrcoef(expected.ravel(), found.ravel())[0, 1] > 0.999


def test_loading_the_runtime_of_the_text_encoder_writes_nothing(tmp_path: Path) -> None:
    """Its telemetry begins with files: an identifier of the machine, a queue of events, a session."""
    unset = {"ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME", "CI"}
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    subprocess.run(
        [sys.executable, "-c", "from coset.identities.text_encoder import load_runtime; load_runtime()"], check=True,
        cwd=tmp_path, env={**environment, "HOME": str(tmp_path), "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    assert list(tmp_path.iterdir()) == []
