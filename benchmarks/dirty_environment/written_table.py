"""A table as it is handed to a writer: final names, final values, nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from .clean import ColumnType, Value
from .draft import DraftTable


@dataclass(frozen=True)
class WrittenColumn:
    name: str
    type: ColumnType
    values: list[Value]


@dataclass(frozen=True)
class WrittenTable:
    name: str
    columns: tuple[WrittenColumn, ...]
    primary_key: tuple[str, ...] = ()

    @property
    def rows(self) -> list[tuple[Value, ...]]:
        return list(zip(*(column.values for column in self.columns), strict=True))


def written_tables(table: DraftTable, *, declare_primary_key: bool) -> list[WrittenTable]:
    """The tables that a draft table is written as: one, or every member of its family."""
    found = []
    declared = declare_primary_key and table.family_column is None and _holds(table)
    for name, rows in table.members.items():
        columns = tuple(
            WrittenColumn(column.name, column.type, [column.values[row] for row in rows])
            for column in table.written_columns
        )
        found.append(WrittenTable(name, columns, tuple(c.name for c in table.primary_key) if declared else ()))
    return found


def _holds(table: DraftTable) -> bool:
    keys = list(zip(*(column.values for column in table.primary_key), strict=True)) if table.primary_key else []
    return bool(keys) and len(set(keys)) == len(keys) and not any(None in key for key in keys)
