"""Texts as numbers for a classifier: what they mean, and which words they have.

In: texts, and a text encoder. Out: one row a text: the mean of the vectors of several windows (the encoder reads some
40 tokens at once), and its words, hashed and weighted by how seldom they are. The windows are spread over the whole
text. Knows no category.
"""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Encode = Callable[[Sequence[str]], Floats]
WINDOW_WORDS = 28
"""As many words as the encoder surely reads whole."""
WORD_PLACES = 1024
MOST_WINDOWS = 12_000
"""So many windows are encoded in all: many texts get fewer each."""
_WORD = re.compile(r"[^\W\d_]{2,}")


def text_vectors(texts: Sequence[str], encode: Encode) -> Floats:
    """One vector of length 1 a text."""
    most = max(1, min(6, MOST_WINDOWS // max(1, len(texts))))
    pieces = [windows(text, most) for text in texts]
    vectors = encode([piece for each in pieces for piece in each])
    counts = np.array([len(each) for each in pieces])
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(int)
    means = np.add.reduceat(vectors, starts, axis=0) / counts[:, None] if len(texts) else vectors
    return np.asarray(means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9), dtype=np.float32)


def windows(text: str, most: int) -> list[str]:
    """At most so many pieces of a text, evenly spread, the beginning always among them."""
    words = text.split()
    if len(words) <= WINDOW_WORDS or most == 1:
        return [" ".join(words[:WINDOW_WORDS])]
    count = min(most, math.ceil(len(words) / WINDOW_WORDS))
    last = len(words) - WINDOW_WORDS
    starts = [round(number * last / (count - 1)) for number in range(count)]
    return [" ".join(words[start : start + WINDOW_WORDS]) for start in dict.fromkeys(starts)]


def word_features(texts: Sequence[str]) -> Floats:
    """Hashed words, the seldom ones weighing more; rows of length 1."""
    rows = np.zeros((len(texts), WORD_PLACES), dtype=np.float32)
    counted = [Counter(word.lower() for word in _WORD.findall(text)) for text in texts]
    frequency = Counter(word for each in counted for word in each)
    for number, each in enumerate(counted):
        for word, count in each.items():
            digest = zlib.crc32(word.encode("utf-8", "surrogatepass"))
            weight = (1 + math.log(count)) * math.log((1 + len(texts)) / frequency[word])
            rows[number, digest % WORD_PLACES] += weight if digest & 0x10000 else -weight
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9), dtype=np.float32)
