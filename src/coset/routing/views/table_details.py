"""What is told of a table itself: what was written of it, its family, its duplicates.

In: facts of the state. Out: texts as a view holds them. Knows no budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coset.routing.objects.data_as_text import literal, one_line, runnable
from coset.routing.objects.facts import TableFacts
from coset.routing.objects.objects_of_state import StateObjects
from coset.routing.objects.sql_names import name, table_name
from coset.routing.views.details import joined_columns

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


def description_text(objects: StateObjects, facts: TableFacts) -> str:
    """What people said of a table, told apart from what was found."""
    said = " ".join(objects.notes.get(facts.reference, ()))
    stated = [
        document.text
        for document in objects.source_documents
        if document.about == facts.reference and document.provenance == "stated"
    ]
    parts = [f"said by a person: {literal(one_line(said, 300), 300)}"] if said else []
    other = " ".join(stated) or facts.comment
    parts += [literal(one_line(other, 300), 300)] if other else []
    return "; ".join(parts)


def family_line(objects: StateObjects, facts: TableFacts, named: Sequence[str]) -> str:
    """How to write a member of a family, and many; `named` are members that the question leads to."""
    return family_text(facts, naming_column(objects, facts.reference), named) if facts.family is not None else ""


def naming_column(objects: StateObjects, family: str) -> NamingColumn | None:
    """The column whose values are the names of a family's members."""
    for relation in objects.relations_of.get(family, ()):
        for table, columns in joined_columns(relation).items() if relation.kind == "table_name" else ():
            known = {each.reference: each for each in objects.columns(table)} if table != family else {}
            if columns and columns[0] in known:
                return NamingColumn(objects.tables[table].sql_name, known[columns[0]].expression)
    return None


def duplicates_text(facts: TableFacts, *, full: bool) -> str:
    if not facts.duplicates:
        return ""
    text = one_line(facts.duplicates.rstrip("."), 160)
    return f"{text}, same entity by: {runnable(facts.duplicates_key)}" if full and facts.duplicates_key else text
