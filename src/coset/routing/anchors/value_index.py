"""Builds the value index: which column holds which value, so that a question's literals are found.

In: an evidence state, and a session over the sources where values have to be read. Out: rows of the state's
`indexed_tables`, `indexed_columns`, `indexed_values`, `code_labels`, and a summary. Only tables that were comprehended
anew are looked at again. Nothing of schema-only sources or personal columns is held; a column with too many values is
marked as searched at its source, never sampled silently. Does not know questions.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from coset.routing.anchors.code_labels import CodeLabel, document_labels, list_labels, table_labels
from coset.routing.anchors.indexed_columns import IndexedColumn, ValueIndexSettings, columns_of, complete_from_source
from coset.routing.anchors.spelling import normalised
from coset.session.query_session import QuerySession
from coset.state import EvidenceState
from coset.state import indexes as stored
from coset.state.indexes import TableToIndex
from coset.state.read_model import grouped

VERSION = 1
"""Goes up when the same evidence gives other rows."""
TABLES_AT_ONCE = 100
DOCUMENTS_READ = "value_index_documents"
LISTS_READ = "value_index_lists"
"""What `meta` has of the documents, and of the lists, that were read for codes."""


@dataclass(frozen=True)
class ValueIndexSummary:
    """What a build did, and what the index holds now."""

    tables: int
    looked_at: int
    removed: int
    values: int
    held: int
    """Columns, paths and facets of which every value is held."""
    searched: int
    """Those that are searched at their source."""
    partly: int
    """Those of which some values are held and no more can be searched: families, unreadable tables."""
    withheld: int
    """Personal columns, and those of schema-only sources."""
    codes: int
    problems: tuple[tuple[str, str], ...]
    seconds: float


def build_value_index(
    state: EvidenceState, session: QuerySession | None = None, settings: ValueIndexSettings | None = None
) -> ValueIndexSummary:
    """Bring the index up to date with the state. Without a session, only values that the state holds are indexed."""
    started = time.monotonic()
    settings = settings or ValueIndexSettings()
    bounds = _with_share(state, settings)
    pending, removed = _pending(state, bounds, session is not None)
    problems: list[tuple[str, str]] = []
    for first in range(0, len(pending), TABLES_AT_ONCE):
        chunk = pending[first : first + TABLES_AT_ONCE]
        _index(state, chunk, session, bounds, problems)
    _index_texts_and_lists(state, changed=bool(pending or removed))
    status, counts = stored.columns_by_status(state), stored.counts_of_index(state)
    return ValueIndexSummary(
        tables=counts["indexed_tables"],
        looked_at=len(pending),
        removed=removed,
        values=counts["indexed_values"],
        held=status.get("held", 0),
        searched=status.get("searched", 0),
        partly=status.get("partly", 0),
        withheld=status.get("personal", 0) + status.get("schema only", 0),
        codes=counts["code_labels"],
        problems=tuple(problems),
        seconds=time.monotonic() - started,
    )


def _index_texts_and_lists(state: EvidenceState, *, changed: bool) -> None:
    """What texts and lists say of codes, each when it or the values changed."""
    for key, digest, of_lists, labels in (
        (DOCUMENTS_READ, stored.digest_of_texts(state), False, document_labels),
        (LISTS_READ, stored.digest_of_lists(state), True, list_labels),
    ):
        if changed or state.meta(key) != digest:
            with state.transaction():
                stored.forget_labels(state, of_lists=of_lists)
                _insert_labels(state, [(None, label) for label in labels(state)])
                state.set_meta(key, digest)


def _with_share(state: EvidenceState, settings: ValueIndexSettings) -> ValueIndexSettings:
    """The bounds with each column's share of what may be held in all. The share is rounded to a power of two, so that
    one more column does not change it, and with it every table."""
    count = stored.number_of_text_columns(state)
    share = settings.most_in_all // max(1, count)
    share = 1 << max(0, share.bit_length() - 1)
    bound = min(settings.most_values, max(settings.fewest_values, share))
    return ValueIndexSettings(**{**asdict(settings), "most_values": bound})


def _pending(state: EvidenceState, settings: ValueIndexSettings, reads: bool) -> tuple[list[TableToIndex], int]:
    """The tables that are new or were comprehended anew, or whose source changed its mode; those that are gone go."""
    tables, known = stored.tables_to_index(state), stored.indexed_tables(state)
    gone = sorted(set(known) - {table.reference for table in tables})
    if gone:
        with state.transaction():
            stored.forget_index(state, gone)
    pending = []
    for table in tables:
        before = known.get(table.reference)
        # A table that could not be read keeps what is known of it, and so does its index.
        same = before is not None and before.settings == _settings_of(table, settings)
        same = same and before is not None and before.comprehended_at == table.comprehended_at
        if not same or (reads and before is not None and not before.read):
            pending.append(table)
    return pending, len(gone)


def _settings_of(table: TableToIndex, settings: ValueIndexSettings) -> str:
    """What a table is indexed with; when it changes, the table is looked at again."""
    return f"{VERSION} {settings} schema_only={table.schema_only}"


def _index(
    state: EvidenceState,
    tables: Sequence[TableToIndex],
    session: QuerySession | None,
    settings: ValueIndexSettings,
    problems: list[tuple[str, str]],
) -> None:
    rows = stored.columns_to_index(state, [table.reference for table in tables])
    columns, rows_of = columns_of(state, tables, rows, settings), grouped(rows, "table_reference")
    labels: list[tuple[str | None, CodeLabel]] = []
    if session is not None:
        for table in tables:
            wanted = columns[table.reference]
            found = complete_from_source(session, table, wanted, settings)
            problems += [(table.reference, problem) for problem in found]
            labels += [
                (table.reference, each)
                for each in table_labels(session, table, rows_of.get(table.reference, ()), settings)
            ]
    with state.transaction():
        stored.forget_index(state, [table.reference for table in tables])
        stored.add_to_index(
            state,
            "indexed_tables",
            {
                "table_reference": [table.reference for table in tables],
                "comprehended_at": [table.comprehended_at for table in tables],
                "settings": [_settings_of(table, settings) for table in tables],
                "read": [session is not None for _ in tables],
            },
        )
        everything = [(place, column) for place in columns for column in columns[place]]
        _insert_columns(state, everything)
        _insert_values(state, everything, settings)
        _insert_labels(state, labels)


def _insert_columns(state: EvidenceState, columns: Sequence[tuple[str, IndexedColumn]]) -> None:
    stored.add_to_index(
        state,
        "indexed_columns",
        {
            "table_reference": [place for place, _ in columns],
            "reference": [column.reference for _, column in columns],
            "kind": [column.kind for _, column in columns],
            "status": [column.status for _, column in columns],
            "held": [len(column.values) for _, column in columns],
            "distinct_values": [column.distinct for _, column in columns],
            "reason": [column.reason for _, column in columns],
        },
    )


def _insert_values(
    state: EvidenceState, columns: Iterable[tuple[str, IndexedColumn]], settings: ValueIndexSettings
) -> None:
    tables: list[str] = []
    references: list[str] = []
    values: list[str] = []
    forms: list[str | None] = []
    for place, column in columns:
        for value in sorted(column.values):
            form = normalised(value)
            if form and len(value) <= settings.longest_value:
                tables.append(place)
                references.append(column.reference)
                values.append(value)
                forms.append(None if form == value else form)
    stored.add_to_index(
        state,
        "indexed_values",
        {"table_reference": tables, "reference": references, "value": values, "normalised": forms},
    )


def _insert_labels(state: EvidenceState, labels: Sequence[tuple[str | None, CodeLabel]]) -> None:
    stored.add_to_index(
        state,
        "code_labels",
        {
            "table_reference": [place for place, _ in labels],
            "code_reference": [label.reference for _, label in labels],
            "code": [label.code for _, label in labels],
            "label": [label.label for _, label in labels],
            "normalised": [normalised(label.label) for _, label in labels],
            "origin": [label.origin for _, label in labels],
        },
    )
