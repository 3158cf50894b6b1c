"""Written databases: schemas that language models wrote with their roles, so that kinds of data that the corpora lack
are met in training. Some are invented, others recall public systems and data sets.

In: `annotation/written.jsonl.zst` and `annotation/recalled.jsonl.zst`, one database a line: tables and columns as in a
file of schemas, each with its identities and, for many, the names that another team might have given; some columns say
which table they refer to. Of many tables only the entity was written: their columns are names alone. Out: observed
tables, labels, and each table under its other names. They are trained on and never judged by. A broken line is named
with its number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from coset.errors import UserError
from coset.identities.inventory import Inventory
from coset.json_lines import json_lines
from coset.readings.observed import ObservedColumn, ObservedTable, type_family
from coset.training.annotation import FOLDER, Key, Labelled

INVENTED, RECALLED = "written", "recalled"
FILES = (FOLDER / f"{INVENTED}.jsonl.zst", FOLDER / f"{RECALLED}.jsonl.zst")


@dataclass(frozen=True)
class WrittenTable:
    """A table, the same table under other names, and the labels of it and of its columns in their order, where they
    have any."""

    table: ObservedTable
    alias: ObservedTable
    label: Labelled
    columns: tuple[Labelled | None, ...]


def read_written(inventory: Inventory, path: Path) -> Iterator[WrittenTable]:
    """All tables of a file, in its order; the file names their corpus."""
    corpus = path.name.split(".")[0]
    for number, entry in json_lines(path):
        try:
            database = (corpus, str(entry["db"]))
            tables = [_table(table, keys_told=number % 2 == 0) for table in entry["tables"]]
            for table, told in zip(tables, entry["tables"], strict=True):
                yield _labelled(database, table, told, inventory)
        except (KeyError, TypeError, UserError) as error:
            raise UserError(f"'{path.name}' line {number} is no written database: {error}") from None


def _table(entry: dict[str, Any], *, keys_told: bool) -> ObservedTable:
    """Every other database tells its keys and references: schemas come with them and without."""
    columns: list[ObservedColumn] = []
    for column in entry["columns"]:
        if isinstance(column, str):
            columns.append(ObservedColumn(column))
            continue
        is_key = column["entity"] == entry["entity"] and column["attribute"] == "identifier"
        refers = column.get("refers") if keys_told else None
        columns.append(
            ObservedColumn(
                name=str(column["name"]),
                type=type_family(column["type"]),
                description=str(column.get("description") or ""),
                samples=tuple(column.get("samples") or ()),
                is_key=keys_told and is_key and not refers and not any(other.is_key for other in columns),
                refers_to=(str(refers), "id") if refers else None,
            )
        )
    return ObservedTable(str(entry["name"]), tuple(columns), description=str(entry.get("description") or ""))


def _labelled(database: Key, table: ObservedTable, entry: dict[str, Any], inventory: Inventory) -> WrittenTable:
    labels = [
        None if isinstance(column, str) else Labelled(
            database, table.name, str(column["name"]), inventory.position("entity", column["entity"]),
            inventory.position("attribute", column["attribute"]),
        )
        for column in entry["columns"]
    ]  # fmt: skip
    own = Labelled(database, table.name, None, inventory.position("entity", entry["entity"]), None)
    return WrittenTable(table, _alias(table, entry), own, tuple(labels))


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
