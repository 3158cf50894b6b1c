"""Labels that a model gave, remembered by the content they are for.

In: a question (model, operation, categories) and texts. Out: the labels that are known. One SQLite file in the state
folder; of a text only its digest is kept. A file that cannot be read or written costs calls, never an answer.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

FILE_NAME = "labels.sqlite"
AT_ONCE = 500


class LabelCache:
    """The labels of one environment."""

    def __init__(self, state_folder: Path) -> None:
        self.path = state_folder / FILE_NAME

    def find(self, question: str, texts: Sequence[str]) -> dict[str, Any]:
        by_key = {_key(question, text): text for text in texts}
        found: dict[str, Any] = {}
        if not self.path.exists():
            return found
        keys = list(by_key)
        with contextlib.suppress(sqlite3.Error, ValueError), contextlib.closing(self._open()) as connection:
            for begin in range(0, len(keys), AT_ONCE):
                part = keys[begin : begin + AT_ONCE]
                marks = ", ".join("?" * len(part))
                for key, label in connection.execute(f"SELECT key, label FROM labels WHERE key IN ({marks})", part):
                    found[by_key[key]] = json.loads(label)
        return found

    def keep(self, question: str, labels: Mapping[str, Any]) -> None:
        rows = [(_key(question, text), json.dumps(label, ensure_ascii=False)) for text, label in labels.items()]
        with contextlib.suppress(sqlite3.Error, OSError), contextlib.closing(self._open()) as connection, connection:
            connection.executemany("INSERT OR REPLACE INTO labels VALUES (?, ?)", rows)

    def _open(self) -> sqlite3.Connection:
        if not self.path.exists():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o600))
        connection = sqlite3.connect(self.path, timeout=30.0)
        connection.execute("CREATE TABLE IF NOT EXISTS labels (key TEXT PRIMARY KEY, label TEXT NOT NULL)")
        return connection


def _key(question: str, text: str) -> str:
    return hashlib.sha256(f"{question}\x00{text}".encode("utf-8", "surrogatepass")).hexdigest()
