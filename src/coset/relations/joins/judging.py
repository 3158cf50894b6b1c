"""How far a proposed join is believed, by what is known besides values: roles, readings, names and written SQL.

In: the candidates of all columns, and the `Background` of their columns. Out: the same with a likelihood that is
calibrated: of ten joins at .9 nine hold. The weights stand in `judging.json`, with the command that learned them.
"""

from __future__ import annotations

import functools
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coset.relations.joins.features import (
    BITS_EACH,
    COLLECTED,
    COLLECTED_BITS,
    Candidate,
    Features,
    collects_keys,
    held_by_chance,
    holds_telling_keys,
    likelihood_of,
    names_of_tables,
    refers_to_own_table,
    same_serials,
    same_things,
)
from coset.relations.joins.names import agreement, column_names_table, stem, words
from coset.relations.joins.selection import Scored
from coset.state.joins import Profiles, ReadName

Group = Literal["key", "measure", "description", "class"]
GROUPS: dict[str, Group] = {
    **dict.fromkeys(("identifier", "code"), "key"),
    **dict.fromkeys((
        "sequence", "rank", "score", "rate", "count", "quantity", "amount", "price_of", "cost", "tax_amount",
        "discount", "balance", "pay", "budget", "profit", "length", "weight", "area", "capacity", "temperature",
        "speed", "statistic", "duration", "year", "calendar_part", "age", "latitude", "longitude", "version", "value",
        "level",
    ), "measure"),
    **dict.fromkeys((
        "event_time", "start_time", "end_time", "due_time", "created_time", "updated_time", "birth_date", "death_date",
        "name", "given_name", "family_name", "title", "abbreviation", "email", "phone", "network_address",
        "street_address", "city_of", "region_of", "postal_code", "country_of", "location", "description", "note",
        "content", "geometry", "url", "file", "username",
    ), "description"),
    **dict.fromkeys((
        "type", "status", "flag", "priority", "role_played", "method", "reason", "result", "gender", "demographic",
        "language", "currency_of", "unit", "color", "time_zone",
    ), "class"),
}  # fmt: skip
MOST_READINGS = 3
"""Of a column so many readings are compared with those of another."""
SURE_READING = 0.7


class Roles(NamedTuple):
    """How far a column is a key, a measure, a description, a class; together at most 1."""

    key: float = 0.0
    measure: float = 0.0
    description: float = 0.0
    kind: float = 0.0


UNKNOWN = Roles()
NO_PROFILES = Profiles((), {})


@dataclass(frozen=True)
class Background:
    attributes: Profiles = NO_PROFILES
    entities: Profiles = NO_PROFILES
    readings: Mapping[str, tuple[ReadName, ...]] = field(default_factory=dict)
    written: frozenset[frozenset[str]] = frozenset()

    @cached_property
    def _members(self) -> NDArray[np.float64]:
        """Which identity is in which group, as a matrix."""
        order: tuple[Group, ...] = ("key", "measure", "description", "class")
        return np.array([[GROUPS.get(name) == group for group in order] for name in self.attributes.identities], float)

    def roles(self, column: str) -> Roles:
        profile = self.attributes.by_reference.get(column)
        if profile is None:
            return UNKNOWN
        return Roles(*map(float, profile @ self._members))

    def share(self, column: str, attribute: str) -> float:
        """How far a column is this attribute."""
        profile = self.attributes.by_reference.get(column)
        if profile is None or attribute not in self.attributes.identities:
            return 0.0
        return float(profile[self.attributes.identities.index(attribute)])

    def same_attribute(self, one: str, other: str) -> float:
        return _shared(self.attributes, one, other)

    def same_entity(self, one: str, other: str) -> float:
        """Of two columns, or of a column and a table."""
        return _shared(self.entities, one, other)

    def meaning(self, left: str, right: str) -> float:
        """How well two columns agree in what they are read as, the surest readings first."""
        best = 0.0
        for one in self._names(left):
            for other in self._names(right):
                sure = min(1.0, min(one.confidence, other.confidence) / SURE_READING)
                best = max(best, sure * agreement(_told(one.name), _told(other.name)))
        return best

    def means_table(self, left: str, right: str, table: str) -> float:
        """How well a column is read as the thing that the table on the right is read as."""
        best = 0.0
        keys = self._names(right) or (ReadName("", 1.0),)
        for one in self._names(left):
            for other in self._names(table):
                sure = min(1.0, min(one.confidence, other.confidence) / SURE_READING)
                best = max(best, sure * column_names_table(one.name, other.name, keys[0].name))
        return best

    def is_written(self, one: str, other: str) -> bool:
        return frozenset((one, other)) in self.written

    def _names(self, reference: str) -> tuple[ReadName, ...]:
        return self.readings.get(reference, ())[:MOST_READINGS]


def _told(name: str) -> tuple[str, ...]:
    return stem(name) or words(name)


def _shared(profiles: Profiles, one: str, other: str) -> float:
    first, second = profiles.by_reference.get(one), profiles.by_reference.get(other)
    return 0.0 if first is None or second is None else float(np.minimum(first, second).sum())


WRITTEN = 0.97
"""A join that people wrote in SQL, and that the values bear out, is believed at least so much."""
NEARLY_AS_MUCH = 0.9
LEAST_BELIEVED = 0.25
"""A join that is believed less is not shown."""
PROVEN, PROVEN_ASIDE, PROVEN_BITS, KEY_ROLE = 0.93, 0.8, 1_000.0, 0.6
"""On the environments that taught the judging all joins of such keys hold, 60 of them listed."""
SURE_BY_PREFIX = 0.85
"""Of two columns whose every value begins with the same word, one of them unique and holding the other."""
FEW_BITS, TELLING_EACH, LEAST_TELLING = 150.0, 8.0, 10
"""Fewer shared values prove a key where each tells more."""
CONTAINED, SURE_KEY, LEAST_CONTAINED, ALL_CONTAINED, LEAST_EACH = 0.7, 0.8, 50, 0.99, 2.0
LEAST_PART, MOST_PARTS, TOGETHER = 0.1, 6, 0.02
ONLY_KEY, SOME_HELD, LEAST_ONLY, VERY_TELLING = 0.7, 0.3, 30, 16.0
EQUAL, EQUAL_BITS = 0.97, 300.0
LEAST_IN_COMMON = 0.25
ADDRESSES, SAME_ADDRESSES, LEAST_ADDRESSES = 0.4, 0.75, 0.3
REPEATED = 0.5
ELSEWHERE = 0.5
"""A key of the own table that so few rows refer to is no second name of the row itself."""
FULLY_SAID, SURE_ROLE, UNIQUE, FORBIDDEN = 0.9, 0.5, 0.98, 0.2


class Sides(NamedTuple):
    """What the two sides of a candidate are called in the state."""

    left: str
    right: str
    right_table: str
    same_prefix: float
    """How far the two are believed to join because all values of both columns begin with the same letters."""


class Judged(NamedTuple):
    """What is looked at besides the features of the values and names."""

    containment: float
    coverage: float
    left_is_key: float
    right_is_main: float
    piece: float
    left_key: float
    right_key: float
    keys_meet: float
    measure_meets_key: float
    description_meets_key: float
    measures_meet: float
    descriptions_meet: float
    same_attribute: float
    same_entity: float
    entity_of_table: float
    meaning: float
    means_table: float
    said: float
    said_lead: float
    chance: float
    chance_unsaid: float
    unsaid: float
    bits: float
    hub: float
    same_things: float
    collects_keys: float
    telling_keys: float
    own_table: float
    same_serials: float
    prefix: float
    proposed: float
    proven: float
    proven_agreed: float
    same_source: float
    tightest: float
    """Of the right sides in the source that hold the column, whether this one has the fewest keys that it lacks."""
    few_rivals: float
    equal: float
    """How far the two hold the same values, as far as that is no chance."""
    telling_each: float
    """How much one shared key tells."""
    said_in_source: float
    keys_in_source: float


JUDGED = Judged._fields


@functools.cache
def weights() -> tuple[float, NDArray[np.float64]]:
    content = json.loads(resources.files(__package__).joinpath("judging.json").read_text(encoding="utf-8"))
    return float(content["constant"]), np.array([float(content["weights"].get(name, 0.0)) for name in JUDGED])


def judged(candidates: Sequence[Candidate], sides: Sequence[Sides], background: Background) -> list[Scored]:
    """The candidates with what is believed of them."""
    if not candidates:
        return []
    constant, each = weights()
    total = constant + features_of(candidates, sides, background) @ each
    likelihoods = 1 / (1 + np.exp(-np.clip(total, -30, 30)))
    found: list[Scored] = []
    spread = _spread_over_several(candidates, sides, background)
    only = _only_keys(candidates, sides, background)
    settled = _named_in_source(candidates, sides)
    for candidate, side, likelihood in zip(candidates, sides, likelihoods, strict=True):
        if candidate.left.is_names:
            continue
        believed = names_of_tables(candidate) if candidate.right.is_names else float(likelihood)
        if _is_proven(candidate, side, background):
            believed = max(believed, PROVEN if Features(*candidate.features).right_is_main else PROVEN_ASIDE)
        if _are_equal_keys(candidate, side, background):
            believed = max(believed, PROVEN_ASIDE)
        if _are_of_the_same_things(candidate, side, background):
            believed = max(believed, PROVEN_ASIDE)
        if _is_list_of_its_name(candidate, side):
            believed = max(believed, PROVEN_ASIDE)
        if _is_named_key(candidate, side, background) or _is_all_contained(candidate, side, background):
            believed = max(believed, CONTAINED)
        if (candidate.left.number, candidate.right.number) in only:
            believed = max(believed, ONLY_KEY)
        if _are_telling_by_name(candidate, side, background):
            believed = max(believed, PROVEN_ASIDE)
        if _points_into_own_table(candidate, side, background):
            believed = max(believed, COLLECTED)
        if _are_addresses(candidate, side, background):
            believed = max(believed, ADDRESSES + (SAME_ADDRESSES - ADDRESSES) * candidate.overlap.containment)
        if (candidate.left.number, candidate.right.number) in spread:
            believed = max(believed, PROVEN_ASIDE)
        believed = max(believed, side.same_prefix)
        believed = min(believed, _most(candidate, side, background))
        if candidate.left.number in settled and _is_far_by_chance(candidate, side):
            believed = min(believed, FORBIDDEN)
        if background.is_written(side.left, side.right) and candidate.overlap.found:
            believed = max(believed, WRITTEN)
        found.append(Scored(candidate, believed))
    return found


def _is_proven(candidate: Candidate, side: Sides, background: Background) -> bool:
    """Whether nearly all of a key is found in another one, each value of which would be unlikely there by itself: such
    keys are of the same things, whatever they are called."""
    overlap = candidate.overlap
    shared = overlap.containment * overlap.left.keys
    left, right = background.roles(side.left), background.roles(side.right)
    if (
        overlap.containment < 0.9
        or held_by_chance(overlap)
        or "piece" in (overlap.left.form, overlap.right.form)
        or candidate.left.table == candidate.right.table
        or right.key < KEY_ROLE
    ):
        return False
    if "head" in (overlap.left.form, overlap.right.form) and overlap.containment < EQUAL:
        return False  # With a digit less, numbers are met more easily.
    many = candidate.bits >= max(PROVEN_BITS, BITS_EACH * shared)
    if many and left.key >= KEY_ROLE and overlap.right.uniqueness >= 0.95:
        return True
    return (
        candidate.bits >= max(FEW_BITS, TELLING_EACH * shared)
        and overlap.found >= LEAST_TELLING
        and left.measure + left.description < KEY_ROLE
        and overlap.right.uniqueness >= 0.9
    )


def _are_equal_keys(candidate: Candidate, side: Sides, background: Background) -> bool:
    """Whether two keys hold the very same values, which do not lie close together: both list the same things."""
    overlap = candidate.overlap
    return (
        min(overlap.containment, candidate.coverage) >= EQUAL
        and candidate.bits >= EQUAL_BITS
        and not held_by_chance(overlap)
        and not {"piece", "head"} & {overlap.left.form, overlap.right.form}
        and candidate.left.table != candidate.right.table
        and min(background.roles(side.left).key, background.roles(side.right).key) >= KEY_ROLE
    )


def _are_of_the_same_things(candidate: Candidate, side: Sides, background: Background) -> bool:
    """Whether two keys of one kind of thing, in two sources that know only some of it in common, share what chance does
    not give: customers of two products."""
    overlap = candidate.overlap
    shared = overlap.containment * overlap.left.keys
    return (
        min(overlap.containment, candidate.coverage) >= LEAST_IN_COMMON
        and min(overlap.left.uniqueness, overlap.right.uniqueness) >= UNIQUE
        and candidate.bits >= max(EQUAL_BITS, TELLING_EACH * shared)
        and not held_by_chance(overlap)
        and not {"piece", "head"} & {overlap.left.form, overlap.right.form}
        and _source(side.left) != _source(side.right)
        and background.same_entity(side.left, side.right) >= SURE_ROLE
        and min(background.roles(side.left).key, background.roles(side.right).key) >= KEY_ROLE
    )


def _is_named_key(candidate: Candidate, side: Sides, background: Background) -> bool:
    """Whether a key is called like the key of another table of its source that holds all of it: then numbers need not
    tell anything by themselves."""
    overlap = candidate.overlap
    values = Features(*candidate.features)
    return (
        min(candidate.name, values.columns_agree) >= FULLY_SAID
        and overlap.left.form == overlap.right.form == "whole"
        and overlap.containment >= EQUAL
        and bool(values.right_is_main)
        and overlap.right.uniqueness >= UNIQUE
        and candidate.left.table != candidate.right.table
        and candidate.left.uniqueness < UNIQUE
        and _source(side.left) == _source(side.right)
        and min(background.roles(side.left).key, background.roles(side.right).key) >= SURE_KEY
    )


def _is_list_of_its_name(candidate: Candidate, side: Sides) -> bool:
    """Whether a column of codes is called like the first column of a list that has these codes and hardly others, each
    once: letters, since the small numbers of two lists are the same."""
    overlap = candidate.overlap
    values = Features(*candidate.features)
    return (
        values.columns_agree >= FULLY_SAID
        and side.left.rpartition(".")[2].lower() == side.right.rpartition(".")[2].lower()
        and overlap.left.form == overlap.right.form == "whole"
        and not overlap.left.is_number
        and min(overlap.containment, candidate.coverage) >= EQUAL
        and overlap.right.uniqueness >= UNIQUE
        and bool(values.right_is_main)
        and candidate.left.uniqueness <= REPEATED
        and candidate.left.table != candidate.right.table
    )


def _is_all_contained(candidate: Candidate, side: Sides, background: Background) -> bool:
    """Whether very many values are all keys of another table, although one by itself would be no wonder; written as
    codes, with a letter before or zeros that fill them up, since plain counters hold each other by how they grow."""
    overlap = candidate.overlap
    return (
        (candidate.right.padded or candidate.left.padded or "affix" in (overlap.left.form, overlap.right.form))
        and overlap.containment >= ALL_CONTAINED
        and overlap.found >= LEAST_CONTAINED
        and candidate.bits >= max(EQUAL_BITS, LEAST_EACH * overlap.containment * overlap.left.keys)
        and not held_by_chance(overlap)
        and not {"piece", "head"} & {overlap.left.form, overlap.right.form}
        and overlap.right.uniqueness >= UNIQUE
        and bool(Features(*candidate.features).right_is_main)
        and candidate.left.table != candidate.right.table
        and min(background.roles(side.left).key, background.roles(side.right).key) >= SURE_KEY
    )


def _are_telling_by_name(candidate: Candidate, side: Sides, background: Background) -> bool:
    """Whether two columns are called or read the same and values of which each tells very much stand in both: addresses
    of devices, numbers of accounts, whatever role they play."""
    overlap = candidate.overlap
    shared = overlap.containment * overlap.left.keys
    return (
        overlap.containment >= EQUAL
        and overlap.found >= LEAST_CONTAINED
        and overlap.right.uniqueness >= UNIQUE
        and overlap.left.form == overlap.right.form == "whole"
        and candidate.bits >= VERY_TELLING * shared
        and overlap.right.code_share >= 0.9
        and candidate.left.table != candidate.right.table
        and max(Features(*candidate.features).columns_agree, background.meaning(side.left, side.right)) >= FULLY_SAID
    )


def _named_in_source(candidates: Sequence[Candidate], sides: Sequence[Sides]) -> set[int]:
    """The columns that are called after a key of their own source that has all their values."""
    return {
        candidate.left.number
        for candidate, side in zip(candidates, sides, strict=True)
        if _source(side.left) == _source(side.right)
        and not candidate.right.is_names
        and candidate.name >= FULLY_SAID
        and candidate.overlap.containment >= EQUAL
        and candidate.overlap.right.uniqueness >= UNIQUE
        and Features(*candidate.features).right_is_main
    }


def _is_far_by_chance(candidate: Candidate, side: Sides) -> bool:
    """Whether the right is a counter of another source, as a warehouse gives its own numbers to what it loads."""
    return _source(side.left) != _source(side.right) and held_by_chance(candidate.overlap)


def _only_keys(candidates: Sequence[Candidate], sides: Sequence[Sides], background: Background) -> set[tuple[int, int]]:
    """Pairs of a key with the only key of a table that has its values, all of them: systems that count through all
    tables, or begin each table's numbers elsewhere, have no other that they could be. The tables of its own source
    count, and where none of these has any, those of all sources."""
    able: dict[int, list[tuple[Candidate, Sides]]] = {}
    for candidate, side in zip(candidates, sides, strict=True):
        is_main = not candidate.right.is_names and Features(*candidate.features).right_is_main
        if is_main and candidate.overlap.containment >= SOME_HELD:
            able.setdefault(candidate.left.number, []).append((candidate, side))
    found: set[tuple[int, int]] = set()
    for several in able.values():
        near = [(candidate, side) for candidate, side in several if _source(side.left) == _source(side.right)]
        if len(near or several) == 1:
            [(candidate, side)] = near or several
            if _may_be_only_key(candidate, side, background, bool(near)):
                found.add((candidate.left.number, candidate.right.number))
    return found


def _may_be_only_key(candidate: Candidate, side: Sides, background: Background, in_source: bool) -> bool:
    overlap = candidate.overlap
    own_table = candidate.left.table == candidate.right.table
    refers = candidate.coverage < ELSEWHERE if own_table else candidate.left.uniqueness < UNIQUE
    return (
        overlap.containment >= ALL_CONTAINED
        and overlap.left.form == overlap.right.form == "whole"
        and overlap.found >= (LEAST_TELLING if own_table else LEAST_ONLY)
        and overlap.right.uniqueness >= UNIQUE
        and (refers or candidate.coverage < ELSEWHERE)
        and (in_source or (candidate.bits >= EQUAL_BITS and not held_by_chance(overlap)))
        and min(background.roles(side.left).key, background.roles(side.right).key) >= SURE_KEY
    )


def _spread_over_several(
    candidates: Sequence[Candidate], sides: Sequence[Sides], background: Background
) -> set[tuple[int, int]]:
    """Pairs of a column with tables of one source that together hold all of it, each a part that the others lack: the
    customer of a case is a person or a company."""
    parts: dict[tuple[int, str], list[Candidate]] = {}
    for candidate, side in zip(candidates, sides, strict=True):
        overlap = candidate.overlap
        if (
            LEAST_PART <= overlap.containment < ALL_CONTAINED
            and overlap.found >= LEAST_TELLING
            and candidate.bits >= TELLING_EACH * overlap.containment * overlap.left.keys
            and overlap.right.uniqueness >= UNIQUE
            and candidate.features
            and Features(*candidate.features).right_is_main
            and candidate.left.table != candidate.right.table
            and min(background.roles(side.left).key, background.roles(side.right).key) >= KEY_ROLE
        ):
            parts.setdefault((candidate.left.number, _source(side.right)), []).append(candidate)
    found: set[tuple[int, int]] = set()
    for several in parts.values():
        for size in (2, 3):
            for some in combinations(several[:MOST_PARTS], size):
                if abs(sum(each.overlap.containment for each in some) - 1) <= TOGETHER:
                    found |= {(each.left.number, each.right.number) for each in some}
    return found


def _points_into_own_table(candidate: Candidate, side: Sides, background: Background) -> bool:
    """Whether a few rows name others of the same table by a key whose values tell something: the one they replace, the
    one they belong to. Whether these are other rows is seen in the rows themselves."""
    overlap = candidate.overlap
    return refers_to_own_table(candidate) or (
        candidate.left.table == candidate.right.table
        and overlap.containment >= EQUAL
        and overlap.left.form == overlap.right.form == "whole"
        and overlap.right.uniqueness >= UNIQUE
        and candidate.bits >= COLLECTED_BITS / 5
        and candidate.coverage < ELSEWHERE
        and background.roles(side.right).key >= KEY_ROLE
    )


def _are_addresses(candidate: Candidate, side: Sides, background: Background) -> bool:
    """Whether both are e-mail addresses, of which the right has each once: an address is somebody's."""
    overlap = candidate.overlap
    return (
        min(background.share(side.left, "email"), background.share(side.right, "email")) >= KEY_ROLE
        and overlap.containment >= LEAST_ADDRESSES
        and overlap.right.uniqueness >= 0.9
        and candidate.bits >= PROVEN_BITS
    )


def _most(candidate: Candidate, side: Sides, background: Background) -> float:
    """What a join may be believed at most. Roles forbid some whatever the values say: a measure, a counter or a year
    refers to nothing, and nothing refers to one; the counters of two tables meet because both count."""
    same_table = candidate.left.table == candidate.right.table
    if same_table and (candidate.left.uniqueness >= UNIQUE and candidate.coverage >= ELSEWHERE):
        return FORBIDDEN  # Two names of the same row, which refers to no other.
    one, other = background.roles(side.left), background.roles(side.right)
    if _points_into_own_table(candidate, side, background):
        return FORBIDDEN if one.measure >= SURE_ROLE else 1.0
    said = max(candidate.name, background.meaning(side.left, side.right), background.means_table(*side[:3]))
    if min(one.measure, other.measure) >= SURE_ROLE and not Features(*candidate.features).right_is_main:
        return FORBIDDEN  # The price of a line is called like the price of its article, and refers to nothing.
    if said >= FULLY_SAID or candidate.right.is_names:
        return 1.0
    if one.measure >= SURE_ROLE or other.measure >= SURE_ROLE:
        return FORBIDDEN
    counters = candidate.left.uniqueness >= UNIQUE and candidate.right.uniqueness >= UNIQUE
    return FORBIDDEN if counters and held_by_chance(candidate.overlap) else 1.0


def features_of(candidates: Sequence[Candidate], sides: Sequence[Sides], background: Background) -> NDArray[np.float64]:
    """A row for each candidate, in the order of `JUDGED`."""
    said = [
        max(candidate.name, background.meaning(each.left, each.right), background.means_table(*each[:3]))
        for candidate, each in zip(candidates, sides, strict=True)
    ]
    rivals = _rivals(candidates, said)
    hubs = _hubs(candidates)
    inside = _in_source(candidates, sides)
    rows = [
        _judged(candidate, side, background, said[place], rivals[place], hubs, inside[place])
        for place, (candidate, side) in enumerate(zip(candidates, sides, strict=True))
    ]
    return np.array(rows)


def _judged(
    candidate: Candidate,
    side: Sides,
    background: Background,
    said: float,
    rival: float,
    hubs: Counter[int],
    inside: tuple[float, float],
) -> Judged:
    left, right = side.left, side.right
    one, other = background.roles(left), background.roles(right)
    chance = float(held_by_chance(candidate.overlap))
    entity = background.same_entity(left, right)
    entity_of_table = background.same_entity(left, side.right_table)
    agree = max(said, entity, entity_of_table)
    telling = min(1.0, math.log2(1 + candidate.bits) / 14)
    values = Features(*candidate.features)
    same_source = float(_source(left) == _source(right))
    each = candidate.bits / max(1.0, candidate.overlap.containment * candidate.overlap.left.keys)
    return Judged(
        containment=values.containment,
        coverage=values.coverage,
        left_is_key=values.left_is_key,
        right_is_main=values.right_is_main,
        piece=values.piece,
        left_key=one.key,
        right_key=other.key,
        keys_meet=one.key * other.key,
        measure_meets_key=one.measure * other.key,
        description_meets_key=(one.description + one.kind) * other.key,
        measures_meet=one.measure * other.measure,
        descriptions_meet=(one.description + one.kind) * (other.description + other.kind),
        same_attribute=background.same_attribute(left, right),
        same_entity=entity,
        entity_of_table=entity_of_table,
        meaning=background.meaning(left, right),
        means_table=background.means_table(*side[:3]),
        said=said,
        said_lead=said - rival,
        chance=chance,
        chance_unsaid=chance * (1 - agree),
        unsaid=1 - agree,
        bits=telling,
        hub=min(1.0, math.log2(1 + hubs[candidate.right.number]) / 5),
        same_things=float(same_things(candidate)),
        collects_keys=float(collects_keys(candidate)),
        telling_keys=float(holds_telling_keys(candidate)),
        own_table=float(refers_to_own_table(candidate)),
        same_serials=float(same_serials(candidate)),
        prefix=float(side.same_prefix >= SURE_BY_PREFIX),
        proposed=_logit(likelihood_of(candidate)) / 6,
        proven=(1 - chance) * telling * candidate.overlap.containment * one.key * other.key,
        proven_agreed=(1 - chance) * telling * candidate.overlap.containment * agree,
        same_source=same_source,
        tightest=inside[0],
        few_rivals=inside[1],
        equal=(1 - chance)
        * min(1.0, candidate.bits / EQUAL_BITS)
        * min(candidate.overlap.containment, candidate.coverage),
        telling_each=min(1.0, each / 8),
        said_in_source=same_source * said,
        keys_in_source=same_source * one.key * other.key * (candidate.overlap.containment >= EQUAL),
    )


def _source(reference: str) -> str:
    return reference.partition("/")[0]


def _in_source(candidates: Sequence[Candidate], sides: Sequence[Sides]) -> list[tuple[float, float]]:
    """For each candidate how tight its right side is beside the tightest of the same source that hold as much of the
    column, and whether there are few of these."""
    by_left: dict[tuple[int, str], list[int]] = {}
    for place, (candidate, side) in enumerate(zip(candidates, sides, strict=True)):
        if not candidate.right.is_names:
            by_left.setdefault((candidate.left.number, _source(side.right)), []).append(place)
    found = [(0.0, 0.0)] * len(candidates)
    for places in by_left.values():
        for place in places:
            least = NEARLY_AS_MUCH * candidates[place].overlap.containment
            near = [candidates[each].coverage for each in places if candidates[each].overlap.containment >= least]
            found[place] = candidates[place].coverage / max(*near, 1e-6), 1 / len(near)
    return found


def _logit(share: float) -> float:
    bounded = max(0.002, min(0.998, share))
    return math.log(bounded / (1 - bounded))


def _rivals(candidates: Sequence[Candidate], said: Sequence[float]) -> list[float]:
    """For each candidate how well the best other right side of the same column agrees in name or meaning, of those that
    hold about as much."""
    by_left: dict[int, list[int]] = {}
    for place, candidate in enumerate(candidates):
        by_left.setdefault(candidate.left.number, []).append(place)
    found = [0.0] * len(candidates)
    for places in by_left.values():
        for place in places:
            least = NEARLY_AS_MUCH * candidates[place].overlap.containment
            others = (said[each] for each in places if each != place and candidates[each].overlap.containment >= least)
            found[place] = max(others, default=0.0)
    return found


def _hubs(candidates: Sequence[Candidate]) -> Counter[int]:
    """How many tables have a column that the right side holds better than any other does."""
    best: dict[int, Candidate] = {}
    for candidate in candidates:
        known = best.get(candidate.left.number)
        if known is None or _held(candidate) > _held(known):
            best[candidate.left.number] = candidate
    tables = {(each.right.number, each.left.table) for each in best.values() if each.left.table != each.right.table}
    return Counter(number for number, _ in tables)


def _held(candidate: Candidate) -> tuple[float, float]:
    return candidate.name + candidate.overlap.containment, candidate.bits
