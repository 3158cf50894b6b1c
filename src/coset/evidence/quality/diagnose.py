"""Diagnostics: dirt in a column that changes answers, how much there is, and the expression that cleans it.

In: an open DuckDB connection, a relation (quoted already), its columns with their types and its number of rows. Out:
the diagnostics of each column, one problem told once. A table costs one aggregate over all rows and one sample (both
can be handed in, so that a profile's own are used), and a few exact counts where something was found. What is a problem
is decided in the module of each kind; columns that say nothing (only NULL, one value alone, NaN for NULL) are told
here, and counters that disagree with the rows they count (`order_count` beside the orders themselves), which are the
only diagnostics that need a second table.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import duckdb

from coset.errors import UserError
from coset.evidence.quality.dates import dates, number_dates
from coset.evidence.quality.nulls import (
    moment_sentinels,
    null_tokens,
    number_sentinels,
    read_moment_sentinels,
    read_number_sentinels,
)
from coset.evidence.quality.numbers import numbers
from coset.evidence.quality.observed import (
    Observed,
    is_date,
    is_integer,
    is_number,
    is_text,
    observe,
    reads_as_null,
)
from coset.evidence.quality.text import encoding, mixed_case, padding, stray_characters
from coset.evidence.quality.units import units
from coset.evidence.reading import JoinableTable
from coset.evidence.sampled_rows import SampledRows, sampled_rows
from coset.sql_text import identifier
from coset.state.objects import Counts, Diagnostic, Reference, Relation, Share

LEAST_AGREEMENT = 0.3
LEAST_CORRELATION = 0.5
MOST_TIMES = 5.0


def diagnose_counters(
    connection: duckdb.DuckDBPyConnection,
    parent: str,
    counter: str,
    child: str,
    keys: Sequence[tuple[str, str]],
) -> Diagnostic | None:
    """`keys` are pairs of expressions, over the parent and over the child, that are equal where they join."""
    if not keys:
        raise UserError(
            "a counter is compared with rows that are joined by a key; give at least one pair of key expressions"
        )
    parent_keys = ", ".join(f"{left} AS k{number}" for number, (left, _) in enumerate(keys))
    child_keys = ", ".join(f"{right} AS k{number}" for number, (_, right) in enumerate(keys))
    names = ", ".join(f"k{number}" for number in range(len(keys)))
    held = " AND ".join(f"k{number} IS NOT NULL" for number in range(len(keys)))
    statement = f"""
        WITH parent AS (
            SELECT {parent_keys}, try_cast({identifier(counter)} AS DOUBLE) AS said FROM {parent}
        ), child AS (
            SELECT {names}, count(*) AS counted FROM (SELECT {child_keys} FROM {child}) WHERE {held} GROUP BY {names}
        ), compared AS (
            SELECT parent.*, coalesce(counted, 0) AS counted FROM parent LEFT JOIN child USING ({names})
            WHERE said IS NOT NULL AND {held.replace("k", "parent.k")}
        )
        SELECT count(*), count_if(said <> counted), count_if(said > counted), count_if(counted > 0),
            count_if(said = counted AND counted > 0), corr(said, counted),
            median(said / counted) FILTER (counted > 0), (SELECT count(*) FROM parent),
            (SELECT list(concat_ws(' / ', {names}, 'says ' || printf('%.15g', said) || ', there are ' || counted))
                FROM (FROM compared WHERE said <> counted ORDER BY {names} LIMIT 3))
        FROM compared
    """
    (row,) = connection.execute(statement).fetchall()
    if not row[0] or not row[3]:
        return None
    compared, wrong, more, with_rows, right_with_rows, correlation, ratio, rows, examples = row
    if not wrong:
        return None
    related = correlation is not None and not math.isnan(correlation) and correlation >= LEAST_CORRELATION
    # A sum of what the rows hold grows with their number too, and is many times as large.
    related = related and 1 / MOST_TIMES <= ratio <= MOST_TIMES
    if right_with_rows < LEAST_AGREEMENT * with_rows and not related:
        return None
    return Diagnostic(
        kind="counter_disagrees",
        share=Share(wrong / rows),
        detail=(
            f"The counter differs from the rows it counts in {wrong:,} of {compared:,} rows"
            f" ({more:,} say more, {wrong - more:,} say less); count the rows instead."
        ),
        examples=tuple(examples or ()),
    )


COUNTS = re.compile(r"(^|_)(count|counts|number|num|no_of|nr|n|total|qty|quantity)(_|$)|count$|^num", re.IGNORECASE)
WHOLE = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"}


def counter_diagnostics(
    connection: duckdb.DuckDBPyConnection,
    tables: Sequence[JoinableTable],
    relations: Iterable[Relation],
    opens: Callable[[JoinableTable], None] | None = None,
) -> list[tuple[Reference, Diagnostic]]:
    """`opens` makes a table readable, when there is a counter to compare."""
    by_place = {(table.reference.source, table.reference.schema, table.reference.table): table for table in tables}
    found: dict[Reference, Diagnostic] = {}
    for relation in relations:
        child = by_place.get((relation.left[0].source, relation.left[0].schema, relation.left[0].table))
        parent = by_place.get((relation.right[0].source, relation.right[0].schema, relation.right[0].table))
        if child is None or parent is None or relation.cardinality != "n:1" or len(relation.left) != 1:
            continue
        keys = [(relation.right_expression, relation.left_expression)]
        for column in parent.columns:
            if column.type not in WHOLE or not COUNTS.search(column.name):
                continue
            if opens:
                opens(child)
                opens(parent)
            place = Reference(parent.reference.source, parent.reference.schema, parent.reference.table, (column.name,))
            diagnostic = diagnose_counters(connection.cursor(), parent.relation, column.name, child.relation, keys)
            if diagnostic is not None:
                found.setdefault(place, diagnostic)
    return list(found.items())


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


def diagnose_from(connection: duckdb.DuckDBPyConnection, relation: str, observed: Observed) -> list[Diagnostic]:
    """The diagnostics of a column from what was observed of it; `relation` is read again only for exact counts."""
    if not observed.rows:
        return []
    nothing = empty_or_constant(observed)
    if nothing is not None and nothing.kind == "empty":
        return [nothing]
    found: list[Diagnostic | None] = [nothing]
    if is_text(observed.type):
        found += _of_text(connection, relation, observed)
    elif nothing is None and is_number(observed.type):
        moments = number_dates(connection, observed) if is_integer(observed.type) else None
        found += [not_a_number(observed), moments]
        if moments is None:
            found.append(number_sentinels(connection, relation, observed))
    elif nothing is None and is_date(observed.type):
        found.append(moment_sentinels(connection, relation, observed))
    elif is_number(observed.type):
        found.append(not_a_number(observed))
    return [each for each in found if each is not None]


def _of_text(connection: duckdb.DuckDBPyConnection, relation: str, observed: Observed) -> list[Diagnostic | None]:
    found: list[Diagnostic | None] = [*null_tokens(connection, relation, observed), padding(observed)]
    stripped: dict[str, int] = {}
    for _, bare, count in observed.bare_texts:
        if bare and reads_as_null(bare) is None:
            stripped[bare] = stripped.get(bare, 0) + count
    texts = list(stripped.items())
    moments = dates(connection, observed, texts)
    if moments is not None:
        assert moments.expression is not None and moments.type is not None  # noqa: S101 - dates always carry one
        found += [moments, read_moment_sentinels(connection, observed, texts, moments.expression, moments.type)]
        return found
    measured = units(connection, observed, texts)
    if measured is not None:
        found.append(measured)
    if measured is None or measured.expression is None:
        for diagnostic, pairs in numbers(connection, observed, texts):
            assert diagnostic.expression is not None and diagnostic.type is not None  # noqa: S101
            found.append(diagnostic)
            found.append(
                read_number_sentinels(connection, relation, observed, pairs, diagnostic.expression, diagnostic.type)
            )
            return found
    if measured is not None:
        return found
    found += stray_characters(connection, observed)
    found += [mixed_case(observed), encoding(connection, observed)]
    return found


def diagnose_table(
    connection: duckdb.DuckDBPyConnection,
    relation: str,
    columns: Sequence[tuple[str, str]],
    *,
    rows: int,
    seed: int = 0,
    counted: Mapping[str, Counts] | None = None,
    sample: SampledRows | None = None,
) -> dict[str, list[Diagnostic]]:
    """The diagnostics of each column, by its name. `counted` and `sample`: what a profile has counted and sampled."""
    if not rows:
        return {name: [] for name, _ in columns}
    sample = sample or sampled_rows(connection, relation, columns, rows=rows, seed=seed)
    return {
        observed.name: diagnose_from(connection, relation, observed)
        for observed in observe(connection, relation, columns, sample, rows=rows, counted=counted)
    }


def diagnose_column(
    connection: duckdb.DuckDBPyConnection, relation: str, column: str, type: str, *, rows: int, seed: int = 0
) -> list[Diagnostic]:
    """The diagnostics of one column; for several columns of a table `diagnose_table` reads the table once."""
    return diagnose_table(connection, relation, [(column, type)], rows=rows, seed=seed)[column]
