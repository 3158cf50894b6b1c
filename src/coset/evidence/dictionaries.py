"""Data dictionaries: tables whose rows describe columns of other tables.

In: readable tables. Out: rows for the state's `documents`, each about a column. A table is taken for a dictionary when
most values of one of its text columns are names of columns, and another one holds the texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import duckdb

from coset.evidence.reading import JoinableTable
from coset.sql_text import identifier
from coset.state.objects import Reference
from coset.state.rows import document

MOST_ROWS, LEAST_NAMES, LEAST_SHARE, LEAST_LETTERS = 20_000, 3, 0.6, 10


def dictionary_documents(
    connection: duckdb.DuckDBPyConnection, tables: Sequence[JoinableTable], read: Sequence[JoinableTable]
) -> Iterable[dict[str, Any]]:
    """What the dictionaries among the tables that are `read` say of columns of all."""
    by_column: dict[str, list[Reference]] = {}
    for table in tables:
        for column in table.columns:
            place = Reference(table.reference.source, table.reference.schema, table.reference.table, (column.name,))
            by_column.setdefault(column.name.lower(), []).append(place)
    for table in read:
        texts = [column.name for column in table.columns if column.type == "VARCHAR"]
        if len(texts) < 2 or not LEAST_NAMES <= table.rows <= MOST_ROWS:
            continue
        found = _dictionary(connection, table, texts, set(by_column))
        if found:
            yield from _described(connection, table, *found, by_column)


def _dictionary(
    connection: duckdb.DuckDBPyConnection, table: JoinableTable, texts: Sequence[str], names: set[str]
) -> tuple[str, str] | None:
    """The columns that hold the names and the descriptions, when the table is a dictionary."""
    measured = connection.cursor().execute(
        "SELECT "
        + ", ".join(f"list(DISTINCT lower(left({name}, 200))), avg(length({name}))" for name in map(identifier, texts))
        + f" FROM {table.relation}"
    ).fetchall()[0]  # fmt: skip
    shares = {}
    for number, name in enumerate(texts):
        values = [value for value in measured[2 * number] or [] if value is not None]
        own = {column.name.lower() for column in table.columns}
        known = [value for value in values if value in names and value not in own]
        if len(known) >= LEAST_NAMES and len(known) >= LEAST_SHARE * len(values):
            shares[name] = len(known)
    if not shares:
        return None
    name = max(shares, key=lambda item: shares[item])
    lengths = {text: measured[2 * number + 1] or 0.0 for number, text in enumerate(texts) if text != name}
    text = max(lengths, key=lambda item: lengths[item])
    return (name, text) if lengths[text] >= LEAST_LETTERS else None


def _described(
    connection: duckdb.DuckDBPyConnection,
    table: JoinableTable,
    name: str,
    text: str,
    by_column: dict[str, list[Reference]],
) -> Iterable[dict[str, Any]]:
    others = [column.name for column in table.columns if column.type == "VARCHAR" and column.name not in {name, text}]
    outputs = ", ".join(identifier(column) for column in (name, text, *others))
    for row in connection.cursor().execute(f"SELECT {outputs} FROM {table.relation} LIMIT {MOST_ROWS}").fetchall():
        if not row[0] or not row[1]:
            continue
        places = by_column.get(str(row[0]).lower(), [])
        # Where the dictionary also names the table, its column alone is meant.
        named = [place for place in places if place.table in {str(value) for value in row[2:] if value}]
        for place in named or places:
            if (place.source, place.schema, place.table) != (
                table.reference.source, table.reference.schema, table.reference.table,
            ):  # fmt: skip
                title = f"{table.reference}"
                yield document(f"{place}#{title}", None, str(place), "dictionary", title, str(row[1]), "declared")
