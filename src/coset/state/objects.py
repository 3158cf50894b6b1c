"""Evidence objects: everything observed about an environment, each with a reference that leads back to the source.

In: nothing; these are the types that profiles, relations, facets and diagnostics are handed on as. Every SQL expression
here is DuckDB's, written over the quoted column of the table it belongs to, and was run before it was kept.
Nothing here knows what an object means; that is for the identities.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from coset.environment.copy_names import CopyKind
from coset.environment.source import Column, Table
from coset.sql_text import identifier

Provenance = Literal["declared", "measured", "inferred", "stated"]
"""declared: by the engine (a key, a comment); measured: counted; inferred: by a rule of ours; stated: by a person."""


@dataclass(frozen=True, order=True)
class Reference:
    """Where something is: `crm/public/orders`, `crm/public/orders.buyer_id`, `crm/orders.items[].sku`.

    `path` is the column and, for nested values, the steps below it (`[]` stands for the elements of a list).
    Names that hold `/`, `.`, `[` or quotes are written in double quotes.
    """

    source: str
    schema: str | None = None
    table: str | None = None
    path: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [_quoted(part) for part in (self.source, self.schema, self.table) if part is not None]
        text = "/".join(parts)
        for number, step in enumerate(self.path):
            text += "[]" if step == "[]" and number else "." + _quoted(step)
        return text


@dataclass(frozen=True)
class Share:
    """A share of rows; `error` is 0 when every row was looked at, else the half-width of its 95 % interval."""

    value: float
    error: float = 0.0


@dataclass(frozen=True)
class ColumnProfile:
    """What a column's values look like, from one pass over its table (or over a sample, and then it says so)."""

    rows: int
    sampled_rows: int | None
    """None when every row was looked at."""
    nulls: Share
    distinct: int
    distinct_exact: bool
    minimum: str | None
    maximum: str | None
    mean_length: float | None
    maximum_length: int | None
    mean: float | None
    deviation: float | None
    shapes: tuple[tuple[str, float], ...] = ()
    """The commonest shapes of its text with their shares: `Aa 9-9` for "Ab 12-3"."""
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class ValueGroup:
    """The dictionary of a categorical column: each value with its count. `complete` is False for top and tail only."""

    complete: bool
    distinct: int
    values: tuple[tuple[str | None, int], ...]
    tail: tuple[tuple[str | None, int], ...] = ()
    role: Literal["codes", "labels", "flags", "mixed"] = "labels"


@dataclass(frozen=True)
class TextFacet:
    """Something that can be read out of a text column by an expression."""

    name: str
    kind: Literal[
        "date",
        "number",
        "amount",
        "identifier",
        "place",
        "person",
        "url",
        "email",
        "phone",
        "key_value",
        "slot",
        "list",
        "other",
    ]
    expression: str
    type: str
    coverage: Share
    distinct: int
    description: str
    examples: tuple[tuple[str, str], ...] = ()
    """Pairs of (a piece of the text, what was read)."""


DiagnosticKind = Literal[
    "null_tokens", "mixed_date_formats", "date_as_text", "number_as_text", "mixed_units", "stray_characters", "padding",
    "mixed_case", "constant", "empty", "sentinel", "counter_disagrees", "mixed_types", "encoding", "outliers",
]  # fmt: skip


LOOK_FIRST = "look before making it NULL"
"""Said in the detail of null tokens that may be values of their own."""


@dataclass(frozen=True)
class Diagnostic:
    """Dirt that changes answers, how much of it there is, and the expression that cleans it where there is one."""

    kind: DiagnosticKind
    share: Share
    detail: str
    """One sentence for a person."""
    expression: str | None = None
    type: str | None = None
    """The type of what `expression` gives."""
    examples: tuple[str, ...] = ()


@dataclass(frozen=True)
class Relation:
    """Columns of two tables that join, with the expressions as tested and what they reach.

    `kind` is the transformation that makes it work: identity, trim, case, stray_characters, prefix, suffix,
    prefix_swap, zero_padding, numeric, date, separators, piece, program, table_name.
    """

    left: tuple[Reference, ...]
    right: tuple[Reference, ...]
    kind: str
    left_expression: str
    right_expression: str
    left_match: Share
    """The share of the left's non-null rows that find a partner."""
    right_match: Share
    cardinality: Literal["1:1", "1:n", "n:1", "n:m"]
    provenance: Provenance
    confidence: float
    unmatched_left: tuple[str, ...] = ()
    unmatched_right: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Counts:
    """What is counted of a column over all rows; None for what is not counted yet."""

    present: int
    """Rows that are not NULL."""
    constant: bool | None = None
    """Whether they all hold one value."""
    padded: int | None = None
    null_words: int | None = None
    not_a_number: int | None = None


@dataclass(frozen=True)
class MeasuredProfile(ColumnProfile):
    """A column's profile with what relation and value finding need of it."""

    type: str = ""
    unique: bool | None = None
    """Whether no value occurs twice; None when that was not counted exactly."""
    whole_numbers: bool = False
    """A float or decimal column whose every value is a whole number."""
    number_text: Share | None = None
    """The share of a text column's sampled values that look like numbers."""
    date_text: Share | None = None
    top: tuple[tuple[str, float], ...] = ()
    """The commonest values of a text column with their shares of the sample's non-null values."""
    counts: Counts | None = None
    """What diagnostics have to know of every row, as far as it was counted."""


@dataclass(frozen=True)
class NestedPath:
    """A place inside a column's values. `path` begins below the column, as in `Reference.path` after its first step."""

    path: tuple[str, ...]
    """`[]` stands for the elements of a list, `*` for any key of an object or map whose keys are data."""
    type: str
    """Of what `expression` gives: below a list or `*` a list of all the values of the row."""
    expression: str
    coverage: Share
    """The share of rows in which the expression gives a value (or a list with one)."""
    description: str
    examples: tuple[str, ...] = ()
    keys_expression: str | None = None
    """Where the last step is `*`: the list of the keys themselves."""


@dataclass(frozen=True)
class DuplicateSigns:
    """Rows that seem to be one entity each, and the expression that brings them together."""

    columns: tuple[str, ...]
    """The columns whose text names the entity, and those that must agree with it."""
    key: str
    """DuckDB SQL: equal for rows that are one entity by their normalised text. NULL where there is no name."""
    clusters: int
    """Keys with more than one row, among the rows that were counted."""
    rows: int
    """Rows in those clusters."""
    share: Share
    variants: Share
    """The share of the clusters in which the same name is spelt in several ways."""
    near_pairs: tuple[tuple[str, str], ...]
    """Names that are not equal by `key` and still nearly the same, with agreement in other columns."""
    near: Share
    """The share of the rows studied that have such a near-equal partner."""
    corroborating: tuple[tuple[str, float], ...]
    """Other columns, with how often they agree inside a cluster."""
    examples: tuple[tuple[str, ...], ...]
    detail: str


@dataclass(frozen=True)
class ColumnEvidence:
    """All that was seen of a column."""

    column: Column
    profile: MeasuredProfile | None = None
    values: ValueGroup | None = None
    personal: str | None = None
    paths: tuple[NestedPath, ...] = ()
    facets: tuple[TextFacet, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True)
class TableEvidence:
    """All that was seen of a table, or why it could not be read."""

    source: str
    table: Table
    columns: tuple[ColumnEvidence, ...]
    rows: int | None = None
    sampled: int | None = None
    token: str | None = None
    digest: str | None = None
    """Of a table that shares its token with others: a digest of its rows."""
    duplicates: DuplicateSigns | None = None
    seconds: float = 0.0
    problem: str | None = None
    passages: tuple[tuple[str, str], ...] = field(default=())
    """Texts of a table that looks like a collection of documents: (a title or key, the text)."""


@dataclass(frozen=True)
class Copy:
    """A table that is a copy. `original` is None for what is left over from a trial, without an original here."""

    table: str
    original: str | None
    kind: CopyKind
    confidence: float
    drift: str
    """How far it is from its original, in words: `902 of 1,440 rows, nothing after 2020-12-31`."""
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class CodeList:
    """Rows of a table that decode a column: `code_column` holds its values, `label_column` what they mean."""

    column: str
    list: str
    code_column: str
    label_column: str
    condition: str | None
    """SQL over the list's table that chooses its rows; None for all of them."""
    language: str | None
    status: Literal["current", "outdated"]
    confidence: float
    reasons: tuple[str, ...] = ()
    held: float = 0.0
    """The share of the column's rows that the list decodes."""
    used: float = 0.0
    """The share of the list's codes that the column has."""


_UNUSUAL = re.compile(r'[/.["\n]|^$')


def _quoted(name: str) -> str:
    return identifier(name) if _UNUSUAL.search(name) else name
