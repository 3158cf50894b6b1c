"""Finding what is known of one thing, by its reference or a short form of it.

In: an open state and a reference as a person types it. Out: the full reference, and all that the state holds about it.
"""

from __future__ import annotations

import difflib
from typing import Any

from coset.errors import UserError
from coset.state import EvidenceState


def resolve(state: EvidenceState, written: str) -> str:
    """The full reference that a short form means; `UserError` with the nearest ones when it is none or several."""
    known = references(state)
    by_lower = {reference.lower(): reference for reference in known}
    wanted = written.strip().lower()
    if wanted in by_lower:
        return by_lower[wanted]
    endings = [reference for reference in known if reference.lower().endswith(("/" + wanted, "." + wanted))]
    # A name that ends several references means the one highest up: a table rather than its columns.
    shortest = [item for item in endings if item.count(".") == min(other.count(".") for other in endings)]
    if len(shortest) == 1:
        return shortest[0]
    if shortest:
        raise UserError(f"'{written}' may be {' or '.join(shortest[:4])}: say which")
    near = difflib.get_close_matches(wanted, list(by_lower), n=3, cutoff=0.4)
    hint = f"; did you mean {' or '.join(by_lower[name] for name in near)}?" if near else ""
    raise UserError(f"nothing known is called '{written}'{hint}")


def references(state: EvidenceState) -> list[str]:
    rows = state.rows(
        "SELECT source AS reference FROM sources UNION ALL SELECT reference FROM tables "
        "UNION ALL SELECT reference FROM columns UNION ALL SELECT reference FROM paths "
        "UNION ALL SELECT reference FROM facets"
    )
    return [row["reference"] for row in rows]


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
            known.update(kind=kind)
            known.update(found)
            return known
    raise UserError(f"nothing is known of '{reference}'")


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
