"""The SELECT blocks of a statement, and the stored columns behind an expression of one.

In: scopes of sqlglot with the stored tables among their sources. Out: blocks, their own nodes and aggregates, and for
any expression the stored columns it comes from, through subqueries, common table expressions and unions, each with what
stands around it on the way. Runs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlglot import exp
from sqlglot.optimizer.scope import Scope

from coset.answering.checks.known_tables import TableOfState

DIALECT = "duckdb"
Node = Any
"""A node of sqlglot's tree: what it holds depends on its kind."""
DEEPEST = 40


@dataclass(frozen=True)
class Block:
    """One SELECT of a statement."""

    select: Node
    scope: Scope
    tables: dict[str, TableOfState]
    """By alias, those of its sources that are stored tables."""
    outermost: bool

    @property
    def aggregates(self) -> list[Node]:
        """The aggregates of this block itself, not of blocks inside it."""
        return [node for node in own_nodes(self.select) if is_aggregate(node)]


def origins(node: Node, block: Block, blocks: dict[int, Block]) -> Iterator[tuple[str, tuple[Node, ...]]]:
    """The stored columns behind an expression of a block, each with what stands around it on the way."""
    for column in columns_of(node):
        yield from origin(column, block, blocks, 0)


def columns_of(node: Node) -> list[Node]:
    return [node] if isinstance(node, exp.Column) else list(node.find_all(exp.Column))


def own_nodes(select: Node) -> Iterator[Node]:
    """Every node of a SELECT that is not inside a SELECT of its own."""
    stack = [child for key, child in _children(select) if key not in {"with_"}]
    while stack:
        node = stack.pop()
        if isinstance(node, exp.Query):
            continue
        yield node
        stack.extend(child for _, child in _children(node))


def is_aggregate(node: Node) -> bool:
    return gives_aggregate(node) and not isinstance(node.parent, exp.Window)


def name_of_aggregate(node: Node) -> str:
    """Its name in lower case, the commoner one where there are two; `distinct` behind it where it is."""
    name = str(node.name).lower() if isinstance(node, exp.Anonymous) else str(node.key)
    name = {"mean": "avg"}.get(name, name)
    return f"{name} distinct" if node.find(exp.Distinct) is not None else name


def gives_aggregate(node: Node) -> bool:
    # Some of DuckDB's aggregates are plain functions to the library.
    return isinstance(node, exp.AggFunc) or (
        isinstance(node, exp.Anonymous) and str(node.name).lower() in {"mean", "product", "geomean", "mad", "fsum"}
    )


def aliases_of(node: Node) -> set[str]:
    return {column.table for column in columns_of(node) if column.table}


def text_of(node: Node) -> str:
    return str(node.sql(dialect=DIALECT))


def conjuncts(node: Node | None) -> list[Node]:
    """The conditions that must all hold."""
    if node is None:
        return []
    if isinstance(node, exp.Where | exp.Paren):
        return conjuncts(node.this)
    return [*conjuncts(node.left), *conjuncts(node.right)] if isinstance(node, exp.And) else [node]


def _children(node: Node) -> Iterator[tuple[str, Node]]:
    for key, value in node.args.items():
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, exp.Expression):
                yield key, child


def origin(column: Node, block: Block, blocks: dict[int, Block], depth: int) -> Iterator[tuple[str, tuple[Node, ...]]]:
    table = block.tables.get(column.table)
    if table is not None:
        known = table.columns.get(column.name.lower())
        if known is not None:
            yield known.reference, ()
        return
    source = block.scope.sources.get(column.table)
    if not isinstance(source, Scope) or depth > DEEPEST:
        return
    inner_blocks = [blocks[id(scope)] for scope in _selecting(source) if id(scope) in blocks]
    if not inner_blocks:
        return
    # The parts of a union are matched by place; their columns have the names of the first.
    names = [each.alias_or_name.lower() for each in inner_blocks[0].select.selects]
    if column.name.lower() not in names:
        return
    place = names.index(column.name.lower())
    for inner in inner_blocks:
        projection = inner.select.selects[place] if place < len(inner.select.selects) else None
        for each in columns_of(projection) if projection is not None else ():
            around = surroundings(each, projection)
            if any(gives_aggregate(node) for node in around):
                continue  # What an aggregate gives is not a value of the column any more.
            for reference, before in origin(each, inner, blocks, depth + 1):
                yield reference, (*before, *around)


def _selecting(scope: Scope) -> list[Scope]:
    """The SELECTs that make a scope's rows: itself, or the parts of a union."""
    if scope.set_operation_scopes:
        return [inner for each in scope.set_operation_scopes for inner in _selecting(each)]
    return [scope]


def surroundings(column: Node, top: Node) -> tuple[Node, ...]:
    """The expressions between a column and a node above it, from the inside out."""
    found, node = [], column.parent
    while node is not None and node is not top.parent:
        if not isinstance(node, exp.Alias | exp.Paren | exp.Select):
            found.append(node)
        node = node.parent
    return tuple(found)
