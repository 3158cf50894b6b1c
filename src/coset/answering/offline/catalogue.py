"""What a question may speak of: tables, columns and sources by the words that name them, and the ways to join them.

In: the objects of a state. Out: `Known`: candidates for some words (by full name, short name, key, part of a name, or
role), and join paths between tables. Knows no question.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from coset.answering.offline.lexicon import (
    CODE_WORDS,
    COUNT_WORDS,
    QUANTITIES,
    QUANTITY_WORDS,
    SAME_THINGS,
    UNIT_WORDS,
)
from coset.evidence.column_expressions import column_kind
from coset.identities.inventory import Coordinate, Inventory, Lexicon
from coset.readings.words import singular
from coset.routing.anchors.spelling import in_full, plain_words, shortened, stem
from coset.routing.objects.facts import ColumnFacts, RelationFacts, TableFacts
from coset.routing.objects.objects_of_state import StateObjects
from coset.routing.views.join_plan import NOT_IN_SQL, weight
from coset.routing.views.view import EvidenceView

How = Literal["name", "short name", "key", "stem", "part", "role"]
Words = tuple[str, ...]
HEAD = 0.6
"""The quality of a name of which the last word is said, which says what it is; less where only another is."""
LITTLE = frozenset(("of", "the", "a", "in", "per", "by", "to", "for", "and", "or"))


@dataclass(frozen=True)
class Named:
    """An object that some words name; `quality` is 1 for its full name, less for a shorter or looser form."""

    reference: str
    quality: float
    how: How = "name"


def key(words: Words) -> str:
    return " ".join(stem("id" if word == "ids" else word) for word in words if word not in ("of", "the", "a"))


def compact(words: Words) -> str:
    return "".join("id" if word == "ids" else singular(word) for word in words if word not in ("of", "the", "a"))


SAYING = frozenset(("person", "agent", "model", "comment", "document"))
"""Readers who say what a thing is called; the others infer it from its name."""
INITIALS = {"f": "first", "l": "last", "m": "middle"}


def name_words(name: str) -> Words:
    """The words of a name in full; `LName` is a last name."""
    words = in_full(plain_words(name))
    return (INITIALS[words[0]], "name") if words[1:] == ("name",) and words[0] in INITIALS else words


def is_number(column: ColumnFacts) -> bool:
    base = column.type.upper().split("(")[0].strip()
    return column_kind(column.type) == "integer" or base in ("DOUBLE", "FLOAT", "REAL", "DECIMAL")


class NameIndex:
    """The names of one kind of object."""

    def __init__(self, coordinate: Coordinate, lexicon: Lexicon) -> None:
        self.coordinate: Coordinate = coordinate
        self.lexicon = lexicon
        self._exact: dict[str, dict[str, Named]] = defaultdict(dict)
        self._stems: dict[str, dict[str, Named]] = defaultdict(dict)
        self._parts: dict[str, tuple[Words, frozenset[str]]] = {}
        self._roles: dict[int, list[str]] = defaultdict(list)
        self._called: dict[str, Words] = {}
        self.words: set[str] = set()
        """Every longer word of a name, to tell what a misspelt one is."""

    def add(self, words: Words, reference: str, quality: float, how: How = "name") -> None:
        named = Named(reference, quality, how)
        for index, form in ((self._exact, compact(words)), (self._stems, key(words))):
            if form and (reference not in index[form] or index[form][reference].quality < quality):
                index[form][reference] = named

    def add_parts(self, words: Words, around: Words, reference: str) -> None:
        """The words of a name, and those of what it stands in, for what names only part of it."""
        self.words.update(word for word in words if len(word) > 4)
        self._called[reference] = tuple(map(singular, words))
        own = tuple(stem(singular(word)) for word in words if word not in LITTLE)
        self._parts[reference] = (own, frozenset(stem(singular(word)) for word in around))

    def add_role(self, identity: int, reference: str) -> None:
        self._roles[identity].append(reference)

    def find(self, words: Words) -> tuple[Named, ...]:
        """By name, then by a word of the same stem."""
        found = self._exact.get(compact(words))
        if not found:
            found = self._stems.get(key(words)) or {}
            if found and len(words) == 1:
                found = {each.reference: Named(each.reference, each.quality, "stem") for each in found.values()}
        return _best_first(found.values())

    def find_loosely(self, words: Words) -> tuple[Named, ...]:
        """By part of the name, else by the role that the words mean."""
        asked = [singular(word) for word in words if word not in LITTLE]
        if not asked or any(len(word) < 3 for word in asked):
            return ()
        wanted = [{stem(word), *shortened(word)} for word in asked]
        found = []
        for reference, (own, around) in self._parts.items():
            heads = [word for word in own if word not in UNIT_WORDS and word not in CODE_WORDS] or list(own)
            if wanted[-1] & set(own) and all(forms & {*own, *around} for forms in wanted):
                found.append(Named(reference, HEAD if heads[-1] in wanted[-1] else 0.5, "part"))
        return _best_first(found) or self.by_role(words)

    def by_role(self, words: Words) -> tuple[Named, ...]:
        """Objects that play the role which the words mean."""
        phrase = tuple(map(singular, words))
        if self.coordinate == "attribute" and self.lexicon.meaning("entity", phrase):
            return ()
        meanings = self.lexicon.meaning(self.coordinate, phrase)
        found = (ref for number in meanings for ref in self._roles.get(number, ()))
        return _best_first(Named(ref, 0.45, "role") for ref in found if self.is_called_so(phrase, ref))

    def is_called_so(self, phrase: Words, reference: str) -> bool:
        """Whether a table may be called by a word for its role: where it is one thing with what its own name says."""
        if self.coordinate != "entity":
            return True
        own = self._called.get(reference, ())
        return own == phrase or any(" ".join(phrase) in same and " ".join(own) in same for same in SAME_THINGS)

    def has_role(self, identity: int) -> bool:
        return bool(self._roles.get(identity))

    def playing(self, identity: str) -> tuple[Named, ...]:
        """Objects that play a role."""
        number = self.lexicon.inventory.ids(self.coordinate).index(identity)
        return _best_first(Named(reference, 0.45, "role") for reference in self._roles.get(number, ()))

    def having_stem(self, word: str) -> tuple[Named, ...]:
        """Objects with a word of the same stem in their name: what a verb such as `opened` may speak of."""
        wanted = stem(word)
        return tuple(
            Named(reference, 0.4, "stem")
            for reference, (own, _) in self._parts.items()
            if any(wanted == each or (len(wanted) > 4 and each.startswith(wanted)) for each in own)
        )


def _best_first(found: object) -> tuple[Named, ...]:
    return tuple(sorted(found, key=lambda each: (-each.quality, each.reference)))  # type: ignore[call-overload]


def _said_of(reference: str, objects: StateObjects) -> Words:
    """What a person or a document calls it; nothing where that is only inferred from its name."""
    known = objects.knowledge.readings.get(reference)
    if known is None or known.reader not in SAYING:
        return ()
    return in_full(plain_words(known.name))


def add_column(names: NameIndex, name: str, table: Words, reference: str) -> None:
    """A column by its own words, with and without its table's, its unit, its code word and its count word."""
    words = name_words(name)
    _add_with_table(names, words, table, reference, 1.0)
    if len(words) > 1 and words[-1] in UNIT_WORDS:
        _add_with_table(names, words[:-1], table, reference, 0.95)
    if "in" in words[1:]:  # `price in dollars`
        _add_with_table(names, words[: words.index("in", 1)], table, reference, 0.95)
    if len(words) > 2 and words[-1] in CODE_WORDS:
        _add_with_table(names, words[:-1], table, reference, 0.8, "short name")
    if words[0] in COUNT_WORDS and len(words) > 1:  # `num_of_shops`: `number of shops`, `shops`
        rest = words[2:] if words[1] == "of" else words[1:]
        names.add(("number", *rest), reference, 0.9, "short name")
        names.add(rest, reference, 0.65, "short name")
        names.add((*table, *rest), reference, 0.65, "short name")
    if len(words) == 2 and words[1] == "by":  # `directed_by`: the director
        names.add((stem(words[0]) + "or",), reference, 0.7, "short name")
        names.add((stem(words[0]) + "er",), reference, 0.7, "short name")
    # `eid` of employees, `flno` of flights: the beginning of the table's name, and what numbers its rows.
    if len(words) == 1 and table and (numbered := _numbered(words[0], table[0])):
        _add_with_table(names, (numbered,), table, reference, 0.85, "short name")
    # `cName` of courses, `ResName` of restaurants: the beginning of the table's name, and a word.
    if len(words) > 1 and table and len(words[0]) < len(table[0]) and table[0].startswith(words[0]):
        _add_with_table(names, words[1:], table, reference, 0.9, "short name")
    names.add_parts(words, table, reference)


def _numbered(word: str, table: str) -> str:
    for ending, meaning in (("id", "id"), ("no", "number"), ("num", "number")):
        beginning = word.removesuffix(ending)
        if word.endswith(ending) and 0 < len(beginning) < 4 and table.startswith(beginning):
            return meaning
    return ""


def _add_with_table(
    names: NameIndex, words: Words, table: Words, reference: str, quality: float, how: How = "name"
) -> None:
    names.add(words, reference, quality, how)
    if key(words[: len(table)]) == key(table) and len(words) > len(table):
        names.add(words[len(table) :], reference, 0.95 * quality, how)
    else:
        names.add((*table, *words), reference, quality, how)


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
class JoinPath:
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
        allowed = {each for each in allowed if objects.knowledge.original(each) == each}
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
        self.labelled: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        """By what codes stand for: the columns that hold them, each with the codes."""
        self._ways: dict[str, dict[str, JoinPath]] = {}
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
        if said := _said_of(reference, objects):
            tables.add(said, reference, 0.9)
        for column in objects.columns(reference):
            if column.kind == "facet":
                self.facet_words.update(key((word,)) for word in plain_words(column.name.rpartition("#")[2]))
                continue
            self.columns[column.reference] = column
            for code, label in () if column.unique else column.labels:
                self.labelled[compact(plain_words(label))][column.reference].append(code)
            add_column(columns, column.name, own, column.reference)
            if said := _said_of(column.reference, objects):
                columns.add(said, column.reference, 0.9)
            role = column.roles.get("attribute")
            if role is not None and role.membership >= ENTITY:
                columns.add_role(columns.lexicon.inventory.ids("attribute").index(role.identity), column.reference)
        identifier = self.key_of(reference)
        role = objects.role(reference)
        if role is not None and role.membership >= ENTITY and identifier is not None:
            called = in_full(plain_words(role.identity))
            if tables.is_called_so(tuple(map(singular, called)), reference):
                tables.add(called, reference, 0.7, "role")
            tables.add_role(tables.lexicon.inventory.ids("entity").index(role.identity), reference)
        # `products_for_hire` with the key `product_id` holds products.
        words = name_words(identifier.name) if identifier is not None else ()
        if len(words) > 1 and words[-1] in ("id", "code", "number"):
            tables.add(words[:-1], reference, 0.8, "key")

    def named(self, kind: str, words: tuple[str, ...]) -> tuple[Named, ...]:
        """The objects that these words name, the best names first."""
        return self.names[kind].find(words)

    def named_loosely(self, kind: str, words: tuple[str, ...]) -> tuple[Named, ...]:
        """The objects of whose name these words are a part, or whose role they mean. Of a column of numbers the part
        must be what is measured: `units` are not a `unit_cost`, but may be a quantity."""
        index = self.names[kind]
        found = index.find_loosely(words)
        if kind != "column":
            return found
        if words in QUANTITIES:
            playing = index.playing("quantity")
            return tuple(n for n in playing if QUANTITY_WORDS & set(name_words(self.columns[n.reference].name)))
        fitting = tuple(named for named in found if not self._only_qualifies(named))
        return fitting if len(fitting) == len(found) else fitting or index.by_role(words)

    def _only_qualifies(self, named: Named) -> bool:
        return named.how == "part" and named.quality < HEAD and is_number(self.columns[named.reference])

    def plays_a_role(self, words: Words) -> bool:
        """Whether some table holds things for which these are a word, whatever they are called there."""
        index = self.names["table"]
        return any(index.has_role(number) for number in index.lexicon.meaning("entity", tuple(map(singular, words))))

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
        by_role = [c for c in own if c.unique and "attribute" in c.roles and c.roles["attribute"].identity == "name"]
        return by_role[0] if len(by_role) == 1 and not plain else None

    def standing_for(self, words: Words) -> list[tuple[str, str]]:
        """(column, code) for the codes that stand for these words."""
        held = self.labelled.get(compact(words), {})
        return [(column, code) for column, codes in held.items() for code in codes]

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

    def ways(self, start: str) -> dict[str, JoinPath]:
        """The cheapest way to every table that is reached by one way alone: equal ways are left out."""
        if start not in self._ways:
            self._ways[start] = self._find_ways(start)
        return self._ways[start]

    def _find_ways(self, start: str) -> dict[str, JoinPath]:
        settled: dict[str, JoinPath] = {}
        second: dict[str, float] = {}
        waiting: list[tuple[float, int, str, tuple[Step, ...]]] = [(0.0, 0, start, ())]
        number = 0
        while waiting:
            cost, _, here, steps = heapq.heappop(waiting)
            if here in settled:
                second.setdefault(here, cost)
                continue
            settled[here] = JoinPath(steps, cost)
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
