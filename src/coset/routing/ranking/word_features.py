"""Which words of a question each object answers best, beside the others of its group.

In: how near each candidate is to each word, and the group of each. Out: four numbers for each candidate. A question
names its columns with different strength ("older" says less of `age` than "name" of `name`), so a column competes for
each word by itself; words that tell the objects of a group apart count more than those that fit all or none.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coset.routing.ranking.group_features import LEADS
from coset.routing.ranking.index import Vectors

WORD_FEATURES = ("word_behind", "word_above", "word_share", "words_led")
SHARPNESS = 20.0
"""How fast the share of a word falls with the distance to the object that answers it best: the encoder's own scale."""


def features_by_group(near: Vectors, sizes: NDArray[np.int64], nearest: Vectors) -> Vectors:
    """A row for each of `WORD_FEATURES`: how far behind the best for the word it fits best; how far above the mean for
    the word it stands out by; its share of the words; the words that it leads or nearly leads.

    `near`: a row for each object, by group; `nearest`: a row for each group, how near it comes to each word. It is
    quickest where the numbers of one word stand together in memory.
    """
    if not near.size:
        return np.zeros((len(WORD_FEATURES), len(near)), dtype=np.float32)
    if not sizes.all():
        sizes, nearest = sizes[sizes > 0], nearest[sizes > 0]
    begins = sizes.cumsum() - sizes
    near, nearest = near.T, nearest.T
    mean: Vectors = np.add.reduceat(near, begins, axis=1)
    mean /= sizes.astype(np.float32)
    telling = nearest - mean + 1e-6
    telling /= telling.sum(axis=0)
    behind = near - nearest.repeat(sizes, axis=1)
    made = np.empty((len(WORD_FEATURES), near.shape[1]), dtype=np.float32)
    behind.max(axis=0, out=made[0])
    (near - mean.repeat(sizes, axis=1)).max(axis=0, out=made[1])
    led = telling.repeat(sizes, axis=1)
    led *= behind > -LEADS
    led.sum(axis=0, out=made[3])
    share = behind
    share *= SHARPNESS
    np.exp(share, out=share)
    share *= (telling / np.add.reduceat(share, begins, axis=1)).repeat(sizes, axis=1)
    share.sum(axis=0, out=made[2])
    return made
