"""The budgeted choice: from what is wanted to a view whose text costs no more than the budget.

In: demand, anchors, scores, the environment's facts, a budget in tokens. Out: an `EvidenceView`. First every wanted
column by name, the joins that connect their tables with the keys they need, and the competitors; then whatever is worth
most for its cost: values, ranges, cleaning expressions, passages, further columns. So a smaller budget shows the same
objects in less detail before it shows fewer. What did not fit is counted, and the strongest of it named.
Equal input gives an equal view, byte for byte. Of the question itself only the phrases that nothing was found for are
among the input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from coset.errors import UserError
from coset.identities.inventory import Inventory
from coset.routing.anchor_text import unfound_lines
from coset.routing.choice import ChoiceSettings, Wanted, choose
from coset.routing.cost import cost, lines_cost
from coset.routing.covering import compete, connect, cover
from coset.routing.join_plan import connected_parts, join_plan
from coset.routing.making import Making
from coset.routing.objects_of_state import StateObjects
from coset.routing.refining import Refining
from coset.routing.request import Anchor, Demand, Ranked
from coset.routing.view import EvidenceView, LeftOut
from coset.routing.view_text import HEADER, apart_line, left_out_lines, source_lines, view_lines, view_text

DEFAULT_BUDGET = 2_000
NEXT_BEST = 5
"""So many of the strongest that fell out are named, where the budget is not small."""
SMALL = 600
MOST_UNREAD = 4
ROOM_FOR_SOURCES = 0.1
MOST_COUNTS = {
    "tables": 99_999, "columns": 999_999, "paths and facets": 999_999, "joins between shown tables": 999, "anchors": 40,
}  # fmt: skip


def materialise(
    demand: Demand,
    anchors: Sequence[Anchor],
    scores: Ranked,
    objects: StateObjects,
    inventory: Inventory,
    budget: int = DEFAULT_BUDGET,
    settings: ChoiceSettings | None = None,
) -> EvidenceView:
    """V_B(D, q). Raises `UserError` with the least budget when not even one object fits."""
    ordered = sorted(anchors, key=lambda each: (-each.score, *_order(each)))
    wanted = choose(demand, ordered, scores, objects, inventory, settings or ChoiceSettings())
    return view_of(wanted, ordered, objects, budget)


def view_of(wanted: Wanted, anchors: Sequence[Anchor], objects: StateObjects, budget: int) -> EvidenceView:
    """The view of what is wanted."""
    making = Making.begin(wanted, anchors, objects, budget)
    if not wanted.matched:
        return _without_match(making)
    if budget < (least := _least(making)):
        raise UserError(f"a budget of {budget} tokens holds not even one object: this question needs at least {least}")
    making.draft.spent = _scaffold(making)
    _take_sources(making)
    cover(making)
    connect(making)
    compete(making)
    Refining(making).run()
    return _within_budget(making)


def _order(anchor: Anchor) -> tuple[str, ...]:
    return anchor.phrase, anchor.reference, anchor.kind, anchor.match, anchor.value or "", anchor.note


def _finished(making: Making) -> EvidenceView:
    tables, relations = making.draft.view_tables(), making.draft.view_relations()
    view = EvidenceView(
        environment=making.objects.digest,
        budget=making.budget,
        cost=0,
        matched=True,
        tables=tables,
        relations=relations,
        anchors=tuple(sorted(making.shown_anchors, key=lambda each: (-each.score, *_order(each)))),
        passages=tuple(sorted(making.passages, key=lambda each: each.reference)),
        left_out=_left_out(making),
        sources=making.sources,
        apart=_apart(making),
        shorthands=making.draft.view_shorthands(tables, relations),
        unfound=making.unfound,
        unread=_unread(making),
        demanded=making.wanted.demanded,
    )
    # The text is these lines with their ends, and costs of lines add up.
    return replace(view, cost=lines_cost(view_lines(view)))


def _unread(making: Making) -> tuple[str, ...]:
    """The long texts of shown tables in which an unfound phrase may stand."""
    shown = making.draft.columns
    return tuple(each for each in making.wanted.unread if each in shown)[:MOST_UNREAD] if making.unfound else ()


def _within_budget(making: Making) -> EvidenceView:
    """Costs are known before anything is taken, but for counts and headings; where those ran over, extras go again."""
    view = _finished(making)
    while view.cost > making.budget:
        draft = making.draft
        if making.passages:
            making.passages.pop()
        elif making.shown_anchors:
            making.shown_anchors.pop()
        elif making.sources:
            making.sources = ()
        elif making.unfound:
            making.unfound = ()
        elif draft.others:
            draft.others.pop()
        elif len(draft.columns) > 1:
            weakest = min(draft.columns.values(), key=lambda each: (each.score, each.facts.reference))
            del draft.columns[weakest.facts.reference]
        else:
            raise UserError(f"a budget of {making.budget} tokens is too small: give at least {view.cost}")
        view = _finished(making)
    return view


def _apart(making: Making) -> tuple[str, ...]:
    """Chosen tables outside the largest connected part; a family that a shown column names is not apart."""
    shown = making.draft.tables
    if len(connected_parts(shown, making.draft.planned)) <= 1:
        return ()
    if set(shown) - {table for part in making.plan.parts for table in part}:
        # Tables came in after the plan was made.
        strongest = sorted(shown, key=lambda table: (-shown[table], table))
        making.plan = join_plan(strongest, making.objects.relations_of)
    named = {
        table
        for relation in making.objects.relations
        if relation.kind == "table_name" and relation.left_table in shown and relation.right_table in shown
        for table in (relation.left_table, relation.right_table)
    }
    return tuple(
        table for part in making.plan.parts[1:] for table in part if table in shown and table not in named
    )  # fmt: skip


def _left_out(making: Making) -> LeftOut:
    draft, objects, wanted = making.draft, making.objects, making.wanted
    columns = sum(each.facts.kind == "column" for each in draft.columns.values())
    joins = len(making.joins_between()) - len(draft.planned) - len(draft.others)
    counts = {
        "tables": len(objects.tables) - len(draft.tables),
        "columns": objects.columns_in_all - columns,
        "paths and facets": objects.inner_in_all - (len(draft.columns) - columns),
        "joins between shown tables": joins,
        "anchors": len(making.anchors) - len(making.shown_anchors),
    }
    fell = [
        (-pick.score, pick.column.reference)
        for pick in (*wanted.picks, *wanted.competitors, *wanted.rest)
        if not making.has(pick) and pick.column.kind != "facet"
    ]
    strongest = sorted(fell)[: NEXT_BEST if making.budget >= SMALL else 0]
    return LeftOut(
        {kind: count for kind, count in counts.items() if count > 0},
        tuple((reference, "no room") for _, reference in strongest),
    )


def _scaffold(making: Making) -> int:
    """What stands around the objects: the first line, and room for the count of what was left out."""
    if making.budget < SMALL:
        said = unfound_lines(making.unfound, ())
        return lines_cost([HEADER, *said, *left_out_lines(LeftOut(MOST_COUNTS))])
    nearest = tuple((pick.column.reference, "no room") for pick in making.wanted.rest[:NEXT_BEST])
    said = unfound_lines(making.unfound, making.wanted.unread[:MOST_UNREAD])
    return lines_cost([HEADER, *said, *left_out_lines(LeftOut(MOST_COUNTS, nearest)), apart_line(["x" * 40] * 2)])


def _take_sources(making: Making) -> None:
    """All sources with their tables, where that takes a small part of the budget."""
    listed = _listed(making.objects)
    price = lines_cost(source_lines(_only_sources(listed)))
    if price <= making.budget * ROOM_FOR_SOURCES:
        making.sources = listed
        making.draft.spent += price


def _least(making: Making) -> int:
    """The cost of the smallest view that shows something: the best object by name."""
    trial = Making.begin(making.wanted, making.anchors, making.objects, 0)
    if trial.wanted.picks:
        pick = trial.wanted.picks[0]
        trial.draft.take_column(pick.column, pick.score, pick.why, "name", 0.0)
    else:
        trial.draft.take_table(min(trial.wanted.tables, key=lambda table: (-trial.wanted.tables[table], table)), 0.0)
    return _scaffold(trial) + trial.draft.spent


def _without_match(making: Making) -> EvidenceView:
    """Nothing was found: the view says so and lists the sources, all of them if they fit."""
    objects = making.objects
    left_out = LeftOut({"tables": len(objects.tables), "columns": objects.columns_in_all})
    view = replace(
        _only_sources(_listed(objects)), environment=objects.digest, budget=making.budget, left_out=left_out,
        demanded=making.wanted.demanded, unfound=making.unfound,
    )  # fmt: skip
    if cost(view_text(view)) > making.budget:
        view = replace(view, sources=())
    if cost(view_text(view)) > making.budget:
        view = replace(view, unfound=())
    total = cost(view_text(view))
    if total > making.budget:
        raise UserError(f"a budget of {making.budget} tokens holds no view at all: give at least {total}")
    return replace(view, cost=total)


def _listed(objects: StateObjects) -> tuple[tuple[str, str, int], ...]:
    return tuple((each.name, each.kind, each.tables) for each in objects.sources.values())


def _only_sources(listed: tuple[tuple[str, str, int], ...]) -> EvidenceView:
    return EvidenceView("", 0, 0, False, (), (), (), (), LeftOut(), sources=listed)
