"""The joins that connect chosen tables: a small tree over the relations that were found, across sources.

In: tables, and the relations of the environment. Out: a `JoinPlan`: relations in the order in which they are joined,
the tables that only connect, and the parts when not everything can be connected. A Steiner tree by the classical
approximation: shortest ways between the chosen tables, then the smallest tree over those ways. A join costs the more
the less sure it is and the fewer rows match. Ties are broken by name, so equal input gives an equal plan. Reads no
rows.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from coset.routing.objects.facts import RelationFacts

LEAST_CONFIDENCE = 0.3
STEP = 0.35
"""What any join costs, however good: a direct way wins over a detour that is only a little surer."""
MOST_STEPS = 4
MOST_CONNECTING = 4
"""So many tables that nobody asked for may enter a plan."""
NOT_IN_SQL = frozenset({"table_name"})
"""Kinds of relation that no ON can state: the name of a table is no value of a row."""


@dataclass(frozen=True)
class JoinPlan:
    """`parts` are the connected groups of chosen tables (with what connects them), the largest first."""

    joins: tuple[RelationFacts, ...]
    connecting: tuple[str, ...]
    parts: tuple[tuple[str, ...], ...]

    @property
    def is_connected(self) -> bool:
        return len(self.parts) <= 1


@dataclass(frozen=True)
class _Way:
    weight: float
    tables: tuple[str, ...]
    joins: tuple[RelationFacts, ...]


def weight(relation: RelationFacts) -> float:
    """What it costs to go over a relation, either way. A key that few rows of one side use is usual, so the better of
    the two match rates counts most; of two ways that are alike otherwise, the one over a table that has few of the rows
    loses (a chat of which one in twelve cases has one, between cases and their accounts)."""
    rates = relation.left_match, relation.right_match
    many = 0.25 if relation.cardinality == "n:m" else 0.0
    return STEP + (1.0 - relation.confidence) + 0.5 * (1.0 - max(rates)) + 0.1 * (1.0 - min(rates)) + many


def join_plan(
    tables: Sequence[str],
    relations_of: Mapping[str, Sequence[RelationFacts]],
    most_connecting: int = MOST_CONNECTING,
) -> JoinPlan:
    """The plan that connects `tables`, the most wanted first."""
    wanted = list(dict.fromkeys(tables))
    ways = _ways_between(wanted, relations_of)
    joins: list[RelationFacts] = []
    connecting: set[str] = set()
    group = {table: {table} for table in wanted}
    for way in ways:
        first, last = way.tables[0], way.tables[-1]
        if group[first] is group[last]:
            continue
        inner = [table for table in way.tables[1:-1] if table not in wanted]
        if len(connecting | set(inner)) > most_connecting:
            continue
        # A way may cross groups that are connected already: only joins that connect something new are taken.
        for left, right, relation in zip(way.tables, way.tables[1:], way.joins, strict=False):
            one, other = group.setdefault(left, {left}), group.setdefault(right, {right})
            if one is other:
                continue
            joins.append(relation)
            one |= other
            for table in other:
                group[table] = one
        connecting |= set(inner)
    groups = {id(members): members for members in group.values()}
    parts = sorted(
        (tuple(sorted(members)) for members in groups.values()), key=lambda members: (-len(members), members)
    )
    used = {table for relation in joins for table in (relation.left_table, relation.right_table)}
    connecting &= used
    parts = [part for part in parts if any(table in wanted or table in connecting for table in part)]
    return JoinPlan(in_order(joins, wanted), tuple(sorted(connecting)), tuple(parts))


def best_link(
    table: str, others: Collection[str], relations_of: Mapping[str, Sequence[RelationFacts]]
) -> RelationFacts | None:
    """The cheapest single join between a table and some others; None where none is known."""
    found = [
        relation
        for relation in relations_of.get(table, ())
        if relation.confidence >= LEAST_CONFIDENCE
        and relation.kind not in NOT_IN_SQL
        and (relation.right_table if relation.left_table == table else relation.left_table) in others
    ]
    return min(found, key=lambda each: (round(weight(each), 9), each.reference), default=None)


def not_implied(relations: Iterable[RelationFacts], planned: Iterable[RelationFacts]) -> list[RelationFacts]:
    """The relations but for those that say of two columns what the planned ones and those before them say already: that
    all of several columns hold the same key."""
    group: dict[tuple[str, ...], set[tuple[str, ...]]] = {}

    def unite(relation: RelationFacts) -> bool:
        """Whether this says something new."""
        one = group.setdefault(relation.left_columns, {relation.left_columns})
        other = group.setdefault(relation.right_columns, {relation.right_columns})
        if one is other:
            return relation.left_table == relation.right_table
        one |= other
        group.update(dict.fromkeys(other, one))
        return True

    known = set()
    for relation in planned:
        unite(relation)
        known.add(relation.reference)
    return [relation for relation in relations if relation.reference not in known and unite(relation)]


def connected_parts(tables: Iterable[str], joins: Iterable[RelationFacts]) -> list[tuple[str, ...]]:
    """The groups of tables that the joins connect, in the order of their first tables."""
    group = {table: {table} for table in tables}
    for relation in joins:
        one, other = group[relation.left_table], group[relation.right_table]
        if one is not other:
            one |= other
            group |= dict.fromkeys(other, one)
    found = {id(members): members for members in group.values()}
    return sorted(tuple(sorted(members)) for members in found.values())


def _ways_between(wanted: Sequence[str], relations_of: Mapping[str, Sequence[RelationFacts]]) -> list[_Way]:
    """The shortest way between every two of the wanted tables, the shortest ways first."""
    place = {table: number for number, table in enumerate(wanted)}
    ways: list[_Way] = []
    for table in wanted:
        for other, way in _shortest(table, relations_of, set(wanted)).items():
            if other in place and place[other] > place[table]:
                ways.append(way)
    return sorted(ways, key=lambda way: (round(way.weight, 9), way.tables, [each.reference for each in way.joins]))


def _shortest(start: str, relations_of: Mapping[str, Sequence[RelationFacts]], wanted: set[str]) -> dict[str, _Way]:
    """Dijkstra's ways from a table, at most `MOST_STEPS` long; over other wanted tables they need not go on."""
    settled: dict[str, _Way] = {}
    waiting: list[tuple[float, int, tuple[str, ...], tuple[str, ...], tuple[RelationFacts, ...]]] = [
        (0.0, 0, (start,), (), ())
    ]
    while waiting:
        so_far, steps, tables, names, joins = heapq.heappop(waiting)
        here = tables[-1]
        if here in settled:
            continue
        settled[here] = _Way(so_far, tables, joins)
        if steps == MOST_STEPS or (here in wanted and here != start):
            continue
        for relation in relations_of.get(here, ()):
            there = relation.right_table if relation.left_table == here else relation.left_table
            if there in settled or relation.confidence < LEAST_CONFIDENCE or relation.kind in NOT_IN_SQL:
                continue
            # The names stand before the relations, so that equal weights never compare relations.
            further = (round(so_far + weight(relation), 9), steps + 1, (*tables, there))
            heapq.heappush(waiting, (*further, (*names, relation.reference), (*joins, relation)))
    return settled


def in_order(joins: Sequence[RelationFacts], wanted: Sequence[str]) -> tuple[RelationFacts, ...]:
    """Each join after one that it shares a table with, beginning at the most wanted table: FROM, JOIN, JOIN."""
    ordered: list[RelationFacts] = []
    left = sorted(joins, key=lambda each: each.reference)
    for start in wanted:
        reached = {start}
        while True:
            nearest = [each for each in left if {each.left_table, each.right_table} & reached]
            if not nearest:
                break
            best = min(nearest, key=lambda each: (round(weight(each), 9), each.reference))
            left.remove(best)
            ordered.append(best)
            reached |= {best.left_table, best.right_table}
    return tuple(ordered)
