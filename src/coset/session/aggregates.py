"""Plain aggregates over one large table, computed by the source instead of pulled from it.

In: a SELECT block of a statement's tree (as `json_serialize_sql` gives it) that reads one table. Out: what to ask the
source (group columns and aggregates) and the block rewritten to read the answer instead of the table. Blocks with
anything but plain columns, the six plain aggregates and arithmetic over them are left alone: they stay correct, they
only cost more. Does not know how the WHERE clause is evaluated, nor where the answer is kept.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from coset.environment.scan import Aggregate
from coset.environment.source import Table

Node = dict[str, Any]
Function = Literal["count", "sum", "avg", "min", "max"]
FUNCTIONS: dict[str, Function] = {
    "count_star": "count", "count": "count", "sum": "sum", "avg": "avg", "mean": "avg", "min": "min", "max": "max",
}  # fmt: skip
WHOLE_NUMBERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"}
# Functions that may stand around an aggregate: none of them is an aggregate itself.
AROUND = {
    "+", "-", "*", "/", "//", "%", "**", "^", "||", "round", "abs", "ceil", "ceiling", "floor", "trunc", "coalesce",
    "ifnull", "nullif", "greatest", "least", "concat", "sqrt", "ln", "log", "log10", "log2", "exp", "pow", "power",
    "sign", "format", "printf", "strftime", "date_diff", "datediff", "date_trunc", "datetrunc", "year", "month", "day",
    "lower", "upper", "to_days", "to_months", "to_years", "if",
}  # fmt: skip
# Expression classes that may stand around an aggregate.
CLASSES = {
    "COLUMN_REF",
    "CONSTANT",
    "COMPARISON",
    "CONJUNCTION",
    "BETWEEN",
    "OPERATOR",
    "CAST",
    "CASE",
    "FUNCTION",
    "TYPE",
}


@dataclass(frozen=True)
class AggregateBlock:
    """What a block asks of its table, and the block as it reads the answer from `answer` (catalog, schema, name)."""

    group_by: tuple[str, ...]
    aggregates: tuple[Aggregate, ...]
    rewritten: Node


class _Declined(Exception):
    """The block is not a plain aggregate."""


def select_blocks(tree: Node) -> Iterator[Node]:
    """Every SELECT block of a tree, inner ones too."""
    stack: list[Any] = [tree]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            if value.get("type") == "SELECT_NODE":
                yield value
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)


def aggregate_block(
    node: Node, table: Table, answer: tuple[str, str, str], names: list[str], *, averages: bool
) -> AggregateBlock | None:
    """The block as a question to the source, or None when it is not plain. `names`: its output columns, as DuckDB
    names them, so that the rewritten block has the same. `averages`: whether the source computes them as DuckDB does;
    if not, the average of whole numbers is asked for as a sum and a count."""
    try:
        return _Rewriter(node, table, answer, names, averages).block()
    except _Declined:
        return None


class _Rewriter:
    def __init__(
        self, node: Node, table: Table, answer: tuple[str, str, str], names: list[str], averages: bool
    ) -> None:
        self.node, self.table, self.answer, self.names = node, table, answer, names
        self.averages = averages
        self.columns = {column.name.lower(): column.name for column in table.columns}
        self.relation = node["from_table"]
        self.alias = str(self.relation.get("alias") or self.relation["table_name"])
        self.items: list[Node] = node["select_list"]
        self.aggregates: dict[tuple[str, str | None], Aggregate] = {}

    def block(self) -> AggregateBlock:
        node = self.node
        self._decline_unless(not node.get("qualify") and not node.get("sample") and not node["cte_map"].get("map"))
        relation = self.relation
        self._decline_unless(not relation.get("sample") and not relation.get("column_name_alias"))
        self._decline_unless(not relation.get("at_clause"))
        # `SELECT lower(a) AS a ... GROUP BY a`: too easily misread, so left alone.
        for item in self.items:
            alias = item.get("alias", "").lower()
            self._decline_unless(alias not in self.columns or self._column(item) == self.columns[alias])
        group_by = self._group_columns()
        allowed = set(group_by)
        rewritten = dict(node)
        rewritten["select_list"] = [
            self._named(self._replaced(item, allowed, aliases=False), name)
            for item, name in zip(self.items, self.names, strict=True)
        ]
        rewritten["where_clause"] = (
            self._replaced(node["having"], allowed, aliases=True) if node.get("having") else None
        )
        rewritten["modifiers"] = [self._modifier(modifier, allowed) for modifier in node["modifiers"]]
        rewritten["having"] = None
        rewritten["group_expressions"], rewritten["group_sets"] = [], []
        rewritten["aggregate_handling"] = "STANDARD_HANDLING"
        rewritten["from_table"] = self._answer_table()
        self._decline_unless(bool(group_by or self.aggregates))
        return AggregateBlock(group_by, tuple(self.aggregates.values()), rewritten)

    def _group_columns(self) -> tuple[str, ...]:
        node = self.node
        expressions: list[Node] = list(node["group_expressions"])
        if node["aggregate_handling"] == "FORCE_AGGREGATES":  # GROUP BY ALL
            expressions = [item for item in self.items if not self._has_aggregate(item)]
        elif node["group_sets"] not in ([], [list(range(len(expressions)))]):
            raise _Declined
        elif not expressions and not any(self._has_aggregate(item) for item in self.items):
            # SELECT DISTINCT a, b: the groups are the rows.
            kinds = [modifier["type"] for modifier in node["modifiers"]]
            plain = [m for m in node["modifiers"] if m["type"] == "DISTINCT_MODIFIER" and not m["distinct_on_targets"]]
            self._decline_unless(len(plain) == 1 and kinds[0] == "DISTINCT_MODIFIER")
            expressions = self.items
        columns = [self._group_column(expression) for expression in expressions]
        return tuple(dict.fromkeys(columns))

    def _group_column(self, expression: Node) -> str:
        if expression["class"] == "CONSTANT" and (expression.get("literal") or {}).get("kind") == "INTEGER":
            position = int(expression["literal"]["text"])
            self._decline_unless(1 <= position <= len(self.items))
            expression = self.items[position - 1]
        column = self._column(expression)
        if column is None and expression["class"] == "COLUMN_REF" and len(expression["column_names"]) == 1:
            wanted = expression["column_names"][0].lower()
            item = next((item for item in self.items if item.get("alias", "").lower() == wanted), None)
            column = self._column(item) if item else None
        if column is None:
            raise _Declined
        return column

    def _replaced(self, tree: Node, allowed: set[str], *, aliases: bool) -> Node:
        """The expression with each aggregate replaced by the column that will hold it."""
        kind = tree.get("class")
        self._decline_unless(kind in CLASSES)
        if kind == "FUNCTION":
            if tree["function_name"] in FUNCTIONS:
                return self._aggregate_column(tree)
            self._decline_unless(tree["function_name"] in AROUND)
        if kind == "COLUMN_REF":
            column = self._column(tree)
            named = len(tree["column_names"]) == 1 and any(
                item.get("alias", "").lower() == tree["column_names"][0].lower() for item in self.items
            )
            self._decline_unless(column in allowed if column else aliases and named)
            return tree
        result = {}
        for key, value in tree.items():
            result[key] = self._deep(value, lambda child: self._replaced(child, allowed, aliases=aliases))
        return result

    def _deep(self, value: Any, change: Callable[[Node], Node]) -> Any:
        if isinstance(value, dict):
            return change(value) if "class" in value else {k: self._deep(v, change) for k, v in value.items()}
        return [self._deep(item, change) for item in value] if isinstance(value, list) else value

    def _modifier(self, modifier: Node, allowed: set[str]) -> Node:
        self._decline_unless(modifier["type"] in {"ORDER_MODIFIER", "LIMIT_MODIFIER", "DISTINCT_MODIFIER"})
        if modifier["type"] == "DISTINCT_MODIFIER":
            self._decline_unless(not modifier["distinct_on_targets"])
        replaced: Node = self._deep(modifier, lambda child: self._replaced(child, allowed, aliases=True))
        return replaced

    def _aggregate_column(self, tree: Node) -> Node:
        arguments = [argument["expression"] for argument in tree.get("arguments", [])]
        self._decline_unless(not tree.get("filter") and not (tree.get("order_bys") or {}).get("orders"))
        column: str | None = None
        function: str = FUNCTIONS[tree["function_name"]]
        if arguments or function != "count":
            self._decline_unless(len(arguments) == 1)
            column = self._column(arguments[0])
            self._decline_unless(column is not None)
        if tree.get("distinct") and function not in {"min", "max"}:
            self._decline_unless(function == "count" and column is not None)
            function = "count_distinct"
        alias = tree.get("alias", "")
        if function == "avg" and not self.averages and self.table.column(str(column)).type in WHOLE_NUMBERS:
            parts = [{"name": "", "expression": self._asked(part, column)} for part in ("sum", "count")]
            return {
                **tree, "function_name": "/", "is_operator": True, "alias": alias, "arguments": parts,
                "distinct": False, "qualified_name": {"path": ["/"]},
            }  # fmt: skip
        return {**self._asked(function, column), "alias": alias}

    def _asked(self, function: str, column: str | None) -> Node:
        """A reference to the column of the answer that holds this aggregate."""
        key = (function, column)
        if key not in self.aggregates:
            self.aggregates[key] = Aggregate(function, column, f"aggregate_{len(self.aggregates)}")  # type: ignore[arg-type]
        return _column_reference(self.aggregates[key].alias)

    def _has_aggregate(self, tree: Any) -> bool:
        if isinstance(tree, dict):
            if tree.get("class") == "FUNCTION" and tree["function_name"] in FUNCTIONS:
                return True
            return any(self._has_aggregate(value) for value in tree.values())
        return isinstance(tree, list) and any(self._has_aggregate(value) for value in tree)

    def _column(self, tree: Node) -> str | None:
        """The table's column that a reference names, or None."""
        if tree["class"] != "COLUMN_REF":
            return None
        *qualifier, name = [str(part).lower() for part in tree["column_names"]]
        if qualifier and qualifier[-1] != self.alias.lower():
            return None
        if len(qualifier) > 1 and self.relation.get("alias"):
            return None
        return self.columns.get(name)

    def _named(self, item: Node, name: str) -> Node:
        return {**item, "alias": item.get("alias") or name}

    def _answer_table(self) -> Node:
        catalog, schema, name = self.answer
        relation: Node = copy.copy(self.relation)
        relation.update(catalog_name=catalog, schema_name=schema, table_name=name, alias=self.alias)
        relation["qualified_name"] = {"path": [catalog, schema, name]}
        return relation

    @staticmethod
    def _decline_unless(condition: bool) -> None:
        if not condition:
            raise _Declined


def _column_reference(name: str) -> Node:
    return {
        "class": "COLUMN_REF", "type": "COLUMN_REF", "alias": "", "query_location": 0,
        "query_location_length": 0, "column_names": [name],
    }  # fmt: skip
