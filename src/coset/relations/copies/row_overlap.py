"""How much of one table's rows stand in another, counted row by row over the columns that both have.

In: two tables whose rows a DuckDB connection can read, and which of their columns correspond. Out: a `RowOverlap`:
rows found by a key and how far the other columns agree, what is later on either side, and which column drifted. Values
are compared as text without regard to how an engine types them (7 and 7.0, a date and its text). Of very large tables
the same part of the keys is compared on both sides. Which of the two is the original is not decided here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from coset.environment.source import Column
from coset.evidence.column_expressions import column_kind
from coset.evidence.reading import JoinableTable
from coset.sql_text import identifier

if TYPE_CHECKING:
    import duckdb

MOST_ROWS = 300_000
"""Of tables with more rows the rows with one in so many keys are compared."""
MOST_COLUMNS = 120
COUNTED_AT_ONCE = 16
"""Of so many columns the hashes are held at once to count the different ones."""
UNIQUE, NEARLY_UNIQUE = 0.98, 0.4
"""A key is unique on one side; a load may hold the same rows twice."""
KEYS_TRIED, WELL_FOUND = 4, 0.8
KEY_COLUMNS = 8
"""A key of several columns is looked for among so many, from the first on."""


@dataclass(frozen=True)
class ColumnOverlap:
    """One column of both: `equal` is the share of matched rows in which it has the same value."""

    name: str
    equal: float
    left_latest: str | None = None
    right_latest: str | None = None
    """The last day but for those that mean never, where the column holds dates; as `2024-03-31`."""
    left_earliest: str | None = None
    right_earliest: str | None = None

    def turned(self) -> ColumnOverlap:
        return ColumnOverlap(
            self.name, self.equal, self.right_latest, self.left_latest, self.right_earliest, self.left_earliest
        )


@dataclass(frozen=True)
class RowOverlap:
    left_rows: int
    right_rows: int
    left_found: float
    """The share of the left's rows that the right has: by the key where there is one, else whole rows."""
    right_found: float
    agreement: float
    """How far the other columns of the rows found agree beyond chance, from 0 to 1."""
    key: tuple[str, ...]
    columns: tuple[ColumnOverlap, ...]

    @property
    def later_on_the_right(self) -> bool:
        return any(_later(each.right_latest, each.left_latest) for each in self.columns)

    @property
    def later_on_the_left(self) -> bool:
        return any(_later(each.left_latest, each.right_latest) for each in self.columns)


def _later(one: str | None, other: str | None) -> bool:
    return one is not None and other is not None and one > other


@dataclass(frozen=True)
class _Loaded:
    """A table as hashes of its values: column `h<n>` for the n-th column, and `d<n>` for a date."""

    name: str
    rows: int
    distinct: dict[str, int]
    dates: frozenset[str]
    measures: frozenset[str]
    part: int


_Counted = tuple[float, float, dict[tuple[str, str], float]]
"""The share of rows found on the left and on the right, and of those the share in which a column is equal."""


PassingOver = Callable[[str], AbstractContextManager[object, bool | None]]
"""Under the name of a table, or of two, what may fail by itself."""


class RowCounter:
    """Compares pairs of tables; each is read once. One that cannot be read, or a pair that cannot be compared, is left
    to `passing_over`; a table that cannot be opened is not."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        opens: Callable[[JoinableTable], None] | None = None,
        passing_over: PassingOver = nullcontext,
    ) -> None:
        self._connection, self._opens, self._passing_over = connection, opens, passing_over
        self._loaded: dict[JoinableTable, _Loaded | None] = {}

    def close(self) -> None:
        for loaded in self._loaded.values():
            if loaded is not None:
                self._connection.execute(f"DROP TABLE IF EXISTS {loaded.name}")
        self._loaded.clear()

    def compare(
        self, left: JoinableTable, right: JoinableTable, shared: Sequence[tuple[str, str]]
    ) -> RowOverlap | None:
        """`shared`: pairs of a column of the left and the one of the right that corresponds to it. None where that
        cannot be told."""
        one, other = self._load(left), self._load(right)
        overlap: RowOverlap | None = None
        if one is not None and other is not None:
            with self._passing_over(f"{left.reference} and {right.reference}"):
                overlap = self._overlap(left, right, shared, one, other)
        return overlap

    def _overlap(
        self,
        left: JoinableTable,
        right: JoinableTable,
        shared: Sequence[tuple[str, str]],
        one: _Loaded,
        other: _Loaded,
    ) -> RowOverlap:
        pairs = [pair for pair in shared if pair[0] in one.distinct and pair[1] in other.distinct]
        part = max(one.part, other.part)
        if part > 1 and (left.columns[0].name, right.columns[0].name) not in pairs:
            return RowOverlap(one.rows, other.rows, 0.0, 0.0, 0.0, (), ())
        one, other = self._reduced(one, part), self._reduced(other, part)
        numbers = {pair: (_place(left, pair[0]), _place(right, pair[1])) for pair in pairs}
        if not pairs or not one.rows or not other.rows:
            return RowOverlap(one.rows, other.rows, 0.0, 0.0, 0.0, (), ())
        key, (left_found, right_found, equal) = self._best_counted(one, other, numbers)
        columns = tuple(
            ColumnOverlap(pair[0], equal.get(pair, 1.0), *self._latest(one, other, pair, numbers[pair]))
            for pair in pairs
        )
        agreement = _agreement(other, {pair: share for pair, share in equal.items() if pair not in key}) if key else 1.0
        names = tuple(pair[0] for pair in key)
        return RowOverlap(one.rows, other.rows, left_found, right_found, agreement, names, columns)

    def _reduced(self, loaded: _Loaded, part: int) -> _Loaded:
        """The same part of the keys as of the other side, which is larger."""
        if loaded.part == part:
            return loaded
        row = self._connection.execute(f"SELECT count(*) FROM {loaded.name} WHERE h0 % {part} = 0").fetchone()
        source = f"(FROM {loaded.name} WHERE h0 % {part} = 0)"
        rows = row[0] if row else 0
        scale = rows / max(1, loaded.rows)
        distinct = {name: round(count * scale) for name, count in loaded.distinct.items()}
        return _Loaded(source, rows, distinct, loaded.dates, loaded.measures, part)

    def _best_counted(
        self, one: _Loaded, other: _Loaded, numbers: dict[tuple[str, str], tuple[int, int]]
    ) -> tuple[tuple[tuple[str, str], ...], _Counted]:
        """By the key that finds most rows: the keys of a table may have been given anew when it was copied."""
        best: tuple[tuple[tuple[str, str], ...], _Counted] = ((), (0.0, 0.0, {}))
        keys = [
            (pair,)
            for pair in numbers
            if len(numbers) > 1
            and pair[0] not in one.measures
            and pair[1] not in other.measures
            and _is_key(one, other, one.distinct[pair[0]], other.distinct[pair[1]])
        ]
        for key in keys[:KEYS_TRIED]:
            counted = self._by_key(one, other, numbers, key)
            if max(counted[:2]) > max(best[1][:2]):
                best = key, counted
            if max(counted[:2]) >= WELL_FOUND:
                return best
        if not keys and (several := self._key_of_several(one, other, numbers)):
            best = several, self._by_key(one, other, numbers, several)
        whole = self._by_rows(one, other, numbers)
        return ((), whole) if max(whole[:2]) > max(best[1][:2]) else best

    def _key_of_several(
        self, one: _Loaded, other: _Loaded, numbers: dict[tuple[str, str], tuple[int, int]]
    ) -> tuple[tuple[str, str], ...]:
        """The first few columns that are a key together."""
        chosen: list[tuple[str, str]] = []
        reached = 0
        for pair in list(numbers)[:KEY_COLUMNS]:
            if pair[0] in one.measures or pair[1] in other.measures or len(chosen) + 1 == len(numbers):
                continue
            trial = [*chosen, pair]
            left, right = (
                self._count_distinct(loaded, [numbers[each][side] for each in trial])
                for side, loaded in enumerate((one, other))
            )
            if left + right > reached:
                chosen, reached = trial, left + right
            if len(chosen) > 1 and _is_key(one, other, left, right):
                return tuple(chosen)
        return ()

    def _count_distinct(self, loaded: _Loaded, places: Sequence[int]) -> int:
        values = ", ".join(f"h{place}" for place in places)
        [(count,)] = self._connection.execute(f"SELECT count(DISTINCT hash({values})) FROM {loaded.name}").fetchall()
        return int(count)

    def _by_key(
        self,
        one: _Loaded,
        other: _Loaded,
        numbers: dict[tuple[str, str], tuple[int, int]],
        key: tuple[tuple[str, str], ...],
    ) -> _Counted:
        on = " AND ".join(f"l.h{numbers[pair][0]} IS NOT DISTINCT FROM r.h{numbers[pair][1]}" for pair in key)
        compared = [pair for pair in numbers if pair not in key]
        sums = "".join(
            f", count(*) FILTER (l.h{numbers[pair][0]} IS NOT DISTINCT FROM r.h{numbers[pair][1]})" for pair in compared
        )
        [row] = self._connection.execute(
            f"SELECT count(*), count(DISTINCT l.row), count(DISTINCT r.row){sums} "
            f"FROM {one.name} l JOIN {other.name} r ON {on}"
        ).fetchall()
        if not row[0]:
            return 0.0, 0.0, {}
        equal = {pair: count / row[0] for pair, count in zip(compared, row[3:], strict=True)}
        return row[1] / one.rows, row[2] / other.rows, equal

    def _by_rows(self, one: _Loaded, other: _Loaded, numbers: dict[tuple[str, str], tuple[int, int]]) -> _Counted:
        """Without a key: whole rows, or rows but for the one column that drifted most."""
        pairs = list(numbers)
        without: list[tuple[str, str] | None] = [None, *(pairs if 2 < len(pairs) <= 20 else ())]
        best: tuple[float, float, tuple[str, str] | None] = (0.0, 0.0, None)
        whole = 0.0
        for left_out in without:
            kept = [numbers[pair] for pair in pairs if pair != left_out]
            left_hash = f"hash({', '.join(f'h{place}' for place, _ in kept)})"
            right_hash = f"hash({', '.join(f'h{place}' for _, place in kept)})"
            row = self._connection.execute(
                f"WITH l AS (SELECT {left_hash} AS k, count(*) AS n FROM {one.name} GROUP BY k), "
                f"r AS (SELECT {right_hash} AS k, count(*) AS n FROM {other.name} GROUP BY k) "
                "SELECT sum(least(l.n, r.n)), sum(r.n) FROM l JOIN r USING (k)"
            ).fetchone()
            found = float(row[0] or 0) if row else 0.0
            if left_out is None:
                whole = found / one.rows
                best = whole, found / other.rows, None
                if whole > 0.97 or whole == 0.0:
                    break
            elif found / one.rows > best[0] + 0.02:
                best = found / one.rows, found / other.rows, left_out
        equal = {best[2]: whole / best[0]} if best[2] is not None and best[0] else {}
        return min(1.0, best[0]), min(1.0, best[1]), equal

    def _latest(
        self, one: _Loaded, other: _Loaded, pair: tuple[str, str], places: tuple[int, int]
    ) -> tuple[str | None, str | None, str | None, str | None]:
        if pair[0] not in one.dates or pair[1] not in other.dates:
            return None, None, None, None
        ends: list[tuple[str | None, str | None]] = []
        for loaded, place in ((one, places[0]), (other, places[1])):
            row = self._connection.execute(
                f"SELECT max(d{place}), min(d{place}) FROM {loaded.name} WHERE d{place} < '2100'"
            ).fetchone()
            ends.append((row[0], row[1]) if row else (None, None))
        return ends[0][0], ends[1][0], ends[0][1], ends[1][1]

    def _load(self, table: JoinableTable) -> _Loaded | None:
        if table not in self._loaded:
            if self._opens:
                self._opens(table)
            self._loaded[table] = None
            with self._passing_over(str(table.reference)):
                self._loaded[table] = self._read(table, f"coset_copy_{len(self._loaded)}")
        return self._loaded[table]

    def _distinct(self, name: str, columns: int) -> Iterator[int]:
        """How many different values each column has. Sorting hashes takes a fraction of the engine's count."""
        for start in range(0, columns, COUNTED_AT_ONCE):
            hashes = ", ".join(f"h{place}" for place in range(start, min(columns, start + COUNTED_AT_ONCE)))
            for values in self._connection.sql(f"SELECT {hashes} FROM {name}").to_arrow_table().itercolumns():
                yield len(np.unique(values.drop_null().to_numpy()))

    def _read(self, table: JoinableTable, name: str) -> _Loaded:
        part = 1 << max(0, math.ceil(math.log2(max(1, table.rows) / MOST_ROWS)))
        columns = table.columns[:MOST_COLUMNS]
        dates = [place for place, column in enumerate(columns) if _may_be_date(column.type)]
        hashes = _hashes(table, columns, dates, part)
        self._connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {hashes}").fetchall()
        distinct = dict(zip((column.name for column in columns), self._distinct(name, len(columns)), strict=True))
        held = "".join(f", count(d{place}), count(h{place})" for place in dates)
        [row] = self._connection.execute(f"SELECT count(*){held} FROM {name}").fetchall()
        rest = row[1:]
        dated = frozenset(
            columns[place].name
            for number, place in enumerate(dates)
            if rest[2 * number] and rest[2 * number] >= 0.9 * rest[2 * number + 1]
        )
        measures = frozenset(column.name for column in columns if column_kind(column.type) in ("float", "decimal"))
        return _Loaded(name, row[0], distinct, dated, measures, part)


def _is_key(one: _Loaded, other: _Loaded, left: int, right: int) -> bool:
    shares = left / max(1, one.rows), right / max(1, other.rows)
    return max(shares) >= UNIQUE and min(shares) >= NEARLY_UNIQUE


def _place(table: JoinableTable, name: str) -> int:
    return next(place for place, column in enumerate(table.columns) if column.name == name)


def _hashes(table: JoinableTable, columns: Sequence[Column], dates: Sequence[int], part: int) -> str:
    """A query of a table's rows: each with a number and, by place, the hash `h` of every value and the day `d` of what
    may be one. The patterns are written once for all columns, over lists: planning costs more than thousands of rows.
    """
    words = [place for place, column in enumerate(columns) if _is_words(column.type)]
    others = [place for place, column in enumerate(columns) if not _is_words(column.type)]
    at = {place: number for number, place in enumerate([*words, *others], start=1)}
    as_list = {
        name: f"[{', '.join(_plain_text(columns[place]) for place in places)}]"
        for name, places in (("words", words), ("others", others))
    }
    texts = f"list_transform({as_list['words']}::VARCHAR[], lambda x: {_ALIKE}) || {as_list['others']}::VARCHAR[]"
    dated = f"list_select(texts, {[at[place] for place in dates]}::BIGINT[])"
    values = [f"hashes[{at[place]}] AS h{place}" for place in range(len(columns))]
    values += [f"days[{number}] AS d{place}" for number, place in enumerate(dates, start=1)]
    chosen = f" WHERE hash(texts[{at[0]}]) % {part} = 0" if part > 1 else ""
    return (
        f"SELECT row_number() OVER () AS row, {', '.join(values)} FROM ("
        "SELECT list_transform(texts, lambda x: CASE WHEN x IS NOT NULL THEN hash(x) END) AS hashes, "
        f"list_transform({dated}, lambda x: {_DAY}) AS days "
        f"FROM (SELECT {texts} AS texts FROM {table.relation}){chosen})"
    )


def _plain_text(column: Column) -> str:
    """A value as text; NULL for nothing and for blanks. What is beyond the type that all are compared in (a day in the
    year 5,874,897) is its own text."""
    name, kind = identifier(column.name), column_kind(column.type)
    if kind in ("integer", "decimal", "float"):
        return f"coalesce(CAST(TRY_CAST({name} AS DOUBLE) AS VARCHAR), CAST({name} AS VARCHAR))"
    if kind in ("timestamp", "date"):
        return f"coalesce(CAST(TRY_CAST({name} AS TIMESTAMP) AS VARCHAR), CAST({name} AS VARCHAR))"
    if column.type.upper() == "BOOLEAN":
        return f"CASE {name} WHEN TRUE THEN '1.0' WHEN FALSE THEN '0.0' END"
    return f"nullif(trim(CAST({name} AS VARCHAR)), '')"


def _is_words(type: str) -> bool:
    """Whether values may be numbers, days or truth values written as text."""
    numbers_and_days = ("integer", "decimal", "float", "timestamp", "date")
    return column_kind(type) not in numbers_and_days and type.upper() != "BOOLEAN"


_ALIKE = (
    "CASE WHEN regexp_full_match(x, '-?(0|[1-9][0-9]{0,14})([.][0-9]+)?') THEN CAST(TRY_CAST(x AS DOUBLE) AS VARCHAR) "
    "WHEN regexp_full_match(x, '[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9:.]+(Z|[+]00(:00)?)?)?') "
    "THEN coalesce(CAST(TRY_CAST(x AS TIMESTAMP) AS VARCHAR), x) ELSE x END"
)
"""A text `x` that is the same however an engine types what it says."""
_DAY = (
    "CASE WHEN regexp_matches(x, '^(19|20)[0-9]{2}-[01][0-9]-[0-3][0-9]') THEN left(x, 10) "
    "WHEN regexp_full_match(x, '(19|20)[0-9]{2}(0[1-9]|1[0-2])([0-2][0-9]|3[01])[.]0') "
    "THEN left(x, 4) || '-' || substring(x, 5, 2) || '-' || substring(x, 7, 2) END"
)
"""The day as `2024-03-31`, of a date `x`, of its text, or of a number of eight digits."""


def _may_be_date(type: str) -> bool:
    return column_kind(type) in ("date", "timestamp", "text", "integer")


def _agreement(other: _Loaded, equal: dict[tuple[str, str], float]) -> float:
    """The mean of what is equal beyond chance, telling columns first."""
    total = weight = 0.0
    for (_, name), share in equal.items():
        chance = 1.0 / max(1, other.distinct[name])
        if chance >= 1.0:
            continue
        weight += 1.0 - chance
        total += max(0.0, share - chance)
    return total / weight if weight else 0.0
