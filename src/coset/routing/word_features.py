"""Which words of a question each object answers best, beside the others of its group.

In: how near each candidate is to each word, and the group of each. Out: four numbers for each candidate. A question
names its columns with different strength ("older" says less of `age` than "name" of `name`), so a column competes for
each word by itself; words that tell the objects of a group apart count more than those that fit all or none.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coset.routing.group_features import LEADS
from coset.routing.index import Vectors

WORD_FEATURES = ("word_behind", "word_above", "word_share", "words_led")
SHARPNESS = 20.0
"""How fast the share of a word falls with the distance to the object that answers it best: the encoder's own scale."""


def word_features(near: Vectors, of: NDArray[np.int64], count: int) -> tuple[Vectors, Vectors, Vectors, Vectors]:
    """In the order of `WORD_FEATURES`: how far behind the best for the word it fits best; how far above the mean for
    the word it stands out by; its share of the words; the words that it leads or nearly leads."""
    if not near.size:
        nothing = np.zeros(len(near), dtype=np.float32)
        return nothing, nothing, nothing, nothing
    order = np.argsort(of, kind="stable")
    begins = np.searchsorted(of[order], np.arange(count))
    ordered = near[order]
    sizes = np.bincount(of, minlength=count)[:, None].astype(np.float32)
    highest = np.maximum.reduceat(ordered, begins, axis=0)
    mean = np.add.reduceat(ordered, begins, axis=0) / sizes
    telling = highest - mean + 1e-6
    telling /= telling.sum(axis=1, keepdims=True)
    behind = near - highest[of]
    share = np.exp(SHARPNESS * behind)
    total = np.add.reduceat(share[order], begins, axis=0)
    weights = telling[of]
    return (
        behind.max(axis=1),
        (near - mean[of]).max(axis=1),
        np.einsum("ij,ij->i", share, (telling / total)[of]),
        np.einsum("ij,ij->i", weights, (behind > -LEADS).astype(np.float32)),
    )
