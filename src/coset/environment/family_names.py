"""How SQL names a family of tables that is read as one: the relation, and the column that says which table a row is of.

In: the pattern that the members' names follow, and the columns they have. Out: names. Who shows a family and who reads
one come to the same names by this, without asking each other. A table of a source that has such a name wins.
"""

from __future__ import annotations

from collections.abc import Iterable

SLOT = "{}"
ACROSS_SCHEMAS = f"{SLOT}/"
"""The pattern of one table in many schemas begins so."""


def relation_name(pattern: str) -> str:
    """`all_tables` for `{}`, `events_all_tables` for `events_{}`, `orders_all_schemas` for `{}/orders`."""
    if pattern.startswith(ACROSS_SCHEMAS):
        return f"{pattern.removeprefix(ACROSS_SCHEMAS)}_all_schemas"
    before, _, after = pattern.partition(SLOT)
    return "_".join(part for part in (before.rstrip("_-. "), "all_tables", after.lstrip("_-. ")) if part)


def naming_column(pattern: str, columns: Iterable[str]) -> str:
    """The column of the relation that holds the name of the table (or schema) that a row is of."""
    taken = {column.lower() for column in columns}
    wanted = "schema_name" if pattern.startswith(ACROSS_SCHEMAS) else "table_name"
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    return name
