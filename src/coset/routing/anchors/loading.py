"""An evidence state as parts of an anchor index.

In: an open state, of this version or an older one. Out: `IndexParts`. Values of a table that was comprehended after its
values were indexed are left out: what is not sure to be there is not found. Casts and filters run in DuckDB, all rows
at once, because a state may have a hundred thousand columns.
"""

from __future__ import annotations

import re

import numpy as np

from coset.evidence.column_expressions import column_kind
from coset.routing.anchors.index import IndexParts, LabelledCode, Searchable, TitledDocument
from coset.routing.anchors.loading_texts import add_texts
from coset.state import EvidenceState

INDEX_TABLES = ("indexed_tables", "indexed_columns", "indexed_values", "code_labels")
MOST_DOCUMENTS = 20_000
TERM = re.compile(r"(?:^|[.\n]\s*)([A-Za-z][\w' -]{2,50}?)\s*(?::|=|\bmeans\b|\bis defined as\b|\brefers to\b)\s")
LEAST_CONFIDENCE = 0.5


def parts_of_state(state: EvidenceState) -> IndexParts:
    parts = IndexParts()
    numbers = _add_objects(state, parts)
    _add_ranges(state, parts, numbers)
    _add_documents(state, parts)
    _add_relations(state, parts, numbers)
    indexed = _has_index(state)
    _add_values(state, parts, numbers, indexed)
    if indexed:
        _add_codes(state, parts, numbers)
    _add_searchable(state, parts, numbers, indexed)
    add_texts(state, parts, numbers)
    parts.has_rows = True
    return parts


def _has_index(state: EvidenceState) -> bool:
    """A state of an older coset, opened to look at only, has no value index."""
    rows = state.connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
    return set(INDEX_TABLES) <= {row[0] for row in rows}


def _add_objects(state: EvidenceState, parts: IndexParts) -> dict[str, int]:
    fetch = state.connection.execute
    objects = parts.objects
    said = _said(state)
    numbers: dict[str, int] = {}
    for (source,) in fetch("SELECT source FROM sources ORDER BY source").fetchall():
        numbers[source] = objects.add("source", source, source)
    for reference, name, comment in fetch("SELECT reference, name, comment FROM tables ORDER BY reference").fetchall():
        numbers[reference] = objects.add("table", reference, name.replace("{}", " "))
        objects.describe(numbers[reference], "", said.get(reference) or comment or "")
    for reference, place, name, comment in fetch(
        "SELECT reference, table_reference, name, comment FROM columns ORDER BY table_reference, position"
    ).fetchall():
        numbers[reference] = objects.add("column", reference, name, numbers[place])
        if text := said.get(reference) or comment:
            objects.describe(numbers[reference], "", text)
    for reference, place, path in fetch(
        "SELECT reference, table_reference, path FROM paths ORDER BY reference"
    ).fetchall():
        steps = [step for step in path or [] if step != "[]"]
        if place in numbers:
            numbers[reference] = objects.add("path", reference, " ".join(steps[-2:]), numbers[place])
    for reference, place, name in fetch(
        "SELECT reference, table_reference, name FROM facets ORDER BY reference"
    ).fetchall():
        if place in numbers:
            numbers[reference] = objects.add("facet", reference, name, numbers[place])
    return numbers


def _said(state: EvidenceState) -> dict[str, str]:
    """What dictionaries and people say of an object; people win."""
    rows = state.connection.execute(
        "SELECT about, left(text, 400) FROM documents WHERE about IS NOT NULL AND kind NOT IN ('passage', 'hint') "
        "ORDER BY provenance = 'stated', reference"
    ).fetchall()
    return dict(rows) | {note.about: note.text[:400] for note in state.notes()}


def _add_ranges(state: EvidenceState, parts: IndexParts, numbers: dict[str, int]) -> None:
    ranges = parts.ranges
    # Text has extremes by its letters, which are those in time only where the years come first.
    for reference, name, type, first, last, low, high, unique in state.connection.execute(
        r"""
        SELECT reference, name, type,
            CASE WHEN dated THEN try_cast(left(minimum, 10) AS DATE) END,
            CASE WHEN dated THEN try_cast(left(maximum, 10) AS DATE) END,
            try_cast(minimum AS DOUBLE), try_cast(maximum AS DOUBLE), is_unique
        FROM (
            SELECT *, type LIKE 'DATE%' OR type LIKE 'TIMESTAMP%' OR (
                regexp_matches(minimum, '^\d{4}-\d{2}-\d{2}') AND regexp_matches(maximum, '^\d{4}-\d{2}-\d{2}')
            ) AS dated
            FROM columns WHERE minimum IS NOT NULL AND personal IS NULL
        )
        WHERE dated OR (try_cast(minimum AS DOUBLE) IS NOT NULL AND try_cast(maximum AS DOUBLE) IS NOT NULL)
        ORDER BY reference
        """
    ).fetchall():
        number = numbers[reference]
        if first is not None and last is not None:
            ranges.days.append((number, first.toordinal(), last.toordinal()))
            continue
        if low is None or high is None or not np.isfinite(low) or not np.isfinite(high):
            continue
        kind = column_kind(type)
        if 1000 <= low <= high <= 2200 and low == int(low) and ("year" in name.lower() or "yr" in name.lower()):
            ranges.years.add(number)
            ranges.days.append((number, _first_day(low), _first_day(high + 1) - 1))
        if kind in ("integer", "decimal", "float"):
            ranges.numbers.append((number, low, high))
            if kind == "integer" and unique:
                ranges.keys.add(number)
    known = {number for number, _, _ in ranges.days}
    for (reference,) in state.connection.execute(
        "SELECT DISTINCT column_reference FROM diagnostics WHERE kind IN ('date_as_text', 'mixed_date_formats') "
        "UNION SELECT reference FROM facets WHERE kind = 'date' ORDER BY ALL"
    ).fetchall():
        if reference in numbers and numbers[reference] not in known:
            ranges.unknown_days.append(numbers[reference])


def _first_day(year: float) -> float:
    import datetime

    return float(datetime.date(int(year), 1, 1).toordinal())


def _add_documents(state: EvidenceState, parts: IndexParts) -> None:
    """Documents by their titles, and by the terms that they explain at the beginning of a sentence."""
    for reference, kind, title, text in state.connection.execute(
        "SELECT reference, kind, title, CASE WHEN kind = 'passage' THEN '' ELSE left(text, 20000) END FROM documents "
        "WHERE kind IN ('passage', 'file', 'hint', 'description') ORDER BY kind = 'passage', reference, title "
        f"LIMIT {MOST_DOCUMENTS}"
    ).fetchall():
        if title and kind in ("passage", "file"):
            parts.documents.append(TitledDocument(reference, title, "title"))
        terms = dict.fromkeys(match[1].strip() for match in TERM.finditer(text or ""))
        parts.documents += [TitledDocument(reference, term, "term") for term in terms]


def _add_relations(state: EvidenceState, parts: IndexParts, numbers: dict[str, int]) -> None:
    for left, right in state.connection.execute(
        "SELECT left_columns[1], right_columns[1] FROM relations "
        "WHERE len(left_columns) = 1 AND len(right_columns) = 1 "
        f"AND confidence >= {LEAST_CONFIDENCE} ORDER BY confidence DESC, id"
    ).fetchall():
        if left in numbers and right in numbers:
            parts.related.setdefault(numbers[left], []).append(numbers[right])
            parts.related.setdefault(numbers[right], []).append(numbers[left])


def _add_values(state: EvidenceState, parts: IndexParts, numbers: dict[str, int], indexed: bool) -> None:
    """The held values, and the members of families, which are found like values."""
    import pyarrow as pa

    connection = state.connection
    connection.register("numbered", pa.table({"reference": list(numbers), "number": list(numbers.values())}))
    held = (
        "SELECT n.number, v.value, coalesce(v.normalised, v.value) AS normal FROM indexed_values v "
        "JOIN current USING (table_reference) JOIN numbered n ON n.reference = v.reference"
    )
    try:
        query = _MEMBERS if not indexed else f"{_CURRENT} {held} UNION ALL {_MEMBERS}"
        found = connection.sql(query).to_arrow_table()
    finally:
        connection.unregister("numbered")
    # By object, however the rows came to lie in the state: sorting numbers here is quicker than sorting texts there.
    objects = found.column("number").to_numpy()
    value, normal = (found.column(name).combine_chunks() for name in ("value", "normal"))
    if (np.diff(objects) < 0).any():
        order = np.argsort(objects, kind="stable")
        objects, value, normal = objects[order], value.take(pa.array(order)), normal.take(pa.array(order))
    parts.values = (objects, value, normal)


_CURRENT = (
    "WITH current AS (SELECT i.table_reference FROM indexed_tables i JOIN tables t ON t.reference = i.table_reference "
    "LEFT JOIN sources s ON s.source = t.source "
    "WHERE i.comprehended_at = t.comprehended_at AND NOT coalesce(s.schema_only, false))"
)
_MEMBERS = (
    "SELECT n.number, m.value, trim(regexp_replace(lower(m.value), '[^a-z0-9]+', ' ', 'g')) AS normal "
    "FROM (SELECT reference, unnest(members) AS value FROM families) m JOIN numbered n ON n.reference = m.reference"
)


def _add_codes(state: EvidenceState, parts: IndexParts, numbers: dict[str, int]) -> None:
    parts.codes += [
        LabelledCode(numbers[reference], code, label, origin)
        for reference, code, label, origin in state.connection.execute(
            f"{_CURRENT} SELECT code_reference, code, label, origin FROM code_labels "
            "WHERE table_reference IS NULL OR table_reference IN (FROM current) ORDER BY ALL"
        ).fetchall()
        if reference in numbers
    ]


def _add_searchable(state: EvidenceState, parts: IndexParts, numbers: dict[str, int], indexed: bool) -> None:
    for reference, status, reason, *place, type, personal in state.connection.execute(
        f"{_CURRENT if indexed else _NOTHING_CURRENT} "
        f"{_INDEXED_COLUMNS + ' UNION ALL ' if indexed else ''}{_OTHER_COLUMNS} ORDER BY 1"
    ).fetchall():
        if status == "partly":
            parts.unsearchable.append((reference, reason))
            continue
        source, schema, table, column = place
        is_text = column_kind(type) != "integer"
        why = reason or "its values are not held"
        parts.searchable.append(Searchable(numbers[reference], source, schema, table, column, is_text, why, personal))


_NOTHING_CURRENT = "WITH current AS (SELECT NULL::VARCHAR AS table_reference WHERE false)"
_INDEXED_COLUMNS = """
    SELECT i.reference, i.status, i.reason, t.source, t.schema_name, t.name, c.name, coalesce(c.type, 'VARCHAR'),
        c.personal
    FROM indexed_columns i JOIN current USING (table_reference) JOIN tables t ON t.reference = i.table_reference
    LEFT JOIN columns c ON c.reference = i.reference
    WHERE i.status = 'partly' OR (i.status IN ('searched', 'personal') AND i.kind = 'column' AND t.family IS NULL)
"""
# Id columns of numbers, whose values are never held, and text columns of tables that the value index does not know yet.
_OTHER_COLUMNS = """
    SELECT c.reference, 'searched',
        CASE WHEN c.type = 'VARCHAR' THEN 'it is not indexed yet' ELSE 'its numbers are not held' END,
        t.source, t.schema_name, t.name, c.name, c.type, c.personal
    FROM columns c JOIN tables t ON t.reference = c.table_reference JOIN sources s ON s.source = t.source
    WHERE t.family IS NULL AND t.problem IS NULL AND NOT coalesce(s.schema_only, false) AND (
        (c.type IN ('INTEGER', 'BIGINT', 'SMALLINT', 'UBIGINT', 'UINTEGER') AND c.is_unique)
        OR (c.type = 'VARCHAR' AND coalesce(c.mean_length, 0) <= 80
            AND c.table_reference NOT IN (SELECT table_reference FROM current))
    )
"""
