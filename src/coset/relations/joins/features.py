"""The numbers that speak for and against joining two columns, and the small model that weighs them.

In: the overlap of two columns, and how it compares with the others of the left column. Out: a `Candidate` with its
`Features`, all between -1 and 1, and `likelihood`s by the weights of `weights.json`.
"""

from __future__ import annotations

import functools
import json
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import NamedTuple

from coset.evidence.column_expressions import column_kind
from coset.relations.joins.column_values import JoinableTable, JoinColumn
from coset.relations.joins.names import bare_name, column_names_table, columns_agree, is_key_name, stem, table_prefix
from coset.relations.joins.overlap import Overlap
from coset.relations.joins.variants import Variant


class Features(NamedTuple):
    containment: float
    contained: float
    coverage: float
    evidence: float
    code_evidence: float
    label_missing: float
    number_missing: float
    range: float
    right_uniqueness: float
    right_is_main: float
    right_is_first: float
    left_is_key: float
    left_key_unnamed: float
    left_is_unique: float
    serials: float
    columns_agree: float
    names_table: float
    name_lead: float
    named_fully: float
    unnamed_missing: float
    numbers_unnamed: float
    left_key_name: float
    right_key_name: float
    right_plain_id: float
    changed: float
    changed_alike: float
    piece: float
    types_agree: float
    numbers: float
    rivals: float
    few_values: float
    right_rows_fewer: float
    same_table: float
    date: float


FEATURES = Features._fields
SURPRISING_BITS = 30
PRICES: dict[str, float] = {"affix": 0.05, "digits": 0.06, "groups": 0.06, "piece": 0.1, "head": 0.12}
"""How much more a bolder way to look at a column must hold."""
DENSE = 0.6
"""Of numbers that fill more than this share of a range, one more inside it proves nothing."""
_CUT = ("affix", "digits", "groups")


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


class Standing(NamedTuple):
    """How a right side stands among those of the same left column."""

    rival_name: float
    """How well the best other name agrees."""
    holding: int
    """How many hold about as much of the left, this one included."""
    as_tight: int
    """How many of them are held by the left about as well."""


def plausible(overlap: Overlap) -> float:
    """Of several ways to look at two columns: what holds most, telling values first, the plain way before others."""
    forms = [overlap.left.form, overlap.right.form]
    price = sum(PRICES.get(form, 0.0) for form in forms)
    part = min(overlap.left.part_of_column, overlap.right.part_of_column)
    return part * overlap.containment + 0.3 * (bits(overlap) >= SURPRISING_BITS) - price


def bits(overlap: Overlap) -> float:
    shared = max(1.0, overlap.containment * overlap.left.keys)
    return shared * max(0.0, specificity(overlap) + math.log2(max(overlap.containment, 1e-6)))


def specificity(overlap: Overlap) -> float:
    """How many bits one shared key tells. Of numbers it counts how many the right has where the left has its own, as
    far as both reach: a few numbers of another kind far off (trials from 900,000 on) make the others no rarer."""
    left, right = overlap.left, overlap.right
    if not (left.is_number and right.is_number and len(right.numbers)):
        return right.specificity
    return max(0.0, -math.log2(_density(overlap)))


def _density(overlap: Overlap) -> float:
    """Which share of the numbers the right holds where both sides have some."""
    left, right = overlap.left, overlap.right
    low, high = max(left.minimum, right.minimum), min(left.maximum, right.maximum)
    if low > high:
        low, high = left.minimum, left.maximum
    return right.density_within(low, high)


def held_by_chance(overlap: Overlap) -> bool:
    """Whether a key of the right is likely to be among those of the left, or of the left among those of the right,
    whatever they are: numbers that lie close together, of which each is nearly sure to be in a row of others."""
    left, right = overlap.left, overlap.right
    if left.is_number and right.is_number and len(left.numbers) and len(right.numbers):
        there = _density(overlap)
        back = left.density_within(right.minimum, right.maximum)
        return max(there, back) > DENSE
    return left.is_number and left.specificity < 1


def coverage_of(overlap: Overlap) -> float:
    return min(1.0, max(1.0, overlap.containment * overlap.left.keys) / max(1, overlap.right.keys))


class NameAgreement(NamedTuple):
    """How well the names of two columns agree."""

    same: float
    """Whether they are called the same."""
    after: float
    """Whether the left is called after the table of the right."""

    @property
    def best(self) -> float:
        return max(self)


def name_agreement(tables: Sequence[JoinableTable], left: JoinColumn, right: JoinColumn) -> NameAgreement:
    if right.is_names or left.is_names:
        return NameAgreement(0.0, 0.0)
    table = tables[right.table].reference.table or ""
    same = columns_agree(left.name, right.name)
    after = column_names_table(left.name, table, right.name)
    if left.table != right.table:
        bare, other = (bare_name(each.name, prefix_of(tables[each.table])) for each in (left, right))
        if (bare, other) != (left.name, right.name):
            same = max(same, columns_agree(bare, other))
            after = max(after, column_names_table(bare, table, other))
    return NameAgreement(same, after)


@functools.cache
def prefix_of(table: JoinableTable) -> str:
    """What the names of most of its columns begin with."""
    return table_prefix(tuple(column.name for column in table.columns))


class Side(NamedTuple):
    """What is the same of a column in all pairs."""

    kind: str
    is_main: bool
    """Whether others would refer to its table by it."""
    is_key: bool
    """Whether it is the key of its table: declared so, or the first column and unique."""
    is_unique: bool
    has_key_name: bool
    has_plain_name: bool
    """Whether its name says that it is a key, and nothing else."""


def sides_of(tables: Sequence[JoinableTable], columns: Sequence[JoinColumn]) -> list[Side]:
    """By the number of the column."""
    main_keys = _main_keys(tables, columns)
    sides = []
    for column in columns:
        is_unique = column.uniqueness >= 0.98
        declared = tables[column.table].primary_key == (column.name,)
        sides.append(
            Side(
                kind=column_kind(column.type),
                is_main=main_keys.get(column.table) == column.number,
                is_key=declared or (column.position == 0 and is_unique),
                is_unique=is_unique,
                has_key_name=is_key_name(column.name),
                has_plain_name=not stem(column.name),
            )
        )
    return sides


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


class Weighed(NamedTuple):
    """What is computed of two columns: their features, and what rules look at besides."""

    features: Features
    bits: float
    coverage: float


def alike(side: Side, variant: Variant) -> tuple[object, ...]:
    """All that a pair's features depend on, of one variant: look-alikes in many tables are weighed once."""
    column = variant.column
    return (side, variant.key_set, variant.form, variant.keys, variant.uniqueness, variant.specificity,
            variant.code_share, column.known, column.position == 0)  # fmt: skip


def weigh(sides: Sequence[Side], overlap: Overlap, names: NameAgreement, standing: Standing) -> Weighed:
    left_variant, right_variant, containment = overlap.left, overlap.right, overlap.containment
    left, right = left_variant.column, right_variant.column
    one, other = sides[left.number], sides[right.number]
    coverage = coverage_of(overlap)
    surprise = bits(overlap)
    evidence = min(1.0, math.log2(1 + surprise) / 8)
    numbers = left_variant.is_number and right_variant.is_number
    dense = numbers and left_variant.specificity < 1 and specificity(overlap) < 1
    same, after = names
    name = names.best
    forms = left_variant.form, right_variant.form
    features = Features(
        containment=containment,
        contained=float(containment >= 0.97),
        coverage=coverage,
        evidence=evidence,
        code_evidence=evidence * right_variant.code_share,
        label_missing=(1 - containment) * (1 - right_variant.code_share) * (not numbers),
        number_missing=(1 - containment) * numbers,
        range=_range_shared(overlap) if numbers else 0.0,
        right_uniqueness=max(0.0, (right_variant.uniqueness - 0.75) / 0.25),
        right_is_main=float(other.is_main),
        right_is_first=float(right.position == 0),
        left_is_key=float(one.is_key),
        left_key_unnamed=one.is_main * (1 - name),
        left_is_unique=float(one.is_unique),
        serials=float(dense and one.is_unique),
        columns_agree=same,
        names_table=after,
        name_lead=name - standing.rival_name,
        named_fully=float((same >= 0.95 or other.has_plain_name) and after >= 0.85),
        unnamed_missing=(1 - name) * (1 - containment),
        numbers_unnamed=dense * (1 - name),
        left_key_name=float(one.has_key_name),
        right_key_name=float(other.has_key_name),
        right_plain_id=float(other.has_plain_name),
        changed=float(sum(form in _CUT for form in forms) == 1),
        changed_alike=float(sum(form in _CUT for form in forms) == 2),
        piece=float("piece" in forms or "head" in forms),
        types_agree=float(one.kind == other.kind),
        numbers=float(numbers),
        rivals=min(1.0, math.log2(max(1, standing.holding)) / 4),
        few_values=1 / max(1, left_variant.keys),
        right_rows_fewer=max(-1.0, min(1.0, math.log10(max(1, left.known) / max(1, right.known)) / 2)),
        same_table=float(left.table == right.table),
        date=float(forms[0] == "date"),
    )
    return Weighed(features, surprise, coverage)


def _range_shared(overlap: Overlap) -> float:
    """The share of the left's range of numbers that lies within the right's."""
    low = max(overlap.left.minimum, overlap.right.minimum)
    high = min(overlap.left.maximum, overlap.right.maximum)
    return max(0, high - low + 1) / (overlap.left.maximum - overlap.left.minimum + 1)


SAME_SERIALS = 0.55
LEAST_SERIALS = 30
SAME_THINGS = 0.6
NAMED, UNNAMED = 0.3, 0.4
COLLECTED, COLLECTED_BITS = 0.7, 300.0
SHARED_BITS, BITS_EACH, LEAST_SHARED = 1_000.0, 3.0, 0.1


@functools.cache
def weights() -> tuple[float, tuple[float, ...]]:
    """The constant, and the weight of each of `FEATURES`; a feature without a weight counts nothing."""
    content = json.loads(resources.files(__package__).joinpath("weights.json").read_text(encoding="utf-8"))
    return float(content["constant"]), tuple(float(content["weights"].get(name, 0.0)) for name in FEATURES)


def likelihood(features: Sequence[float]) -> float:
    constant, each = weights()
    total = constant + sum(map(operator.mul, each, features))
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


def likelihood_of(candidate: Candidate) -> float:
    return with_rules(candidate, likelihood(candidate.features))


def with_rules(candidate: Candidate, learned: float) -> float:
    """The learned likelihood, except for names of tables and for equal series of numbers, which have rules."""
    if candidate.left.is_names:
        return 0.0
    if candidate.right.is_names:
        return names_of_tables(candidate)
    if held_by_chance(candidate.overlap):
        if same_serials(candidate):
            return max(learned, SAME_SERIALS)
        # The names have to say that they belong together.
        return learned if candidate.name >= NAMED else min(learned, UNNAMED)
    if same_things(candidate):
        learned = max(learned, SAME_THINGS)
    if collects_keys(candidate) or refers_to_own_table(candidate) or holds_telling_keys(candidate):
        learned = max(learned, COLLECTED)
    return max(learned, SAME_SERIALS) if same_serials(candidate) else learned


def same_things(candidate: Candidate) -> bool:
    """Whether the keys of two tables share so many values that it cannot be chance: both list the same things, each the
    part of them that it knows (the customers of two departments)."""
    features = Features(*candidate.features)
    keys = features.left_is_key and features.right_is_main and candidate.left.uniqueness >= 0.98
    overlap = candidate.overlap
    # Each shared value must tell something by itself: many serial numbers tell a little each, and prove nothing.
    enough = max(SHARED_BITS, BITS_EACH * overlap.containment * overlap.left.keys)
    return bool(keys) and candidate.bits >= enough and overlap.containment >= LEAST_SHARED


def collects_keys(candidate: Candidate) -> bool:
    """Whether a column holds nearly all keys of another table among those of further ones, as the key of the source in
    a cross-reference does: so many that tell so much are not there by chance."""
    overlap = candidate.overlap
    return (
        candidate.coverage >= 0.9
        and overlap.containment >= LEAST_SHARED
        and candidate.bits >= COLLECTED_BITS
        and overlap.right.uniqueness >= 0.98
        and overlap.right.keys >= LEAST_SERIALS
        and bool(Features(*candidate.features).right_is_main)
    )


def holds_telling_keys(candidate: Candidate) -> bool:
    """Whether most values are keys of the other table, each of which would be unlikely there by itself."""
    overlap = candidate.overlap
    return (
        overlap.containment >= 0.8
        and candidate.bits >= max(SHARED_BITS, BITS_EACH * overlap.containment * overlap.left.keys)
        and overlap.right.uniqueness >= 0.98
        and overlap.right.code_share + overlap.right.is_number >= 0.9
        and candidate.left.table != candidate.right.table
        and bool(Features(*candidate.features).right_is_main)
    )


def refers_to_own_table(candidate: Candidate) -> bool:
    """Whether a column holds keys of its own table (`duplicate_of`, `manager`): seldom by chance where the keys tell
    something."""
    overlap = candidate.overlap
    return (
        candidate.left.table == candidate.right.table
        and overlap.containment >= 0.97
        and overlap.left.form == overlap.right.form == "whole"
        and overlap.right.uniqueness >= 0.98
        and candidate.bits >= COLLECTED_BITS / 5
        and candidate.coverage < 0.9
        and bool(Features(*candidate.features).right_is_main)
    )


def same_serials(candidate: Candidate) -> bool:
    """Whether a column that repeats has the serial numbers of one key and of no other: tables seldom have the same
    length by chance."""
    overlap = candidate.overlap
    exact = overlap.containment >= 0.95 and candidate.coverage >= 0.95
    serials = overlap.left.is_number and overlap.left.specificity < 1 and overlap.left.keys >= LEAST_SERIALS
    return (
        exact
        and serials
        and candidate.rivals == 1
        and candidate.left.uniqueness < 0.9
        and overlap.right.uniqueness >= 0.99
    )


def names_of_tables(candidate: Candidate) -> float:
    """Values that are the names of tables: no model, since hardly any other column holds those by chance."""
    overlap = candidate.overlap
    telling = candidate.bits >= 30 or (overlap.found >= 3 and min(candidate.coverage, overlap.containment) >= 0.9)
    if not telling or max(candidate.coverage, overlap.containment) < 0.5 or overlap.right.is_number:
        return 0.0
    # Below a sure join with a table, above a doubtful one: the table that lists the names comes first.
    return 0.8 if candidate.left.uniqueness >= 0.98 else 0.7
