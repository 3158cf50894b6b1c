"""Which columns truly join, from the references of the clean database and what the splits added.

In: a finished draft. Out: pairs of column tuples with their status. References are followed through: two children of
one parent join as well (implied). Nothing is counted here.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from .draft import Draft, DraftColumn, JoinStatus
from .write_keys import domains

Columns = tuple[DraftColumn, ...]


@dataclass(frozen=True)
class DraftJoin:
    left: Columns
    right: Columns
    status: JoinStatus


def true_joins(draft: Draft) -> list[DraftJoin]:
    order = {column: number for number, column in enumerate(draft.columns)}
    direct: dict[tuple[Columns, Columns], JoinStatus] = {}
    group_of: dict[Columns, list[Columns]] = {}
    for reference in draft.references:
        direct[reference.child, reference.parent] = reference.status
        near = group_of.setdefault(reference.child, [reference.child])
        far = group_of.setdefault(reference.parent, [reference.parent])
        if near is not far:
            near.extend(far)
            for node in far:
                group_of[node] = near
    groups = {id(group): group for group in group_of.values()}
    joins: dict[tuple[Columns, Columns], DraftJoin] = {}
    for group in groups.values():
        group.sort(key=lambda columns: [order[column] for column in columns])
        for first, second in combinations(group, 2):
            ways = ((first, second), (second, first))
            one, other = next((way for way in ways if way in direct), _towards_key(first, second))
            joins[one, other] = DraftJoin(one, other, direct.get((one, other), "implied"))
    for columns in domains(draft):
        for first_column, second_column in combinations(columns, 2):
            first, second = (first_column,), (second_column,)
            if (first, second) in joins or (second, first) in joins:
                continue
            one, other = _towards_key(first, second)
            joins[one, other] = DraftJoin(one, other, "implied" if _is_whole_key(other) else "component")
    return sorted(joins.values(), key=lambda join: [order[column] for column in (*join.left, *join.right)])


def _towards_key(one: Columns, other: Columns) -> tuple[Columns, Columns]:
    return (other, one) if _is_whole_key(one) and not _is_whole_key(other) else (one, other)


def _is_whole_key(columns: Columns) -> bool:
    return columns == columns[0].table.primary_key
