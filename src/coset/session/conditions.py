"""Filters of DuckDB's own plan as `Condition`s that a source can evaluate.

In: expression trees as `json_serialize_sql` gives them, over the planner's columns `c0`, `c1`, ... Out: a condition
that means the same, or a wider one that keeps every row the filter keeps, or nothing where no source could be asked.
DuckDB has bound the filters before, so literals already have the type of the column they are compared with.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import Any as AnyValue
from typing import Literal

from coset.environment.scan import All, Among, Any, Comparison, Condition, Null, Value, family
from coset.environment.source import Column

Node = dict[str, AnyValue]
Operator = Literal["=", "<>", "<", "<=", ">", ">="]
OPERATORS: dict[str, Operator] = {
    "COMPARE_EQUAL": "=",
    "COMPARE_NOTEQUAL": "<>",
    "COMPARE_LESSTHAN": "<",
    "COMPARE_LESSTHANOREQUALTO": "<=",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
}
MIRRORED: dict[Operator, Operator] = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def exact(tree: Node | None, columns: Sequence[Column]) -> Condition | None:
    """The condition that keeps exactly the rows the filter keeps, or None when there is none."""
    if tree is None:
        return None
    if tree["class"] == "CONJUNCTION":
        parts = [exact(child, columns) for child in tree["children"]]
        known = tuple(part for part in parts if part is not None)
        if len(known) < len(parts):
            return None
        return All(known) if tree["type"] == "CONJUNCTION_AND" else Any(known)
    return _single(tree, columns)


def wider(tree: Node | None, columns: Sequence[Column]) -> Condition | None:
    """A condition that keeps at least the rows the filter keeps; None stands for all rows."""
    if tree is None:
        return None
    if tree["class"] == "CONJUNCTION":
        parts = [wider(child, columns) for child in tree["children"]]
        known = tuple(part for part in parts if part is not None)
        if tree["type"] == "CONJUNCTION_AND":
            return conjunction(known)
        return Any(known) if len(known) == len(parts) else None
    return _single(tree, columns)


def conjunction(parts: Sequence[Condition]) -> Condition | None:
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else All(tuple(parts))


def parts_of(condition: Condition | None) -> list[Condition]:
    """What must hold together, one by one."""
    if condition is None:
        return []
    if isinstance(condition, All):
        return [each for part in condition.conditions for each in parts_of(part)]
    return [condition]


def columns_of(condition: Condition) -> set[str]:
    if isinstance(condition, All | Any):
        return {name for part in condition.conditions for name in columns_of(part)}
    return {condition.column}


def keeps_text(condition: Condition, text: str) -> bool:
    """Whether a condition on one column of texts keeps this one. Texts compare byte by byte, as in DuckDB."""
    if isinstance(condition, All):
        return all(keeps_text(part, text) for part in condition.conditions)
    if isinstance(condition, Any):
        return any(keeps_text(part, text) for part in condition.conditions)
    if isinstance(condition, Null):
        return condition.negated
    if isinstance(condition, Among):
        return text in condition.values
    left, right = text.encode(), str(condition.value).encode()
    return {
        "=": left == right, "<>": left != right, "<": left < right, "<=": left <= right, ">": left > right,
        ">=": left >= right,
    }[condition.operator]  # fmt: skip


def _single(tree: Node, columns: Sequence[Column]) -> Condition | None:
    kind = tree["type"]
    if kind in OPERATORS:
        return _comparison(tree["left"], OPERATORS[kind], tree["right"], columns)
    if kind == "COMPARE_BETWEEN":
        lower = _comparison(tree["input"], ">=", tree["lower"], columns)
        upper = _comparison(tree["input"], "<=", tree["upper"], columns)
        return All((lower, upper)) if lower and upper else None
    if kind in {"COMPARE_IN", "COMPARE_NOT_IN"}:
        column = _column(tree["children"][0], columns)
        values = [_value(child, column) for child in tree["children"][1:]] if column else []
        if column is None or not values or any(value is None for value in values):
            return None
        known = tuple(value for value in values if value is not None)
        if kind == "COMPARE_IN":
            return Among(column.name, known)
        return All(tuple(Comparison(column.name, "<>", value) for value in known))
    if kind in {"OPERATOR_IS_NULL", "OPERATOR_IS_NOT_NULL"}:
        column = _column(tree["children"][0], columns)
        return Null(column.name, negated=kind == "OPERATOR_IS_NOT_NULL") if column else None
    if kind == "OPERATOR_NOT":
        inner = tree["children"][0]
        if inner["type"] == "COMPARE_IN":
            return _single({**inner, "type": "COMPARE_NOT_IN"}, columns)
        column = _column(inner, columns)
        return Comparison(column.name, "=", False) if column and family(column.type) == "boolean" else None
    column = _column(tree, columns)
    return Comparison(column.name, "=", True) if column and family(column.type) == "boolean" else None


def _comparison(left: Node, operator: Operator, right: Node, columns: Sequence[Column]) -> Condition | None:
    column = _column(left, columns)
    if column is None:
        column, right, operator = _column(right, columns), left, MIRRORED[operator]
    if column is None:
        return None
    value = _value(right, column)
    return Comparison(column.name, operator, value) if value is not None else None


def _column(tree: Node, columns: Sequence[Column]) -> Column | None:
    names = tree.get("column_names") if tree["class"] == "COLUMN_REF" else None
    if not names or len(names) != 1 or names[0][:1] != "c" or not names[0][1:].isdigit():
        return None
    return columns[int(names[0][1:])]


def _value(tree: Node, column: Column) -> Value | None:
    """The literal as a Python value of the column's family, or None when it is not one."""
    kind = family(column.type)
    if tree["class"] == "CAST":
        target = str((tree.get("type_expr") or {}).get("type_name", "")).upper()
        child = tree["child"]
        literal = child.get("literal") if child["class"] == "CONSTANT" else None
        if kind != "time" or not literal or literal["kind"] != "STRING" or target != column.type.upper():
            return None
        try:
            if target == "DATE":
                return datetime.date.fromisoformat(literal["text"])
            return datetime.datetime.fromisoformat(literal["text"])
        except ValueError:
            return None
    literal = tree.get("literal") if tree["class"] == "CONSTANT" else None
    if not literal:
        return None
    text = str(literal.get("text", ""))
    if kind == "text" and literal["kind"] == "STRING":
        return text
    if kind == "boolean" and literal["kind"] == "BOOLEAN":
        return text.lower() == "true"
    if kind == "number" and literal["kind"] in {"INTEGER", "NUMERIC"}:
        try:
            if column.type.upper() == "DOUBLE":
                number = float(text)
                return number if math.isfinite(number) else None
            return int(text) if literal["kind"] == "INTEGER" else Decimal(text)
        except (ValueError, InvalidOperation):
            return None
    return None
