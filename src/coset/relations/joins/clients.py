"""Tables that several clients share: what is a key within one client repeats in another.

Systems for many companies put the client (tenant, company) first in every table: `MANDT, KUNNR`. The number of a
customer is unique for each client and not in the table. Where nearly all rows are those of one client, the others are
mostly for trials: values are compared as that client has them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from coset.evidence.column_expressions import column_kind
from coset.evidence.reading import JoinableTable
from coset.sql_text import identifier, literal

if TYPE_CHECKING:
    import duckdb

MOST_CLIENTS, MAIN_SHARE, LEAST_ROWS = 5, 0.8, 20
FIRST_COLUMNS = 4
"""The key of a table stands among so many columns after the client."""
MOST_ROWS, LOOKED_AT = 2_000_000, 1_000
NEARLY_UNIQUE = 0.8


def within_main_client(connection: duckdb.DuckDBPyConnection, table: JoinableTable) -> JoinableTable:
    """The table as its main client has it, where some column is a key of that and not of all rows."""
    if not LEAST_ROWS <= table.rows <= MOST_ROWS or len(table.columns) < 2 or table.members:
        return table
    client, *others = table.columns
    after = [each for each in others if column_kind(each.type) in ("text", "integer")][:FIRST_COLUMNS]
    if column_kind(client.type) not in ("text", "integer") or not after:
        return table
    name = identifier(client.name)
    first = f"SELECT {name} AS client FROM {table.relation} LIMIT {LOOKED_AT}"
    [(several,)] = connection.execute(f"SELECT count(DISTINCT client) FROM ({first})").fetchall()
    if several > MOST_CLIENTS:  # Most tables begin with their own key: no need to count all of it.
        return table
    held = f"SELECT {name} AS client, count(*) AS n FROM {table.relation} GROUP BY ALL ORDER BY n DESC"
    found = connection.execute(f"{held} LIMIT {MOST_CLIENTS + 1}").fetchall()
    if not 2 <= len(found) <= MOST_CLIENTS or found[0][0] is None or found[0][1] < MAIN_SHARE * table.rows:
        return table
    test = f"{name} = {literal(str(found[0][0]))}"
    counts = ", ".join(
        f"count(DISTINCT {column}) FILTER ({test}) = {found[0][1]} AND count(DISTINCT {column}) < count({column}) "
        f"AND count(DISTINCT {column}) >= {NEARLY_UNIQUE} * count(*)"
        for column in (identifier(each.name) for each in after)
    )
    [keys] = connection.execute(f"SELECT {counts} FROM {table.relation}").fetchall()
    if not any(keys):
        return table
    return replace(table, relation=f"(SELECT * FROM {table.relation} WHERE {test})", rows=found[0][1])
