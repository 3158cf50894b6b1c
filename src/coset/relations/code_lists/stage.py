"""The stage of comprehension that finds code lists: gathers columns and lists, finds, lets people overrule, stores.

In: the environment, its state, and tables that can be read. Out: the state's `code_lists`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from coset.environment.configuration import Environment
from coset.evidence.reading import JoinableTable
from coset.relations.code_lists.agreement import CodeColumn, said_of_lists, sentences_about
from coset.relations.code_lists.field_maps import columns_of_domains
from coset.relations.code_lists.find import ListStanding, find_code_lists
from coset.relations.code_lists.lists import ListPart, may_be_list, parts_of, plain, with_titles
from coset.relations.copies.row_overlap import PassingOver
from coset.relations.copies.stage import (
    copies_digest,
    copies_with_originals,
    is_telling,
    spoken_of,
    standing_of,
    texts_in_force,
)
from coset.relations.joins.column_values import access
from coset.relations.joins.judging import GROUPS
from coset.relations.joins.names import stem
from coset.state.evidence_state import corrections_in_force
from coset.state.joins import Profiles, profiles
from coset.state.objects import CodeList
from coset.state.read_model import ReadModel
from coset.state.readings import ReadingStore
from coset.state.tables import ColumnRow, PathRow, few_valued_columns, named_columns

if TYPE_CHECKING:
    import duckdb

    from coset.environment.corrections import CodeList as SaidCodeList
    from coset.state import EvidenceState

SURE_JOIN = 0.6
SURELY_MEASURED = 0.6
MOST_VALUES = 300
"""A column of more distinct values is decoded by a join, not by a list."""
REPEATED = 0.9
PLACES_READ = 2_000
"""So many places inside nested columns are looked at, of those whose examples stand in a list."""


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
    readings = {each.reference: each.name for each in ReadingStore(state).all(best=True)}

    def opened(table: JoinableTable) -> JoinableTable:
        if opens:
            opens(table)
        return table

    parts = with_uses(with_titles(parts, readings), connection, tables, ReadModel(state).all(ColumnRow), opened)
    columns = code_columns(state, copies, readings)

    by_reference = {str(table.reference): table for table in tables}
    for path in _places_with_codes(state, copies, parts):
        holder = by_reference.get(path.table_reference)
        if holder is not None and not holder.members:
            with passing_over(path.table_reference):
                columns += _code_place(connection, opened(holder), path, readings)
    known_columns = {column.reference for column in columns}
    for row in _columns_with_codes(state, copies, parts, known_columns):
        if row.table_reference in by_reference:
            with passing_over(row.table_reference):
                columns += _code_column(connection, opened(by_reference[row.table_reference]), row, readings)
    texts = texts_in_force(state)
    names = {(str(part.table.reference), part.table.reference.table or "") for part in parts}
    retired = {*standing.retired, *spoken_of(texts, sorted(names), lists=True).retired}
    known = ListStanding(
        copies, retired, standing.named, said_of_lists(texts, parts), measures(profiles(state, "attribute")),
        surely_joined(state),
    )  # fmt: skip
    found = find_code_lists(columns, parts, known)
    lists = overruled(found, corrections_in_force(environment, state).code_lists)
    state.store_code_lists(lists, labels_of(lists, parts, columns))
    state.set_meta(TABLES_OF_LISTS, "\n".join(sorted({name.lower() for _, name in names if is_telling(name)})))


def with_uses(
    parts: Sequence[ListPart],
    connection: duckdb.DuckDBPyConnection,
    tables: Sequence[JoinableTable],
    columns: Sequence[ColumnRow],
    opened: Callable[[JoinableTable], JoinableTable],
) -> list[ListPart]:
    """Parts with the columns that a system's own dictionary says they decode, where these are of its source."""
    result = list(parts)
    for source in {part.table.reference.source for part in parts}:
        own = [place for place, part in enumerate(result) if part.table.reference.source == source and part.domain]
        domains = {result[place].domain[-1].lower() for place in own}
        near = [table for table in tables if table.reference.source == source]
        uses = columns_of_domains(connection, near, columns, domains, opened) if domains else {}
        for place in own:
            decoded = uses.get(result[place].domain[-1].lower())
            if decoded:
                result[place] = replace(result[place], decodes=frozenset(decoded))
    return result


def measures(attributes: Profiles) -> set[str]:
    """The columns that count or measure, by their roles; levels and ranks may be codes."""
    places = [
        place
        for place, name in enumerate(attributes.identities)
        if GROUPS.get(name) == "measure" and name not in ("level", "rank", "score", "version", "value", "duration")
    ]
    return {
        reference for reference, shares in attributes.by_reference.items() if shares[places].sum() >= SURELY_MEASURED
    }


def _places_with_codes(state: EvidenceState, copies: set[str], parts: Sequence[ListPart]) -> list[PathRow]:
    """Places inside nested columns whose examples all stand in some list."""
    codes = {code for part in parts for code in part.codes}
    return [
        row
        for row in ReadModel(state).all(PathRow)
        if row.table_reference not in copies and row.examples and all(plain(each) in codes for each in row.examples)
    ][:PLACES_READ]


def _columns_with_codes(
    state: EvidenceState, copies: set[str], parts: Sequence[ListPart], known: Collection[str]
) -> list[ColumnRow]:
    """Columns whose values are not all known yet, since they hardly repeat or are more than a hundred, and whose
    examples all stand in one list."""
    codes = {part.codes for part in parts}
    tables = ReadModel(state).tables
    found = []
    for row in ReadModel(state).all(ColumnRow):
        if row.reference in known or row.table_reference in copies or row.personal or not row.examples:
            continue
        rows = tables[row.table_reference].rows or 0
        few = row.distinct_values is not None and 1 < row.distinct_values <= min(MOST_VALUES, REPEATED * rows)
        held = {plain(each) for each in row.examples}
        if few and "." not in "".join(row.examples) and any(held <= each for each in codes):
            found.append(row)
    return found[:PLACES_READ]


def _code_column(
    connection: duckdb.DuckDBPyConnection, table: JoinableTable, row: ColumnRow, readings: Mapping[str, str]
) -> Iterator[CodeColumn]:
    counts = _values_of(connection, table, access(row.name))
    if 1 < len(counts) <= MOST_VALUES and not table.members:
        yield CodeColumn(
            row.reference, table.reference.table or "", row.name, tuple(each.name for each in table.columns),
            row.table_reference, counts, readings.get(row.reference, ""), readings.get(row.table_reference, ""),
        )  # fmt: skip


def _values_of(connection: duckdb.DuckDBPyConnection, table: JoinableTable, value: str) -> dict[str, int]:
    """The values of an expression and how many rows have each, one more than a list may have."""
    rows = connection.execute(
        f"SELECT trim(CAST(value AS VARCHAR)) AS held, count(*) FROM (SELECT {value} AS value FROM {table.relation}) "
        f"WHERE value IS NOT NULL GROUP BY held HAVING held <> '' ORDER BY held LIMIT {MOST_VALUES + 1}"
    ).fetchall()
    return dict(rows)


def _code_place(
    connection: duckdb.DuckDBPyConnection, table: JoinableTable, path: PathRow, readings: Mapping[str, str]
) -> Iterator[CodeColumn]:
    """A place inside a nested column with its values, where these are few."""
    value = f"unnest({path.expression})" if path.type.endswith("[]") else path.expression
    counts = _values_of(connection, table, value)
    if 1 < len(counts) <= MOST_VALUES:
        name = _name_of_place(path.reference.removeprefix(f"{path.table_reference}."))
        yield CodeColumn(
            path.reference, table.reference.table or "", name, tuple(each.name for each in table.columns),
            path.table_reference, counts, readings.get(path.reference, ""), readings.get(path.table_reference, ""),
        )  # fmt: skip


def _name_of_place(path: str) -> str:
    """What a place is called: `status.code`; of what lists hold, their own name alone unless it only says that it is a
    code: the quantity of `parts[].qty` is no part."""
    inside = path.rpartition("[].")[2]
    return inside if stem(inside) else path


def labels_of(
    lists: Sequence[CodeList], parts: Sequence[ListPart], columns: Sequence[CodeColumn]
) -> Iterator[tuple[str, str, str, str, str | None]]:
    """What the codes of each column stand for, by its current lists; a code is written as the column has it."""
    by_place = {
        (str(part.table.reference), part.code_column, part.label_column, part.condition): part for part in parts
    }
    written = {column.reference: {plain(value): value for value in column.counts} for column in columns}
    for each in lists:
        part = by_place.get((each.list, each.code_column, each.label_column, each.condition))
        if each.status == "current" and part is not None:
            own = written.get(each.column, {})
            for code, label in part.labels.items():
                yield each.column, own.get(plain(code), code), label, each.list, each.language


CODE_LISTS_FOUND = "code lists"
"""The key of the state's `meta` under which `code_lists_digest` stands as it was when lists were last found."""
TABLES_OF_LISTS = "tables of code lists"
"""The key of the state's `meta` under which the names stand of all tables that explain codes."""


def code_lists_digest(environment: Environment, state: EvidenceState) -> str:
    """What code lists depend on: when it is the same, they are."""
    digest = hashlib.sha256(copies_digest(environment, state).encode())
    digest.update(repr(sorted(surely_joined(state))).encode())
    digest.update(repr(sorted(measures(profiles(state, "attribute")))).encode())
    digest.update(repr(corrections_in_force(environment, state).code_lists).encode())
    digest.update(repr([(each.reference, each.name) for each in ReadingStore(state).all(best=True)]).encode())
    # Tables that were no lists are none as long as they are the same, and the first line of the digest tells of that.
    lists = frozenset((state.meta(TABLES_OF_LISTS) or "").split("\n"))
    digest.update("\n".join(sentences_about(texts_in_force(state), lists)).encode())
    return digest.hexdigest()


def surely_joined(state: EvidenceState) -> set[tuple[str, str]]:
    """Pairs of columns that join."""
    relations = ReadModel(state).relations
    return {(row.left_columns[0], row.right_columns[0]) for row in relations if row.confidence >= SURE_JOIN}


def code_columns(state: EvidenceState, copies: set[str], readings: Mapping[str, str] | None = None) -> list[CodeColumn]:
    """The columns whose values are few and all known."""
    names: dict[str, list[str]] = {}
    for column in named_columns(state):
        names.setdefault(column.table_reference, []).append(column.name)
    siblings = {table: tuple(found) for table, found in names.items()}
    return [
        CodeColumn(
            row.reference, row.table_name, row.name, siblings[row.table_reference], row.table_reference,
            {value: int(count or 1) for value, count in zip(row.held, row.counts, strict=True)},
            (readings or {}).get(row.reference, ""), (readings or {}).get(row.table_reference, ""),
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
