"""Profiles: what every column of a table looks like, exact where that is cheap and sampled with its error where not.

In: an open DuckDB connection and a relation in it. Out: one `MeasuredProfile` per column.

Exact over all rows, in one pass: rows, nulls, ranges, means, lengths, and of a large table what diagnostics have to
know of every row. Distinct values are exact in tables of up to `EXACT_ROWS` rows and for columns that look like keys,
else estimated (within some 5 %). Shapes, examples, top values and what text looks like come from a sample of rows with
a fixed seed. Nothing here knows what a column means.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from coset.environment.scan import Aggregate, Scan, family, needed_operations
from coset.environment.source import Source, Table
from coset.evidence.column_expressions import SHOWN_CHARACTERS, ColumnKind, column_kind, counted, shown
from coset.evidence.quality.observed import dirt_aggregates
from coset.evidence.sampled_rows import SampledRows, sampled_rows
from coset.sql_text import identifier
from coset.state.objects import ColumnProfile, Counts, MeasuredProfile, Share

if TYPE_CHECKING:
    import duckdb


SHAPE_CHARACTERS = 60

NUMBER = re.compile(
    r"\s*[-+(]?\s*[$€£¥]?\s*[-+]?(\d{1,3}(,\d{3})+|\d+)?(\.\d+|(?<=\d)\.?)([eE][-+]?\d{1,3})?\s*[%$€£¥)]?\s*"
)
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_TIME = r"([T ,]+(at )?\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?( ?[ap]\.?m\.?)?( ?(z|utc|gmt|[-+]\d{2}:?\d{2}))?)?"
DATE = re.compile(
    r"\s*((\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})|(19|20)\d{2}(0[1-9]|1[0-2])([0-2]\d|3[01])"
    rf"|\d{{1,2}}(st|nd|rd|th)?[- ](of )?{_MONTH}[-, ]+\d{{2,4}}|{_MONTH} \d{{1,2}}(st|nd|rd|th)?,? +\d{{4}})"
    rf"{_TIME}|([a-z]{{3,9}}, )?\d{{1,2}} {_MONTH} \d{{4}}{_TIME})\s*",
    re.IGNORECASE,
)


class _Classes(dict[int, str]):
    """Which class a character is of, worked out once per character."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        if letter.isdigit():
            kind = "9"
        elif letter.isalpha():
            kind = "A" if letter.isupper() else "a"
        else:
            kind = " " if letter.isspace() else letter
        self[code] = kind
        return kind


_CLASSES = _Classes()
_RUNS = re.compile(r"([Aa9 ])\1+")


def shape(text: str) -> str:
    return _collapsed(text[: 4 * SHAPE_CHARACTERS].translate(_CLASSES))


@lru_cache(maxsize=10_000)
def _collapsed(classes: str) -> str:
    # Most values of a column have the same letters and digits in the same places, so this is seldom worked out anew.
    return _RUNS.sub(r"\1", classes)[:SHAPE_CHARACTERS]


def shape_counts(values: Mapping[str, int]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for value, count in values.items():
        counts[shape(value)] += count
    return counts


def looks_like_number(text: str) -> bool:
    return bool(NUMBER.fullmatch(text)) and any(letter.isdigit() for letter in text)


def looks_like_date(text: str) -> bool:
    return bool(DATE.fullmatch(text))


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


SAMPLE_ROWS = 1_000
EXACT_ROWS = 200_000
"""Up to so many rows distinct values are counted one by one."""
SMALL_ROWS = 20_000
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
