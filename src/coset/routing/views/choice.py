"""Selection: which objects a question needs, for which reason and in which order, before any budget.

In: demand, anchors, scores, and the facts of the environment. Out: a `Selection`: columns with the reasons why, the
strongest first, each demanded identity with the object that covers it, the competitor of each, and the order in which
tables are told of. Copies of other tables are not selected, unless the question names them. Every tie is broken by
reference. Knows nothing of cost or text.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from coset.errors import CosetError
from coset.identities.inventory import COORDINATES, Coordinate, Inventory
from coset.routing.objects.facts import ColumnFacts, RoleFacts
from coset.routing.objects.objects_of_state import StateObjects
from coset.routing.request import Anchor, Demand, Ranked
from coset.routing.views.view import Why

HALVING = 10
DATES = frozenset({"date_as_text", "mixed_date_formats"})


@dataclass(frozen=True)
class ChoiceSettings:
    """Where relevance begins and ends. Scores are calibrated, so these are probabilities."""

    matched: float = 0.4
    matched_table: float = 0.9
    nearness: float = 0.63
    """Below this nearness, and without a sure anchor, nothing of the question was found. The ranker learned from
    questions that all had an answer, so its scores say which object rather than whether any; they decide, by the two
    cuts above, only where nearness is not known. How often this errs: docs/routing_view.md."""
    relevant: float = 0.03
    """A weaker column is not chosen for its score alone."""
    strong: float = 0.3
    """A column at least as strong is chosen before anything else is refined."""
    demanded: float = 0.08
    """Identities with at least this activation are covered."""
    plays: float = 0.25
    """The least membership with which an object covers an identity."""
    near: float = 0.5
    """A competitor has at least this share of the chosen one's score."""
    value: float = 0.6
    name: float = 0.9
    """A column that holds a value of the question, or has a name of it, at least this surely is chosen whatever the
    ranking thought of it."""
    covers: float = 0.3
    """A facet that fewer rows have covers no demand, and is not chosen for its name."""
    likely: float = 0.5
    """The relevance of the first table of the order, for which nothing else speaks; it halves after some places."""
    anchors: int = 12
    tables: int = 60
    """Of so many tables, the strongest, facts are looked at."""


@dataclass(frozen=True)
class Pick:
    """A column that is wanted, and why."""

    column: ColumnFacts
    score: float
    why: tuple[Why, ...]


@dataclass(frozen=True)
class Selection:
    """`picks` by falling need; `competitors` beside them; `rest` are relevant columns without a reason of their own."""

    matched: bool
    picks: tuple[Pick, ...] = ()
    competitors: tuple[Pick, ...] = ()
    rest: tuple[Pick, ...] = ()
    tables: dict[str, float] = field(default_factory=dict)
    """The relevance of every table that is looked at."""
    order: tuple[str, ...] = ()
    """Tables, the likeliest first: those that are named, then as ranked."""
    demanded: tuple[tuple[Coordinate, str, float], ...] = ()
    passages: tuple[str, ...] = ()
    """Sections of documents that the question found, the best first."""
    unfound: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    covered: dict[tuple[Coordinate, str], str] = field(default_factory=dict)
    """What covers each demanded identity that something covers."""


def choose(
    demand: Demand,
    anchors: Sequence[Anchor],
    scores: Ranked,
    objects: StateObjects,
    inventory: Inventory,
    settings: ChoiceSettings,
) -> Selection:
    """The wanted objects of one question."""
    _check(scores)
    demanded = demanded_identities(demand, inventory, settings.demanded)
    named = _named_tables(anchors, objects, settings)
    sure = [
        anchor for anchor in anchors if _is_sure(anchor, settings) and not _is_copy(anchor.reference, objects, named)
    ]
    # That some text mentions a name proves nothing: texts mention everything.
    proven = any(anchor.kind == "name" or anchor.value is not None for anchor in sure)
    if not proven and not _is_near(scores, settings):
        return Selection(False, demanded=demanded, unfound=scores.unfound)
    tables, order = _tables_in_order(sure, named, scores, objects, settings)
    columns = {column.reference: column for table in tables for column in _own_facts(objects.columns(table))}
    wanted = _WantedColumns(columns, {reference: scores.columns.get(reference, 0.0) for reference in columns}, settings)
    wanted.want_named(sure[: settings.anchors])
    covered = _cover(demanded, columns, wanted.strength, inventory, settings)
    wanted.want_demanded(tuple(covered.values()), demanded)
    wanted.want_of_tables(tables, scores, objects)
    picks = wanted.picks()
    competitors = _competitors(picks, columns, wanted.strength, settings)
    return Selection(
        matched=True,
        picks=picks,
        competitors=competitors,
        rest=wanted.rest({each.column.reference for each in competitors}),
        tables=tables,
        order=order,
        demanded=demanded,
        covered=covered,
        passages=tuple(dict.fromkeys(scores.passages)),
        unfound=scores.unfound,
        unread=scores.unread,
    )


def _tables_in_order(
    sure: Sequence[Anchor], named: Sequence[str], scores: Ranked, objects: StateObjects, settings: ChoiceSettings
) -> tuple[dict[str, float], tuple[str, ...]]:
    """The tables that are wanted, with their scores, and those that are shown first; both are loaded."""
    tables = {
        table: score
        for table, score in _tables(sure, scores, objects, settings).items()
        if not _is_copy(table, objects, named)
    }
    order = tuple(
        table
        for table in dict.fromkeys((*named, *scores.order, *sorted(tables, key=lambda each: (-tables[each], each))))
        if table in objects.tables and not _is_copy(table, objects, named)
    )[: settings.tables]
    objects.load((*tables, *order))
    for place, table in enumerate(order):
        tables[table] = max(tables.get(table, 0.0), settings.likely * HALVING / (HALVING + place))
    return tables, order


@dataclass
class _WantedColumns:
    """Which columns are wanted for which reasons, and how strongly."""

    columns: dict[str, ColumnFacts]
    strength: dict[str, float]
    settings: ChoiceSettings
    reasons: dict[str, list[Why]] = field(default_factory=dict)

    def want(self, reference: str, why: Why) -> None:
        if why not in self.reasons.setdefault(reference, []):
            self.reasons[reference].append(why)

    def want_named(self, anchors: Sequence[Anchor]) -> None:
        """Columns that have a name or hold a value of the question."""
        for anchor in anchors:
            column, is_name = self.columns.get(anchor.reference), anchor.kind == "name"
            if column is not None and not (is_name and _is_thin(column, self.settings)):
                self.want(anchor.reference, "named" if is_name else "holds a value")
                least = self.settings.strong * anchor.score
                self.strength[anchor.reference] = max(self.strength[anchor.reference], least)

    def want_demanded(self, covering: Sequence[str], demanded: Sequence[tuple[Coordinate, str, float]]) -> None:
        """Columns that cover what is demanded, and those with a strong score."""
        for reference in covering:
            self.want(reference, "demanded")
        for reference, column in self.columns.items():
            if self.strength[reference] >= self.settings.strong and column.kind != "facet":
                self.want(reference, "demanded" if _is_demanded(column, demanded) else "context")

    def want_of_tables(self, tables: Mapping[str, float], scores: Ranked, objects: StateObjects) -> None:
        """A table that is wanted for itself shows at least the column that has most to do with the question."""
        with_picks = {self.columns[reference].table for reference in self.reasons}
        for table, score in tables.items():
            if (
                scores.tables.get(table, 0.0) >= self.settings.strong
                and table not in with_picks
                and objects.columns(table)
            ):
                best = min(objects.columns(table), key=lambda each: (-self.strength[each.reference], each.order))
                self.want(best.reference, "context")
                self.strength[best.reference] = max(self.strength[best.reference], self.settings.relevant * score)

    def picks(self) -> tuple[Pick, ...]:
        return tuple(
            Pick(self.columns[each], self.strength[each], tuple(self.reasons[each]))
            for each in self._by_strength(list(self.reasons))
        )

    def rest(self, competitors: Collection[str]) -> tuple[Pick, ...]:
        """What is relevant, but neither wanted nor a competitor of what is."""
        found = [
            each
            for each in self.columns
            if each not in self.reasons and each not in competitors and self.strength[each] >= self.settings.relevant
        ]
        return tuple(Pick(self.columns[each], self.strength[each], ("context",)) for each in self._by_strength(found))

    def _by_strength(self, references: Sequence[str]) -> list[str]:
        return sorted(references, key=lambda each: (-self.strength[each], each))


def _named_tables(anchors: Sequence[Anchor], objects: StateObjects, settings: ChoiceSettings) -> tuple[str, ...]:
    """Tables whose own name the question has as it is written."""
    found = [
        anchor.reference
        for anchor in anchors
        if anchor.kind == "name" and anchor.match == "exact" and anchor.score >= settings.name
    ]
    return tuple(dict.fromkeys(each for each in found if each in objects.tables))


def _is_copy(reference: str, objects: StateObjects, named: Sequence[str]) -> bool:
    """Whether it lies in a copy or leftover that the question does not name."""
    table = objects.table_of(reference)
    return table is not None and table not in named and objects.knowledge.original(table) != table


def _is_near(scores: Ranked, settings: ChoiceSettings) -> bool:
    """Whether the question has to do with anything here, as far as that can be told without an anchor."""
    if scores.nearness is not None:
        return scores.nearness >= settings.nearness
    best_column = max(scores.columns.values(), default=0.0)
    best_table = max(scores.tables.values(), default=0.0)
    return best_column >= settings.matched or best_table >= settings.matched_table


def _check(scores: Ranked) -> None:
    """A score that is no number has no place in any order: the view would depend on chance."""
    for reference, score in (*scores.tables.items(), *scores.columns.items()):
        if not math.isfinite(score):
            raise CosetError(f"the ranking gave '{reference}' no score: reinstall coset, or make the weights again")


def _is_sure(anchor: Anchor, settings: ChoiceSettings) -> bool:
    if anchor.kind == "document":
        return False
    return anchor.score >= (settings.name if anchor.kind == "name" else settings.value)


def demanded_identities(
    demand: Demand, inventory: Inventory, least: float
) -> tuple[tuple[Coordinate, str, float], ...]:
    """The identities that the question asks for, the strongest first."""
    found = [
        (coordinate, identity, float(activation))
        for coordinate in COORDINATES
        if coordinate in demand.identities
        for identity, activation in zip(inventory.ids(coordinate), demand.identities[coordinate], strict=True)
        if activation >= least
    ]
    return tuple(sorted(found, key=lambda each: (-each[2], each[0], each[1])))


def _tables(
    sure: Sequence[Anchor], scores: Ranked, objects: StateObjects, settings: ChoiceSettings
) -> dict[str, float]:
    """Each table's relevance: its own, or that of its best column or anchor."""
    found: dict[str, float] = {}
    for reference, score in scores.tables.items():
        if reference in objects.tables:
            found[reference] = max(found.get(reference, 0.0), score)
    for reference, score in scores.columns.items():
        table = objects.table_of(reference)
        if table is not None:
            found[table] = max(found.get(table, 0.0), score)
    for anchor in sure[: settings.anchors]:
        table = objects.table_of(anchor.reference)
        if table is not None:
            found[table] = max(found.get(table, 0.0), settings.strong * anchor.score)
    best = sorted(found, key=lambda table: (-found[table], table))[: settings.tables]
    return {table: found[table] for table in best}


def _cover(
    demanded: Sequence[tuple[Coordinate, str, float]],
    columns: Mapping[str, ColumnFacts],
    strength: Mapping[str, float],
    inventory: Inventory,
    settings: ChoiceSettings,
) -> dict[tuple[Coordinate, str], str]:
    """For each demanded identity the column that plays it best for this question, if a relevant one plays it."""
    relevant = [
        each
        for each in columns.values()
        if strength[each.reference] >= settings.relevant and not _is_thin(each, settings)
    ]
    found: dict[tuple[Coordinate, str], str] = {}
    for coordinate, identity, _ in demanded:
        position = inventory.position(coordinate, identity)
        best: tuple[float, str] | None = None
        for column in relevant:
            membership = _membership(column.roles.get(coordinate), position)
            if membership < settings.plays:
                continue
            # What a facet reads stands in some rows only: a column that has it in all is worth more.
            has_it = column.coverage if column.kind == "facet" and column.coverage is not None else 1.0
            entry = (-strength[column.reference] * membership * has_it, column.reference)
            best = entry if best is None or entry < best else best
        if best is not None:
            found[coordinate, identity] = best[1]
    return found


def _own_facts(columns: Sequence[ColumnFacts]) -> list[ColumnFacts]:
    """Columns, paths and facets, but for facets that read dates out of a column which is nothing but dates: the
    expression that cleans it is shorter and reads them all."""
    dated = {each.reference for each in columns if any(dirt.kind in DATES for dirt in each.cleaning)}
    return [each for each in columns if each.kind != "facet" or each.reference.rpartition("#")[0] not in dated]


def _is_thin(column: ColumnFacts, settings: ChoiceSettings) -> bool:
    return column.kind == "facet" and column.coverage is not None and column.coverage < settings.covers


def _membership(role: RoleFacts | None, position: int) -> float:
    return role.profile[position] if role is not None and position < len(role.profile) else 0.0


def _is_demanded(column: ColumnFacts, demanded: Sequence[tuple[Coordinate, str, float]]) -> bool:
    wanted = {(coordinate, identity) for coordinate, identity, _ in demanded}
    return any((coordinate, role.identity) in wanted for coordinate, role in column.roles.items())


def _competitors(
    picks: Sequence[Pick],
    columns: Mapping[str, ColumnFacts],
    strength: Mapping[str, float],
    settings: ChoiceSettings,
) -> tuple[Pick, ...]:
    """For each pick the strongest column that plays the same role elsewhere and is nearly as relevant."""
    by_role: dict[tuple[str, str], list[str]] = {}
    for reference, column in columns.items():
        if strength[reference] >= settings.relevant and not _is_thin(column, settings) and (role := _joint(column)):
            by_role.setdefault(role, []).append(reference)
    taken = {pick.column.reference for pick in picks}
    found: dict[str, Pick] = {}
    for pick in picks:
        role = _joint(pick.column)
        if role is None:
            continue
        rivals = [
            reference
            for reference in by_role.get(role, ())
            if reference not in taken and strength[reference] >= settings.near * pick.score
        ]
        if rivals:
            best = min(rivals, key=lambda reference: (-strength[reference], reference))
            found.setdefault(best, Pick(columns[best], strength[best], ("competitor",)))
    return tuple(sorted(found.values(), key=lambda each: (-each.score, each.column.reference)))


def _joint(column: ColumnFacts) -> tuple[str, str] | None:
    entity, attribute = column.roles.get("entity"), column.roles.get("attribute")
    return (entity.identity, attribute.identity) if entity and attribute else None
