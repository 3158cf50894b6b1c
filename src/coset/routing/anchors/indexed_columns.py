"""Which columns' values are held for linking, and reading them from their sources.

In: a state and a session. Out: columns with how their values are treated (held, searched at the source, withheld), and
the values of those that are held. Personal columns and schema-only sources are withheld.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from coset.errors import CosetError
from coset.evidence.column_expressions import SHOWN_CHARACTERS, column_kind
from coset.evidence.personal import personal_data
from coset.session.query_session import QuerySession, stays_at_source
from coset.sql_text import identifier
from coset.state import EvidenceState
from coset.state.indexes import ColumnToIndex, TableToIndex
from coset.state.read_model import ReadModel
from coset.state.tables import FacetRow, GroupValueRow, PathRow


@dataclass(frozen=True)
class ValueIndexSettings:
    """Bounds of the value index. What is not held because of one is marked so, and searched at its source."""

    most_values: int = 10_000
    """A column of more distinct values is searched at its source on demand."""
    most_in_all: int = 3_000_000
    """With very many columns the bound of each goes down to its share of so many, but not below `fewest_values`."""
    fewest_values: int = 200
    longest_value: int = 120
    """A longer value is not held: nobody writes it into a question whole."""
    longest_mean: float = 80.0
    """A column whose values are longer on average is prose."""
    most_codes: int = 2_000
    """A pair of columns with more values is no dictionary of codes."""
    table_seconds: float = 30.0


@dataclass(frozen=True)
class SearchSettings:
    """Bounds of one question's search at the sources."""

    most_anchors: int = 40
    most_columns: int = 24
    """So many columns are asked, those that fit the question best first."""
    most_phrases: int = 12
    seconds: float = 3.0
    text_seconds: float = 10.0
    """For the long texts that names are counted in. Rows and columns bound that work first, so that a busy machine does
    not change what is found."""
    personal: bool = True
    """Whether columns of personal data may be asked for what the question itself says. Nothing of them is kept."""


Status = Literal["held", "searched", "partly", "prose", "personal", "schema only"]
"""held: all values; searched: the rest at the source on demand; partly: some, and no more can be had."""
TEXTS = ("text", "enum", "uuid")
READ_FACETS = ("slot", "place", "list", "key_value", "identifier", "other")
PERSONAL_FACETS = ("person", "email", "phone")


@dataclass
class IndexedColumn:
    """A column, path or facet while the index is built."""

    reference: str
    kind: Literal["column", "path", "facet"]
    expression: str
    """What to select in its table."""
    status: Status
    distinct: int | None = None
    values: set[str] = field(default_factory=set)
    wanted: bool = False
    """Whether reading its values from the source would complete it."""
    is_list: bool = False
    reason: str = ""


def columns_of(
    state: EvidenceState,
    tables: Sequence[TableToIndex],
    columns: Sequence[ColumnToIndex],
    settings: ValueIndexSettings,
) -> dict[str, list[IndexedColumn]]:
    """The text-like objects of some tables and of their columns, by the table's reference."""
    by_place, model = {table.reference: table for table in tables}, ReadModel(state)
    groups: dict[str, list[str]] = defaultdict(list)
    for value in model.of_tables(GroupValueRow, by_place):
        if value.value is not None:
            groups[value.column_reference].append(value.value)
    found: dict[str, list[IndexedColumn]] = {place: [] for place in by_place}
    inner: dict[str, list[PathRow]] = defaultdict(list)
    for path in model.of_tables(PathRow, by_place):
        inner[path.column_reference].append(path)
    personal: set[str] = set()
    for row in columns:
        table = by_place[row.table_reference]
        if row.personal:
            personal.add(row.reference)
        if column_kind(row.type) in TEXTS:
            own = _column(row, table, groups.get(row.reference, ()), settings, inner[row.reference])
            found[row.table_reference].append(own)
        for path in inner[row.reference]:
            if below := _path(path, row, table, settings):
                found[row.table_reference].append(below)
    for each in model.of_tables(FacetRow, by_place):
        if facet := _facet(each, by_place[each.table_reference], each.column_reference in personal, settings):
            found[each.table_reference].append(facet)
    return found


def _column(
    row: ColumnToIndex,
    table: TableToIndex,
    group: Sequence[str],
    settings: ValueIndexSettings,
    paths: Sequence[object],
) -> IndexedColumn:
    column = IndexedColumn(row.reference, "column", identifier(row.name), "held", row.distinct_values)
    if withheld := _withheld(column, table, row.personal is not None):
        return withheld
    if (row.mean_length or 0.0) > settings.longest_mean or paths:
        column.status, column.reason = "prose", "its values are long texts" if not paths else "its values are nested"
        return column
    if row.complete:
        column.values.update(group)
        return column
    # What is cut or masked is no value; the state's examples are whole up to a length.
    examples = [value for value in row.examples if len(value) < SHOWN_CHARACTERS]
    column.values.update(group, examples)
    if row.distinct_values == 0:
        return column
    return _incomplete(column, table, settings)


def _incomplete(column: IndexedColumn, table: TableToIndex, settings: ValueIndexSettings) -> IndexedColumn:
    """A column of which the state knows some values only."""
    if table.family:
        column.status, column.reason = "partly", "its table is a family of tables"
    elif table.problem:
        column.status, column.reason = "partly", "its table could not be read"
    else:
        column.status = "searched"
        # An estimate may be off by a few per cent.
        column.wanted = column.distinct is None or column.distinct <= 1.1 * settings.most_values
        column.reason = "" if column.wanted else f"it has about {column.distinct:,} distinct values"
    return column


def _withheld(column: IndexedColumn, table: TableToIndex, personal: bool) -> IndexedColumn | None:
    if table.schema_only:
        column.status, column.reason = "schema only", "its source is schema-only"
        return column
    if personal:
        column.status, column.reason = "personal", "it holds personal data"
        return column
    return None


def _path(
    row: PathRow, parent: ColumnToIndex, table: TableToIndex, settings: ValueIndexSettings
) -> IndexedColumn | None:
    is_list = row.type.endswith("[]")
    base = row.type.removesuffix("[]")
    if not row.expression or column_kind(base) not in TEXTS:
        return None
    column = IndexedColumn(row.reference, "path", row.expression, "held", is_list=is_list)
    examples = [value for value in row.examples if value]
    steps = [step for step in row.path if step != "[]"]
    name = steps[-1] if steps else parent.name
    # A name below an author is a person's, though the path is called `name`: the column stands for its table.
    told = personal_data(name, "VARCHAR", examples, table=parent.name if steps else table.name)
    if withheld := _withheld(column, table, bool(told or parent.personal)):
        return withheld
    if examples and sum(map(len, examples)) / len(examples) > settings.longest_mean / 2:
        column.status, column.reason = "prose", "its values are long texts"
        return column
    return _unread(column, table, settings)


def _facet(row: FacetRow, table: TableToIndex, personal: bool, settings: ValueIndexSettings) -> IndexedColumn | None:
    is_list = row.type.endswith("[]")
    if column_kind(row.type.removesuffix("[]")) not in TEXTS or not row.expression:
        return None
    if row.kind not in (*READ_FACETS, *PERSONAL_FACETS):
        return None
    column = IndexedColumn(row.reference, "facet", row.expression, "held", row.distinct_values, is_list=is_list)
    read = [pair[1] for pair in json.loads(row.examples or "[]") if len(pair) > 1]
    told = personal_data(row.name, "VARCHAR", read, table=table.name)
    if withheld := _withheld(column, table, bool(personal or told or row.kind in PERSONAL_FACETS)):
        return withheld
    return _unread(column, table, settings)


def _unread(column: IndexedColumn, table: TableToIndex, settings: ValueIndexSettings) -> IndexedColumn:
    """What is computed from a column is read where it can be, and never searched at a source: no source has it."""
    column = _incomplete(column, table, settings)
    if column.status == "searched":
        column.status = "partly"
        column.reason = column.reason or "its values were not read"
    return column


COLUMNS_AT_ONCE = 20


def sql_name(table: TableToIndex) -> str:
    """What to write after FROM."""
    parts = (table.source, table.schema_name, table.name)
    return ".".join(identifier(part) for part in parts if part is not None)


def stays(session: QuerySession, table: TableToIndex) -> bool:
    """Whether the table's rows stay at their source: then only what a source can compute is asked of it."""
    parts = tuple(part for part in (table.source, table.schema_name, table.name) if part is not None)
    return stays_at_source(*session.catalogue.find(parts))


def complete_from_source(
    session: QuerySession,
    table: TableToIndex,
    columns: Sequence[IndexedColumn],
    settings: ValueIndexSettings,
) -> list[str]:
    """Complete the columns that want it, in place; answers with what went wrong."""
    wanted = [column for column in columns if column.wanted]
    if not wanted:
        return []
    try:
        remote = stays(session, table)
    except CosetError as error:
        return _not_read(wanted, str(error))
    if remote:
        for column in wanted:
            if column.kind != "column":
                column.reason = "it is computed from a column that stays at its source"
        wanted = [column for column in wanted if column.kind == "column"]
    at_once = 1 if remote else COLUMNS_AT_ONCE
    problems = []
    for first in range(0, len(wanted), at_once):
        problems += _read(session, table, wanted[first : first + at_once], settings)
    return problems


def _read(
    session: QuerySession, table: TableToIndex, columns: Sequence[IndexedColumn], settings: ValueIndexSettings
) -> list[str]:
    most = settings.most_values + 1
    relation = sql_name(table)
    parts = [_distinct(column, relation, most) for column in columns]
    if len(parts) == 1:
        text = f"SELECT 0 AS place, value FROM ({parts[0]})"
    else:
        text = " UNION ALL ".join(f"SELECT {place} AS place, value FROM ({part})" for place, part in enumerate(parts))
    try:
        result = session.sql(text, max_rows=most * len(columns), seconds=settings.table_seconds)
    except CosetError as error:
        if len(columns) == 1:
            return _not_read(columns, str(error))
        return [problem for column in columns for problem in _read(session, table, [column], settings)]
    if result.truncated and len(columns) > 1:
        return [problem for column in columns for problem in _read(session, table, [column], settings)]
    found: list[set[str]] = [set() for _ in columns]
    for place, value in result.rows():
        if value is not None:
            found[place].add(str(value))
    for column, values in zip(columns, found, strict=True):
        _complete(column, values, result.truncated, settings)
    return []


def _complete(column: IndexedColumn, values: set[str], truncated: bool, settings: ValueIndexSettings) -> None:
    if truncated or len(values) > settings.most_values:
        column.reason = f"it has more than {settings.most_values:,} distinct values"
        return
    column.distinct = len(values)
    column.values = values
    column.status, column.reason = "held", ""


def _distinct(column: IndexedColumn, relation: str, most: int) -> str:
    """A column's distinct values, one more than the bound. A plain column is asked for as it is, so that its source
    can answer."""
    if column.kind == "column":
        return f"SELECT DISTINCT {column.expression} AS value FROM {relation} LIMIT {most}"
    expression = f"unnest({column.expression})" if column.is_list else column.expression
    return f"SELECT DISTINCT value FROM (SELECT {expression} AS value FROM {relation}) LIMIT {most}"


def _not_read(columns: Sequence[IndexedColumn], problem: str) -> list[str]:
    for column in columns:
        column.reason = "its values could not be read"
    return [problem]
