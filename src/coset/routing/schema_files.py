"""Schemas and questions in files of JSON lines: what the routing bench and the training corpora are made of.

In: `schemas.jsonl[.zst]` (one database a line: tables, columns, keys, and where known descriptions, labels, samples)
and `questions.jsonl[.zst]`. Out: observed environments with their declared links, and questions. A broken line is named
with its number. Knows no gold: what a question should find is for training and scorers to read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coset.errors import UserError
from coset.json_lines import json_lines
from coset.readings.observed import ObservedColumn, ObservedEnvironment, ObservedTable, type_family

Key = tuple[str, str]
"""A database: corpus and name."""


@dataclass(frozen=True)
class SchemaDatabase:
    """One database of a file. References are `table` and `table.column`."""

    key: Key
    environment: ObservedEnvironment
    links: tuple[tuple[str, str], ...]
    """Pairs of columns that declared foreign keys join."""


@dataclass(frozen=True)
class AskedQuestion:
    """A question and the database it was asked of."""

    id: Any
    key: Key
    text: str
    evidence: str = ""
    """A hint that came with the question: what a word of it means in this data."""

    @property
    def hinted(self) -> str:
        return with_hint(self.text, self.evidence)


def with_hint(question: str, hint: str) -> str:
    """A question as it is asked together with its hint, where it has one."""
    return f"{question} {hint}" if hint else question


def read_schemas(path: Path) -> Iterator[SchemaDatabase]:
    """The databases of a file, in its order."""
    for number, entry in json_lines(path):
        try:
            database = _database(entry)
        except (KeyError, TypeError, AttributeError) as error:
            raise UserError(f"'{path.name}' line {number} is not a schema: {error!r} is missing or wrong") from None
        yield database


def read_asked(path: Path) -> Iterator[AskedQuestion]:
    """The questions of a file. The id is its field `id`, else the number of its line from 0."""
    for number, entry in json_lines(path):
        if "question" not in entry or "db" not in entry:
            raise UserError(f"'{path.name}' line {number} is not a question: it needs `db` and `question`")
        key = (str(entry.get("corpus") or ""), str(entry["db"]))
        yield AskedQuestion(entry.get("id", number - 1), key, str(entry["question"]), str(entry.get("evidence") or ""))


def _database(entry: dict[str, Any]) -> SchemaDatabase:
    key = (str(entry.get("corpus") or ""), str(entry["db"]))
    points: dict[tuple[str, str], tuple[str, str]] = {}
    pointed: dict[tuple[str, str], int] = {}
    links = []
    for link in entry.get("foreign_keys") or ():
        for left, right in zip(link["columns"], link["ref_columns"], strict=False):
            points[(link["table"], left)] = (link["ref_table"], right)
            pointed[(link["ref_table"], right)] = pointed.get((link["ref_table"], right), 0) + 1
            links.append((f"{link['table']}.{left}", f"{link['ref_table']}.{right}"))
    tables = []
    for table in entry["tables"]:
        name = str(table["name"])
        keys = set(table.get("primary_key") or ()) if len(table.get("primary_key") or ()) == 1 else set()
        columns = tuple(
            ObservedColumn(
                name=str(column["name"]),
                type=type_family(column.get("type")),
                reference=f"{name}.{column['name']}",
                label=str(column.get("natural_name") or ""),
                description=str(column.get("description") or ""),
                samples=tuple(str(sample) for sample in column.get("samples") or ()),
                is_key=column["name"] in keys,
                refers_to=points.get((name, column["name"])),
                referred_by=pointed.get((name, column["name"]), 0),
            )
            for column in table["columns"]
        )
        tables.append(
            ObservedTable(
                name, columns, name, str(table.get("natural_name") or ""), str(table.get("description") or "")
            )
        )
    return SchemaDatabase(key, ObservedEnvironment("/".join(key), tuple(tables)), tuple(links))
