"""An evidence state as the identities see it: tables or families, columns, nested paths and facets.

In: an open state. Out: an `ObservedEnvironment`. Sample values come from the state alone, so what was masked or left
out there (schema-only mode, personal data) never reaches a text. Knows no model.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from coset.readings.observed import ObservedColumn, ObservedEnvironment, ObservedTable, type_family
from coset.readings.words import words_of
from coset.state import EvidenceState

MOST_SAMPLES = 12
SURE_ENOUGH = 0.5
"""Readings less sure than this are no labels."""


def observe(state: EvidenceState, *, with_readings: bool = True) -> ObservedEnvironment:
    """All that the state holds, by reference. A family of tables is one table of the state. Readings that are sure
    enough are the labels of tables and columns; the readers themselves look without them."""
    labels = _labels(state) if with_readings else {}
    columns = _columns(state, labels)
    rows = state.rows("SELECT reference, source, name, comment, rows FROM tables ORDER BY reference")
    tables = tuple(
        ObservedTable(
            name=row["name"],
            columns=tuple(columns.get(row["reference"], ())),
            reference=row["reference"],
            label=labels.get(row["reference"], ""),
            description=row["comment"] or "",
            rows=row["rows"],
            source=row["source"],
        )
        for row in rows
    )
    return ObservedEnvironment("", tables)


def _labels(state: EvidenceState) -> dict[str, str]:
    """Readings that are sure enough and say something else than the name. What repeats it would count twice."""
    rows = state.rows(
        "SELECT r.reference, r.name, coalesce(t.name, c.name, '') AS written FROM best_readings r "
        "LEFT JOIN tables t USING (reference) LEFT JOIN columns c USING (reference) WHERE r.confidence >= $1",
        [SURE_ENOUGH],
    )
    return {row["reference"]: row["name"] for row in rows if " ".join(words_of(row["written"])) != row["name"].lower()}


def _columns(state: EvidenceState, labels: Mapping[str, str]) -> dict[str, list[ObservedColumn]]:
    points, pointed = _references(state)
    words = _documents(state)
    keys = {
        (row["reference"], row["primary_key"][0])
        for row in state.rows("SELECT reference, primary_key FROM tables WHERE len(primary_key) = 1")
    }
    groups: dict[str, list[str]] = defaultdict(list)
    for row in state.rows(
        "SELECT column_reference, value FROM group_values WHERE value IS NOT NULL AND part <> 'tail' AND position < 12 "
        "ORDER BY column_reference, position"
    ):
        groups[row["column_reference"]].append(row["value"])
    found: dict[str, list[ObservedColumn]] = defaultdict(list)
    for row in state.rows(
        "SELECT c.*, t.rows AS table_rows FROM columns c JOIN tables t ON t.reference = c.table_reference "
        "ORDER BY c.table_reference, c.position"
    ):
        reference = row["reference"]
        point = points.get(reference)
        found[row["table_reference"]].append(
            ObservedColumn(
                name=row["name"],
                type=type_family(row["type"]),
                reference=reference,
                label=labels.get(reference, ""),
                description=row["comment"] or words.get(reference, ""),
                samples=tuple((list(row["examples"] or ()) + groups.get(reference, []))[:MOST_SAMPLES]),
                is_key=(row["table_reference"], row["name"]) in keys,
                refers_to=point and (_last(point[0]), _last(point[1])),
                target=point[0] if point else "",
                referred_by=pointed.get(reference, 0),
                nulls=row["nulls"],
                distinct=row["distinct_values"],
                rows=row["table_rows"],
                mean_length=row["mean_length"],
            )
        )
    _add_inner(state, found, labels)
    return found


def _add_inner(state: EvidenceState, found: dict[str, list[ObservedColumn]], labels: Mapping[str, str]) -> None:
    """Nested paths and text facets stand after the columns of their table."""
    for row in state.rows("SELECT * FROM paths ORDER BY table_reference, reference"):
        steps = [step for step in row["path"] or [] if step != "[]"]
        found[row["table_reference"]].append(
            ObservedColumn(
                name=" ".join(steps[-2:]) or row["reference"],
                type=type_family(row["type"]),
                reference=row["reference"],
                label=labels.get(row["reference"], ""),
                description=row["description"] or "",
                samples=tuple(row["examples"] or ())[:MOST_SAMPLES],
            )
        )
    for row in state.rows("SELECT * FROM facets ORDER BY table_reference, reference"):
        found[row["table_reference"]].append(
            ObservedColumn(
                name=row["name"], type=type_family(row["type"]), reference=row["reference"],
                description=row["description"] or "",
            )
        )  # fmt: skip


def _references(state: EvidenceState) -> tuple[dict[str, tuple[str, str]], dict[str, int]]:
    """Which column points to which table and column, by the relations that were found or declared: many to one, one
    column each; and how many point to each."""
    points: dict[str, tuple[str, str]] = {}
    pointed: dict[str, int] = {}
    for row in state.rows(
        "SELECT left_columns, right_columns, right_table, cardinality, confidence FROM relations "
        "WHERE len(left_columns) = 1 AND len(right_columns) = 1 AND cardinality IN ('n:1', '1:1') "
        "ORDER BY confidence DESC, id"
    ):
        left, right = row["left_columns"][0], row["right_columns"][0]
        pointed[right] = pointed.get(right, 0) + 1
        points.setdefault(left, (row["right_table"], right))
    return points, pointed


def _documents(state: EvidenceState) -> dict[str, str]:
    """What dictionaries and people say of a column, the people last, so that they win."""
    rows: list[dict[str, Any]] = state.rows(
        "SELECT about, text FROM documents WHERE about IS NOT NULL ORDER BY provenance = 'stated', reference"
    )
    found = {row["about"]: (row["text"] or "")[:300] for row in rows}
    for note in state.notes():
        found[note.about] = note.text[:300]
    return found


def _last(reference: str) -> str:
    return reference.replace('"', "").replace("/", ".").rsplit(".", 1)[-1]
