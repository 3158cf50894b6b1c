"""For each column, the columns it is compared with; comparisons are kept and redone only where they may differ.

In: columns and the overlaps of their keys. Out: for each left column its `Right`s and, as they compare with each other,
its candidates. These depend on the column and on its best right sides alone, so that a change elsewhere leaves them as
they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coset.relations.joins.column_values import JoinableTable, JoinColumn
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
from coset.relations.joins.memory import JoinMemory, KnownColumns
from coset.relations.joins.names import bare_name, name_marks
from coset.relations.joins.overlap import Overlap
from coset.relations.joins.selection import Scored
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


def touched_lefts(
    memory: JoinMemory,
    tables: Sequence[JoinableTable],
    known: KnownColumns,
    lefts: Sequence[JoinColumn],
    changed: Collection[str],
) -> list[JoinColumn]:
    """The left columns whose candidates may not be what they were: their own table changed, or one of a right side did
    or is gone, or a changed column is now good enough."""
    references = [str(table.reference) for table in tables]
    not_as_before = memory.tables.tables_compared_with() - (set(references) - set(changed))
    rows = memory.tables.last_rights(not_as_before)
    touched = {(reference, position) for reference, position, is_touched, *_ in rows if is_touched}
    lasts = {(row[0], row[1]): None if row[3] is None else (-row[3], row[4], row[5]) for row in rows}
    by_key_set: dict[int, list[JoinColumn]] = {}
    for left in lefts:
        if references[left.table] in changed:
            touched.add((references[left.table], left.position))
        for variant in known.variants[left.number]:
            by_key_set.setdefault(variant.key_set, []).append(left)
    for right in known.columns:
        if references[right.table] not in changed:
            continue
        for key_set, containment in _overlapping(memory, known.variants.get(right.number, ())):
            for left in by_key_set.get(key_set, ()):
                place = references[left.table], left.position
                last = lasts.get(place)
                if place in touched or (last is not None and 1 + containment < -last[0]):
                    continue
                score = name_agreement(tables, left, right).best + containment
                if last is None or (-score, references[right.table], right.position) <= last:
                    touched.add(place)
    return [left for left in lefts if (references[left.table], left.position) in touched]


def _overlapping(memory: JoinMemory, variants: Sequence[Variant]) -> list[tuple[int, float]]:
    """The key sets that share keys with a right side, each with how much of it that holds at most."""
    sets = [variant.key_set for variant in variants if variant.is_key_like]
    return memory.tables.overlapping(sets)


def overlaps_of(
    memory: JoinMemory, known: KnownColumns, lefts: Sequence[JoinColumn]
) -> dict[int, list[tuple[int, int, int]]]:
    """For each key set of these columns the sets that it shares keys with."""
    sets = {variant.key_set for left in lefts for variant in known.variants[left.number]}
    found: dict[int, list[tuple[int, int, int]]] = {}
    for left, right, looked_up, held in memory.tables.overlaps(sets):
        found.setdefault(left, []).append((right, looked_up, held))
    return found


def kept_rights(
    memory: JoinMemory, known: KnownColumns, lefts: Sequence[JoinColumn], changed: Collection[str]
) -> dict[int, Kept]:
    """By the number of the left column, what is known of its right sides in tables that did not change."""
    numbers = {left.number for left in lefts}
    wanted = [place for place, column in known.by_place.items() if column.number in numbers]
    variants = _by_place(known)
    found: dict[int, Kept] = {}
    for reference, position, *lists, least, last_table, last_position in memory.tables.lefts(wanted):
        left = known.by_place[reference, position]
        rights: list[Right] = []
        for table, right_position, place, right_place, looked_up, held, *names in zip(*lists, strict=True):
            right = known.by_place.get((table, right_position))
            if right is not None and table not in changed:
                sides = variants[left.number, place], variants[right.number, right_place]
                rights.append(Right(NameAgreement(*names), Overlap(*sides, looked_up, held)))
        found[left.number] = Kept(tuple(rights), None if least is None else (-least, last_table, last_position))
    # One that shared keys with none has nothing kept, and all that was good enough was nothing.
    return {left.number: found.get(left.number, Kept((), None)) for left in lefts}


def likely_candidates(memory: JoinMemory, known: KnownColumns) -> list[Scored]:
    """The likely candidates of all columns, as they were found."""
    variants = _by_place(known)
    found: list[Scored] = []
    for row in memory.tables.candidates():
        left, right = known.by_place.get((row[0], row[1])), known.by_place.get((row[3], row[4]))
        if left is None or right is None:
            continue
        overlap = Overlap(variants[left.number, row[2]], variants[right.number, row[5]], row[6], row[7])
        name, bits, coverage, rivals, likelihood = row[8:]
        found.append(Scored(Candidate(overlap, (), bits, name, coverage, rivals), likelihood))
    return found


def store_compared(
    memory: JoinMemory,
    references: Sequence[str],
    lefts: Sequence[JoinColumn],
    rights: Mapping[int, Sequence[Right]],
    likely: Sequence[Scored],
) -> None:
    """Replace what is kept of these left columns."""
    memory.tables.replace_compared(
        [(references[left.table], left.position) for left in lefts],
        [_left_row(references, left, rights[left.number]) for left in lefts if rights[left.number]],
        [_candidate_row(references, each) for each in likely],
    )


def _left_row(references: Sequence[str], left: JoinColumn, rights: Sequence[Right]) -> dict[str, Any]:
    overlaps = [right.overlap for right in rights]
    last = rights[-1] if len(rights) == MOST_RIGHTS else None
    return {
        "table_reference": references[left.table], "position": left.position,
        "right_tables": [references[each.right.column.table] for each in overlaps],
        "right_positions": [each.right.column.position for each in overlaps],
        "places": [each.left.place for each in overlaps], "right_places": [each.right.place for each in overlaps],
        "looked_up": [each.looked_up for each in overlaps], "found": [each.found for each in overlaps],
        "names_same": [right.names.same for right in rights],
        "names_after": [right.names.after for right in rights], "least": last.score if last else None,
        "last_table": references[last.overlap.right.column.table] if last else None,
        "last_position": last.overlap.right.column.position if last else None,
    }  # fmt: skip


def _candidate_row(references: Sequence[str], scored: Scored) -> dict[str, Any]:
    candidate, overlap = scored.candidate, scored.candidate.overlap
    return {
        "table_reference": references[candidate.left.table], "position": candidate.left.position,
        "place": overlap.left.place, "right_table": references[candidate.right.table],
        "right_position": candidate.right.position, "right_place": overlap.right.place,
        "looked_up": overlap.looked_up, "found": overlap.found, "name": candidate.name, "bits": candidate.bits,
        "coverage": candidate.coverage, "rivals": candidate.rivals, "likelihood": scored.likelihood,
    }  # fmt: skip


def _by_place(known: KnownColumns) -> dict[tuple[int, int], Variant]:
    """Variants by the number of their column and their own place."""
    return {(number, variant.place): variant for number, each in known.variants.items() for variant in each}
