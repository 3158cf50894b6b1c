"""A question as the routing encoder sees it.

In: a question. Out: one vector for the whole, and one for each of its words. A long question is read in windows, each
seen whole; it has the direction of their mean. Knows no environment.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coset.errors import UserError
from coset.identities.text_encoder import TextEncoder, Vectors
from coset.routing.ranking.query_model import windows_of

MOST_WINDOWS = 12
"""Beyond so many windows a text is no question any more; what follows is not read."""


@dataclass(frozen=True)
class EncodedQuestion:
    """The vectors of a question, all of length 1."""

    text: str
    whole: Vectors
    words: Vectors


def encode_question(text: str, encoder: TextEncoder) -> EncodedQuestion:
    windows = windows_of(text)[:MOST_WINDOWS]
    if not windows:
        raise UserError("the question is empty: ask for something in words")
    parts = [encoder.encode_words(window) for window in windows]
    if len(parts) == 1:
        return EncodedQuestion(text, *parts[0])
    middle = np.mean([whole for whole, _ in parts], axis=0)
    return EncodedQuestion(
        text,
        (middle / max(float(np.linalg.norm(middle)), 1e-12)).astype(np.float32),
        np.concatenate([words for _, words in parts]),
    )
