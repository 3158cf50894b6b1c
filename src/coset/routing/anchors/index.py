"""The anchor index in memory: names, values, codes and ranges of one environment.

In: an evidence state with its value index, or an observed environment without rows. Out: an `AnchorIndex`, which
`find_anchors` looks phrases up in. It is made of arrays, and reading a question never scans it. Opens no source.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from coset.readings.observed import ObservedEnvironment
from coset.routing.anchors.hashed_texts import HashedTexts, Rows
from coset.routing.anchors.held_values import HeldValues
from coset.routing.anchors.named_objects import NamedObjects, ObjectList
from coset.routing.anchors.ranges import RangeList, Ranges
from coset.routing.anchors.spelling import Spelling
from coset.routing.anchors.text_forms import normalised
from coset.state import EvidenceState


@dataclass(frozen=True)
class LabelledCode:
    """In the object, the code stands for the label."""

    object: int
    code: str
    label: str
    origin: str


@dataclass(frozen=True)
class TitledDocument:
    """A text about the data, found by its title or by the term that it explains."""

    reference: str
    term: str
    kind: Literal["title", "term"]


@dataclass(frozen=True)
class Searchable:
    """A column whose values are not held: it can be asked at its source."""

    object: int
    source: str
    schema: str | None
    table: str
    column: str
    is_text: bool
    reason: str
    personal: str | None = None
    """The kind of personal data, if it holds any."""


@dataclass(frozen=True)
class TextColumn:
    """A column of long texts, which are not held."""

    object: int
    table: tuple[str, ...]
    """The table as SQL names it, part by part."""
    column: str
    rows: int


@dataclass(frozen=True)
class MemberKey:
    """A table whose rows each name a member of a family of tables."""

    table: tuple[str, ...]
    column: str
    family: int
    members: frozenset[str]
    expressions: dict[int, str]
    """What to select for each of the table's columns, paths and facets."""


@dataclass
class IndexParts:
    """What an index is made of, as it is collected."""

    objects: ObjectList = field(default_factory=ObjectList)
    ranges: RangeList = field(default_factory=RangeList)
    values: tuple[Rows, Any, Any] | None = None
    codes: list[LabelledCode] = field(default_factory=list)
    documents: list[TitledDocument] = field(default_factory=list)
    related: dict[int, list[int]] = field(default_factory=dict)
    """Columns by the columns that they join with."""
    searchable: list[Searchable] = field(default_factory=list)
    texts: list[TextColumn] = field(default_factory=list)
    """Columns of long texts."""
    member_keys: list[MemberKey] = field(default_factory=list)
    has_rows: bool = False
    """Whether there are tables with rows behind it, not schemas alone."""
    unsearchable: list[tuple[str, str]] = field(default_factory=list)
    """(reference, why) of columns of which only some values are held, and no more can be asked for."""


class AnchorIndex:
    """Everything that phrases are looked up in. Read only, so threads may share it."""

    def __init__(self, parts: IndexParts) -> None:
        import pyarrow as pa

        self.objects = NamedObjects(parts.objects)
        self.ranges = Ranges(parts.ranges)
        nothing = (np.zeros(0, dtype=np.int64), pa.array([], pa.string()), pa.array([], pa.string()))
        self.values = HeldValues(*(parts.values or nothing))
        self.codes = tuple(parts.codes)
        self.labels = HashedTexts([normalised(code.label) for code in parts.codes])
        self.documents = tuple(parts.documents)
        self.terms = HashedTexts([normalised(document.term) for document in parts.documents])
        self.related = parts.related
        self.searchable = tuple(parts.searchable)
        self.unsearchable = tuple(parts.unsearchable)
        self.has_rows = parts.has_rows
        self.texts = tuple(parts.texts)
        self.member_keys = {number: key for key in parts.member_keys for number in key.expressions}
        self.spelling = Spelling((self.objects.vocabulary, self.values.words))

    def __len__(self) -> int:
        return len(self.objects)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Objects by their reference."""
        return {reference: number for number, reference in enumerate(self.objects.references)}

    @classmethod
    def load(cls, state: EvidenceState) -> AnchorIndex:
        """The index of a state. Values are there when the value index was built for the tables as they are now."""
        from coset.routing.anchors.loading import parts_of_state

        return cls(parts_of_state(state))

    @classmethod
    def from_observed(cls, environment: ObservedEnvironment) -> AnchorIndex:
        """The index of schemas without rows: names, labels, descriptions, and sample values where there are any."""
        from coset.routing.anchors.observed_parts import parts_of_observed

        return cls(parts_of_observed(environment))
