"""The text encoder at run time: texts to vectors with onnxruntime, on one core or more.

In: texts. Out: one vector of 384 per text, of length 1. Equal texts are encoded once; texts of like length go together,
so that little is spent on padding. The weights are read when the first text comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coset.errors import CosetError
from coset.identities.wordpieces import WordPieces

WIDTH, LONGEST, BATCH = 384, 44, 64


class TextEncoder:
    """An int8 MiniLM with coset's fine-tuning."""

    def __init__(self, model: Path, vocabulary: Path, threads: int = 0) -> None:
        self._model, self._vocabulary, self._threads = model, vocabulary, threads
        self._session: Any = None
        self._pieces: WordPieces | None = None

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of the texts, in their order."""
        if not texts:
            return np.zeros((0, WIDTH), dtype=np.float32)
        session, pieces = self._opened()
        distinct = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        tokens = [pieces.encode(text, LONGEST) for text in distinct]
        order = sorted(range(len(tokens)), key=lambda number: len(tokens[number]))
        vectors = np.empty((len(tokens), WIDTH), dtype=np.float32)
        for begin in range(0, len(order), BATCH):
            chosen = order[begin : begin + BATCH]
            numbers, mask = pieces.batch([tokens[number] for number in chosen])
            vectors[chosen] = session.run(None, {"tokens": numbers, "mask": mask})[0]
        return vectors[[distinct[text] for text in texts]]

    def encode_in_tables(
        self, texts: Sequence[str], tables: Sequence[int] | NDArray[np.int64], chosen: Sequence[int]
    ) -> NDArray[np.float32]:
        """For each chosen text, its vector beside that of its table's text: what the encoders take."""
        wanted = [texts[number] for number in chosen] + [texts[tables[number]] for number in chosen]
        vectors = self.encode(wanted)
        return np.hstack([vectors[: len(chosen)], vectors[len(chosen) :]])

    def _opened(self) -> tuple[Any, WordPieces]:
        if self._session is None or self._pieces is None:
            import onnxruntime

            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = self._threads
            options.log_severity_level = 3
            try:
                self._session = onnxruntime.InferenceSession(
                    str(self._model), options, providers=["CPUExecutionProvider"]
                )
            except Exception as error:
                raise CosetError(f"the text encoder '{self._model.name}' cannot be read: reinstall coset") from error
            self._pieces = WordPieces(self._vocabulary.read_text(encoding="utf-8").split("\n"))
        return self._session, self._pieces
