"""A text encoder at run time: texts to vectors with onnxruntime, on one core or more.

In: texts. Out: one vector of 384 per text, of length 1, or one for each of its words. Equal texts are encoded once;
texts of like length go together, so that little is spent on padding. The vectors of the words stand in a file of their
own, because all encoders share them. Everything is read when the first text comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coset.errors import CosetError
from coset.identities.wordpieces import WordPieces

WIDTH, LONGEST, LONGEST_TABLE, BATCH = 384, 44, 96, 64
Vectors = NDArray[np.float32]


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
        tokens = [pieces.encode(text, self._longest) for text in distinct]
        order = sorted(range(len(tokens)), key=lambda number: len(tokens[number]))
        vectors = np.empty((len(tokens), WIDTH), dtype=np.float32)
        for begin in range(0, len(order), BATCH):
            chosen = order[begin : begin + BATCH]
            numbers, mask = pieces.batch([tokens[number] for number in chosen])
            vectors[chosen] = session.run(["vectors"], {"words": words.of(numbers), "mask": mask})[0]
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
            import onnxruntime

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
