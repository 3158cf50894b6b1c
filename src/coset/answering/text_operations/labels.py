"""Texts read by a model: labels in batches, within a budget, each text asked once and remembered by its content.

In: texts and what is wanted of them. Out: a label a text, or none where the budget ends. The cache is one file in the
state folder; it knows labels by a hash of the text, the instruction and the model.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
import math
import os
import sqlite3
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coset.answering.models.client import ModelClient, Tool
from coset.answering.prompt import DATA_RULE
from coset.answering.quoting import cell, data_block, one_line
from coset.errors import CosetError, UserError

LONGEST_TEXT = 2_000
BATCH = 20
MOST_REQUESTS = 2
NOT_SAID = ""
"""No category and no object of fields: whoever checks a label refuses it."""
READER = f"You read texts, each by its number, and call `labels` once with an entry for every text.\n\n{DATA_RULE}"


@dataclass
class TextReader:
    """Reads batches of texts with the text model."""

    client: ModelClient
    requests: int = 0

    async def classify(self, texts: Sequence[str], categories: Sequence[str], question: str = "") -> list[str | None]:
        """The category of each text, by meaning; None where none fits; `NOT_SAID` for any other reply."""
        listed = json.dumps(list(categories), ensure_ascii=False)
        wanted = f"Sort each text into one of these categories, or null where none fits: {listed}"
        schema: dict[str, Any] = {"type": ["string", "null"], "enum": [*categories, None]}
        by_lower = {category.lower(): category for category in categories}
        found = await self._read(texts, f"{wanted}\n{one_line(question)}".strip(), schema)
        return [by_lower.get(label.strip().lower(), NOT_SAID) if isinstance(label, str) else label for label in found]

    async def extract(
        self, texts: Sequence[str], fields: Sequence[str], question: str = ""
    ) -> list[dict[str, str | None] | str]:
        """Each field of each text, word for word where the text has it, None where it has not; or `NOT_SAID`."""
        listed = json.dumps(list(fields), ensure_ascii=False)
        wanted = f"From each text read these fields, word for word, or null where the text does not say: {listed}"
        inner = {field: {"type": ["string", "null"]} for field in fields}
        schema: dict[str, Any] = {"type": "object", "properties": inner, "required": list(fields)}
        found = await self._read(texts, f"{wanted}\n{one_line(question)}".strip(), schema)
        return [_fields(entry, fields) if isinstance(entry, dict) else NOT_SAID for entry in found]

    async def _read(self, texts: Sequence[str], wanted: str, schema: dict[str, Any]) -> list[Any]:
        found: list[Any] = []
        for begin in range(0, len(texts), BATCH):
            found += await self._batch(texts[begin : begin + BATCH], wanted, schema)
        return found

    async def _batch(self, texts: Sequence[str], wanted: str, schema: dict[str, Any]) -> list[Any]:
        from pydantic_ai.messages import ModelRequest, UserPromptPart

        entry = {
            "type": "object",
            "properties": {"number": {"type": "integer"}, "label": schema},
            "required": ["number", "label"],
        }
        parameters = {
            "type": "object",
            "properties": {"labels": {"type": "array", "items": entry}},
            "required": ["labels"],
        }
        tool = Tool("labels", "Give a label for every text, by its number.", parameters)
        labels: dict[int, Any] = {}
        for _ in range(MOST_REQUESTS):
            # A text that got no label is asked for again, alone with the others that got none.
            open_ = [number for number in range(1, len(texts) + 1) if number not in labels]
            if not open_ or self.client.ledger.spent():
                break
            lines = "\n".join(f"{number}. {cell(texts[number - 1], LONGEST_TEXT)}" for number in open_)
            self.requests += 1
            message = ModelRequest(
                parts=[UserPromptPart(f"{wanted}\n\n{data_block('texts', lines)}")], instructions=READER
            )
            reply = await self.client.ask(f"text {self.requests}", [message], [tool])
            labels.update(_labels(reply.calls[0].arguments if reply.calls else None, set(open_)))
        return [labels.get(number, NOT_SAID) for number in range(1, len(texts) + 1)]


def _labels(arguments: dict[str, Any] | None, asked: set[int]) -> dict[int, Any]:
    """The labels in a reply, for texts that were asked about; anything else in it is passed over."""
    listed = (arguments or {}).get("labels")
    found = {}
    for entry in listed if isinstance(listed, list) else []:
        if isinstance(entry, dict) and isinstance(number := entry.get("number"), int) and number in asked:
            label = entry.get("label", NOT_SAID)
            if isinstance(label, str | dict | None):
                found[number] = label
    return found


def _fields(given: dict[str, Any], fields: Sequence[str]) -> dict[str, str | None]:
    return {field: str(given[field]) if given.get(field) is not None else None for field in fields}


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

    def keep_accuracy(self, operation: str, column: str, accuracy: float, texts: int) -> None:
        """How often an operation over the texts of a column was expected to be right."""
        with contextlib.suppress(sqlite3.Error, OSError), contextlib.closing(self._open()) as connection, connection:
            row = (operation, column.lower(), accuracy, texts)
            connection.execute("INSERT OR REPLACE INTO accuracies VALUES (?, ?, ?, ?)", row)

    def accuracy(self, operation: str, column: str) -> tuple[float, int] | None:
        """The same of the last time, and of how many texts; None where there was none."""
        if self.path.exists():
            with contextlib.suppress(sqlite3.Error), contextlib.closing(self._open()) as connection:
                sql = "SELECT accuracy, texts FROM accuracies WHERE operation = ? AND text_column = ?"
                found = connection.execute(sql, (operation, column.lower())).fetchone()
                return (float(found[0]), int(found[1])) if found else None
        return None

    def _open(self) -> sqlite3.Connection:
        if not self.path.exists():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o600))
        connection = sqlite3.connect(self.path, timeout=30.0)
        connection.execute("CREATE TABLE IF NOT EXISTS labels (key TEXT PRIMARY KEY, label TEXT NOT NULL)")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS accuracies (operation TEXT, text_column TEXT, accuracy REAL, texts INTEGER, "
            "PRIMARY KEY (operation, text_column))"
        )
        return connection


def _key(question: str, text: str) -> str:
    return hashlib.sha256(f"{question}\x00{text}".encode("utf-8", "surrogatepass")).hexdigest()


REQUEST_TOKENS, LABEL_TOKENS = 300, 20
"""About so many for the words around a batch, and for each label that comes back."""

Labeller = Callable[[Sequence[str]], Sequence[Any] | Awaitable[Sequence[Any]]]


@dataclass(frozen=True)
class Budget:
    """What a text operation may ask of the model."""

    texts: int = 200
    """How many different texts the model may read."""
    batch: int = 20
    """How many of them in one call."""
    letters: int = 2_000
    """Of a longer text the model reads the beginning and the end."""

    def __post_init__(self) -> None:
        if self.texts < 1 or self.batch < 1 or self.letters < 40:
            raise UserError("a text operation needs at least one text to read, one a call, and 40 letters of each")


@dataclass(frozen=True)
class Estimate:
    """What an operation over texts would cost at most."""

    texts: int
    """Different ones."""
    read: int
    """So many of them a model would read; the rest is learned from those, or remembered."""
    requests: int
    tokens: int


def estimate(texts: Sequence[str | None], budget: Budget, remembered: int = 0) -> Estimate:
    distinct = {text for text in texts if text and text.strip()}
    read = min(budget.texts, len(distinct) - remembered)
    mean = sum(min(len(text), budget.letters) for text in distinct) / max(1, len(distinct))
    requests = math.ceil(read / budget.batch)
    return Estimate(len(distinct), read, requests, round(requests * REQUEST_TOKENS + read * (mean / 4 + LABEL_TOKENS)))


@dataclass
class Labels:
    """The labels of one operation, as they come in."""

    labeller: Labeller
    budget: Budget
    cache: LabelCache | None = None
    question: str = ""
    """What makes a label another one: the model's name, the operation, the categories or fields."""
    is_valid: Callable[[Any], bool] = lambda label: True
    known: dict[str, Any] = field(default_factory=dict)
    _tried: set[str] = field(default_factory=set)
    """Texts that were asked about, also those whose label could not be used: none is asked about twice."""
    calls: int = 0
    asked: int = 0
    remembered: int = 0
    refused: int = 0
    """Labels that were none of those asked for."""
    problem: str = ""
    """Why the model could not be asked to the end, if it could not."""

    @property
    def left(self) -> int:
        return 0 if self.problem else max(0, self.budget.texts - self.asked)

    def recall(self, texts: Sequence[str]) -> None:
        """Take what is remembered of these texts; it costs nothing."""
        missing = [text for text in texts if text not in self.known]
        if self.cache is None or not missing:
            return
        found = {text: label for text, label in self.cache.find(self.question, missing).items() if self.is_valid(label)}
        self.known.update(found)
        self.remembered += len(found)

    async def ask(self, texts: Sequence[str]) -> None:
        """Ask for these texts, as far as the budget goes. A failure of the model ends the asking and is told."""
        self.recall(texts)
        wanted = [text for text in dict.fromkeys(texts) if text not in self.known and text not in self._tried]
        wanted = wanted[: self.left]
        for begin in range(0, len(wanted), self.budget.batch):
            batch = wanted[begin : begin + self.budget.batch]
            self._tried.update(batch)
            try:
                labels = await self._call([self._shown(text) for text in batch])
            except CosetError as error:
                self.problem = str(error)
                return
            fresh = {text: label for text, label in zip(batch, labels, strict=True) if self.is_valid(label)}
            self.refused += len(batch) - len(fresh)
            self.known.update(fresh)
            if self.cache is not None:
                self.cache.keep(self.question, fresh)

    async def _call(self, batch: Sequence[str]) -> Sequence[Any]:
        self.calls += 1
        self.asked += len(batch)
        answer = self.labeller(batch)
        labels = await answer if inspect.isawaitable(answer) else answer
        if len(labels) != len(batch):
            raise CosetError(f"the model gave {len(labels)} labels for {len(batch)} texts")
        return labels

    def _shown(self, text: str) -> str:
        if len(text) <= self.budget.letters:
            return text
        half = self.budget.letters // 2
        return f"{text[:half]} … {text[-half:]}"
