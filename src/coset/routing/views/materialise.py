"""Views as they are asked for: of a question, and of what a reader points at.

In: what was selected of an environment, and a budget. Out: an `EvidenceView`. Puts the prefix together, which is made
once for all questions: codes, then the main tables that are told with them, then what stands around these.
"""

from __future__ import annotations

from collections.abc import Sequence

from coset.identities.inventory import Inventory
from coset.routing.objects.objects_of_state import StateObjects
from coset.routing.request import Anchor, Demand, Ranked
from coset.routing.views.budgets import Budget
from coset.routing.views.builder import TABLE_ROOM, ViewBuilder, in_order_of_score
from coset.routing.views.choice import ChoiceSettings, Pick, Selection, choose
from coset.routing.views.directory import Prefix, prefix_of, told_codes
from coset.routing.views.parts import MainTables
from coset.routing.views.view import EvidenceView


def materialise(
    demand: Demand,
    anchors: Sequence[Anchor],
    scores: Ranked,
    objects: StateObjects,
    inventory: Inventory,
    budget: Budget | int,
    settings: ChoiceSettings | None = None,
) -> EvidenceView:
    """V_B(D, q). A number of tokens is the budget of a view without a prefix. Raises `UserError` with the least budget
    when not even one object fits."""
    ordered = in_order_of_score(anchors)
    selection = choose(demand, ordered, scores, objects, inventory, settings or ChoiceSettings())
    return view_of(selection, ordered, objects, budget)


def view_of(
    selection: Selection,
    anchors: Sequence[Anchor],
    objects: StateObjects,
    budget: Budget | int,
    description: str = "",
    standing: Sequence[str] = (),
) -> EvidenceView:
    """The view of what was selected. `standing` are tables by how much they matter whatever is asked."""
    parts = budget if isinstance(budget, Budget) else Budget.of(budget, directory=False)
    builder = ViewBuilder.begin(
        selection, anchors, objects, parts.details, _prefix(objects, parts, description, standing)
    )
    return builder.build() if selection.matched else builder.without_match()


def opened(
    references: Sequence[str],
    objects: StateObjects,
    budget: int,
    beside: EvidenceView | None = None,
    unknown: tuple[str, ...] = (),
    sections: tuple[str, ...] = (),
) -> EvidenceView:
    """The details of these tables alone, in their order while the budget lasts: all columns, values, codes, cleaning,
    and the joins between them and with the tables of the view they are opened `beside`. A column stands for its
    table."""
    tables = list(dict.fromkeys(table for each in references if (table := objects.table_of(each)) is not None))
    objects.load(tables)
    wanted = set(references)
    picks = tuple(
        Pick(column, 1.0 if column.reference in wanted else 0.5, ("context",))
        for table in tables
        for column in objects.columns(table)
        if column.kind == "column"
    )
    selection = Selection(
        bool(tables or sections), rest=picks, tables=dict.fromkeys(tables, 1.0), order=tuple(tables),
        passages=sections, unfound=unknown,
    )  # fmt: skip
    builder = ViewBuilder.begin(selection, (), objects, budget, Prefix())
    if not selection.matched:
        return builder.without_match()
    shown = [table.reference for table in beside.tables] if beside else []
    if beside:
        builder.told = frozenset(passage.reference for passage in beside.passages)
        builder.told |= {f"{source}#description" for source, _ in beside.descriptions}
    return builder.build_opened(shown)


MAIN_ROOM = 170
"""A main table takes about so many tokens."""
LEAST_MAIN = 4
"""Fewer main tables than this are not worth a part of their own."""


def _prefix(objects: StateObjects, budget: Budget, description: str, standing: Sequence[str]) -> Prefix:
    """The prefix of an environment. Without room for it there is none."""
    if not budget.directory and not budget.documents:
        return Prefix()
    known: Prefix | None = objects.prefixes.get((budget, description, tuple(standing)))
    if known is None:
        codes = told_codes(objects, budget.codes)
        main = main_tables(objects, standing, budget, Prefix(codes=codes.codes, code_sets=codes.sets))
        known = prefix_of(objects, budget, description, codes, main)
        objects.prefixes[budget, description, tuple(standing)] = known
    return known


def main_tables(objects: StateObjects, standing: Sequence[str], budget: Budget, prefix: Prefix) -> MainTables:
    """As many of the tables that matter most, whatever is asked, as there is room for. None where the details have room
    for all there are."""
    originals = [
        each for each, facts in objects.tables.items() if facts.rows != 0 and objects.knowledge.original(each) == each
    ]
    if not budget.main or len(originals) <= budget.details // TABLE_ROOM:
        return MainTables()
    plain = [each for each in standing if objects.tables[each].family is None and objects.tables[each].rows != 0]
    chosen = plain[: budget.main // MAIN_ROOM]
    selection = Selection(True, tables=dict.fromkeys(chosen, 1.0), order=tuple(chosen))
    builder = ViewBuilder.begin(selection, (), objects, budget.details, prefix)
    found = builder.build_main(budget.main)
    return found if len(found.tables) >= LEAST_MAIN else MainTables()
