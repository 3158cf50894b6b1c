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
from coset.state import EvidenceState, indexes
from coset.state import search as stored
from coset.state.read_model import ReadModel
from coset.state.tables import FacetRow, PathRow, named_columns


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


def add_texts(state: EvidenceState, parts: IndexParts, numbers: dict[str, int]) -> None:
    tables = {each.reference: each for each in stored.open_tables(state)}
    for text in stored.long_texts(state, LONG):
        if (table := tables.get(text.table_reference)) is not None and text.reference in numbers:
            parts.texts.append(TextColumn(numbers[text.reference], table.place, text.name, int(table.rows or 0)))
    _add_member_keys(state, parts, numbers, {place: table.place for place, table in tables.items()})


def _add_member_keys(
    state: EvidenceState, parts: IndexParts, numbers: dict[str, int], tables: dict[str, tuple[str, ...]]
) -> None:
    for each in stored.family_keys(state):
        owner, family = each.owner, each.family
        if owner not in tables or family not in numbers or any(owner == known for known in _owners(parts, tables)):
            continue
        found = stored.readable(state, owner)
        names = {one.reference: one.text for one in found if one.is_column}
        expressions = {
            numbers[one.reference]: identifier(one.text) if one.is_column else one.text
            for one in found
            if one.is_open and one.text and one.reference in numbers
        }
        if each.key in names:
            parts.member_keys.append(
                MemberKey(tables[owner], names[each.key], numbers[family], frozenset(each.members), expressions)
            )


def _owners(parts: IndexParts, tables: dict[str, tuple[str, ...]]) -> list[str]:
    taken = {key.table for key in parts.member_keys}
    return [reference for reference, names in tables.items() if names in taken]


MOST_DOCUMENTS = 20_000
TERM = re.compile(r"(?:^|[.\n]\s*)([A-Za-z][\w' -]{2,50}?)\s*(?::|=|\bmeans\b|\bis defined as\b|\brefers to\b)\s")
LEAST_CONFIDENCE = 0.5


def parts_of_state(state: EvidenceState) -> IndexParts:
    parts = IndexParts()
    numbers = _add_objects(state, parts)
    _load_ranges(state, parts, numbers)
    _add_documents(state, parts)
    _load_relations(state, parts, numbers)
    indexed = indexes.has_index(state)
    _add_values(state, parts, numbers, indexed)
    if indexed:
        _load_codes(state, parts, numbers)
    _add_searchable(state, parts, numbers, indexed)
    add_texts(state, parts, numbers)
    parts.has_rows = True
    return parts


def _add_objects(state: EvidenceState, parts: IndexParts) -> dict[str, int]:
    objects, model = parts.objects, ReadModel(state)
    said = stored.said_of_objects(state)
    numbers: dict[str, int] = {}
    for source in model.sources:
        numbers[source] = objects.add("source", source, source)
    for table in model.tables.values():
        numbers[table.reference] = objects.add("table", table.reference, table.name.replace("{}", " "))
        objects.describe(numbers[table.reference], "", said.get(table.reference) or table.comment or "")
    for column in named_columns(state):
        reference = column.reference
        numbers[reference] = objects.add("column", reference, column.name, numbers[column.table_reference])
        if text := said.get(reference) or column.comment:
            objects.describe(numbers[reference], "", text)
    for path in sorted(model.all(PathRow), key=lambda each: each.reference):
        if path.table_reference in numbers:
            name = " ".join([step for step in path.path if step != "[]"][-2:])
            numbers[path.reference] = objects.add("path", path.reference, name, numbers[path.table_reference])
    for facet in sorted(model.all(FacetRow), key=lambda each: each.reference):
        if facet.table_reference in numbers:
            numbers[facet.reference] = objects.add("facet", facet.reference, facet.name, numbers[facet.table_reference])
    return numbers


def _load_ranges(state: EvidenceState, parts: IndexParts, numbers: dict[str, int]) -> None:
    ranges = parts.ranges
    for row in stored.ranges(state):
        number, low, high = numbers[row.reference], row.low, row.high
        if row.first is not None and row.last is not None:
            ranges.days.append((number, row.first.toordinal(), row.last.toordinal()))
            continue
        if low is None or high is None or not np.isfinite(low) or not np.isfinite(high):
            continue
        kind, name = column_kind(row.type), row.name.lower()
        if 1000 <= low <= high <= 2200 and low == int(low) and ("year" in name or "yr" in name):
            ranges.years.add(number)
            ranges.days.append((number, _first_day(low), _first_day(high + 1) - 1))
        if kind in ("integer", "decimal", "float"):
            ranges.numbers.append((number, low, high))
            if kind == "integer" and row.is_unique:
                ranges.keys.add(number)
    known = {number for number, _, _ in ranges.days}
    for reference in stored.columns_with_days(state):
        if reference in numbers and numbers[reference] not in known:
            ranges.unknown_days.append(numbers[reference])


def _first_day(year: float) -> float:
    import datetime

    return float(datetime.date(int(year), 1, 1).toordinal())


def _add_documents(state: EvidenceState, parts: IndexParts) -> None:
    """Documents by their titles, and by the terms that they explain at the beginning of a sentence."""
    for row in stored.titled_documents(state, MOST_DOCUMENTS):
        if row.title and row.kind in ("passage", "file"):
            parts.documents.append(TitledDocument(row.reference, row.title, "title"))
        terms = dict.fromkeys(match[1].strip() for match in TERM.finditer(row.text or ""))
        parts.documents += [TitledDocument(row.reference, term, "term") for term in terms]


def _load_relations(state: EvidenceState, parts: IndexParts, numbers: dict[str, int]) -> None:
    for left, right in stored.single_joins(state, LEAST_CONFIDENCE):
        if left in numbers and right in numbers:
            parts.related.setdefault(numbers[left], []).append(numbers[right])
            parts.related.setdefault(numbers[right], []).append(numbers[left])


def _add_values(state: EvidenceState, parts: IndexParts, numbers: dict[str, int], indexed: bool) -> None:
    """The held values, and the members of families, which are found like values."""
    import pyarrow as pa

    found = indexes.numbered_values(state, numbers, indexed=indexed)
    # By object, however the rows came to lie in the state: sorting numbers here is quicker than sorting texts there.
    objects = found.column("number").to_numpy()
    value, normal = (found.column(name).combine_chunks() for name in ("value", "normal"))
    if (np.diff(objects) < 0).any():
        order = np.argsort(objects, kind="stable")
        objects, value, normal = objects[order], value.take(pa.array(order)), normal.take(pa.array(order))
    parts.values = (objects, value, normal)


def _load_codes(state: EvidenceState, parts: IndexParts, numbers: dict[str, int]) -> None:
    parts.codes += [
        LabelledCode(numbers[row.code_reference], row.code, row.label, row.origin)
        for row in indexes.current_labels(state)
        if row.code_reference in numbers
    ]


def _add_searchable(state: EvidenceState, parts: IndexParts, numbers: dict[str, int], indexed: bool) -> None:
    for row in indexes.searchable_columns(state, indexed=indexed):
        if row.status == "partly":
            parts.unsearchable.append((row.reference, row.reason or ""))
            continue
        parts.searchable.append(
            Searchable(
                numbers[row.reference], row.source, row.schema_name, row.table_name, row.name,
                column_kind(row.type) != "integer", row.reason or "its values are not held", row.personal,
            )
        )  # fmt: skip
