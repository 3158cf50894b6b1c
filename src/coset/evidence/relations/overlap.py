"""Which columns share values: one join over the hashes of all keys, instead of comparing each column with each.

In: variants. Out: `Overlap`s: how many keys of a left variant were looked up in a right one that is nearly unique, and
how many were found. The left is looked up by at most `LOOKED_UP` keys; the right is complete, however large.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coset.evidence.column_expressions import column_kind, quoted
from coset.evidence.relations.column_values import LONGEST_VALUE, key_of
from coset.evidence.relations.joinable import JoinableTable
from coset.evidence.relations.variants import KEYS, Variant

if TYPE_CHECKING:
    import duckdb

LEFT_KEYS, RIGHT_KEYS = "coset_join_left_keys", "coset_join_right_keys"
LOOKED_UP = 2_000
LEAST_UNIQUE = 0.75
MOST_PAIRED = 20_000_000
"""Pairs of equal numbers that one join may give: of very many columns of serial numbers, fewer keys are looked up."""


@dataclass(frozen=True)
class Overlap:
    left: Variant
    right: Variant
    looked_up: int
    found: int

    @property
    def containment(self) -> float:
        return self.found / self.looked_up if self.looked_up else 0.0


def is_key_like(variant: Variant) -> bool:
    return variant.uniqueness >= LEAST_UNIQUE


def find_overlaps(
    connection: duckdb.DuckDBPyConnection, tables: Sequence[JoinableTable], variants: Sequence[Variant]
) -> list[Overlap]:
    """Every two variants of different columns that share a key, the right one nearly unique."""
    numbers = [variant for variant in variants if variant.is_number]
    key_like = sum(is_key_like(variant) for variant in numbers)
    few = max(50, min(LOOKED_UP // 4, MOST_PAIRED // max(1, len(numbers) * key_like)))
    parts = {v.number: max(1, v.keys // (few if v.is_number else LOOKED_UP)) for v in variants}
    listed = ", ".join(f"({v.number}, {parts[v.number]}, {v.form == 'piece'})" for v in variants)
    if not listed:
        return []
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE {LEFT_KEYS} AS SELECT k.variant, k.source, parts.is_piece, hash(k.key) AS hash "
        f"FROM {KEYS} k JOIN (VALUES {listed}) AS parts(variant, part, is_piece) ON k.variant = parts.variant "
        "WHERE hash(k.key) % parts.part = 0"
    ).fetchall()
    rights = ", ".join(f"({v.number}, {v.form == 'piece'})" for v in variants if is_key_like(v))
    if not rights:
        return []
    connection.execute(
        f"CREATE OR REPLACE TEMP TABLE {RIGHT_KEYS} AS SELECT k.variant, k.source, parts.is_piece, hash(k.key) AS hash "
        f"FROM {KEYS} k JOIN (VALUES {rights}) AS parts(variant, is_piece) ON k.variant = parts.variant"
    ).fetchall()
    _complete_large(connection, tables, variants)
    looked_up = dict(connection.execute(f"SELECT variant, count(*) FROM {LEFT_KEYS} GROUP BY variant").fetchall())
    # Two pieces of two codes meet too easily, and are not joined.
    answers = connection.execute(
        f"SELECT l.variant, r.variant, count(*) FROM {LEFT_KEYS} l JOIN {RIGHT_KEYS} r ON l.hash = r.hash "
        "WHERE l.source <> r.source AND NOT (l.is_piece AND r.is_piece) "
        "GROUP BY l.variant, r.variant ORDER BY l.variant, r.variant"
    ).fetchall()
    by_number = {variant.number: variant for variant in variants}
    return [
        Overlap(by_number[left], by_number[right], looked_up[left], found)
        for left, right, found in answers
        if (by_number[left].form == "date") == (by_number[right].form == "date")
    ]


def _complete_large(
    connection: duckdb.DuckDBPyConnection, tables: Sequence[JoinableTable], variants: Sequence[Variant]
) -> None:
    """Of columns with too many values to keep, add those that any other column asks for."""
    held = dict(connection.execute(f"SELECT variant, count(*) FROM {RIGHT_KEYS} GROUP BY variant").fetchall())
    for variant in variants:
        column = variant.column
        if variant.form != "whole" or column.elements or not is_key_like(variant):
            continue
        if held.get(variant.number, 0) * 1.5 >= variant.keys:
            continue
        name = quoted(column.name)
        is_text = column_kind(column.type) == "text"
        text = f"left({name}, {LONGEST_VALUE})" if is_text else f"CAST({name} AS VARCHAR)"
        # Whole numbers are their own keys; text takes the long way.
        key = text if column_kind(column.type) == "integer" else key_of(text)
        connection.execute(
            f"INSERT INTO {RIGHT_KEYS} SELECT DISTINCT {variant.number}, {column.number}, false, h FROM "
            f"(SELECT hash({key}) AS h FROM {tables[column.table].relation} WHERE {name} IS NOT NULL) "
            f"WHERE h IN (SELECT hash FROM {LEFT_KEYS} WHERE variant <> {variant.number}) "
            f"AND h NOT IN (SELECT hash FROM {RIGHT_KEYS} WHERE variant = {variant.number})"
        ).fetchall()
