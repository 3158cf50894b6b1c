"""What is kept of comparing columns, so that only those are compared again whose answer may differ.

In: the memory and what changed. Out: the left columns to compare again, what is still known of their right sides, and
the likely candidates of all columns. Knows how these are kept, not how columns are compared.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from coset.relations.joins.features import Candidate, NameAgreement, name_agreement
from coset.relations.joins.joinable import JoinableTable, JoinColumn
from coset.relations.joins.memory import JoinMemory, KnownColumns
from coset.relations.joins.neighbours import MOST_RIGHTS, Kept, Right
from coset.relations.joins.overlap import Overlap
from coset.relations.joins.selection import Scored
from coset.relations.joins.variants import Variant


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
