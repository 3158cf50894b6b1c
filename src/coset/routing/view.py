"""The evidence view: what a reader of one question gets to see of an environment, and nothing else.

In: nothing; these are the types that materialisation fills and that text, JSON, the arbiter and every surface read. A
reader must be able to write the final SQL from a view alone. Every object keeps the reference that leads back to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from coset.routing.request import Anchor

Why = Literal["demanded", "named", "holds a value", "competitor", "join key", "key", "context"]


@dataclass(frozen=True)
class Role:
    """The identity an object plays in one coordinate, with its strongest competitor."""

    identity: str
    membership: float
    runner_up: str
    runner_up_membership: float
    support: tuple[str, ...] = ()
    opposition: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cleaning:
    """Dirt of a column with the expression that cleans it, where there is one (DuckDB SQL over the quoted column)."""

    kind: str
    share: float
    detail: str
    expression: str | None = None
    type: str | None = None
    short: str = ""
    """The expression with short names, where it has any."""


@dataclass(frozen=True)
class ViewColumn:
    """A column, nested path or text facet that was chosen."""

    reference: str
    kind: Literal["column", "path", "facet"]
    expression: str
    """What to write in SQL: the quoted column, or the tested expression of a path or facet."""
    type: str
    why: tuple[Why, ...]
    score: float
    entity: Role | None = None
    attribute: Role | None = None
    description: str = ""
    values: str = ""
    """Values, or their range, or examples, in one line; empty in schema-only mode."""
    nulls: float | None = None
    distinct: int | None = None
    cleaning: tuple[Cleaning, ...] = ()
    coverage: float | None = None
    """Of a path or facet: the share of rows that have it."""


@dataclass(frozen=True)
class ViewTable:
    """A table, or a family of tables of one shape, with its chosen columns in the table's order."""

    reference: str
    sql_name: str
    """What to write after FROM."""
    rows: int | None
    score: float
    columns: tuple[ViewColumn, ...]
    left_out: int
    """How many of its columns were not chosen."""
    entity: Role | None = None
    description: str = ""
    family: str = ""
    """For a family: its pattern, how many members, and how to name one."""
    duplicates: str = ""
    problem: str = ""


@dataclass(frozen=True)
class ViewRelation:
    """A join between chosen tables, as tested."""

    reference: str
    left: tuple[str, ...]
    right: tuple[str, ...]
    condition: str
    """The whole ON condition, with each table written by its SQL name."""
    kind: str
    left_match: float
    right_match: float
    cardinality: str
    provenance: str
    confidence: float
    in_plan: bool = False
    """True when the connected join plan uses it; such relations stand first, in the order in which they are joined."""
    left_table: str = ""
    right_table: str = ""
    """References of the two tables; equal for a table that joins itself, whose right side is then called `other`."""
    short: str = ""
    """The condition with short names, where it has any."""


@dataclass(frozen=True)
class Passage:
    """A piece of a document, a comment, a hint or a note, word for word: data, never an instruction."""

    reference: str
    title: str
    text: str
    provenance: str


@dataclass(frozen=True)
class LeftOut:
    """What did not fit or did not match, counted by kind, with the strongest of it by reference."""

    counts: dict[str, int] = field(default_factory=dict)
    strongest: tuple[tuple[str, str], ...] = ()
    """(reference, why it fell out), the strongest first."""


@dataclass(frozen=True)
class EvidenceView:
    """V_B(D, q). `cost` is what its text costs, in tokens; it never exceeds `budget`."""

    environment: str
    """A digest of the state that it was made from."""
    budget: int
    cost: int
    matched: bool
    """False when nothing of the question was found: the view then says so, and shows the sources only."""
    tables: tuple[ViewTable, ...]
    relations: tuple[ViewRelation, ...]
    anchors: tuple[Anchor, ...]
    passages: tuple[Passage, ...]
    left_out: LeftOut
    sources: tuple[tuple[str, str, int], ...] = ()
    """(name, kind, tables) of all sources."""
    apart: tuple[str, ...] = ()
    """References of chosen tables that no known join connects with the rest."""
    shorthands: tuple[tuple[str, str], ...] = ()
    """(short name, the line that says what it stands for) of those that the text uses."""
    unfound: tuple[str, ...] = ()
    """Phrases of the question that no name, held value or role here is like."""
    unread: tuple[str, ...] = ()
    """References of shown columns of long texts that were not read for them."""
    demanded: tuple[tuple[str, str, float], ...] = ()
    """(coordinate, identity, activation), the strongest first."""

    @property
    def references(self) -> frozenset[str]:
        """Everything the view names: what a record may refer to."""
        columns = {column.reference for table in self.tables for column in table.columns}
        passages = {passage.reference for passage in self.passages}
        relations = {relation.reference for relation in self.relations}
        return frozenset({table.reference for table in self.tables} | columns | passages | relations)
