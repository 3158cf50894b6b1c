"""What the identities look at: tables and columns with the context that is at hand, wherever they come from.

In: an evidence state, a training corpus or a list of attributes is turned into these. Out: frozen types for labelers
and features. Nothing here knows a source.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

TypeFamily = Literal["whole", "number", "text", "flag", "date", "time", "binary", "nested", "unknown"]


@dataclass(frozen=True)
class ObservedColumn:
    """A column, nested path or facet, as far as it is known. None means not known, never zero."""

    name: str
    type: TypeFamily = "unknown"
    reference: str = ""
    label: str = ""
    """A name for people, where the source has one."""
    description: str = ""
    samples: tuple[str, ...] = ()
    """A few distinct values; at most a dozen."""
    is_key: bool = False
    refers_to: tuple[str, str] | None = None
    """The table and column that it points to, declared or found."""
    target: str = ""
    """The reference of that table, where it is known: its name alone may be that of several tables."""
    referred_by: int = 0
    nulls: float | None = None
    distinct: int | None = None
    rows: int | None = None
    mean_length: float | None = None

    @property
    def unique(self) -> bool | None:
        if self.rows is None or self.distinct is None or self.rows < 2:
            return None
        present = self.rows * (1.0 - (self.nulls or 0.0))
        return bool(present > 1 and self.distinct >= 0.999 * present)


@dataclass(frozen=True)
class ObservedTable:
    """A table, or a family of tables of one shape, with its columns in order."""

    name: str
    columns: tuple[ObservedColumn, ...]
    reference: str = ""
    label: str = ""
    description: str = ""
    rows: int | None = None
    source: str = ""

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @cached_property
    def has_key(self) -> bool:
        return any(column.is_key for column in self.columns)


@dataclass(frozen=True)
class ObservedEnvironment:
    """All tables that are read together: one environment, one episode of training."""

    name: str
    tables: tuple[ObservedTable, ...]

    @cached_property
    def objects(self) -> tuple[tuple[ObservedTable, ObservedColumn | None], ...]:
        """Every object in order: each table (with no column), then its columns."""
        return tuple((table, column) for table in self.tables for column in (None, *table.columns))


@lru_cache(maxsize=10_000)
def type_family(written: str | None) -> TypeFamily:
    """The family of a type as any engine writes it."""
    text = (written or "").strip().lower()
    for family, marks in _FAMILIES:
        if any(mark in text for mark in marks):
            return family
    return "unknown"


_FAMILIES: tuple[tuple[TypeFamily, tuple[str, ...]], ...] = (
    ("text", ("enum(", "set(", "objectid", "fixedstring")),
    ("nested", ("struct", "map(", "json", "[]", "array", "record", "variant", "object", "list", "hstore", "many2many")),
    ("flag", ("bool", "tinyint(1)", "checkbox", "bit(1)", "check")),
    ("time", ("timestamp", "datetime", "time", "interval")),
    ("date", ("date", "year")),
    ("binary", ("blob", "binary", "bytea", "bytes", "image", "geometry", "geography", "point", "raw")),
    ("text", ("char", "text", "string")),
    ("number", ("decimal", "numeric", "float", "double", "real", "money", "number", "currency", "percent", "fixed")),
    ("whole", ("int", "serial", "long", "short", "bigint", "hugeint", "autofield", "link", "foreign", "many2one")),
    ("text", ("uuid", "uniqueidentifier", "enum", "name", "clob", "data", "select", "inet", "url", "email")),
)
