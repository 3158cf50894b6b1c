"""Pairs of records become clusters: the strongest reasons first, and never against a stronger one.

In: pairs with their kind, what each record says of itself (tax number, birth date), and pairs that people rejected.
Out: a cluster for every record, the pairs that were followed, and those that were not with why. A pair is not followed
where it would bring together two things: two tax numbers, two birth dates, two records of one table that only this pair
connects, or two that a person told apart. Does not read tables.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Pair:
    """Two records, why they may be one, and whether what names they have agrees (None: one has none)."""

    left: int
    right: int
    rank: int
    """The smaller, the stronger: the place of its kind among all kinds."""
    rule: int
    """Which rule found it."""
    alike: bool | None
    weight: float = 0.0
    """Of a likeness, its match weight."""

    @property
    def ends(self) -> tuple[int, int]:
        return min(self.left, self.right), max(self.left, self.right)


@dataclass(frozen=True)
class Refused:
    pair: Pair
    reason: str


@dataclass(frozen=True)
class Clusters:
    of: Mapping[int, int]
    """The cluster of each record that has another one in it; named by its smallest record."""
    followed: tuple[Pair, ...]
    refused: tuple[Refused, ...]


@dataclass
class _Group:
    records: list[int]
    masters: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    said: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))


@dataclass(frozen=True)
class RecordFacts:
    """What is known of records, by their numbers."""

    master: Sequence[int]
    single: Mapping[str, Sequence[str | None]]
    """Attributes of which a thing has one."""
    apart: frozenset[tuple[int, int]] = frozenset()
    """Pairs, the smaller first, that a person told apart."""


SAID = 0
CROSS_REFERENCE = 1
MERGED = 2
KEY = 3
TELLING = 5
"""The last kind that is a key: a bank account."""


class Clustering:
    def __init__(self, standing: RecordFacts) -> None:
        self._standing = standing
        self._group: dict[int, _Group] = {}
        self._followed: list[Pair] = []
        self._refused: list[Refused] = []
        self._twofold: set[tuple[int, int]] = set()
        self._direct: dict[int, list[int]] = defaultdict(list)
        self._apart: dict[int, set[int]] = defaultdict(set)
        for one, other in standing.apart:
            self._apart[one].add(other)
            self._apart[other].add(one)

    def follow(self, pairs: Iterable[Pair]) -> None:
        pairs = list(pairs)
        ranks: dict[tuple[int, int], set[int]] = defaultdict(set)
        for pair in pairs:
            if pair.rank <= TELLING:
                ranks[pair.ends].add(pair.rank)
        # Two that are named otherwise are one where two kinds of key say so.
        self._twofold = {ends for ends, kinds in ranks.items() if len(kinds) > 1}
        for pair in sorted(
            pairs, key=lambda each: (each.rank, each.alike is False, -each.weight, each.left, each.right)
        ):
            one, other = self._of(pair.left), self._of(pair.right)
            if one is other:
                self._followed.append(pair)
                continue
            reason = self._against(pair, one, other)
            if reason is not None:
                self._refused.append(Refused(pair, reason))
                continue
            self._followed.append(pair)
            self._direct[pair.left].append(pair.right)
            self._direct[pair.right].append(pair.left)
            self._merge(one, other)

    def result(self) -> Clusters:
        groups = {id(group): group for group in self._group.values() if len(group.records) > 1}
        of = {record: min(group.records) for group in groups.values() for record in group.records}
        return Clusters(of, tuple(self._followed), tuple(self._refused))

    def cluster(self, record: int) -> list[int]:
        return self._of(record).records

    def _of(self, record: int) -> _Group:
        group = self._group.get(record)
        if group is None:
            group = _Group([record])
            group.masters[self._standing.master[record]].append(record)
            for name, values in self._standing.single.items():
                if (value := values[record]) is not None:
                    group.said[name].add(value)
            self._group[record] = group
        return group

    def _against(self, pair: Pair, one: _Group, other: _Group) -> str | None:
        if any(self._apart[record] & set(other.records) for record in one.records if record in self._apart):
            return "a person told them apart"
        if pair.rank == SAID:
            return None
        if pair.alike is False and pair.ends not in self._twofold:
            return "their names differ"
        for name in self._standing.single:
            here, there = one.said.get(name), other.said.get(name)
            # Of two dates of birth one may be mistyped: what a cross-reference or a key states then stands.
            if here and there and not here & there and not (name == "birth" and pair.rank <= KEY and pair.alike):
                return f"{'tax numbers' if name == 'tax' else 'birth dates'} differ"
        if pair.rank >= KEY:
            return self._crowded(pair, one, other)
        return None

    def _crowded(self, pair: Pair, one: _Group, other: _Group) -> str | None:
        """A record that is linked to one of another table by something stronger takes no second one of it. Several
        records may hold the key of one, so of a key only what the holder itself is linked to is looked at."""
        left, right = self._standing.master[pair.left], self._standing.master[pair.right]
        if left == right:
            return None
        told = "one of them is linked to another record of the same table"
        tax = self._standing.single.get("tax", ())
        if pair.rank == KEY:
            held = [each for each in self._direct[pair.left] if self._standing.master[each] == right]
            return told if held and not all(tax[each] for each in (*held, pair.right)) else None
        for master in sorted(one.masters.keys() & other.masters.keys()):
            # Of records that all have a tax number it is known already that they do not differ.
            if not all(tax[record] for record in (*one.masters[master], *other.masters[master])):
                return told
        return None

    def _merge(self, one: _Group, other: _Group) -> None:
        if len(one.records) < len(other.records):
            one, other = other, one
        one.records += other.records
        for master, records in other.masters.items():
            one.masters[master] += records
        for name, values in other.said.items():
            one.said[name] |= values
        for record in other.records:
            self._group[record] = one
