"""The evidence of a state as routing reads it: light facts of all tables at once, full facts of a table when asked.

In: the folder of a state. Out: frozen facts by reference. Tables, relations, notes and documents of sources are read
when it is opened; columns, values, dirt and roles of a table when a view first wants it, and are then kept. The file is
open only while it is read, so that a writer never waits for a server. What the state masked stays masked, and of a
schema-only source no value is handed on, whatever the state still holds. Knows no question.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb

from coset.environment.families import ACROSS_SCHEMAS, naming_column
from coset.errors import UserError
from coset.evidence.personal import mask, personal_data
from coset.identities.inventory import Coordinate
from coset.readings.words import words_of
from coset.routing.objects.facts import (
    ColumnFacts,
    DocumentFacts,
    FamilyFacts,
    RelationFacts,
    RoleFacts,
    SourceFacts,
    TableFacts,
    ValuesFacts,
)
from coset.routing.objects.knowledge import CodeList, Knowledge, knowledge_of
from coset.routing.objects.shorthands import Shorthands
from coset.routing.views.view import Cleaning, ViewColumn, ViewRelation
from coset.sql_text import name
from coset.state import EvidenceState
from coset.state.documents import descriptions_of_columns, documents_of_sources
from coset.state.file import stamp_of
from coset.state.memberships import profiles_of, reasons_for, surely_played
from coset.state.names import places_in_sql
from coset.state.read_model import ReadModel
from coset.state.tables import (
    ColumnRow,
    DiagnosticRow,
    DocumentRow,
    DuplicatesRow,
    FacetRow,
    PathRow,
    TableRow,
    ValueGroupRow,
    first_columns,
    top_values,
)

MOST_VALUES = 200
REASONS = 2
SEEN_BY_THE_READER = (
    "whole name", "name ending", "name beginning", "table name", "written label", "flag name", "text type",
    "fraction type", "number type", "time type", "nested type",
)  # fmt: skip
"""Labelers that say what the name and the type on the same line say already."""


def columns_of_tables(
    state: EvidenceState, tables: Sequence[str], hidden: set[str], notes: dict[str, tuple[str, ...]]
) -> dict[str, tuple[ColumnFacts, ...]]:
    """The facts of these tables; of those `hidden` no value."""
    model = ReadModel(state)
    values = _values(model, tables)
    cleaning = _cleaning(model, tables)
    words = descriptions_of_columns(state, tables)
    keys = {
        (row.reference, row.primary_key[0]) for row in model.of_tables(TableRow, tables) if len(row.primary_key) == 1
    }
    found: dict[str, list[ColumnFacts]] = defaultdict(list)
    for row in model.of_tables(ColumnRow, tables):
        reference, table = row.reference, row.table_reference
        open_to_view = table not in hidden
        found[table].append(
            ColumnFacts(
                reference=reference,
                table=table,
                kind="column",
                order=len(found[table]),
                name=row.name,
                expression=name(row.name),
                type=row.type or "",
                description=words.get(reference) or row.comment or "",
                said=" ".join(notes.get(reference, ())),
                nulls=row.nulls,
                distinct=row.distinct_values,
                unique=bool(row.is_unique) or (table, row.name) in keys,
                minimum=row.minimum if open_to_view else None,
                maximum=row.maximum if open_to_view else None,
                mean_length=row.mean_length,
                examples=row.examples if open_to_view else (),
                personal=row.personal,
                values=values.get(reference) if open_to_view and not row.personal else None,
                cleaning=_shown(cleaning.get(reference, []), row.personal) if open_to_view else (),
            )
        )
    _add_paths(model, tables, found, hidden, notes)
    _add_facets(model, tables, found, hidden, notes)
    return _with_roles(state, found, list(tables))


def _add_paths(
    model: ReadModel,
    tables: Sequence[str],
    found: dict[str, list[ColumnFacts]],
    hidden: set[str],
    notes: dict[str, tuple[str, ...]],
) -> None:
    for row in model.of_tables(PathRow, tables):
        table = row.table_reference
        steps = [step for step in row.path if step != "[]"]
        last = steps[-1] if steps else row.column_reference.rsplit(".", 1)[-1]
        examples = row.examples
        sort = personal_data(last, "VARCHAR", examples)
        masked = tuple(mask(value, sort.kind) for value in examples) if sort else examples
        found[table].append(
            ColumnFacts(
                reference=row.reference, table=table, kind="path", order=len(found[table]),
                name=row.reference[len(table) + 1 :], expression=row.expression or "", type=row.type or "",
                description=row.description or "", said=" ".join(notes.get(row.reference, ())),
                examples=() if table in hidden else masked, personal=sort.kind if sort else None,
                coverage=row.coverage,
            )
        )  # fmt: skip


def _add_facets(
    model: ReadModel,
    tables: Sequence[str],
    found: dict[str, list[ColumnFacts]],
    hidden: set[str],
    notes: dict[str, tuple[str, ...]],
) -> None:
    for row in model.of_tables(FacetRow, tables):
        table = row.table_reference
        if table in hidden:
            continue
        found[table].append(
            ColumnFacts(
                reference=row.reference, table=table, kind="facet", order=len(found[table]),
                name=row.reference[len(table) + 1 :], expression=row.expression or "", type=row.type or "",
                description=row.description or "", said=" ".join(notes.get(row.reference, ())),
                distinct=row.distinct_values, coverage=row.coverage,
            )
        )  # fmt: skip


def _values(model: ReadModel, tables: Sequence[str]) -> dict[str, ValuesFacts]:
    listed: dict[str, list[tuple[str | None, int]]] = defaultdict(list)
    for row in top_values(model.state, tables, MOST_VALUES):
        listed[row.column_reference].append((row.value, int(row.count or 0)))
    return {
        row.reference: ValuesFacts(
            bool(row.complete), int(row.distinct_values or 0), tuple(listed.get(row.reference, ())), row.role or ""
        )
        for row in model.of_tables(ValueGroupRow, tables)
    }


def _cleaning(model: ReadModel, tables: Sequence[str]) -> dict[str, list[Cleaning]]:
    """By column, what is commonest first."""
    found: dict[str, list[Cleaning]] = defaultdict(list)
    rows = model.of_tables(DiagnosticRow, tables)
    for row in sorted(rows, key=lambda row: (-(row.share or 0.0), row.kind, row.detail or "")):
        found[row.column_reference].append(
            Cleaning(row.kind, row.share or 0.0, row.detail or "", row.expression, row.type)
        )
    return found


def _shown(found: Sequence[Cleaning], personal: str | None) -> tuple[Cleaning, ...]:
    """Sentences about dirt quote values: of a personal column only its kind and the expression are left."""
    if personal is None:
        return tuple(found)
    return tuple(Cleaning(each.kind, each.share, "", each.expression, each.type) for each in found)


def _with_roles(
    state: EvidenceState, found: dict[str, list[ColumnFacts]], tables: Sequence[str]
) -> dict[str, tuple[ColumnFacts, ...]]:
    roles = roles_of(state, [column.reference for several in found.values() for column in several])
    return {
        table: tuple(replace(column, roles=roles.get(column.reference, {})) for column in found.get(table, ()))
        for table in tables
    }


def roles_of(state: EvidenceState, references: Sequence[str]) -> dict[str, dict[Coordinate, RoleFacts]]:
    """The roles of objects in both coordinates, with the strongest reasons for and against."""
    reasons: dict[tuple[str, str, bool], list[str]] = defaultdict(list)
    for row in reasons_for(state, references, "attribute", SEEN_BY_THE_READER):
        kept = reasons[row.reference, row.coordinate, row.supports]
        if len(kept) < REASONS and row.reason not in kept:
            kept.append(row.reason)
    found: dict[str, dict[Coordinate, RoleFacts]] = defaultdict(dict)
    for role in profiles_of(state, references):
        key = role.reference, role.coordinate
        found[role.reference][role.coordinate] = RoleFacts(  # type: ignore[index]
            role.identity, role.membership, role.runner_up, role.runner_up_membership, role.profile,
            tuple(reasons.get((*key, True), ())), tuple(reasons.get((*key, False), ())),
        )  # fmt: skip
    return found


SURELY = 0.5


def shorthands_of(state: EvidenceState) -> Shorthands:
    """Of all expressions that clean and join; of a schema-only source too, whose names are shown."""
    return Shorthands(ReadModel(state).expressions())


def roles_played(state: EvidenceState) -> frozenset[tuple[Coordinate, str]]:
    """The identities that some table or column surely plays."""
    return frozenset(surely_played(state, SURELY))  # type: ignore[arg-type]


KEPT_DOCUMENTS = 2_000
FIRST_COLUMNS = 8
KEPT_LINES = 100_000


class StateObjects:
    """What routing may show of an environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stamp = stamp_of(folder)
        self._columns: dict[str, tuple[ColumnFacts, ...]] = {}
        self._documents: dict[str, tuple[DocumentFacts, ...]] = {}
        self._roles: dict[str, dict[Coordinate, RoleFacts]] = {}
        self._state: EvidenceState | None = None
        self.costs: dict[tuple[object, ...], int] = {}
        """What lines cost, kept between questions: most objects are looked at by many."""
        self.shown: dict[tuple[object, ...], ViewColumn] = {}
        self.shown_relations: dict[tuple[object, ...], ViewRelation] = {}
        self.names_used: dict[tuple[object, ...], tuple[str, ...]] = {}
        """The short names that a column's line has, kept likewise."""
        self.tellings: dict[str, float] = {}
        """How much the values of a column tell, kept likewise."""
        self.prefixes: dict[tuple[object, ...], Any] = {}
        """The prefix of views by its budget: no question changes it."""
        with self.reading() as state:
            model = ReadModel(state)
            self.digest = model.digest()
            self.first_columns: dict[str, tuple[str, ...]] = {}
            """Of each table, the names of its first columns."""
            numbers: dict[str, int] = {}
            for first in first_columns(state, FIRST_COLUMNS):
                self.first_columns[first.table_reference], numbers[first.table_reference] = first.names, first.number
            self.sources = _sources(model)
            self.tables = _tables(model, self.sources, numbers)
            self.relations = _relations(model)
            self.notes = {about: tuple(each.text for each in notes) for about, notes in model.notes.items()}
            self.source_documents = tuple(map(_document, documents_of_sources(state)))
            self.played = roles_played(state)
            self.shorthands = shorthands_of(state)
            self.knowledge: Knowledge = knowledge_of(state)
            self.columns_in_all = sum(numbers.values())
            self.inner_in_all = model.count(PathRow) + model.count(FacetRow)
        self.relations_of: dict[str, tuple[RelationFacts, ...]] = _by_table(self.relations)

    def forget_lines(self) -> None:
        """Let go of what was kept between questions, once it is much: values of questions are part of the keys."""
        if len(self.shown) > KEPT_LINES:
            for kept in (self.costs, self.shown, self.shown_relations, self.names_used):
                kept.clear()

    def is_stale(self) -> bool:
        """Whether the state was written since it was read."""
        return stamp_of(self.folder) != self.stamp

    @contextmanager
    def reading(self) -> Iterator[EvidenceState]:
        """The state that this was read from, though another may have been published since: it stays open."""
        if self._state is None:
            self._state = EvidenceState.read(self.folder)
        try:
            yield self._state
        except duckdb.CatalogException:
            raise UserError("the evidence state is of an older coset: run `coset comprehend`") from None

    def columns(self, table: str) -> tuple[ColumnFacts, ...]:
        """The columns of a table in its order, then its nested paths and facets."""
        self.load([table])
        return self._columns.get(table, ())

    def role(self, table: str) -> RoleFacts | None:
        """What a table is about."""
        self.load([table])
        return self._roles.get(table, {}).get("entity")

    def load(self, tables: Iterable[str]) -> None:
        """Read the facts of these tables that are not at hand yet, together."""
        missing = sorted({table for table in tables if table not in self._columns and table in self.tables})
        if not missing:
            return
        with self.reading() as state:
            hidden = {name for name in missing if self.tables[name].schema_only}
            found = columns_of_tables(state, missing, hidden, self.notes)
            self._columns |= {table: tuple(map(self._with_knowledge, columns)) for table, columns in found.items()}
            self._roles |= roles_of(state, missing)

    def reading_of(self, table: str) -> str:
        """What a row of a table is in plain words, where its name does not say so."""
        known = self.knowledge.readings.get(table)
        if known is None or set(words_of(known.text)) <= set(words_of(self.tables[table].name)):
            return ""
        return known.text

    def _with_knowledge(self, column: ColumnFacts) -> ColumnFacts:
        """A column with its reading and what its codes stand for."""
        known = self.knowledge.readings.get(column.reference)
        reading = known.text if known and not set(words_of(known.text)) <= set(words_of(column.name)) else ""
        hides = self.tables[column.table].schema_only or bool(column.personal)
        labels = () if hides else self.knowledge.labels.get(column.reference, ())
        lists = [each for each in self.knowledge.code_lists.get(column.reference, ()) if each.status != "outdated"]
        decoded = self._decoding(lists[0]) if lists else ""
        if not reading and not labels and not decoded:
            return column
        return replace(column, reading=reading, labels=labels, decoded_by=decoded)

    def _decoding(self, codes: CodeList) -> str:
        table = self.tables.get(codes.list_reference)
        if table is None:
            return ""
        where = f" WHERE {codes.condition}" if codes.condition else ""
        code, label = (each.rpartition(".")[2] for each in (codes.code_column, codes.label_column))
        return f"{table.sql_name}({code}, {label}){where}"

    def table_of(self, reference: str) -> str | None:
        """The table that a reference lies in, itself if it is one."""
        if reference in self.tables:
            return reference
        # Names may hold dots and hashes, so every place where the table's name may end is tried, the longest first.
        for place in range(len(reference) - 1, 0, -1):
            if reference[place] in ".#" and reference[:place] in self.tables:
                return reference[:place]
        return None

    def documents(self, references: Sequence[str]) -> list[DocumentFacts]:
        """Documents by their own references; kept, because opening the state takes longer than all the rest."""
        missing = sorted({reference for reference in references if reference not in self._documents})
        if missing:
            if len(self._documents) > KEPT_DOCUMENTS:
                self._documents.clear()
                missing = sorted(set(references))
            with self.reading() as state:
                rows = ReadModel(state).of_references(DocumentRow, missing)
            found: dict[str, list[DocumentFacts]] = {reference: [] for reference in missing}
            for row in rows:
                owner = self.tables.get(row.table_reference or "")
                if owner is None or not owner.schema_only:
                    found[row.reference].append(_document(row))
            self._documents |= {reference: tuple(several) for reference, several in found.items()}
        return [document for reference in sorted(set(references)) for document in self._documents[reference]]


def _sources(model: ReadModel) -> dict[str, SourceFacts]:
    tables = Counter(table.source for table in model.tables.values())
    for family in model.families.values():
        if family.reference in model.tables:
            tables[model.tables[family.reference].source] += len(family.members) - 1
    return {
        row.source: SourceFacts(row.source, row.kind or "", tables[row.source], bool(row.schema_only), row.problem)
        for row in model.sources.values()
    }


def _tables(model: ReadModel, sources: dict[str, SourceFacts], columns: dict[str, int]) -> dict[str, TableFacts]:
    families = {
        row.reference: FamilyFacts(
            row.pattern,
            row.members,
            row.relation,
            naming_column(row.pattern, row.columns),
            row.pattern.startswith(ACROSS_SCHEMAS),
        )
        for row in model.families.values()
    }
    duplicates = {row.table_reference: (row.detail or "", row.key_expression or "") for row in model.all(DuplicatesRow)}
    rows = list(model.tables.values())
    places = places_in_sql(
        [(row.reference, row.source, row.schema_name, row.name) for row in rows],
        {row.reference: row.pattern for row in model.families.values()},
    )
    found = {}
    for order, row in enumerate(rows):
        family = families.get(row.reference)
        place = places[row.reference]
        detail, key = duplicates.get(row.reference, ("", ""))
        found[row.reference] = TableFacts(
            reference=row.reference,
            order=order,
            source=row.source,
            schema=place.schema,
            name=row.name,
            sql_name=place.name,
            rows=row.rows,
            comment=row.comment or "",
            primary_key=row.primary_key,
            problem=row.problem or "",
            columns=columns.get(row.reference, 0),
            schema_only=row.source in sources and sources[row.source].schema_only,
            family=family,
            duplicates=detail,
            duplicates_key=key,
        )
    return found


def _relations(model: ReadModel) -> tuple[RelationFacts, ...]:
    return tuple(
        RelationFacts(
            reference=row.id, left_table=row.left_table, right_table=row.right_table, left_columns=row.left_columns,
            right_columns=row.right_columns, kind=row.kind, left_expression=row.left_expression,
            right_expression=row.right_expression, left_match=row.left_match or 0.0, right_match=row.right_match or 0.0,
            cardinality=row.cardinality or "", provenance=row.provenance or "", confidence=row.confidence or 0.0,
        )
        for row in model.relations
    )  # fmt: skip


def _by_table(relations: Sequence[RelationFacts]) -> dict[str, tuple[RelationFacts, ...]]:
    found: dict[str, list[RelationFacts]] = defaultdict(list)
    for relation in relations:
        for table in {relation.left_table, relation.right_table}:
            found[table].append(relation)
    return {table: tuple(several) for table, several in found.items()}


def _document(row: DocumentRow) -> DocumentFacts:
    return DocumentFacts(
        row.reference, row.about or "", row.kind or "", row.title or "", row.text or "", row.provenance or ""
    )
