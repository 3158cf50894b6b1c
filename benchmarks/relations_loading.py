"""Environments as `find_relations` wants them: every table readable in one DuckDB connection, families as one table.

Used by the benchmarks of relations; comprehension itself has its own, incremental way to read.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import duckdb

from coset.environment.catalogue import Catalogue
from coset.environment.configuration import load_environment
from coset.environment.source import Source, Table
from coset.relations.joins.column_values import JoinableTable
from coset.state.objects import Reference

FAMILY = 5
"""So many tables of one shape in one source are a family."""
MEMBERS_READ = 40


def open_environment(path: Path) -> tuple[duckdb.DuckDBPyConnection, list[JoinableTable]]:
    catalogue = Catalogue(load_environment(path)).list_sources()
    connection = duckdb.connect()
    tables: list[JoinableTable] = []
    try:
        for name, listing in catalogue.listings.items():
            if listing.problem:
                raise RuntimeError(f"{name}: {listing.problem}")
            shapes: dict[tuple, list[Table]] = defaultdict(list)
            for table in listing.tables:
                shapes[(table.schema, *((column.name, column.type) for column in table.columns))].append(table)
            for shaped in shapes.values():
                groups = [shaped] if len(shaped) >= FAMILY else [[table] for table in shaped]
                for group in groups:
                    tables.append(_load(connection, catalogue.sources[name], name, group, len(tables)))
    finally:
        catalogue.close()
    return connection, tables


def _load(
    connection: duckdb.DuckDBPyConnection, source: Source, name: str, group: list[Table], number: int
) -> JoinableTable:
    relation, first = f'"table {number}"', group[0]
    for position, table in enumerate(group[:MEMBERS_READ]):
        rows = source.read(table)
        connection.register("incoming", rows)
        casts = ", ".join(
            f'CAST("{c.name.replace(chr(34), chr(34) * 2)}" AS {c.type}) AS "{c.name.replace(chr(34), chr(34) * 2)}"'
            for c in table.columns
        )
        start = f"CREATE TABLE {relation} AS" if position == 0 else f"INSERT INTO {relation}"
        connection.execute(f"{start} SELECT {casts} FROM incoming").fetchall()
        connection.unregister("incoming")
    count = connection.execute(f"SELECT count(*) FROM {relation}").fetchall()[0][0]
    members = tuple(table.name for table in group) if len(group) > 1 else ()
    return JoinableTable(
        Reference(name, first.schema, first.name if not members else f"{first.name} (and {len(group) - 1} more)"),
        relation, first.columns, count, first.primary_key, first.foreign_keys, members,
    )  # fmt: skip
