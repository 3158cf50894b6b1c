"""What a statement does with each stored column: joins on it, groups by it, compares it, adds it up.

In: the blocks of a statement. Out: `ColumnUse`s, each with the place of the use and the expressions that stand around
the column until there, also those of blocks further in.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from coset.answering.checks.select_blocks import (
    Block,
    Node,
    columns_of,
    gives_aggregate,
    name_of_aggregate,
    origin,
    own_nodes,
    surroundings,
)

Place = Literal["projection", "distinct", "group", "order", "aggregate", "range", "equal", "null test", "join", "other"]
RANGES = (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between)
EQUALITIES = (exp.EQ, exp.NEQ, exp.In, exp.Like, exp.ILike, exp.NullSafeEQ, exp.NullSafeNEQ, exp.RegexpLike)
PICKING = (exp.AnyValue, exp.ArgMax, exp.ArgMin, exp.First, exp.Last)
CONNECTIVES = (exp.And, exp.Or, exp.Not, exp.Paren, exp.Where, exp.Having)


@dataclass(frozen=True)
class ColumnUse:
    """One use of a stored column."""

    reference: str
    place: Place
    within: tuple[Node, ...]
    """The expressions around it, from the inside out, up to where it is used."""
    aggregate: str = ""
    """Of an aggregate, its name in lower case."""


def uses_of(block: Block, blocks: dict[int, Block]) -> Iterator[ColumnUse]:
    select = block.select
    grouped_by_all = bool(select.args.get("group") and select.args["group"].args.get("all"))
    for node in own_nodes(select):
        if not isinstance(node, exp.Column):
            continue
        if not node.table:
            # The name of an output column, in ORDER BY or HAVING: what it stands for is used there.
            named = next((each for each in select.selects if each.alias_or_name.lower() == node.name.lower()), None)
            place, around, aggregate = _place(node, select, block)
            for each in columns_of(named) if named is not None and place == "order" else ():
                inside = surroundings(each, named)
                if not any(gives_aggregate(inner) for inner in inside):
                    for reference, before in origin(each, block, blocks, 0):
                        yield ColumnUse(reference, place, (*before, *inside, *around), aggregate)
            continue
        place, around, aggregate = _place(node, select, block)
        if place == "projection" and grouped_by_all:
            place = "group"
        elif place == "projection" and select.args.get("distinct"):
            place = "distinct"
        for reference, before in origin(node, block, blocks, 0):
            yield ColumnUse(reference, place, (*before, *around), aggregate)


def _place(column: Node, select: Node, block: Block) -> tuple[Place, tuple[Node, ...], str]:
    """Where a column of a block is used, with what stands around it until there."""
    around: list[Node] = []
    node = column
    while node.parent is not None and node.parent is not select:
        node = node.parent
        if gives_aggregate(node):
            if isinstance(node, PICKING) and _within(column, node.this):
                continue  # A value that is picked is shown as it is stored: nothing is compared or added up.
            return "aggregate", tuple(around), name_of_aggregate(node)
        if isinstance(node, RANGES):
            return "range", (*around, node), ""
        if isinstance(node, EQUALITIES):
            sides = {column.table for column in columns_of(node)}
            joins = isinstance(node, exp.EQ) and len(sides & set(block.scope.sources)) > 1
            return "join" if joins else "equal", (*around, node), ""
        if isinstance(node, exp.Is):
            return "null test", (*around, node), ""
        if isinstance(node, exp.Ordered | exp.Order):
            return "order", tuple(around), ""
        if isinstance(node, exp.Group):
            return "group", tuple(around), ""
        if not isinstance(node, (*CONNECTIVES, exp.Alias)):
            around.append(node)
    return "projection" if any(node is each for each in select.selects) else "other", tuple(around), ""


def _within(column: Node, node: Node | None) -> bool:
    """Whether a column stands in an expression."""
    return node is not None and any(each is column for each in (node, *columns_of(node)))
