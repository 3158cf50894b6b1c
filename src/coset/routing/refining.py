"""The last step of materialisation: whatever is worth most for its cost, until the budget is used.

In: a `Making` with its objects taken by name. Out: the same, told in more detail. Everything that could be added is an
offer with a worth and a price; the offer with the most worth a token is taken first, ties by name. What saves the
reader a query is worth most: the values of a column in which the question's own value was found, cleaning, joins.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from functools import partial

from coset.evidence.column_expressions import column_kind
from coset.routing.anchor_text import ANCHORS, anchor_line, inner_place
from coset.routing.choice import Pick
from coset.routing.cost import lines_cost
from coset.routing.details import FEW, Depth
from coset.routing.facts import ColumnFacts, RelationFacts
from coset.routing.join_plan import best_link, connected_parts
from coset.routing.making import Making
from coset.routing.passages import passages_for
from coset.routing.referring import Reference, naming_columns, references
from coset.routing.view import Why
from coset.routing.view_text import passage_lines

WORTH: dict[Why, float] = {
    "holds a value": 1.6, "demanded": 1.2, "named": 1.3, "competitor": 0.7, "join key": 0.6, "key": 0.5, "context": 0.8,
}  # fmt: skip
FULL = 0.3
"""What a column in full is worth beyond the same in short."""
ELSEWHERE = 0.7
"""What a column of a table not taken yet is worth, beside one of a table that is."""
ANCHOR_WORTH, NAME_WORTH, TABLE_WORTH, JOIN_WORTH, PASSAGE_WORTH = 0.8, 0.1, 0.5, 0.25, 2.0
SURE_VALUE, SURE_NAME = 0.5, 0.7
CATEGORY_WORTH, STRONG = 0.2, 0.3
REFERENCE_WORTH, NAMING_WORTH = 0.9, 0.5
SHARE_FOR_NAMES = 0.06
THIN = 0.3
"""A facet that fewer rows have is told by an anchor only where it is shown."""
FEW_TABLES, SMALL_TABLE, MOST_SMALL = 4, 12, 2
"""In an environment of so few tables those of so few columns are shown while there is room, so many of them."""


class Refining:
    """The offers, and the making that they are for."""

    def __init__(self, making: Making) -> None:
        self.making, self.draft = making, making.draft
        self._waiting: list[tuple[float, str, int]] = []
        self._actions: dict[str, Callable[[], None]] = {}

    def run(self) -> None:
        wanted = self.making.wanted
        open_picks = []
        for pick in (*wanted.picks, *wanted.competitors, *wanted.rest):
            if self.making.has(pick):
                # It may have come as the key of a join, without a score of its own.
                taken = self.draft.columns[pick.column.reference]
                taken.score = max(taken.score, pick.score)
            elif not (_is_thin(pick.column) and "holds a value" not in pick.why):
                open_picks.append(pick)
        for reference in list(self.draft.columns):
            self._deeper(reference, "short", 1.0)
        for pick in open_picks:
            self._another(pick)
        self._categories()
        self._references()
        self._facts()
        self.making.kept_back = self._for_names()
        while self._waiting:
            _, name, price = heapq.heappop(self._waiting)
            if self.making.fits(price):
                self._actions[name]()
        self.making.kept_back = 0
        self._small_tables()
        self._fill()

    def _for_names(self) -> int:
        """What naming the other columns of the strong tables takes, as far as a small share of the budget goes."""
        columns = [
            column
            for table, score in self.draft.tables.items()
            if score >= STRONG
            for column in self.making.objects.columns(table)
            if column.kind == "column" and column.reference not in self.draft.columns
        ]
        needed = sum(self.draft.column_cost(column, ["context"], "name") for column in columns)
        return min(needed, int(SHARE_FOR_NAMES * self.making.budget))

    def _offer(self, name: str, worth: float, price: int, action: Callable[[], None]) -> None:
        self._actions[name] = action
        heapq.heappush(self._waiting, (-worth / max(price, 1), name, price))

    def _deeper(self, reference: str, depth: Depth, share: float) -> None:
        """A taken column in more detail."""
        taken = self.draft.columns[reference]
        price = self.draft.take_cost(taken.facts, taken.why, depth)
        worth = max(taken.score, 0.1) * max(WORTH[reason] for reason in taken.why) * share

        def take() -> None:
            self.draft.take_column(taken.facts, taken.score, taken.why, depth, 0.0)
            if depth == "short":
                self._deeper(reference, "full", FULL)

        self._offer(f"{depth} {reference}", worth, price, take)

    def _another(self, pick: Pick) -> None:
        """A column that is not taken yet."""
        column = pick.column
        here = 1.0 if column.table in self.draft.tables else ELSEWHERE
        # What a facet reads is in few rows, often: it is worth as much as it covers.
        covered = column.coverage if column.kind == "facet" and column.coverage is not None else 1.0

        def take() -> None:
            links = self._links(column.table)  # By now other tables may be there than when it was offered.
            joined = self.making.fits(self._price(pick, links))
            if self.making.take(pick, "name"):
                for link in links if joined else ():
                    self.draft.take_plan(link)
                self._deeper(column.reference, "short", 1.0)

        alone = self.draft.take_cost(column, pick.why, "name")
        joined = self._price(pick, self._links(column.table))
        # It is rated with its joins, but where they do not fit it may still come without.
        self._offer(f"name {column.reference}", pick.score * here * covered * alone / max(joined, 1), alone, take)

    def _links(self, table: str) -> list[RelationFacts]:
        """How a table that is not taken yet would join with those that are: one join for each connected part."""
        if table in self.draft.tables:
            return []
        found = [
            best_link(table, part, self.making.objects.relations_of)
            for part in connected_parts(self.draft.tables, self.draft.planned)
        ]
        return [link for link in found if link is not None]

    def _price(self, pick: Pick, links: Sequence[RelationFacts]) -> int:
        """Of a column, and of the joins that its table comes with."""
        price = self.draft.take_cost(pick.column, pick.why, "name")
        own = self.draft.table_cost(pick.column.table)
        return price + sum(self.draft.plan_cost(link) - own for link in links)

    def _categories(self) -> None:
        """Values of the strong tables' categorical text columns: a word of the question may mean one of them (`won`, a
        stage) though neither name nor value says so, and looking them up is the query that is asked most."""
        for table, score in list(self.draft.tables.items()):
            for column in self.making.objects.columns(table):
                group = column.values
                if score < STRONG or group is None or not group.complete or group.distinct > FEW:
                    continue
                if column_kind(column.type) not in ("text", "enum") or group.distinct < 2:
                    continue
                taken = self.draft.columns.get(column.reference)
                pick = Pick(column, taken.score if taken else 0.0, tuple(taken.why) if taken else ("context",))
                price = self.draft.take_cost(column, pick.why, "short")
                self._offer(f"values {column.reference}", CATEGORY_WORTH * score, price, partial(self._category, pick))

    def _category(self, pick: Pick) -> None:
        taken = self.draft.columns.get(pick.column.reference)
        if taken is None or taken.depth == "name":
            self.making.take(pick, "short")

    def _references(self) -> None:
        """What the keys of the taken tables refer to, and what names the rows of those that are taken: an id answers no
        question that asks for a name."""
        for table, score in list(self.draft.tables.items()):
            for column in naming_columns(self.making.objects, table):
                taken = self.draft.columns.get(column.reference)
                pick = Pick(column, taken.score if taken else 0.0, tuple(taken.why) if taken else ("context",))
                price = self.draft.take_cost(column, pick.why, "short")
                worth = NAMING_WORTH * max(score, STRONG)
                self._offer(f"naming {column.reference}", worth, price, partial(self._category, pick))
        for each in references(self.making):
            price = self.draft.plan_cost(each.relation) + sum(
                self.draft.column_cost(column, ("context",), "short") for column in each.columns
            )
            action = partial(self._reference, each)
            self._offer(f"reference {each.relation.reference}", REFERENCE_WORTH * each.worth, price, action)

    def _reference(self, reference: Reference) -> None:
        if reference.table in self.draft.tables or not self.making.fits(self.draft.plan_cost(reference.relation)):
            return
        self.draft.take_plan(reference.relation)
        for column in reference.columns:
            self.making.take(Pick(column, 0.0, ("context",)), "short")

    def _small_tables(self) -> None:
        """Where there are few tables, those that nothing called for, by their columns: one of them may say what a code
        or a name stands for, and a reader who sees all need not look."""
        objects, draft = self.making.objects, self.draft
        if len(objects.tables) > FEW_TABLES:
            return
        left = [table for table, facts in objects.tables.items() if table not in draft.tables]
        small = [table for table in sorted(left) if objects.tables[table].columns <= SMALL_TABLE][:MOST_SMALL]
        objects.load(small)
        for table in small:
            columns = [column for column in objects.columns(table) if column.kind == "column"]
            price = draft.table_cost(table) + sum(draft.column_cost(each, (), "short") for each in columns)
            links = self._links(table)
            if columns and self.making.fits(price):
                for column in columns:
                    self.making.take(Pick(column, 0.0, ("context",)), "short")
                for link in links:
                    if self.making.fits(self.draft.plan_cost(link)):
                        self.draft.take_plan(link)

    def _facts(self) -> None:
        """Anchors, descriptions of tables, further joins, passages."""
        making, draft = self.making, self.draft
        places = self._places()
        for number, anchor in enumerate(making.anchors):
            # A weak sighting is worth a line only beside the column that it speaks of.
            least = SURE_NAME if anchor.kind in ("name", "document") else SURE_VALUE
            if anchor.score < least and (anchor.kind == "name" or anchor.reference not in draft.columns):
                continue
            if anchor.reference not in draft.columns and self._is_thin(anchor.reference):
                continue
            if anchor.kind == "number" and anchor.score < SURE_VALUE:
                continue  # Most numbers lie in the range of most number columns.
            price = lines_cost([ANCHORS, anchor_line(anchor, places)])
            worth = anchor.score * (NAME_WORTH if anchor.kind in ("name", "document") else ANCHOR_WORTH)
            self._offer(f"anchor {number:04}", worth, price, partial(making.take_anchor, anchor, places))
        for table in list(draft.tables):
            price = draft.description_cost(table)
            if price > 0:
                worth = max(draft.tables[table], 0.2) * TABLE_WORTH
                self._offer(f"table {table}", worth, price, partial(draft.describe, table))
        planned = {relation.reference for relation in draft.planned}
        for relation in making.joins_between():
            if relation.reference not in planned:
                price = draft.join_cost(relation, in_plan=False)
                action = partial(draft.take_join, relation, in_plan=False)
                self._offer(f"join {relation.reference}", JOIN_WORTH * relation.confidence, price, action)
        letters = max(160, min(3_000, making.budget // 2))
        found = passages_for(list(draft.tables), list(draft.columns), making.anchors, making.objects, letters)
        for worth, passage in found:
            price = lines_cost(passage_lines(passage))
            action = partial(making.take_passage, passage)
            self._offer(f"passage {passage.reference}", PASSAGE_WORTH * worth, price, action)

    def _places(self) -> dict[str, str]:
        """How the objects that anchors name are written in SQL, whether they are taken already or will be."""
        objects, found = self.making.objects, {}
        for anchor in self.making.anchors:
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
        found = self.making.objects.columns(table)
        return next((each for each in found if each.reference == reference and each.kind != "column"), None)

    def _is_thin(self, reference: str) -> bool:
        """Whether it is a facet that few rows have."""
        table = self.making.objects.table_of(reference)
        column = self._inner(table, reference) if table is not None else None
        return column is not None and _is_thin(column)

    def _fill(self) -> None:
        """The other columns of the taken tables by name, which costs little and saves a look at the schema; then, with
        what is left of the budget, their values and how to clean them."""
        draft, making = self.draft, self.making
        tables = sorted(draft.tables, key=lambda each: (-draft.tables[each], each))
        columns = [column for table in tables for column in making.objects.columns(table) if column.kind == "column"]
        why: list[Why] = ["context"]
        for column in columns:
            if column.reference not in draft.columns and making.fits(draft.take_cost(column, why, "name")):
                draft.take_column(column, 0.0, why, "name", 0.0)
        for column in columns:
            taken = draft.columns.get(column.reference)
            if taken is not None and taken.depth == "name":
                price = draft.take_cost(column, taken.why, "short")
                if making.fits(price):
                    draft.take_column(column, taken.score, taken.why, "short", 0.0)
        for column in columns:
            taken, group = draft.columns.get(column.reference), column.values
            if taken is not None and taken.depth == "short" and group is not None and group.complete:
                # A list of few values that was cut, told to its end.
                price = draft.take_cost(column, taken.why, "full")
                if group.distinct <= FEW and making.fits(price):
                    draft.take_column(column, taken.score, taken.why, "full", 0.0)


def _is_thin(column: ColumnFacts) -> bool:
    return column.kind == "facet" and column.coverage is not None and column.coverage < THIN
