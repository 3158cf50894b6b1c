"""Tables of a system's own dictionary that say which domain of a generic list decodes which column.

In: the tables of the state, and the domains of lists. Out: by domain, the columns (table and name in small letters)
that a row names beside it: `('107', 'READER', 'LANG')`. A table is such a dictionary when a column of it holds names
of columns, another one names of tables, and a third one domains.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from coset.evidence.reading import JoinableTable
from coset.relations.joins.column_values import access
from coset.state.tables import ColumnRow

if TYPE_CHECKING:
    import duckdb

LEAST_NAMED, MOST_ROWS, MOST_COLUMNS = 0.6, 50_000, 40

Uses = Mapping[str, Collection[tuple[str, str]]]


def columns_of_domains(
    connection: duckdb.DuckDBPyConnection,
    tables: Sequence[JoinableTable],
    columns: Sequence[ColumnRow],
    domains: Collection[str],
    opened: Callable[[JoinableTable], JoinableTable],
) -> Uses:
    """`domains`: as they are written, in small letters."""
    names = {column.name.lower() for column in columns}
    table_names = {(table.reference.table or "").lower() for table in tables}
    by_table: dict[str, list[ColumnRow]] = defaultdict(list)
    for column in columns:
        by_table[column.table_reference].append(column)
    found: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for table in tables:
        own = by_table.get(str(table.reference), [])
        if table.members or not 3 <= table.rows <= MOST_ROWS or len(own) > MOST_COLUMNS:
            continue
        fields = [each.name for each in own if _are_among(each.examples, names)]
        of_tables = [each.name for each in own if _are_among(each.examples, table_names)]
        keys = [each.name for each in own if _are_among(each.examples, domains) and each.name not in fields]
        if fields and of_tables and keys:
            for row in _rows(connection, opened(table), (fields[0], of_tables[0], keys[0])):
                if row[2] in domains:
                    found[row[2]].add((row[1], row[0]))
    return found


def _are_among(examples: Sequence[str] | None, known: Collection[str]) -> bool:
    held = [each.strip().lower() for each in examples or () if each.strip()]
    return len(held) >= 2 and sum(each in known for each in held) >= LEAST_NAMED * len(held)


def _rows(
    connection: duckdb.DuckDBPyConnection, table: JoinableTable, names: Sequence[str]
) -> Iterator[tuple[str, ...]]:
    read = ", ".join(f"lower(trim(CAST({access(name)} AS VARCHAR)))" for name in names)
    rows = connection.execute(f"SELECT DISTINCT {read} FROM {table.relation} ORDER BY ALL").fetchall()
    return (row for row in rows if None not in row)
