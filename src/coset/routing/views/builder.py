"""The view builder: from the selected objects to a directory and details, each within its budget.

In: demand, anchors, scores, the environment's facts, a budget. Out: an `EvidenceView`. The prefix is the environment's
own (`directory`). Of the details, first every wanted column by name, the joins that connect their tables with the keys
they need, and the competitors; then the likeliest tables with all their columns by name; then whatever is worth most
for its cost (`offers`): values, ranges, codes, cleaning expressions, passages. So a smaller budget shows the same
objects in less detail before it shows fewer. What did not fit is counted, and the strongest of it named. Equal input
gives an equal view, byte for byte. Of the question itself only the phrases that nothing was found for are among the
input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from coset.errors import UserError
from coset.routing.objects.facts import RelationFacts
from coset.routing.objects.objects_of_state import StateObjects
from coset.routing.request import Anchor
from coset.routing.views.budgets import cost, lines_cost
from coset.routing.views.choice import Pick, Selection
from coset.routing.views.details import Depth, Width
from coset.routing.views.directory import Prefix, directory_entries, rule_passages, section_passage
from coset.routing.views.join_plan import JoinPlan, best_link, connected_parts, join_plan, not_implied
from coset.routing.views.offers import Offers
from coset.routing.views.parts import MainTables, ViewParts
from coset.routing.views.text import (
    ANCHORS,
    LIKELY,
    MAIN,
    alike,
    anchor_line,
    anchor_place,
    apart_line,
    details_lines,
    directory_lines,
    left_out_lines,
    likely_line,
    main_lines,
    passage_lines,
    prefix_lines,
    source_lines,
    unfound_lines,
)
from coset.routing.views.view import DirectoryEntry, EvidenceView, LeftOut, Passage, ViewRule

COVERING, CONNECTING, WIDENING, COMPETING = 0.25, 0.3, 0.62, 0.65
"""The shares of the budget up to which wanted objects by name, then joins, then the likeliest tables, then competitors
may fill it."""
TABLE_ROOM = 240
"""A table needs about so many tokens to be told of, with its join: more tables by name alone would help nobody."""
WIDE = 0.2
"""Of a table whose column names take more than this share of the budget the first ones come with it."""
MAIN_TABLES, MAIN_JOINS, SURE_JOIN = 0.6, 0.75, 0.5
"""The shares of their budget up to which main tables by name, then joins between them, may fill it, and how sure these
are; the rest is for facts."""
RULES_SHARE = 0.25
NEXT_BEST = 5
"""So many of the strongest that fell out are named, where the budget is not small."""
SMALL = 600
TELLS_UNFOUND = 150
"""The least budget of a view that tells what was not found."""
MOST_UNREAD = 4
ROOM_FOR_SOURCES = 0.1
SURE_MEMBER, MOST_MEMBERS = 0.6, 10
MOST_COUNTS = {
    "tables": 99_999, "columns": 999_999, "paths and facets": 999_999, "joins between shown tables": 999, "anchors": 40,
}  # fmt: skip


def in_order_of_score(anchors: Sequence[Anchor]) -> list[Anchor]:
    return sorted(anchors, key=lambda each: (-each.score, *_order(each)))


@dataclass
class ViewBuilder:
    """One view while it is built. `parts.spent` is what the details cost so far; it must not exceed `budget`."""

    selection: Selection
    anchors: Sequence[Anchor]
    objects: StateObjects
    budget: int
    prefix: Prefix
    parts: ViewParts
    shown_anchors: list[Anchor] = field(default_factory=list)
    passages: list[Passage] = field(default_factory=list)
    asked: int = 0
    """The budget that was asked for: with what main tables take of it."""
    rules: tuple[ViewRule, ...] = ()
    sources: tuple[tuple[str, str, int], ...] = ()
    unfound: tuple[str, ...] = ()
    told: frozenset[str] = frozenset()
    """References of documents that stand in the prefix, or in the view that this one is opened beside."""
    kept_back: int = 0
    """Of the budget, for names of columns that come last."""
    plan: JoinPlan = field(default_factory=lambda: JoinPlan((), (), ()))

    @classmethod
    def begin(
        cls,
        selection: Selection,
        anchors: Sequence[Anchor],
        objects: StateObjects,
        details: int,
        prefix: Prefix,
    ) -> ViewBuilder:
        """A view of so many tokens of details, those of the main tables among them."""
        objects.forget_lines()
        width = Width(values=max(120, min(1_200, details // 8)), description=max(100, min(600, details // 12)))
        # In a small view a table shows what is wanted of it; in others every column, at least by name.
        widest = int(details * WIDE) if details >= SMALL else 0
        parts = ViewParts(
            objects, width, _anchored(anchors), _members(anchors, objects), widest=widest, code_sets=prefix.code_sets,
            main=prefix.main,
        )  # fmt: skip
        # In a small view the line would take the place of what it is about.
        unfound = selection.unfound if details >= TELLS_UNFOUND or not selection.matched else ()
        told = {passage.reference for passage in prefix.passages}
        told |= {f"{source}#description" for source, _ in prefix.descriptions}
        own = details - prefix.main.cost
        return cls(
            selection, anchors, objects, own, prefix, parts, asked=details, unfound=unfound, told=frozenset(told)
        )  # fmt: skip

    def build(self) -> EvidenceView:
        if self.budget < (least := self._least()):
            raise UserError(
                f"a budget of {self.budget} tokens holds not even one object: this question needs at least {least}"
            )
        self.parts.spent = self._scaffold()
        self.parts.begin_with_main(self.selection.tables)
        if not self.prefix.sources:
            self._take_sources()
        self._cover()
        self._connect()
        self._take_rules()
        self._widen()
        self._compete()
        Offers(self).take()
        return self._within_budget()

    def build_opened(self, beside: Sequence[str]) -> EvidenceView:
        """All of the selected tables, then their joins with each other and with those `beside`, then details."""
        self.parts.spent = self._scaffold()
        opened_sections = {each.reference: each for each in self.objects.knowledge.sections}
        for reference in self.selection.passages:
            passage = section_passage(opened_sections[reference])
            if self.fits(lines_cost(passage_lines(passage))):
                self.take_passage(passage)
        for table in self.selection.order:
            if not self.parts.tables or self.fits(self.parts.table_cost(table)):
                self.parts.take_table(table, 1.0)
        for pick in self.selection.rest:
            if pick.column.table in self.parts.tables:
                self.take(pick, "name")
        near = {*self.parts.tables, *beside}
        for table in self.selection.order:
            for relation in self.objects.relations_of.get(table, ()):
                known = relation.kind == "table_name" or relation in self.parts.others
                if known or not {relation.left_table, relation.right_table} <= near:
                    continue
                if self.fits(self.parts.join_cost(relation, in_plan=False)):
                    self.parts.take_join(relation, in_plan=False)
        Offers(self).take()
        return self._within_budget()

    def build_main(self, budget: int) -> MainTables:
        """The selected tables as the prefix tells of them: their columns by name, how they join, and what decides."""
        self.budget = budget
        parts = self.parts
        parts.spent = lines_cost([MAIN])
        limit = int(budget * MAIN_TABLES)
        for table in self.selection.order:
            if self.fits(parts.table_cost(table), limit):
                parts.take_table(table, self.selection.tables[table])
        limit = int(budget * MAIN_JOINS)
        for relation in self.joins_between():
            if relation.confidence >= SURE_JOIN and self.fits(parts.join_cost(relation, in_plan=False), limit):
                parts.take_join(relation, in_plan=False)
        Offers(self).tell()
        tables, relations = parts.view_tables(), parts.view_relations()
        shorthands = parts.view_shorthands(tables, relations)
        return MainTables(
            tables, relations, shorthands, parts.columns,
            {column.reference: column for table in tables for column in table.columns},
            {relation.reference: relation for relation in parts.others}, frozenset(parts.tables),
            lines_cost(main_lines(tables, relations, shorthands)),
        )  # fmt: skip

    # What may be taken

    @property
    def most_tables(self) -> int:
        """So many tables are told of: a few with what decides help more than many by their names."""
        return max(2, self.budget // TABLE_ROOM)

    def has_room_for(self, table: str, more: int = 0) -> bool:
        return table in self.parts.tables or len(self.parts.own_tables) < self.most_tables + more

    @property
    def likely_main(self) -> tuple[str, ...]:
        """The main tables that the question likely needs, the likeliest first."""
        main = self.parts.main.references
        return tuple(table for table in self.selection.order[: self.most_tables] if table in main)

    def is_left_behind(self, reference: str) -> bool:
        """Whether it lies in a copy, a leftover or an outdated list that is not shown: no question should find it
        before what holds."""
        table = self.objects.table_of(reference)
        if table is None or table in self.parts.tables:
            return False
        knowledge = self.objects.knowledge
        return knowledge.original(table) != table or table in knowledge.outdated_lists

    def fits(self, price: int, limit: int | None = None) -> bool:
        return self.parts.spent + price <= (self.budget - self.kept_back if limit is None else limit)

    def take(self, pick: Pick, depth: Depth, limit: int | None = None) -> bool:
        """Take a column with its table, unless that passes the limit."""
        if not self.fits(self.parts.take_cost(pick.column, pick.why, depth), limit):
            return False
        table = self.selection.tables.get(pick.column.table, 0.0)
        self.parts.take_column(pick.column, pick.score, pick.why, depth, table)
        return True

    def has(self, pick: Pick) -> bool:
        return pick.column.reference in self.parts.columns

    def anchor_cost(self, anchor: Anchor, places: dict[str, str]) -> int:
        """Of its line, or of its place in the line of one that is like it."""
        if any(alike(each) == alike(anchor) for each in self.shown_anchors):
            return cost(f"; {anchor_place(anchor, places)}")
        return lines_cost([*([] if self.shown_anchors else [ANCHORS]), anchor_line(anchor, places)])

    def take_anchor(self, anchor: Anchor, places: dict[str, str]) -> None:
        self.parts.spent += self.anchor_cost(anchor, places)
        self.shown_anchors.append(anchor)

    def take_passage(self, passage: Passage) -> None:
        self.parts.spent += lines_cost(passage_lines(passage))
        self.passages.append(passage)

    def joins_between(self) -> list[RelationFacts]:
        """The relations between the taken tables, the surest first; a family's with its key is told by the family."""
        chosen = self.parts.tables
        found = {
            relation.reference: relation
            for table in chosen
            for relation in self.objects.relations_of.get(table, ())
            if relation.left_table in chosen and relation.right_table in chosen and relation.kind != "table_name"
        }
        ordered = sorted(found.values(), key=lambda relation: (-relation.confidence, relation.reference))
        return not_implied(ordered, self.parts.known_joins)

    def links(self, table: str) -> list[RelationFacts]:
        """How a table that is not taken yet would join with those that are: one join for each connected part."""
        if table in self.parts.tables:
            return []
        found = [
            best_link(table, part, self.objects.relations_of)
            for part in connected_parts(self.parts.tables, self.parts.known_joins)
        ]
        return [link for link in found if link is not None]

    # The steps

    def _cover(self) -> None:
        """Every wanted column by name, the most wanted first; a facet or path with its expression."""
        limit = int(self.budget * COVERING)
        tables, main = self.parts.tables, self.parts.main.references
        likeliest = {*main, *[table for table in self.selection.order if table not in main][: self.most_tables]}
        for number, pick in enumerate(self.selection.picks):
            if number == 0 or (pick.column.table in likeliest and self.has_room_for(pick.column.table)):
                self.take(pick, "name", self.budget if number == 0 else limit)
        if not tables:
            relevance = self.selection.tables or dict.fromkeys(self.selection.order, 0.0)
            best = min(relevance, key=lambda table: (-relevance[table], table))
            self.parts.take_table(best, relevance[best])

    def _connect(self) -> None:
        """The plan that joins the tables taken so far, with its keys and the tables that only connect."""
        tables = {table: self.parts.tables[table] for table in (*self.parts.own_tables, *self.likely_main)}
        self.plan = join_plan(sorted(tables, key=lambda table: (-tables[table], table)), self.objects.relations_of)
        self.objects.load(self.plan.connecting)
        limit = int(self.budget * CONNECTING)
        for relation in self.plan.joins:
            if self.fits(self.parts.plan_cost(relation), limit):
                self.parts.take_plan(relation)

    def _compete(self) -> None:
        """The strongest competitor of each wanted column, by name."""
        limit = int(self.budget * COMPETING)
        for pick in self.selection.competitors:
            if self.has_room_for(pick.column.table):
                self.take(pick, "name", limit)

    def _take_rules(self) -> None:
        """Rules that govern what was taken, then those about an entity that the question touches, and the sections that
        the question found, unless the prefix has the documents whole."""
        if self.prefix.has_documents:
            return
        knowledge = self.objects.knowledge
        taken = {*self.parts.tables, *self.parts.columns, *self.selection.order[: self.budget // TABLE_ROOM]}
        general = {rule.reference for rule in self.prefix.rules}
        touched = {identity for coordinate, identity, _ in self.selection.demanded if coordinate == "entity"}
        governing = {
            rule.reference: 0 if rule.is_general else 1 if taken.intersection(rule.about) else 2
            for rule in knowledge.rules
            if rule.is_general or taken.intersection(rule.about) or rule.entity in touched
        }
        rules = [
            rule
            for rule in sorted(knowledge.rules, key=lambda each: (governing.get(each.reference, 3), each.reference))
            if not rule.status and rule.reference not in general and rule.reference in governing
        ]
        sections = {section.reference: section for section in knowledge.sections}
        asked = [section_passage(sections[each]) for each in self.selection.passages if each in sections]
        found = {passage.reference for passage in asked}
        limit = min(self.budget, self.parts.spent + int(self.budget * RULES_SHARE))
        for passage in (*asked, *(each for each in rule_passages(rules, self.objects, whole=False))):
            if passage.reference in found and passage not in asked:
                continue
            if self.fits(lines_cost(passage_lines(passage)), limit):
                self.take_passage(passage)
        shown = {passage.reference for passage in self.passages}
        self.rules = tuple(
            ViewRule(rule.reference, rule.text, "particular", rule.about) for rule in rules if rule.section in shown
        )

    def _widen(self) -> None:
        """The likeliest tables, each with all its columns by name and the joins that connect it."""
        if self.budget < SMALL:
            return
        limit = int(self.budget * WIDENING)
        main = self.parts.main.references
        for table in [each for each in self.selection.order if each not in main][: 2 * self.most_tables]:
            links = self.links(table)
            if table in self.parts.tables or not self.has_room_for(table):
                continue
            if not self.fits(self.parts.table_cost(table), limit):
                continue
            self.parts.take_table(table, self.selection.tables.get(table, 0.0))
            for link in links:
                if self.fits(self.parts.plan_cost(link), limit):
                    self.parts.take_plan(link)

    # The result

    def _finished(self) -> EvidenceView:
        tables, relations = self.parts.view_tables(), self.parts.view_relations()
        prefix = self.prefix
        view = EvidenceView(
            environment=self.objects.digest,
            budget=self.asked,
            cost=0,
            matched=True,
            tables=tables,
            relations=relations,
            anchors=tuple(in_order_of_score(self.shown_anchors)),
            passages=(*prefix.passages, *sorted(self.passages, key=lambda each: each.reference)),
            left_out=self._left_out(),
            sources=prefix.sources or self.sources,
            apart=self._apart(),
            shorthands=self.parts.view_shorthands(tables, relations),
            unfound=self.unfound,
            unread=self._unread(),
            demanded=self.selection.demanded,
            description=prefix.description,
            descriptions=prefix.descriptions,
            rules=(*prefix.rules, *self.rules),
            directory=(*prefix.directory, *self._likely_entries()),
            listed=len(prefix.directory),
            unlisted=prefix.unlisted,
            closed=prefix.closed,
            codes=prefix.codes,
            main=prefix.main.tables,
            main_relations=prefix.main.relations,
            main_shorthands=prefix.main.shorthands,
            likely_main=self.likely_main,
        )
        return with_cost(view, self.prefix)

    def _likely_entries(self) -> tuple[DirectoryEntry, ...]:
        """Where the directory cannot list all tables, those that the question most likely needs beside the details."""
        room = self.prefix.open_room - lines_cost([LIKELY])
        listed = {entry.reference for entry in self.prefix.directory}
        found: list[DirectoryEntry] = []
        for entry in directory_entries(self.objects, [each for each in self.selection.order if each not in listed]):
            price = lines_cost(directory_lines([entry])[1:])
            if price > room:
                break
            found.append(entry)
            room -= price
        return tuple(sorted(found, key=lambda entry: self.objects.tables[entry.reference].order))

    def _within_budget(self) -> EvidenceView:
        """Costs are known before anything is taken, but for counts and headings; where those ran over, extras go
        again."""
        view = self._finished()
        while view.cost - view.prefix_cost > self.budget + self.prefix.open_room:
            parts = self.parts
            if self.passages:
                self.passages.pop()
            elif self.shown_anchors:
                self.shown_anchors.pop()
            elif self.sources:
                self.sources = ()
            elif self.unfound:
                self.unfound = ()
            elif parts.others:
                parts.others.pop()
            elif len(own := [each for each in parts.columns.values() if each.facts.table in parts.own_tables]) > 1:
                weakest = min(own, key=lambda each: (each.score, each.facts.reference))
                del parts.columns[weakest.facts.reference]
            else:
                raise UserError(f"a budget of {self.budget} tokens is too small: give at least {view.cost}")
            view = self._finished()
        return view

    def _unread(self) -> tuple[str, ...]:
        """The long texts of shown tables in which an unfound phrase may stand."""
        shown = self.parts.columns
        return tuple(each for each in self.selection.unread if each in shown)[:MOST_UNREAD] if self.unfound else ()

    def _apart(self) -> tuple[str, ...]:
        """Chosen tables outside the largest connected part; a family that a shown column names is not apart."""
        shown = self.parts.tables
        main = self.parts.main.references
        if len(connected_parts(shown, self.parts.known_joins)) <= 1:
            return ()
        if set(shown) - {table for part in self.plan.parts for table in part}:
            # Tables came in after the plan was made.
            strongest = sorted(shown, key=lambda table: (-shown[table], table))
            self.plan = join_plan(strongest, self.objects.relations_of)
        named = {
            table
            for relation in self.objects.relations
            if relation.kind == "table_name" and relation.left_table in shown and relation.right_table in shown
            for table in (relation.left_table, relation.right_table)
        }
        return tuple(
            table
            for part in self.plan.parts[1:]
            for table in part
            if table in shown and table not in named and table not in main
        )

    def _left_out(self) -> LeftOut:
        parts, objects, selection = self.parts, self.objects, self.selection
        columns = sum(each.facts.kind == "column" for each in parts.columns.values())
        counts = {
            "tables": len(objects.tables) - len(parts.tables),
            "columns": objects.columns_in_all - columns,
            "paths and facets": objects.inner_in_all - (len(parts.columns) - columns),
            "joins between shown tables": len(self.joins_between()) - len(parts.others),
            "anchors": len(self.anchors) - len(self.shown_anchors),
        }
        fell = [
            (-pick.score, pick.column.reference)
            for pick in (*selection.picks, *selection.competitors, *selection.rest)
            if not self.has(pick) and pick.column.kind != "facet"
        ]
        # Where a directory lists everything, what fell out is seen there.
        strongest = sorted(fell)[: NEXT_BEST if self.budget >= SMALL and not self.prefix.directory else 0]
        return LeftOut(
            {kind: count for kind, count in counts.items() if count > 0},
            tuple((reference, "no room") for _, reference in strongest),
        )

    def _scaffold(self) -> int:
        """What stands around the objects: the first line where there is no prefix, and room for the count of what was
        left out."""
        header = [] if self.prefix.sources else prefix_lines(nothing())
        if self.budget < SMALL:
            said = unfound_lines(self.unfound, ())
            return lines_cost([*header, *said, *left_out_lines(LeftOut(MOST_COUNTS))])
        names = self.objects.tables
        main = [likely_line([names[each].sql_name for each in self.likely_main])] if self.likely_main else []
        nearest = tuple((pick.column.reference, "no room") for pick in self.selection.rest[:NEXT_BEST])
        said = unfound_lines(self.unfound, self.selection.unread[:MOST_UNREAD])
        counted = left_out_lines(LeftOut(MOST_COUNTS, nearest))
        return lines_cost([*header, *main, *said, *counted, apart_line(["x" * 40] * 2)])

    def _take_sources(self) -> None:
        """All sources with their tables, where that takes a small part of the budget."""
        listed = _listed(self.objects)
        price = lines_cost(source_lines("", listed, ()))
        if price <= self.budget * ROOM_FOR_SOURCES:
            self.sources = listed
            self.parts.spent += price

    def _least(self) -> int:
        """The cost of the smallest view that shows something: the best object by name."""
        trial = replace(
            self,
            budget=0,
            unfound=(),
            parts=replace(
                self.parts,
                main=MainTables(),
                tables={},
                columns={},
                spent=0,
                widest=0,
                _own={},
                _bare=set(),
                names=set(),
            ),
        )
        if trial.selection.picks:
            pick = trial.selection.picks[0]
            trial.parts.take_column(pick.column, pick.score, pick.why, "name", 0.0)
        else:
            trial._cover()
        return trial._scaffold() + trial.parts.spent

    def without_match(self) -> EvidenceView:
        """Nothing was found: the view says so and lists the sources, all of them if they fit; a prefix stays."""
        objects, prefix = self.objects, self.prefix
        view = replace(
            nothing(),
            environment=objects.digest, budget=self.asked, demanded=self.selection.demanded, unfound=self.unfound,
            left_out=LeftOut({"tables": len(objects.tables), "columns": objects.columns_in_all}),
            sources=prefix.sources or _listed(objects), descriptions=prefix.descriptions, rules=prefix.rules,
            description=prefix.description, passages=prefix.passages, directory=prefix.directory,
            listed=len(prefix.directory), unlisted=prefix.unlisted, closed=prefix.closed,
            codes=prefix.codes, main=prefix.main.tables, main_relations=prefix.main.relations,
            main_shorthands=prefix.main.shorthands,
        )  # fmt: skip
        view = with_cost(view, prefix)
        if view.cost - view.prefix_cost > self.budget and not prefix.sources:
            view = with_cost(replace(view, sources=()), prefix)
        if view.cost - view.prefix_cost > self.budget:
            view = with_cost(replace(view, unfound=()), prefix)
        if view.cost - view.prefix_cost > self.budget:
            raise UserError(f"a budget of {self.budget} tokens holds no view at all: give at least {view.cost}")
        return view


def with_cost(view: EvidenceView, prefix: Prefix) -> EvidenceView:
    """The view with what its text costs: lines add up. Without a prefix the first lines count as details."""
    if prefix.sources and not prefix.counted:
        prefix.counted.append(lines_cost(prefix_lines(view)))  # Once: no question changes it.
    before = prefix.counted[0] if prefix.sources else lines_cost(prefix_lines(view))
    after = lines_cost(details_lines(view))
    return replace(view, cost=before + after, prefix_cost=before if prefix.sources else 0)


def nothing() -> EvidenceView:
    return EvidenceView("", 0, 0, False, (), (), (), (), LeftOut())


def _listed(objects: StateObjects) -> tuple[tuple[str, str, int], ...]:
    return tuple((each.name, each.kind, each.tables) for each in objects.sources.values())


def _order(anchor: Anchor) -> tuple[str, ...]:
    return anchor.phrase, anchor.reference, anchor.kind, anchor.match, anchor.value or "", anchor.note


def _anchored(anchors: Sequence[Anchor]) -> dict[str, list[str]]:
    """By column, the stored values that the question names."""
    found: dict[str, list[str]] = {}
    for anchor in anchors:
        if anchor.kind in ("value", "code") and anchor.value is not None:
            kept = found.setdefault(anchor.reference, [])
            if anchor.value not in kept and len(kept) < 5:
                kept.append(anchor.value)
    return found


def _members(anchors: Sequence[Anchor], objects: StateObjects) -> dict[str, list[str]]:
    """By family, the members that the question surely names or leads to, the surest first."""
    found: dict[str, list[str]] = {}
    for anchor in sorted(anchors, key=lambda each: (-each.score, each.phrase, each.reference, each.value or "")):
        table = objects.tables.get(anchor.reference)
        if table is None or table.family is None or anchor.score < SURE_MEMBER:
            continue
        kept = found.setdefault(anchor.reference, [])
        named = {text.lower() for text in (anchor.value, anchor.phrase) if text}
        kept += [member for member in table.family.members if member.lower() in named and member not in kept]
    return {reference: members[:MOST_MEMBERS] for reference, members in found.items()}
