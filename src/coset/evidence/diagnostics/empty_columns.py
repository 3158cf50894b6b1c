"""Columns that say nothing: only NULL, one value alone, or NaN for NULL.

In: a column as observed, its exact counts above all. Out: diagnostics. Knows no types but floating point.
"""

from __future__ import annotations

from coset.evidence.diagnostics.observed import Observed
from coset.sql_text import identifier
from coset.state.objects import Diagnostic


def empty_or_constant(observed: Observed) -> Diagnostic | None:
    if observed.rows and not observed.present:
        return Diagnostic("empty", observed.exact(observed.rows), "Every row is NULL.")
    if observed.constant and observed.present >= 5:
        value = str(observed.values[0][0])[:80] if observed.values and not _is_moment(observed) else None
        shown = f" '{value}'" if value is not None else ""
        nulls = "" if observed.present == observed.rows else " where it is not NULL"
        return Diagnostic(
            "constant",
            observed.exact(observed.present),
            f"Every row holds the same value{shown}{nulls}.",
            examples=(value,) if value is not None else (),
        )
    return None


def _is_moment(observed: Observed) -> bool:
    return observed.type.upper().startswith(("DATE", "TIMESTAMP"))


def not_a_number(observed: Observed) -> Diagnostic | None:
    if not observed.not_a_number:
        return None
    name = identifier(observed.name)
    return Diagnostic(
        "null_tokens",
        observed.exact(observed.not_a_number),
        f"NaN ({observed.not_a_number:,}) stands where there is no value; it makes sums and averages NaN.",
        expression=f"CASE WHEN isnan({name}) THEN NULL ELSE {name} END",
        type=observed.type,
        examples=("NaN",),
    )
