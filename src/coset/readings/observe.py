"""An evidence state as the identities see it: tables or families, columns, nested paths and facets.

In: an open state. Out: an `ObservedEnvironment`. Sample values come from the state alone, so what was masked or left
out there (schema-only mode, personal data) never reaches a text. Knows no model.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from coset.readings.observed import ObservedColumn, ObservedEnvironment, ObservedTable, type_family
from coset.readings.words import words_of
from coset.state import EvidenceState
from coset.state.joins import proposed_references
from coset.state.read_model import ReadModel
from coset.state.readings import best_names
from coset.state.tables import FacetRow, PathRow, first_values

MOST_SAMPLES = 12
SURE_ENOUGH = 0.43
"""Readings less sure than this are no labels. A guess that views do not show (below .5) still tells an encoder of roles
more than the bare letters do."""


def observe(state: EvidenceState, *, with_readings: bool = True) -> ObservedEnvironment:
    """All that the state holds, by reference. A family of tables is one table of the state. Readings that are sure
    enough are the labels of tables and columns; the readers themselves look without them."""
    model = ReadModel(state)
    labels = _labels(state) if with_readings else {}
    columns = _columns(model, labels)
    tables = tuple(
        ObservedTable(
            name=row.name,
            columns=tuple(columns.get(row.reference, ())),
            reference=row.reference,
            label=labels.get(row.reference, ""),
            description=row.comment or "",
            rows=row.rows,
            source=row.source,
        )
        for row in model.tables.values()
    )
    return ObservedEnvironment("", tables)


def _labels(state: EvidenceState) -> dict[str, str]:
    """Readings that are sure enough and say something else than the name. What repeats it would count twice."""
    rows = best_names(state, SURE_ENOUGH)
    return {row.reference: row.name for row in rows if " ".join(words_of(row.written)) != row.name.lower()}


def _columns(model: ReadModel, labels: Mapping[str, str]) -> dict[str, list[ObservedColumn]]:
    points, pointed = _references(model.state)
    words = _documents(model)
    keys = {(row.reference, row.primary_key[0]) for row in model.tables.values() if len(row.primary_key) == 1}
    groups: dict[str, list[str]] = defaultdict(list)
    for column, value in first_values(model.state, MOST_SAMPLES):
        groups[column].append(value)
    found: dict[str, list[ObservedColumn]] = defaultdict(list)
    for row in model.columns.values():
        reference = row.reference
        point = points.get(reference)
        found[row.table_reference].append(
            ObservedColumn(
                name=row.name,
                type=type_family(row.type),
                reference=reference,
                label=labels.get(reference, ""),
                description=row.comment or words.get(reference, ""),
                samples=tuple((list(row.examples) + groups.get(reference, []))[:MOST_SAMPLES]),
                is_key=(row.table_reference, row.name) in keys,
                refers_to=point and (_last(point[0]), _last(point[1])),
                target=point[0] if point else "",
                referred_by=pointed.get(reference, 0),
                nulls=row.nulls,
                distinct=row.distinct_values,
                rows=model.tables[row.table_reference].rows,
                mean_length=row.mean_length,
            )
        )
    _add_inner(model, found, labels)
    return found


def _add_inner(model: ReadModel, found: dict[str, list[ObservedColumn]], labels: Mapping[str, str]) -> None:
    """Nested paths and text facets stand after the columns of their table."""
    for row in model.all(PathRow):
        steps = [step for step in row.path if step != "[]"]
        found[row.table_reference].append(
            ObservedColumn(
                name=" ".join(steps[-2:]) or row.reference,
                type=type_family(row.type),
                reference=row.reference,
                label=labels.get(row.reference, ""),
                description=row.description or "",
                samples=row.examples[:MOST_SAMPLES],
            )
        )
    for facet in model.all(FacetRow):
        found[facet.table_reference].append(
            ObservedColumn(
                name=facet.name, type=type_family(facet.type), reference=facet.reference,
                description=facet.description or "",
            )
        )  # fmt: skip


def _references(state: EvidenceState) -> tuple[dict[str, tuple[str, str]], dict[str, int]]:
    """Which column points to which table and column, by the joins that were proposed or declared: many to one, one
    column each; and how many point to each."""
    points: dict[str, tuple[str, str]] = {}
    pointed: dict[str, int] = {}
    for each in proposed_references(state):
        pointed[each.right] = pointed.get(each.right, 0) + 1
        points.setdefault(each.left, (each.right_table, each.right))
    return points, pointed


def _documents(model: ReadModel) -> dict[str, str]:
    """What dictionaries and people say of a column, the people last, so that they win."""
    written = sorted(model.documents, key=lambda each: each.provenance == "stated")
    found = {each.about: (each.text or "")[:300] for each in written if each.about is not None}
    for note in model.state.notes():
        found[note.about] = note.text[:300]
    return found


def _last(reference: str) -> str:
    return reference.replace('"', "").replace("/", ".").rsplit(".", 1)[-1]
