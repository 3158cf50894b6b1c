"""Families of tables of one shape: how to name one member, several, or very many in SQL.

In: facts of a family, the table whose column names its members where there is one, and the members that the question
names. Out: names and one line of text whose SQL runs. No statement can take a table's name from a row, so what ranges
over many members is a UNION ALL; where a column holds their names, a query writes that text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coset.routing.data_as_text import literal, one_line, runnable
from coset.routing.facts import FamilyFacts, TableFacts
from coset.routing.sql_names import name, table_name

LISTED = 12
"""The members of a family of at most so many are listed."""
SHOWN = 10
AT_ONCE = 1_500
"""About so many members fit into one statement."""


@dataclass(frozen=True)
class NamingColumn:
    """A column whose values are the names of a family's members."""

    table: str
    """As SQL names it."""
    expression: str


def family_text(table: TableFacts, naming: NamingColumn | None, named: Sequence[str]) -> str:
    family = table.family
    if family is None:
        return ""
    text = f"{len(family.members):,} tables of one shape"
    if family.pattern != "{}":
        text += f", named {one_line(family.pattern, 80)}"
    if naming is not None:
        text += f", one for each value of {runnable(f'{naming.table}.{naming.expression}')}"
    if named:
        text += f"; the question leads to {', '.join(runnable(name(each)) for each in named[:SHOWN])}"
    elif len(family.members) <= LISTED:
        text += f": {', '.join(runnable(name(each)) for each in family.members)}"
    chosen = (*named, *(each for each in family.members if each not in named))
    text += f"; one: FROM {runnable(member_name(table, family, chosen[0]))}"
    if family.by_schema or len(family.members) < 2:
        return text
    label = naming.expression if naming is not None else "member"
    several = chosen[: max(2, min(len(named), 4))]
    text += f"; several: FROM ({runnable(union_of(table, family, several, label))})"
    if naming is not None and len(family.members) > LISTED:
        text += f"; up to {AT_ONCE:,}: run the text that {runnable(union_query(table, family, naming))} gives"
    return text


def union_of(table: TableFacts, family: FamilyFacts, members: Sequence[str], label: str) -> str:
    """One relation over some members, each row with the member that it is of."""
    return " UNION ALL BY NAME ".join(
        f"SELECT {literal(each, len(each))} AS {label}, * FROM {member_name(table, family, each)}" for each in members
    )


def union_query(table: TableFacts, family: FamilyFacts, naming: NamingColumn) -> str:
    """A query whose one value is the text of a relation over the members that its WHERE leaves."""
    # The name of a member stands for itself between quotes: what is before and after it is the same for all.
    before = table_name(table.source, table.schema, "x").removesuffix("x")
    part = f"SELECT '{{0}}' AS {naming.expression}, * FROM {before}\"{{0}}\""
    return (
        f"SELECT string_agg(format({literal(part, len(part))}, {naming.expression}), ' UNION ALL BY NAME ') "
        f"FROM {naming.table} WHERE ..."
    )


def member_name(table: TableFacts, family: FamilyFacts, member: str) -> str:
    """A member of a family as SQL names it."""
    if family.by_schema:
        # The state keeps the table's name for each member, not the schema that tells them apart.
        return f"{name(table.source)}.SCHEMA.{name(member)}"
    return table_name(table.source, table.schema, member)
