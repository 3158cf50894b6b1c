"""A statement taken apart: its SELECT blocks, the stored columns behind every name, and what is done with each.

In: SQL, and the tables that the state knows. Out: a `Statement`, or None for what cannot be read. A column is followed
through subqueries and common table expressions to where it is stored, with the expressions around it on the way, so
that cleaning done in a CTE is seen. Runs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, traverse_scope
from sqlglot.schema import MappingSchema

from coset.environment.families import naming_column
from coset.state import EvidenceState
from coset.state.read_model import ReadModel
from coset.state.tables import CalledTable, ColumnRow, TableRow, tables_called


@dataclass(frozen=True)
class KnownColumn:
    reference: str
    name: str
    type: str


@dataclass(frozen=True)
class TableOfState:
    """A table of the state, or the family that a table is a member of."""

    reference: str
    source: str
    schema: str | None
    name: str
    """The table's own name, also where `reference` is its family's."""
    rows: int | None
    columns: dict[str, KnownColumn]
    """By lower-case name."""


class TablesOfState:
    """Finds tables by their names in SQL; reads what a statement names and no more."""

    def __init__(self, state: EvidenceState) -> None:
        self._state = state
        self._columns: dict[str, dict[str, KnownColumn]] = {}

    def find(self, parts: tuple[str, ...]) -> TableOfState | None:
        """The table that these parts name; None when the state has none, or several."""
        if len(parts) not in (2, 3):
            return None
        source, name = parts[0].lower(), parts[-1].lower()
        schema = parts[1].lower() if len(parts) == 3 else None
        found = tables_called(self._state, source, name)
        families = [each for each in ReadModel(self._state).families.values() if each.source.lower() == source]
        whole = {each.reference: each for each in families if each.relation.lower() == name}
        for table in ReadModel(self._state).of_tables(TableRow, whole):
            family = whole[table.reference]
            found.append(CalledTable(family.reference, family.source, table.schema_name, family.relation, table.rows))
        fitting = [row for row in found if schema is None or (row.schema_name or "main").lower() == schema]
        if len(fitting) != 1:
            return None
        row = fitting[0]
        columns = self._columns_of(row.reference)
        if row.reference in whole and row.name == whole[row.reference].relation:
            told = naming_column(whole[row.reference].pattern, whole[row.reference].columns)
            # A relation by the names of tables is kept with the family itself in the place of a column.
            columns = {told: KnownColumn(row.reference, told, "VARCHAR"), **columns}
        return TableOfState(row.reference, row.source, row.schema_name, row.name, row.rows, columns)

    def _columns_of(self, reference: str) -> dict[str, KnownColumn]:
        if reference not in self._columns:
            rows = ReadModel(self._state).of_tables(ColumnRow, [reference])
            self._columns[reference] = {
                row.name.lower(): KnownColumn(row.reference, row.name, row.type) for row in rows
            }
        return self._columns[reference]


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


def columns_read(statement: Statement) -> set[str]:
    """The columns that any block names; those of a subquery that look outwards are the outer block's."""
    found = {use.reference for use in statement.uses}
    for block in statement.blocks:
        for column in block.scope.columns:
            table = block.tables.get(column.table)
            known = table.columns.get(column.name.lower()) if table is not None else None
            found |= {known.reference} if known is not None else set()
    return found
