"""The evidence view: what a reader of one question gets to see of an environment, and nothing else.

In: nothing; these are the types that materialisation fills and that text, JSON, the arbiter and every surface read. A
reader must be able to write the final SQL from a view alone. Every object keeps the reference that leads back to it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from coset.routing.request import Anchor

FORMAT = 2
"""The version of the JSON form."""
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
    reading: str = ""
    """What it is in plain words, where its name does not say so."""
    codes: str = ""
    """What its codes stand for, or which table says so."""
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
    reading: str = ""
    """What a row is, in plain words."""
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
    """What it is called; of a file its name."""
    text: str
    provenance: str
    whole: bool = False
    """A whole document, which stands in the prefix; other passages were chosen for the question."""
    status: str = ""
    """`superseded` or `draft` where it is no longer, or not yet, in force."""


@dataclass(frozen=True)
class ViewRule:
    """A sentence that changes how figures are computed. A general one holds for every question."""

    reference: str
    text: str
    scope: Literal["general", "particular"]
    about: tuple[str, ...] = ()
    """References of the tables and columns that it governs."""
    status: str = ""


@dataclass(frozen=True)
class ViewCodes:
    """A list of codes with what they stand for, which columns of the details name."""

    name: str
    source: str
    """The table of the list, as SQL names it, and which part of it is meant."""
    codes: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class DirectoryEntry:
    """A table in one line."""

    reference: str
    sql_name: str
    reading: str = ""
    """What a row is, in plain words."""
    rows: int | None = None
    copies: int = 0
    """How many backups, staging tables, year copies and the like are folded into it."""
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class LeftOut:
    """What did not fit or did not match, counted by kind, with the strongest of it by reference."""

    counts: dict[str, int] = field(default_factory=dict)
    strongest: tuple[tuple[str, str], ...] = ()
    """(reference, why it fell out), the strongest first."""


@dataclass(frozen=True)
class EvidenceView:
    """V_B(D, q), on two floors: a prefix that is the same for every question of an environment (sources, general rules,
    whole documents, main tables, directory), and the details of the tables that this question likely needs. `cost` is
    what its text costs, in tokens; the prefix has `prefix_cost` of it, and the rest never exceeds `budget`."""

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
    description: str = ""
    """What was written of the environment as a whole."""
    descriptions: tuple[tuple[str, str], ...] = ()
    """(source, what was written of it)."""
    rules: tuple[ViewRule, ...] = ()
    directory: tuple[DirectoryEntry, ...] = ()
    listed: int = 0
    """So many entries of the directory, the first, stand in the prefix; the others were chosen for the question."""
    unlisted: str = ""
    """What the directory passes over, counted: copies without an original, empty tables, tables that did not fit."""
    closed: tuple[tuple[str, str, str], ...] = ()
    """(reference, title, status) of documents that are not shown; they can be opened."""
    codes: tuple[ViewCodes, ...] = ()
    """Lists that decode columns all over the environment, told once."""
    main: tuple[ViewTable, ...] = ()
    """Tables that matter whatever is asked, as the prefix tells of them. They are among `tables`, too, with what the
    question adds."""
    main_relations: tuple[ViewRelation, ...] = ()
    """The joins between these, which are among `relations`, too."""
    main_shorthands: tuple[tuple[str, str], ...] = ()
    """Those short names that the lines of the main tables use."""
    likely_main: tuple[str, ...] = ()
    """References of the main tables that this question likely needs."""
    prefix_cost: int = 0

    @property
    def references(self) -> frozenset[str]:
        """Everything the view names: what a record may refer to."""
        found = {table.reference for table in self.tables} | {entry.reference for entry in self.directory}
        found |= {column.reference for table in self.tables for column in table.columns}
        found |= {passage.reference for passage in self.passages} | {rule.reference for rule in self.rules}
        return frozenset(found | {relation.reference for relation in self.relations})


def view_values(view: EvidenceView) -> dict[str, Any]:
    """The view in the types of JSON. Of what is told twice, as all questions see it and with what this one adds, the
    former are references."""
    parts = asdict(replace(view, main=(), main_relations=()))
    parts["main"] = [table.reference for table in view.main]
    parts["main_relations"] = [relation.reference for relation in view.main_relations]
    return {"format": FORMAT, **parts}


def view_json(view: EvidenceView) -> str:
    """One line of JSON; equal views give equal bytes. Letters beyond ASCII are escaped, so none steers a screen."""
    return json.dumps(view_values(view), ensure_ascii=True, allow_nan=False, separators=(",", ":"))
