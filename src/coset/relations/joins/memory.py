"""Facts about single tables, and tested joins, kept between runs so that only what changed is looked at again.

In: the facts of each table, as they come. Out: the columns that may join with their variants, what changed since
relations were last found, and every test of a join that still holds. Lives in the evidence state, or in a database in
memory for one run. Transactions are the caller's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from coset.relations.joins.column_values import RAW_VALUES, VALUES, JoinableTable, JoinColumn, gather, key_of
from coset.relations.joins.variants import KEYS, KeySet, Variant, variants_of
from coset.state.joins import JoinTables

if TYPE_CHECKING:
    import duckdb
    import numpy as np


@dataclass(frozen=True)
class JoinFacts:
    columns: tuple[JoinColumn, ...]
    variants: tuple[Variant, ...]
    key_sets: tuple[KeySet, ...]


def join_facts(connection: duckdb.DuckDBPyConnection, tables: Sequence[JoinableTable]) -> list[JoinFacts]:
    """The facts of each table; many small ones together cost little more than one. Temporary tables are made on the way
    and removed."""
    try:
        gathered = gather(connection, tables)
        variants, key_sets = variants_of(connection, gathered)
    finally:
        for name in (RAW_VALUES, VALUES, KEYS):
            connection.execute(f"DROP TABLE IF EXISTS {name}").fetchall()
    facts: list[JoinFacts] = []
    for place in range(len(tables)):
        own = tuple(variant for variant in variants if variant.column.table == place)
        digests = {variant.key_set for variant in own}
        facts.append(
            JoinFacts(
                tuple(each.column for each in gathered if each.column.table == place),
                own,
                tuple(key_set for key_set in key_sets if key_set.digest in digests),
            )
        )
    return facts


LEAST_NAMES = 3


@dataclass(frozen=True)
class KnownColumns:
    """The columns of the tables at hand, numbered in the order of their references, and their variants."""

    columns: tuple[JoinColumn, ...]
    variants: dict[int, list[Variant]]
    """By the number of the column."""
    by_place: dict[tuple[str, int], JoinColumn]
    """By the reference of the table and the position of the column."""


class JoinMemory:
    """The facts of tables, in the tables of a state or in ones of its own."""

    def __init__(self, tables: JoinTables) -> None:
        self.tables = tables

    def store(self, facts: Sequence[tuple[str, JoinFacts]]) -> None:
        """Add what is known of tables, by their references; what was known of them must be forgotten first."""
        rows: dict[str, list[dict[str, Any]]] = {name: [] for name in ("join_tables", "join_columns", "join_variants")}
        key_sets: dict[int, dict[str, Any]] = {}
        for reference, known in facts:
            rows["join_tables"].append({"table_reference": reference, "is_related": False})
            rows["join_columns"] += [_column_row(reference, column) for column in known.columns]
            rows["join_variants"] += [_variant_row(reference, variant) for variant in known.variants]
            for key_set in known.key_sets:
                key_sets[key_set.digest] = {
                    "key_set": key_set.digest, "form": key_set.form, "is_number": key_set.is_number,
                    "is_held": key_set.is_held, "total": key_set.total, "hashes": key_set.hashes, "further": [],
                    "halvings": None,
                }  # fmt: skip
        self.tables.add(rows, key_sets)

    def forget(self, references: Sequence[str]) -> None:
        """Columns that were compared with those of a forgotten table are found by their `right_tables`."""
        self.tables.forget(references)

    def changed(self) -> set[str]:
        """The tables that changed since relations were last found."""
        return self.tables.changed()

    def related(self, references: Collection[str]) -> None:
        """Relations were found, of these tables. The others count as changed when they are next there."""
        self.tables.mark_related(references)

    def columns(self, tables: Sequence[JoinableTable]) -> KnownColumns:
        """The columns of the tables, which stand in the order of their references."""
        places = {str(table.reference): place for place, table in enumerate(tables)}
        columns: list[JoinColumn] = []
        by_place: dict[tuple[str, int], JoinColumn] = {}
        for reference, position, name, type, is_names, kind, *counts in self.tables.columns():
            if reference in places:
                place = places[reference]
                column = _column(
                    (len(columns), place, position, name, type, is_names, kind), counts, tables[place].members
                )
                by_place[reference, position] = column
                columns.append(column)
        variants: dict[int, list[Variant]] = {}
        rows, numbers = self.tables.variants()
        taken = 0
        for reference, position, *described, count in rows:
            owner = by_place.get((reference, position))
            if owner is not None:
                variant = _variant(owner, described, numbers[taken : taken + count])
                variants.setdefault(owner.number, []).append(variant)
            taken += count
        return KnownColumns(tuple(columns), variants, by_place)


def holders_of_column_names(memory: JoinMemory) -> set[str]:
    """The tables that have a column of whose keys some are those of column names: dictionaries are among them."""
    return memory.tables.holders_of_column_names(key_of("name"), LEAST_NAMES)


class Tests:
    """Measurements of joins, kept while none of their tables changes."""

    def __init__(self, memory: JoinMemory, changed: Collection[str], present: Collection[str]) -> None:
        self._tables = memory.tables
        rows = self._tables.tests()
        changed, present = set(changed), set(present)
        self._known: dict[str, str] = {
            key: result
            for key, references, result in rows
            if changed.isdisjoint(references) and present.issuperset(references)
        }
        self._kept = {row[0] for row in rows}
        self._used: dict[str, tuple[list[str], str]] = {}

    def recall(self, key: Sequence[object], references: Sequence[str], measure: Callable[[], Any]) -> Any:
        """What was measured under the key the last time, or is measured now; in the types of JSON."""
        text = json.dumps(key)
        if text not in self._used:
            known = self._known.get(text)
            self._used[text] = (list(references), json.dumps(measure()) if known is None else known)
        return json.loads(self._used[text][1])

    def store(self, *, keep_others: bool = False) -> None:
        """Keep what was used, and nothing else, unless `keep_others` of a run before still hold."""
        gone = [
            key for key in self._kept if not (key in self._known and (keep_others or key in self._used))
        ]  # fmt: skip
        added = [
            {"key": key, "table_references": references, "result": result}
            for key, (references, result) in self._used.items()
            if key not in self._kept or key in gone
        ]
        self._tables.replace_tests(gone, added)


def _column_row(reference: str, column: JoinColumn) -> dict[str, Any]:
    return {
        "table_reference": reference, "position": column.position, "name": column.name, "type": column.type,
        "is_names": column.is_names, "kind": column.kind, "rows": column.rows, "known": column.known,
        "distinct_values": column.distinct, "keys": column.keys, "minimum": column.minimum,
        "maximum": column.maximum, "dirt": sorted(column.dirt), "elements": column.elements, "padded": column.padded,
        "part": column.part, "values_digest": column.values,
    }  # fmt: skip


def _column(place: tuple[Any, ...], counts: Sequence[Any], members: tuple[str, ...]) -> JoinColumn:
    """A column from its row in the memory."""
    rows, known, distinct, keys, minimum, maximum, dirt, elements, padded, part, digest = counts
    number, table, position, name, type, is_names, kind = place
    return JoinColumn(
        number, table, position, name, type, is_names, kind, rows, known, distinct, keys, minimum, maximum,
        frozenset(dirt), elements, padded, part, digest, members if is_names else (),
    )  # fmt: skip


def _variant(column: JoinColumn, described: Sequence[Any], numbers: np.ndarray) -> Variant:
    """A variant from its row in the memory."""
    place, form, prefix, suffix, spelled, separator, piece, format, keys, *shares, is_number = described[:13]
    minimum, maximum, digest = described[13:]
    start, end = spelled
    uniqueness, specificity, code_share = shares
    return Variant(
        place, column, form, prefix, suffix, (start, end), separator, piece, format, keys, uniqueness, specificity,
        code_share, is_number, minimum, maximum, numbers, digest,
    )  # fmt: skip


def _variant_row(reference: str, variant: Variant) -> dict[str, Any]:
    return {
        "table_reference": reference, "position": variant.column.position, "place": variant.place,
        "form": variant.form, "prefix": variant.prefix, "suffix": variant.suffix, "spelled": list(variant.spelled),
        "separator": variant.separator, "piece": variant.piece, "format": variant.format, "keys": variant.keys,
        "uniqueness": variant.uniqueness, "specificity": variant.specificity, "code_share": variant.code_share,
        "is_number": variant.is_number, "minimum": variant.minimum, "maximum": variant.maximum,
        "numbers": list(map(int, variant.numbers)), "key_set": variant.key_set,
    }  # fmt: skip
