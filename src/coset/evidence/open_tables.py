"""The tables of an environment that can be read and whose values may be looked at, each opened when it is first asked.

In: the units of each source, and a state that knows them. Out: `JoinableTable`s over one connection, which all stages
share that need rows of several tables: what one has opened, the next need not. A table that cannot be opened is told
and left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import duckdb

from coset.environment.families import Unit
from coset.environment.source import Source
from coset.evidence.reading import JoinableTable, make_unit_readable, open_connection
from coset.sql_text import identifier
from coset.state import EvidenceState
from coset.state.read_model import ReadModel
from coset.state.rows import reference_of

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
