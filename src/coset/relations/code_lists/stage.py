"""The stage of comprehension that finds code lists: gathers columns and lists, finds, lets people overrule, stores.

In: the environment, its state, and tables that can be read. Out: the state's `code_lists`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from coset.environment.configuration import Environment
from coset.evidence.reading import JoinableTable
from coset.relations.code_lists.find import CodeColumn, find_code_lists
from coset.relations.code_lists.lists import ListPart, may_be_list, parts_of
from coset.relations.copies.row_overlap import PassingOver
from coset.relations.copies.stage import copies_digest, copies_with_originals, standing_of
from coset.state.objects import CodeList
from coset.state.read_model import ReadModel
from coset.state.said import corrections_in_force
from coset.state.tables import few_valued_columns, names_of_columns

if TYPE_CHECKING:
    import duckdb

    from coset.environment.corrections import CodeList as SaidCodeList
    from coset.state import EvidenceState

SURE_JOIN = 0.6
MOST_VALUES = 300
"""A column of more distinct values is decoded by a join, not by a list."""


def find_and_store_code_lists(
    environment: Environment,
    state: EvidenceState,
    connection: duckdb.DuckDBPyConnection,
    tables: Sequence[JoinableTable],
    opens: Callable[[JoinableTable], None] | None = None,
    passing_over: PassingOver = nullcontext,
) -> None:
    standing = standing_of(state, tables)
    copies = copies_with_originals(state)
    left_over = {copy.table for copy in state.copies() if copy.original is None and copy.kind in ("test", "leftover")}
    parts: list[ListPart] = []
    for table in tables:
        if str(table.reference) not in left_over and may_be_list(table):
            if opens:
                opens(table)
            with passing_over(str(table.reference)):
                parts += parts_of(connection, table)
    relations = ReadModel(state).relations
    joined = {(row.left_columns[0], row.right_columns[0]) for row in relations if row.confidence >= SURE_JOIN}
    found = find_code_lists(
        code_columns(state, copies), parts, copies=copies, retired=set(standing.retired), named=standing.named,
        joined=joined,
    )  # fmt: skip
    lists = overruled(found, corrections_in_force(environment, state).code_lists)
    state.store_code_lists(lists, labels_of(lists, parts))


def labels_of(lists: Sequence[CodeList], parts: Sequence[ListPart]) -> Iterator[tuple[str, str, str, str, str | None]]:
    """What the codes of each column stand for, by its current lists."""
    by_place = {(str(part.table.reference), part.code_column, part.condition): part for part in parts}
    for each in lists:
        part = by_place.get((each.list, each.code_column, each.condition))
        if each.status == "current" and part is not None:
            for code, label in part.labels.items():
                yield each.column, code, label, each.list, each.language


CODE_LISTS_FOUND = "code lists"
"""The key of the state's `meta` under which `code_lists_digest` stands as it was when lists were last found."""


def code_lists_digest(environment: Environment, state: EvidenceState) -> str:
    """What code lists depend on: when it is the same, they are."""
    digest = hashlib.sha256(copies_digest(environment, state).encode())
    digest.update(repr([(row.id, row.confidence) for row in ReadModel(state).relations]).encode())
    digest.update(repr(corrections_in_force(environment, state).code_lists).encode())
    return digest.hexdigest()


def code_columns(state: EvidenceState, copies: set[str]) -> list[CodeColumn]:
    """The columns whose values are few and all known."""
    names: dict[str, list[str]] = {}
    for table, name in names_of_columns(state):
        names.setdefault(table, []).append(name)
    siblings = {table: tuple(found) for table, found in names.items()}
    return [
        CodeColumn(
            row.reference, row.table_name, row.name, siblings[row.table_reference], row.table_reference,
            {value: int(count or 1) for value, count in zip(row.held, row.counts, strict=True)},
        )
        for row in few_valued_columns(state, MOST_VALUES)
        if row.table_reference not in copies
    ]  # fmt: skip


def overruled(found: Sequence[CodeList], said: Sequence[SaidCodeList]) -> list[CodeList]:
    """What people said wins: a list that they reject is gone, one that they name is the current one."""
    kept = list(found)
    for each in said:
        before = [one for one in kept if one.column == each.column and one.list == each.list]
        kept = [one for one in kept if one not in before]
        if each.rejected:
            continue
        if each.code is None and not before:
            continue
        code = each.code or before[0].code_column
        label = each.label or (before[0].label_column if before else code)
        kept = [
            CodeList(
                one.column, one.list, one.code_column, one.label_column, one.condition, one.language, "outdated",
                one.confidence, one.reasons,
            )
            if one.column == each.column
            else one
            for one in kept
        ]  # fmt: skip
        condition = each.condition if each.condition or not before else before[0].condition
        kept.append(
            CodeList(each.column, each.list, code, label, condition, None, "current", 1.0, ("a person said so",))
        )
    return sorted(kept, key=lambda one: (one.column, one.status, -one.confidence, one.list, one.condition or ""))
