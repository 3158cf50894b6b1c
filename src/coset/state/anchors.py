"""What questions are linked to, besides values: names, ranges, texts and keys of families, read off the state at once.

In: an open state. Out: narrow frozen rows over everything that it knows, for environments with a hundred thousand
columns. Knows no question.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from coset.state.evidence_state import EvidenceState
from coset.state.queries import fetch, select, texts

Texts = tuple[str, ...]


@dataclass(frozen=True)
class OpenTable:
    """A table whose rows may be searched at its source."""

    reference: str
    source: str
    schema_name: str | None
    name: str
    rows: int | None

    @property
    def place(self) -> Texts:
        """The parts of its name in SQL."""
        return tuple(part for part in (self.source, self.schema_name, self.name) if part is not None)


@dataclass(frozen=True)
class LongText:
    """A column of long texts."""

    reference: str
    table_reference: str
    name: str


@dataclass(frozen=True)
class FamilyKey:
    """A column whose values name the tables of a family."""

    key: str
    owner: str
    family: str
    members: Texts


@dataclass(frozen=True)
class Readable:
    """A column, nested path or facet, and how SQL reads it: a column by its name."""

    reference: str
    text: str
    is_column: bool
    is_open: bool


@dataclass(frozen=True)
class RangeRow:
    """Between what a column's values lie: days where it is dated, else numbers."""

    reference: str
    name: str
    type: str
    first: datetime.date | None
    last: datetime.date | None
    low: float | None
    high: float | None
    is_unique: bool | None


@dataclass(frozen=True)
class TitledRow:
    reference: str
    kind: str
    title: str | None
    text: str | None


def open_tables(state: EvidenceState) -> list[OpenTable]:
    return select(
        state,
        OpenTable,
        "SELECT t.reference, t.source, t.schema_name, t.name, t.rows FROM tables t "
        "JOIN sources s ON s.source = t.source WHERE t.family IS NULL AND t.problem IS NULL "
        "AND NOT coalesce(s.schema_only, false) ORDER BY t.reference",
    )


def long_texts(state: EvidenceState, longer: int) -> list[LongText]:
    return select(
        state,
        LongText,
        "SELECT reference, table_reference, name FROM columns WHERE type = 'VARCHAR' AND personal IS NULL "
        f"AND mean_length > {longer} ORDER BY reference",
    )


def family_keys(state: EvidenceState) -> list[FamilyKey]:
    """The surest first."""
    return select(
        state,
        FamilyKey,
        "SELECT r.key, r.owner, r.family, f.members FROM ("
        "SELECT left_columns[1] AS key, left_table AS owner, right_table AS family, confidence, id FROM relations "
        "WHERE kind = 'table_name' UNION ALL "
        "SELECT right_columns[1], right_table, left_table, confidence, id FROM relations WHERE kind = 'table_name') r "
        "JOIN families f ON f.reference = r.family WHERE r.key <> r.owner ORDER BY r.confidence DESC, r.id",
    )


def readable(state: EvidenceState, table: str) -> list[Readable]:
    """What can be read of a table."""
    return select(
        state,
        Readable,
        "SELECT reference, name AS text, true AS is_column, personal IS NULL AS is_open FROM columns "
        "WHERE table_reference = $1 UNION ALL "
        "SELECT reference, expression, false, true FROM paths WHERE table_reference = $1 UNION ALL "
        "SELECT reference, expression, false, true FROM facets WHERE table_reference = $1 ORDER BY 1",
        [table],
    )


def said_of_objects(state: EvidenceState) -> dict[str, str]:
    """The beginning of what dictionaries and people say of an object; people win."""
    rows = fetch(
        state,
        "SELECT about, left(text, 400) FROM documents WHERE about IS NOT NULL AND kind NOT IN ('passage', 'hint') "
        "ORDER BY provenance = 'stated', reference",
    )
    return dict(rows) | {note.about: note.text[:400] for note in state.notes()}


def ranges(state: EvidenceState) -> list[RangeRow]:
    """Text has extremes by its letters, which are those in time only where the years come first."""
    return select(
        state,
        RangeRow,
        r"""
        SELECT reference, name, type,
            CASE WHEN dated THEN try_cast(left(minimum, 10) AS DATE) END AS first,
            CASE WHEN dated THEN try_cast(left(maximum, 10) AS DATE) END AS last,
            try_cast(minimum AS DOUBLE) AS low, try_cast(maximum AS DOUBLE) AS high, is_unique
        FROM (
            SELECT *, type LIKE 'DATE%' OR type LIKE 'TIMESTAMP%' OR (
                regexp_matches(minimum, '^\d{4}-\d{2}-\d{2}') AND regexp_matches(maximum, '^\d{4}-\d{2}-\d{2}')
            ) AS dated
            FROM columns WHERE minimum IS NOT NULL AND personal IS NULL
        )
        WHERE dated OR (try_cast(minimum AS DOUBLE) IS NOT NULL AND try_cast(maximum AS DOUBLE) IS NOT NULL)
        ORDER BY reference
        """,
    )


def columns_with_days(state: EvidenceState) -> list[str]:
    """Columns and facets that hold days in texts."""
    return texts(
        state,
        "SELECT DISTINCT column_reference FROM diagnostics WHERE kind IN ('date_as_text', 'mixed_date_formats') "
        "UNION SELECT reference FROM facets WHERE kind = 'date' ORDER BY ALL",
    )


def titled_documents(state: EvidenceState, most: int) -> list[TitledRow]:
    """Documents with the beginning of their texts, without that of rows of tables of texts, which come last."""
    return select(
        state,
        TitledRow,
        "SELECT reference, kind, title, CASE WHEN kind = 'passage' THEN '' ELSE left(text, 20000) END AS text "
        "FROM documents WHERE kind IN ('passage', 'file', 'hint', 'description') "
        f"ORDER BY kind = 'passage', reference, title LIMIT {most}",
    )


def single_joins(state: EvidenceState, least: float = 0.0) -> list[tuple[str, str]]:
    """(left column, right column) of joins by one column each, the surest first."""
    rows = fetch(
        state,
        "SELECT left_columns[1], right_columns[1] FROM relations WHERE len(left_columns) = 1 "
        "AND len(right_columns) = 1 AND confidence >= $1 ORDER BY confidence DESC, id",
        [least],
    )
    return [(left, right) for left, right in rows]


def inner_names(state: EvidenceState) -> list[tuple[str, str]]:
    """(table, name) of every nested path, its steps with blanks between."""
    rows = fetch(state, "SELECT table_reference, array_to_string(path, ' ') FROM paths")
    return [(table, name) for table, name in rows]
