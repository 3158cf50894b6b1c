"""Value groups: the dictionary of every categorical column, each value with its exact count.

In: a relation and its columns' profiles. Out: one `ValueGroup` per categorical column; none for keys, measures and
prose. A small dictionary is complete. Of a large one the commonest and the rarest values are kept, and it says so.
Counts are over all rows of the relation: from the sampled rows where these are all, else by one statement for all
columns (GROUPING SETS: one scan however many there are). A relation that is itself a sample gives no complete group.
Nothing here knows what the values mean.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from coset.evidence.column_expressions import column_kind
from coset.evidence.sampled_rows import CUT_CHARACTERS, SampledRows
from coset.sql_text import identifier
from coset.state.objects import ColumnProfile, ValueGroup

if TYPE_CHECKING:
    import duckdb

COMPLETE_VALUES = 100
"""A dictionary of up to so many values is kept whole."""
MOST_VALUES = 10_000
TOP_VALUES, TAIL_VALUES = 50, 20
REPEATS_WHEN_SMALL, REPEATS_WHEN_LARGE = 2, 10
"""How often a value occurs on average, at least."""
LONGEST_VALUE = 500
LONGEST_MEAN = 64
LOOKUP_ROWS, LOOKUP_COLUMNS = 100, 4
COLUMNS_AT_ONCE = 50

Role = Literal["codes", "labels", "flags", "mixed"]

_GROUPED = {"text", "enum", "boolean", "integer", "decimal", "float"}
_FLAGS = {
    "y", "n", "yes", "no", "t", "f", "true", "false", "on", "off", "0", "1", "x", "j", "ja", "nein", "oui", "non", "si",
    "sí",
}  # fmt: skip
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")
_WITH_DIGIT = re.compile(r"(?=.*\d)[\w./:#-]{1,12}")
_CAPITALS = re.compile(r"[A-Z][A-Z_./-]{0,3}|[B-DF-HJ-NP-TV-XZ]{2,8}")
_SMALL_CODE = re.compile(r"[a-z]{1,3}([-_][a-zA-Z]{2})?")


def value_groups(
    connection: duckdb.DuckDBPyConnection,
    relation: str,
    columns: Sequence[tuple[str, str]],
    profiles: Mapping[str, ColumnProfile],
    *,
    rows: int,
    sample: SampledRows | None = None,
) -> dict[str, ValueGroup]:
    """The groups by column name. `sample`: sampled rows of the relation; where they are all rows, no more are read."""
    categorical = [(name, type) for name, type in columns if _may_be_categorical(name, type, columns, profiles)]
    groups: dict[str, ValueGroup] = {}
    if sample is not None and sample.complete:
        whole = [(name, type) for name, type in categorical if _is_whole(profiles[name])]
        categorical = [column for column in categorical if column not in whole]
        for name, type in whole:
            group = _group(_counted(sample.texts[name]), rows, small_only=column_kind(type) not in ("text", "enum"))
            if group is not None:
                groups[name] = group
    for first in range(0, len(categorical), COLUMNS_AT_ONCE):
        chunk = categorical[first : first + COLUMNS_AT_ONCE]
        found: dict[int, list[tuple[str | None, int, int, int, int, int]]] = {}
        for number, *entry in connection.execute(_statement(relation, [name for name, _ in chunk])).fetchall():
            found.setdefault(number, []).append(tuple(entry))
        for number, entries in sorted(found.items()):
            name, type = chunk[number]
            group = _group(entries, rows, small_only=column_kind(type) not in ("text", "enum"))
            if group is not None:
                groups[name] = group
    return {name: groups[name] for name, _ in columns if name in groups}


def _is_whole(profile: ColumnProfile) -> bool:
    """Whether no value was cut in the sample."""
    return (profile.maximum_length or 0) < CUT_CHARACTERS


def _counted(texts: Sequence[str | None]) -> list[tuple[str | None, int, int, int, int, int]]:
    """What `_statement` answers for a column of which all values are here; NULL is the last among equal counts."""
    counts = Counter(texts)
    distinct = len(counts) - (None in counts)
    by_text = sorted(counts, key=lambda value: value or "")
    from_top = sorted(by_text, key=lambda value: (-counts[value], value is None))
    from_tail = sorted(reversed(by_text), key=lambda value: (counts[value], value is None))
    last = {value: place for place, value in enumerate(from_tail, start=1)}
    return [
        (value, counts[value], place, last[value], distinct, len(texts))
        for place, value in enumerate(from_top, start=1)
        if place <= COMPLETE_VALUES + 1 or last[value] <= TAIL_VALUES or value is None
    ]


def _may_be_categorical(
    name: str, type: str, columns: Sequence[tuple[str, str]], profiles: Mapping[str, ColumnProfile]
) -> bool:
    profile, kind = profiles[name], column_kind(type)
    values = profile.rows * (1 - profile.nulls.value)
    if kind not in _GROUPED or not profile.distinct or (profile.maximum_length or 0) > LONGEST_VALUE:
        return False
    if kind == "boolean":
        return True
    # An estimate may be off by a few per cent; the exact count decides later.
    if profile.distinct <= COMPLETE_VALUES * 1.2:
        if values >= REPEATS_WHEN_SMALL * profile.distinct:
            return True
        return kind in ("text", "enum") and _is_label_of_lookup(profile, columns)
    if kind not in ("text", "enum") or (profile.mean_length or 0) > LONGEST_MEAN:
        return False
    return profile.distinct <= MOST_VALUES and values >= REPEATS_WHEN_LARGE * profile.distinct


def _is_label_of_lookup(profile: ColumnProfile, columns: Sequence[tuple[str, str]]) -> bool:
    """Whether a column without repeats is the dictionary that codes elsewhere refer to: short text in a small, narrow
    table. Where it is not narrow, names are the names of its rows."""
    short = (profile.mean_length or 0) <= LONGEST_MEAN / 2
    return short and profile.rows <= LOOKUP_ROWS and 2 <= len(columns) <= LOOKUP_COLUMNS


def _statement(relation: str, names: Sequence[str]) -> str:
    """Per value: the column's number, the value, its count, its rank from the top and from the tail, the number of
    values, the rows counted."""
    columns = [f"c{number}" for number in range(len(names))]
    selected = ", ".join(f"{identifier(name)} AS {column}" for name, column in zip(names, columns, strict=True))
    which = " ".join(f"WHEN GROUPING({column}) = 0 THEN {number}" for number, column in enumerate(columns))
    value = " ".join(f"WHEN GROUPING({column}) = 0 THEN CAST({column} AS VARCHAR)" for column in columns)
    sets = ", ".join(f"({column})" for column in columns)
    most = COMPLETE_VALUES + 1
    return f"""
        WITH counted AS (
            SELECT CASE {which} END AS k, CASE {value} END AS v, count(*) AS n
            FROM (SELECT {selected} FROM {relation}) GROUP BY GROUPING SETS ({sets})
        ), ranked AS (
            SELECT k, v, n, row_number() OVER (PARTITION BY k ORDER BY n DESC, v) AS from_top,
                row_number() OVER (PARTITION BY k ORDER BY n, v DESC) AS from_tail,
                count(v) OVER (PARTITION BY k) AS distinct_values, sum(n) OVER (PARTITION BY k) AS counted_rows
            FROM counted
        )
        SELECT k, v, n, from_top, from_tail, distinct_values, CAST(counted_rows AS BIGINT) FROM ranked
        WHERE from_top <= {most} OR from_tail <= {TAIL_VALUES} OR v IS NULL ORDER BY k, from_top
    """


def _group(
    entries: Sequence[tuple[str | None, int, int, int, int, int]], rows: int, *, small_only: bool
) -> ValueGroup | None:
    if not entries or entries[0][4] == 0:
        return None
    distinct, counted_rows = entries[0][4], entries[0][5]
    listed = [(value, count) for value, count, *_ in entries]
    role = role_of([value for value, _ in listed if value is not None])
    if distinct <= COMPLETE_VALUES:
        return ValueGroup(counted_rows >= rows, distinct, tuple(listed), role=role)
    if small_only:
        return None
    top = [(value, count) for value, count, from_top, *_ in entries if from_top <= TOP_VALUES or value is None]
    tail = [(value, count) for value, count, _, last, *_ in entries if last <= TAIL_VALUES and value is not None]
    return ValueGroup(False, distinct, tuple(top), tail=tuple(tail), role=role)


def role_of(values: Sequence[str]) -> Role:
    """Codes stand for something that is written elsewhere; labels say it themselves; flags say yes or no."""
    texts = [value.strip() for value in values if value.strip()]
    if not texts:
        return "labels"
    if len(texts) <= 3 and all(text.lower() in _FLAGS for text in texts):
        return "flags"
    same_length = len({len(text) for text in texts}) == 1 and len(texts) > 2
    codes = sum(_is_code(text, same_length) for text in texts) / len(texts)
    if codes >= 0.9:
        return "codes"
    return "labels" if codes <= 0.25 else "mixed"


def _is_code(text: str, same_length: bool) -> bool:
    if _NUMBER.fullmatch(text) or _WITH_DIGIT.fullmatch(text) or _CAPITALS.fullmatch(text):
        return True
    return same_length and bool(_SMALL_CODE.fullmatch(text))
