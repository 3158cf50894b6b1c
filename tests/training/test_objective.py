"""The trained functions and the shipped ones are the same functions. Needs torch, as training does."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from coset.identities import prototypes  # noqa: E402
from coset.training.identities.fit import (  # noqa: E402
    Episode,
    TorchEncoder,
    _as_numpy,
    fit,
    objective,
    realise,
    squared_distances,
)
from coset.training.settings import Database, FitSettings, ObjectiveSettings  # noqa: E402


@pytest.mark.parametrize("diagonal", [False, True])
def test_torch_and_numpy_realise_the_same_bank(diagonal: bool) -> None:
    generator = np.random.default_rng(5)
    objects, identities, size = 40, 9, 6
    width = size if diagonal else 1
    z, s = generator.normal(size=(objects, size)), generator.uniform(0.3, 3, size=(objects, width))
    weights = generator.uniform(size=(objects, identities)) * (generator.random((objects, identities)) < 0.3)
    weights[:, 2] = 0.0
    prior = prototypes.Prior(
        generator.normal(size=(identities, size)), generator.uniform(0.5, 2, size=(identities, width))
    )
    settings = ObjectiveSettings(shrinkage=2.0, support_cap=1.5)
    episode = Episode(
        torch.tensor(z), torch.tensor(s), torch.tensor(weights), torch.zeros(objects, identities),
        torch.zeros(objects, dtype=torch.long), torch.ones(objects, dtype=torch.bool),
    )  # fmt: skip
    centres, sharp = realise(episode, torch.tensor(prior.centres), torch.tensor(prior.precisions), settings)
    bank = prototypes.realise(z, s, weights, prior, prototypes.RealisationSettings(1.0, 2.0, 1.5, settings.epsilon))
    assert np.allclose(centres.numpy(), bank.centres) and np.allclose(sharp.numpy(), bank.precisions)
    distance = squared_distances(torch.tensor(z), centres, sharp).sqrt().numpy()
    assert np.allclose(distance, prototypes.distances(z, bank), atol=1e-4)


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("mixture", [0, 6])
def test_the_encoder_in_numpy_is_the_trained_one(diagonal: bool, mixture: int) -> None:
    torch.manual_seed(1)
    settings = FitSettings(hidden=16, embedding=5, diagonal=diagonal, mixture=mixture)
    encoder = TorchEncoder(12, 3, settings).eval()
    torch.nn.init.normal_(encoder.precision.weight)
    texts = np.random.default_rng(2).normal(size=(7, 12)).astype(np.float32)
    texts[2, 4:8] = texts[2, :4]  # a table
    texts[2:4, 8:] = 0.0  # what refers to nothing
    numbers = np.ones((7, 3), dtype=np.float32)
    with torch.no_grad():
        z, s = encoder(torch.tensor(texts) * 2.0, torch.tensor(numbers))
    ours, precision = _as_numpy(encoder, np.zeros(3, np.float32), np.ones(3, np.float32), 12).encode(texts, numbers)
    assert np.allclose(ours, z.numpy(), atol=1e-5) and np.allclose(precision, s.numpy(), atol=1e-5)


def test_each_term_of_the_objective_counts_and_opposition_acts_inside_its_margin_only() -> None:
    def loss(**changed: float) -> float:
        episode = Episode(
            torch.tensor([[0.0, 0.0], [1.0, 0.0]]), torch.ones(2, 1), torch.tensor([[1.0, 0.0], [0.0, 0.5]]),
            torch.tensor([[0.0, 1.0], [1.0, 0.0]]), torch.tensor([0, 1]), torch.tensor([False, False]),
        )  # fmt: skip
        settings = ObjectiveSettings(**changed)
        return float(objective(episode, torch.tensor([[0.0, 0.0], [2.0, 0.0]]), torch.full((2, 1), 1.5), settings)[0])

    base = loss()
    for name in ("soft", "attraction", "repulsion", "calibration", "regularisation"):
        assert loss(**{name: 0.0}) < base
    assert loss(opposition_margin=0.5) == pytest.approx(loss(repulsion=0.0))


def test_fitting_is_deterministic_and_learns() -> None:
    generator = np.random.default_rng(0)
    targets = generator.integers(0, 4, size=120)
    texts = np.tile(np.eye(4)[targets] + 0.1 * generator.normal(size=(120, 4)), 3).astype(np.float32)
    nothing = np.zeros((120, 4), dtype=np.float32)
    numbers = np.zeros((1, 120, 2), dtype=np.float32)
    database = Database(texts[None], numbers, nothing, nothing, targets)
    settings = FitSettings(epochs=400, hidden=16, embedding=4, objects=10, dropout=0.0, text_dropout=0.0, rate=1e-2)
    found = [fit([database], 4, 7, settings, lambda text, share: None) for _ in range(2)]
    assert np.array_equal(found[0][1].centres, found[1][1].centres)
    encoder, prior = found[0]
    embeddings, precisions = encoder.encode(texts, numbers[0])
    bank = prototypes.realise(embeddings, precisions, nothing.astype(float), prior, prototypes.RealisationSettings())
    assert (prototypes.assign(prototypes.distances(embeddings, bank)) == targets).mean() > 0.95
