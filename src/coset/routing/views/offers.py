"""Spends the rest of a budget: whatever is worth most for its cost is added to the view, until nothing fits.

In: a `ViewBuilder` with its objects taken by name. Out: the same, told in more detail. Everything that could be added
is an offer with a worth and a price; the offer with the most worth a token is taken first, ties by name. What saves
the reader a query is worth most: the values of a column in which the question's own value was found, cleaning, joins,
the column that names what a key refers to.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from coset.evidence.column_expressions import column_kind
from coset.readings.words import words_of
from coset.routing.objects.facts import ColumnFacts, RelationFacts
from coset.routing.objects.objects_of_state import StateObjects
from coset.routing.views.budgets import lines_cost
from coset.routing.views.choice import Pick
from coset.routing.views.details import FEW, Depth
from coset.routing.views.join_plan import LEAST_CONFIDENCE, NOT_IN_SQL
from coset.routing.views.passages import passages_for
from coset.routing.views.text import inner_place, passage_lines
from coset.routing.views.view import Why

if TYPE_CHECKING:
    from coset.routing.views.builder import ViewBuilder

WORTH: dict[Why, float] = {
    "holds a value": 1.6, "demanded": 1.2, "named": 1.3, "competitor": 0.7, "join key": 0.6, "key": 0.5, "context": 0.8,
}  # fmt: skip
TELLING, USUAL, DOCUMENTED = 0.012, 40, 1.3
"""What a column of usual telling is worth a token in the first table of the order, by its values, at a price of so many
tokens; and how much more where a document names it."""
NEAR, MOST_PLACES = 20, 40
FULL = 0.3
"""What a column in full is worth beyond the same in short."""
ELSEWHERE = 0.7
"""What a column of a table not taken yet is worth, beside one of a table that is."""
ANCHOR_WORTH, NAME_WORTH, TABLE_WORTH, JOIN_WORTH, PASSAGE_WORTH = 2.0, 0.1, 0.5, 0.15, 2.0
SURE_VALUE, SURE_NAME = 0.5, 0.7
CATEGORY_WORTH, STRONG = 0.2, 0.3
REFERENCE_WORTH, NAMING_WORTH = 0.9, 0.5
SHARE_FOR_NAMES = 0.06
MORE_REFERENCES = 3
"""So many tables beyond the others may come in because keys refer to them."""
THIN = 0.3
"""A facet that fewer rows have is told by an anchor only where it is shown."""
FEW_TABLES, SMALL_TABLE, MOST_SMALL = 4, 12, 2
"""In an environment of so few tables those of so few columns are shown while there is room, so many of them."""


class Offers:
    """The offers, and the view that they are for."""

    def __init__(self, builder: ViewBuilder) -> None:
        self.builder, self.parts = builder, builder.parts
        self._waiting: list[tuple[float, str, int]] = []
        self._actions: dict[str, Callable[[], None]] = {}
        self._places_in_order = {table: place for place, table in enumerate(builder.selection.order)}

    def take(self) -> None:
        """Take the best offers until nothing fits any more."""
        wanted = self.builder.selection
        open_picks = []
        for pick in (*wanted.picks, *wanted.competitors, *wanted.rest):
            if self.builder.has(pick):
                # It may have come as the key of a join, without a score of its own.
                taken = self.parts.columns[pick.column.reference]
                taken.score = max(taken.score, pick.score)
                if taken.depth == "name" and taken.facts.kind == "column":
                    taken.why = self.parts.reasons(pick.column.reference, pick.why)
            elif not (_is_thin(pick.column) and "holds a value" not in pick.why):
                open_picks += [pick] if self.builder.has_room_for(pick.column.table) else []
        for reference in list(self.parts.columns):
            self._deeper(reference, "short", 1.0)
        for pick in open_picks:
            self._another(pick)
        self._categories()
        self._references()
        self._facts()
        self.builder.kept_back = self._for_names()
        self._take_best()
        self.builder.kept_back = 0
        self._small_tables()
        self._fill()

    def tell(self) -> None:
        """Take what tells most of the tables that are there."""
        for reference in list(self.parts.columns):
            self._deeper(reference, "short", 1.0)
        self._descriptions()
        self._take_best()

    def _take_best(self) -> None:
        while self._waiting:
            _, name, price = heapq.heappop(self._waiting)
            if self.builder.fits(price):
                self._actions[name]()

    def _for_names(self) -> int:
        """What naming the other columns of the strong tables takes, as far as a small share of the budget goes."""
        columns = [
            column
            for table, score in self.parts.tables.items()
            if score >= STRONG
            for column in self.builder.objects.columns(table)
            if column.kind == "column" and column.reference not in self.parts.columns
        ]
        needed = sum(self.parts.column_cost(column, ["context"], "name") for column in columns)
        return min(needed, int(SHARE_FOR_NAMES * self.builder.budget))

    def _offer(self, name: str, worth: float, price: int, action: Callable[[], None]) -> None:
        self._actions[name] = action
        heapq.heappush(self._waiting, (-worth / max(price, 1), name, price))

    def _deeper(self, reference: str, depth: Depth, share: float) -> None:
        """A taken column in more detail."""
        taken = self.parts.columns[reference]
        price = self.parts.take_cost(taken.facts, taken.why, depth)
        if price <= 0 and taken.facts.table in self.parts.main.references:
            return  # It stands in the prefix.
        least = 0.1 * min(1.0, 2 * self.parts.tables[taken.facts.table])
        told = self._telling(taken.facts)
        worth = max(taken.score, least) * max(WORTH[reason] for reason in taken.why) * share * told
        if depth == "short":
            # What decides is told even where that takes a long line: of many short ones few would be read.
            worth = max(worth, TELLING * told * self._place(taken.facts.table) * math.sqrt(USUAL * max(price, 1)))

        def take() -> None:
            self.parts.take_column(taken.facts, taken.score, taken.why, depth, 0.0)
            if depth == "short":
                self._deeper(reference, "full", FULL)

        self._offer(f"{depth} {reference}", worth, price, take)

    def _telling(self, column: ColumnFacts) -> float:
        """How much the values of a column tell; more where documents say something of it or of its table."""
        known = self.builder.objects.tellings
        if column.reference not in known:
            known[column.reference] = self._rated(column)
        return known[column.reference]

    def _rated(self, column: ColumnFacts) -> float:
        named = self.builder.objects.knowledge.named_by_documents
        told = telling(column)
        if column.reference in named:
            return max(2.0, told) * DOCUMENTED
        return told * DOCUMENTED if column.table in named and told > 1 else told

    def _place(self, table: str) -> float:
        """What the place of a table in the order counts for its columns."""
        return NEAR / (NEAR + self._places_in_order.get(table, MOST_PLACES))

    def _another(self, pick: Pick) -> None:
        """A column that is not taken yet."""
        column = pick.column
        here = 1.0 if column.table in self.parts.tables else ELSEWHERE
        # What a facet reads is in few rows, often: it is worth as much as it covers.
        covered = column.coverage if column.kind == "facet" and column.coverage is not None else 1.0

        def take() -> None:
            if not self.builder.has_room_for(column.table):
                return
            links = self.builder.links(column.table)  # By now other tables may be there than when it was offered.
            joined = self.builder.fits(self._price(pick, links))
            if self.builder.take(pick, "name"):
                for link in links if joined else ():
                    self.parts.take_plan(link)
                self._deeper(column.reference, "short", 1.0)

        alone = self.parts.take_cost(column, pick.why, "name")
        joined = self._price(pick, self.builder.links(column.table))
        # It is rated with its joins, but where they do not fit it may still come without.
        self._offer(f"name {column.reference}", pick.score * here * covered * alone / max(joined, 1), alone, take)

    def _price(self, pick: Pick, links: Sequence[RelationFacts]) -> int:
        """Of a column, and of the joins that its table comes with."""
        price = self.parts.take_cost(pick.column, pick.why, "name")
        own = self.parts.table_cost(pick.column.table)
        return price + sum(self.parts.plan_cost(link) - own for link in links)

    def _categories(self) -> None:
        """Values of the strong tables' categorical text columns: a word of the question may mean one of them (`won`, a
        stage) though neither name nor value says so, and looking them up is the query that is asked most."""
        for table, score in list(self.parts.tables.items()):
            for column in self.builder.objects.columns(table):
                group = column.values
                if score < STRONG or group is None or not group.complete or group.distinct > FEW:
                    continue
                if column_kind(column.type) not in ("text", "enum") or group.distinct < 2:
                    continue
                taken = self.parts.columns.get(column.reference)
                pick = Pick(column, taken.score if taken else 0.0, tuple(taken.why) if taken else ("context",))
                price = self.parts.take_cost(column, pick.why, "short")
                self._offer(f"values {column.reference}", CATEGORY_WORTH * score, price, partial(self._category, pick))

    def _category(self, pick: Pick) -> None:
        taken = self.parts.columns.get(pick.column.reference)
        if taken is None or taken.depth == "name":
            self.builder.take(pick, "short")

    def _references(self) -> None:
        """What the keys of the taken tables refer to, and what names the rows of those that are taken: an id answers no
        question that asks for a name."""
        for table, score in list(self.parts.tables.items()):
            for column in naming_columns(self.builder.objects, table):
                taken = self.parts.columns.get(column.reference)
                pick = Pick(column, taken.score if taken else 0.0, tuple(taken.why) if taken else ("context",))
                price = self.parts.take_cost(column, pick.why, "short")
                worth = NAMING_WORTH * max(score, STRONG)
                self._offer(f"naming {column.reference}", worth, price, partial(self._category, pick))
        for each in references(self.builder):
            price = self.parts.plan_cost(each.relation) + sum(
                self.parts.column_cost(column, ("context",), "short") for column in each.columns
            )
            action = partial(self._reference, each)
            self._offer(f"reference {each.relation.reference}", REFERENCE_WORTH * each.worth, price, action)

    def _reference(self, reference: Reference) -> None:
        if reference.table in self.parts.tables or not self.builder.has_room_for(reference.table, MORE_REFERENCES):
            return
        if not self.builder.fits(self.parts.plan_cost(reference.relation)):
            return
        self.parts.take_plan(reference.relation)
        for column in reference.columns:
            self.builder.take(Pick(column, 0.0, ("context",)), "short")

    def _small_tables(self) -> None:
        """Where there are few tables, those that nothing called for, by their columns: one of them may say what a code
        or a name stands for, and a reader who sees all need not look."""
        objects, parts = self.builder.objects, self.parts
        if len(objects.tables) > FEW_TABLES:
            return
        left = [table for table, facts in objects.tables.items() if table not in parts.tables]
        small = [table for table in sorted(left) if objects.tables[table].columns <= SMALL_TABLE][:MOST_SMALL]
        objects.load(small)
        for table in small:
            columns = [column for column in objects.columns(table) if column.kind == "column"]
            price = parts.table_cost(table) + sum(parts.column_cost(each, (), "short") for each in columns)
            links = self.builder.links(table)
            if columns and self.builder.fits(price):
                for column in columns:
                    self.builder.take(Pick(column, 0.0, ("context",)), "short")
                for link in links:
                    if self.builder.fits(self.parts.plan_cost(link)):
                        self.parts.take_plan(link)

    def _facts(self) -> None:
        """Anchors, descriptions of tables, further joins, passages."""
        builder, parts = self.builder, self.parts
        places = self._places()
        for number, anchor in enumerate(builder.anchors):
            if builder.is_left_behind(anchor.reference):
                continue
            # A weak sighting is worth a line only beside the column that it speaks of.
            least = SURE_NAME if anchor.kind in ("name", "document") else SURE_VALUE
            if anchor.score < least and (anchor.kind == "name" or anchor.reference not in parts.columns):
                continue
            if anchor.reference not in parts.columns and self._is_thin(anchor.reference):
                continue
            if anchor.kind == "number" and anchor.score < SURE_VALUE:
                continue  # Most numbers lie in the range of most number columns.
            price = builder.anchor_cost(anchor, places)
            worth = anchor.score * (NAME_WORTH if anchor.kind in ("name", "document") else ANCHOR_WORTH)
            self._offer(f"anchor {number:04}", worth, price, partial(builder.take_anchor, anchor, places))
        self._descriptions()
        planned = {relation.reference for relation in parts.planned}
        for relation in builder.joins_between():
            if relation.reference not in planned:
                price = parts.join_cost(relation, in_plan=False)
                action = partial(parts.take_join, relation, in_plan=False)
                self._offer(f"join {relation.reference}", JOIN_WORTH * relation.confidence, price, action)
        letters = max(160, min(3_000, builder.budget // 2))
        found = passages_for(list(parts.tables), list(parts.columns), builder.anchors, builder.objects, letters)
        for worth, passage in found:
            if passage.reference in builder.told or passage.reference.rpartition("#")[0] in builder.told:
                continue
            price = lines_cost(passage_lines(passage))
            action = partial(builder.take_passage, passage)
            self._offer(f"passage {passage.reference}", PASSAGE_WORTH * worth, price, action)

    def _descriptions(self) -> None:
        parts = self.parts
        for table in parts.own_tables:
            price = parts.description_cost(table)
            if price > 0:
                worth = max(parts.tables[table], 0.2) * TABLE_WORTH
                self._offer(f"table {table}", worth, price, partial(parts.describe, table))

    def _places(self) -> dict[str, str]:
        """How the objects that anchors name are written in SQL, whether they are taken already or will be."""
        objects, found = self.builder.objects, {}
        for anchor in self.builder.anchors:
            table = objects.table_of(anchor.reference)
            if table is not None:
                name = objects.tables[table].sql_name
                inner = anchor.reference[len(table) + 1 :]
                column = self._inner(table, anchor.reference)
                if column is not None:
                    found[anchor.reference] = inner_place(column.kind, name, inner, column.coverage)
                else:
                    found[anchor.reference] = f"{name}.{inner}" if inner else name
        return found

    def _inner(self, table: str, reference: str) -> ColumnFacts | None:
        """A path or facet by its reference."""
        if reference == table:
            return None
        found = self.builder.objects.columns(table)
        return next((each for each in found if each.reference == reference and each.kind != "column"), None)

    def _is_thin(self, reference: str) -> bool:
        """Whether it is a facet that few rows have."""
        table = self.builder.objects.table_of(reference)
        column = self._inner(table, reference) if table is not None else None
        return column is not None and _is_thin(column)

    def _fill(self) -> None:
        """The other columns of the taken tables by name, which costs little and saves a look at the schema; then, with
        what is left of the budget, their values and how to clean them."""
        parts, builder = self.parts, self.builder
        tables = sorted(parts.own_tables, key=lambda each: (-parts.tables[each], each))
        columns = [column for table in tables for column in builder.objects.columns(table) if column.kind == "column"]
        why: list[Why] = ["context"]
        for column in columns:
            if column.reference not in parts.columns and builder.fits(parts.take_cost(column, why, "name")):
                parts.take_column(column, 0.0, why, "name", 0.0)
        for column in columns:
            taken = parts.columns.get(column.reference)
            if taken is not None and taken.depth == "name":
                price = parts.take_cost(column, taken.why, "short")
                if builder.fits(price):
                    parts.take_column(column, taken.score, taken.why, "short", 0.0)
        for column in columns:
            taken, group = parts.columns.get(column.reference), column.values
            if taken is not None and taken.depth == "short" and group is not None and group.complete:
                # A list of few values that was cut, told to its end.
                price = parts.take_cost(column, taken.why, "full")
                if group.distinct <= FEW and builder.fits(price):
                    parts.take_column(column, taken.score, taken.why, "full", 0.0)


def telling(column: ColumnFacts) -> float:
    """How much the values of a column tell whoever writes a query, beside those of others: codes with what they stand
    for, few values, and how dates and dirty values are written decide; of keys one is like the other."""
    group = column.values
    few = group is not None and group.complete and group.distinct <= FEW
    role = column.roles.get("attribute")
    kind = column_kind(column.type)
    if few and group is not None and group.distinct <= 1:
        return 0.2
    if few:
        return 3.0 if column.labels else 2.5
    if column.personal or (role is not None and role.identity in PLAIN_KEYS) or (column.unique and kind == "integer"):
        # What few rows have is more than their key: that they replace, duplicate or belong to something.
        return 1.0 if (column.nulls or 0.0) >= 0.5 and not column.personal else 0.25
    if any(each.expression for each in column.cleaning):
        return 2.2
    told = role is not None and role.identity in DECIDING
    if told or kind in ("date", "timestamp") or TIMES.intersection(words_of(f"{column.name} {column.reading}")):
        return 1.6
    return 1.2 if kind in ("decimal", "float") else 1.0


TIMES = frozenset(["date", "day", "month", "time", "timestamp", "year"])
PLAIN_KEYS = frozenset(["identifier", "name", "given_name", "family_name", "email", "phone"])
DECIDING = frozenset(["status", "type", "flag", "category", "amount", "start_time", "end_time", "event_time", "unit"])


def _is_thin(column: ColumnFacts) -> bool:
    return column.kind == "facet" and column.coverage is not None and column.coverage < THIN


NAMING = {"name": 1.0, "title": 0.9, "given_name": 0.8, "family_name": 0.8, "abbreviation": 0.4, "username": 0.3}
LEAST_NAMING, MOST_NAMING = 0.25, 2
LEAST_MATCH = 0.3
"""A key of which fewer rows find a partner refers to something else, mostly."""
MOST_REFERENCES = 12


@dataclass(frozen=True)
class Reference:
    """A table that a taken one refers to, by the columns that name its rows."""

    relation: RelationFacts
    table: str
    worth: float
    columns: tuple[ColumnFacts, ...]


def references(builder: ViewBuilder) -> list[Reference]:
    """The tables that the taken ones refer to and that are not taken, each by its surest relation; those without a
    column that names a row would add nothing to the key."""
    parts, objects = builder.parts, builder.objects
    found: dict[str, tuple[float, RelationFacts]] = {}
    for table in parts.tables:
        for relation in objects.relations_of.get(table, ()):
            other = _referred(relation, table)
            if other is None or other in parts.tables or objects.knowledge.original(other) != other:
                continue
            keys = relation.left_columns if relation.left_table == table else relation.right_columns
            taken = max((parts.columns[key].score for key in keys if key in parts.columns), default=0.0)
            worth = (0.5 * parts.tables[table] + taken) * relation.confidence
            if other not in found or (-worth, relation.reference) < (-found[other][0], found[other][1].reference):
                found[other] = (worth, relation)
    best = sorted(found, key=lambda other: (-found[other][0], other))[:MOST_REFERENCES]
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
