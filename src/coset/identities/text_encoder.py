"""A text encoder at run time: texts to word pieces, and these to vectors with onnxruntime, on one core or more.

In: texts. Out: one vector of 384 per text, of length 1, or one for each of its words. Equal texts are encoded once, and
each by itself: int8 layers scale by all that is in a batch, so a text's vector would depend on its company (cosine
.99) and roles on the order in which tables came; together is no faster. Word pieces are cut by uncased BERT's rule,
written out here because the library that does it brings a network client with it; a test holds it against that library.
The vectors of the words stand in a file of their own, because all encoders share them. Everything is read when the
first text comes.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coset.errors import CosetError

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


WIDTH, LONGEST, LONGEST_TABLE = 384, 44, 96
Vectors = NDArray[np.float32]


def load_runtime() -> Any:
    """onnxruntime without its telemetry, which from its import on would write files and send events to its maker. It
    looks for the variable once, when it is loaded; who sets it otherwise is heard."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime


class TextEncoder:
    """An int8 MiniLM with coset's fine-tuning."""

    def __init__(self, model: Path, vocabulary: Path, words: Path, threads: int = 0, longest: int = LONGEST) -> None:
        self._model, self._vocabulary, self._words, self._threads = model, vocabulary, words, threads
        self._longest = longest
        self._opened: tuple[Any, WordPieces, WordVectors] | None = None

    def encode(self, texts: Sequence[str]) -> Vectors:
        """The vectors of the texts, in their order."""
        if not texts:
            return np.zeros((0, WIDTH), dtype=np.float32)
        session, pieces, words = self._open()
        distinct = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        vectors = np.empty((len(distinct), WIDTH), dtype=np.float32)
        for text, number in distinct.items():
            tokens, mask = pieces.batch([pieces.encode(text, self._longest)])
            vectors[number] = session.run(["vectors"], {"words": words.of(tokens), "mask": mask})[0][0]
        return vectors[[distinct[text] for text in texts]]

    def encode_words(self, text: str) -> tuple[Vectors, Vectors]:
        """The vector of a text, and one of length 1 for each of its tokens."""
        session, pieces, words = self._open()
        numbers, mask = pieces.batch([pieces.encode(text, self._longest)])
        vectors, hidden = session.run(["vectors", "hidden"], {"words": words.of(numbers), "mask": mask})
        each = hidden[0] / np.maximum(np.linalg.norm(hidden[0], axis=1, keepdims=True), 1e-9)
        return vectors[0], each

    def knows(self, word: str) -> bool:
        """Whether a word is one of the vocabulary as a whole, so that it means something by itself."""
        return len(self._open()[1].encode(word, self._longest)) == 3  # It stands between a first and a last token.

    def _open(self) -> tuple[Any, WordPieces, WordVectors]:
        if self._opened is None:
            onnxruntime = load_runtime()
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = self._threads
            # Threads that wait must not spin: beside other work that makes everything several times slower.
            options.add_session_config_entry("session.intra_op.allow_spinning", "0")
            options.log_severity_level = 3
            try:
                session = onnxruntime.InferenceSession(str(self._model), options, providers=["CPUExecutionProvider"])
                words = WordVectors.load(self._words)
            except Exception as error:
                raise CosetError(f"the text encoder '{self._model.name}' cannot be read: reinstall coset") from error
            pieces = WordPieces(self._vocabulary.read_text(encoding="utf-8").split("\n"))
            self._opened = (session, pieces, words)
        return self._opened


@dataclass(frozen=True)
class ObjectTexts:
    """What is read of an object: its own text, that of its table (a table's own), and that of the table it refers to
    (none: empty)."""

    own: str
    table: str
    referred: str = ""


def encode_in_tables(columns: TextEncoder, tables: TextEncoder, texts: Sequence[ObjectTexts]) -> Vectors:
    """For each object its vector, that of its table and that of the table it refers to (none: zeros), side by side:
    what the encoders of the identities take.

    Tables have an encoder of their own: they are few, and a long text tells more of them.
    """
    found = tables.encode([each.table for each in texts] + [each.referred for each in texts])
    table, referred = found[: len(texts)], found[len(texts) :]
    referred[[not each.referred for each in texts]] = 0.0
    own = table.copy()
    of_columns = [number for number, each in enumerate(texts) if each.own != each.table]
    own[of_columns] = columns.encode([texts[number].own for number in of_columns])
    return np.hstack([own, table, referred])


class WordVectors:
    """The vectors of all word pieces as whole numbers of one byte, each row with its scale."""

    def __init__(self, numbers: NDArray[np.int8], scales: Vectors) -> None:
        self._numbers, self._scales = numbers, scales

    @classmethod
    def load(cls, path: Path) -> WordVectors:
        from safetensors.numpy import load_file

        stored = load_file(str(path))
        return cls(stored["numbers"], stored["scales"])

    def save(self, path: Path) -> None:
        from safetensors.numpy import save_file

        save_file({"numbers": self._numbers, "scales": self._scales}, str(path))

    @classmethod
    def rounded(cls, vectors: Vectors) -> WordVectors:
        scales = np.maximum(np.abs(vectors).max(axis=1, keepdims=True), 1e-9).astype(np.float32) / 127
        return cls(np.rint(vectors / scales).astype(np.int8), scales)

    def of(self, tokens: NDArray[np.int64]) -> Vectors:
        vectors: Vectors = self._numbers[tokens] * self._scales[tokens]
        return vectors
