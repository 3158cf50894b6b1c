"""A statement taken apart: its SELECT blocks, the stored columns behind every name, and what is done with each.

In: SQL and the tables of the state. Out: a `Statement`: blocks with their tables, and `ColumnUse`s that say of a stored
column where it is used (joined on, grouped by, summed) and what stands around it there, also through subqueries and
common table expressions. Every table has its full name, so a block can be run again by itself. Runs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, traverse_scope
from sqlglot.schema import MappingSchema

from coset.answering.checks.column_uses import ColumnUse, uses_of
from coset.answering.checks.known_tables import TableOfState, TablesOfState
from coset.answering.checks.select_blocks import DIALECT, Block, Node, origins

CHANGING = ("where", "group", "having", "order", "limit", "distinct", "joins", "qualify")
"""The parts of a SELECT that make other rows than those it reads."""


@dataclass(frozen=True)
class Statement:
    """A statement that could be read."""

    tree: Node
    blocks: tuple[Block, ...]
    uses: tuple[ColumnUse, ...]
    unknown: tuple[str, ...] = ()
    """Tables that the state does not know: temporary ones, or new ones."""

    @property
    def tables(self) -> dict[str, TableOfState]:
        """By reference."""
        return {table.reference: table for block in self.blocks for table in block.tables.values()}

    @property
    def answering_block(self) -> Block | None:
        """The block that makes the rows: the outermost, or the one inside it that it only hands on."""
        block = next((each for each in self.blocks if each.outermost), None)
        while block is not None and (inner := _handed_on(block)) is not None:
            block = next((each for each in self.blocks if each.scope is inner), None)
        return block


def read_statement(sql: str, tables: TablesOfState) -> Statement | None:
    """The statement, or None when it is not to be understood here: no check then pretends that it was."""
    try:
        tree = parse_one(sql, dialect=DIALECT)
        found, unknown = _name_in_full(tree, tables)
        schema: dict[str, Any] = {}
        for (source, within, name), table in found.items():
            columns = {column.name: "VARCHAR" for column in table.columns.values()}
            schema.setdefault(source, {}).setdefault(within, {})[name] = columns
        mapping = MappingSchema(schema, dialect=DIALECT) if schema else None
        tree = qualify(tree, schema=mapping, dialect=DIALECT, validate_qualify_columns=False)
        scopes = list(traverse_scope(tree))
    except (SqlglotError, ValueError, KeyError, AttributeError, RecursionError, TypeError, IndexError):
        return None
    blocks = tuple(
        Block(scope.expression, scope, _stored(scope, found), scope.is_root)
        for scope in scopes
        if isinstance(scope.expression, exp.Select)
    )
    by_scope = {id(block.scope): block for block in blocks}
    uses = tuple(use for block in blocks for use in uses_of(block, by_scope))
    return Statement(tree, blocks, uses, tuple(sorted(unknown)))


def _name_in_full(tree: Node, tables: TablesOfState) -> tuple[dict[tuple[str, str, str], TableOfState], set[str]]:
    """Write every stored table as source.schema.table; those found, and the names of those that were not."""
    found: dict[tuple[str, str, str], TableOfState] = {}
    unknown: set[str] = set()
    for node in list(tree.find_all(exp.Table)):
        parts = tuple(part.name for part in node.parts)
        if len(parts) < 2:
            continue  # A common table expression, or a table function.
        if not node.alias:
            node.set("alias", exp.TableAlias(this=exp.to_identifier(parts[-1], quoted=True)))
        table = tables.find(parts)
        if table is None:
            unknown.add(".".join(parts))
            schema = parts[1] if len(parts) == 3 else "main"
            source, name = parts[0], parts[-1]
        else:
            source, schema, name = table.source, table.schema or "main", table.name
            found[source.lower(), schema.lower(), name.lower()] = table
        for key, value in (("catalog", source), ("db", schema), ("this", name)):
            node.set(key, exp.to_identifier(value.lower(), quoted=True))
    return found, unknown


def _stored(scope: Scope, found: dict[tuple[str, str, str], TableOfState]) -> dict[str, TableOfState]:
    stored = {}
    for alias, source in scope.sources.items():
        if isinstance(source, exp.Table):
            table = found.get((source.catalog.lower(), source.db.lower(), source.name.lower()))
            if table is not None:
                stored[alias] = table
    return stored


def origins_in(statement: Statement, node: Node, block: Block) -> set[str]:
    """The references of the stored columns behind an expression."""
    blocks = {id(each.scope): each for each in statement.blocks}
    return {reference for reference, _ in origins(node, block, blocks)}


def _handed_on(block: Block) -> Scope | None:
    """The scope whose rows a block hands on as they are: SELECT columns FROM (...) and nothing else."""
    select, scope = block.select, block.scope
    if any(select.args.get(key) for key in CHANGING):
        return None
    if not all(isinstance(each.unalias(), exp.Column) for each in select.selects) or len(scope.selected_sources) != 1:
        return None
    [(_, source)] = scope.selected_sources.values()
    return source if isinstance(source, Scope) else None
