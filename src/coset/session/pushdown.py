"""What a statement needs of tables that stay at their source, so that no more than that is asked for.

In: a checked statement and the tables it names. Out: the statement (perhaps with plain aggregates replaced by their
answers) and, for each table that is too large to copy, the `Scan` to ask its source for.

Filters and columns are not guessed from the text: DuckDB plans the statement over empty tables of the same shape, and
what its own optimiser moved down to a table is what the source is asked for. The statement then runs unchanged over
what came back, so a filter that no source understands costs time, never correctness.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from coset.environment.scan import Any as AnyOf
from coset.environment.scan import Condition, Family, Order, Scan, family, needed_operations
from coset.environment.source import Column, Source, Table
from coset.errors import CosetError
from coset.session import conditions
from coset.session.aggregates import AggregateBlock, Node, aggregate_block, select_blocks
from coset.session.snapshots import OutputColumn, file_type
from coset.sql_text import identifier

Ask = Callable[[dict[str, Any]], dict[str, Any]]
"""Sends a request to the worker process."""
PUSHED = "pushed"
"""The catalog that holds the sources' answers while a statement runs."""
PLANNED_COLUMN = re.compile(r"\bc(\d+)\b")
# What may stand between a LIMIT and the table it limits without changing which rows count.
ONE_TO_ONE = {"PROJECTION", "LIMIT", "STREAMING_LIMIT"}


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
    plan = planner.plan(sql)["plan"]
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
        self._relations = [
            {
                "name": list(reference.relation),
                "columns": [{"name": column.name, "type": column.type} for column in reference.columns],
            }
            for reference in references
        ]

    def plan(self, sql: str) -> dict[str, Any]:
        return self._ask({"operation": "plan", "sql": sql, "relations": self._relations})

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
    original = planner.plan(sql)["columns"]
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
            same = planner.plan(candidate)["columns"] == original
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
        names = [name for name, _ in planner.plan(planner.text(block))["columns"]]
    except CosetError:
        return None  # The block reads from around it, so it cannot be asked on its own.
    answer = (PUSHED, "main", f"answer_{number}")
    averages = "aggregate:avg" in reference.source.pushes
    found = aggregate_block(block, reference.table, answer, names, averages=averages)
    if found is None:
        return None
    where: Condition | None = None
    if block.get("where_clause"):
        where = _exact_where(block, reference, planner)
        if where is None:
            return None
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


def _exact_where(block: Node, reference: Reference, planner: _Planner) -> Condition | None:
    """The block's WHERE clause as DuckDB binds it, if a source can evaluate all of it exactly."""
    one = {"class": "CONSTANT", "type": "VALUE_CONSTANT", "alias": "", "literal": {"kind": "INTEGER", "text": "1"}}
    only_where = {
        **block, "select_list": [one], "group_expressions": [], "group_sets": [], "having": None, "modifiers": [],
        "aggregate_handling": "STANDARD_HANDLING",
    }  # fmt: skip
    try:
        nodes = planner.plan(planner.text(only_where))["plan"]
    except CosetError:
        return None
    found: list[Condition] = []
    while nodes:
        if len(nodes) != 1 or nodes[0]["name"] not in {"PROJECTION", "FILTER", "SEQ_SCAN"}:
            return None
        node = nodes[0]
        for tree, optional in zip(node["filters"], node["optional"], strict=True):
            condition = conditions.exact(tree, reference.columns)
            if condition is None and not optional:
                return None
            if condition is not None and not optional:
                found.append(condition)
        nodes = node["children"]
    return conditions.conjunction(found)


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
            described = planner.plan(f"SELECT {call}{column}) FROM {relation}")["columns"]
        except CosetError:
            return None
        types.append((aggregate.alias, described[0][1]))
    return types


def _fetch_rows(reference: Reference, number: int, plan: list[Node]) -> Fetch:
    """The columns and rows of one staying table that the planned statement reads, over all places it reads it."""
    scans = [node for node in _nodes(plan) if node["table"] == f"planned.main.t{number}"]
    wanted: set[int] = set()
    wheres: list[Condition | None] = []
    for scan in scans:
        texts = [*scan["columns"], *scan["filter_texts"]]
        wanted.update(int(found) for text in texts for found in PLANNED_COLUMN.findall(text))
        parts = [conditions.wider(tree, reference.columns) for tree in scan["filters"]]
        possible = [part for part in parts if part is not None and _can_ask(reference, Scan(where=part))]
        wheres.append(conditions.conjunction(possible))
    columns = [column for index, column in enumerate(reference.columns) if index in wanted]
    # A statement that needs no column at all (count of a join's rows) still needs the rows.
    columns = columns or [reference.columns[0]]
    where: Condition | None = None
    known = [condition for condition in wheres if condition is not None]
    if known and len(known) == len(wheres):
        where = known[0] if len(set(known)) == 1 else AnyOf(tuple(dict.fromkeys(known)))
    asked = Scan(columns=tuple(column.name for column in columns), where=where, limit=None if scans else 0)
    held = {column.name for column in columns}
    return Fetch(
        reference.source,
        reference.table,
        reference.relation,
        asked,
        tuple(OutputColumn(column.name, file_type(column.type)) for column in columns),
        tuple((column.name, column.type, column.name in held) for column in reference.columns),
    )


def _with_limit(fetch: Fetch, plan: list[Node], block: Node) -> Fetch:
    """The fetch cut down to a LIMIT, where nothing between the limit and the table changes which rows count."""
    nodes, limit = plan, None
    order: tuple[Order, ...] = ()
    while nodes:
        if len(nodes) != 1:
            return fetch
        node = nodes[0]
        if node["name"] in {"LIMIT", "STREAMING_LIMIT"} and limit is None and str(node["limit"]).isdigit():
            offset = str(node["offset"] or "0")
            limit = int(node["limit"]) + int(offset) if offset.isdigit() else None
        elif node["name"] == "ORDER_BY" and limit is not None and not order:
            order = _order(block, fetch.table)
            if not order:
                return fetch
        elif node["name"] == "SEQ_SCAN":
            # Every filter must be in the fetch as it is, or rows beyond the limit could be needed.
            trees = [tree for tree, optional in zip(node["filters"], node["optional"], strict=True) if not optional]
            exact = [conditions.exact(tree, fetch.table.columns) for tree in trees]
            if any(condition is None for condition in exact):
                return fetch
            whole = conditions.conjunction([condition for condition in exact if condition is not None])
            scan = Scan(columns=fetch.scan.columns, where=whole, order=order, limit=limit)
            reference = Reference(fetch.relation, fetch.source, fetch.table, True)
            if limit is None or not _can_ask(reference, scan):
                return fetch
            return Fetch(fetch.source, fetch.table, fetch.relation, scan, fetch.file_columns, fetch.view)
        elif node["name"] not in ONE_TO_ONE:
            return fetch
        nodes = node["children"]
    return fetch


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
        where=conditions.conjunction(kept),
        group_by=tuple(column for column in scan.group_by if column == name),
        aggregates=tuple(item for item in scan.aggregates if item.column == name),
        order=tuple(order for order in scan.order if order.column == name),
    )


def _nodes(plan: list[Node]) -> Iterator[Node]:
    for node in plan:
        yield node
        yield from _nodes(node["children"])


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
