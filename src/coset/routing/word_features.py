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


def features_by_group(near: Vectors, sizes: NDArray[np.int64], nearest: Vectors) -> Vectors:
    """A row for each of `WORD_FEATURES`: how far behind the best for the word it fits best; how far above the mean for
    the word it stands out by; its share of the words; the words that it leads or nearly leads.

    The objects stand by group. `nearest`: how near each group comes to each word.
    """
    if not near.size:
        return np.zeros((len(WORD_FEATURES), len(near)), dtype=np.float32)
    if not sizes.all():
        sizes, nearest = sizes[sizes > 0], nearest[sizes > 0]
    begins = sizes.cumsum() - sizes
    mean: Vectors = np.add.reduceat(near, begins, axis=0)
    mean /= sizes[:, None].astype(np.float32)
    telling = nearest - mean + 1e-6
    telling /= telling.sum(axis=1, keepdims=True)
    behind = near - nearest.repeat(sizes, axis=0)
    share = SHARPNESS * behind
    np.exp(share, out=share)
    weights = telling / np.add.reduceat(share, begins, axis=0)
    return np.array([
        greatest_of_each(behind),
        greatest_of_each(near - mean.repeat(sizes, axis=0)),
        np.einsum("ij,ij->i", share, weights.repeat(sizes, axis=0)),
        np.einsum("ij,ij->i", telling.repeat(sizes, axis=0), (behind > -LEADS).astype(np.float32)),
    ])  # fmt: skip


def greatest_of_each(rows: Vectors, least: float = -np.inf) -> Vectors:
    """The greatest number of each row, or `least`. Of many short rows it is found column by column: that is several
    times as fast."""
    greatest: Vectors = np.ascontiguousarray(rows.T).max(axis=0, initial=least)
    return greatest
