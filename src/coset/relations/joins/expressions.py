"""The expressions of a join: the plainest two readings that match as much as the boldest do, measured on the values.

In: an overlap. Out: a `Tested` join with the two expressions, its kind, and what was counted over all rows. Columns
that were seen to hold the same values are not read again.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from coset.evidence.column_expressions import column_kind
from coset.relations.joins.column_values import STRIPPED, JoinColumn, access, date_sql, elements_of_json, names_of
from coset.relations.joins.overlap import Overlap, TableReader
from coset.relations.joins.variants import DIGIT_KEYS, Variant, affix_pattern
from coset.sql_text import literal
from coset.state.objects import Share

if TYPE_CHECKING:
    import duckdb


Gives = Literal["own", "text", "number", "date"]
_ORDER = (
    "identity", "trim", "case", "stray_characters", "zero_padding", "numeric", "date", "prefix", "suffix", "separators",
    "digits", "check_digit", "piece",
)  # fmt: skip


@dataclass(frozen=True)
class Reading:
    """`template` has `{value}` where the value stands, as text unless `gives` is `own` (the column as it is)."""

    kinds: tuple[str, ...]
    template: str
    gives: Gives
    cost: int

    def sql(self, value: str) -> str:
        return self.template.replace("{value}", value)

    @property
    def kind(self) -> str:
        return max(self.kinds, key=_ORDER.index, default="identity")


PLAIN = Reading((), "{value}", "own", 0)
"""The value as it is."""


def readings_of(variant: Variant) -> list[Reading]:
    """The readings of a variant, by rising cost."""
    column = variant.column
    stripped = STRIPPED.format(raw="{value}")
    if variant.form == "date":
        if column_kind(column.type) == "date":
            return [PLAIN]
        return [Reading(("date",), date_sql("{value}", variant.format), "date", 6)]
    if variant.form in DIGIT_KEYS:
        kind = "check_digit" if variant.form == "head" else "digits"
        return [Reading((kind,), DIGIT_KEYS[variant.form].replace("{text}", "{value}"), "text", 9)]
    if column.kind == "number" and column_kind(column.type) == "integer":
        return [PLAIN]
    if variant.form == "whole":
        return _whole(variant, stripped)
    if variant.form == "piece":
        piece = f"split_part({{value}}, {literal(variant.separator)}, {variant.piece})"
        return _with_more(("piece",), piece, stripped_piece=piece.replace("{value}", stripped), cost=10)
    return _affix(variant)


def boldest(variant: Variant) -> Reading:
    """What makes all keys equal that were seen to be equal, whatever stands inside and around the values."""
    stripped = STRIPPED.format(raw="{value}")
    if variant.form == "affix":
        kinds: tuple[str, ...] = ("prefix" if variant.prefix else "suffix", "separators")
        inner = f"regexp_extract({stripped}, {literal(affix_pattern(variant.prefix, variant.suffix))}, 1, 'i')"
    elif variant.form == "piece":
        kinds, inner = ("piece", "separators"), f"split_part({stripped}, {literal(variant.separator)}, {variant.piece})"
    elif variant.form == "whole" and not (variant.is_number and column_kind(variant.column.type) != "text"):
        kinds, inner = ("separators",), "{value}"
    else:
        return readings_of(variant)[-1]
    bare = rf"lower(regexp_replace({inner}, '[^\p{{L}}\p{{N}}]+', '', 'g'))"
    return Reading((*kinds, "case", "zero_padding"), f"nullif(ltrim({bare}, '0'), '')", "text", 30)


def _whole(variant: Variant, stripped: str) -> list[Reading]:
    """Only what some value of the column gives a reason for; the other side's capitals are not known here."""
    dirt = variant.column.dirt
    found = [PLAIN, Reading(("case",), "lower({value})", "text", 2)]
    if "blanks" in dirt:
        found += [
            Reading(("trim",), "trim({value})", "text", 1),
            Reading(("trim", "case"), "lower(trim({value}))", "text", 3),
        ]
    if "stray" in dirt:
        found += [
            Reading(("stray_characters",), stripped, "text", 4),
            Reading(("stray_characters", "case"), f"lower({stripped})", "text", 5),
        ]
    if "zeros" in dirt:
        zeros = "regexp_extract({value}, '^0*(.+)$', 1)"
        found += [
            Reading(("zero_padding",), zeros, "text", 6),
            Reading(("zero_padding",), zeros.replace("{value}", stripped), "text", 7),
            Reading(("zero_padding", "case"), f"lower({zeros.replace('{value}', stripped)})", "text", 8),
        ]
    if variant.is_number:
        found += [
            Reading(("numeric",), "TRY_CAST({value} AS BIGINT)", "number", 5),
            Reading(("numeric", "stray_characters"), f"TRY_CAST({stripped} AS BIGINT)", "number", 7),
        ]
    if "separators" in dirt:
        everything = r"regexp_replace({value}, '[^\p{L}\p{N}]+', '', 'g')"
        found += [
            Reading(("separators",), everything, "text", 8),
            Reading(("separators", "case"), f"lower({everything})", "text", 9),
        ]
    return found


def _affix(variant: Variant) -> list[Reading]:
    """One pattern takes off the start and the end; text without them reads as NULL."""
    kind = "prefix" if variant.prefix else "suffix"
    edge = r"[^\p{L}\p{N}]*"
    found: list[Reading] = []
    spelled = variant.spelled
    for cost, (before, zeros, after) in enumerate((("", "", ""), (edge, "", edge), ("", "0*", ""), (edge, "0*", edge))):
        body = "(.+?)" if after else "(.+)"
        pattern = f"^{before}{re.escape(spelled[0])}{zeros}{body}{re.escape(spelled[1])}{after}$"
        kinds = (kind, *(("stray_characters",) if before else ()), *(("zero_padding",) if zeros else ()))
        sql = f"nullif(regexp_extract({{value}}, {literal(pattern)}, 1), '')"
        found.append(Reading(kinds, sql, "text", 8 + 2 * cost))
        any_case = f"nullif(lower(regexp_extract({{value}}, {literal(pattern)}, 1, 'i')), '')"
        found.append(Reading((*kinds, "case"), any_case, "text", 9 + 2 * cost))
    return sorted(found, key=lambda reading: reading.cost)


def _with_more(kinds: tuple[str, ...], sql: str, *, stripped_piece: str, cost: int) -> list[Reading]:
    found: list[Reading] = []
    for more, text in ((0, sql), (2, stripped_piece)):
        zeros = f"regexp_extract({text}, '^0*(.+)$', 1)"
        stray = ("stray_characters",) if more else ()
        found += [
            Reading((*kinds, *stray), f"nullif({text}, '')", "text", cost + more),
            Reading((*kinds, *stray, "case"), f"nullif(lower({text}), '')", "text", cost + more + 1),
            Reading((*kinds, *stray, "zero_padding"), f"nullif({zeros}, '')", "text", cost + more + 4),
            Reading((*kinds, *stray, "zero_padding", "case"), f"nullif(lower({zeros}), '')", "text", cost + more + 5),
        ]
    return sorted(found, key=lambda reading: reading.cost)


def value_sql(column: JoinColumn) -> str:
    """The column as it is; the elements of a list one by one; the names of a family's tables, over no table."""
    if column.is_names:
        return names_of(column.members)
    name = access(column.name)
    if not column.elements:
        return name
    if column_kind(column.type) == "text":
        return elements_of_json(name)
    return f"unnest({name})"


def expression(column: JoinColumn, reading: Reading, other: Gives) -> str:
    """The reading over the column itself, as a type that compares with what the other side gives."""
    value = value_sql(column)
    kind = column_kind(column.type[:-2] if column.elements and column.type.endswith("[]") else column.type)
    textual = kind == "text"
    if reading.gives == "own":
        if other == "number" and kind in ("integer", "decimal", "float"):
            return value if kind == "integer" else f"TRY_CAST({value} AS BIGINT)"
        if other == "date" and kind == "date":
            return value
        return value if textual or other == "own" else f"CAST({value} AS VARCHAR)"
    if reading.gives in ("number", "date") and not textual:
        return f"TRY_CAST({value} AS {'BIGINT' if reading.gives == 'number' else 'DATE'})"
    return reading.sql(value if textual else f"CAST({value} AS VARCHAR)")


EXAMPLES = 5
PAIRS_READ = 2_000
"""So many pairs of equal keys decide which readings make them equal."""
MOST_COMBINATIONS = 40
HASHED_ROWS = 1_000_000
"""Larger tables are compared by hashes of their keys, to bound memory."""
NEARLY = 0.002
"""A bolder reading must match more than this share more."""
Cardinality = Literal["1:1", "1:n", "n:1", "n:m"]


@dataclass(frozen=True)
class Tested:
    """What a join reaches."""

    kind: str
    left_expression: str
    right_expression: str
    left_match: Share
    right_match: Share
    cardinality: Cardinality
    unmatched_left: tuple[str, ...]
    unmatched_right: tuple[str, ...]
    matched_rows: int
    apart_from_one: float = 0.0
    """The share that finds a partner of the left rows without those of the most frequent value that finds none: a 0 or
    a dash often stands for nothing."""

    def as_json(self) -> list[Any]:
        """The same in the types of JSON; `tested_from` reads it."""
        shares = self.left_match.value, self.right_match.value
        return [
            self.kind, self.left_expression, self.right_expression, *shares, self.cardinality,
            list(self.unmatched_left), list(self.unmatched_right), self.matched_rows, self.apart_from_one,
        ]  # fmt: skip


def tested_from(kept: list[Any]) -> Tested:
    kind, left, right, left_match, right_match, cardinality, unmatched_left, unmatched_right, matched, *rest = kept
    return Tested(
        kind, left, right, Share(left_match), Share(right_match), cardinality, tuple(unmatched_left),
        tuple(unmatched_right), matched, *rest,
    )  # fmt: skip


def test_join(reader: TableReader, overlap: Overlap) -> Tested:
    """Choose the expressions of a join and count what they reach."""
    if _same_values(overlap):
        return _join_of_equals(overlap)
    if _looks_clean(overlap):
        tested = _tested(reader, overlap, PLAIN, PLAIN)
        if tested.left_match.value == 1.0:
            return tested  # No other reading can reach more.
    return _tested(reader, overlap, *choose_readings(reader, overlap))


def _tested(reader: TableReader, overlap: Overlap, left: Reading, right: Reading) -> Tested:
    left_sql = expression(overlap.left.column, left, right.gives if left.gives == "own" else left.gives)
    right_sql = expression(overlap.right.column, right, left.gives if right.gives == "own" else right.gives)
    left_sql, right_sql = _comparable(overlap, left, right, left_sql, right_sql)
    kind = _kind(overlap, left, right)
    like = _like(overlap, left, right, kind)
    if like is not None and like in reader.counted:
        return replace(reader.counted[like], left_expression=left_sql, right_expression=right_sql)
    tested = count_join(
        reader.connection, kind,
        (reader.rows(overlap.left.column), value_sql(overlap.left.column), left_sql),
        (reader.rows(overlap.right.column), value_sql(overlap.right.column), right_sql),
        large=max(overlap.left.column.rows, overlap.right.column.rows) > HASHED_ROWS,
    )  # fmt: skip
    if like is not None:
        reader.counted[like] = tested
    return tested


def _like(overlap: Overlap, left: Reading, right: Reading, kind: str) -> Hashable | None:
    """What two joins share when their counts are the same: the values of both sides, each value once, read alike.

    Many tables that hold the same column are then counted once. None where a column's values are not known so well.
    """
    sides = (overlap.left.column, overlap.right.column)
    if any(
        not column.values or column.part != 1 or column.distinct != column.known or column.elements or column.is_names
        for column in sides
    ):
        return None
    return (kind, left, right, *((column.values, column.type, column.rows, column.known) for column in sides))


def _same_values(overlap: Overlap) -> bool:
    """Whether the two columns, of one type, hold the same values, each in one spelling: then they join as they are."""
    left, right = overlap.left.column, overlap.right.column
    return (
        left.values == right.values != 0
        and left.type == right.type
        and overlap.left.form == overlap.right.form == "whole"
        and left.distinct == left.keys
        and left.part == right.part == 1
        and not (left.elements or right.elements or left.is_names or right.is_names)
    )


def _looks_clean(overlap: Overlap) -> bool:
    """Whether the two columns may well join as they are."""
    return overlap.left.form == overlap.right.form == "whole" and not any(
        variant.column.dirt & {"blanks", "stray"} or (variant.is_number and variant.column.padded)
        for variant in (overlap.left, overlap.right)
    )


def _join_of_equals(overlap: Overlap) -> Tested:
    left, right = overlap.left.column, overlap.right.column
    cardinality = _cardinality(left.known > left.distinct, right.known > right.distinct)
    sides = value_sql(left), value_sql(right)
    return Tested("identity", *sides, Share(1.0), Share(1.0), cardinality, (), (), left.known, 1.0)


def choose_readings(reader: TableReader, overlap: Overlap) -> tuple[Reading, Reading]:
    """The cheapest two readings among those that make most pairs of values with equal keys equal."""
    combinations = sorted(
        (
            (one, other)
            for one in readings_of(overlap.left)
            for other in readings_of(overlap.right)
            if _comparable_readings(overlap, one, other)
        ),
        key=lambda pair: (pair[0].cost + pair[1].cost, abs(pair[0].cost - pair[1].cost), pair[0].cost),
    )[:MOST_COMBINATIONS]
    bold = boldest(overlap.left), boldest(overlap.right)
    if bold not in combinations and _comparable_readings(overlap, *bold):
        combinations.append(bold)
    if len(combinations) == 1:
        return combinations[0]
    lefts = list(dict.fromkeys(one for one, _ in combinations))
    rights = list(dict.fromkeys(other for _, other in combinations))

    def side(variant: Variant) -> str:
        return f"SELECT raw, {variant.key} AS k FROM {reader.values(variant.column)}"

    read = [f"CAST({reading.sql('a')} AS VARCHAR) AS l{place}" for place, reading in enumerate(lefts)]
    read += [f"CAST({reading.sql('b')} AS VARCHAR) AS r{place}" for place, reading in enumerate(rights)]
    counts = [f"count(*) FILTER (l{lefts.index(one)} = r{rights.index(other)})" for one, other in combinations]
    answer = reader.connection.execute(
        f"WITH one AS ({side(overlap.left)}), other AS ({side(overlap.right)}), "
        "pairs AS MATERIALIZED (SELECT one.raw AS a, other.raw AS b FROM one JOIN other ON one.k = other.k "
        f"ORDER BY hash(a), a, b LIMIT {PAIRS_READ}), "
        f"read AS MATERIALIZED (SELECT {', '.join(read)} FROM pairs) SELECT {', '.join(counts)} FROM read"
    ).fetchall()[0]
    best = max(answer)
    for (one, other), matched in zip(combinations, answer, strict=True):
        if matched >= best * (1 - NEARLY):
            return one, other
    return combinations[0]


def _comparable_readings(overlap: Overlap, one: Reading, other: Reading) -> bool:
    """A number meets a number or a plain one; a date a date; text anything that is text."""
    for reading, partner, variant in ((one, other, overlap.right), (other, one, overlap.left)):
        if reading.gives in ("number", "date") and partner.gives not in (reading.gives, "own"):
            return False
        if reading.gives == "number" and partner.gives == "own" and not _holds_numbers(variant):
            return False
    return True


def _holds_numbers(variant: Variant) -> bool:
    return column_kind(variant.column.type) in ("integer", "decimal", "float")


def _comparable(overlap: Overlap, left: Reading, right: Reading, left_sql: str, right_sql: str) -> tuple[str, str]:
    """Two columns as they are, of different types, are compared as numbers or as text."""
    if left.gives != "own" or right.gives != "own":
        return left_sql, right_sql
    kinds = [column_kind(variant.column.type) for variant in (overlap.left, overlap.right)]
    numbers = {"integer", "decimal", "float"}
    if kinds[0] == kinds[1] or overlap.left.column.elements or set(kinds) <= numbers:
        return left_sql, right_sql
    sides = []
    for sql, kind in ((left_sql, kinds[0]), (right_sql, kinds[1])):
        if set(kinds) & numbers:
            sides.append(sql if kind in numbers else f"TRY_CAST({sql} AS BIGINT)")
        else:
            sides.append(sql if kind == "text" else f"CAST({sql} AS VARCHAR)")
    return sides[0], sides[1]


def _kind(overlap: Overlap, left: Reading, right: Reading) -> str:
    """The most telling of what both sides need."""
    if overlap.right.column.is_names or overlap.left.column.is_names:
        return "table_name"
    kinds = {*left.kinds, *right.kinds}
    if overlap.left.form == "affix" and overlap.right.form == "affix":
        return "prefix_swap"
    for kind in ("check_digit", "digits", "piece", "date", "prefix", "suffix", "separators"):
        if kind in kinds:
            return kind
    texts = [variant for variant in (overlap.left, overlap.right) if column_kind(variant.column.type) == "text"]
    if "zero_padding" in kinds or ("numeric" in kinds and any(variant.column.padded for variant in texts)):
        return "zero_padding"
    for kind in ("numeric", "stray_characters", "case", "trim"):
        if kind in kinds:
            return kind
    if len(texts) == 1 and (overlap.left.is_number and overlap.right.is_number):
        return "numeric"
    return "identity"


Counted = tuple[str, str, str]
"""The rows, the value as it stands, and the expression that reads it."""


def count_join(
    connection: duckdb.DuckDBPyConnection, kind: str, left: Counted, right: Counted, *, large: bool = False
) -> Tested:
    """Count over all rows how many find a partner, and keep some values that do not."""
    hashed = "hash(CAST(k AS VARCHAR))" if large else "CAST(k AS VARCHAR)"

    def side(rows: str, value: str, sql: str) -> str:
        return (
            f"SELECT {hashed} AS k, count(*) AS n, min(raw) AS raw FROM "
            f"(SELECT {sql} AS k, left(CAST({value} AS VARCHAR), 200) AS raw FROM {rows}) WHERE raw IS NOT NULL "
            "GROUP BY 1"
        )

    answer = connection.execute(
        f"WITH one AS ({side(*left)}), other AS ({side(*right)}) "
        "SELECT sum(one.n), sum(one.n) FILTER (other.k IS NOT NULL), "
        "sum(other.n), sum(other.n) FILTER (one.k IS NOT NULL), "
        "max(one.n) FILTER (other.k IS NOT NULL), max(other.n) FILTER (one.k IS NOT NULL), "
        f"min(one.raw, {EXAMPLES}) FILTER (other.k IS NULL), min(other.raw, {EXAMPLES}) FILTER (one.k IS NULL), "
        "max(one.n) FILTER (other.k IS NULL) "
        "FROM one FULL JOIN other ON one.k = other.k"
    ).fetchall()[0]
    left_rows, left_found, right_rows, right_found = (int(number or 0) for number in answer[:4])
    cardinality = _cardinality((answer[4] or 0) > 1, (answer[5] or 0) > 1)
    return Tested(
        kind, left[2], right[2], Share(left_found / left_rows if left_rows else 0.0),
        Share(right_found / right_rows if right_rows else 0.0), cardinality,
        tuple(answer[6] or ()), tuple(answer[7] or ()), left_found,
        left_found / max(1, left_rows - int(answer[8] or 0)),
    )  # fmt: skip


def _cardinality(many_left: bool, many_right: bool) -> Cardinality:
    return "n:m" if many_left and many_right else "n:1" if many_left else "1:n" if many_right else "1:1"
