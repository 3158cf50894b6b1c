"""What speaks for and against a join of two columns, as numbers that a small model weighs.

In: overlaps. Out: one `Candidate` for each two columns, from the pair of variants that speaks best for it, with its
features by name (all between -1 and 1). Nothing here knows the weights.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from coset.evidence.column_expressions import column_kind
from coset.evidence.relations.joinable import JoinableTable, JoinColumn
from coset.evidence.relations.names import column_names_table, columns_agree, is_key_name, stem
from coset.evidence.relations.overlap import Overlap

FEATURES = (
    "containment", "contained", "coverage", "evidence", "code_evidence", "label_missing", "number_missing",
    "range", "right_uniqueness", "right_is_main", "right_is_first", "left_is_key", "left_key_unnamed",
    "left_is_unique", "serials", "columns_agree", "names_table", "name_lead", "named_fully", "unnamed_missing",
    "numbers_unnamed", "left_key_name",
    "right_key_name", "right_plain_id", "changed", "changed_alike", "piece", "types_agree", "numbers", "rivals",
    "few_values", "right_rows_fewer", "same_table", "date",
)  # fmt: skip
MOST_RIGHTS = 40
RIVAL_SHARE = 0.9
"""Another right side that holds so much of what this one holds is a rival."""


@dataclass(frozen=True)
class Candidate:
    """Two columns that may join, and why."""

    overlap: Overlap
    features: tuple[float, ...]
    bits: float
    """How surprising the shared values would be if the columns had nothing to do with each other."""
    name: float
    coverage: float
    """The share of the right's keys that the left has."""
    rivals: int
    """How many right sides hold the left and are held by it about as well, this one included."""

    @property
    def left(self) -> JoinColumn:
        return self.overlap.left.column

    @property
    def right(self) -> JoinColumn:
        return self.overlap.right.column


def candidates_of(
    tables: Sequence[JoinableTable], overlaps: Sequence[Overlap], columns: Sequence[JoinColumn]
) -> list[Candidate]:
    """A candidate for each two columns; a column's best agreeing names are found among all that it overlaps with."""
    main_keys = _main_keys(tables, columns)
    best: dict[tuple[int, int], Overlap] = {}
    for overlap in overlaps:
        pair = overlap.left.column.number, overlap.right.column.number
        if pair not in best or _plausible(overlap) > _plausible(best[pair]):
            best[pair] = overlap
    rights: dict[int, list[tuple[float, int, Overlap]]] = {}
    named: dict[tuple[int, int], float] = {}
    for pair, overlap in best.items():
        named[pair] = _name(tables, overlap.left.column, overlap.right.column)
        rights.setdefault(pair[0], []).append((named[pair], pair[1], overlap))
    ranked = {left: _two_best(pairs) for left, pairs in rights.items()}
    # A column that shares values with hundreds of others (serial numbers everywhere) is compared with the best of them.
    rights = {left: sorted(pairs, key=_first_to_try)[:MOST_RIGHTS] for left, pairs in rights.items()}
    kept = {(left, right) for left, pairs in rights.items() for _, right, _ in pairs}
    found: list[Candidate] = []
    for pair, overlap in best.items():
        if pair not in kept:
            continue
        near = [other for _, _, other in rights[pair[0]] if other.containment >= RIVAL_SHARE * overlap.containment]
        as_tight = sum(_coverage(other) >= RIVAL_SHARE * _coverage(overlap) for other in near)
        found.append(_candidate(tables, overlap, named[pair], ranked[pair[0]], (len(near), as_tight), main_keys))
    return found


def _first_to_try(named: tuple[float, int, Overlap]) -> tuple[float, int]:
    name, right, overlap = named
    return -(name + overlap.containment), right


def _plausible(overlap: Overlap) -> float:
    """Of several ways to look at two columns: what holds most, telling values first, the plain way before others."""
    forms = [overlap.left.form, overlap.right.form]
    price = 0.05 * forms.count("affix") + 0.1 * forms.count("piece")
    return overlap.containment + 0.3 * (_bits(overlap) >= 30) - price


def _bits(overlap: Overlap) -> float:
    shared = max(1.0, overlap.containment * overlap.left.keys)
    return shared * max(0.0, specificity(overlap) + math.log2(max(overlap.containment, 1e-6)))


def specificity(overlap: Overlap) -> float:
    """How many bits one shared key tells. Of numbers it counts how many the right has where the left has its own."""
    left, right = overlap.left, overlap.right
    if not (left.is_number and right.is_number and right.numbers):
        return right.specificity
    return max(0.0, -math.log2(right.density_within(left.minimum, left.maximum)))


def _main_keys(tables: Sequence[JoinableTable], columns: Sequence[JoinColumn]) -> dict[int, int]:
    """For each table the column by which others would refer to it: declared, or the first unique one named so."""
    best: dict[int, tuple[tuple[bool, bool, int], int]] = {}
    for column in columns:
        if column.is_names or column.elements or column.uniqueness < 0.95 or not column.keys:
            continue
        declared = tables[column.table].primary_key == (column.name,)
        rank = (not declared, not is_key_name(column.name), column.position)
        if column.table not in best or rank < best[column.table][0]:
            best[column.table] = rank, column.number
    return {table: number for table, (_, number) in best.items()}


def _coverage(overlap: Overlap) -> float:
    return min(1.0, max(1.0, overlap.containment * overlap.left.keys) / max(1, overlap.right.keys))


def _two_best(pairs: Sequence[tuple[float, int, Overlap]]) -> tuple[tuple[float, int], float]:
    by_column: dict[int, float] = {}
    for name, column, _ in pairs:
        by_column[column] = max(by_column.get(column, 0.0), name)
    ordered = sorted(((name, column) for column, name in by_column.items()), reverse=True)
    return ordered[0], ordered[1][0] if len(ordered) > 1 else 0.0


def right_table_name(tables: Sequence[JoinableTable], column: JoinColumn) -> str:
    return tables[column.table].reference.table or ""


def _name(tables: Sequence[JoinableTable], left: JoinColumn, right: JoinColumn) -> float:
    if right.is_names or left.is_names:
        return 0.0
    table = right_table_name(tables, right)
    same = columns_agree(left.name, right.name)
    after = column_names_table(left.name, table, right.name)
    return max(same, after)


def _candidate(
    tables: Sequence[JoinableTable],
    overlap: Overlap,
    name: float,
    ranked: tuple[tuple[float, int], float],
    rivals: tuple[int, int],
    main_keys: dict[int, int],
) -> Candidate:
    left, right = overlap.left.column, overlap.right.column
    left_table = tables[left.table]
    containment = overlap.containment
    coverage = _coverage(overlap)
    evidence = min(1.0, math.log2(1 + _bits(overlap)) / 8)
    (best_name, best_column), second_name = ranked
    rival_name = second_name if best_column == right.number else best_name
    numbers = overlap.left.is_number and overlap.right.is_number
    dense = numbers and overlap.left.specificity < 1 and specificity(overlap) < 1
    left_unique = left.uniqueness >= 0.98
    same = columns_agree(left.name, right.name)
    after = column_names_table(left.name, right_table_name(tables, right), right.name)
    values: dict[str, float] = {
        "containment": containment,
        "contained": float(containment >= 0.97),
        "coverage": coverage,
        "evidence": evidence,
        "code_evidence": evidence * overlap.right.code_share,
        "label_missing": (1 - containment) * (1 - overlap.right.code_share) * (not numbers),
        "number_missing": (1 - containment) * numbers,
        "range": _range_shared(overlap) if numbers else 0.0,
        "right_uniqueness": max(0.0, (overlap.right.uniqueness - 0.75) / 0.25),
        "right_is_main": float(main_keys.get(right.table) == right.number),
        "right_is_first": float(right.position == 0),
        "left_is_key": float(left_table.primary_key == (left.name,) or (left.position == 0 and left_unique)),
        "left_key_unnamed": float(main_keys.get(left.table) == left.number) * (1 - name),
        "left_is_unique": float(left_unique),
        "serials": float(dense and left_unique),
        "columns_agree": same,
        "names_table": after,
        "name_lead": name - rival_name,
        "named_fully": float((same >= 0.95 or not stem(right.name)) and after >= 0.85),
        "unnamed_missing": (1 - name) * (1 - containment),
        "numbers_unnamed": dense * (1 - name),
        "left_key_name": float(is_key_name(left.name)),
        "right_key_name": float(is_key_name(right.name)),
        "right_plain_id": float(not stem(right.name)),
        "changed": float((overlap.left.form == "affix") != (overlap.right.form == "affix")),
        "changed_alike": float(overlap.left.form == "affix" and overlap.right.form == "affix"),
        "piece": float(overlap.left.form == "piece" or overlap.right.form == "piece"),
        "types_agree": float(column_kind(left.type) == column_kind(right.type)),
        "numbers": float(numbers),
        "rivals": min(1.0, math.log2(max(1, rivals[0])) / 4),
        "few_values": 1 / max(1, overlap.left.keys),
        "right_rows_fewer": max(-1.0, min(1.0, math.log10(max(1, left.known) / max(1, right.known)) / 2)),
        "same_table": float(left.table == right.table),
        "date": float(overlap.left.form == "date"),
    }
    return Candidate(
        overlap, tuple(float(values[feature]) for feature in FEATURES), _bits(overlap), name, coverage, rivals[1]
    )


def _range_shared(overlap: Overlap) -> float:
    """The share of the left's range of numbers that lies within the right's."""
    low = max(overlap.left.minimum, overlap.right.minimum)
    high = min(overlap.left.maximum, overlap.right.maximum)
    return max(0, high - low + 1) / (overlap.left.maximum - overlap.left.minimum + 1)
