"""Reads the distinct values of columns from their source, through the read-only session.

In: a session, a table, and the columns that the state does not know whole. Out: the same columns, completed, or marked
with why not. Of a table that is here (a copy, a file) all columns come with one statement; of a table that stays at its
source each column is one pushed-down statement. A column of more values than the bound keeps what was known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from coset.errors import CosetError
from coset.routing.anchors.indexed_columns import IndexedColumn
from coset.routing.anchors.settings import ValueIndexSettings
from coset.session.query_session import QuerySession, stays_at_source
from coset.sql_text import identifier

COLUMNS_AT_ONCE = 20


def sql_name(table: Mapping[str, Any]) -> str:
    """What to write after FROM."""
    parts = (table["source"], table["schema_name"], table["name"])
    return ".".join(identifier(part) for part in parts if part is not None)


def stays(session: QuerySession, table: Mapping[str, Any]) -> bool:
    """Whether the table's rows stay at their source: then only what a source can compute is asked of it."""
    parts = tuple(part for part in (table["source"], table["schema_name"], table["name"]) if part is not None)
    return stays_at_source(*session.catalogue.find(parts))


def complete_from_source(
    session: QuerySession,
    table: Mapping[str, Any],
    columns: Sequence[IndexedColumn],
    settings: ValueIndexSettings,
) -> list[str]:
    """Complete the columns that want it, in place; answers with what went wrong."""
    wanted = [column for column in columns if column.wanted]
    if not wanted:
        return []
    try:
        remote = stays(session, table)
    except CosetError as error:
        return _not_read(wanted, str(error))
    if remote:
        for column in wanted:
            if column.kind != "column":
                column.reason = "it is computed from a column that stays at its source"
        wanted = [column for column in wanted if column.kind == "column"]
    at_once = 1 if remote else COLUMNS_AT_ONCE
    problems = []
    for first in range(0, len(wanted), at_once):
        problems += _read(session, table, wanted[first : first + at_once], settings)
    return problems


def _read(
    session: QuerySession, table: Mapping[str, Any], columns: Sequence[IndexedColumn], settings: ValueIndexSettings
) -> list[str]:
    most = settings.most_values + 1
    relation = sql_name(table)
    parts = [_distinct(column, relation, most) for column in columns]
    if len(parts) == 1:
        text = f"SELECT 0 AS place, value FROM ({parts[0]})"
    else:
        text = " UNION ALL ".join(f"SELECT {place} AS place, value FROM ({part})" for place, part in enumerate(parts))
    try:
        result = session.sql(text, max_rows=most * len(columns), seconds=settings.table_seconds)
    except CosetError as error:
        if len(columns) == 1:
            return _not_read(columns, str(error))
        return [problem for column in columns for problem in _read(session, table, [column], settings)]
    if result.truncated and len(columns) > 1:
        return [problem for column in columns for problem in _read(session, table, [column], settings)]
    found: list[set[str]] = [set() for _ in columns]
    for place, value in result.rows():
        if value is not None:
            found[place].add(str(value))
    for column, values in zip(columns, found, strict=True):
        _complete(column, values, result.truncated, settings)
    return []


def _complete(column: IndexedColumn, values: set[str], truncated: bool, settings: ValueIndexSettings) -> None:
    if truncated or len(values) > settings.most_values:
        column.reason = f"it has more than {settings.most_values:,} distinct values"
        return
    column.distinct = len(values)
    column.values = values
    column.status, column.reason = "held", ""


def _distinct(column: IndexedColumn, relation: str, most: int) -> str:
    """A column's distinct values, one more than the bound. A plain column is asked for as it is, so that its source
    can answer."""
    if column.kind == "column":
        return f"SELECT DISTINCT {column.expression} AS value FROM {relation} LIMIT {most}"
    expression = f"unnest({column.expression})" if column.is_list else column.expression
    return f"SELECT DISTINCT value FROM (SELECT {expression} AS value FROM {relation}) LIMIT {most}"


def _not_read(columns: Sequence[IndexedColumn], problem: str) -> list[str]:
    for column in columns:
        column.reason = "its values could not be read"
    return [problem]
