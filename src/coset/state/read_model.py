"""What a state knows, as frozen rows: the one way in which later stages read it.

In: an open state. Out: `SourceRow`, `TableRow`, `ColumnRow` and so on, whose fields are columns of the state's tables.
Each kind is read at most once and when it is first asked for; `of_tables` reads the rows of some tables alone, for
states with a hundred thousand columns. Nothing here writes, and nothing knows what the rows are wanted for.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

from coset.state.evidence_state import EvidenceState, Note
from coset.state.names import Names, names_of
from coset.state.queries import fetch, fields_of, select, texts
from coset.state.relations import RelationRow
from coset.state.tables import (
    ColumnRow,
    DiagnosticRow,
    DocumentRow,
    FamilyRow,
    GroupValueRow,
    SourceRow,
    StateRow,
    TableRow,
    personal_columns,
)

Texts = tuple[str, ...]


Row = TypeVar("Row", bound=StateRow)
SHOWN = (
    "SELECT reference AS k, md5(concat_ws('|', reference, rows, shape, comment, problem)) AS d FROM tables",
    "SELECT reference AS k, md5(concat_ws('|', reference, type, nulls, distinct_values, minimum, maximum, "
    "examples, comment, personal)) AS d FROM columns",
    "SELECT id AS k, md5(concat_ws('|', id, left_expression, right_expression, left_match, right_match, "
    "confidence)) AS d FROM relations",
    "SELECT reference || coordinate AS k, md5(concat_ws('|', reference, identity, membership, runner_up)) AS d "
    "FROM memberships",
    "SELECT id AS k, md5(concat_ws('|', id, text)) AS d FROM documents",
    "SELECT id AS k, md5(concat_ws('|', id, share, expression)) AS d FROM diagnostics",
    "SELECT id AS k, md5(concat_ws('|', id, expression)) AS d FROM facets",
    "SELECT number::VARCHAR AS k, md5(concat_ws('|', about, text)) AS d FROM notes",
    "SELECT column_reference || position || part AS k, md5(concat_ws('|', column_reference, value, count)) AS d "
    "FROM group_values",
    "SELECT source AS k, md5(concat_ws('|', source, kind, schema_only, problem)) AS d FROM sources",
)
"""All that a view may show, as digests of rows by their keys."""


class ReadModel:
    """The rows of an open state, each kind read when it is first asked for."""

    def __init__(self, state: EvidenceState) -> None:
        self.state = state

    # Everything of a kind

    @cached_property
    def names(self) -> Names:
        return names_of(self.state)

    @cached_property
    def sources(self) -> Mapping[str, SourceRow]:
        return {row.source: row for row in self.all(SourceRow)}

    @cached_property
    def tables(self) -> Mapping[str, TableRow]:
        return {row.reference: row for row in self.all(TableRow)}

    @cached_property
    def families(self) -> Mapping[str, FamilyRow]:
        return {row.reference: row for row in self.all(FamilyRow)}

    @cached_property
    def columns(self) -> Mapping[str, ColumnRow]:
        return {row.reference: row for row in self.all(ColumnRow)}

    @cached_property
    def columns_of(self) -> Mapping[str, tuple[ColumnRow, ...]]:
        """By table, in its order."""
        return grouped(self.columns.values(), "table_reference")

    @cached_property
    def relations(self) -> tuple[RelationRow, ...]:
        return self.all(RelationRow)

    @cached_property
    def relations_of(self) -> Mapping[str, tuple[RelationRow, ...]]:
        """By table on either side."""
        found: dict[str, list[RelationRow]] = defaultdict(list)
        for row in self.relations:
            for table in row.tables:
                found[table].append(row)
        return {table: tuple(rows) for table, rows in found.items()}

    @cached_property
    def documents(self) -> tuple[DocumentRow, ...]:
        return self.all(DocumentRow)

    @cached_property
    def notes(self) -> Mapping[str, tuple[Note, ...]]:
        """What people said, by what it is about."""
        found: dict[str, list[Note]] = defaultdict(list)
        for note in self.state.notes():
            found[note.about].append(note)
        return {about: tuple(notes) for about, notes in found.items()}

    @cached_property
    def personal(self) -> frozenset[str]:
        """The columns that hold data of persons."""
        return personal_columns(self.state)

    def all(self, kind: type[Row]) -> tuple[Row, ...]:
        return self._read(kind)

    # Rows of some tables, or of one thing

    def of_tables(self, kind: type[Row], tables: Iterable[str]) -> tuple[Row, ...]:
        """The rows that belong to these tables."""
        column = "reference" if kind in (TableRow, FamilyRow) else "table_reference"
        return self._read(kind, f"{column} IN (SELECT unnest($1::VARCHAR[]))", [list(tables)])

    def of_references(self, kind: type[Row], references: Iterable[str]) -> tuple[Row, ...]:
        """The rows of these references: columns, paths, facets, documents, memberships by their own; what is known of
        columns (values, diagnostics) by the column's."""
        of_column = kind in (GroupValueRow, DiagnosticRow)
        column = "column_reference" if of_column else "source" if kind is SourceRow else "reference"
        return self._read(kind, f"{column} IN (SELECT unnest($1::VARCHAR[]))", [list(references)])

    def within(self, kind: type[Row], reference: str) -> tuple[Row, ...]:
        """The rows of everything in a source, a table or a column."""
        column = "column_reference" if kind in (GroupValueRow, DiagnosticRow) else "table_reference"
        condition = f"{column} = $1 OR starts_with({column}, $1 || '/') OR starts_with({column}, $1 || '.')"
        return self._read(kind, condition, [reference])

    def about(self, reference: str) -> tuple[DocumentRow, ...]:
        """What documents say of one thing."""
        return self._read(DocumentRow, "about = $1", [reference])

    def count(self, kind: type[Row]) -> int:
        return self.state.count(kind.TABLE)

    def digest(self) -> str:
        """Of all that a view may show: equal digests, equal views. Times of comprehension do not count."""
        parts = [
            texts(self.state, f"SELECT coalesce(md5(string_agg(d, '' ORDER BY k, d)), '') FROM ({each})")[0]
            for each in SHOWN
        ]
        return hashlib.sha256("".join(parts).encode()).hexdigest()[:16]

    def expressions(self) -> list[tuple[str, str]]:
        """(expression, name of its column) of all that cleans a column, then of all that joins by one."""
        rows = fetch(
            self.state,
            "SELECT d.expression, c.name FROM diagnostics d JOIN columns c ON c.reference = d.column_reference "
            "WHERE d.expression IS NOT NULL ORDER BY d.id",
        )
        rows += fetch(
            self.state,
            "SELECT r.expression, c.name FROM ("
            "SELECT id, left_expression AS expression, left_columns AS columns FROM relations UNION ALL "
            "SELECT id, right_expression, right_columns FROM relations) r JOIN columns c ON c.reference = r.columns[1] "
            "WHERE len(r.columns) = 1 ORDER BY r.id, r.expression",
        )
        return [(expression, name) for expression, name in rows]

    def resolve(self, written: str) -> str:
        """The reference that a name means, in any of its forms; `UserError` with the nearest when there is none."""
        return self.names.resolve(written)

    def _read(self, kind: type[Row], condition: str = "true", parameters: Sequence[object] = ()) -> tuple[Row, ...]:
        names = ", ".join(f'"{name}"' for name in fields_of(kind)[0])  # type: ignore[arg-type]
        statement = f"SELECT {names} FROM {kind.TABLE} WHERE {condition} ORDER BY {kind.ORDER}"
        return tuple(select(self.state, kind, statement, parameters))


Member = TypeVar("Member")


def grouped(rows: Iterable[Member], key: str) -> dict[str, tuple[Member, ...]]:
    """Rows by one of their fields, in their order."""
    found: dict[str, list[Member]] = defaultdict(list)
    for row in rows:
        found[getattr(row, key)].append(row)
    return {name: tuple(members) for name, members in found.items()}
