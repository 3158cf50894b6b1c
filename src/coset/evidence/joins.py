"""The joins that a state knows of, in one list.

In: an open state. Out: plain rows, for `coset relations` and the web page.
"""

from __future__ import annotations

from typing import Any

from coset.state import EvidenceState


def joins_of(state: EvidenceState, reference: str | None = None, least: float = 0.0) -> list[dict[str, Any]]:
    """All of at least this confidence, or those that touch a source or a table."""
    return state.rows(
        "SELECT * FROM relations WHERE confidence >= $1 AND ($2 IS NULL OR left_table = $2 OR right_table = $2 "
        "OR starts_with(left_table, $2 || '/') OR starts_with(right_table, $2 || '/')) "
        "ORDER BY left_columns, right_columns",
        [least, reference],
    )
