"""What shown keys refer to: the table behind a key, by the column that names its rows, and the join.

In: a `Making` with its tables taken. Out: `Reference`s, the most wanted first: a relation to a table that is not shown,
and the one or two columns that say in words which row is meant. Decides nothing about room.
"""

from __future__ import annotations

from dataclasses import dataclass

from coset.evidence.column_expressions import column_kind
from coset.routing.facts import ColumnFacts, RelationFacts
from coset.routing.join_plan import LEAST_CONFIDENCE, NOT_IN_SQL
from coset.routing.making import Making
from coset.routing.objects_of_state import StateObjects

NAMING = {"name": 1.0, "title": 0.9, "given_name": 0.8, "family_name": 0.8, "abbreviation": 0.4, "username": 0.3}
LEAST_NAMING, MOST_NAMING = 0.25, 2
LEAST_MATCH = 0.3
"""A key of which fewer rows find a partner refers to something else, mostly."""
MOST = 12


@dataclass(frozen=True)
class Reference:
    """A table that a taken one refers to."""

    relation: RelationFacts
    table: str
    worth: float
    columns: tuple[ColumnFacts, ...]


def references(making: Making) -> list[Reference]:
    """The tables that the taken ones refer to and that are not taken, each by its surest relation; those without a
    column that names a row would add nothing to the key."""
    draft, objects = making.draft, making.objects
    found: dict[str, tuple[float, RelationFacts]] = {}
    for table in draft.tables:
        for relation in objects.relations_of.get(table, ()):
            other = _referred(relation, table)
            if other is None or other in draft.tables:
                continue
            keys = relation.left_columns if relation.left_table == table else relation.right_columns
            taken = max((draft.columns[key].score for key in keys if key in draft.columns), default=0.0)
            worth = (0.5 * draft.tables[table] + taken) * relation.confidence
            if other not in found or (-worth, relation.reference) < (-found[other][0], found[other][1].reference):
                found[other] = (worth, relation)
    best = sorted(found, key=lambda other: (-found[other][0], other))[:MOST]
    objects.load(best)
    named = {other: naming_columns(objects, other) for other in best}
    return [Reference(found[other][1], other, found[other][0], named[other]) for other in best if named[other]]


def naming_columns(objects: StateObjects, table: str) -> tuple[ColumnFacts, ...]:
    """The columns that say in words which row of a table is meant, in the table's order."""
    rated = []
    for column in objects.columns(table):
        role = column.roles.get("attribute")
        if column.kind != "column" or role is None or column_kind(column.type) != "text":
            continue
        rating = NAMING.get(role.identity, 0.0) * role.membership
        if rating >= LEAST_NAMING:
            rated.append((-rating, column.order, column))
    return tuple(sorted((each[2] for each in sorted(rated)[:MOST_NAMING]), key=lambda column: column.order))


def _referred(relation: RelationFacts, table: str) -> str | None:
    """The other table, where each row of this one finds at most one row of it."""
    if relation.kind in NOT_IN_SQL or relation.confidence < LEAST_CONFIDENCE:
        return None
    if relation.left_table == table and relation.cardinality in ("n:1", "1:1"):
        return relation.right_table if relation.left_match >= LEAST_MATCH else None
    if relation.right_table == table and relation.cardinality in ("1:n", "1:1"):
        return relation.left_table if relation.right_match >= LEAST_MATCH else None
    return None
