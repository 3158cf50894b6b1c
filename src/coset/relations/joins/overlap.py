"""Which columns share values: one join over the hashes of all keys, instead of comparing each column with each.

In: the memory, with key sets of which some are new. Out: the memory's `join_overlaps`: how many keys of a left set were
looked up in a right one that is nearly unique, and how many were found. Only pairs with a new set are joined; columns
with the same keys are one set. The left is looked up by a part of its keys; the right is complete, however large.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coset.evidence.column_expressions import column_kind
from coset.relations.joins.column_values import key_of, text_of
from coset.relations.joins.reader import TableReader
from coset.relations.joins.variants import LEAST_LOOKED_UP, LOOKED_UP, LOOKED_UP_NUMBERS, Variant

if TYPE_CHECKING:
    import duckdb

MOST_PAIRED = 20_000_000
"""Pairs of equal keys that one join may give: of very many columns with the same keys, fewer keys are looked up."""
MOST_HALVINGS = 6
COUNTED_PART = 16
"""Equal keys are counted among one in so many of all hashes."""


@dataclass(frozen=True)
class Overlap:
    left: Variant
    right: Variant
    looked_up: int
    found: int

    @property
    def containment(self) -> float:
        return self.found / self.looked_up if self.looked_up else 0.0


def pair_key_sets(connection: duckdb.DuckDBPyConnection, reader: TableReader, variants: Iterable[Variant]) -> bool:
    """Bring `join_overlaps` up to date. True when all of them are new, False when those of old sets were kept."""
    connection.execute("DELETE FROM join_keys WHERE key_set NOT IN (SELECT key_set FROM join_variants)").fetchall()
    halvings = _halvings(connection)
    new = f"(SELECT key_set FROM join_keys WHERE halvings IS DISTINCT FROM {halvings})"
    connection.execute(
        "DELETE FROM join_overlaps WHERE left_set NOT IN (SELECT key_set FROM join_keys) "
        f"OR right_set NOT IN (SELECT key_set FROM join_keys) OR left_set IN {new} OR right_set IN {new}"
    ).fetchall()
    [(old,)] = connection.execute(f"SELECT count(*) FROM join_keys WHERE halvings = {halvings}").fetchall()
    _complete_large(connection, reader, variants, halvings)
    for left, right in (("is_new", "true"), ("NOT is_new", "is_new")):
        connection.execute(
            f"INSERT INTO join_overlaps WITH asked AS ({_asked(halvings)}), "
            "looked_up AS (SELECT key_set, count(*) AS n FROM asked GROUP BY key_set), "
            f"held AS (SELECT key_set, form, halvings IS DISTINCT FROM {halvings} AS is_new, "
            "unnest(list_concat(hashes, further)) AS hash FROM join_keys WHERE is_held), "
            # Two pieces of two codes meet too easily, and are not joined.
            "found AS (SELECT l.key_set AS left_set, r.key_set AS right_set, count(*) AS n FROM "
            f"(FROM asked WHERE {left}) l JOIN (FROM held WHERE {right}) r ON l.hash = r.hash "
            "WHERE NOT (l.form = 'piece' AND r.form = 'piece') AND (l.form = 'date') = (r.form = 'date') "
            "GROUP BY ALL) "
            "SELECT left_set, right_set, looked_up.n, found.n FROM found JOIN looked_up ON left_set = key_set"
        ).fetchall()
    connection.execute(
        f"UPDATE join_keys SET halvings = {halvings} WHERE halvings IS DISTINCT FROM {halvings}"
    ).fetchall()
    return not old


def _asked(halvings: int) -> str:
    """The keys of all sets that are looked up in others: one in a power of two, more rarely after each halving."""
    wanted = (
        f"greatest({LEAST_LOOKED_UP}, CASE WHEN is_number THEN {LOOKED_UP_NUMBERS >> halvings} "
        f"ELSE {LOOKED_UP >> halvings} END)"
    )
    return (
        "SELECT key_set, form, is_new, hash FROM (SELECT key_set, form, "
        f"halvings IS DISTINCT FROM {halvings} AS is_new, unnest(hashes) AS hash, "
        f"(2 ** floor(log2(greatest(1, total / {wanted}))))::UBIGINT AS part FROM join_keys) WHERE hash % part = 0"
    )


def _halvings(connection: duckdb.DuckDBPyConnection) -> int:
    """How often the number of keys looked up is halved, so that all pairs of equal keys stay within `MOST_PAIRED`. In
    whole steps, so that it seldom changes from one run to the next."""
    [(most,)] = connection.execute(
        "SELECT coalesce(sum(len(hashes)), 0) * count(*) FILTER (is_held) FROM join_keys"
    ).fetchall()
    if most <= MOST_PAIRED:
        return 0
    some = f"(hash >> 40) % {COUNTED_PART} = 0"
    [(counted,)] = connection.execute(
        f"WITH asked AS (SELECT hash, count(*) AS n FROM ({_asked(0)}) WHERE {some} GROUP BY hash), "
        "held AS (SELECT hash, count(*) AS n FROM (SELECT unnest(hashes) AS hash FROM join_keys WHERE is_held) "
        f"WHERE {some} GROUP BY hash) "
        "SELECT coalesce(sum(asked.n * held.n), 0) FROM asked JOIN held ON asked.hash = held.hash"
    ).fetchall()
    pairs, halvings = counted * COUNTED_PART, 0
    while pairs > MOST_PAIRED << halvings and halvings < MOST_HALVINGS:
        halvings += 1
    return halvings


def _complete_large(
    connection: duckdb.DuckDBPyConnection, reader: TableReader, variants: Iterable[Variant], halvings: int
) -> None:
    """Of columns with too many values to keep, add those that any other column asks for."""
    large: dict[int, Variant] = {}
    for variant in variants:
        column = variant.column
        if column.part > 1 and variant.form == "whole" and not column.elements and variant.is_key_like:
            large.setdefault(variant.key_set, variant)
    for key_set, variant in large.items():
        asked = connection.sql(
            f"SELECT DISTINCT hash FROM ({_asked(halvings)}) WHERE key_set <> {key_set} AND (is_new OR (SELECT "
            f"halvings IS DISTINCT FROM {halvings} FROM join_keys WHERE key_set = {key_set})) "
            f"AND form <> 'date' AND hash NOT IN (SELECT unnest(hashes) FROM join_keys WHERE key_set = {key_set})"
        ).to_arrow_table()
        if not asked.num_rows:
            continue
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
        connection.register("coset_join_found", found)
        connection.execute(
            "UPDATE join_keys SET further = list_distinct(list_concat(further, (SELECT list(h) FROM coset_join_found)))"
            f" WHERE key_set = {key_set}"
        ).fetchall()
        connection.unregister("coset_join_found")
