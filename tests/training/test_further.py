"""What was learned before is where learning goes on from."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from coset.identities.encoder import WAYS  # noqa: E402
from coset.identities.prototypes import Prior  # noqa: E402
from coset.training.identities.fit import fit  # noqa: E402
from coset.training.settings import Database, FitSettings  # noqa: E402


@pytest.mark.parametrize("mixture", [0, 8])
def test_no_step_further_is_the_same_encoder_and_prior(mixture: int):
    generator = np.random.default_rng(1)
    texts = generator.normal(size=(1, 40, WAYS * 12)).astype(np.float32)
    numbers = generator.normal(size=(1, 40, 5)).astype(np.float32)
    nothing = np.zeros((40, 3), dtype=np.float32)
    data = [Database(texts, numbers, nothing, nothing, generator.integers(0, 3, 40))]
    settings = FitSettings(epochs=2, hidden=16, embedding=6, mixture=mixture)
    encoder, prior = fit(data, 3, 1, settings, lambda text, share: None)
    still = FitSettings(epochs=1, hidden=16, embedding=6, mixture=mixture, rate=0.0)
    again, kept = fit(data, 3, 2, still, lambda text, share: None, (encoder, prior))
    for one, other in zip(encoder.encode(texts[0], numbers[0]), again.encode(texts[0], numbers[0]), strict=True):
        assert one == pytest.approx(other, abs=1e-4)
    assert isinstance(kept, Prior)
    assert kept.centres == pytest.approx(prior.centres, abs=1e-4)
    assert kept.precisions == pytest.approx(prior.precisions, rel=1e-3)
