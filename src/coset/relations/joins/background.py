"""What is known of columns besides their values: roles, what they are read as, and whether people joined them in SQL.

In: profiles, readings and written joins, by reference. Out: `Background`, which compares two columns by them, in
numbers from 0 to 1. Knows which roles are keys, measures and descriptions; a role that a user adds is none of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coset.relations.joins.names import agreement, column_names_table, stem, words
from coset.state.join_background import Profiles, ReadName

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
