"""How comprehension reads a table: as a view in a DuckDB connection of its own, over all rows or over a stated sample.

In: a source and a table. Out: a connection with the view, and how many rows it holds. Files are read in place, small
tables through the session's local copies, and of a table that stays at its source a bounded sample is fetched. The SQL
that runs here is our own; statements of users go through the session.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from coset.environment.confined_duckdb import confined_connection
from coset.environment.families import Unit, union_token
from coset.environment.scan import Scan
from coset.environment.source import Column, ForeignKey, Source, Table
from coset.session.query_session import stays_at_source
from coset.session.snapshots import (
    LocalTable,
    OutputColumn,
    Snapshots,
    fetch_to_parquet,
    file_type,
    from_copy,
    in_place,
)
from coset.sql_text import identifier, literal
from coset.state import EvidenceState
from coset.state.objects import Reference
from coset.state.read_model import ReadModel
from coset.state.rows import reference_of

UNION_TABLES = 100
"""So many tables of a family are gathered by one statement."""
UNION_ROWS = 5_000_000
HELD_ROWS = 20_000
"""A table of at most so many rows is held in memory while it is looked at."""
WIDE_COLUMNS = 300
"""A table of more columns is copied first: DuckDB plans every column of a view anew for every statement over it."""


@dataclass(frozen=True)
class Readable:
    """A table as a view. `rows` are all its rows at the source; `sampled` is the number in the view when fewer."""

    connection: duckdb.DuckDBPyConnection
    relation: str
    rows: int
    sampled: int | None
    token: str | None
    gathered: bool = False
    """Whether it is a family, gathered from several tables."""


@dataclass(frozen=True)
class JoinableTable:
    """A table, or one table that stands for a family of the same shape (then `members` are their names)."""

    reference: Reference
    relation: str
    """The quoted name of a view or table in the connection that holds its rows."""
    columns: tuple[Column, ...]
    rows: int
    primary_key: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    members: tuple[str, ...] = ()

    def __hash__(self) -> int:
        """By what tells tables apart, not by all columns: a table may have thousands, and is looked up as often."""
        return hash((self.reference, self.relation))


@contextmanager
def open_connection(sources: Iterable[Source], state_folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that can read what these sources let be read in place, and our own copies; nothing else."""
    places = [source.readable_places() for source in sources]
    samples = state_folder / "samples"
    samples.mkdir(parents=True, exist_ok=True)  # DuckDB makes the last folder of the place it spills to, no more.
    connection = confined_connection(
        [file for files, _ in places for file in files],
        [*(folder for _, folders in places for folder in folders), samples, state_folder / "snapshots"],
        spill=samples / "spill",
    )
    try:
        yield connection
    finally:
        connection.close()


def make_unit_readable(
    connection: duckdb.DuckDBPyConnection,
    source: Source,
    unit: Unit,
    state_folder: Path,
    view: str,
    *,
    hold: bool = False,
) -> Readable:
    """A table as a view; a family as the union of its members. `hold`: many statements are to come, so a small table
    is read once and held in memory."""
    if not unit.members:
        return make_readable(connection, source, unit.table, state_folder, view, hold=hold)
    return make_union_readable(connection, source, unit.table, unit.members, state_folder, view)


def make_readable(
    connection: duckdb.DuckDBPyConnection,
    source: Source,
    table: Table,
    state_folder: Path,
    view: str,
    *,
    hold: bool = False,
) -> Readable:
    """The table as a view of that name."""
    token = source.change_token(table)
    scratch = _scratch(source, table, state_folder, view)
    local, sampled = _local(source, table, token, state_folder, scratch)
    _attach(connection, local)
    relation = identifier(view)
    if len(table.columns) > WIDE_COLUMNS:
        relation = _copied(connection, local, scratch, view)
    elif hold and table.rows is not None and table.rows <= HELD_ROWS:
        connection.execute(f"CREATE OR REPLACE TABLE {relation} AS {local.query}")
    else:
        connection.execute(f"CREATE OR REPLACE VIEW {relation} AS {local.query}")
    count = _count(connection, relation)
    rows = max(table.rows or count, count) if sampled is not None else count
    return Readable(connection, relation, rows, sampled, token)


def make_union_readable(
    connection: duckdb.DuckDBPyConnection,
    source: Source,
    table: Table,
    members: Sequence[Table],
    state_folder: Path,
    view: str,
) -> Readable:
    """Tables of one shape as one view with the columns of `table`, over all of their rows, or over the first rows of
    each when they are more than `UNION_ROWS` together.

    The rows are gathered into a few files first: a statement over thousands of tables takes DuckDB seconds to plan, and
    there are many statements to come.
    """
    total = sum(member.rows or 0 for member in members)
    limit = f" LIMIT {max(1, UNION_ROWS // len(members))}" if total > UNION_ROWS else ""
    folder = _scratch(source, table, state_folder, view)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tokens: list[str | None] = []
    sampled = bool(limit)
    for first in range(0, len(members), UNION_TABLES):
        parts: list[str] = []
        for number, member in enumerate(members[first : first + UNION_TABLES]):
            tokens.append(source.change_token(member))
            local, held = _local(source, member, tokens[-1], state_folder, folder / f"part-{first + number}")
            sampled = sampled or held is not None
            _attach(connection, local)
            parts.append(f"(SELECT {_in_types_of(table, member)} FROM ({local.query}){limit})")
        path = literal(str(folder / f"union-{first:08}.parquet"))
        connection.execute(f"COPY ({' UNION ALL '.join(parts)}) TO {path} (FORMAT parquet, COMPRESSION lz4_raw)")
    gathered = literal(str(folder / "union-*.parquet"))
    connection.execute(f"CREATE OR REPLACE VIEW {identifier(view)} AS SELECT * FROM read_parquet({gathered})")
    count = _count(connection, identifier(view))
    held_rows = count if sampled else None
    return Readable(connection, identifier(view), max(total, count), held_rows, union_token(tokens), gathered=True)


def _in_types_of(table: Table, member: Table) -> str:
    """The columns of a table that stands for several, as one of these has them."""
    types = {column.name.lower(): column.type for column in member.columns}
    return ", ".join(
        identifier(column.name)
        if types.get(column.name.lower(), column.type) == column.type
        else f"CAST({identifier(column.name)} AS {column.type}) AS {identifier(column.name)}"
        for column in table.columns
    )


def content_digest(readable: Readable, table: Table) -> str:
    """A digest of all rows, in any order. A file that holds many tables has one token for all of them; this tells which
    of them changed, for a fraction of what looking at one costs."""
    columns = ", ".join(identifier(column.name) for column in table.columns)
    statement = f"SELECT count(*), sum(hash({columns})::HUGEINT) FROM {readable.relation}"
    return "-".join(str(value) for value in readable.connection.cursor().execute(statement).fetchall()[0])


def _scratch(source: Source, table: Table, state_folder: Path, view: str) -> Path:
    """Where what is made of this table for one look at it is kept: processes look at several tables at a time, and
    give their views the same names."""
    identity = hashlib.sha256(f"{table.schema}\n{table.native_name}".encode()).hexdigest()[:16]
    return state_folder / "samples" / source.settings.name / f"{view}-{identity}"


def _copied(connection: duckdb.DuckDBPyConnection, local: LocalTable, scratch: Path, view: str) -> str:
    """All columns as a table of DuckDB's own, on disk; its name."""
    path, alias = scratch.with_name(f"{scratch.name}.duckdb"), identifier(f"copy for {view}")
    connection.execute(f"DETACH DATABASE IF EXISTS {alias}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    connection.execute(f"ATTACH {literal(str(path))} AS {alias} (TYPE duckdb)")
    relation = f"{alias}.main.{identifier(view)}"
    connection.execute(f"CREATE TABLE {relation} AS {local.query}")
    return relation


def is_sampled(source: Source, table: Table) -> bool:
    """Whether only so many rows of a table are looked at as the source's limits say."""
    # A file of a few kB may hold a thousand million rows.
    too_long = (table.rows or 0) > source.settings.limits.fetch_rows and source.in_place(table) is not None
    return too_long or stays_at_source(source, table)


def _local(
    source: Source, table: Table, token: str | None, state_folder: Path, scratch: Path
) -> tuple[LocalTable, int | None]:
    """The table as DuckDB can read it here, and how many rows that are when it is a sample, then kept at `scratch`."""
    if is_sampled(source, table):
        return _sample(source, table, scratch)
    place = source.in_place(table)
    if place:
        return in_place(source, table, place), None
    snapshots = Snapshots(state_folder / "snapshots")
    copy = snapshots.current(source, table, token) or snapshots.take(source, table, token)
    return from_copy(table, copy.path), None


def _attach(connection: duckdb.DuckDBPyConnection, local: LocalTable) -> None:
    for alias, path in local.attach:
        attached = connection.execute("SELECT count(*) FROM duckdb_databases() WHERE database_name = $1", [alias])
        if attached.fetchall() == [(0,)]:
            connection.execute(f"ATTACH {literal(path)} AS {identifier(alias)} (READ_ONLY, TYPE duckdb)")


def _count(connection: duckdb.DuckDBPyConnection, relation: str) -> int:
    # All rows are fetched, also where there is one: DuckDB holds a connection until a result is finished.
    return int(connection.execute(f"SELECT count(*) FROM {relation}").fetchall()[0][0])


def _sample(source: Source, table: Table, scratch: Path) -> tuple[LocalTable, int | None]:
    """The first rows of a table that is too large to copy or of unknown size. What is found in them is marked as from
    a sample, unless they are all."""
    path = scratch.with_name(f"{scratch.name}.parquet")
    limit = source.settings.limits.sample_rows
    columns = tuple(OutputColumn(column.name, file_type(column.type)) for column in table.columns)
    held = fetch_to_parquet(source, table, Scan(limit=limit), columns, path, limit + 1)
    return from_copy(table, path), None if held < limit and table.rows is None else held


def forget_samples(state_folder: Path) -> None:
    shutil.rmtree(state_folder / "samples", ignore_errors=True)


Tell = Callable[[str, Exception], None]
"""Called with the reference of a table that cannot be opened, and why."""


class OpenTables:
    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        state: EvidenceState,
        state_folder: Path,
        sources: Mapping[str, Source],
        units: Mapping[str, Sequence[Unit]],
        tell: Tell,
    ) -> None:
        self.connection, self.unreadable = connection, set[JoinableTable]()
        self._state, self._state_folder, self._sources, self._tell = state, state_folder, sources, tell
        self._opened: set[JoinableTable] = set()
        self._units: dict[JoinableTable, Unit] = {}
        known = ReadModel(state).tables
        for name, of_source in units.items():
            for unit in () if sources[name].settings.schema_only else of_source:
                place = reference_of(name, unit.table)
                row = known.get(str(place))
                if row is None or row.problem:
                    continue
                table = JoinableTable(
                    reference=place, relation=identifier(f"table_{len(self._units)}"), columns=unit.table.columns,
                    rows=row.held_rows, primary_key=unit.table.primary_key, foreign_keys=unit.table.foreign_keys,
                    members=tuple(member.name for member in unit.members),
                )  # fmt: skip
                self._units[table] = unit

    @property
    def all(self) -> list[JoinableTable]:
        return list(self._units)

    @property
    def readable(self) -> list[JoinableTable]:
        """Those that no stage failed to open."""
        return [table for table in self._units if table not in self.unreadable]

    def open(self, table: JoinableTable) -> None:
        """Make the rows of a table readable under its relation."""
        if table in self._opened:
            return
        source, view = self._sources[table.reference.source], table.relation.strip('"')
        try:
            readable = make_unit_readable(self.connection, source, self._units[table], self._state_folder, view)
            if readable.relation != table.relation:
                self.connection.execute(f"CREATE OR REPLACE VIEW {table.relation} AS FROM {readable.relation}")
        except Exception as error:
            self.unreadable.add(table)
            self._tell(str(table.reference), error)
            raise
        self._opened.add(table)

    def without_unreadable(self, step: Callable[[], None]) -> None:
        """Take a step, all or nothing; when a table cannot be opened for it, again without that table."""
        while True:
            known = len(self.unreadable)
            try:
                with self._state.transaction():
                    return step()
            except Exception:
                if len(self.unreadable) == known:
                    raise


@contextmanager
def open_tables(
    state: EvidenceState,
    state_folder: Path,
    sources: Mapping[str, Source],
    units: Mapping[str, Sequence[Unit]],
    tell: Tell,
) -> Iterator[OpenTables]:
    with open_connection(sources.values(), state_folder) as connection:
        yield OpenTables(connection, state, state_folder, sources, units, tell)
