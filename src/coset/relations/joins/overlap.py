"""Which columns share values: one join over the hashes of all keys, instead of comparing each column with each.

In: the memory, with key sets of which some are new. Out: the memory's `join_overlaps`: how many keys of a left set were
looked up in a right one that is nearly unique, and how many were found. Only pairs with a new set are joined; columns
with the same keys are one set. The left is looked up by a part of its keys; the right is complete, however large.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from coset.evidence.column_expressions import column_kind
from coset.relations.joins.column_values import (
    JoinableTable,
    JoinColumn,
    distinct_values,
    key_of,
    names_of,
    text_of,
    with_keys,
)
from coset.relations.joins.variants import LEAST_LOOKED_UP, LOOKED_UP, LOOKED_UP_NUMBERS, Variant
from coset.state.joins import JoinTables, LookedUp

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

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


MOST_PAIRED = 20_000_000
"""Pairs of equal keys that one join may give: of very many columns with the same keys, fewer keys are looked up."""
MOST_HALVINGS = 6
ALL_ASKED = LookedUp(LOOKED_UP, LOOKED_UP_NUMBERS, LEAST_LOOKED_UP)


@dataclass(frozen=True)
class Overlap:
    left: Variant
    right: Variant
    looked_up: int
    found: int

    @property
    def containment(self) -> float:
        return self.found / self.looked_up if self.looked_up else 0.0


def pair_key_sets(tables: JoinTables, reader: TableReader, variants: Iterable[Variant]) -> bool:
    """Bring the overlaps up to date. True when all of them are new, False when those of old sets were kept."""
    tables.forget_unused_key_sets()
    looked_up = replace(ALL_ASKED, halvings=_halvings(tables))
    has_old = tables.forget_overlaps_of_new_sets(looked_up)
    _complete_large(tables, reader, variants, looked_up)
    tables.pair_new_sets(looked_up)
    return not has_old


def _halvings(tables: JoinTables) -> int:
    """How often the number of keys looked up is halved, so that all pairs of equal keys stay within `MOST_PAIRED`. In
    whole steps, so that it seldom changes from one run to the next."""
    pairs, halvings = tables.equal_keys(ALL_ASKED, MOST_PAIRED), 0
    while pairs > MOST_PAIRED << halvings and halvings < MOST_HALVINGS:
        halvings += 1
    return halvings


def _complete_large(tables: JoinTables, reader: TableReader, variants: Iterable[Variant], looked_up: LookedUp) -> None:
    """Of columns with too many values to keep, add those that any other column asks for."""
    large: dict[int, Variant] = {}
    for variant in variants:
        column = variant.column
        if column.part > 1 and variant.form == "whole" and not column.elements and variant.is_key_like:
            large.setdefault(variant.key_set, variant)
    for key_set, variant in large.items():
        tables.complete(key_set, looked_up, partial(_held, reader, variant))


def _held(reader: TableReader, variant: Variant, asked: pa.Table) -> pa.Table:
    """Those of the hashes that a column has the key of."""
    column = variant.column
    text = text_of(column.name, column.type, elements=False)
    # Whole numbers are their own keys; text takes the long way.
    key = text if column_kind(column.type) == "integer" else key_of(text)
    rows = reader.rows(column)
    reader.connection.register("coset_join_asked", asked)
    found = reader.connection.sql(
        f"SELECT DISTINCT h FROM (SELECT hash({key}) AS h FROM {rows} WHERE {text} IS NOT NULL) "
        "WHERE h IN (SELECT hash FROM coset_join_asked)"
    ).to_arrow_table()
    reader.connection.unregister("coset_join_asked")
    return found
