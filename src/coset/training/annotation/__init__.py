"""The annotation: columns and tables of the corpora with their identities, read under GUIDELINE.md.

In: `columns.tsv` and `second.tsv` (an independent second annotation of some), beside this file. Out: labelled objects
and the split by database. A line that names an unknown identity, or has too few fields, is named with its number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from coset.errors import UserError
from coset.identities.inventory import Inventory

Key = tuple[str, str]
Part = Literal["train", "dev", "validation"]
FOLDER = Path(__file__).parent
SEED = "coset-1"


@dataclass(frozen=True)
class Labelled:
    """One annotated object; `column` is None for a table, which has an entity alone."""

    database: Key
    table: str
    column: str | None
    entity: int
    attribute: int | None


def tab_separated(path: Path, count: int) -> Iterator[tuple[int, list[str]]]:
    """The lines of a file, each with its number and its fields; one with another number of fields is named."""
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            fields = line.rstrip("\n").split("\t")
            if len(fields) != count:
                raise UserError(f"'{path.name}' line {number} has {len(fields)} fields instead of {count}")
            yield number, fields


def read_annotation(inventory: Inventory, path: Path = FOLDER / "columns.tsv") -> list[Labelled]:
    found: list[Labelled] = []
    for number, (corpus, database, table, column, entity, attribute) in tab_separated(path, 6):
        if number == 1 and corpus == "corpus":
            continue
        try:
            found.append(
                Labelled(
                    (corpus, database), table, column or None, inventory.position("entity", entity),
                    inventory.position("attribute", attribute) if column else None,
                )
            )  # fmt: skip
        except UserError as error:
            raise UserError(f"'{path.name}' line {number}: {error}") from None
    return found


def split_databases(databases: Iterable[Key], tables: dict[Key, frozenset[str]]) -> dict[Key, Part]:
    """Train, dev and validation (70, 10, 20 of 100), by database.

    Databases that share half of their tables' names are versions of one another and go to the same part.
    """
    ordered = sorted(databases)
    group = {key: key for key in ordered}

    def root(key: Key) -> Key:
        while group[key] != key:
            key = group[key]
        return key

    by_table: dict[str, list[Key]] = {}
    for key in ordered:
        for table in tables[key]:
            by_table.setdefault(table, []).append(key)
    for key in ordered:
        shared: dict[Key, int] = {}
        for table in tables[key]:
            for other in by_table[table] if len(by_table[table]) < 40 else ():
                shared[other] = shared.get(other, 0) + 1
        for other, count in shared.items():
            if other != key and count * 2 >= min(len(tables[key]), len(tables[other])) and count > 1:
                group[root(other)] = root(key)
    return {key: _part("/".join(root(key))) for key in ordered}


def _part(name: str) -> Part:
    place = int.from_bytes(hashlib.sha256(f"{SEED}:{name}".encode()).digest()[:4], "big") / 2**32
    return "validation" if place < 0.2 else "dev" if place < 0.3 else "train"
