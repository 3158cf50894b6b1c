"""Many short texts, found by a hash: whole, and by their words. All in arrays, so that a million load in a moment.

In: normalised texts, as a list or as one Arrow array. Out: for any number of keys at once, the rows whose text (or one
of whose words) is the key. Part of a hash stands for a text: whoever must be sure compares the text that a row leads
to. Knows nothing of what the texts are.

The hash is the sum of letter_i * p^i, modulo 2^64. Because p is odd it has an inverse, so the hash of any piece is a
difference of one running sum over all bytes, shifted back: whole texts and all their words come from one pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
Rows = NDArray[np.int64]
Bytes = NDArray[np.uint8]

BASE = 0x9E3779B97F4A7C15
CHUNK = 1 << 18
"""So many bytes are summed at once."""
_SPACE = 32


def _powers(base: int, count: int) -> Hashes:
    factors = np.full(count, base, dtype=np.uint64)
    factors[0] = 1
    return np.multiply.accumulate(factors)


POWERS = _powers(BASE, 1 << 13)
BACK = _powers(pow(BASE, -1, 1 << 64), 1 << 13)
"""The powers of the inverse."""


def mixed(hashes: Hashes) -> Hashes:
    """Spread over all bits (the finaliser of splitmix64), because a sum of powers is not. Zero stays zero."""
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashes ^ (hashes >> np.uint64(31))


def segment_hashes(content: Bytes, begins: Rows, ends: Rows) -> Hashes:
    """A hash for each piece of the bytes, which are in order; zero for an empty one."""
    found = segment_sums(content, begins, ends)
    return np.where(found == 0, found, mixed(found))


def segment_sums(content: Bytes, begins: Rows, ends: Rows) -> Hashes:
    """The sums behind the hashes."""
    found = np.zeros(len(begins), dtype=np.uint64)
    if not len(begins):
        return found
    width = max(CHUNK, int((ends - begins).max()))
    size = min(2 * width, int(ends[-1] - begins[0])) + 1
    powers, back = POWERS, BACK
    if size > len(POWERS):
        powers, back = _powers(BASE, size), _powers(int(BACK[1]), size)
    first = 0
    while first < len(begins):
        low = int(begins[first])
        last = max(first + 1, int(np.searchsorted(begins, low + width)))
        letters = content[low : int(ends[last - 1])]
        sums = np.zeros(len(letters) + 1, dtype=np.uint64)
        np.cumsum(letters * powers[: len(letters)], out=sums[1:])
        here, there = begins[first:last] - low, ends[first:last] - low
        found[first:last] = (sums[there] - sums[here]) * back[here]
        first = last
    return found


def hashes_of(texts: Sequence[str]) -> Hashes:
    """The hashes of some texts; of an empty one it is zero."""
    if not texts:
        return np.zeros(0, dtype=np.uint64)
    sums, _ = sums_of(texts)
    return mixed(sums)


def sums_of(texts: Sequence[str]) -> tuple[Hashes, Rows]:
    """The sums behind the hashes of some texts, and their lengths in bytes."""
    together = "".join(texts)
    if together.isascii():
        content, sizes = together.encode(), list(map(len, texts))
    else:
        encoded = [text.encode("utf-8", "replace") for text in texts]
        content, sizes = b"".join(encoded), list(map(len, encoded))
    lengths = np.array(sizes, dtype=np.int64)
    ends = lengths.cumsum()
    letters = np.frombuffer(content, dtype=np.uint8)
    if len(letters) >= len(POWERS):
        return segment_sums(letters, ends - lengths, ends), lengths
    # The same for the few texts of a question.
    through = np.zeros(len(letters) + 1, dtype=np.uint64)
    np.multiply(letters, POWERS[: len(letters)], out=through[1:]).cumsum(out=through[1:])
    begins = ends - lengths
    return (through[ends] - through[begins]) * BACK[begins], lengths


def joined_hashes(sums: Hashes, lengths: Rows, per_text: Rows, separator: str = " ") -> Hashes:
    """The hashes of texts made of words, from the sums of their words in order: no text is written for it."""
    starts = np.concatenate(([0], np.cumsum(per_text)))
    between = len(separator)
    through = np.cumsum(lengths + between)
    begins = through - lengths - between
    begins -= np.repeat(begins[np.minimum(starts[:-1], len(begins) - 1)], per_text) if len(begins) else 0
    begins = np.minimum(begins, len(POWERS) - 1)  # Of a longer text, the words at the end are mingled.
    parts = sums * POWERS[begins]
    if between:
        inner = begins > 0
        parts[inner] += np.uint64(ord(separator)) * POWERS[begins[inner] - 1]
    running = np.concatenate((np.zeros(1, dtype=np.uint64), np.cumsum(parts, dtype=np.uint64)))
    found = running[starts[1:]] - running[starts[:-1]]
    return np.where(found == 0, found, mixed(found))


class Postings:
    """Rows by hash: sorted once, then found by bisection for all keys of a question together.

    The high bits of a hash and the number of its row are sorted as one number: several times as quick as sorting the
    numbers by the hashes, and the rows of a key stay in order. Of a million rows, 44 bits of the hash remain.
    """

    def __init__(self, hashes: Hashes, rows: Rows | None = None) -> None:
        low = np.uint64((1 << max(1, len(hashes).bit_length())) - 1)
        self._high = ~low
        packed = (hashes & self._high) | np.arange(len(hashes), dtype=np.uint64)
        packed.sort()
        order = (packed & low).astype(np.int64)
        packed &= self._high
        first = np.ones(len(packed), dtype=bool)
        first[1:] = packed[1:] != packed[:-1]
        self.keys = packed[first]
        self.starts = np.append(np.flatnonzero(first), len(packed))
        self.members = order if rows is None else rows[order]

    def __len__(self) -> int:
        return len(self.members)

    def places(self, hashes: Hashes) -> Rows:
        """The place of each key, or -1."""
        if not len(self.keys):
            return np.full(len(hashes), -1, dtype=np.int64)
        wanted = hashes & self._high
        places = self.keys.searchsorted(wanted)
        places[self.keys.take(places, mode="clip") != wanted] = -1
        return places

    def rows(self, place: int, most: int | None = None) -> Rows:
        """The rows of the key at a place, in order."""
        begin, end = int(self.starts[place]), int(self.starts[place + 1])
        return self.members[begin : end if most is None else min(end, begin + most)]

    def count(self, place: int) -> int:
        return int(self.starts[place + 1] - self.starts[place])


class HashedTexts:
    """Texts in one piece of memory, found whole."""

    def __init__(self, texts: Any) -> None:
        """`texts`: an Arrow array of strings, or a list of them; none is NULL."""
        import pyarrow as pa

        array = pa.array(texts, pa.large_string()) if isinstance(texts, list) else texts.cast(pa.large_string())
        array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
        _, offsets, content = array.buffers()
        self.count = len(array)
        self.offsets: Rows = np.zeros(1, dtype=np.int64)
        if self.count:
            self.offsets = np.frombuffer(offsets, dtype=np.int64)[array.offset : array.offset + self.count + 1]
        self.content: Bytes = np.frombuffer(content or b"", dtype=np.uint8)
        self.whole = Postings(segment_hashes(self.content, self.offsets[:-1], self.offsets[1:]))

    def text(self, row: int) -> str:
        return self.content[self.offsets[row] : self.offsets[row + 1]].tobytes().decode("utf-8", "replace")


class Words:
    """The words of texts: found by their hash, each with the row of its text."""

    def __init__(self, texts: HashedTexts) -> None:
        self.texts = texts
        low, high = int(texts.offsets[0]), int(texts.offsets[-1])
        letters = texts.content[low:high] != _SPACE
        edges = np.zeros(len(letters) + 1, dtype=bool)
        edges[texts.offsets - low] = True
        first, last = letters.copy(), letters.copy()
        first[1:] &= ~letters[:-1] | edges[1:-1]
        last[:-1] &= ~letters[1:] | edges[1:-1]
        self.begins: Rows = np.flatnonzero(first) + low
        self.ends: Rows = np.flatnonzero(last) + low + 1
        self.per_text: Rows = np.diff(np.searchsorted(self.begins, texts.offsets))
        """How many words each text has."""
        self.row_of: Rows = np.repeat(np.arange(texts.count), self.per_text)
        self.postings = Postings(segment_hashes(texts.content, self.begins, self.ends))

    def rows(self, place: int, most: int | None = None) -> Rows:
        """The rows of the texts that hold the word, in order."""
        return self.row_of[self.postings.rows(place, most)]

    def weights(self) -> NDArray[np.float64]:
        """What each word of each text weighs: less the more texts hold it."""
        counts = np.diff(self.postings.starts)
        weights = np.empty(len(self.postings), dtype=np.float64)
        weights[self.postings.members] = np.repeat(weight_of(counts), counts)
        return weights

    def first_places(self) -> Rows:
        """Of each distinct word the first place where it stands, in the order of the texts."""
        return np.sort(self.postings.members[self.postings.starts[:-1]]) if len(self.postings) else self.begins


def weight_of(count: Any) -> Any:
    """The weight of a word that so many texts hold."""
    return 1.0 / np.log2(1.0 + np.maximum(count, 1))


@lru_cache(maxsize=10_000)
def weight_of_one(count: int) -> float:
    """The same for one word."""
    return float(weight_of(count))
