"""Which table is a copy of which: backup, staging, archive, year copy, test, superseded, extract, view, leftover.

In: tables that can be read, and what else is known of them (`Standing`). Out: a `Copy` for each table that is one,
with its original, its kind, how far it drifted, in words, and why it is believed. Names of tables hint and never decide
alone: what decides is that the columns correspond and that the rows stand in the original. Tables that hold different
rows of one thing (months, sites) are no copies of each other.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from coset.environment.copy_names import CopyKind, NameHints, name_hints, words_of
from coset.evidence.reading import JoinableTable
from coset.relations.copies.row_overlap import PassingOver, RowCounter, RowOverlap
from coset.state.objects import Copy

if TYPE_CHECKING:
    import duckdb

SHARED_COLUMNS = 0.75
"""The share of the narrower table's columns that the other must have."""
ROWS_FOUND = 0.7
AGREEMENT = 0.6
WHOLLY_FOUND = 0.99
"""The share of rows of a table that must stand in one which is called something else."""
FEW_ROWS = 60
"""A table for trials has at most so many rows, or a twentieth of its original."""
LEFT_OVER_ROWS = 200
"""What is called a trial or scratch and has more rows may be what people use, whatever it is called."""
_SCRATCH = frozenset((
    "tmp", "temp", "wrk", "scratch", "test", "tst", "tests", "testing", "prova", "essai", "prueba", "probe", "trial",
    "pilot", "poc", "spike", "sandbox", "sbx", "dummy", "zz", "qa", "uat", "trash", "junk", "xx",
))  # fmt: skip
MOST_LIKE = 60
"""Of a table that shares its columns with more others than these, the nearest by name are compared."""


@dataclass(frozen=True)
class Standing:
    """What speaks for a table being the one that people use, beside its rows."""

    named: Collection[str] = ()
    """The references of tables that descriptions and documents name as in use."""
    retired: Mapping[str, str] = field(default_factory=dict)
    """Those that documents call superseded, frozen, no longer loaded, each with the sentence that says so."""
    referred_to: Mapping[str, int] = field(default_factory=dict)
    """How many tables refer to it, by declared keys and by statements that people wrote."""
    views: Mapping[str, str | None] = field(default_factory=dict)
    """The views, each with the table here that it reads first, if it reads one."""


@dataclass(frozen=True)
class _Pair:
    """A table, one that may be its original, and what the rows say. `shared` is the share of columns of the table that
    the other has, `shared_back` the reverse."""

    table: JoinableTable
    other: JoinableTable
    shared: float
    shared_back: float
    columns: int
    rows: RowOverlap

    @property
    def is_contained(self) -> bool:
        return self.rows.left_found >= ROWS_FOUND and self.rows.agreement >= AGREEMENT

    @property
    def contains(self) -> bool:
        return self.rows.right_found >= ROWS_FOUND and self.rows.agreement >= AGREEMENT


def find_copies(
    connection: duckdb.DuckDBPyConnection,
    tables: Sequence[JoinableTable],
    standing: Standing | None = None,
    opens: Callable[[JoinableTable], None] | None = None,
    passing_over: PassingOver = nullcontext,
) -> list[Copy]:
    """The copies among `tables`, ordered by reference. A table or a pair that cannot be compared is left to
    `passing_over`, and the others are compared."""
    standing = standing or Standing()
    counter = RowCounter(connection, opens, passing_over)
    try:
        pairs = [
            _Pair(left, right, shared, shared_back, len(columns), rows)
            for left, right, columns, shared, shared_back in like_tables(tables)
            if (rows := counter.compare(left, right, columns)) is not None
        ]
    finally:
        counter.close()
    return _decide(tables, pairs, standing)


def like_tables(
    tables: Sequence[JoinableTable],
) -> Iterable[tuple[JoinableTable, JoinableTable, list[tuple[str, str]], float, float]]:
    """Pairs of tables whose columns correspond by name, each pair once, with the columns and the share of each side."""
    ordered = sorted((table for table in tables if len(table.columns) > 1), key=lambda table: str(table.reference))
    names = [{_plain(column.name): column.name for column in table.columns} for table in ordered]
    holders: dict[str, list[int]] = defaultdict(list)
    for place, columns in enumerate(names):
        for plain in columns:
            holders[plain].append(place)
    for place, columns in enumerate(names):
        common = Counter(other for plain in columns for other in holders[plain] if other > place)
        near = [
            other
            for other, count in common.items()
            if count >= 2 and count >= SHARED_COLUMNS * min(len(columns), len(names[other]))
        ]
        if len(near) > MOST_LIKE:
            stem = set(name_hints(ordered[place].reference.table or "").stem)
            near.sort(key=lambda other: -len(stem & set(name_hints(ordered[other].reference.table or "").stem)))
            near = near[:MOST_LIKE]
        for other in sorted(near):
            shared = [(columns[plain], names[other][plain]) for plain in columns if plain in names[other]]
            yield (
                ordered[place], ordered[other], shared,
                len(shared) / len(columns), len(shared) / len(names[other]),
            )  # fmt: skip


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower()) or name


def _decide(tables: Sequence[JoinableTable], pairs: Sequence[_Pair], standing: Standing) -> list[Copy]:
    both_ways = [*pairs, *map(_turned, pairs)]
    by_table: dict[str, list[_Pair]] = defaultdict(list)
    for pair in both_ways:
        by_table[str(pair.table.reference)].append(pair)
    rank = {str(table.reference): _originality(table, standing) for table in tables}
    found: dict[str, Copy] = {}
    possible: dict[str, list[_Pair]] = {}
    for table in sorted(tables, key=lambda each: str(each.reference)):
        reference = str(table.reference)
        candidates = [pair for pair in by_table[reference] if _is_copy(pair, rank, standing)]
        if candidates:
            possible[reference] = candidates
    for reference, candidates in possible.items():
        # A copy of a copy is one of the original, where that was compared with it.
        originals = [pair for pair in candidates if str(pair.other.reference) not in possible]
        best = max(originals or candidates, key=lambda pair: _order(pair, rank))
        found[reference] = _copy(best, rank, standing)
    for reference in list(found):
        _follow(reference, found)
    for reference, sentence in standing.retired.items():
        if reference in rank and reference not in found:
            reason = f"a document says: {sentence}"
            found[reference] = Copy(reference, None, "superseded", 0.7, "no longer kept up to date", (reason,))
    for view, read in standing.views.items():
        if view in rank and view not in found and read in rank:
            found[view] = Copy(view, read, "view", 0.9, "", (f"a view that reads {read}",))
    for table in tables:
        if str(table.reference) not in found and (leftover := _leftover(table, standing, found.values())):
            found[str(table.reference)] = leftover
    return [found[reference] for reference in sorted(found)]


def _turned(pair: _Pair) -> _Pair:
    rows = pair.rows
    turned = RowOverlap(
        rows.right_rows, rows.left_rows, rows.right_found, rows.left_found, rows.agreement, rows.key,
        tuple(each.turned() for each in rows.columns),
    )  # fmt: skip
    return _Pair(pair.other, pair.table, pair.shared_back, pair.shared, pair.columns, turned)


def _originality(table: JoinableTable, standing: Standing) -> float:
    """What speaks for a table being an original whatever it is compared with: its name, and who refers to it."""
    reference = str(table.reference)
    hints = hints_of(table)
    return (
        1.0 * hints.is_plain
        + 1.5 * (reference in standing.named)
        - 1.5 * (reference in standing.retired)
        + min(1.0, 0.5 * standing.referred_to.get(reference, 0))
        - 0.5 * (reference in standing.views)
        - 0.01 * len(table.reference.table or "")
    )


def hints_of(table: JoinableTable) -> NameHints:
    return name_hints(table.reference.table or "", schema=table.reference.schema)


def _is_copy(pair: _Pair, rank: Mapping[str, float], standing: Standing) -> bool:
    """Whether `pair.table` is a copy of `pair.other`, and not the other way round."""
    if pair.shared < SHARED_COLUMNS:
        return False
    if not pair.is_contained:
        return _is_trial(pair, rank) or _is_old_version(pair, rank)
    rows = pair.rows
    if rows.left_found < WHOLLY_FOUND and hints_of(pair.table).is_plain and not _same_stem(pair):
        return False  # Lines of orders and receipts of goods for them have columns and rows in common.
    if _is_copy_by_name(pair.other) and not _is_copy_by_name(pair.table):
        return False  # A backup that still has rows which were purged from its original stays a backup.
    if rows.left_rows < rows.right_rows and not pair.contains:
        # Rows of the other are missing here: this is a part of it, unless this one goes on where the other ended.
        return not (rows.later_on_the_left and not rows.later_on_the_right) or _ranks(pair, rank) > 1
    if rows.left_rows > 1.1 * rows.right_rows and not rows.later_on_the_right:
        return _ranks(pair, rank) > 2.5
    return _advantage(pair, rank) > 0


def _is_copy_by_name(table: JoinableTable) -> bool:
    return bool(hints_of(table).kinds & {"backup", "archive", "staging", "test"})


def _advantage(pair: _Pair, rank: Mapping[str, float]) -> float:
    """Of two tables with about the same rows: how much more the other looks like the original."""
    rows = pair.rows
    later = float(rows.later_on_the_right) - float(rows.later_on_the_left)
    more = (rows.right_rows - rows.left_rows) / max(rows.right_rows, rows.left_rows, 1)
    wider = pair.shared - pair.shared_back
    tie = 1e-6 if str(pair.other.reference) < str(pair.table.reference) else -1e-6
    return 1.5 * later + 4.0 * more + 3.0 * wider + _ranks(pair, rank) + tie


def _ranks(pair: _Pair, rank: Mapping[str, float]) -> float:
    """How much more the other is called and used like an original. A name that goes on where another ends
    (`orders_bk` after `orders`) is that of a copy."""
    one, other = (str(each.reference.table).lower() for each in (pair.table, pair.other))
    longer = float(one != other and one.startswith(other)) - float(one != other and other.startswith(one))
    return rank[str(pair.other.reference)] - rank[str(pair.table.reference)] + longer


def _is_trial(pair: _Pair, rank: Mapping[str, float]) -> bool:
    """A few made-up rows in the columns of another table, in a table that is called so."""
    few = pair.rows.left_rows <= max(FEW_ROWS, 0.05 * pair.rows.right_rows)
    same = pair.shared >= 0.95 and pair.shared_back >= 0.9 and pair.columns >= 3
    hints = hints_of(pair.table)
    return (
        few
        and same
        and pair.rows.left_rows * 2 <= pair.rows.right_rows
        and "test" in hints.kinds
        and _ranks(pair, rank) > 0.5
        and _same_stem(pair)
    )


def _is_old_version(pair: _Pair, rank: Mapping[str, float]) -> bool:
    """The same keys with other values (last year's prices), in a table that is called after the other."""
    one, other = (str(each.reference.table).lower() for each in (pair.table, pair.other))
    return (
        pair.shared >= 0.95
        and pair.rows.left_found >= 0.9
        and bool(pair.rows.key)
        and pair.rows.left_rows <= 1.1 * pair.rows.right_rows
        and one != other
        and other in one
        and bool(hints_of(pair.table).kinds)
        and _ranks(pair, rank) > 1
    )


def _same_stem(pair: _Pair) -> bool:
    """Whether the names have what is left without hints in common, in whole or as a start of three letters."""
    one, other = "".join(hints_of(pair.table).stem), "".join(hints_of(pair.other).stem)
    return one == other or (min(len(one), len(other)) >= 3 and (one in other or other in one or one[:3] == other[:3]))


def _order(pair: _Pair, rank: Mapping[str, float]) -> tuple[float, float, float, str]:
    """Of several that a table may be a copy of: the one with the most of its rows that is most an original itself."""
    rows = pair.rows
    found = round(rows.left_found * rows.agreement, 1)
    return found, _advantage(pair, rank), pair.shared_back, str(pair.other.reference)


def _follow(reference: str, found: dict[str, Copy]) -> None:
    """No cycles: of tables that are copies of each other in a ring, the last one found is the original."""
    seen = [reference]
    while (copy := found.get(seen[-1])) is not None and copy.original is not None:
        if copy.original in seen:
            del found[seen[-1]]
            return
        seen.append(copy.original)


def _leftover(table: JoinableTable, standing: Standing, copies: Iterable[Copy]) -> Copy | None:
    """A small table that is called a trial or scratch, that nobody mentions, refers to or made copies of."""
    reference = str(table.reference)
    hints = hints_of(table)
    names = set(words_of(table.reference.table or "")) | set(words_of(table.reference.schema or ""))
    scratch = sorted(names & _SCRATCH)
    is_used = reference in standing.named or standing.referred_to.get(reference) or reference in standing.views
    if is_used or not scratch or table.rows > LEFT_OVER_ROWS or any(copy.original == reference for copy in copies):
        return None
    kind: CopyKind = "test" if "test" in hints.kinds else "leftover"
    reason = f"the name says {', '.join(scratch)}, it is small, and nothing refers to it or speaks of it"
    return Copy(reference, None, kind, 0.6, f"{table.rows:,} rows", (reason,))


def _copy(pair: _Pair, rank: Mapping[str, float], standing: Standing) -> Copy:
    reference = str(pair.table.reference)
    reasons = [f"{pair.shared:.0%} of its columns are those of {pair.other.reference}"]
    if pair.is_contained:
        by = f" by {', '.join(pair.rows.key)}" if pair.rows.key else ""
        reasons.append(
            f"{pair.rows.left_found:.0%} of its rows stand there{by}, equal in {pair.rows.agreement:.0%} of the values"
        )
    elif pair.rows.left_found >= ROWS_FOUND:
        reasons.append(f"{pair.rows.left_found:.0%} of its keys stand there, with other values; it is called after it")
    else:
        reasons.append("a few rows of its own, in a table whose name speaks of a trial")
    if not hints_of(pair.table).is_plain:
        reasons.append(f"the name hints at {', '.join(sorted(hints_of(pair.table).kinds))}")
    if reference in standing.retired:
        reasons.append(f"a document says: {standing.retired[reference]}")
    confidence = 0.7 if not pair.is_contained else 0.5 + 0.5 * pair.rows.left_found * pair.rows.agreement
    if _ranks(pair, rank) < 0:
        confidence -= 0.1
    return Copy(
        reference, str(pair.other.reference), _kind(pair, standing), round(confidence, 3), drift_in_words(pair),
        tuple(reasons),
    )  # fmt: skip


def _kind(pair: _Pair, standing: Standing) -> CopyKind:
    """What the columns and dates say, the name where they leave it open."""
    rows, hints = pair.rows, hints_of(pair.table)
    if not pair.is_contained and rows.left_found < ROWS_FOUND:
        return "test"
    if str(pair.table.reference) in standing.views:
        return "view"
    part = rows.left_rows / max(1, rows.right_rows)
    if (
        "year copy" in hints.kinds
        and not hints.kinds & {"backup", "staging"}
        and ("archive" not in hints.kinds or _within_one_year(rows))
    ):
        return "year copy"
    for kind in _KINDS_BY_NAME:
        if kind in hints.kinds and not (kind == "test" and part > 0.5 and rows.left_rows > FEW_ROWS):
            return kind
    if pair.shared_back < 0.8 and pair.shared > 0.99 and part > 0.1:
        return "view"
    if pair.shared_back < 1.0:
        return "superseded"
    if rows.later_on_the_right and not rows.later_on_the_left:
        return "archive" if part < 0.5 else "backup"
    if rows.left_rows <= FEW_ROWS and part < 0.05:
        return "test"
    return "backup"


_KINDS_BY_NAME: tuple[CopyKind, ...] = (
    "backup", "test", "staging", "archive", "snapshot", "superseded", "view", "extract",
)  # fmt: skip


def _within_one_year(rows: RowOverlap) -> bool:
    return any(
        each.left_earliest and each.left_latest and each.left_earliest[:4] == each.left_latest[:4]
        for each in rows.columns
    )


def drift_in_words(pair: _Pair) -> str:
    """How far a copy is from its original: `902 of 1,440 rows, nothing after 2020-12-31, 40 rows differ in status`."""
    rows = pair.rows
    if rows.left_found < ROWS_FOUND:
        return f"{rows.left_rows:,} rows that are not in the original"
    words = []
    if rows.left_rows != rows.right_rows:
        words.append(f"{rows.left_rows:,} of {rows.right_rows:,} rows")
    else:
        words.append("all rows")
    ends = [each for each in rows.columns if each.left_latest and each.right_latest]
    earlier = [each for each in ends if (each.left_latest or "") < (each.right_latest or "")]
    if earlier and not rows.later_on_the_left:
        words.append(f"nothing after {max(each.left_latest or '' for each in earlier)}")
    missing = [
        column.name
        for column in pair.other.columns
        if _plain(column.name) not in {_plain(each.name) for each in pair.table.columns}
    ]
    if missing:
        words.append(f"without {', '.join(missing[:4])}" + (" and others" if len(missing) > 4 else ""))
    differing = min(rows.columns, key=lambda each: each.equal, default=None)
    matched = round(rows.left_rows * rows.left_found)
    if differing and differing.equal < 1.0:
        words.append(f"{round((1 - differing.equal) * matched):,} rows differ in {differing.name}")
    if rows.left_found < 0.995:
        words.append(f"{round((1 - rows.left_found) * rows.left_rows):,} rows are not in the original")
    return ", ".join(words)
