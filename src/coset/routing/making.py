"""A view being made: the request, the environment, the budget, and what was taken so far.

Shared by the steps of materialisation (`covering`, `refining`), which change it one after the other. Holds no rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from coset.routing.anchor_text import ANCHORS, anchor_line
from coset.routing.choice import Pick, Wanted
from coset.routing.cost import lines_cost
from coset.routing.details import Depth, Width
from coset.routing.draft import Draft
from coset.routing.facts import RelationFacts
from coset.routing.join_plan import JoinPlan
from coset.routing.objects_of_state import StateObjects
from coset.routing.request import Anchor
from coset.routing.view import Passage
from coset.routing.view_text import passage_lines

TELLS_UNFOUND = 150
"""The least budget of a view that tells what was not found."""


SURE_MEMBER, MOST_MEMBERS = 0.6, 10


@dataclass
class Making:
    """One materialisation. `draft.spent` is what the text costs so far; it must not exceed `budget`."""

    wanted: Wanted
    anchors: Sequence[Anchor]
    objects: StateObjects
    budget: int
    draft: Draft
    shown_anchors: list[Anchor] = field(default_factory=list)
    passages: list[Passage] = field(default_factory=list)
    sources: tuple[tuple[str, str, int], ...] = ()
    unfound: tuple[str, ...] = ()
    kept_back: int = 0
    """Of the budget, for names of columns that come last."""
    plan: JoinPlan = field(default_factory=lambda: JoinPlan((), (), ()))

    @classmethod
    def begin(cls, wanted: Wanted, anchors: Sequence[Anchor], objects: StateObjects, budget: int) -> Making:
        objects.forget_lines()
        width = Width(values=max(120, min(1_200, budget // 8)), description=max(100, min(600, budget // 12)))
        draft = Draft(objects, width, _anchored(anchors), _members(anchors, objects))
        # In a small view the line would take the place of what it is about.
        unfound = wanted.unfound if budget >= TELLS_UNFOUND or not wanted.matched else ()
        return cls(wanted, anchors, objects, budget, draft, unfound=unfound)

    def fits(self, price: int, limit: int | None = None) -> bool:
        return self.draft.spent + price <= (self.budget - self.kept_back if limit is None else limit)

    def take(self, pick: Pick, depth: Depth, limit: int | None = None) -> bool:
        """Take a column with its table, unless that passes the limit."""
        if not self.fits(self.draft.take_cost(pick.column, pick.why, depth), limit):
            return False
        table = self.wanted.tables.get(pick.column.table, 0.0)
        self.draft.take_column(pick.column, pick.score, pick.why, depth, table)
        return True

    def has(self, pick: Pick) -> bool:
        return pick.column.reference in self.draft.columns

    def take_anchor(self, anchor: Anchor, places: dict[str, str]) -> None:
        heading = [] if self.shown_anchors else [ANCHORS]
        self.draft.spent += lines_cost([*heading, anchor_line(anchor, places)])
        self.shown_anchors.append(anchor)

    def take_passage(self, passage: Passage) -> None:
        self.draft.spent += lines_cost(passage_lines(passage))
        self.passages.append(passage)

    def joins_between(self) -> list[RelationFacts]:
        """The relations between the taken tables, the surest first; a family's with its key is told by the family."""
        chosen = self.draft.tables
        found = {
            relation.reference: relation
            for table in chosen
            for relation in self.objects.relations_of.get(table, ())
            if relation.left_table in chosen and relation.right_table in chosen and relation.kind != "table_name"
        }
        return sorted(found.values(), key=lambda relation: (-relation.confidence, relation.reference))


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
