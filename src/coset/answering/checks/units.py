"""Are values of different units added up, compared or ordered as if they were of one?"""

from __future__ import annotations

from coset.answering.checks.cleaning import Dirt, is_cleaned
from coset.answering.checks.examined import Examined
from coset.answering.checks.proposal import CheckResult

NAME = "units"
MATTERS = frozenset({"aggregate", "range", "order", "equal", "group", "distinct"})


def check(examined: Examined) -> CheckResult:
    statement = examined.statement
    if statement is None:
        return CheckResult(NAME, "not applicable", "there is no statement that can be read")
    used = sorted({use.reference for use in statement.uses})
    rows = examined.state.rows(
        "SELECT column_reference, share, detail, expression FROM diagnostics WHERE kind = 'mixed_units' "
        "AND list_contains($1::VARCHAR[], column_reference) ORDER BY column_reference",
        [used],
    )
    dirt = Dirt(MATTERS, ("case",))
    mixed = [
        row
        for row in rows
        if any(
            use.reference == row["column_reference"]
            and use.place in MATTERS
            and use.aggregate != "count"
            and not is_cleaned(use, dirt, row["expression"])
            for use in statement.uses
        )
    ]
    if mixed:
        said = "; ".join(f"{row['column_reference']}: {row['detail']}" for row in mixed)
        return CheckResult(NAME, "doubt", f"mixed units are not converted: {said}",
                           tuple(row["column_reference"] for row in mixed))  # fmt: skip
    if rows:
        return CheckResult(NAME, "passed", "mixed units are converted where it matters")
    return CheckResult(NAME, "passed", "no column that is used is known to mix units")
