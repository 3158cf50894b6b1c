"""Families of tables of one shape: how SQL reads them as one, and one of them alone.

In: facts of a family, the table whose column names its members where there is one, and the members that the question
names. Out: one line of text whose SQL runs. The session knows a family as one relation by the same rule of names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coset.routing.data_as_text import literal, one_line, runnable
from coset.routing.facts import TableFacts
from coset.routing.sql_names import name, table_name

LISTED = 12
"""The members of a family of at most so many are listed."""
SHOWN = 10


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
    if table.schema_only:  # Its rows are gathered nowhere: of one table its own engine can still count them.
        alone = "" if family.by_schema else f", of one alone: {runnable(member_name(table, family.members[0]))}"
        return f"{len(family.members):,} tables of one shape; only counts may be read{alone}"
    told = name(family.naming)
    text = f"{len(family.members):,} tables of one shape, read as one"
    if family.pattern != "{}":
        text += f", named {one_line(family.pattern, 80)}"
    text += f"; column {told} says which"
    if naming is not None:
        text += f": join it with {runnable(f'{naming.table}.{naming.expression}')}"
    if named:
        text += f"; the question leads to {told} = {' or '.join(literal(each, 80) for each in named[:SHOWN])}"
    elif len(family.members) <= LISTED and not family.by_schema:
        text += f": {', '.join(literal(each, 80) for each in family.members)}"
    chosen = (*named, *family.members)
    return text if family.by_schema else f"{text}; one alone: {runnable(member_name(table, chosen[0]))}"


def member_name(table: TableFacts, member: str) -> str:
    """A member of a family as SQL names it."""
    return table_name(table.source, table.schema, member)
