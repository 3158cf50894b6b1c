"""What a statement needs of tables that stay at their source, so that no more than that is asked for.

In: a checked statement and the tables it names. Out: the statement (perhaps with plain aggregates replaced by their
answers) and, for each table that is too large to copy, the `Scan` to ask its source for.

Filters and columns are not guessed from the text: DuckDB plans the statement over empty tables of the same shape, and
what its own optimiser moved down to a table (`plans.py`) is what the source is asked for. The statement then runs
unchanged over what came back, so a filter that no source understands costs time, never correctness.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from coset.environment.scan import Any as AnyOf
from coset.environment.scan import Condition, Family, Order, Scan, conjunction, family, needed_operations, parts_of
from coset.environment.source import Column, Source, Table
from coset.errors import CosetError
from coset.session.aggregates import AggregateBlock, Node, aggregate_block, select_blocks
from coset.session.plans import Plan, PlanNode, read_plan
from coset.session.snapshots import OutputColumn, file_type
from coset.sql_text import identifier

Ask = Callable[[dict[str, Any]], dict[str, Any]]
"""Sends a request to the worker process."""
PUSHED = "pushed"
"""The catalog that holds the sources' answers while a statement runs."""
# What may stand between a LIMIT and the table it limits without changing which rows count; a filter is in the fetch.
ONE_TO_ONE = {"LOGICAL_PROJECTION", "LOGICAL_FILTER"}


@dataclass(frozen=True)
class Reference:
    """A table as the statement names it, and what it is."""

    relation: tuple[str, str, str]
    source: Source
    table: Table
    stays: bool
    """Whether its rows stay at the source and only what is needed is fetched."""

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.table.columns


@dataclass(frozen=True)
class Fetch:
    """One question to a source, and the relation under which the statement reads the answer.

    `file_columns` are written to disk; `view` gives each output column of the relation with its type, and whether the
    answer holds it (a column the statement only mentions is NULL)."""

    source: Source
    table: Table
    relation: tuple[str, str, str]
    scan: Scan
    file_columns: tuple[OutputColumn, ...]
    view: tuple[tuple[str, str, bool], ...]


@dataclass(frozen=True)
class Prepared:
    """A statement ready to run once its fetches are done."""

    sql: str
    fetches: tuple[Fetch, ...]
    still_read: frozenset[tuple[str, str, str]]
    """The relations the statement still reads; the others were replaced by answers."""


def prepare(sql: str, tree: Node, references: Sequence[Reference], ask: Ask) -> Prepared:
    """Decide what to fetch. Raises `UserError` when the statement does not fit the tables (an unknown column, say)."""
    planner = _Planner(references, ask)
    planner.plan(sql)  # Names and types are right, or the user hears of it before anything is fetched.
    if not any(reference.stays for reference in references):
        return Prepared(sql, (), frozenset(reference.relation for reference in references))
    sql, fetches = _push_aggregates(sql, tree, references, planner)
    plan = planner.plan(sql)
    tree = planner.tree(sql)
    remaining = set(relations_of(tree))
    rows = [
        _fetch_rows(reference, number, plan)
        for number, reference in enumerate(references)
        if reference.stays and reference.relation in remaining
    ]
    if len(rows) == 1 and len(remaining) == 1:
        rows = [_with_limit(rows[0], plan, tree["statements"][0]["node"])]
    return Prepared(sql, (*fetches, *rows), frozenset(remaining))


def relation_of(node: Node) -> tuple[str, str, str]:
    """Where the worker keeps the table that a BASE_TABLE node names: (source, schema, table), lower case."""
    catalog, schema, name = node.get("catalog_name", ""), node.get("schema_name", ""), node["table_name"]
    if not catalog:
        catalog, schema = schema, "main"
    return catalog.lower(), schema.lower(), name.lower()


class _Planner:
    """Asks the worker for plans over empty tables of the shapes at hand."""

    def __init__(self, references: Sequence[Reference], ask: Ask) -> None:
        self._ask = ask
        self._relations: list[dict[str, Any]] = [
            {
                "name": list(reference.relation),
                "columns": [{"name": column.name, "type": column.type} for column in reference.columns],
            }
            for reference in references
        ]

    def plan(self, sql: str) -> Plan:
        answer = self._ask({"operation": "plan", "sql": sql, "relations": self._relations})
        outputs = tuple((str(name), str(kind)) for name, kind in answer["columns"])
        shapes = [
            [Column(each["name"], each["type"], each["name"], each["type"]) for each in relation["columns"]]
            for relation in self._relations
        ]
        return Plan(outputs, read_plan(answer["plan"], shapes))

    def tree(self, sql: str) -> Node:
        tree: Node = json.loads(self._ask({"operation": "parse", "sql": sql})["tree"])
        return tree

    def text(self, node: Node) -> str:
        tree = {"error": False, "statements": [{"node": node, "named_param_map": []}]}
        return str(self._ask({"operation": "unparse", "tree": json.dumps(tree)})["sql"])

    def add(self, relation: tuple[str, str, str], columns: Sequence[tuple[str, str]]) -> None:
        shape = [{"name": name, "type": kind} for name, kind in columns]
        self._relations.append({"name": list(relation), "columns": shape})

    def forget_last(self) -> None:
        self._relations.pop()


def _push_aggregates(
    sql: str, tree: Node, references: Sequence[Reference], planner: _Planner
) -> tuple[str, list[Fetch]]:
    """Replace each block that is a plain aggregate over one staying table by its answer."""
    staying = {reference.relation: reference for reference in references if reference.stays}
    original = planner.plan(sql).outputs
    tree = copy.deepcopy(tree)
    fetches: list[Fetch] = []
    for block in list(select_blocks(tree)):
        relation = block["from_table"]
        if relation.get("type") != "BASE_TABLE" or relation_of(relation) not in staying:
            continue
        pushed = _push_block(block, staying[relation_of(relation)], len(fetches), planner)
        if pushed is None:
            continue
        fetch, rewritten = pushed
        kept = dict(block)
        block.clear()
        block.update(rewritten)
        try:
            candidate = planner.text(tree["statements"][0]["node"])
            same = planner.plan(candidate).outputs == original
        except CosetError:
            same = False
        if same:
            sql = candidate
            fetches.append(fetch)
        else:
            block.clear()
            block.update(kept)
            planner.forget_last()
    return sql, fetches


def _push_block(block: Node, reference: Reference, number: int, planner: _Planner) -> tuple[Fetch, Node] | None:
    try:
        names = [name for name, _ in planner.plan(planner.text(block)).outputs]
    except CosetError:
        return None  # The block reads from around it, so it cannot be asked on its own.
    answer = (PUSHED, "main", f"answer_{number}")
    averages = "aggregate:avg" in reference.source.pushes
    found = aggregate_block(block, reference.table, answer, names, averages=averages)
    if found is None:
        return None
    where: Condition | None = None
    if block.get("where_clause"):
        conditions = _exact_where(block, planner)
        if not conditions:
            return None
        where = conjunction(conditions)
    scan = Scan(group_by=found.group_by, aggregates=found.aggregates, where=where)
    if not _can_ask(reference, scan):
        return None
    types = _answer_types(found, block, reference, planner)
    if types is None:
        return None
    planner.add(answer, types)
    file_columns = tuple(OutputColumn(name, file_type(kind)) for name, kind in types)
    view = tuple((name, kind, True) for name, kind in types)
    return Fetch(reference.source, reference.table, answer, scan, file_columns, view), found.rewritten


def _exact_where(block: Node, planner: _Planner) -> tuple[Condition, ...] | None:
    """The block's WHERE clause as DuckDB binds it, if a source can evaluate all of it exactly."""
    one = {"class": "CONSTANT", "type": "VALUE_CONSTANT", "alias": "", "literal": {"kind": "INTEGER", "text": "1"}}
    only_where = {
        **block, "select_list": [one], "group_expressions": [], "group_sets": [], "having": None, "modifiers": [],
        "aggregate_handling": "STANDARD_HANDLING",
    }  # fmt: skip
    try:
        reading = _one_reading(planner.plan(planner.text(only_where)), ONE_TO_ONE)
    except CosetError:
        return None
    return reading.filters.exact if reading is not None else None


def _one_reading(plan: Plan, between: set[str]) -> PlanNode | None:
    """The reading of the only table of a plan that has nothing but these steps above it."""
    nodes = plan.roots or ()
    while len(nodes) == 1:
        node = nodes[0]
        if node.table is not None:
            return node
        # A filter that does not stand on the table itself is not among the filters of the reading.
        on_table = node.name != "LOGICAL_FILTER" or (len(node.children) == 1 and node.children[0].table is not None)
        if node.name not in between or not on_table:
            return None
        nodes = node.children
    return None


def _answer_types(
    found: AggregateBlock, block: Node, reference: Reference, planner: _Planner
) -> list[tuple[str, str]] | None:
    """The type DuckDB itself gives to each group column and aggregate."""
    types = [(name, reference.table.column(name).type) for name in found.group_by]
    relation = ".".join(identifier(part) for part in reference.relation)
    for aggregate in found.aggregates:
        column = identifier(aggregate.column) if aggregate.column else "*"
        call = "count(DISTINCT " if aggregate.function == "count_distinct" else f"{aggregate.function}("
        try:
            described = planner.plan(f"SELECT {call}{column}) FROM {relation}").outputs
        except CosetError:
            return None
        types.append((aggregate.alias, described[0][1]))
    return types


def _fetch_rows(reference: Reference, number: int, plan: Plan) -> Fetch:
    """The columns and rows of one staying table that the planned statement reads, over all places it reads it."""
    scans = plan.readings(number)
    wanted = set(range(len(reference.columns))) if scans is None else {each for scan in scans for each in scan.columns}
    wheres: list[Condition | None] = []
    for scan in scans or ():
        parts = parts_of(scan.filters.wider)
        wheres.append(conjunction([part for part in parts if _narrows(reference, part)]))
    columns = [column for index, column in enumerate(reference.columns) if index in wanted]
    # A statement that needs no column at all (count of a join's rows) still needs the rows.
    columns = columns or [reference.columns[0]]
    where: Condition | None = None
    known = [condition for condition in wheres if condition is not None]
    if known and len(known) == len(wheres):
        where = known[0] if len(set(known)) == 1 else AnyOf(tuple(dict.fromkeys(known)))
    asked = Scan(columns=tuple(column.name for column in columns), where=where, limit=0 if scans == [] else None)
    held = {column.name for column in columns}
    return Fetch(
        reference.source,
        reference.table,
        reference.relation,
        asked,
        tuple(OutputColumn(column.name, file_type(column.type)) for column in columns),
        tuple((column.name, column.type, column.name in held) for column in reference.columns),
    )


def _with_limit(fetch: Fetch, plan: Plan, block: Node) -> Fetch:
    """The fetch cut down to a LIMIT, where nothing between the limit and the table changes which rows count."""
    reading = _one_reading(plan, {*ONE_TO_ONE, "LOGICAL_LIMIT", "LOGICAL_ORDER_BY"})
    # Every filter must be in the fetch as it is, or rows beyond the limit could be needed.
    if reading is None or reading.filters.exact is None:
        return fetch
    steps = _steps(plan)
    names = [step.name for step in steps if step.name not in ONE_TO_ONE]
    if names not in (["LOGICAL_LIMIT"], ["LOGICAL_LIMIT", "LOGICAL_ORDER_BY"]):
        return fetch
    limit = next(step.rows for step in steps if step.name == "LOGICAL_LIMIT")
    order = _order(block, fetch.table) if len(names) == 2 else ()
    if limit is None or (len(names) == 2 and not order):
        return fetch
    scan = replace(fetch.scan, where=conjunction(reading.filters.exact), order=order, limit=limit)
    reference = Reference(fetch.relation, fetch.source, fetch.table, True)
    return replace(fetch, scan=scan) if _can_ask(reference, scan) else fetch


def _steps(plan: Plan) -> list[PlanNode]:
    """The steps above the only table of a plan, from the top."""
    steps: list[PlanNode] = []
    nodes = plan.roots or ()
    while len(nodes) == 1 and nodes[0].table is None:
        steps.append(nodes[0])
        nodes = nodes[0].children
    return steps


def _order(block: Node, table: Table) -> tuple[Order, ...]:
    """The ORDER BY of a single-table SELECT over plain columns of that table, or nothing."""
    if block.get("type") != "SELECT_NODE" or block["from_table"].get("type") != "BASE_TABLE":
        return ()
    columns = {column.name.lower(): column.name for column in table.columns}
    # `SELECT a AS b ... ORDER BY b` sorts by a: a name that is also an alias is not taken for a column.
    aliases = {item.get("alias", "").lower() for item in block["select_list"]}
    found = []
    for modifier in block["modifiers"]:
        for item in modifier["orders"] if modifier["type"] == "ORDER_MODIFIER" else ():
            expression = item["expression"]
            name = expression["column_names"][-1].lower() if expression["class"] == "COLUMN_REF" else ""
            if name not in columns or name in aliases or len(expression["column_names"]) > 2:
                return ()
            found.append(Order(columns[name], item["type"] == "DESCENDING", item["null_order"] == "NULLS FIRST"))
    return tuple(found)


def _can_ask(reference: Reference, scan: Scan) -> bool:
    """Whether the source evaluates all of this scan as DuckDB would."""
    source, table = reference.source, reference.table

    def family_of(name: str) -> Family:
        return family(table.column(name).type)

    needed = needed_operations(scan, family_of)
    if not needed <= source.pushes:
        return False
    return all(
        needed_operations(_only(scan, name), family_of) - {"limit", "order"} <= source.pushes_for(table, name)
        for name in _columns_of(scan)
    )


def _narrows(reference: Reference, condition: Condition) -> bool:
    """Whether the source evaluates a condition exactly, or at least keeps every row that it keeps here."""
    exact = _can_ask(reference, Scan(where=condition))
    return exact or reference.source.narrows(reference.table, condition)


def _columns_of(scan: Scan) -> set[str]:
    names = {*scan.group_by, *(item.column for item in scan.aggregates if item.column)}
    names.update(order.column for order in scan.order)
    stack: list[Any] = [scan.where] if scan.where else []
    while stack:
        condition = stack.pop()
        stack.extend(getattr(condition, "conditions", ()))
        if hasattr(condition, "column"):
            names.add(condition.column)
    return names


def _only(scan: Scan, name: str) -> Scan:
    """The part of a scan that concerns one column."""
    kept: list[Any] = []
    stack: list[Any] = [scan.where] if scan.where else []
    while stack:
        condition = stack.pop()
        stack.extend(getattr(condition, "conditions", ()))
        if getattr(condition, "column", None) == name:
            kept.append(condition)
    return Scan(
        where=conjunction(kept),
        group_by=tuple(column for column in scan.group_by if column == name),
        aggregates=tuple(item for item in scan.aggregates if item.column == name),
        order=tuple(order for order in scan.order if order.column == name),
    )


def relations_of(tree: Node) -> Iterator[tuple[str, str, str]]:
    """Every table that a tree names with its source, as the worker keeps it."""
    stack: list[Any] = [tree]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            if value.get("type") == "BASE_TABLE" and (value.get("schema_name") or value.get("catalog_name")):
                yield relation_of(value)
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)


__all__ = ["PUSHED", "Fetch", "Prepared", "Reference", "prepare", "relation_of", "relations_of"]
