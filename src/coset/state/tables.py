"""What is seen of each table, in the state: sources, tables, families, columns, values, paths, facets, quality.

In: an open state. Out: frozen rows, whose fields are columns of the state's tables, and narrow answers over all of them
that would be slow as whole rows. Knows nothing of what they are wanted for.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from coset.environment.families import relation_name
from coset.state.evidence_state import EvidenceState
from coset.state.queries import fetch, select, texts

Texts = tuple[str, ...]


@dataclass(frozen=True)
class StateRow:
    """A row of one of the state's tables, which `TABLE` names."""

    TABLE: ClassVar[str]
    ORDER: ClassVar[str]


@dataclass(frozen=True)
class SourceRow(StateRow):
    TABLE = "sources"
    ORDER = "source"
    source: str
    kind: str
    description: str | None
    schema_only: bool
    problem: str | None
    skipped: Texts


@dataclass(frozen=True)
class TableRow(StateRow):
    TABLE = "tables"
    ORDER = "reference"
    reference: str
    source: str
    schema_name: str | None
    name: str
    kind: str | None
    rows: int | None
    sampled_rows: int | None
    bytes: int | None
    comment: str | None
    primary_key: Texts
    family: str | None
    problem: str | None

    @property
    def held_rows(self) -> int:
        """The rows that were looked at."""
        return (self.rows if self.sampled_rows is None else self.sampled_rows) or 0


@dataclass(frozen=True)
class FamilyRow(StateRow):
    TABLE = "families"
    ORDER = "reference"
    reference: str
    source: str
    pattern: str
    members: Texts
    columns: Texts
    rows: int | None

    @property
    def relation(self) -> str:
        """What SQL calls the family read as one table."""
        return relation_name(self.pattern)


@dataclass(frozen=True)
class ColumnRow(StateRow):
    TABLE = "columns"
    ORDER = "table_reference, position"
    reference: str
    table_reference: str
    position: int
    name: str
    type: str
    native_type: str | None
    comment: str | None
    nullable: bool | None
    personal: str | None
    nulls: float | None
    distinct_values: int | None
    distinct_exact: bool | None
    is_unique: bool | None
    minimum: str | None
    maximum: str | None
    mean: float | None
    deviation: float | None
    mean_length: float | None
    maximum_length: int | None
    examples: Texts


@dataclass(frozen=True)
class PathRow(StateRow):
    TABLE = "paths"
    ORDER = "table_reference, reference"
    reference: str
    table_reference: str
    column_reference: str
    path: Texts
    type: str
    expression: str
    coverage: float
    description: str | None
    keys_expression: str | None
    examples: Texts


@dataclass(frozen=True)
class FacetRow(StateRow):
    TABLE = "facets"
    ORDER = "table_reference, reference"
    reference: str
    table_reference: str
    column_reference: str
    name: str
    kind: str
    expression: str
    type: str
    coverage: float
    distinct_values: int | None
    description: str | None
    examples: str | None
    """JSON: pairs of a text and what is read of it."""


@dataclass(frozen=True)
class ValueGroupRow(StateRow):
    TABLE = "value_groups"
    ORDER = "reference"
    reference: str
    table_reference: str
    complete: bool
    distinct_values: int
    role: str | None


@dataclass(frozen=True)
class GroupValueRow(StateRow):
    """A value of a group; `part` is top or tail."""

    TABLE = "group_values"
    ORDER = "column_reference, part DESC, position"
    table_reference: str
    column_reference: str
    position: int
    value: str | None
    count: int
    part: str


@dataclass(frozen=True)
class DiagnosticRow(StateRow):
    TABLE = "diagnostics"
    ORDER = "column_reference, kind, detail"
    id: str
    table_reference: str
    column_reference: str
    kind: str
    share: float
    share_error: float
    detail: str
    expression: str | None
    type: str | None
    examples: Texts


@dataclass(frozen=True)
class DuplicatesRow(StateRow):
    TABLE = "duplicates"
    ORDER = "table_reference"
    table_reference: str
    columns: Texts
    key_expression: str
    clusters: int
    rows: int
    share: float
    share_error: float
    detail: str


@dataclass(frozen=True)
class DocumentRow(StateRow):
    TABLE = "documents"
    ORDER = "reference, kind, title"
    reference: str
    table_reference: str | None
    about: str | None
    kind: str
    title: str
    text: str
    provenance: str


@dataclass(frozen=True)
class FewValuedRow:
    """A column whose values are few and all known, with how often each is there."""

    reference: str
    name: str
    table_reference: str
    table_name: str
    held: Texts
    counts: tuple[int | None, ...]


# Narrow answers over everything


def few_valued_columns(state: EvidenceState, most: int) -> list[FewValuedRow]:
    """The columns whose values are few and all known."""
    found = select(
        state,
        FewValuedRow,
        "SELECT c.reference, c.name, c.table_reference, t.name AS table_name, list(v.value) AS held, "
        "list(v.count) AS counts FROM columns c JOIN tables t ON t.reference = c.table_reference "
        "JOIN value_groups g ON g.reference = c.reference JOIN group_values v ON v.column_reference = c.reference "
        f"WHERE g.complete AND g.distinct_values <= {most} AND trim(v.value) <> '' "
        "GROUP BY ALL ORDER BY c.reference",
    )
    # Of small tables the examples are all values.
    return found + select(
        state,
        FewValuedRow,
        "SELECT c.reference, c.name, c.table_reference, t.name AS table_name, c.examples AS held, "
        "list_transform(c.examples, lambda value: 1) AS counts FROM columns c "
        "JOIN tables t ON t.reference = c.table_reference WHERE c.distinct_values <= len(c.examples) "
        "AND c.distinct_values < t.rows AND c.distinct_values > 1 AND c.personal IS NULL "
        "AND c.reference NOT IN (SELECT reference FROM value_groups) ORDER BY c.reference",
    )


def versions_of_tables(state: EvidenceState) -> list[tuple[Any, ...]]:
    """What tells whether a table is as it was when it was last looked at."""
    return fetch(state, "SELECT reference, shape, token, digest, rows FROM tables ORDER BY reference")


def columns_and_paths(state: EvidenceState) -> list[tuple[str, str, str]]:
    """(table, name, reference) of every column, and of nested paths by their last step."""
    rows = fetch(
        state,
        "SELECT table_reference, name, reference FROM columns UNION ALL "
        "SELECT table_reference, path[-1], reference FROM paths WHERE path[-1] <> '[]' ORDER BY ALL",
    )
    return [(table, name, reference) for table, name, reference in rows]


def table_of_references(state: EvidenceState) -> dict[str, str]:
    """The table of every table, column and nested path, by its reference."""
    return dict(
        fetch(
            state,
            "SELECT reference, reference AS table_reference FROM tables UNION ALL "
            "SELECT reference, table_reference FROM columns UNION ALL SELECT reference, table_reference FROM paths",
        )
    )


def short_values(state: EvidenceState, most: int) -> list[tuple[str, str]]:
    """(value, column) of values that a text may name."""
    rows = fetch(
        state,
        "SELECT DISTINCT value, column_reference AS reference FROM group_values WHERE length(value) BETWEEN 2 AND 60 "
        f"ORDER BY ALL LIMIT {most}",
    )
    return [(value, reference) for value, reference in rows]


def times_of_tables(state: EvidenceState) -> list[tuple[str, str]]:
    """When each table was comprehended."""
    rows = fetch(state, "SELECT reference, comprehended_at::VARCHAR FROM tables ORDER BY ALL")
    return [(reference, at) for reference, at in rows]


def personal_columns(state: EvidenceState) -> frozenset[str]:
    """The columns that hold data of persons."""
    return frozenset(texts(state, "SELECT reference FROM columns WHERE personal IS NOT NULL"))


def first_values(state: EvidenceState, most: int) -> list[tuple[str, str]]:
    """(column, value) of the commonest values of each column."""
    rows = fetch(
        state,
        "SELECT column_reference, value FROM group_values WHERE value IS NOT NULL AND part <> 'tail' "
        f"AND position < {most} ORDER BY column_reference, position",
    )
    return [(column, value) for column, value in rows]


def values_of_tables(state: EvidenceState, most: int) -> list[tuple[str, str]]:
    """(table, value) of the first values of all columns."""
    rows = fetch(
        state, f"SELECT table_reference, value FROM group_values WHERE value IS NOT NULL AND position < {most}"
    )
    return [(table, value) for table, value in rows]


def top_values(state: EvidenceState, tables: Sequence[str], most: int) -> list[GroupValueRow]:
    """The commonest values of the columns of some tables, with their counts."""
    return select(
        state,
        GroupValueRow,
        "SELECT * FROM group_values WHERE table_reference IN (SELECT unnest($1::VARCHAR[])) AND part <> 'tail' "
        f"AND position < {most} ORDER BY column_reference, position",
        [list(tables)],
    )


@dataclass(frozen=True)
class FirstColumns:
    """The names of a table's first columns, and how many it has."""

    table_reference: str
    names: Texts
    number: int


def first_columns(state: EvidenceState, most: int) -> list[FirstColumns]:
    return select(
        state,
        FirstColumns,
        f"SELECT table_reference, list(name ORDER BY position)[:{most}] AS names, count(*) AS number FROM columns "
        "GROUP BY table_reference",
    )


@dataclass(frozen=True)
class NamedColumn:
    reference: str
    table_reference: str
    name: str
    comment: str | None


def named_columns(state: EvidenceState) -> list[NamedColumn]:
    """Every column by its name alone, for environments with a hundred thousand of them."""
    return select(
        state,
        NamedColumn,
        "SELECT reference, table_reference, name, comment FROM columns ORDER BY table_reference, position",
    )


@dataclass(frozen=True)
class TableShape:
    """A table with the names of its columns, in lower case and sorted."""

    reference: str
    source: str
    name: str
    columns: Texts


def shapes_of_tables(state: EvidenceState) -> list[TableShape]:
    """Of tables that are no family."""
    return select(
        state,
        TableShape,
        "SELECT t.reference, t.source, t.name, list(lower(c.name) ORDER BY lower(c.name)) AS columns "
        "FROM tables t JOIN columns c ON c.table_reference = t.reference WHERE t.family IS NULL GROUP BY ALL "
        "ORDER BY t.reference",
    )


def facets_of_column(state: EvidenceState, column: str) -> list[FacetRow]:
    return select(state, FacetRow, "SELECT * FROM facets WHERE column_reference = $1 ORDER BY reference", [column])


@dataclass(frozen=True)
class CalledTable:
    """A table by a name as SQL writes it; of a member of a family `reference` is the family's."""

    reference: str
    source: str
    schema_name: str | None
    name: str
    rows: int | None


def tables_called(state: EvidenceState, source: str, name: str) -> list[CalledTable]:
    """The tables, and the members of families, of these names in lower case."""
    return select(
        state,
        CalledTable,
        "SELECT reference, source, schema_name, name, rows FROM tables "
        "WHERE lower(source) = $1 AND lower(name) = $2 UNION ALL "
        "SELECT f.reference, f.source, t.schema_name, list_filter(f.members, lambda m: lower(m) = $2)[1], "
        "NULL FROM families f JOIN tables t USING (reference) WHERE lower(f.source) = $1 "
        "AND list_contains(list_transform(f.members, lambda m: lower(m)), $2)",
        [source, name],
    )


# For people


@dataclass(frozen=True)
class SourceOverview:
    """A source with how much is in it; `dirt` counts what is wrong with values, and tables whose rows repeat."""

    source: str
    kind: str
    description: str | None
    schema_only: bool
    problem: str | None
    listed_at: datetime.datetime
    tables: int
    rows: int | None
    columns: int
    dirt: int


_DIRT = "SELECT table_reference, kind FROM diagnostics UNION ALL SELECT table_reference, 'duplicates' FROM duplicates"


def source_overviews(state: EvidenceState) -> list[SourceOverview]:
    return select(
        state,
        SourceOverview,
        f"WITH dirt AS ({_DIRT}) SELECT s.source, s.kind, s.description, s.schema_only, s.problem, s.listed_at, "
        "(SELECT count(*) FROM tables t WHERE t.source = s.source) AS tables, "
        "(SELECT sum(t.rows) FROM tables t WHERE t.source = s.source) AS rows, "
        "(SELECT count(*) FROM columns c JOIN tables t ON t.reference = c.table_reference WHERE t.source = s.source) "
        "AS columns, (SELECT count(*) FROM dirt d JOIN tables t ON t.reference = d.table_reference "
        "WHERE t.source = s.source) AS dirt FROM sources s ORDER BY s.source",
    )


@dataclass(frozen=True)
class KindOfDirt:
    kind: str
    number: int


def kinds_of_dirt(state: EvidenceState) -> list[KindOfDirt]:
    """How often each kind of dirt was seen, the commonest first."""
    return select(
        state, KindOfDirt, f"SELECT kind, count(*) AS number FROM ({_DIRT}) GROUP BY kind ORDER BY number DESC, kind"
    )


@dataclass(frozen=True)
class TableOverview:
    """A table with its reading, where that is sure enough to show, the joins that touch it and its copies."""

    reference: str
    rows: int | None
    problem: str | None
    joins: int
    copies: int
    columns: int
    reading: str | None
    is_copy: bool
    original_reference: str | None
    copy_kind: str | None


def table_overviews(state: EvidenceState) -> list[TableOverview]:
    """Those that most joins touch first."""
    return select(
        state,
        TableOverview,
        "WITH ends AS (SELECT left_table AS reference FROM relations UNION ALL SELECT right_table FROM relations), "
        "uses AS (SELECT reference, count(*) AS number FROM ends GROUP BY reference), "
        "folded AS (SELECT original_reference AS reference, count(*) AS number FROM copies GROUP BY ALL) "
        "SELECT t.reference, t.rows, t.problem, coalesce(u.number, 0) AS joins, coalesce(f.number, 0) AS copies, "
        "(SELECT count(*) FROM columns c WHERE c.table_reference = t.reference) AS columns, "
        "CASE WHEN b.confidence >= 0.3 THEN b.name END AS reading, "
        "p.table_reference IS NOT NULL AS is_copy, p.original_reference, p.kind AS copy_kind FROM tables t "
        "LEFT JOIN uses u USING (reference) LEFT JOIN folded f USING (reference) "
        "LEFT JOIN best_readings b ON b.reference = t.reference "
        "LEFT JOIN copies p ON p.table_reference = t.reference ORDER BY joins DESC, t.reference",
    )
