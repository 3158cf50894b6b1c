"""Facts of an environment's objects as routing reads them from the state: plain frozen types, no choice made yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from coset.identities.inventory import Coordinate
from coset.routing.views.view import Cleaning


@dataclass(frozen=True)
class SourceFacts:
    name: str
    kind: str
    tables: int
    """With every member of a family counted."""
    schema_only: bool
    problem: str | None


@dataclass(frozen=True)
class FamilyFacts:
    pattern: str
    members: tuple[str, ...]
    relation: str
    """The name under which SQL reads all members as one."""
    naming: str
    """The column of that relation which says what member a row is of."""
    by_schema: bool = False
    """True when the members are one table in many schemas."""


@dataclass(frozen=True)
class TableFacts:
    reference: str
    order: int
    source: str
    schema: str | None
    """None where `source.table` is enough."""
    name: str
    sql_name: str
    """What to write after FROM; of a family the relation over all members."""
    rows: int | None
    comment: str
    primary_key: tuple[str, ...]
    problem: str
    columns: int
    schema_only: bool
    family: FamilyFacts | None = None
    duplicates: str = ""
    duplicates_key: str = ""


@dataclass(frozen=True)
class RoleFacts:
    """One coordinate of an object's role, with its whole profile in the inventory's order."""

    identity: str
    membership: float
    runner_up: str
    runner_up_membership: float
    profile: tuple[float, ...] = ()
    support: tuple[str, ...] = ()
    opposition: tuple[str, ...] = ()


@dataclass(frozen=True)
class ValuesFacts:
    """The values of a categorical column with their counts, the commonest first."""

    complete: bool
    distinct: int
    values: tuple[tuple[str | None, int], ...]
    role: str = ""


@dataclass(frozen=True)
class ColumnFacts:
    """A column, nested path or facet. None means not known, never zero."""

    reference: str
    table: str
    kind: Literal["column", "path", "facet"]
    order: int
    name: str
    expression: str
    type: str
    description: str = ""
    said: str = ""
    """What people said of it, which wins over everything else."""
    nulls: float | None = None
    distinct: int | None = None
    unique: bool = False
    minimum: str | None = None
    maximum: str | None = None
    mean_length: float | None = None
    examples: tuple[str, ...] = ()
    personal: str | None = None
    values: ValuesFacts | None = None
    cleaning: tuple[Cleaning, ...] = ()
    coverage: float | None = None
    """Of a path or facet: the share of rows that have it."""
    reading: str = ""
    """What it is in plain words, where its name does not say so."""
    labels: tuple[tuple[str, str], ...] = ()
    """(code, what it stands for)."""
    decoded_by: str = ""
    """The table that says what its codes stand for, as SQL names it, with the columns and rows that do."""
    roles: dict[Coordinate, RoleFacts] = field(default_factory=dict)


@dataclass(frozen=True)
class RelationFacts:
    reference: str
    left_table: str
    right_table: str
    left_columns: tuple[str, ...]
    right_columns: tuple[str, ...]
    kind: str
    left_expression: str
    right_expression: str
    left_match: float
    right_match: float
    cardinality: str
    provenance: str
    confidence: float


@dataclass(frozen=True)
class DocumentFacts:
    reference: str
    about: str
    kind: str
    title: str
    text: str
    provenance: str
