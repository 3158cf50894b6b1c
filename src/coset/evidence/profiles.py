"""Profiles: what every column of a table looks like, exact where that is cheap and sampled with its error where not.

In: an open DuckDB connection and relations in it. Out: one `MeasuredProfile` per column. Many small tables of one shape
are read by one statement. Sketches hold the smallest hashes of the column's normalised values, each once: two columns'
sketches tell how much of one is found in the other without reading either again.

Exact over all rows: rows, nulls, ranges, means, lengths. Distinct values are exact in tables of up to `EXACT_ROWS`
rows and for columns that look like keys, else estimated (within some 5 %). Shapes, examples, top values and what text
looks like come from a sample of rows with a fixed seed. Nothing here knows what a column means.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from coset.evidence.column_expressions import SHOWN_CHARACTERS
from coset.evidence.objects import ColumnProfile, Share
from coset.evidence.profile_statements import (
    SAMPLED_AS_COUNTS,
    SKETCH_SIZE,
    SKETCHED_DIRECTLY,
    SKETCHED_KINDS,
    WHOLE_RANGE,
    ProfiledColumn,
    Relations,
    SketchPlan,
    aggregate_names,
    aggregates,
    distinct_hashes,
    finite_means,
    sample,
    sketches,
)
from coset.evidence.shapes import looks_like_date, looks_like_number, separators_of, shape, shape_counts

if TYPE_CHECKING:
    import duckdb

SAMPLE_ROWS = 1_000
EXACT_ROWS = 200_000
"""Up to so many rows distinct values are counted one by one."""
SMALL_ROWS = 20_000
"""Tables of up to so many rows are read together with others of their shape."""
TOGETHER_TABLES, TOGETHER_CELLS, TOGETHER_SAMPLE = 100, 4_000_000, 300
COLUMNS_AT_ONCE = 60
PATTERN_ROWS = 20_000
"""Up to so many rows text is normalised by a pattern; above, by leaving out the separators that the sample shows."""
SEPARATORS = 6
NUMERIC_SHARE = 0.95
"""Text of which so much looks like numbers is sketched as numbers."""
PROSE_LENGTH = 64
"""Text that is longer on average is no key and gets no sketch."""
UNKNOWN_TYPE = "ANY"
"""Stands for a type of which the engine can say no more than whether a value is there."""
KEYS_VERIFIED, KEY_ROWS = 8, 50_000_000
EXAMPLES, SHAPES, TOP_VALUES = 8, 10, 20
Z95 = 1.96


@dataclass(frozen=True)
class MeasuredProfile(ColumnProfile):
    """A column's profile with what relation and value finding need of it."""

    type: str = ""
    unique: bool | None = None
    """Whether no value occurs twice; None when that was not counted exactly."""
    whole_numbers: bool = False
    """A float or decimal column whose every value is a whole number."""
    number_text: Share | None = None
    """The share of a text column's sampled values that look like numbers."""
    date_text: Share | None = None
    top: tuple[tuple[str, float], ...] = ()
    """The commonest values of a text column with their shares of the sample's non-null values."""
    sketch: tuple[int, ...] = ()
    """The smallest hashes of its normalised distinct values, in order; empty when it was not sketched."""
    sketch_bound: int = 0
    """Every hash below this bound is in the sketch; 2^64 when the sketch holds all, 0 when there is none."""


@dataclass(frozen=True)
class TableToProfile:
    relation: str
    """The relation's name, quoted."""
    columns: tuple[tuple[str, str], ...]
    rows: int


def profile_table(
    connection: duckdb.DuckDBPyConnection,
    relation: str,
    columns: Sequence[tuple[str, str]],
    *,
    rows: int,
    sample_rows: int | None = None,
    seed: int = 0,
) -> dict[str, MeasuredProfile]:
    """The profile of every column. When the relation holds fewer than `rows` rows it is itself a sample of the table,
    and every share says its error."""
    table = TableToProfile(relation, tuple(columns), rows)
    return _profile([table], _Reading(connection, sample_rows or SAMPLE_ROWS, seed))[0]


def profile_tables(
    connection: duckdb.DuckDBPyConnection,
    tables: Sequence[TableToProfile],
    *,
    sample_rows: int | None = None,
    seed: int = 0,
) -> Iterator[tuple[int, dict[str, MeasuredProfile]]]:
    """The profiles of many tables as they are done, each with its place in `tables`; small ones of a shape together."""
    reading = _Reading(connection, sample_rows or SAMPLE_ROWS, seed)
    for places in tables_together(tables):
        yield from zip(places, _profile([tables[place] for place in places], reading), strict=True)


def profile_without_values(
    connection: duckdb.DuckDBPyConnection, relation: str, columns: Sequence[tuple[str, str]], *, rows: int
) -> dict[str, MeasuredProfile]:
    """Counts, nulls, distinct values and lengths alone: for sources of which no value may be kept."""
    return _profile([TableToProfile(relation, tuple(columns), rows)], _Reading(connection, values=False))[0]


def without_values(profile: MeasuredProfile) -> MeasuredProfile:
    """The profile without anything that shows a value: one row's mean is its value, and a hash can be guessed."""
    return replace(
        profile, minimum=None, maximum=None, mean=None, deviation=None, whole_numbers=False, number_text=None,
        date_text=None, shapes=(), examples=(), top=(), sketch=(), sketch_bound=0,
    )  # fmt: skip


def tables_together(tables: Sequence[TableToProfile]) -> Iterator[list[int]]:
    """The places of tables that are worth reading in one statement: same columns, few rows."""
    by_shape: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for place, table in enumerate(tables):
        if table.rows > SMALL_ROWS or len(table.columns) > COLUMNS_AT_ONCE:
            yield [place]
        else:
            by_shape.setdefault(table.columns, []).append(place)
    for columns, places in by_shape.items():
        batch: list[int] = []
        cells = 0
        for place in places:
            size = tables[place].rows * max(1, len(columns))
            if batch and (len(batch) == TOGETHER_TABLES or cells + size > TOGETHER_CELLS):
                yield batch
                batch, cells = [], 0
            batch.append(place)
            cells += size
        if batch:
            yield batch


@dataclass(frozen=True)
class _Reading:
    connection: duckdb.DuckDBPyConnection
    sample_rows: int = SAMPLE_ROWS
    seed: int = 0
    values: bool = True


def _profile(tables: Sequence[TableToProfile], reading: _Reading) -> list[dict[str, MeasuredProfile]]:
    columns = [ProfiledColumn(name, type) for name, type in tables[0].columns]
    profiles: list[dict[str, MeasuredProfile]] = [{} for _ in tables]
    for first in range(0, len(columns), COLUMNS_AT_ONCE):
        chunk = columns[first : first + COLUMNS_AT_ONCE]
        for each, measured in zip(profiles, _profile_columns(tables, chunk, reading), strict=True):
            each.update(measured)
    return profiles


def _profile_columns(
    tables: Sequence[TableToProfile], columns: Sequence[ProfiledColumn], reading: _Reading
) -> list[dict[str, MeasuredProfile]]:
    """Some columns at once; when the engine cannot do one of them, that one is only counted."""
    import duckdb

    try:
        return _measured(tables, columns, reading)
    except duckdb.InterruptException:
        raise
    except duckdb.Error:
        if len(columns) == 1 and columns[0].kind == "other":
            raise
    if len(columns) == 1:
        return _measured(tables, [replace(columns[0], type=UNKNOWN_TYPE)], reading)
    middle = len(columns) // 2
    halves = (_profile_columns(tables, half, reading) for half in (columns[:middle], columns[middle:]))
    return [left | right for left, right in zip(*halves, strict=True)]


def _measured(
    tables: Sequence[TableToProfile], columns: Sequence[ProfiledColumn], reading: _Reading
) -> list[dict[str, MeasuredProfile]]:
    relations = Relations(tuple(table.relation for table in tables))
    profiles = _aggregated(reading.connection, relations, tables, columns, reading.values)
    if reading.values:
        largest = max(table.rows for table in tables)
        wanted = reading.sample_rows if len(tables) == 1 else min(reading.sample_rows, TOGETHER_SAMPLE)
        taken = wanted if largest > wanted else None
        separators = _add_sample(reading.connection, relations, columns, profiles, taken, reading.seed)
        _add_sketches(reading.connection, relations, columns, profiles, separators)
    return profiles


def _by_number(connection: duckdb.DuckDBPyConnection, sql: str, count: int) -> list[tuple[Any, ...] | None]:
    """One answer per relation, without its number; None for a relation without rows (it has no group)."""
    answers: list[tuple[Any, ...] | None] = [None] * count
    for answer in connection.execute(sql).fetchall():
        answers[answer[0]] = answer[1:]
    return answers


def _aggregated(
    connection: duckdb.DuckDBPyConnection,
    relations: Relations,
    tables: Sequence[TableToProfile],
    columns: Sequence[ProfiledColumn],
    values: bool,
) -> list[dict[str, MeasuredProfile]]:
    exact = max(table.rows for table in tables) <= EXACT_ROWS
    small = max(table.rows for table in tables) <= SMALL_ROWS
    sql = aggregates(relations, columns, exact=exact, values=values, small=small)
    result = []
    for table, answer in zip(tables, _by_number(connection, sql, len(tables)), strict=True):
        seen: int = answer[0] if answer else 0
        remaining = iter(answer[1:] if answer else ())
        profiles: dict[str, MeasuredProfile] = {}
        for column in columns:
            found: dict[str, Any] = {name: next(remaining, None) for name in aggregate_names(column.kind, values)}
            profiles[column.name] = _from_aggregates(column, found, seen, table.rows, exact, values)
        result.append(profiles)
    strange = [column for column in columns if any(not _has_finite_mean(each[column.name]) for each in result)]
    if strange:
        answers = _by_number(connection, finite_means(relations, strange), len(tables))
        for each, answer in zip(result, answers, strict=True):
            for number, column in enumerate(strange if answer else ()):
                mean, deviation = answer[2 * number : 2 * number + 2] if answer else (None, None)
                whole = mean is not None and each[column.name].whole_numbers
                each[column.name] = replace(each[column.name], mean=mean, deviation=deviation, whole_numbers=whole)
    return result


def _has_finite_mean(profile: ColumnProfile) -> bool:
    return all(figure is None or math.isfinite(figure) for figure in (profile.mean, profile.deviation))


def _from_aggregates(
    column: ProfiledColumn, found: Mapping[str, Any], seen: int, rows: int, exact: bool, values: bool
) -> MeasuredProfile:
    count = found["count"] or 0
    distinct = min(found.get("distinct") or 0, count)
    exact = exact and "distinct" in found
    mean, deviation = found.get("mean"), found.get("deviation")
    is_sample = seen < rows
    return MeasuredProfile(
        rows=max(rows, seen),
        sampled_rows=seen if is_sample else None,
        nulls=share(seen - count, seen, rows),
        distinct=distinct,
        distinct_exact=exact and not is_sample,
        minimum=_cut(found.get("minimum")),
        maximum=_cut(found.get("maximum")),
        mean_length=found.get("mean_length"),
        maximum_length=found.get("maximum_length"),
        mean=mean,
        deviation=deviation,
        type=column.type,
        unique=(distinct == count if exact and not is_sample and count else None),
        whole_numbers=mean is not None and column.kind in ("float", "decimal") and found["whole"] == count,
    )


def share(part: int, of: int, population: int) -> Share:
    """`part` of `of` rows looked at, out of `population`: no error when that was all, else the 95 % half-width (of the
    Wilson interval, which does not claim certainty for a share of 0 or 1)."""
    if of <= 0:
        return Share(0.0)
    value = part / of
    if of >= population:
        return Share(value)
    spread = Z95 * math.sqrt(value * (1 - value) / of + Z95**2 / (4 * of * of)) / (1 + Z95**2 / of)
    centre = (value + Z95**2 / (2 * of)) / (1 + Z95**2 / of)
    return Share(value, abs(centre - value) + spread)


def _cut(text: object) -> str | None:
    return None if text is None else str(text)[:SHOWN_CHARACTERS]


def _add_sample(
    connection: duckdb.DuckDBPyConnection,
    relations: Relations,
    columns: Sequence[ProfiledColumn],
    profiles: list[dict[str, MeasuredProfile]],
    rows: int | None,
    seed: int,
) -> dict[str, tuple[str, ...]]:
    """Adds what the sample shows; answers the separators seen in the text columns of a table too large for patterns."""
    separators: dict[str, tuple[str, ...]] = {}
    answers = _by_number(connection, sample(relations, columns, rows=rows, seed=seed), len(profiles))
    for each, answer in zip(profiles, answers, strict=True):
        if answer is None:
            continue
        for column, values in zip(columns, answer[1:], strict=True):
            profile = each[column.name]
            if rows is not None and profile.sampled_rows is None and answer[0] < profile.rows:
                profile = replace(profile, sampled_rows=answer[0])
            if column.kind in SAMPLED_AS_COUNTS:
                profile = _with_texts(profile, values or {})
                if column.kind == "text" and (profile.rows > PATTERN_ROWS or len(profiles) > 1):
                    seen = separators_of(values or {}, SEPARATORS)
                    separators[column.name] = tuple(dict.fromkeys((*separators.get(column.name, ()), *seen)))
            elif values:
                profile = replace(profile, examples=tuple(dict.fromkeys(values))[:EXAMPLES])
            each[column.name] = profile
    return separators


def _with_texts(profile: MeasuredProfile, values: Mapping[str, int]) -> MeasuredProfile:
    seen = sum(values.values())
    if not seen:
        return profile
    population = values_in(profile)
    shapes = shape_counts(values)
    commonest = sorted(values.items(), key=lambda item: (-item[1], item[0]))
    numbers = sum(count for value, count in values.items() if looks_like_number(value))
    dates = sum(count for value, count in values.items() if looks_like_date(value))
    return replace(
        profile,
        shapes=tuple((text, count / seen) for text, count in _commonest(shapes, SHAPES)),
        examples=_examples(shapes, [value for value, _ in commonest]),
        number_text=share(numbers, seen, population),
        date_text=share(dates, seen, population),
        top=tuple(
            (value, count / seen) for value, count in commonest[:TOP_VALUES] if count > 1 or len(values) <= TOP_VALUES
        ),
    )


def _commonest(counts: Counter[str], most: int) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most]


def _examples(shapes: Counter[str], values: Sequence[str]) -> tuple[str, ...]:
    """The commonest value of each of the commonest shapes, then the commonest of all."""
    wanted = {text for text, _ in _commonest(shapes, EXAMPLES // 2)}
    chosen = []
    for value in values:
        text = shape(value)
        if text in wanted:
            wanted.discard(text)
            chosen.append(value)
            if not wanted:
                break
    for value in values[:EXAMPLES]:
        if len(chosen) < EXAMPLES and value not in chosen:
            chosen.append(value)
    return tuple(chosen)


def _add_sketches(
    connection: duckdb.DuckDBPyConnection,
    relations: Relations,
    columns: Sequence[ProfiledColumn],
    profiles: list[dict[str, MeasuredProfile]],
    separators: Mapping[str, tuple[str, ...]],
) -> None:
    plans = []
    for column in columns:
        plan = _sketch_plan(column, [each[column.name] for each in profiles], separators.get(column.name))
        if plan is not None:
            plans.append(plan)
    if not plans:
        return
    likely_keys = []
    for each, answer in zip(profiles, _by_number(connection, sketches(relations, plans), len(profiles)), strict=True):
        if answer is None:
            continue
        for number, plan in enumerate(plans):
            hashes: list[int] = answer[3 * number] or []
            distinct, rows = answer[3 * number + 1] or 0, answer[3 * number + 2] or 0
            profile = _with_sketch(each[plan.column.name], plan, hashes)
            each[plan.column.name] = profile
            # All rows of the values below the bound were seen: when none of them repeats, few others can.
            if profile.unique is None and rows and distinct >= 0.98 * rows and profile.rows <= KEY_ROWS:
                likely_keys.append(plan.column)
    if len(profiles) == 1 and not profiles[0][columns[0].name].nulls.error:
        _verify_keys(connection, relations, profiles[0], likely_keys)


def _sketch_plan(
    column: ProfiledColumn, profiles: Sequence[MeasuredProfile], separators: tuple[str, ...] | None
) -> SketchPlan | None:
    """How to sketch the column, or None when its values are measures, prose or missing."""
    if column.kind not in SKETCHED_KINDS or not any(profile.distinct for profile in profiles):
        return None
    if column.kind in ("float", "decimal") and not any(profile.whole_numbers for profile in profiles):
        return None
    first = max(profiles, key=lambda profile: profile.distinct)
    if (first.mean_length or 0) > PROSE_LENGTH:
        return None
    numeric = column.kind == "text" and first.number_text is not None and first.number_text.value >= NUMERIC_SHARE
    if len(profiles) > 1:
        few = separators is not None and len(separators) <= SEPARATORS
        return SketchPlan(column, separators if few else None, numeric, WHOLE_RANGE, direct=False)
    if first.rows <= SMALL_ROWS:
        return SketchPlan(column, separators, numeric, WHOLE_RANGE, direct=False)
    if first.distinct <= SKETCHED_DIRECTLY:
        return SketchPlan(column, None, numeric, WHOLE_RANGE, direct=True)
    # Half as many again as needed, because the number of distinct values is itself an estimate.
    bound = min(WHOLE_RANGE, WHOLE_RANGE * 3 * SKETCH_SIZE // (2 * first.distinct))
    return SketchPlan(column, ("-",) if column.kind == "uuid" else separators, numeric, bound, direct=False)


def _with_sketch(profile: MeasuredProfile, plan: SketchPlan, hashes: Sequence[int]) -> MeasuredProfile:
    if plan.column.kind in ("float", "decimal") and not profile.whole_numbers:
        return profile
    bound = hashes[-1] + 1 if len(hashes) >= SKETCH_SIZE else plan.bound
    # A count of distinct values is within a few per cent; so far below the rows, some value surely repeats.
    all_seen = not profile.nulls.error
    repeats = profile.unique is None and all_seen and profile.distinct < 0.8 * values_in(profile)
    return replace(profile, sketch=tuple(hashes), sketch_bound=bound, unique=False if repeats else profile.unique)


def values_in(profile: ColumnProfile) -> int:
    """How many rows have a value."""
    return round(profile.rows * (1 - profile.nulls.value))


def _verify_keys(
    connection: duckdb.DuckDBPyConnection,
    relations: Relations,
    profiles: dict[str, MeasuredProfile],
    candidates: Sequence[ProfiledColumn],
) -> None:
    """Count the distinct values of likely keys one by one (a column at a time, to bound memory)."""
    for column in candidates[:KEYS_VERIFIED]:
        answer = _by_number(connection, distinct_hashes(relations, column), 1)[0]
        if answer is not None:
            profile = profiles[column.name]
            unique = answer[0] == values_in(profile)
            profiles[column.name] = replace(profile, distinct=answer[0], distinct_exact=True, unique=unique)
