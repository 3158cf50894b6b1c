"""The environment while it is being made: tables and columns that know where they came from and what was done to them.

The steps change a `Draft` one after the other; columns are objects, so that a later step may move or rename a column
and every record of an earlier step still points at it. Values stay clean until `write_keys` and the diagnostics.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any, Literal

from .clean import CleanDatabase, ColumnType, Value
from .key_forms import Layer, Reading

JoinStatus = Literal["declared", "split", "implied", "component"]
TABLE_VALUE = "_table_value"
"""The pseudo column that stands for the value in the name of a family's table."""


@dataclass(eq=False)
class DraftColumn:
    """A column of the environment. `origin` is `table.column` of the clean database, None for one that was planted."""

    table: DraftTable
    canonical_name: str
    type: ColumnType
    values: list[Value]
    origin: str | None = None
    planted: str | None = None
    """What a column without an origin is there for."""
    synonyms: tuple[str, ...] = ()
    is_key: bool = False
    canonical: list[str | None] = field(default_factory=list)
    """Of a key: what the stated expression gives for each row."""
    reading: Reading = field(default_factory=Reading)
    layers: tuple[Layer, ...] = ()
    copy_of: DraftColumn | None = None
    is_busy: bool = False
    """Something depends on its values as they are: no other step may change or move them."""
    name: str = ""
    renaming: tuple[str, ...] = ()

    @property
    def is_plain(self) -> bool:
        return not self.is_key and not self.is_busy

    @property
    def in_table_name(self) -> bool:
        return self.table.family_column is self


@dataclass(eq=False)
class DraftTable:
    canonical_name: str
    columns: list[DraftColumn] = field(default_factory=list)
    primary_key: tuple[DraftColumn, ...] = ()
    synonyms: tuple[str, ...] = ()
    rows: int = 0
    part_of: DraftTable | None = None
    """For the second half of a table that was split by columns."""
    family_column: DraftColumn | None = None
    engine: str = ""
    source: str = ""
    name: str = ""
    """Its name in the source; of a family, what stands before the value in each name."""
    renaming: tuple[str, ...] = ()

    @property
    def members(self) -> dict[str, list[int]]:
        """The tables that are written, by name, with the rows of each."""
        if self.family_column is None:
            return {self.name: list(range(self.rows))}
        found: dict[str, list[int]] = {}
        for row, value in enumerate(self.family_column.values):
            found.setdefault(f"{self.name}{value}", []).append(row)
        return dict(sorted(found.items()))

    @property
    def written_columns(self) -> list[DraftColumn]:
        return [column for column in self.columns if column is not self.family_column]


@dataclass(frozen=True)
class Reference:
    """A foreign key among draft columns, or the bond between the two halves of a table."""

    child: tuple[DraftColumn, ...]
    parent: tuple[DraftColumn, ...]
    status: Literal["declared", "split"] = "declared"


@dataclass(frozen=True)
class Duplicate:
    """`key` is the new row's value in the table's key column, `original` that of the row it was copied from."""

    column: DraftColumn
    original: Value
    key: Value
    changes: tuple[tuple[DraftColumn, str, Value, Value], ...]
    """(column, how, value of the original, value of the copy)"""
    repointed: int


@dataclass(frozen=True)
class Dangling:
    column: DraftColumn
    rows: int


@dataclass(frozen=True)
class TextFact:
    """A column that now exists only inside a text; `written` is what each row's text holds, None where nothing."""

    column: DraftColumn
    origin: str
    canonical_name: str
    type: ColumnType
    templates: tuple[str, ...]
    regexes: tuple[str, ...]
    written: list[str | None]


@dataclass(frozen=True)
class Planted:
    """A diagnostic in one column. Each item: what, how many rows by plan, and the condition that finds them.

    A condition is SQL over `{}`, which stands for the column as text.
    """

    kind: str
    column: DraftColumn
    items: tuple[tuple[str, int, str], ...]
    parameters: dict[str, Any] = field(default_factory=dict)
    counted: Reference | None = None
    """For a counter: the reference whose child rows it claims to count."""


@dataclass(eq=False)
class Draft:
    database: str
    seed: int
    tables: list[DraftTable] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)
    duplicates: list[Duplicate] = field(default_factory=list)
    dangling: list[Dangling] = field(default_factory=list)
    facts: list[TextFact] = field(default_factory=list)
    planted: list[Planted] = field(default_factory=list)

    def chance(self, *about: str) -> random.Random:
        """Random numbers of their own for each thing, so that a change in one step does not stir up the others."""
        return random.Random("/".join((str(self.seed), self.database, *about)))

    @property
    def columns(self) -> list[DraftColumn]:
        return [column for table in self.tables for column in table.columns]

    def in_composite(self) -> set[DraftColumn]:
        """Columns that take part in a reference of several columns."""
        return {
            column
            for reference in self.references
            if len(reference.child) > 1
            for column in (*reference.child, *reference.parent)
        }


def start_draft(database: CleanDatabase, seed: int, max_rows: int) -> Draft:
    """The clean database as a draft. Tables without rows are left out: some engines could not name their columns."""
    draft = Draft(database.name, seed)
    by_name: dict[tuple[str, str], DraftColumn] = {}
    for clean in (table for table in database.tables if table.rows):
        table = DraftTable(clean.name, synonyms=clean.synonyms, rows=min(clean.rows, max_rows))
        for column in clean.columns:
            drafted = DraftColumn(
                table, column.name, column.type, list(column.values[:max_rows]), f"{clean.name}.{column.name}",
                synonyms=column.synonyms,
            )  # fmt: skip
            table.columns.append(drafted)
            by_name[clean.name, column.name] = drafted
        table.primary_key = tuple(by_name[clean.name, name] for name in clean.primary_key)
        draft.tables.append(table)
    for key in database.foreign_keys:
        if (key.table, key.columns[0]) not in by_name or (key.parent_table, key.parent_columns[0]) not in by_name:
            continue
        child = tuple(by_name[key.table, name] for name in key.columns)
        parent = tuple(by_name[key.parent_table, name] for name in key.parent_columns)
        draft.references.append(Reference(child, parent))
    keys = {column for reference in draft.references for column in (*reference.child, *reference.parent)}
    keys |= {column for table in draft.tables for column in table.primary_key}
    for key_column in draft.columns:
        if key_column in keys:
            key_column.is_key = True
            if key_column.type in {"real", "boolean", "timestamp"}:
                key_column.values = [None if value is None else str(value) for value in key_column.values]
                key_column.type = "text"
    return draft
