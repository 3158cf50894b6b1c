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
from typing import Any

from coset.routing.anchors.code_labels import CodeLabel, document_labels, list_labels, table_labels
from coset.routing.anchors.indexed_columns import IndexedColumn, ValueIndexSettings, columns_of, complete_from_source
from coset.routing.anchors.spelling import normalised
from coset.session.query_session import QuerySession
from coset.state import EvidenceState

VERSION = 1
"""Goes up when the same evidence gives other rows."""
TABLES_AT_ONCE = 100
DOCUMENTS_READ = "value_index_documents"
"""What `meta` has of the documents that were read for codes."""
OWNED = ("indexed_tables", "indexed_columns", "indexed_values", "code_labels")


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
    _index_documents(state, changed=bool(pending or removed))
    status = dict(
        state.connection.execute("SELECT status, count(*) FROM indexed_columns GROUP BY status ORDER BY ALL").fetchall()
    )
    return ValueIndexSummary(
        tables=state.count("indexed_tables"),
        looked_at=len(pending),
        removed=removed,
        values=state.count("indexed_values"),
        held=status.get("held", 0),
        searched=status.get("searched", 0),
        partly=status.get("partly", 0),
        withheld=status.get("personal", 0) + status.get("schema only", 0),
        codes=state.count("code_labels"),
        problems=tuple(problems),
        seconds=time.monotonic() - started,
    )


def _index_documents(state: EvidenceState, *, changed: bool) -> None:
    """What texts say of codes, when the texts or the values changed."""
    digest = state.connection.execute(
        "SELECT md5(coalesce(string_agg(d, '' ORDER BY d), '')) "
        "FROM (SELECT md5(concat_ws('|', about, title, text)) AS d FROM documents "
        "UNION ALL SELECT md5(concat_ws('|', about, text)) FROM notes "
        "UNION ALL SELECT md5(concat_ws('|', column_reference, code, label, list_reference)) FROM code_list_labels)"
    ).fetchall()[0][0]
    if not changed and state.meta(DOCUMENTS_READ) == digest:
        return
    with state.transaction():
        state.connection.execute("DELETE FROM code_labels WHERE table_reference IS NULL")
        _insert_labels(state, [(None, label) for label in (*document_labels(state), *list_labels(state))])
        state.set_meta(DOCUMENTS_READ, digest)


def _with_share(state: EvidenceState, settings: ValueIndexSettings) -> ValueIndexSettings:
    """The bounds with each column's share of what may be held in all. The share is rounded to a power of two, so that
    one more column does not change it, and with it every table."""
    count = state.connection.execute("SELECT count(*) FROM columns WHERE type IN ('VARCHAR', 'UUID')").fetchall()[0][0]
    share = settings.most_in_all // max(1, int(count))
    share = 1 << max(0, share.bit_length() - 1)
    bound = min(settings.most_values, max(settings.fewest_values, share))
    return ValueIndexSettings(**{**asdict(settings), "most_values": bound})


def _pending(state: EvidenceState, settings: ValueIndexSettings, reads: bool) -> tuple[list[dict[str, Any]], int]:
    """The tables that are new or were comprehended anew, or whose source changed its mode; those that are gone go."""
    tables = state.rows(
        "SELECT t.reference, t.source, t.schema_name, t.name, t.rows, t.comprehended_at, t.problem, t.family, "
        "coalesce(s.schema_only, false) AS schema_only FROM tables t LEFT JOIN sources s ON s.source = t.source "
        "ORDER BY t.reference"
    )
    known = {row["table_reference"]: row for row in state.rows("SELECT * FROM indexed_tables")}
    gone = sorted(set(known) - {table["reference"] for table in tables})
    if gone:
        with state.transaction():
            _forget(state, gone)
    pending = []
    for table in tables:
        table["settings"] = f"{VERSION} {settings} schema_only={table['schema_only']}"
        before = known.get(table["reference"])
        # A table that could not be read keeps what is known of it, and so does its index.
        same = before is not None and before["settings"] == table["settings"]
        same = same and before is not None and before["comprehended_at"] == table["comprehended_at"]
        if not same or (reads and before is not None and not before["read"]):
            pending.append(table)
    return pending, len(gone)


def _index(
    state: EvidenceState,
    tables: Sequence[dict[str, Any]],
    session: QuerySession | None,
    settings: ValueIndexSettings,
    problems: list[tuple[str, str]],
) -> None:
    columns = columns_of(state, tables, settings)
    labels: list[tuple[str | None, CodeLabel]] = []
    if session is not None:
        for table in tables:
            wanted = columns[table["reference"]]
            found = complete_from_source(session, table, wanted, settings)
            problems += [(table["reference"], problem) for problem in found]
            labels += [(table["reference"], each) for each in table_labels(state, session, table, settings)]
    with state.transaction():
        _forget(state, [table["reference"] for table in tables])
        _insert(
            state,
            "indexed_tables",
            {
                "table_reference": [table["reference"] for table in tables],
                "comprehended_at": [table["comprehended_at"] for table in tables],
                "settings": [table["settings"] for table in tables],
                "read": [session is not None for _ in tables],
            },
        )
        everything = [(place, column) for place in columns for column in columns[place]]
        _insert_columns(state, everything)
        _insert_values(state, everything, settings)
        _insert_labels(state, labels)


def _forget(state: EvidenceState, references: Sequence[str]) -> None:
    for name in OWNED:
        state.connection.execute(
            f"DELETE FROM {name} WHERE list_contains($1::VARCHAR[], table_reference)", [list(references)]
        )


def _insert_columns(state: EvidenceState, columns: Sequence[tuple[str, IndexedColumn]]) -> None:
    _insert(
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
    _insert(
        state,
        "indexed_values",
        {"table_reference": tables, "reference": references, "value": values, "normalised": forms},
    )


def _insert_labels(state: EvidenceState, labels: Sequence[tuple[str | None, CodeLabel]]) -> None:
    _insert(
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


def _insert(state: EvidenceState, name: str, content: dict[str, list[Any]]) -> None:
    """Columns of Python into a table of the state, through Arrow: there may be a million values."""
    import pyarrow as pa

    names = list(content)
    if not content[names[0]]:
        return
    types = {
        "comprehended_at": pa.timestamp("us"),
        "read": pa.bool_(),
        "held": pa.int64(),
        "distinct_values": pa.int64(),
    }
    arrays = [pa.array(content[column], types.get(column, pa.string())) for column in names]
    state.connection.register("arriving", pa.table(arrays, names=names))
    state.connection.execute(f"INSERT INTO {name} ({', '.join(names)}) SELECT * FROM arriving").fetchall()
    state.connection.unregister("arriving")
