"""Written databases: schemas that language models invented with their roles, so that kinds of data that the corpora
lack are met in training.

In: `annotation/written.jsonl.zst`, one database a line: tables and columns as in a file of schemas, each with its
identities and, for many, the names that another team might have given. Of many tables only the entity was written:
their columns are names alone. Out: observed tables, labels, and each table under its other names. They are trained on
and never judged by. A broken line is named with its number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from coset.errors import Mistake
from coset.identities.inventory import Inventory
from coset.identities.json_lines import json_lines
from coset.identities.observed import ObservedColumn, ObservedTable, type_family
from coset.training.annotation import FOLDER, Key, Labelled

FILE = "written.jsonl.zst"
CORPUS = "written"


@dataclass(frozen=True)
class WrittenTable:
    """A table, the same table under other names, and the labels of it and of its columns in their order, where they
    have any."""

    table: ObservedTable
    alias: ObservedTable
    label: Labelled
    columns: tuple[Labelled | None, ...]


def read_written(inventory: Inventory, path: Path = FOLDER / FILE) -> Iterator[WrittenTable]:
    """All tables of the file, in its order."""
    for number, entry in json_lines(path):
        try:
            for table in entry["tables"]:
                yield _table((CORPUS, str(entry["db"])), table, inventory, keys_told=number % 2 == 0)
        except (KeyError, TypeError, Mistake) as error:
            raise Mistake(f"'{path.name}' line {number} is no written database: {error}") from None


def _table(database: Key, entry: dict[str, Any], inventory: Inventory, *, keys_told: bool) -> WrittenTable:
    """Every other database tells its keys: schemas come with them and without."""
    name, entity = str(entry["name"]), inventory.position("entity", entry["entity"])
    columns: list[ObservedColumn] = []
    labels: list[Labelled | None] = []
    for column in entry["columns"]:
        if isinstance(column, str):
            columns.append(ObservedColumn(column))
            labels.append(None)
            continue
        label = Labelled(
            database, name, str(column["name"]), inventory.position("entity", column["entity"]),
            inventory.position("attribute", column["attribute"]),
        )  # fmt: skip
        is_key = label.entity == entity and column["attribute"] == "identifier"
        columns.append(
            ObservedColumn(
                name=str(column["name"]),
                type=type_family(column["type"]),
                description=str(column.get("description") or ""),
                samples=tuple(column.get("samples") or ()),
                is_key=keys_told and is_key and not any(other.is_key for other in columns),
            )
        )
        labels.append(label)
    table = ObservedTable(name, tuple(columns), description=str(entry.get("description") or ""))
    return WrittenTable(table, _alias(table, entry), Labelled(database, name, None, entity, None), tuple(labels))


def _alias(table: ObservedTable, entry: dict[str, Any]) -> ObservedTable:
    """The table under its other names, where it has any; columns take their first and their second in turn."""
    columns = tuple(
        replace(column, name=names[at % len(names)]) if (names := _other_names(told)) else column
        for at, (column, told) in enumerate(zip(table.columns, entry["columns"], strict=True))
    )
    own = entry.get("names") or (table.name,)
    return replace(table, name=str(own[len(columns) % len(own)]), columns=columns)


def _other_names(column: dict[str, Any] | str) -> list[str]:
    return [] if isinstance(column, str) else column.get("names") or []
