"""What a source of data is: one small interface behind which PostgreSQL, a CSV folder and a MongoDB dump look alike.

In: the settings of one source, as `coset.yaml` gives them. Out: its tables with their columns, a token that tells
whether a table changed, and its rows as Arrow, whole or cut down to what a `Scan` asks for.

A new kind of source is one module in `sources/` with one subclass of `Source`, and one line in `sources/__init__.py`;
or a package of its own with an entry point `coset.sources`. `coset.testing.check_source` tests either.
Nothing here knows about snapshots, SQL sessions or any particular engine.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from coset.environment.scan import EVERYTHING, Condition, Operation, Scan

if TYPE_CHECKING:
    import pyarrow as pa

TableKind = Literal["table", "view", "collection", "file", "sheet"]

HIDDEN, NO_TABLE, EMPTY = "is hidden", "is not a kind of file that holds tables", "is empty"
"""Why a file is passed over though nothing is wrong with it."""


@dataclass(frozen=True)
class Limits:
    """How much of a source may be read at once. Every number can be set per source in `coset.yaml`."""

    snapshot_rows: int = 2_000_000
    """A table of at most this many rows (and `snapshot_bytes`) is copied locally; a larger one stays at the source."""
    snapshot_bytes: int = 1_000_000_000
    fetch_rows: int = 20_000_000
    """The most rows one statement may pull from a table that stays at the source."""
    cell_bytes: int = 64_000_000
    """A single value larger than this is refused."""
    sample_rows: int = 100_000
    """How many rows later stages may look at where they sample."""
    age_seconds: float = 0.0
    """How old a local copy may be of a table whose source cannot tell of changes; 0: it is read anew every time."""
    connect_seconds: float = 10.0
    query_seconds: float = 300.0


@dataclass(frozen=True)
class SourceSettings:
    """One source as the user described it, secrets filled in. `redact` keeps them out of every message."""

    name: str
    location: str = field(repr=False)
    """A URL with its secrets in it, or an absolute path."""
    kind: str
    description: str | None = None
    hints: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    schema_only: bool = False
    documents: tuple[str, ...] = ()
    """Absolute paths and patterns of files that describe the data."""
    queries: tuple[str, ...] = ()
    """Absolute paths and patterns of files with SQL that people wrote over the data."""
    limits: Limits = field(default_factory=Limits)
    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What the driver or the store needs beside the location: a region, an endpoint, a key; secrets filled in."""
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def path(self) -> Path:
        return Path(self.location)

    def redact(self, text: str) -> str:
        """`text` without any secret of this source."""
        for secret in sorted(self.secrets, key=len, reverse=True):
            if secret:
                text = text.replace(secret, "***")
        return text


@dataclass(frozen=True)
class Column:
    """A column as SQL sees it (`name`, a DuckDB `type`) and as the source knows it (`native_name`, `native_type`)."""

    name: str
    type: str
    native_name: str
    native_type: str
    nullable: bool = True
    comment: str | None = None


@dataclass(frozen=True)
class ForeignKey:
    """A declared reference from `columns` of one table to `references_columns` of another; exposed names."""

    columns: tuple[str, ...]
    references_schema: str | None
    references_table: str
    references_columns: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """A table, view, collection, file or sheet.

    `name` is unique within its schema, ignoring case, because SQL ignores case where the source may not;
    `native_name` is what the source itself calls it.
    """

    name: str
    native_name: str
    columns: tuple[Column, ...]
    schema: str | None = None
    kind: TableKind = "table"
    rows: int | None = None
    rows_exact: bool = False
    bytes: int | None = None
    primary_key: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    comment: str | None = None

    @property
    def qualified_name(self) -> str:
        return f"{self.schema}.{self.name}" if self.schema else self.name

    def column(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)


@dataclass(frozen=True)
class InPlace:
    """How DuckDB itself reads a table where it lies, without a copy.

    Either `attach`, a DuckDB file to attach read-only, with `relation` as (schema, table) in it; or `sql`, a call of
    one of DuckDB's file functions that stands after FROM and gives the table's columns, with the `paths` it reads.
    """

    attach: Path | None = None
    relation: tuple[str, str] | None = None
    sql: str | None = None
    paths: tuple[Path, ...] = ()


@dataclass(frozen=True)
class WrittenQuery:
    """A statement that people wrote and the source keeps: the definition of a view, or one of its log."""

    name: str
    text: str
    schema: str | None = None
    origin: Literal["view", "log", "file", "dbt"] = "view"


class Source(ABC):
    """One database, dump or folder of files, opened read-only. Methods raise `SourceUnreachable` with the reason."""

    kind: ClassVar[str]
    schemes: ClassVar[tuple[str, ...]] = ()
    """URL schemes by which a source from another package is recognised: `("acme",)` for `acme://...`."""
    pushes: ClassVar[frozenset[Operation]] = frozenset()
    """What `read` evaluates at the source, exactly as DuckDB would. What is not named here is never asked for."""

    def __init__(self, settings: SourceSettings) -> None:
        self.settings = settings

    @abstractmethod
    def tables(self) -> list[Table]:
        """All tables, in a stable order, before the user's include and exclude patterns."""

    @abstractmethod
    def change_token(self, table: Table) -> str | None:
        """A text that differs whenever the table's rows or columns may have changed; None when that cannot be known."""

    @abstractmethod
    def read(self, table: Table, scan: Scan = EVERYTHING) -> pa.RecordBatchReader:
        """The rows that `scan` asks for, as a stream. Columns are named and ordered as the scan's output columns,
        with Arrow types that cast to the `type` of each `Column`. Raises `TableVanished` when the table is gone."""

    def fingerprint(self) -> str | None:
        """A cheap text that is equal only while `tables()` would answer the same; None when only asking can tell."""
        return None

    def tokens_listed(self) -> dict[str, str]:
        """By native name, the change tokens under which `tables()` saw what a later listing may take from it as it was;
        empty for sources that are listed at once."""
        return {}

    def remember(self, tables: Iterable[tuple[Table, str]]) -> None:
        """Tables of an earlier listing with their tokens of then: `tables()` need not look into what has them still."""

    def pushes_for(self, table: Table, column: str) -> frozenset[Operation]:
        """What of `pushes` holds for one column."""
        return self.pushes

    def narrows(self, table: Table, condition: Condition) -> bool:
        """Whether a condition that the source does not evaluate exactly at least loses no row at the source that
        DuckDB would keep. It is then asked for as well, and DuckDB sorts out the rest."""
        return False

    def in_place(self, table: Table) -> InPlace | None:
        """How DuckDB can read this table where it lies, or None when rows must come through `read`."""
        return None

    def readable_places(self) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
        """The files and the folders that `in_place` may name: what DuckDB must be allowed to read for it."""
        return (), ()

    def written_queries(self) -> list[WrittenQuery]:
        """Statements that people wrote and the source keeps; those it does not show are left out."""
        return []

    def interrupt(self) -> None:
        """End what another thread is reading, where the engine runs in this process; a server ends by its own limit."""

    def close(self) -> None:
        """Let go of every connection and lock. May be called twice."""


def unique_names(names: Iterable[str]) -> list[str]:
    """SQL names for native ones: the same where possible, `id_1` for what differs from an earlier one only by case."""
    taken: set[str] = set()
    result: list[str] = []
    for name in names:
        candidate, number = name or "column", 0
        while candidate.lower() in taken:
            number += 1
            candidate = f"{name or 'column'}_{number}"
        taken.add(candidate.lower())
        result.append(candidate)
    return result
