"""Lists of what a state knows, for people to read: all of one thing, the joins, the quality problems.

In: an open state and, where only a part is wanted, a name of it in any form. Out: plain rows with the names under which
they are shown. A name that means nothing raises `UserError` with the nearest ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from coset.errors import UserError
from coset.sql_text import identifier
from coset.state.evidence_state import EvidenceState
from coset.state.names import resolve


def joins_of(state: EvidenceState, written: str | None = None, least: float = 0.0) -> list[dict[str, Any]]:
    """The joins of at least this confidence: all, or those that touch a source, a table or a column. A column and the
    rows of the list that decodes it are joined too."""
    reference = resolve(state, written) if written else None
    found = state.rows(
        "SELECT * FROM relations WHERE confidence >= $1 AND ($2 IS NULL OR left_table = $2 OR right_table = $2 "
        "OR starts_with(left_table, $2 || '/') OR starts_with(right_table, $2 || '/') "
        "OR list_contains(left_columns, $2) OR list_contains(right_columns, $2)) "
        "ORDER BY left_columns, right_columns",
        [least, reference],
    )
    known = {(*row["left_columns"], *row["right_columns"]) for row in found}
    for row in _decodings(state):
        pair = (*row["left_columns"], *row["right_columns"])
        touched = reference is None or any(_lies_within(each, reference) for each in pair)
        if row["confidence"] >= least and pair not in known and touched:
            known.add(pair)
            found.append(row)
    return sorted(found, key=lambda row: (row["left_columns"], row["right_columns"]))


def _lies_within(place: str, reference: str) -> bool:
    return place == reference or place.startswith((f"{reference}.", f"{reference}/"))


def _decodings(state: EvidenceState) -> Iterator[dict[str, Any]]:
    """Columns and the lists that decode them, as joins: the expression of the list chooses its rows that are about the
    column."""
    places = {
        row["reference"]: (row["table_reference"], row["expression"])
        for row in state.rows("SELECT reference, table_reference, expression FROM paths")
    } | {
        row["reference"]: (row["table_reference"], identifier(row["name"]))
        for row in state.rows("SELECT reference, table_reference, name FROM columns")
    }
    by_place = {place: reference for reference, place in places.items()}
    for each in state.code_lists():
        if each.status != "current" or each.column not in places or "[]" in each.code_column:
            continue  # A code inside the elements of a list has no expression that one row could be joined by.
        table, column = places[each.column]
        code = identifier(each.code_column)
        right = by_place.get((each.list, code), f"{each.list}.{each.code_column}")
        yield {
            "id": f"{each.column} = {right}", "left_table": table, "right_table": each.list,
            "left_columns": [each.column], "right_columns": [right], "kind": "code_list", "left_expression": column,
            "right_expression": f"CASE WHEN {each.condition} THEN {code} END" if each.condition else code,
            "left_match": each.held, "left_match_error": 0.0, "right_match": each.used, "right_match_error": 0.0,
            "cardinality": "n:1", "provenance": "measured", "confidence": each.confidence, "unmatched_left": [],
            "unmatched_right": [], "reasons": list(each.reasons),
        }  # fmt: skip


def quality_of(state: EvidenceState, written: str | None = None, kind: str | None = None) -> list[dict[str, Any]]:
    """What is wrong with values, and tables whose rows repeat an entity: everything, or what lies within a source,
    table or column, or what is of one kind."""
    reference = resolve(state, written) if written else None
    within = "($1 IS NULL OR {0} = $1 OR starts_with({0}, $1 || '/') OR starts_with({0}, $1 || '.'))"
    return state.rows(
        "SELECT column_reference AS reference, kind, share, share_error, detail, expression, type, examples "
        f"FROM diagnostics WHERE {within.format('column_reference')} AND ($2 IS NULL OR kind = $2) "
        "UNION ALL SELECT table_reference, 'duplicates', share, share_error, detail, key_expression, 'VARCHAR', [] "
        f"FROM duplicates WHERE {within.format('table_reference')} AND ($2 IS NULL OR $2 = 'duplicates') "
        "ORDER BY reference, kind",
        [reference, kind],
    )


def everything_about(state: EvidenceState, reference: str) -> dict[str, Any]:
    """All that is known, by section; what people said comes first, because it wins."""
    known: dict[str, Any] = {"reference": reference, "kind": "", "said by people": _notes(state, reference)}
    for kind, finder in (
        ("source", _source),
        ("table", _table),
        ("column", _column),
        ("path", _path),
        ("facet", _facet),
    ):
        found = finder(state, reference)
        if found is not None:
            known.update(kind=kind, readings=_readings(state, reference))
            known.update(found)
            return known
    raise UserError(f"nothing is known of '{reference}'")


def _readings(state: EvidenceState, reference: str) -> list[str]:
    """What each reader says it is, the best first."""
    rows = state.rows(
        "SELECT name, meaning, reader, confidence, source FROM readings WHERE reference = $1 "
        "ORDER BY reader = 'person' DESC, confidence DESC, reader, source",
        [reference],
    )
    return [
        f"{row['name']}{': ' + row['meaning'] if row['meaning'] else ''} "
        f"({row['reader']}, {row['confidence']:.2f}; {row['source']})"
        for row in rows
    ]


def _notes(state: EvidenceState, reference: str) -> list[str]:
    stated = state.rows(
        "SELECT kind, text FROM documents WHERE about = $1 AND provenance = 'stated' ORDER BY reference", [reference]
    )
    return [note.text for note in state.notes(reference)] + [f"{row['kind']}: {row['text']}" for row in stated]


def _source(state: EvidenceState, reference: str) -> dict[str, Any] | None:
    rows = state.rows("SELECT * FROM sources WHERE source = $1", [reference])
    if not rows:
        return None
    tables = state.rows(
        "SELECT reference, kind, rows, problem FROM tables WHERE source = $1 ORDER BY reference", [reference]
    )
    return {"source": rows[0], "tables": tables}


def _table(state: EvidenceState, reference: str) -> dict[str, Any] | None:
    rows = state.rows("SELECT * EXCLUDE (reference, foreign_keys) FROM tables WHERE reference = $1", [reference])
    if not rows:
        return None
    members = state.rows(
        "SELECT pattern, len(members) AS members, members[:10] AS first FROM families WHERE reference = $1", [reference]
    )
    return {
        "table": rows[0],
        "family": members,
        "columns": state.rows(
            "SELECT name, type, round(nulls, 4) AS nulls, distinct_values AS distinct, personal, "
            "examples[:3] AS examples FROM columns WHERE table_reference = $1 ORDER BY position",
            [reference],
        ),
        "relations": _relations(state, "list_contains([left_table, right_table], $1)", reference),
        "diagnostics": state.rows(
            "SELECT column_reference AS column, kind, share, detail FROM diagnostics WHERE table_reference = $1 "
            "ORDER BY ALL",
            [reference],
        ),
        "duplicates": state.rows(
            "SELECT detail, key_expression FROM duplicates WHERE table_reference = $1", [reference]
        ),
        "documents": state.rows(
            "SELECT kind, title, left(text, 200) AS text FROM documents "
            "WHERE about = $1 AND provenance <> 'stated' LIMIT 20",
            [reference],
        ),
    }


def _column(state: EvidenceState, reference: str) -> dict[str, Any] | None:
    rows = state.rows("SELECT * EXCLUDE (reference, profile) FROM columns WHERE reference = $1", [reference])
    if not rows:
        return None
    return {
        "column": rows[0],
        "values": state.rows(
            "SELECT complete, distinct_values, role FROM value_groups WHERE reference = $1", [reference]
        ),
        "value counts": state.rows(
            "SELECT part, value, count FROM group_values WHERE column_reference = $1 "
            "ORDER BY part DESC, position LIMIT 60",
            [reference],
        ),
        "paths": state.rows(
            "SELECT reference, type, coverage, expression FROM paths WHERE column_reference = $1 ORDER BY reference",
            [reference],
        ),
        "facets": state.rows(
            "SELECT name, kind, coverage, description, expression FROM facets WHERE column_reference = $1", [reference]
        ),
        "diagnostics": state.rows(
            "SELECT kind, share, share_error, detail, expression, examples FROM diagnostics "
            "WHERE column_reference = $1",
            [reference],
        ),
        "relations": _relations(
            state, "list_contains(left_columns, $1) OR list_contains(right_columns, $1)", reference
        ),
        "documents": state.rows(
            "SELECT kind, title, text FROM documents WHERE about = $1 AND provenance <> 'stated'", [reference]
        ),
    }


def _path(state: EvidenceState, reference: str) -> dict[str, Any] | None:
    rows = state.rows("SELECT * EXCLUDE (reference) FROM paths WHERE reference = $1", [reference])
    return {"path": rows[0]} if rows else None


def _facet(state: EvidenceState, reference: str) -> dict[str, Any] | None:
    rows = state.rows("SELECT * EXCLUDE (reference) FROM facets WHERE reference = $1", [reference])
    return {"facet": rows[0]} if rows else None


def _relations(state: EvidenceState, condition: str, reference: str) -> list[dict[str, Any]]:
    return state.rows(
        "SELECT left_columns, right_columns, kind, left_expression, right_expression, left_match, right_match, "
        f"cardinality, provenance, confidence, reasons FROM relations WHERE {condition} ORDER BY id",
        [reference],
    )
