"""The dirt that a state knows of, in one list: diagnostics of columns, and tables whose rows repeat an entity.

In: an open state. Out: plain rows, for `coset diagnostics` and the web page.
"""

from __future__ import annotations

from typing import Any

from coset.state import EvidenceState


def dirt_of(state: EvidenceState, reference: str | None = None, kind: str | None = None) -> list[dict[str, Any]]:
    """Everything, or what lies within a source, table or column, or what is of one kind."""
    within = "($1 IS NULL OR {0} = $1 OR starts_with({0}, $1 || '/') OR starts_with({0}, $1 || '.'))"
    return state.rows(
        "SELECT column_reference AS reference, kind, share, share_error, detail, expression, type, examples "
        f"FROM diagnostics WHERE {within.format('column_reference')} AND ($2 IS NULL OR kind = $2) "
        "UNION ALL SELECT table_reference, 'duplicates', share, share_error, detail, key_expression, 'VARCHAR', [] "
        f"FROM duplicates WHERE {within.format('table_reference')} AND ($2 IS NULL OR $2 = 'duplicates') "
        "ORDER BY reference, kind",
        [reference, kind],
    )
