"""The facts of a table's columns, nested paths and facets, read from the state for several tables at once.

In: an open state and references of tables. Out: `ColumnFacts` by table, in the table's order. Personal columns keep the
masked examples that the state has and lose every sentence that could quote a value; a table of a schema-only source has
names, types and roles only. Makes no choice.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from coset.evidence.personal import mask, personal_data
from coset.identities.inventory import Coordinate
from coset.routing.objects.facts import ColumnFacts, RoleFacts, ValuesFacts
from coset.routing.objects.sql_names import name
from coset.routing.views.view import Cleaning
from coset.state import EvidenceState
from coset.state.documents import descriptions_of_columns
from coset.state.memberships import profiles_of, reasons_for
from coset.state.read_model import ReadModel
from coset.state.tables import ColumnRow, DiagnosticRow, FacetRow, PathRow, TableRow, ValueGroupRow, top_values

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
