"""Which candidates are joins: each column has one parent, unless its values are spread over several.

In: candidates with their likelihoods. Out: those to report, best first. Two columns that refer to the same parent are
not joined with each other; of two keys of the same things one refers to the other, not both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from coset.relations.joins.features import Candidate, Features
from coset.relations.joins.variants import Variant

LEAST_LIKELY = 0.5
SURPRISING_BITS = 30.0
"""Shared values that are so unlikely by chance allow a second parent for values that the first does not have."""


SAME_BITS = 300.0
HUB_LIKELY = 0.6
PARTS = ("piece", "head", "digits")
FURTHER_LIKELY, FURTHER_UNNAMED, FURTHER_UNIQUE, FURTHER_HELD = 0.25, 0.5, 0.9, 0.9
"""A further parent must be so likely, and more so where others would not refer to its table by it."""
UNIQUE_INSIDE = 0.97
"""What lists the same things in the same source lists each of them once."""
CLOSER = 1.3
ALL_OF_THEM, LEAST_THROUGH, LEAST_REFERRED, THROUGH = 0.97, 0.9, 2, 0.95


@dataclass(frozen=True)
class Scored:
    candidate: Candidate
    likelihood: float


MOST_LIKELY = 10
"""So many candidates of one column are kept: of a column with more, all are look-alikes."""


def likeliest(scored: Sequence[Scored], least: float = LEAST_LIKELY) -> list[Scored]:
    """The candidates of one column that `choose` may choose among."""
    return sorted((each for each in scored if each.likelihood >= least), key=_order)[:MOST_LIKELY]


def choose(
    scored: Sequence[Scored],
    least: float = LEAST_LIKELY,
    further: int = 0,
    sources: Sequence[str] = (),
    stated: Sequence[Scored] = (),
) -> list[Scored]:
    """The joins among the candidates. Where several tables list the same things, up to so many `further` ones are
    joined beside the best, if each is likely by itself. `sources` names the source of each table; `stated` are
    joins that are certain, from which others may follow."""
    best: dict[tuple[int, int], Scored] = {}
    for each in scored:
        pair = each.candidate.left.number, each.candidate.right.number
        if pair not in best or _order(each) < _order(best[pair]):
            best[pair] = each
    chosen: list[Scored] = []
    parents: dict[int, list[Scored]] = {}
    for each in _without_pieces([each for each in best.values() if each.likelihood >= least]):
        left, right = each.candidate.left.number, each.candidate.right.number
        if any(not _is_further_parent(earlier.candidate, each.candidate) for earlier in parents.get(left, ())):
            continue
        if _reaches(parents, right, left):
            continue  # The other way round it is reported already.
        parents.setdefault(left, []).append(each)
        chosen.append(each)
    kept = _with_hubs(_without_siblings(chosen, parents), best.values(), parents)
    return _with_further(kept, best.values(), further, sources, stated) if further else kept


def _without_pieces(scored: Sequence[Scored]) -> list[Scored]:
    """The candidates, best first, without those in which a part of a code refers to what another column of the same
    table refers to as it stands: a statement's number that has the agent's in it says no more than the agent's."""
    plain = {
        (each.candidate.left.table, each.candidate.right.number)
        for each in scored
        if each.candidate.overlap.left.form == "whole"
    }
    kept = [
        each
        for each in scored
        if each.candidate.overlap.left.form not in PARTS
        or (each.candidate.left.table, each.candidate.right.number) not in plain
    ]
    return sorted(kept, key=_order)


def _with_hubs(chosen: list[Scored], scored: Iterable[Scored], parents: dict[int, list[Scored]]) -> list[Scored]:
    """With a second parent for a column whose values several tables list alike (agents in the ledger, in the policy
    system, in the portal): the table that most others refer to as it stands, so that all meet there in one step."""
    referred = Counter(each.candidate.right.number for each in chosen if _is_plain(each))
    chosen_pairs = {(each.candidate.left.number, each.candidate.right.number) for each in chosen}
    best: dict[int, Scored] = {}
    for each in scored:
        left, right = each.candidate.left.number, each.candidate.right.number
        earlier = parents.get(left, ())
        if (
            len(earlier) != 1
            or (left, earlier[0].candidate.right.number) not in chosen_pairs
            or (left, right) in chosen_pairs
            or each.likelihood < HUB_LIKELY
            or each.candidate.bits < SAME_BITS
            or each.candidate.overlap.right.form != "whole"
            or each.candidate.overlap.right.uniqueness < 0.98
            or each.candidate.overlap.containment < 0.95 * earlier[0].candidate.overlap.containment
            or referred[right] < max(2, referred[earlier[0].candidate.right.number])
            or _reaches(parents, right, left)
        ):
            continue
        if left not in best or referred[right] > referred[best[left].candidate.right.number]:
            best[left] = each
    return sorted([*chosen, *best.values()], key=_order)


def _with_further(
    chosen: list[Scored], scored: Iterable[Scored], most: int, sources: Sequence[str], stated: Sequence[Scored]
) -> list[Scored]:
    """With more parents for a column whose values several tables list alike: the customers of the ledger, of the
    address book and of the warehouse. A question may start from any of them. Those of its own source come first, then
    those that most others refer to."""
    parents: dict[int, list[Scored]] = {}
    for each in (*chosen, *stated):
        parents.setdefault(each.candidate.left.number, []).append(each)
    pairs = {(left, each.candidate.right.number) for left, several in parents.items() for each in several}
    referred = Counter(right for _, right in pairs)
    possible: dict[int, list[Scored]] = {}
    for each in _through_others(scored, parents, referred):
        left, right = each.candidate.left.number, each.candidate.right.number
        one, other = each.candidate.left.table, each.candidate.right.table
        crosses = bool(sources) and sources[one] != sources[other]
        known = (left, right) in pairs or (right, left) in pairs
        if left in parents and not known and _is_further(each, parents[left][0], crosses):
            possible.setdefault(left, []).append(each)
    found = list(chosen)
    for left, several in sorted(possible.items()):
        first = parents[left][0].candidate
        source = sources[first.left.table] if sources else ""
        tables = {first.left.table, *(each.candidate.right.table for each in parents[left])}
        added: list[Scored] = []
        for each in sorted(several, key=partial(_of_further, source, sources, referred)):
            parent_column = each.candidate.right
            in_source = [
                parent
                for parent in (*parents[left], *added)
                if not sources or sources[parent.candidate.right.table] == sources[parent_column.table]
            ]
            if len(added) == most or parent_column.table in tables or _is_sibling(each, in_source, pairs):
                continue
            tables.add(parent_column.table)
            added.append(each)
        found += added
    return sorted(found, key=_order)


def _through_others(
    scored: Iterable[Scored], parents: dict[int, list[Scored]], referred: Counter[int]
) -> Iterator[Scored]:
    """The candidates, those with more belief that hold because others do: where a column refers to the suppliers, and
    nearly all suppliers are among the addresses that many tables refer to, it refers to the addresses."""
    to: dict[tuple[int, int], float] = {}
    for several in parents.values():
        for each in several:
            overlap, candidate = each.candidate.overlap, each.candidate
            if _is_whole(overlap.left) and overlap.containment >= ALL_OF_THEM:
                to[candidate.left.number, candidate.right.number] = each.likelihood
            if _is_whole(overlap.right) and candidate.coverage >= ALL_OF_THEM and overlap.left.uniqueness >= 0.98:
                to[candidate.right.number, candidate.left.number] = each.likelihood
    for each in scored:
        left, right = each.candidate.left.number, each.candidate.right.number
        if referred[right] >= LEAST_REFERRED and each.candidate.overlap.containment >= LEAST_THROUGH:
            over = [
                min(parent.likelihood, to[parent.candidate.right.number, right])
                for parent in parents.get(left, ())
                if (parent.candidate.right.number, right) in to
                and parent.candidate.overlap.containment >= LEAST_THROUGH
            ]
            if over and THROUGH * max(over) > each.likelihood:
                each = Scored(each.candidate, THROUGH * max(over))
        yield each


def _is_whole(variant: Variant) -> bool:
    return variant.form not in PARTS


def _is_further(each: Scored, first: Scored, crosses: bool) -> bool:
    """Whether the right side may list the same things as the first parent of the column does."""
    overlap = each.candidate.overlap
    least = FURTHER_LIKELY if Features(*each.candidate.features).right_is_main else FURTHER_UNNAMED
    unique = FURTHER_UNIQUE if crosses else UNIQUE_INSIDE
    return (
        each.likelihood >= least
        and overlap.right.uniqueness >= unique
        and overlap.containment >= FURTHER_HELD * first.candidate.overlap.containment
    )


def _of_further(source: str, sources: Sequence[str], referred: Counter[int], each: Scored) -> tuple[Any, ...]:
    right = each.candidate.right
    return not (sources and sources[right.table] == source), -referred[right.number], _order(each)


def _is_sibling(each: Scored, parents: Sequence[Scored], pairs: Collection[tuple[int, int]]) -> bool:
    """Whether the right side refers itself to a parent in its source that the column is as close to: the stock of an
    item is not what an order line refers to, although it has one row an item. The suppliers among all addresses are:
    closer ones."""
    right, coverage = each.candidate.right.number, each.candidate.coverage
    return any(
        (right, parent.candidate.right.number) in pairs and coverage < CLOSER * parent.candidate.coverage
        for parent in parents
    )


def _is_plain(scored: Scored) -> bool:
    overlap = scored.candidate.overlap
    return overlap.left.form == overlap.right.form == "whole"


def _order(scored: Scored) -> tuple[float, float, float, int, int, int]:
    overlap = scored.candidate.overlap
    plain = (overlap.left.form != "whole") + (overlap.right.form != "whole")
    return (
        -round(scored.likelihood, 3),
        -round(overlap.containment, 3),
        -overlap.right.uniqueness,
        plain,
        scored.candidate.left.number,
        scored.candidate.right.number,
    )


def _reaches(parents: dict[int, list[Scored]], start: int, goal: int) -> bool:
    """Whether `start` refers to `goal`, directly or over others."""
    seen, waiting = {start}, [start]
    while waiting:
        for each in parents.get(waiting.pop(), ()):
            number = each.candidate.right.number
            if number == goal:
                return True
            if number not in seen:
                seen.add(number)
                waiting.append(number)
    return False


def _is_further_parent(earlier: Candidate, later: Candidate) -> bool:
    """Whether `later` has values that `earlier` cannot have: what the two contain adds up to no more than all."""
    together = sum(each.overlap.containment * each.overlap.left.part_of_column for each in (earlier, later))
    if together <= 1.1 and min(earlier.bits, later.bits) >= SURPRISING_BITS:
        return True
    # A list of the very same things is worth a join beside the larger one that holds them too.
    same = later.overlap.containment >= 0.95 and later.coverage >= 0.95 and later.bits >= SAME_BITS
    return same and earlier.coverage < 0.9 and not later.overlap.left.column.is_names


def _without_siblings(chosen: Sequence[Scored], parents: dict[int, list[Scored]]) -> list[Scored]:
    """Without L -> R where R -> P is a join and L could as well refer to P, which `choose` decided against L -> P only
    because L has a parent already."""
    kept: list[Scored] = []
    for each in chosen:
        right = each.candidate.right.number
        others = {
            parent.candidate.right.number
            for parent in parents.get(each.candidate.left.number, ())
            if parent is not each
        }
        if any(parent.candidate.right.number in others for parent in parents.get(right, ())):
            continue
        kept.append(each)
    return kept
