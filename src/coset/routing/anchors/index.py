"""The index that questions are linked to the data by, and loading it from a state or from observed tables.

In: an evidence state, or tables of a schema file. Out: an `AnchorIndex`: names, values, codes, ranges, texts and the
words of all of them. Knows no question.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from coset.evidence.column_expressions import column_kind
from coset.readings.observed import ObservedColumn, ObservedEnvironment, ObservedTable
from coset.routing.anchors.code_labels import label_pairs, listed_pairs
from coset.routing.anchors.hashed_texts import HashedTexts, Rows
from coset.routing.anchors.spelling import Spelling, normalised, plain_words
from coset.routing.anchors.stored import HeldValues, NamedObjects, ObjectList, RangeList, Ranges
from coset.sql_text import identifier
from coset.state import EvidenceState


@dataclass(frozen=True)
class LabelledCode:
    """In the object, the code stands for the label."""

    object: int
    code: str
    label: str
    origin: str


@dataclass(frozen=True)
class TitledDocument:
    """A text about the data, found by its title or by the term that it explains."""

    reference: str
    term: str
    kind: Literal["title", "term"]


@dataclass(frozen=True)
class Searchable:
    """A column whose values are not held: it can be asked at its source."""

    object: int
    source: str
    schema: str | None
    table: str
    column: str
    is_text: bool
    reason: str
    personal: str | None = None
    """The kind of personal data, if it holds any."""


@dataclass(frozen=True)
class TextColumn:
    """A column of long texts, which are not held."""

    object: int
    table: tuple[str, ...]
    """The table as SQL names it, part by part."""
    column: str
    rows: int


@dataclass(frozen=True)
class MemberKey:
    """A table whose rows each name a member of a family of tables."""

    table: tuple[str, ...]
    column: str
    family: int
    members: frozenset[str]
    expressions: dict[int, str]
    """What to select for each of the table's columns, paths and facets."""


@dataclass
class IndexParts:
    """What an index is made of, as it is collected."""

    objects: ObjectList = field(default_factory=ObjectList)
    ranges: RangeList = field(default_factory=RangeList)
    values: tuple[Rows, Any, Any] | None = None
    codes: list[LabelledCode] = field(default_factory=list)
    documents: list[TitledDocument] = field(default_factory=list)
    related: dict[int, list[int]] = field(default_factory=dict)
    """Columns by the columns that they join with."""
    searchable: list[Searchable] = field(default_factory=list)
    texts: list[TextColumn] = field(default_factory=list)
    """Columns of long texts."""
    member_keys: list[MemberKey] = field(default_factory=list)
    has_rows: bool = False
    """Whether there are tables with rows behind it, not schemas alone."""
    unsearchable: list[tuple[str, str]] = field(default_factory=list)
    """(reference, why) of columns of which only some values are held, and no more can be asked for."""


class AnchorIndex:
    """Everything that phrases are looked up in. Read only, so threads may share it."""

    def __init__(self, parts: IndexParts) -> None:
        import pyarrow as pa

        self.objects = NamedObjects(parts.objects)
        self.ranges = Ranges(parts.ranges)
        nothing = (np.zeros(0, dtype=np.int64), pa.array([], pa.string()), pa.array([], pa.string()))
        self.values = HeldValues(*(parts.values or nothing))
        self.codes = tuple(parts.codes)
        self.labels = HashedTexts([normalised(code.label) for code in parts.codes])
        self.documents = tuple(parts.documents)
        self.terms = HashedTexts([normalised(document.term) for document in parts.documents])
        self.related = parts.related
        self.searchable = tuple(parts.searchable)
        self.unsearchable = tuple(parts.unsearchable)
        self.has_rows = parts.has_rows
        self.texts = tuple(parts.texts)
        self.member_keys = {number: key for key in parts.member_keys for number in key.expressions}
        self.spelling = Spelling((self.objects.vocabulary, self.values.words))

    def __len__(self) -> int:
        return len(self.objects)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Objects by their reference."""
        return {reference: number for number, reference in enumerate(self.objects.references)}

    @classmethod
    def load(cls, state: EvidenceState) -> AnchorIndex:
        """The index of a state. Values are there when the value index was built for the tables as they are now."""
        from coset.routing.anchors.index import parts_of_state

        return cls(parts_of_state(state))

    @classmethod
    def from_observed(cls, environment: ObservedEnvironment) -> AnchorIndex:
        """The index of schemas without rows: names, labels, descriptions, and sample values where there are any."""
        from coset.routing.anchors.index import parts_of_observed

        return cls(parts_of_observed(environment))


LONGEST_SAMPLE = 120


def parts_of_observed(environment: ObservedEnvironment) -> IndexParts:
    import numpy as np
    import pyarrow as pa

    parts = IndexParts()
    holders: list[int] = []
    values: list[str] = []
    by_table: dict[str, dict[str, int]] = {}
    for table in environment.tables:
        place = table.reference or table.name
        number = parts.objects.add("table", place, table.name)
        parts.objects.describe(number, table.label, table.description)
        columns = by_table.setdefault(table.name.lower(), {})
        for column in table.columns:
            own = parts.objects.add("column", column.reference or f"{place}.{column.name}", column.name, number)
            columns.setdefault(column.name.lower(), own)
            parts.objects.describe(own, column.label, column.description)
            _add_ranges(parts, own, column)
            _add_codes(parts, own, table, column)
            if column.type not in ("whole", "number", "date", "time", "binary", "flag"):
                samples = [text for text in column.samples if 0 < len(text) <= LONGEST_SAMPLE and normalised(text)]
                holders += [own] * len(samples)
                values += samples
    _add_relations(parts, environment, by_table)
    forms = [normalised(value) for value in values]
    parts.values = (np.asarray(holders, dtype=np.int64), pa.array(values, pa.string()), pa.array(forms, pa.string()))
    return parts


def _add_ranges(parts: IndexParts, number: int, column: ObservedColumn) -> None:
    """Schemas have no extremes: a column of times may hold any, an id any number."""
    is_year = {"year", "yr"} & set(plain_words(column.name))
    if column.type in ("date", "time") or (is_year and column.type in ("whole", "text", "unknown")):
        parts.ranges.unknown_days.append(number)
    if column.type == "whole":
        parts.ranges.numbers.append((number, float("-inf"), float("inf")))
        if column.is_key:
            parts.ranges.keys.add(number)
    elif column.type == "number":
        parts.ranges.numbers.append((number, float("-inf"), float("inf")))


def _add_codes(parts: IndexParts, number: int, table: ObservedTable, column: ObservedColumn) -> None:
    if not column.description:
        return
    known = {sample.strip().lower() for sample in column.samples}
    pairs = [*label_pairs(column.description), *listed_pairs(column.description, set(column.samples))]
    if known and len(known) < 12:  # Fewer samples than are kept may be all values.
        pairs = [pair for pair in pairs if pair[0].lower() in known]
    elif len(pairs) < 2:
        return
    origin = f"description of {table.name}.{column.name}"
    parts.codes += [LabelledCode(number, code, label, origin) for code, label in dict.fromkeys(pairs)]


def _add_relations(parts: IndexParts, environment: ObservedEnvironment, by_table: dict[str, dict[str, int]]) -> None:
    for table in environment.tables:
        for column in table.columns:
            if column.refers_to is None:
                continue
            left = by_table[table.name.lower()].get(column.name.lower())
            right = by_table.get(column.refers_to[0].lower(), {}).get(column.refers_to[1].lower())
            if left is not None and right is not None:
                parts.related.setdefault(right, []).append(left)
                parts.related.setdefault(left, []).append(right)


LONG = 80
_OPEN = (
    "FROM tables t JOIN sources s ON s.source = t.source "
    "WHERE t.family IS NULL AND t.problem IS NULL AND NOT coalesce(s.schema_only, false)"
)


def add_texts(state: EvidenceState, parts: IndexParts, numbers: dict[str, int]) -> None:
    fetch = state.connection.execute
    tables = {
        reference: (tuple(part for part in place if part is not None), int(rows or 0))
        for reference, *place, rows in fetch(
            f"SELECT t.reference, t.source, t.schema_name, t.name, t.rows {_OPEN} ORDER BY t.reference"
        ).fetchall()
    }
    for reference, place, name in fetch(
        "SELECT reference, table_reference, name FROM columns WHERE type = 'VARCHAR' AND personal IS NULL "
        f"AND mean_length > {LONG} ORDER BY reference"
    ).fetchall():
        if place in tables and reference in numbers:
            parts.texts.append(TextColumn(numbers[reference], tables[place][0], name, tables[place][1]))
    _add_member_keys(state, parts, numbers, {place: names for place, (names, _) in tables.items()})


def _add_member_keys(
    state: EvidenceState, parts: IndexParts, numbers: dict[str, int], tables: dict[str, tuple[str, ...]]
) -> None:
    fetch = state.connection.execute
    for key, owner, family, members in fetch(
        "SELECT r.key, r.owner, r.family, f.members FROM ("
        "SELECT left_columns[1] AS key, left_table AS owner, right_table AS family, confidence, id FROM relations "
        "WHERE kind = 'table_name' UNION ALL "
        "SELECT right_columns[1], right_table, left_table, confidence, id FROM relations WHERE kind = 'table_name') r "
        "JOIN families f ON f.reference = r.family WHERE r.key <> r.owner ORDER BY r.confidence DESC, r.id"
    ).fetchall():
        if owner not in tables or family not in numbers or any(owner == known for known in _owners(parts, tables)):
            continue
        found = fetch(
            "SELECT reference, name, true, personal IS NULL FROM columns WHERE table_reference = $1 UNION ALL "
            "SELECT reference, expression, false, true FROM paths WHERE table_reference = $1 UNION ALL "
            "SELECT reference, expression, false, true FROM facets WHERE table_reference = $1 ORDER BY 1",
            [owner],
        ).fetchall()
        names = {reference: name for reference, name, is_column, _ in found if is_column}
        expressions = {
            numbers[reference]: identifier(text) if is_column else text
            for reference, text, is_column, is_open in found
            if is_open and text and reference in numbers
        }
        if key in names:
            parts.member_keys.append(
                MemberKey(tables[owner], names[key], numbers[family], frozenset(members or ()), expressions)
            )


def _owners(parts: IndexParts, tables: dict[str, tuple[str, ...]]) -> list[str]:
    taken = {key.table for key in parts.member_keys}
    return [reference for reference, names in tables.items() if names in taken]


INDEX_TABLES = ("indexed_tables", "indexed_columns", "indexed_values", "code_labels")
MOST_DOCUMENTS = 20_000
TERM = re.compile(r"(?:^|[.\n]\s*)([A-Za-z][\w' -]{2,50}?)\s*(?::|=|\bmeans\b|\bis defined as\b|\brefers to\b)\s")
LEAST_CONFIDENCE = 0.5


def parts_of_state(state: EvidenceState) -> IndexParts:
    parts = IndexParts()
    numbers = _add_objects(state, parts)
    _load_ranges(state, parts, numbers)
    _add_documents(state, parts)
    _load_relations(state, parts, numbers)
    indexed = _has_index(state)
    _add_values(state, parts, numbers, indexed)
    if indexed:
        _load_codes(state, parts, numbers)
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


def _load_ranges(state: EvidenceState, parts: IndexParts, numbers: dict[str, int]) -> None:
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


def _load_relations(state: EvidenceState, parts: IndexParts, numbers: dict[str, int]) -> None:
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


def _load_codes(state: EvidenceState, parts: IndexParts, numbers: dict[str, int]) -> None:
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
