"""Texts read by a model: a batch of texts in, a category or some fields for each out.

In: texts of a column and what is wanted of them. Out: one entry a text, in order; None where the text says nothing of
it, and `NOT_SAID` where the model did not answer for it, so that silence is never taken for a label. Each request is
small and typed; what got no label is asked for again once. Which texts are worth a request is for the text operations
to know.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from coset.answering.models.client import ModelClient, Tool
from coset.answering.prompt import DATA_RULE
from coset.answering.quoting import cell, data_block, one_line

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
