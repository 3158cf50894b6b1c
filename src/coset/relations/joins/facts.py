"""What relation finding needs to know of each table by itself.

In: tables that a DuckDB connection can read. Out: `JoinFacts`, plain data that can travel between processes: counts,
ways to look at each column, and hashes of its keys. A table's facts do not depend on the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coset.relations.joins.column_values import RAW_VALUES, VALUES, gather
from coset.relations.joins.joinable import JoinableTable, JoinColumn
from coset.relations.joins.variants import KEYS, KeySet, Variant, variants_of

if TYPE_CHECKING:
    import duckdb


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
