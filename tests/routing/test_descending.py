"""Orders of numbers: the same as a stable sort gives, for few numbers and for many, with owners and without."""

from __future__ import annotations

import numpy as np
import pytest

from coset.routing.ranking.features import FEW, descending


@pytest.mark.parametrize("count", (0, 1, FEW - 1, FEW, 3 * FEW))
def test_the_order_is_that_of_a_stable_sort(count: int) -> None:
    random = np.random.default_rng(count)
    values = random.normal(size=count).round(1).astype(np.float32)  # Rounded, so that many are equal.
    values[::7] = 0.0
    values[1::7] = -0.0
    values[2::50] = np.inf
    values[3::50] = -np.inf
    owner = random.integers(0, 9, count)
    expected = (-values).argsort(kind="stable")
    assert descending(values).tolist() == expected.tolist()
    expected = expected[owner[expected].argsort(kind="stable")]
    assert descending(values, owner, 9).tolist() == expected.tolist()


def test_very_many_owners_are_sorted_as_well() -> None:
    random = np.random.default_rng(2)
    values, owner = random.normal(size=2 * FEW).astype(np.float32), random.integers(0, 1 << 40, 2 * FEW)
    expected = np.lexsort((-values, owner))
    assert descending(values, owner, 1 << 40).tolist() == expected.tolist()
