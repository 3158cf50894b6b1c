"""The statements that a profile is read from: aggregates over all rows, and how keys are told.

In: a relation and its columns. Out: SQL text; each statement answers one row.

Costs were measured against `SUMMARIZE` (`benchmarks/comprehension_speed.py --costs`): counts and ranges of numbers are
free; `approx_count_distinct` and ranges of text are each some per cent; `count(DISTINCT)` and patterns
over text cost as much as `SUMMARIZE` itself, so they are kept for small tables; quantiles are not taken at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coset.evidence.column_expressions import ColumnKind, column_kind, counted, shown
from coset.evidence.quality.observed import dirt_aggregates
from coset.sql_text import identifier

KEY_KINDS = {"text", "integer", "float", "decimal", "date", "timestamp", "enum", "uuid"}
ORDERED_KINDS = KEY_KINDS | {"boolean", "json", "ordered"}
NUMBER_KINDS = {"integer", "float", "decimal"}
SAMPLED_AS_COUNTS = {"text", "json", "enum"}


@dataclass(frozen=True)
class ProfiledColumn:
    name: str
    type: str

    @property
    def kind(self) -> ColumnKind:
        return column_kind(self.type)

    @property
    def sql(self) -> str:
        return identifier(self.name)


def aggregate_names(column: ProfiledColumn, *, values: bool, dirt: bool) -> tuple[str, ...]:
    """What `aggregates` answers for a column, in order. `dirt`: with what its diagnostics need to have counted."""
    kind = column.kind
    names = ["count"] if kind == "other" else ["count", "distinct"]
    if kind in ORDERED_KINDS and values:
        names += ["minimum", "maximum"]
    if kind in NUMBER_KINDS and values:
        names += ["mean", "deviation"]
    if kind in ("float", "decimal"):
        names.append("whole")
    if kind in ("text", "json", "blob"):
        names += ["mean_length", "maximum_length"]
    if dirt:
        names += dirt_aggregates(column.name, column.type)
    return tuple(names)


def aggregates(
    relation: str, columns: Sequence[ProfiledColumn], *, exact: bool, values: bool, small: bool, dirt: bool
) -> str:
    """Counts, ranges and lengths over all rows; the number of rows first."""
    outputs = ["count(*)"]
    for number, column in enumerate(columns):
        name, dirty = f"c{number}", dirt_aggregates(f"c{number}", column.type)
        outputs += [
            dirty[aggregate] if aggregate in dirty else _aggregate(aggregate, name, column.kind, exact, small)
            for aggregate in aggregate_names(column, values=values, dirt=dirt)
        ]
    return f"SELECT {', '.join(outputs)} FROM {_renamed(relation, columns)}"


def _renamed(relation: str, columns: Sequence[ProfiledColumn]) -> str:
    selected = ", ".join(f"{column.sql} AS c{number}" for number, column in enumerate(columns))
    return f"(SELECT {selected or '1 AS nothing'} FROM {relation})"


def _aggregate(aggregate: str, name: str, kind: ColumnKind, exact: bool, small: bool) -> str:
    if aggregate == "count":
        return f"count({name})"
    if aggregate == "distinct":
        if not exact:
            return f"approx_count_distinct({counted(name, kind)})"
        if not small:
            return f"count(DISTINCT {counted(name, kind)}) FILTER ({name} IS NOT NULL)"
        # With few rows a list of hashes is three times as fast as count(DISTINCT).
        return f"len(list_distinct(list(hash({counted(name, kind)})) FILTER ({name} IS NOT NULL)))"
    if aggregate in ("minimum", "maximum"):
        function = "min" if aggregate == "minimum" else "max"
        value = shown(name, kind) if kind in ("text", "json") else name
        return shown(f"{function}({value})", "other")
    if aggregate in ("mean", "deviation"):
        # Whole numbers of more than 64 bits and wide decimals overflow when they are summed as they are.
        number = name if kind == "float" else f"CAST({name} AS DOUBLE)"
        return f"{'avg' if aggregate == 'mean' else 'stddev_samp'}({number})"
    if aggregate == "whole":
        return f"count(*) FILTER ({name} = trunc({name}))"
    length = f"octet_length({name})" if kind == "blob" else f"length({name})"
    return f"{'avg' if aggregate == 'mean_length' else 'max'}({length})"


def finite_means(relation: str, columns: Sequence[ProfiledColumn]) -> str:
    """Mean and deviation of what stays finite when squared, for columns that hold infinities or NaN."""
    outputs = []
    for number in range(len(columns)):
        value, within = f"CAST(c{number} AS DOUBLE)", f"FILTER (abs(CAST(c{number} AS DOUBLE)) < 1e150)"
        outputs += [f"avg({value}) {within}", f"stddev_samp({value}) {within}"]
    return f"SELECT {', '.join(outputs)} FROM {_renamed(relation, columns)}"


def repeats_in_part(relation: str, columns: Sequence[ProfiledColumn], part: int) -> str:
    """Per column, among one in `part` of its values (chosen by hash, so that all rows of a value are in or out): how
    many values, and how many rows they have. When none of them repeats, few others can."""
    outputs = []
    for number in range(len(columns)):
        hashes = f"list(h{number}) FILTER (h{number} % {part} = 0)"
        outputs += [f"len(list_distinct({hashes}))", f"len({hashes})"]
    hashed = ", ".join(f"{_hash(column)} AS h{number}" for number, column in enumerate(columns))
    return f"SELECT {', '.join(outputs)} FROM (SELECT {hashed} FROM {relation})"


def distinct_hashes(relation: str, column: ProfiledColumn) -> str:
    """The exact number of distinct values of a large column, by 64-bit hashes."""
    return f"SELECT count(DISTINCT h) FROM (SELECT {_hash(column)} AS h FROM {relation})"


def _hash(column: ProfiledColumn) -> str:
    return f"CASE WHEN {column.sql} IS NOT NULL THEN hash({counted(column.sql, column.kind)}) END"
