"""Which right sides a column is compared with: those it shares keys with, the best of them by name and values.

In: columns and the overlaps of their keys. Out: for each left column its `Right`s and, as they compare with each other,
its candidates. These depend on the column and on its best right sides alone, so that a change elsewhere leaves them as
they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from coset.relations.joins.features import (
    Candidate,
    NameAgreement,
    Standing,
    Weighed,
    alike,
    coverage_of,
    name_agreement,
    plausible,
    prefix_of,
    sides_of,
    weigh,
)
from coset.relations.joins.joinable import JoinableTable, JoinColumn
from coset.relations.joins.memory import KnownColumns
from coset.relations.joins.names import bare_name, name_marks
from coset.relations.joins.overlap import Overlap
from coset.relations.joins.variants import Variant

MOST_RIGHTS = 20
MANY_HOLDERS = 40
"""Of more columns than these that have the same keys, those are looked at whose names may agree."""
RIVAL_SHARE = 0.9
"""Another right side that holds so much of what this one holds is a rival."""


@dataclass(frozen=True)
class Right:
    """A right side that a column may refer to, with how well the names agree."""

    names: NameAgreement
    overlap: Overlap

    @property
    def score(self) -> float:
        return self.names.best + self.overlap.containment


Rank = tuple[float, str, int]


@dataclass(frozen=True)
class Kept:
    """The right sides of an earlier look, without those whose tables changed or are gone."""

    rights: tuple[Right, ...]
    last: Rank | None
    """The last of all that were good enough then; None when all were."""


class Neighbours:
    def __init__(
        self,
        tables: Sequence[JoinableTable],
        known: KnownColumns,
        overlaps: Mapping[int, Sequence[tuple[int, int, int]]],
    ) -> None:
        """`overlaps`: for each left key set the right ones, each with how many keys were looked up and found."""
        self._tables, self._known, self._overlaps = tables, known, overlaps
        self._sides = sides_of(tables, known.columns)
        self._holders: dict[int, list[Variant]] = {}
        for column in known.columns:
            for variant in known.variants.get(column.number, ()):
                if variant.is_key_like:
                    self._holders.setdefault(variant.key_set, []).append(variant)
        self._indices: dict[int, dict[str, list[Variant]]] = {}
        self._known_weights: dict[tuple[object, ...], Weighed] = {}
        self._numbers: dict[int, int] = {}
        self._kinds: dict[tuple[object, ...], int] = {}

    def rights(self, left: JoinColumn) -> list[Right]:
        """The best right sides of a column, first those that agree most in name and values: a column that shares keys
        with hundreds of others (serial numbers everywhere) is compared with the best of them."""
        return self._sorted(self._found(left, None))[:MOST_RIGHTS]

    def renewed(self, left: JoinColumn, kept: Kept, changed: Collection[int]) -> list[Right] | None:
        """The best right sides from those kept of an earlier look, of tables that did not change, and those of changed
        tables; None when that does not tell, because some that were not good enough then may be so now."""
        rights = self._sorted([*kept.rights, *self._found(left, changed)])[:MOST_RIGHTS]
        if kept.last is None or (len(rights) == MOST_RIGHTS and self.rank(rights[-1]) <= kept.last):
            return rights
        return None

    def rank(self, right: Right) -> Rank:
        """What right sides are ordered by: how good they are, then where they stand."""
        column = right.overlap.right.column
        return -right.score, str(self._tables[column.table].reference), column.position

    def _sorted(self, rights: Iterable[Right]) -> list[Right]:
        # Columns are numbered in the order of their references.
        return sorted(rights, key=lambda right: (-right.score, right.overlap.right.column.number))

    def _found(self, left: JoinColumn, tables: Collection[int] | None) -> list[Right]:
        """The right sides worth comparing, among these tables, each in the most plausible way to look at it."""
        best: dict[int, tuple[float, Variant, Variant, int, int]] = {}
        for variant in self._known.variants.get(left.number, ()):
            for key_set, looked_up, found in self._overlaps.get(variant.key_set, ()):
                by_form: dict[str, float] = {}
                for holder in self._worth_comparing(left, key_set, tables):
                    number = holder.column.number
                    if number == left.number:
                        continue
                    if holder.form not in by_form:  # What else it depends on is the same for the same keys.
                        by_form[holder.form] = plausible(Overlap(variant, holder, looked_up, found))
                    how = by_form[holder.form]
                    if number not in best or how > best[number][0]:
                        best[number] = how, variant, holder, looked_up, found
        return [
            Right(name_agreement(self._tables, left, holder.column), Overlap(variant, holder, looked_up, found))
            for _, variant, holder, looked_up, found in best.values()
        ]

    def candidates(self, rights: Sequence[Right]) -> list[Candidate]:
        """A candidate for each of a column's right sides, as they compare with each other."""
        shares = [(right.overlap.containment, coverage_of(right.overlap)) for right in rights]
        standings: dict[tuple[float, float], tuple[int, int]] = {}
        found: list[Candidate] = []
        for right, share in zip(rights, shares, strict=True):
            if share not in standings:
                near = [tight for held, tight in shares if held >= RIVAL_SHARE * share[0]]
                standings[share] = len(near), sum(tight >= RIVAL_SHARE * share[1] for tight in near)
            # A name is a rival's only where it holds about as much: siblings have the same name and other values.
            others = (
                each.names.best
                for each in rights
                if each is not right and each.overlap.containment >= RIVAL_SHARE * share[0]
            )
            standing = Standing(max(others, default=0.0), *standings[share])
            weighed = self._weighed(right, standing)
            found.append(
                Candidate(
                    right.overlap, weighed.features, weighed.bits, right.names.best, weighed.coverage, standing.as_tight
                )
            )
        return found

    def _weighed(self, right: Right, standing: Standing) -> Weighed:
        overlap = right.overlap
        same_table = overlap.left.column.table == overlap.right.column.table
        found = overlap.looked_up, overlap.found
        key = (self._alike(overlap.left), self._alike(overlap.right), same_table, found, right.names, standing)
        if key not in self._known_weights:
            self._known_weights[key] = weigh(self._sides, overlap, right.names, standing)
        return self._known_weights[key]

    def _alike(self, variant: Variant) -> int:
        """A number that look-alike variants have in common."""
        if id(variant) not in self._numbers:
            what = alike(self._sides[variant.column.number], variant)
            self._numbers[id(variant)] = self._kinds.setdefault(what, len(self._kinds))
        return self._numbers[id(variant)]

    def _worth_comparing(self, left: JoinColumn, key_set: int, tables: Collection[int] | None) -> list[Variant]:
        """All variants with these keys, among these tables. Of very many, those whose names may agree at all, and the
        first ones: the others have the same keys and no better name, and would not be among the best."""
        holders = self._holders.get(key_set, [])
        if tables is not None and not any(holder.column.table in tables for holder in holders):
            return []
        if len(holders) > MANY_HOLDERS:
            holders = self._of_many(left, key_set, holders)
        return holders if tables is None else [holder for holder in holders if holder.column.table in tables]

    def _of_many(self, left: JoinColumn, key_set: int, holders: Sequence[Variant]) -> list[Variant]:
        if key_set not in self._indices:
            index: dict[str, list[Variant]] = {}
            for holder in holders:
                table = self._tables[holder.column.table].reference.table or ""
                bare = bare_name(holder.column.name, prefix_of(self._tables[holder.column.table]))
                for mark in name_marks(holder.column.name) | name_marks(bare) | name_marks(table):
                    index.setdefault(mark, []).append(holder)
            self._indices[key_set] = index
        index = self._indices[key_set]
        chosen = {id(holder): holder for holder in holders[: MOST_RIGHTS + 1]}
        bare = bare_name(left.name, prefix_of(self._tables[left.table]))
        for mark in name_marks(left.name) | name_marks(bare):
            chosen.update((id(holder), holder) for holder in index.get(mark, ()))
        return list(chosen.values())
