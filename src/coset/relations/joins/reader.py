"""Reading the rows of tables while relations are tested: only of those tables that a test needs.

In: tables, and a way to make one readable when it is first asked for. Out: the names of relations in a DuckDB
connection, and temporary tables with the distinct values of single columns.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING

from coset.relations.joins.column_values import distinct_values, names_of, text_of, with_keys
from coset.relations.joins.joinable import JoinableTable, JoinColumn

if TYPE_CHECKING:
    import duckdb

    from coset.relations.joins.expressions import Tested

Opens = Callable[[JoinableTable], None]
"""Makes the rows of a table readable under its `relation`."""
NO_TABLE = "(SELECT 1)"
"""What the names of a family's members are read from: they stand in the expression."""


class TableReader:
    def __init__(
        self, connection: duckdb.DuckDBPyConnection, tables: Sequence[JoinableTable], opens: Opens | None = None
    ) -> None:
        self.connection = connection
        self.tables = tables
        self._opens = opens
        self._opened: set[int] = set()
        self._values: dict[int, str] = {}
        self.counted: dict[Hashable, Tested] = {}
        """Joins that were counted, by what makes two of them count alike."""

    def relation(self, place: int) -> str:
        """The rows of a table, readable from now on."""
        if self._opens and place not in self._opened:
            self._opens(self.tables[place])
        self._opened.add(place)
        return self.tables[place].relation

    def rows(self, column: JoinColumn) -> str:
        """What a column's expressions are read from."""
        return NO_TABLE if column.is_names else self.relation(column.table)

    def values(self, column: JoinColumn) -> str:
        """A temporary table of the column's distinct values: raw, stripped, key; of very many a part."""
        if column.number not in self._values:
            name = f"coset_join_values_{column.number}"
            text = names_of(column.members) if column.is_names else self._text(column)
            source = f"SELECT 0 AS number, {text} AS raw FROM {self.rows(column)}"
            values = with_keys(distinct_values(source, column.part))
            self.connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {values}").fetchall()
            self._values[column.number] = name
        return self._values[column.number]

    @staticmethod
    def _text(column: JoinColumn) -> str:
        return text_of(column.name, column.type, elements=column.elements)

    def close(self) -> None:
        """Leave nothing behind."""
        for name in self._values.values():
            self.connection.execute(f"DROP TABLE IF EXISTS {name}").fetchall()
        self._values.clear()
