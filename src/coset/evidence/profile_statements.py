"""The statements that a profile is read from: exact aggregates, a sample, and sketches of distinct values.

In: tables of one shape: one large table, or many small ones as branches of one statement (DuckDB spends more on
planning a small table's statement than on running it). Out: SQL text. Each statement answers one row per table, with
the table's number first.

Costs were measured against `SUMMARIZE` (`benchmarks/comprehension_speed.py --costs`): counts and ranges of numbers are
free; `approx_count_distinct`, ranges of text and the sample are each a few per cent; `count(DISTINCT)` and patterns
over text cost as much as `SUMMARIZE` itself, so they are kept for small tables; quantiles are not taken at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coset.evidence.column_expressions import ColumnKind, column_kind, counted, normalised, quoted, shown

SKETCH_SIZE = 1024
WHOLE_RANGE = 2**64
SKETCHED_DIRECTLY = 20 * SKETCH_SIZE
"""Up to so many distinct values the sketch is made from the list of them rather than row by row."""

SKETCHED_KINDS = {"text", "integer", "float", "decimal", "date", "timestamp", "enum", "uuid"}
ORDERED_KINDS = {
    "text",
    "integer",
    "float",
    "decimal",
    "date",
    "timestamp",
    "enum",
    "uuid",
    "boolean",
    "json",
    "ordered",
}
NUMBER_KINDS = {"integer", "float", "decimal"}
SAMPLED_AS_COUNTS = {"text", "json", "enum"}
EXAMPLES_OF_OTHERS = 50


@dataclass(frozen=True)
class ProfiledColumn:
    name: str
    type: str

    @property
    def kind(self) -> ColumnKind:
        return column_kind(self.type)

    @property
    def sql(self) -> str:
        return quoted(self.name)


@dataclass(frozen=True)
class Relations:
    """Relations with the same columns, read together."""

    names: tuple[str, ...]

    def rows_of(self, select: Sequence[str], *, sample: int | None = None, seed: int = 0) -> str:
        """A FROM item with the selected columns and, when there are several relations, the number `t` of each row's."""
        columns = ", ".join(select) or "1 AS nothing"
        tail = f" USING SAMPLE reservoir({sample} ROWS) REPEATABLE ({seed})" if sample else ""
        if len(self.names) == 1:
            return f"(SELECT * FROM (SELECT {columns} FROM {self.names[0]}){tail})"
        if sample:
            branches = (
                f"SELECT {number} AS t, * FROM (SELECT * FROM (SELECT {columns} FROM {name}){tail})"
                for number, name in enumerate(self.names)
            )
        else:
            branches = (f"SELECT {number} AS t, {columns} FROM {name}" for number, name in enumerate(self.names))
        return "(" + " UNION ALL ".join(branches) + ")"

    def statement(self, outputs: Sequence[str], rows: str) -> str:
        if len(self.names) == 1:
            return f"SELECT 0 AS t, {', '.join(outputs)} FROM {rows}"
        return f"SELECT t, {', '.join(outputs)} FROM {rows} GROUP BY t ORDER BY t"


def aggregate_names(kind: ColumnKind, values: bool) -> tuple[str, ...]:
    """What `aggregates` answers for a column of this kind, in order."""
    names = ["count"] if kind == "other" else ["count", "distinct"]
    if kind in ORDERED_KINDS and values:
        names += ["minimum", "maximum"]
    if kind in NUMBER_KINDS and values:
        names += ["mean", "deviation"]
    if kind in ("float", "decimal"):
        names.append("whole")
    if kind in ("text", "json", "blob"):
        names += ["mean_length", "maximum_length"]
    return tuple(names)


def aggregates(
    relations: Relations, columns: Sequence[ProfiledColumn], *, exact: bool, values: bool, small: bool
) -> str:
    """Counts, ranges and lengths over all rows; first the table's number, then its rows."""
    outputs = ["count(*)"]
    selected = []
    listed = small or len(relations.names) > 1
    for number, column in enumerate(columns):
        name, kind = f"c{number}", column.kind
        selected.append(f"{column.sql} AS {name}")
        for aggregate in aggregate_names(kind, values):
            outputs.append(_aggregate(aggregate, name, kind, exact=exact, listed=listed))
    return relations.statement(outputs, relations.rows_of(selected))


def _aggregate(aggregate: str, name: str, kind: ColumnKind, *, exact: bool, listed: bool) -> str:
    if aggregate == "count":
        return f"count({name})"
    if aggregate == "distinct":
        if not exact:
            return f"approx_count_distinct({counted(name, kind)})"
        if not listed:
            return f"count(DISTINCT {counted(name, kind)}) FILTER ({name} IS NOT NULL)"
        # With few rows, or with GROUP BY, a list of hashes is three times as fast as count(DISTINCT).
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


def sample(relations: Relations, columns: Sequence[ProfiledColumn], *, rows: int | None, seed: int) -> str:
    """The rows in the sample; then for text each value with its count, for other types a few values."""
    outputs = ["count(*)"]
    selected = []
    for number, column in enumerate(columns):
        name, kind = f"c{number}", column.kind
        if kind in SAMPLED_AS_COUNTS or kind in ("nested", "blob"):
            selected.append(f"{shown(column.sql, kind)} AS {name}")
        else:
            selected.append(f"{column.sql} AS {name}")
        if kind in SAMPLED_AS_COUNTS:
            outputs.append(f"histogram(CAST({name} AS VARCHAR))")
        else:
            outputs.append("NULL" if kind == "other" else _some(name))
    return relations.statement(outputs, relations.rows_of(selected, sample=rows, seed=seed))


def _some(name: str) -> str:
    """The first few values of the sample (or of a table so small that all of it is the sample)."""
    first = f"(list({name}) FILTER ({name} IS NOT NULL))[1:{EXAMPLES_OF_OTHERS}]"
    return f"list_transform({first}, lambda v: {shown('v', 'other')})"


def finite_means(relations: Relations, columns: Sequence[ProfiledColumn]) -> str:
    """Mean and deviation of what stays finite when squared, for columns that hold infinities or NaN."""
    outputs = []
    for number in range(len(columns)):
        value, within = f"CAST(c{number} AS DOUBLE)", f"FILTER (abs(CAST(c{number} AS DOUBLE)) < 1e150)"
        outputs += [f"avg({value}) {within}", f"stddev_samp({value}) {within}"]
    rows = relations.rows_of([f"{column.sql} AS c{number}" for number, column in enumerate(columns)])
    return relations.statement(outputs, rows)


@dataclass(frozen=True)
class SketchPlan:
    """How one column is sketched. `bound`: hashes below it are kept; `direct`: from the list of distinct values."""

    column: ProfiledColumn
    separators: tuple[str, ...] | None
    numeric: bool
    bound: int
    direct: bool


def sketches(relations: Relations, plans: Sequence[SketchPlan]) -> str:
    """Per column: the hashes below its bound, each once, in order, how many there are, and in how many
    rows (the latter two only where they tell whether values repeat)."""
    outputs, selected = [], []
    for number, plan in enumerate(plans):
        kind, name = plan.column.kind, f"h{number}"
        if plan.direct:
            value = shown(f"c{number}", kind) if kind == "text" else f"c{number}"
            selected.append(f"{value} AS {name}")
            texts = (
                f"list_transform(list(DISTINCT {name}) FILTER ({name} IS NOT NULL), lambda v: {_normalised('v', plan)})"
            )
            known = f"list_filter({texts}, lambda n: n IS NOT NULL)"
            outputs += [_smallest(f"list_transform({known}, lambda n: hash(n))"), "0", "0"]
            continue
        selected.append(f"{_normalised(f'c{number}', plan)} AS {name}")
        kept = f"{name} IS NOT NULL" + (
            f" AND hash({name}) < {plan.bound}::UBIGINT" if plan.bound < WHOLE_RANGE else ""
        )
        # Not list(DISTINCT): below the bound there are few, and one list of them is made several times faster.
        hashes = f"list(hash({name})) FILTER ({kept})"
        outputs.append(_smallest(hashes))
        alone = len(relations.names) == 1
        outputs += [f"len(list_distinct({hashes}))", f"len({hashes})"] if alone else ["0", "0"]
    # The expressions stand outside the branches, so that they are planned once and not once per table.
    rows = relations.rows_of([f"{plan.column.sql} AS c{number}" for number, plan in enumerate(plans)])
    number_of_table = ["t"] if len(relations.names) > 1 else []
    return relations.statement(outputs, f"(SELECT {', '.join(number_of_table + selected)} FROM {rows})")


def distinct_hashes(relations: Relations, column: ProfiledColumn) -> str:
    """The exact number of distinct values of a large column, by 64-bit hashes."""
    value = counted(column.sql, column.kind)
    rows = relations.rows_of([f"CASE WHEN {column.sql} IS NOT NULL THEN hash({value}) END AS h"])
    return relations.statement(["count(DISTINCT h)"], rows)


def _normalised(expression: str, plan: SketchPlan) -> str:
    return normalised(expression, plan.column.kind, separators=plan.separators, numeric=plan.numeric)


def _smallest(hashes: str) -> str:
    return f"list_sort(list_distinct({hashes}))[1:{SKETCH_SIZE}]"
