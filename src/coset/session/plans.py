"""Reads DuckDB's plan of a statement: which columns of each table are read, and which rows can matter.

In: a plan as `json_serialize_plan` gives it, over the planner's empty tables `planned.main.t0`, `t1`, ... Out: typed
nodes; a node that reads a table has the columns that are used and the filters as `Condition`s that a source can
evaluate. Filters are taken from the plan's own structure, constants with their type, never from text that a value could
break out of. What is not understood is left out: then more rows are asked for, and the statement filters them itself.
"""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any as AnyValue

from coset.environment.scan import All, Among, Any, Comparison, Condition, Null, Operator, Value, conjunction, family
from coset.environment.source import Column

Node = dict[str, AnyValue]
ColumnOf = Callable[[int], Column | None]
"""The column that a number within an expression means; None when it is none of the table's."""

OPERATORS: dict[str, Operator] = {
    "COMPARE_EQUAL": "=",
    "COMPARE_NOTEQUAL": "<>",
    "COMPARE_LESSTHAN": "<",
    "COMPARE_LESSTHANOREQUALTO": "<=",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
}
MIRRORED: dict[Operator, Operator] = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_EPOCH = datetime.datetime(1970, 1, 1)


class _NotUnderstood(Exception):
    """A filter that no source can be asked for."""


@dataclass(frozen=True)
class Filters:
    """The filters on the rows of one reading of a table."""

    wider: Condition | None = None
    """Keeps at least every row that matters; None stands for all rows."""
    exact: tuple[Condition, ...] | None = None
    """Together they keep exactly the rows that matter; None when that cannot be said."""


@dataclass(frozen=True)
class PlanNode:
    """One step of a plan. Of a step that reads one of the planner's tables: which, its columns, its filters."""

    name: str
    children: tuple[PlanNode, ...]
    table: int | None = None
    columns: frozenset[int] = frozenset()
    filters: Filters = Filters()
    rows: int | None = None
    """Of a LIMIT with constant numbers: how many rows it needs, those that it leaves out at the start included."""


@dataclass(frozen=True)
class Plan:
    """What DuckDB would do. `roots` is None for a statement whose plan it cannot tell: everything may be read."""

    outputs: tuple[tuple[str, str], ...]
    """The names and types of the result."""
    roots: tuple[PlanNode, ...] | None

    def readings(self, table: int) -> list[PlanNode] | None:
        """Every step that reads a table; None when that cannot be told."""
        if self.roots is None:
            return None
        return [node for root in self.roots for node in _all(root) if node.table == table]


def read_plan(text: str, tables: Sequence[Sequence[Column]]) -> tuple[PlanNode, ...] | None:
    """The plan's roots, or None where DuckDB could not write it down."""
    plan = json.loads(text)
    if plan.get("error") is not False:
        return None
    return tuple(_node(root, tables) for root in plan["plans"])


def _all(node: PlanNode) -> Iterator[PlanNode]:
    yield node
    for child in node.children:
        yield from _all(child)


def _node(node: Node, tables: Sequence[Sequence[Column]], above: Sequence[Node] = ()) -> PlanNode:
    """`above`: the conditions of a filter that stands directly on this node."""
    kind = node["type"]
    if kind == "LOGICAL_GET":
        return _reading(node, tables, above)
    over = node["expressions"] if kind == "LOGICAL_FILTER" else ()
    children = tuple(_node(child, tables, over) for child in node["children"])
    return PlanNode(kind, children, rows=_limit(node) if kind == "LOGICAL_LIMIT" else None)


def _reading(node: Node, tables: Sequence[Sequence[Column]], above: Sequence[Node]) -> PlanNode:
    place = (node.get("function_data") or {}).get("qualified_name", {}).get("path") or []
    if place[:2] != ["planned", "main"] or not place[2][1:].isdigit():
        return PlanNode(node["type"], ())
    number = int(place[2][1:])
    columns = tables[number]
    read = [entry["index"] if entry["has_index"] else len(columns) for entry in node["column_indexes"]]
    whole = [not entry["child_indexes"] for entry in node["column_indexes"]]
    used = frozenset(index for index in read if index < len(columns))
    sampled = (node.get("extra_info") or {}).get("sample_options") is not None
    if sampled or node.get("table_filters_by_projection") is not True:
        return PlanNode(node["type"], (), number, used)

    def column_of(position: int) -> Column | None:
        known = position < len(read) and whole[position] and read[position] < len(columns)
        return columns[read[position]] if known else None

    output = node["projection_ids"] or range(len(read))
    parts = [
        *(_Part(_table_filter, each["value"], _always(column_of(each["key"]))) for each in _filters(node)),
        *(_Part(_expression, each, lambda index: column_of(output[index])) for each in above),
    ]
    exact = [each.condition(exact=True) for each in parts if not each.optional]
    wider = [found for each in parts if (found := each.condition(exact=False)) is not None]
    known = tuple(each for each in exact if each is not None)
    return PlanNode(
        node["type"], (), number, used, Filters(conjunction(wider), known if len(known) == len(exact) else None)
    )


def _filters(node: Node) -> list[Node]:
    # Filters over several columns repeat what a step above says; that one is read.
    return list(node["table_filters"]["filters"])


def _always(column: Column | None) -> ColumnOf:
    return lambda _: column


@dataclass(frozen=True)
class _Part:
    """One filter, the function that reads its form, and what its column numbers mean."""

    read: Callable[[Node, ColumnOf, bool], Condition | None]
    tree: Node
    column_of: ColumnOf

    @property
    def optional(self) -> bool:
        """Whether it only repeats what a step above makes sure of."""
        return self.tree.get("filter_type") == "LEGACY_OPTIONAL_FILTER"

    def condition(self, *, exact: bool) -> Condition | None:
        try:
            return self.read(self.tree, self.column_of, exact)
        except _NotUnderstood:
            return None


def _table_filter(tree: Node, column_of: ColumnOf, exact: bool) -> Condition | None:
    """A filter that was moved down to one column of a table."""
    kind = tree["filter_type"].removeprefix("LEGACY_")
    if kind == "EXPRESSION_FILTER":
        return _expression(tree["expr"], column_of, exact)
    if kind == "OPTIONAL_FILTER":
        return _table_filter(tree["child_filter"], column_of, exact)
    if kind in {"CONJUNCTION_AND", "CONJUNCTION_OR"}:
        parts = tree["child_filters"]
        if exact and kind == "CONJUNCTION_AND":  # What is optional repeats a step above.
            parts = [part for part in parts if part["filter_type"] != "LEGACY_OPTIONAL_FILTER"]
        return _joined(kind, parts, lambda part: _table_filter(part, column_of, exact), exact)
    column = _known(column_of(0))
    if kind == "CONSTANT_COMPARISON" and tree["comparison_type"] in OPERATORS:
        return Comparison(column.name, OPERATORS[tree["comparison_type"]], _value(tree["constant"], column))
    if kind == "IN_FILTER":
        return Among(column.name, tuple(_value(each, column) for each in tree["values"]))
    if kind in {"IS_NULL", "IS_NOT_NULL"}:
        return Null(column.name, negated=kind == "IS_NOT_NULL")
    raise _NotUnderstood


def _expression(tree: Node, column_of: ColumnOf, exact: bool) -> Condition | None:
    """A bound expression as a condition."""
    kind = tree["type"]
    if kind in {"CONJUNCTION_AND", "CONJUNCTION_OR"}:
        return _joined(kind, tree["children"], lambda each: _expression(each, column_of, exact), exact)
    if kind in OPERATORS and len(tree["children"]) == 2:
        left, right = tree["children"]
        return _comparison(left, right, OPERATORS[kind], column_of)
    if kind == "COMPARE_BETWEEN":
        low: Operator = ">=" if tree["lower_inclusive"] else ">"
        high: Operator = "<=" if tree["upper_inclusive"] else "<"
        return All(
            (
                _comparison(tree["input"], tree["lower"], low, column_of),
                _comparison(tree["input"], tree["upper"], high, column_of),
            )
        )
    if kind in {"OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL"}:
        return Null(_column(tree["children"][0], column_of).name, negated=kind == "OPERATOR_IS_NOT_NULL")
    if kind in {"COMPARE_IN", "COMPARE_NOT_IN"}:
        return _membership(tree, column_of, negated=kind == "COMPARE_NOT_IN")
    if kind == "OPERATOR_NOT":
        inner = tree["children"][0]
        if inner["type"] == "COMPARE_IN":
            return _membership(inner, column_of, negated=True)
        if inner["type"] == "OPERATOR_IS_NULL":
            return Null(_column(inner["children"][0], column_of).name, negated=True)
        return _boolean(inner, column_of, False)
    return _boolean(tree, column_of, True)


def _joined(
    kind: str, parts: Sequence[Node], read: Callable[[Node], Condition | None], exact: bool
) -> Condition | None:
    """All or any of some conditions. A wider AND may leave out what is not understood, an OR may not."""
    known: list[Condition] = []
    for part in parts:
        try:
            found = read(part)
        except _NotUnderstood:
            if exact or kind == "CONJUNCTION_OR":
                raise
            continue
        if found is None and kind == "CONJUNCTION_OR":
            raise _NotUnderstood
        if found is not None:
            known.append(found)
    if kind == "CONJUNCTION_AND":
        return conjunction(known)
    return Any(tuple(known))


def _membership(tree: Node, column_of: ColumnOf, *, negated: bool) -> Condition:
    column = _column(tree["children"][0], column_of)
    values = tuple(_value(_constant(each), column) for each in tree["children"][1:])
    if not values:
        raise _NotUnderstood
    return (
        All(tuple(Comparison(column.name, "<>", value) for value in values)) if negated else Among(column.name, values)
    )


def _boolean(tree: Node, column_of: ColumnOf, value: bool) -> Condition:
    column = _column(tree, column_of)
    if family(column.type) != "boolean":
        raise _NotUnderstood
    return Comparison(column.name, "=", value)


def _comparison(left: Node, right: Node, operator: Operator, column_of: ColumnOf) -> Condition:
    if left["type"] != "BOUND_REF":
        left, right, operator = right, left, MIRRORED[operator]
    column = _column(left, column_of)
    return Comparison(column.name, operator, _value(_constant(right), column))


def _column(tree: Node, column_of: ColumnOf) -> Column:
    if tree["type"] != "BOUND_REF":
        raise _NotUnderstood
    return _known(column_of(tree["index"]))


def _known(column: Column | None) -> Column:
    if column is None:
        raise _NotUnderstood
    return column


def _constant(tree: Node) -> Node:
    if tree["type"] != "VALUE_CONSTANT":
        raise _NotUnderstood
    constant: Node = tree["value"]
    return constant


def _value(constant: Node, column: Column) -> Value:
    """A constant of exactly the column's type as a Python value."""
    kind, found = constant["type"]["id"], constant.get("value")
    if constant["is_null"] or family(column.type) == "other":
        raise _NotUnderstood
    details = constant["type"].get("type_info") or {}
    written = f"DECIMAL({details.get('width')},{details.get('scale')})" if kind == "DECIMAL" else kind
    if written != column.type.upper().replace(" ", "") or details.get("alias"):
        raise _NotUnderstood
    if kind == "VARCHAR" and isinstance(found, str):
        return found
    if kind == "BOOLEAN" and isinstance(found, bool):
        return found
    if kind == "DOUBLE" and isinstance(found, int | float) and math.isfinite(found):
        return float(found)
    if not isinstance(found, int) or isinstance(found, bool):
        raise _NotUnderstood
    try:
        if kind == "DATE":
            return (_EPOCH + datetime.timedelta(days=found)).date()
        if kind == "TIMESTAMP":
            return _EPOCH + datetime.timedelta(microseconds=found)
    except OverflowError:
        raise _NotUnderstood from None
    return Decimal(found).scaleb(-details["scale"]) if kind == "DECIMAL" else found


def _limit(node: Node) -> int | None:
    limit, offset = node["limit_val"], node["offset_val"]
    if limit["type"] != "CONSTANT_VALUE" or offset["type"] not in {"CONSTANT_VALUE", "UNSET"}:
        return None
    return int(limit["constant_integer"]) + int(offset["constant_integer"])
