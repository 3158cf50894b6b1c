"""Profiles: what every column of a table looks like, exact where that is cheap and sampled with its error where not.

In: an open DuckDB connection and a relation in it. Out: one `MeasuredProfile` per column.

Exact over all rows, in one pass: rows, nulls, ranges, means, lengths, and of a large table what diagnostics have to
know of every row. Distinct values are exact in tables of up to `EXACT_ROWS` rows and for columns that look like keys,
else estimated (within some 5 %). Shapes, examples, top values and what text looks like come from a sample of rows with
a fixed seed. Nothing here knows what a column means.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from coset.evidence.column_expressions import SHOWN_CHARACTERS
from coset.evidence.profile_statements import (
    KEY_KINDS,
    SAMPLED_AS_COUNTS,
    ProfiledColumn,
    aggregate_names,
    aggregates,
    distinct_hashes,
    finite_means,
    repeats_in_part,
)
from coset.evidence.sampled_rows import SampledRows, sampled_rows
from coset.evidence.shapes import looks_like_date, looks_like_number, shape, shape_counts
from coset.state.objects import ColumnProfile, Counts, MeasuredProfile, Share

if TYPE_CHECKING:
    import duckdb

SAMPLE_ROWS = 1_000
EXACT_ROWS = 200_000
"""Up to so many rows distinct values are counted one by one."""
SMALL_ROWS = 20_000
COLUMNS_AT_ONCE = 60
PROSE_LENGTH = 64
"""Text that is longer on average is no key."""
UNKNOWN_TYPE = "ANY"
"""Stands for a type of which the engine can say no more than whether a value is there."""
KEYS_VERIFIED, KEY_ROWS = 8, 50_000_000
PART_VALUES = 5_000
"""About so many of a column's values are looked at to see whether it may be a key."""
EXAMPLES, SHAPES, TOP_VALUES = 8, 10, 20
EXAMPLES_LOOKED_AT = 50
ESTIMATED_FEW = 5
"""An estimate above this is not one value."""
Z95 = 1.96


def profile_table(
    connection: duckdb.DuckDBPyConnection,
    relation: str,
    columns: Sequence[tuple[str, str]],
    *,
    rows: int,
    sample_rows: int | None = None,
    seed: int = 0,
    sample: SampledRows | None = None,
) -> dict[str, MeasuredProfile]:
    """The profile of every column. When the relation holds fewer than `rows` rows it is itself a sample of the table,
    and every share says its error. `sample`: sampled rows of the relation where there are some already."""
    sample = sample or sampled_rows(connection, relation, columns, rows=rows, seed=seed)
    return _profile(_Reading(connection, relation, rows, sample, sample_rows or SAMPLE_ROWS, seed), columns)


def profile_without_values(
    connection: duckdb.DuckDBPyConnection, relation: str, columns: Sequence[tuple[str, str]], *, rows: int
) -> dict[str, MeasuredProfile]:
    """Counts, nulls, distinct values and lengths alone: for sources of which no value may be kept."""
    return _profile(_Reading(connection, relation, rows), columns)


def without_values(profile: MeasuredProfile) -> MeasuredProfile:
    """The profile without anything that shows a value: one row's mean is its value, and a hash can be guessed."""
    return replace(
        profile, minimum=None, maximum=None, mean=None, deviation=None, whole_numbers=False, number_text=None,
        date_text=None, shapes=(), examples=(), top=(), counts=None,
    )  # fmt: skip


@dataclass(frozen=True)
class _Reading:
    connection: duckdb.DuckDBPyConnection
    relation: str
    rows: int
    sample: SampledRows | None = None
    """None: no value may be kept."""
    sample_rows: int = SAMPLE_ROWS
    seed: int = 0

    def answer(self, sql: str) -> tuple[Any, ...]:
        (row,) = self.connection.execute(sql).fetchall()
        return tuple(row)


def _profile(reading: _Reading, columns: Sequence[tuple[str, str]]) -> dict[str, MeasuredProfile]:
    profiled = [ProfiledColumn(name, type) for name, type in columns]
    profiles: dict[str, MeasuredProfile] = {}
    for first in range(0, len(profiled), COLUMNS_AT_ONCE):
        profiles.update(_profile_columns(reading, profiled[first : first + COLUMNS_AT_ONCE]))
    return profiles


def _profile_columns(reading: _Reading, columns: Sequence[ProfiledColumn]) -> dict[str, MeasuredProfile]:
    """Some columns at once; when the engine cannot do one of them, that one is only counted."""
    import duckdb

    try:
        return _measured(reading, columns)
    except duckdb.InterruptException:
        raise
    except duckdb.Error:
        if len(columns) == 1 and columns[0].kind == "other":
            raise
    if len(columns) == 1:
        return _measured(reading, [replace(columns[0], type=UNKNOWN_TYPE)])
    middle = len(columns) // 2
    return _profile_columns(reading, columns[:middle]) | _profile_columns(reading, columns[middle:])


def _measured(reading: _Reading, columns: Sequence[ProfiledColumn]) -> dict[str, MeasuredProfile]:
    profiles = _aggregated(reading, columns)
    if reading.sample is not None:
        _add_sample(reading, reading.sample, columns, profiles)
        _find_keys(reading, columns, profiles)
    return profiles


def _aggregated(reading: _Reading, columns: Sequence[ProfiledColumn]) -> dict[str, MeasuredProfile]:
    exact, small = reading.rows <= EXACT_ROWS, reading.rows <= SMALL_ROWS
    # Of a table that is sampled whole, the diagnostics count in the sample.
    values, dirt = reading.sample is not None, reading.sample is not None and not reading.sample.complete
    statement = aggregates(reading.relation, columns, exact=exact, values=values, small=small, dirt=dirt)
    seen, *answers = reading.answer(statement)
    remaining = iter(answers)
    profiles: dict[str, MeasuredProfile] = {}
    for column in columns:
        names = aggregate_names(column, values=values, dirt=dirt)
        found: dict[str, Any] = {name: next(remaining) for name in names}
        profiles[column.name] = _from_aggregates(column, found, seen, reading.rows, exact)
    strange = [column for column in columns if not _has_finite_mean(profiles[column.name])]
    if strange:
        figures = reading.answer(finite_means(reading.relation, strange))
        for number, column in enumerate(strange):
            mean, deviation = figures[2 * number : 2 * number + 2]
            profile = profiles[column.name]
            whole = mean is not None and profile.whole_numbers
            profiles[column.name] = replace(profile, mean=mean, deviation=deviation, whole_numbers=whole)
    return profiles


def _has_finite_mean(profile: ColumnProfile) -> bool:
    return all(figure is None or math.isfinite(figure) for figure in (profile.mean, profile.deviation))


def _from_aggregates(
    column: ProfiledColumn, found: Mapping[str, Any], seen: int, rows: int, exact: bool
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
        counts=Counts(
            present=count,
            constant=_is_constant(found, distinct, exact),
            padded=found.get("padded"),
            null_words=found.get("null_words"),
            not_a_number=found.get("not_a_number"),
        ),
    )


def _is_constant(found: Mapping[str, Any], distinct: int, exact: bool) -> bool | None:
    """Whether there is one value only; None where what was counted does not tell."""
    minimum, maximum = found.get("minimum"), found.get("maximum")
    if not found["count"] or minimum != maximum or (exact and distinct > 1):
        return False
    # Of two long texts that begin alike the extremes are cut to the same.
    longest = found.get("maximum_length") or len(minimum or "")
    if longest >= SHOWN_CHARACTERS:
        return None
    if exact or minimum is not None:
        return True
    return False if distinct > ESTIMATED_FEW else None


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
    reading: _Reading, sample: SampledRows, columns: Sequence[ProfiledColumn], profiles: dict[str, MeasuredProfile]
) -> None:
    looked_at = min(sample.rows, reading.sample_rows)
    for column in columns:
        profile = profiles[column.name]
        if profile.sampled_rows is None and looked_at < profile.rows:
            profile = replace(profile, sampled_rows=looked_at)
        if column.kind != "other":
            texts = sample.some_texts(column.name, reading.sample_rows, reading.seed)
            if column.kind in SAMPLED_AS_COUNTS:
                profile = _with_texts(profile, Counter(text[:SHOWN_CHARACTERS] for text in texts))
            else:
                shown = (text[:SHOWN_CHARACTERS] for text in texts[:EXAMPLES_LOOKED_AT])
                profile = replace(profile, examples=tuple(dict.fromkeys(shown))[:EXAMPLES])
        profiles[column.name] = profile


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


def values_in(profile: ColumnProfile) -> int:
    """How many rows have a value."""
    return round(profile.rows * (1 - profile.nulls.value))


def _find_keys(reading: _Reading, columns: Sequence[ProfiledColumn], profiles: dict[str, MeasuredProfile]) -> None:
    """Whether values repeat, in the columns where that was not counted: an estimate tells most, a part of the values
    nearly all others, and what still may be a key is counted one by one (a column at a time, to bound memory)."""
    candidates = []
    for column in columns:
        profile = profiles[column.name]
        values = values_in(profile)
        if profile.unique is not None or profile.nulls.error or not values or column.kind not in KEY_KINDS:
            continue
        # An estimate is within a few per cent; so far below the rows, some value surely repeats.
        if profile.distinct < 0.8 * values:
            profiles[column.name] = replace(profile, unique=False)
        elif _may_be_key(column, profile):
            candidates.append(column)
    if not candidates:
        return
    part = max(1, reading.rows // PART_VALUES)
    answers = reading.answer(repeats_in_part(reading.relation, candidates, part))
    likely = []
    for number, column in enumerate(candidates):
        distinct, rows = answers[2 * number : 2 * number + 2]
        if (distinct or 0) < 0.98 * (rows or 0):
            profiles[column.name] = replace(profiles[column.name], unique=False)
        else:
            likely.append(column)
    for column in likely[:KEYS_VERIFIED]:
        (counted,) = reading.answer(distinct_hashes(reading.relation, column))
        profile = profiles[column.name]
        unique = counted == values_in(profile)
        profiles[column.name] = replace(profile, distinct=counted, distinct_exact=True, unique=unique)


def _may_be_key(column: ProfiledColumn, profile: MeasuredProfile) -> bool:
    if profile.rows > KEY_ROWS or (profile.mean_length or 0) > PROSE_LENGTH:
        return False
    return profile.whole_numbers or column.kind not in ("float", "decimal")
