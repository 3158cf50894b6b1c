"""Word pieces: text to the token numbers of the text encoder (uncased BERT's rule, and nothing else).

In: texts. Out: arrays of token numbers and masks, padded to the longest of a batch. Written out here because the
library that does it brings a network client with it; a test holds it against that library.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

PADDING, UNKNOWN, START, END = "[PAD]", "[UNK]", "[CLS]", "[SEP]"
LONGEST_WORD = 100
_REMOVED = ("Cc", "Cf", "Co", "Cs")
"""Control, format, private and surrogate characters; a code that is not assigned stays, as any letter."""
_ASCII_WORD = re.compile(r"[a-z0-9]+|[^a-z0-9\s]")
_CONTROLS = {code: None for code in (*range(32), 127) if chr(code) not in "\t\n\r"}


class WordPieces:
    """The vocabulary, and the greedy longest-match rule over it."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        self.numbers = {piece: number for number, piece in enumerate(vocabulary)}
        self._padding, self._unknown = self.numbers[PADDING], self.numbers[UNKNOWN]
        self._start, self._end = self.numbers[START], self.numbers[END]
        self._words: dict[str, tuple[int, ...]] = {}

    def encode(self, text: str, longest: int) -> list[int]:
        """The tokens of one text, with start and end, at most `longest` in all."""
        tokens = [self._start]
        for word in _words(text):
            tokens.extend(self._remembered(word))
            if len(tokens) >= longest - 1:
                break
        return [*tokens[: longest - 1], self._end]

    def batch(self, encoded: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Token numbers and mask, padded to the longest."""
        if len(encoded) == 1:  # A question: nothing to pad.
            return np.array(encoded, dtype=np.int64), np.ones((1, len(encoded[0])), dtype=np.int64)
        width = max(map(len, encoded), default=1)
        tokens = np.full((len(encoded), width), self._padding, dtype=np.int64)
        mask = np.zeros((len(encoded), width), dtype=np.int64)
        for row, numbers in enumerate(encoded):
            tokens[row, : len(numbers)] = numbers
            mask[row, : len(numbers)] = 1
        return tokens, mask

    def _remembered(self, word: str) -> tuple[int, ...]:
        if len(word) > LONGEST_WORD:
            return (self._unknown,)
        pieces = self._words.get(word)
        if pieces is None:
            pieces = self._words[word] = self._pieces(word)
        return pieces

    def _pieces(self, word: str) -> tuple[int, ...]:
        found: list[int] = []
        begin = 0
        while begin < len(word):
            for end in range(len(word), begin, -1):
                piece = word[begin:end] if begin == 0 else "##" + word[begin:end]
                number = self.numbers.get(piece)
                if number is not None:
                    break
            else:
                return (self._unknown,)
            found.append(number)
            begin = end
        return tuple(found)


def _words(text: str) -> list[str]:
    """Lower case without accents, split at spaces and around punctuation and ideographs."""
    if text.isascii():
        return _ASCII_WORD.findall(text.lower().translate(_CONTROLS))
    # Letter by letter, because the rule knows no final sigma.
    decomposed = unicodedata.normalize("NFD", "".join(letter.lower() for letter in text))
    lowered = "".join(letter for letter in decomposed if unicodedata.category(letter) != "Mn")
    words: list[str] = []
    current: list[str] = []
    for letter in lowered:
        if letter.isalnum() and not _ideograph(letter):
            current.append(letter)
            continue
        if letter in "\t\n\r" or letter == " ":
            kind = "space"
        else:
            category = unicodedata.category(letter)
            if letter == "\ufffd" or category in _REMOVED:
                continue
            kind = "space" if category[0] == "Z" else "mark" if _punctuation(letter, category) else "letter"
        if kind == "letter" and not _ideograph(letter):
            current.append(letter)
            continue
        if current:
            words.append("".join(current))
            current = []
        if kind != "space":
            words.append(letter)
    if current:
        words.append("".join(current))
    return words


def _punctuation(letter: str, category: str) -> bool:
    return category.startswith("P") or letter in "$+<=>^`|~"


def _ideograph(letter: str) -> bool:
    """The rule's own ranges; it leaves out a block of rare ideographs after 2B81F."""
    code = ord(letter)
    return code >= 0x3400 and (
        0x4E00 <= code <= 0x9FFF
        or code <= 0x4DBF
        or 0xF900 <= code <= 0xFAFF
        or 0x20000 <= code <= 0x2B81F
        or 0x2B920 <= code <= 0x2CEAF
        or 0x2F800 <= code <= 0x2FA1F
    )
