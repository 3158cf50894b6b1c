"""Exact counts and extremes of a table that stays at its source, computed there in one statement.

In: a source, a table and the profiles made from a sample of its rows. Out: the same profiles, with nulls, extremes and
the number of rows as the source counts them. What the source cannot compute as DuckDB would stays from the sample.
"""

from __future__ import annotations

from dataclasses import replace

from coset.environment.scan import Aggregate, Scan, family, needed_operations
from coset.environment.source import Source, Table
from coset.state.objects import MeasuredProfile, Share

COLUMNS_AT_ONCE = 60


def with_counts_of_source(
    source: Source, table: Table, profiles: dict[str, MeasuredProfile]
) -> tuple[int | None, dict[str, MeasuredProfile]]:
    """The exact number of rows (None when the source cannot count) and the corrected profiles."""
    if "aggregate:count" not in source.pushes:
        return None, profiles
    corrected = dict(profiles)
    rows: int | None = None
    names = [column.name for column in table.columns if column.name in profiles]
    for first in range(0, max(1, len(names)), COLUMNS_AT_ONCE):
        chunk = names[first : first + COLUMNS_AT_ONCE]
        aggregates = [Aggregate("count", None, "all_rows")]
        for number, name in enumerate(chunk):
            aggregates += _aggregates(source, table, name, number)
        answer = source.read(table, Scan(aggregates=tuple(aggregates))).read_all().to_pylist()[0]
        rows = int(answer["all_rows"])
        for number, name in enumerate(chunk):
            corrected[name] = _corrected(corrected[name], rows, number, answer)
    return rows, corrected


def _aggregates(source: Source, table: Table, name: str, number: int) -> list[Aggregate]:
    wanted = [Aggregate("count", name, f"known_{number}")]
    wanted += [Aggregate("min", name, f"least_{number}"), Aggregate("max", name, f"most_{number}")]

    def can(aggregate: Aggregate) -> bool:
        needed = needed_operations(Scan(aggregates=(aggregate,)), lambda column: family(table.column(column).type))
        return needed <= source.pushes_for(table, name)

    return [aggregate for aggregate in wanted if can(aggregate)]


def _corrected(profile: MeasuredProfile, rows: int, number: int, answer: dict[str, object]) -> MeasuredProfile:
    changes: dict[str, object] = {"rows": rows}
    known = answer.get(f"known_{number}")
    if known is not None:
        changes["nulls"] = Share((rows - int(str(known))) / rows if rows else 0.0)
    for key, field in ((f"least_{number}", "minimum"), (f"most_{number}", "maximum")):
        if answer.get(key) is not None and getattr(profile, field) is not None:
            changes[field] = str(answer[key])[:200]
    return replace(profile, **changes)  # type: ignore[arg-type]
