"""A clean relational database in memory: what the generator starts from.

Values are Python's (int, float, str, bool, date, datetime, None), one list a column, rows in a fixed order.
Nothing here knows where the rows come from or what is done to them.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from typing import Literal

ColumnType = Literal["integer", "real", "text", "boolean", "date", "timestamp"]
Value = bool | int | float | str | datetime.date | datetime.datetime | None


@dataclass(frozen=True)
class CleanColumn:
    name: str
    type: ColumnType
    values: tuple[Value, ...]
    synonyms: tuple[str, ...] = ()
    """Other names that people gave to this very column, where a corpus has them."""


@dataclass(frozen=True)
class CleanTable:
    name: str
    columns: tuple[CleanColumn, ...]
    primary_key: tuple[str, ...] = ()
    synonyms: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        return len(self.columns[0].values) if self.columns else 0

    def column(self, name: str) -> CleanColumn:
        return next(column for column in self.columns if column.name == name)


@dataclass(frozen=True)
class CleanForeignKey:
    table: str
    columns: tuple[str, ...]
    parent_table: str
    parent_columns: tuple[str, ...]


@dataclass(frozen=True)
class CleanDatabase:
    name: str
    tables: tuple[CleanTable, ...]
    foreign_keys: tuple[CleanForeignKey, ...] = field(default=())

    def table(self, name: str) -> CleanTable:
        return next(table for table in self.tables if table.name == name)
