"""The ranker's stage: several networks in one say the mean of what each says. Needs torch, as training does."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from coset.routing.ranking.features import GROUP_FEATURES  # noqa: E402
from coset.training.routing.ranker import RankingSettings, _fit, _mean_of  # noqa: E402


def test_networks_side_by_side_say_the_mean_of_what_each_says() -> None:
    torch.set_num_threads(1)
    random = np.random.default_rng(4)
    rows = [random.normal(size=(9, len(GROUP_FEATURES))).astype(np.float32) for _ in range(6)]
    gold = [row[:, 0] == row[:, 0].max() for row in rows]
    settings = RankingSettings(hidden=(6, 4), epochs=2, members=3)

    def quiet(text: str, share: float) -> None:
        pass

    networks = [_fit("groups", rows, gold, seed, settings, quiet) for seed in settings.seeds("groups", 5)]
    alone = [network.logits(rows[0]) for network in networks]
    together = _mean_of(networks)
    assert len(alone) == 3 and not np.allclose(alone[0], alone[1])
    assert np.allclose(together.logits(rows[0]), np.mean(alone, axis=0), atol=1e-5)
    assert [weight.shape for weight in together.weights] == [(len(GROUP_FEATURES), 18), (3, 6, 4), (12, 1)]
