"""A semantic model as all formats share it: datasets with fields, relationships, metrics, rules.

In: what a file says, or what coset knows. Out: frozen values that each format reads and writes as far as it can say
them. Knows no format, no state, and does not check that a table exists.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from coset.errors import UserError

Texts = tuple[str, ...]


@dataclass(frozen=True)
class Code:
    """A value of a column of codes, and what it stands for."""

    value: str
    label: str


@dataclass(frozen=True)
class Field:
    name: str
    type: str = ""
    """As DuckDB names it; empty where it is not known."""
    label: str = ""
    """A short name in plain words."""
    description: str = ""
    synonyms: Texts = ()
    role: str = ""
    """`entity.attribute`, as coset reads it."""
    codes: tuple[Code, ...] = ()
    code_list: str = ""
    """Where the codes are explained: `source.table`, with a condition where only some of its rows are meant."""
    cleaned_by: str = ""
    """SQL that mends the values, over the column's name."""
    problems: Texts = ()
    """What is wrong with values, in words."""

    @property
    def is_time(self) -> bool:
        return self.type.upper().startswith(("DATE", "TIME"))


@dataclass(frozen=True)
class Dataset:
    name: str
    """As SQL has it: `source.schema.table`, or whatever another tool calls it."""
    label: str = ""
    description: str = ""
    synonyms: Texts = ()
    entity: str = ""
    rows: int | None = None
    primary_key: Texts = ()
    fields: tuple[Field, ...] = ()
    copies: Texts = ()
    """Tables that are copies of this one."""


@dataclass(frozen=True)
class Relationship:
    """Columns of `left` that name rows of `right`."""

    left: str
    left_columns: Texts
    right: str
    right_columns: Texts
    left_expression: str = ""
    """SQL over the columns of the left side, where these do not join as they are."""
    right_expression: str = ""
    cardinality: str = ""
    """n:1, 1:1, 1:n, n:m; empty where it is not known."""
    left_match: float | None = None
    right_match: float | None = None
    confidence: float | None = None


@dataclass(frozen=True)
class Metric:
    name: str
    expression: str
    """SQL, over columns of the datasets."""
    description: str = ""
    datasets: Texts = ()
    condition: str = ""


@dataclass(frozen=True)
class Rule:
    """A sentence that changes how figures are computed: all of them, or those that touch what it is `about`."""

    text: str
    about: Texts = ()
    source: str = ""


@dataclass(frozen=True)
class Query:
    """SQL behind a dataset of its own: a dbt model, a derived table."""

    name: str
    sql: str
    schema: str | None = None


@dataclass(frozen=True)
class SemanticModel:
    name: str
    description: str = ""
    datasets: tuple[Dataset, ...] = ()
    relationships: tuple[Relationship, ...] = ()
    metrics: tuple[Metric, ...] = ()
    rules: tuple[Rule, ...] = ()
    queries: tuple[Query, ...] = ()
    format: str = "coset"
    """Where it comes from, in a word: dbt, OSI, Cube, ..."""


_ADAPTER = TypeAdapter(SemanticModel)


def as_json(model: SemanticModel) -> str:
    """All of the model, which `from_json` reads again."""
    return _ADAPTER.dump_json(model, indent=1).decode() + "\n"


def from_json(text: str | bytes) -> SemanticModel:
    try:
        return _ADAPTER.validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise UserError(f"not a semantic model as `coset export json` writes it: {place}: {first['msg']}") from error
