"""What the reasoner may speak of: tables, columns and sources by the words that name them, and the ways to join them.

In: the router's facts and a view. Out: `Known`. A small environment is known whole; of a large one, the view's tables
and those that join them. Knows no question beyond the view that it was routed to.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import lru_cache

from coset.answering.offline.naming import Named, NameIndex, add_column, key, name_words
from coset.evidence.column_expressions import column_kind
from coset.identities.inventory import Inventory
from coset.identities.lexicon import Lexicon
from coset.routing.anchors.text_forms import in_full, plain_words
from coset.routing.facts import ColumnFacts, RelationFacts, TableFacts
from coset.routing.join_plan import NOT_IN_SQL, weight
from coset.routing.objects_of_state import StateObjects
from coset.routing.view import EvidenceView

WHOLE = 60
"""An environment of so many tables is known whole."""
LEAST_CONFIDENCE = 0.5
MOST_STEPS = 3
ENTITY = 0.6
"""From this membership on, a table may be called by the name of its entity."""
NAMED_WAY = 0.4
"""How much shorter a step to a table is that the question names."""
CLOSE = 0.12
"""Two ways whose costs differ by less are equally good: then neither is taken."""


@dataclass(frozen=True)
class Step:
    """One join of a way, seen from the side one comes from."""

    relation: RelationFacts
    here: str
    there: str

    @property
    def to_one(self) -> bool:
        """Whether a row here has at most one partner there."""
        kind = self.relation.cardinality
        return kind in ("1:1", "n:1" if self.relation.left_table == self.here else "1:n")

    @property
    def one_to_one(self) -> bool:
        return self.relation.cardinality == "1:1"

    def expression(self, table: str) -> str:
        return self.relation.left_expression if self.relation.left_table == table else self.relation.right_expression


@dataclass(frozen=True)
class Way:
    """Joins from one table to another, and what they cost."""

    steps: tuple[Step, ...]
    cost: float

    @property
    def to_one(self) -> bool:
        return all(step.to_one for step in self.steps)


class Known:
    """The tables and columns that may be used, looked up by words."""

    def __init__(self, objects: StateObjects, view: EvidenceView, inventory: Inventory) -> None:
        shown = {table.reference for table in view.tables}
        if len(objects.tables) > WHOLE:
            near = {
                end
                for table in shown
                for relation in objects.relations_of.get(table, ())
                for end in (relation.left_table, relation.right_table)
            }
            allowed = shown | near
        else:
            allowed = set(objects.tables)
        self.tables: dict[str, TableFacts] = {
            reference: table
            for reference, table in objects.tables.items()
            if reference in allowed and not (table.schema_only or table.problem or table.family)
        }
        objects.load(self.tables)
        self.columns: dict[str, ColumnFacts] = {}
        self.facet_words: set[str] = set()
        """Words by which facts inside texts are known: they may stand before a code that is looked for in a text."""
        self.scores = {column.reference: column.score for table in view.tables for column in table.columns}
        lexicon = _lexicon(inventory)
        self.names = {
            "table": NameIndex("entity", lexicon),
            "column": NameIndex("attribute", lexicon),
            "source": NameIndex("entity", lexicon),
        }
        self._ways: dict[str, dict[str, Way]] = {}
        self._favoured: frozenset[str] = frozenset()
        for reference, table in self.tables.items():
            self._add_table(reference, table, objects)
        self._relations = {
            reference: [
                relation
                for relation in _strongest(objects.relations_of.get(reference, ()))
                if relation.left_table in self.tables and relation.right_table in self.tables
            ]
            for reference in self.tables
        }

    def _add_table(self, reference: str, table: TableFacts, objects: StateObjects) -> None:
        own = in_full(plain_words(table.name))
        tables, columns = self.names["table"], self.names["column"]
        self.names["source"].add(in_full(plain_words(table.source)), table.source, 1.0)
        tables.add(own, reference, 1.0)
        tables.add_parts(own, (), reference)
        for column in objects.columns(reference):
            if column.kind == "facet":
                self.facet_words.update(key((word,)) for word in plain_words(column.name.rpartition("#")[2]))
                continue
            self.columns[column.reference] = column
            add_column(columns, column.name, own, column.reference)
            role = column.roles.get("attribute")
            if role is not None and role.membership >= ENTITY:
                columns.add_role(columns.lexicon.inventory.ids("attribute").index(role.identity), column.reference)
        identifier = self.key_of(reference)
        role = objects.role(reference)
        if role is not None and role.membership >= ENTITY and identifier is not None:
            tables.add(in_full(plain_words(role.identity)), reference, 0.7, "role")
            tables.add_role(tables.lexicon.inventory.ids("entity").index(role.identity), reference)
        # `products_for_hire` with the key `product_id` holds products.
        words = name_words(identifier.name) if identifier is not None else ()
        if len(words) > 1 and words[-1] in ("id", "code", "number"):
            tables.add(words[:-1], reference, 0.8, "key")

    def named(self, kind: str, words: tuple[str, ...]) -> tuple[Named, ...]:
        """The objects that these words name, the best names first."""
        return self.names[kind].find(words)

    def named_loosely(self, kind: str, words: tuple[str, ...]) -> tuple[Named, ...]:
        """The objects of whose name these words are a part, or whose role they mean."""
        return self.names[kind].find_loosely(words)

    def columns_of(self, table: str) -> list[ColumnFacts]:
        return [column for column in self.columns.values() if column.table == table]

    def key_of(self, table: str) -> ColumnFacts | None:
        """The column that tells a table's rows apart, where one does."""
        declared = self.tables[table].primary_key
        own = [column for column in self.columns_of(table) if column.kind == "column"]
        if len(declared) == 1:
            return next((column for column in own if column.name == declared[0]), None)
        return next((column for column in own if column.unique and not column.nulls), None)

    def name_of(self, table: str) -> ColumnFacts | None:
        """The one column that says what a row of the table is called."""
        own = [column for column in self.columns_of(table) if column.kind == "column"]
        table_words = in_full(plain_words(self.tables[table].name))
        called = {key(words) for words in (("name",), (*table_words, "name"), ("title",), (*table_words, "title"))}
        plain = [c for c in own if key(name_words(c.name)) in called]
        if len(plain) == 1:
            return plain[0]
        called_so = [c for c in own if key(name_words(c.name)) == key(table_words) and column_kind(c.type) == "text"]
        if len(called_so) == 1 and not plain:
            return called_so[0]
        by_role = [c for c in own if "attribute" in c.roles and c.roles["attribute"].identity == "name"]
        return by_role[0] if len(by_role) == 1 and not plain else None

    def between(self, tables: set[str]) -> str | None:
        """The one table whose rows have one partner in each of these: what links them row by row."""
        found = [
            reference
            for reference in self.tables
            if reference not in tables
            and all((way := self.ways(reference).get(table)) and way.to_one and len(way.steps) == 1 for table in tables)
        ]
        return found[0] if len(found) == 1 else None

    def favour(self, tables: frozenset[str]) -> None:
        """Ways through tables that the question names are shorter."""
        self._favoured = tables
        self._ways = {}

    def ways(self, start: str) -> dict[str, Way]:
        """The cheapest way to every table that is reached by one way alone: equal ways are left out."""
        if start not in self._ways:
            self._ways[start] = self._find_ways(start)
        return self._ways[start]

    def _find_ways(self, start: str) -> dict[str, Way]:
        settled: dict[str, Way] = {}
        second: dict[str, float] = {}
        waiting: list[tuple[float, int, str, tuple[Step, ...]]] = [(0.0, 0, start, ())]
        number = 0
        while waiting:
            cost, _, here, steps = heapq.heappop(waiting)
            if here in settled:
                second.setdefault(here, cost)
                continue
            settled[here] = Way(steps, cost)
            if len(steps) == MOST_STEPS:
                continue
            passed = {start, *(step.there for step in steps)}
            for relation in self._relations[here]:
                if relation.left_table == relation.right_table:
                    continue
                there = relation.right_table if relation.left_table == here else relation.left_table
                step = Step(relation, here, there)
                # What merely shares a third thing is no partner: customers of one country are not linked by it.
                shares = not step.to_one and any(each.to_one and not each.one_to_one for each in steps)
                if there not in passed and not shares:
                    number += 1
                    length = weight(relation) * (NAMED_WAY if there in self._favoured else 1.0)
                    heapq.heappush(waiting, (round(cost + length, 9), number, there, (*steps, step)))
        return {
            table: way for table, way in settled.items() if table == start or second.get(table, 1e9) - way.cost >= CLOSE
        }


@lru_cache(maxsize=4)
def _lexicon(inventory: Inventory) -> Lexicon:
    return Lexicon(inventory)


def _strongest(relations: tuple[RelationFacts, ...]) -> list[RelationFacts]:
    """The relations worth joining by: where keys between two tables are declared, no others between them."""
    fit = [each for each in relations if each.confidence >= LEAST_CONFIDENCE and each.kind not in NOT_IN_SQL]
    fit = [each for each in fit if each.cardinality != "n:m"]
    declared = {frozenset((e.left_table, e.right_table)) for e in fit if e.provenance == "declared"}
    return [
        each
        for each in fit
        if each.provenance == "declared" or frozenset((each.left_table, each.right_table)) not in declared
    ]
