"""The indexes for routing, in the state: values and the labels of codes by column, and vectors of tables and columns.

In: values and labels as they were gathered, vectors packed as whole numbers of one byte after their scale. Out: the
same. What belongs to a table that was comprehended anew since is not handed on. Knows no question and no encoder.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from coset.state.evidence_state import EvidenceState
from coset.state.queries import (
    FEW_VALUES,
    arrow,
    execute,
    fetch,
    insert,
    insert_arrow,
    number,
    registered,
    select,
    texts,
)

OWNED = ("indexed_tables", "indexed_columns", "indexed_values", "code_labels")
Columns = Mapping[str, Sequence[Any]]
"""Rows of a table of the state, column by column: there may be a million values."""
_TYPES = {"comprehended_at": pa.timestamp("us"), "read": pa.bool_(), "held": pa.int64(), "distinct_values": pa.int64()}
_CURRENT = (
    "WITH current AS (SELECT i.table_reference FROM indexed_tables i JOIN tables t ON t.reference = i.table_reference "
    "LEFT JOIN sources s ON s.source = t.source "
    "WHERE i.comprehended_at = t.comprehended_at AND NOT coalesce(s.schema_only, false))"
)
_NOTHING_CURRENT = "WITH current AS (SELECT NULL::VARCHAR AS table_reference WHERE false)"


@dataclass(frozen=True)
class TableToIndex:
    """A table, and how it stood when its values were indexed, if they were."""

    reference: str
    source: str
    schema_name: str | None
    name: str
    rows: int | None
    comprehended_at: datetime.datetime
    problem: str | None
    family: str | None
    schema_only: bool


@dataclass(frozen=True)
class IndexedTableRow:
    table_reference: str
    comprehended_at: datetime.datetime
    settings: str
    read: bool


@dataclass(frozen=True)
class ColumnToIndex:
    """A column with what tells whether its values can be codes or labels; `complete` and `role` are of its values."""

    reference: str
    table_reference: str
    name: str
    type: str
    distinct_values: int | None
    mean_length: float | None
    maximum_length: int | None
    personal: str | None
    nulls: float | None
    examples: tuple[str, ...]
    complete: bool | None
    role: str | None


@dataclass(frozen=True)
class TextRow:
    """Something that was written, which may say what codes stand for."""

    about: str | None
    title: str | None
    text: str
    kind: str
    provenance: str


@dataclass(frozen=True)
class SearchableRow:
    """A column of which not every value is held, and where it is searched instead."""

    reference: str
    status: str
    reason: str | None
    source: str
    schema_name: str | None
    table_name: str
    name: str
    type: str
    personal: str | None


@dataclass(frozen=True)
class LabelRow:
    code_reference: str
    code: str
    label: str
    origin: str


# Building it


def tables_to_index(state: EvidenceState) -> list[TableToIndex]:
    return select(
        state,
        TableToIndex,
        "SELECT t.reference, t.source, t.schema_name, t.name, t.rows, t.comprehended_at, t.problem, t.family, "
        "coalesce(s.schema_only, false) AS schema_only FROM tables t LEFT JOIN sources s ON s.source = t.source "
        "ORDER BY t.reference",
    )


def indexed_tables(state: EvidenceState) -> dict[str, IndexedTableRow]:
    return {row.table_reference: row for row in select(state, IndexedTableRow, "SELECT * FROM indexed_tables")}


def columns_to_index(state: EvidenceState, tables: Sequence[str]) -> list[ColumnToIndex]:
    """The columns of some tables, in their order."""
    return select(
        state,
        ColumnToIndex,
        "SELECT c.*, g.complete, g.role FROM columns c LEFT JOIN value_groups g ON g.reference = c.reference "
        "WHERE list_contains($1::VARCHAR[], c.table_reference) ORDER BY c.table_reference, c.position",
        [list(tables)],
    )


def number_of_text_columns(state: EvidenceState) -> int:
    return number(state, "SELECT count(*) FROM columns WHERE type IN ('VARCHAR', 'UUID')")


def forget_index(state: EvidenceState, tables: Sequence[str]) -> None:
    for name in OWNED:
        execute(state, f"DELETE FROM {name} WHERE list_contains($1::VARCHAR[], table_reference)", [list(tables)])


def forget_labels(state: EvidenceState, *, of_lists: bool) -> None:
    """Those that come from lists, which are other tables; or those that come from texts."""
    origin = f"origin {'' if of_lists else 'NOT '}IN (SELECT reference FROM tables)"
    execute(state, f"DELETE FROM code_labels WHERE table_reference IS NULL AND {origin}")


def add_to_index(state: EvidenceState, name: str, content: Columns) -> None:
    """Rows of one of the four tables, by the names of its columns."""
    if sum(map(len, content.values())) <= FEW_VALUES:
        insert(state, name, [dict(zip(content, row, strict=True)) for row in zip(*content.values(), strict=True)])
        return
    arrays = [pa.array(values, _TYPES.get(column, pa.string())) for column, values in content.items()]
    insert_arrow(state, name, pa.table(arrays, names=list(content)))


def counts_of_index(state: EvidenceState) -> dict[str, int]:
    """How many rows each of the four tables has."""
    return {name: number(state, f"SELECT count(*) FROM {name}") for name in OWNED}


def columns_by_status(state: EvidenceState) -> dict[str, int]:
    return dict(fetch(state, "SELECT status, count(*) FROM indexed_columns GROUP BY status ORDER BY ALL"))


def digest_of_texts(state: EvidenceState) -> str:
    """Of all texts that may say what codes stand for."""
    return _digest_of(
        state,
        "SELECT md5(concat_ws('|', about, title, text)) AS d FROM documents "
        "UNION ALL SELECT md5(concat_ws('|', about, text)) FROM notes",
    )


def digest_of_lists(state: EvidenceState) -> str:
    """Of what lists say that codes stand for."""
    return _digest_of(
        state, "SELECT md5(concat_ws('|', column_reference, code, label, list_reference)) AS d FROM code_list_labels"
    )


def _digest_of(state: EvidenceState, digests: str) -> str:
    return texts(state, f"SELECT md5(coalesce(string_agg(d, '' ORDER BY d), '')) FROM ({digests})")[0]


def texts_about_codes(state: EvidenceState) -> list[TextRow]:
    """Documents and notes; rows of tables of texts last."""
    return select(
        state,
        TextRow,
        "SELECT coalesce(about, table_reference) AS about, title, text, kind, provenance FROM documents "
        "WHERE text IS NOT NULL UNION ALL SELECT about, 'note', text, 'note', 'stated' FROM notes "
        "ORDER BY kind = 'passage', about, title, text",
    )


def known_values(state: EvidenceState, column: str) -> set[str]:
    """The values of a column that its value group or the index holds."""
    return set(
        texts(
            state,
            "SELECT value FROM group_values WHERE column_reference = $1 AND value IS NOT NULL "
            "UNION SELECT value FROM indexed_values WHERE reference = $1",
            [column],
        )
    )


def holders_of_values(state: EvidenceState, values: Sequence[str]) -> dict[str, list[str]]:
    """The columns that hold each value."""
    found: dict[str, list[str]] = {}
    for value, reference in fetch(
        state,
        "SELECT DISTINCT value, reference FROM indexed_values WHERE list_contains($1::VARCHAR[], value) ORDER BY ALL",
        [list(values)],
    ):
        found.setdefault(value, []).append(reference)
    return found


# Reading it


def has_index(state: EvidenceState) -> bool:
    """A state of an older coset, opened to look at only, has no value index."""
    return set(OWNED) <= set(texts(state, "SELECT table_name FROM duckdb_tables()"))


def labels_of_codes(state: EvidenceState) -> list[tuple[str, str, str]]:
    """(column, code, label) of all codes whose labels are known."""
    rows = fetch(state, "SELECT code_reference, code, label FROM code_labels ORDER BY ALL")
    return [(column, code, label) for column, code, label in rows]


def current_labels(state: EvidenceState) -> list[LabelRow]:
    """The labels of codes that tables as they are now, or texts, give."""
    return select(
        state,
        LabelRow,
        f"{_CURRENT} SELECT code_reference, code, label, origin FROM code_labels "
        "WHERE table_reference IS NULL OR table_reference IN (FROM current) ORDER BY ALL",
    )


def numbered_values(state: EvidenceState, numbers: Mapping[str, int], *, indexed: bool) -> pa.Table:
    """`number` (of the object, as `numbers` has it), `value`, `normal`: the held values, and the members of families,
    which are found like values."""
    members = (
        "SELECT n.number, m.value, trim(regexp_replace(lower(m.value), '[^a-z0-9]+', ' ', 'g')) AS normal "
        "FROM (SELECT reference, unnest(members) AS value FROM families) m JOIN numbered n ON n.reference = m.reference"
    )
    held = (
        "SELECT n.number, v.value, coalesce(v.normalised, v.value) AS normal FROM indexed_values v "
        "JOIN current USING (table_reference) JOIN numbered n ON n.reference = v.reference"
    )
    with registered(state, "numbered", pa.table({"reference": list(numbers), "number": list(numbers.values())})):
        return arrow(state, f"{_CURRENT} {held} UNION ALL {members}" if indexed else members)


def searchable_columns(state: EvidenceState, *, indexed: bool) -> list[SearchableRow]:
    """Columns of which not every value is held: those that the index says so of, id columns of numbers, whose values
    are never held, and text columns of tables that the index does not know yet."""
    known = """
        SELECT i.reference, i.status, i.reason, t.source, t.schema_name, t.name AS table_name, c.name,
            coalesce(c.type, 'VARCHAR') AS type, c.personal
        FROM indexed_columns i JOIN current USING (table_reference) JOIN tables t ON t.reference = i.table_reference
        LEFT JOIN columns c ON c.reference = i.reference
        WHERE i.status = 'partly' OR (i.status IN ('searched', 'personal') AND i.kind = 'column' AND t.family IS NULL)
        UNION ALL
    """
    others = """
        SELECT c.reference, 'searched' AS status,
            CASE WHEN c.type = 'VARCHAR' THEN 'it is not indexed yet' ELSE 'its numbers are not held' END AS reason,
            t.source, t.schema_name, t.name AS table_name, c.name, c.type, c.personal
        FROM columns c JOIN tables t ON t.reference = c.table_reference JOIN sources s ON s.source = t.source
        WHERE t.family IS NULL AND t.problem IS NULL AND NOT coalesce(s.schema_only, false) AND (
            (c.type IN ('INTEGER', 'BIGINT', 'SMALLINT', 'UBIGINT', 'UINTEGER') AND c.is_unique)
            OR (c.type = 'VARCHAR' AND coalesce(c.mean_length, 0) <= 80
                AND c.table_reference NOT IN (SELECT table_reference FROM current))
        ) ORDER BY 1
    """
    return select(state, SearchableRow, f"{_CURRENT} {known} {others}" if indexed else f"{_NOTHING_CURRENT} {others}")


def known_vectors(state: EvidenceState) -> dict[str, bytes]:
    """Packed vectors by the digest of their text."""
    return dict(fetch(state, "SELECT digest, any_value(vector) FROM routing_vectors GROUP BY digest"))


def vectors_of(state: EvidenceState) -> dict[str, str]:
    """The digest of the text of each object that has a vector."""
    return dict(fetch(state, "SELECT reference, digest FROM routing_vectors"))


def replace_vectors(state: EvidenceState, gone: Sequence[str], vectors: Sequence[tuple[str, str, bytes]]) -> None:
    """Forget the vectors of some objects, and add some: reference, digest and vector of each."""
    with state.transaction():
        execute(state, "DELETE FROM routing_vectors WHERE list_contains($1::VARCHAR[], reference)", [list(gone)])
        insert(
            state,
            "routing_vectors",
            [dict(zip(("reference", "digest", "vector"), each, strict=True)) for each in vectors],
        )
