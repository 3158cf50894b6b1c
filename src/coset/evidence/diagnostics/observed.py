"""What is observed of a column before it is judged: counts over every row, and its values with how often they occur.

In: a relation and its columns. Out: one `Observed` a column. Counts come from one aggregate over the whole relation
(`diagnostic_aggregates`, which a profile can put into its own pass); values come from all rows when they are few, from
a seeded sample of rows when they are many, and again from all rows when the sample shows few different ones.
Nothing here judges a value.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import duckdb

from coset.evidence.diagnostics.null_words import EVERYWHERE
from coset.evidence.diagnostics.quoting import BLANKS, as_text, identifier, is_date, is_number, is_text, one_of, trimmed
from coset.evidence.objects import Share

SAMPLE_ROWS = 5_000
SAMPLE_CELLS = 1_000_000
"""A table of very many columns is sampled with fewer rows, so that work and memory stay bounded."""
FEW_DIFFERENT = 500
LONGEST = 300
"""A longer text is prose: only its beginning is looked at."""
COLUMNS_A_QUERY = 1_000

Value = object


@dataclass(frozen=True)
class Observed:
    """A column's counts over all rows and its different values with their counts over the rows that were looked at."""

    name: str
    type: str
    rows: int
    present: int
    """Rows that are not NULL, of all rows."""
    constant: bool
    """Whether all rows that are not NULL hold one value; exact."""
    padded: int
    null_words: int
    not_a_number: int
    values: tuple[tuple[Value, int], ...]
    looked_at: int
    """Rows behind `values`, NULLs not counted."""
    complete: bool
    """Whether `values` stands for every row."""

    def share(self, rows_found: int) -> Share:
        """The share of all rows, from a count over the rows behind `values`."""
        if not self.rows or not self.looked_at:
            return Share(0.0)
        part = rows_found / self.looked_at
        scale = self.present / self.rows
        error = 0.0 if self.complete else 1.96 * (max(part * (1 - part), 1 / self.looked_at) / self.looked_at) ** 0.5
        return Share(part * scale, error * scale)

    def exact(self, rows_found: int) -> Share:
        return Share(rows_found / self.rows if self.rows else 0.0)

    def bare_text(self) -> str:
        """The column's text without the blanks around it, written no longer than the column's dirt asks for."""
        unusual = any(text != text.strip(BLANKS) and text.strip(" ") != text.strip(BLANKS) for text, _ in self.texts())
        if unusual:
            return trimmed(self.name, self.type)
        if self.padded or any(text != text.strip(" ") for text, _ in self.texts()):
            return trimmed(self.name, self.type, all_blanks=False)
        return as_text(self.name, self.type)

    def texts(self) -> list[tuple[str, int]]:
        return [(value, count) for value, count in self.values if isinstance(value, str)]


def diagnostic_aggregates(column: str, type_name: str) -> dict[str, str]:
    """The aggregates over all rows that the diagnostics of a column need, by name; all are cheap."""
    name = identifier(column)
    aggregates = {"present": f"count({name})", "constant": f"min({name}) = max({name})"}
    if is_text(type_name):
        text = as_text(column, type_name)
        aggregates["padded"] = f"count_if({text} LIKE ' %' OR {text} LIKE '% ')"
        # Short texts only are folded: a null word is short, and folding long ones would cost more than all the rest.
        aggregates["null_words"] = (
            f"count_if(CASE WHEN strlen({text}) < 16 THEN lower({text}) IN {one_of(EVERYWHERE)} ELSE false END)"
        )
    elif type_name.upper() in ("DOUBLE", "FLOAT", "REAL"):
        aggregates["not_a_number"] = f"count_if(isnan({name}))"
    return aggregates


def observe(
    connection: duckdb.DuckDBPyConnection,
    relation: str,
    columns: Sequence[tuple[str, str]],
    *,
    rows: int,
    seed: int = 0,
    counted: Mapping[str, Mapping[str, int | None]] | None = None,
) -> Iterator[Observed]:
    """Each column as observed. `counted` holds results of `diagnostic_aggregates` that a profile has already."""
    sampled_rows = max(200, min(SAMPLE_ROWS, SAMPLE_CELLS // max(1, len(columns))))
    for some in _batches(columns):
        complete = rows <= sampled_rows
        sampled = _sample(connection, relation, some, None if complete else sampled_rows, seed)
        # The values of a small table are all there already, except those that Python cannot hold.
        ask = [(name, kind) for name, kind in some if not complete or _readable(name, kind) == "NULL" or is_date(kind)]
        counts = dict(counted) if counted is not None else _count(connection, relation, ask)
        counts.update({name: _count_values(sampled[name]) for name, _ in some if name not in counts})
        for name, type_name in some:
            values = sampled[name]
            values_complete = complete
            if not complete and len(values) <= FEW_DIFFERENT:
                values, values_complete = _all_values(connection, relation, name, type_name, values)
            found = counts[name]
            yield Observed(
                name=name,
                type=type_name,
                rows=rows,
                present=found.get("present") or 0,
                constant=bool(found.get("constant")),
                padded=found.get("padded") or 0,
                null_words=found.get("null_words") or 0,
                not_a_number=found.get("not_a_number") or 0,
                values=tuple(values.items()),
                looked_at=sum(values.values()),
                complete=values_complete,
            )


def _batches(columns: Sequence[tuple[str, str]]) -> Iterator[Sequence[tuple[str, str]]]:
    for start in range(0, len(columns), COLUMNS_A_QUERY):
        yield columns[start : start + COLUMNS_A_QUERY]


def _count_values(values: Counter[Value]) -> dict[str, int | None]:
    """What `diagnostic_aggregates` would count, from a column's values when they are complete."""
    texts = [(value, count) for value, count in values.items() if isinstance(value, str)]
    return {
        "present": sum(values.values()),
        "constant": len(values) == 1,
        "padded": sum(count for text, count in texts if text[:1] == " " or text[-1:] == " "),
        "not_a_number": sum(count for value, count in values.items() if isinstance(value, float) and math.isnan(value)),
    }


def _count(
    connection: duckdb.DuckDBPyConnection, relation: str, columns: Sequence[tuple[str, str]]
) -> dict[str, dict[str, int | None]]:
    if not columns:
        return {}
    asked = [(name, key, sql) for name, kind in columns for key, sql in diagnostic_aggregates(name, kind).items()]
    (row,) = connection.execute(f"SELECT {', '.join(sql for _, _, sql in asked)} FROM {relation}").fetchall()
    counts: dict[str, dict[str, int | None]] = {name: {} for name, _ in columns}
    for (name, key, _), value in zip(asked, row, strict=True):
        counts[name][key] = value
    return counts


def _readable(column: str, type_name: str) -> str:
    """The column as it is sampled: short enough to keep, of a type that Python can hash."""
    name = identifier(column)
    if is_text(type_name):
        text = as_text(column, type_name)
        return f"CASE WHEN strlen({text}) > {4 * LONGEST} THEN left({text}, {LONGEST + 1}) ELSE {text} END"
    if is_date(type_name):
        # As microseconds: Python's own dates end at year 9999 and need a time zone library for zoned ones.
        zoned = "ZONE" in type_name.upper() or "TZ" in type_name.upper()
        plain = f"timezone('UTC', {name})" if zoned else f"CAST({name} AS TIMESTAMP)"
        return f"CASE WHEN isfinite({name}) THEN epoch_us({plain}) END"
    if is_number(type_name):
        return f"CAST({name} AS DOUBLE)" if "DECIMAL" in type_name.upper() else name
    return "NULL"


def _sample(
    connection: duckdb.DuckDBPyConnection,
    relation: str,
    columns: Sequence[tuple[str, str]],
    size: int | None,
    seed: int,
) -> dict[str, Counter[Value]]:
    # The cut comes before the sample: the reservoir would otherwise hold whole cells, however long.
    parts = ", ".join(f"{_readable(name, kind)} AS c{number}" for number, (name, kind) in enumerate(columns))
    statement = f"SELECT {parts} FROM {relation}"
    if size is not None:
        statement = f"SELECT * FROM ({statement}) USING SAMPLE reservoir({size} ROWS) REPEATABLE ({seed})"
    table = connection.sql(statement).to_arrow_table()
    counters: dict[str, Counter[Value]] = {}
    for number, (name, _) in enumerate(columns):
        counter: Counter[Value] = Counter(table.column(number).to_pylist())
        counter.pop(None, None)
        counters[name] = counter
    return counters


def _all_values(
    connection: duckdb.DuckDBPyConnection, relation: str, name: str, type_name: str, sampled: Counter[Value]
) -> tuple[Counter[Value], bool]:
    readable = _readable(name, type_name)
    if readable == "NULL":
        return sampled, False
    limit = 4 * FEW_DIFFERENT
    found = connection.execute(
        f"SELECT {readable} AS value, count(*) FROM {relation} WHERE {identifier(name)} IS NOT NULL "
        f"GROUP BY value ORDER BY count(*) DESC, value LIMIT {limit + 1}"
    ).fetchall()
    if len(found) > limit:
        return sampled, False
    return Counter({value: count for value, count in found if value is not None}), True
