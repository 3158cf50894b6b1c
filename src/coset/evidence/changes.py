"""Change detection: the tables that are new, gone, of another shape, or with other rows than the state knows.

In: the units of each source as they are listed now, and an open state. Out: for a comprehension the units to examine
(signs that are unsure are settled by a digest of the rows), for a look at freshness the differences by the source's own
account, without reading rows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import duckdb

from coset.environment.catalogue import Catalogue
from coset.environment.configuration import Environment
from coset.environment.families import Unit, token_of, units_of
from coset.environment.source import Source
from coset.errors import CosetError
from coset.evidence.reading import content_digest, is_sampled, make_unit_readable, open_connection
from coset.state import EvidenceState, KnownTable
from coset.state.read_model import ReadModel
from coset.state.rows import reference_of, shape_of

Units = Mapping[str, Sequence[Unit]]
"""The units of each source that answers, by its name."""


def remove_gone(state: EvidenceState, catalogue: Catalogue, units: Units) -> int:
    """Forget the tables that are not there any more. Those of a source that is down, or of a file that cannot be read
    just now, are kept."""
    present = {str(reference_of(name, unit.table)) for name, of_source in units.items() for unit in of_source}
    down = {name for name, listing in catalogue.listings.items() if listing.problem}
    tables = ReadModel(state).tables.values()
    missing = [table for table in tables if table.reference not in present and table.source not in down]
    gone: list[str] = []
    for table in missing:
        if problem := _why_damaged(catalogue, table.source, table.name):
            state.store_problem(table.reference, problem)
        else:
            gone.append(table.reference)
    state.remove_tables(gone)
    return len(gone)


def _why_damaged(catalogue: Catalogue, source: str, table: str) -> str | None:
    """Of a table that is not listed any more: why its file cannot be read, when the file is still there."""
    listing = catalogue.listings.get(source)
    for file, reason in listing.damaged if listing else ():
        if Path(file).name.split(".")[0].lower() == table.lower():
            return f"{Path(file).name} {reason}"
    return None


def units_to_examine(
    environment: Environment, state: EvidenceState, catalogue: Catalogue, units: Units, everything: bool
) -> dict[str, list[Unit]]:
    """The units that are new, changed, or had a problem the last time; all of them with `everything`."""
    if everything:
        return {name: list(of_source) for name, of_source in units.items() if of_source}
    known = state.known_tables()
    with ExitStack() as stack:

        @functools.cache
        def digesting() -> duckdb.DuckDBPyConnection:
            return stack.enter_context(open_connection(catalogue.sources.values(), environment.state_folder))

        judge = _Judge(environment, state, catalogue, digesting)
        changed = {
            name: [unit for unit in of_source if not judge.is_known(name, unit, known.get(_place(name, unit)))]
            for name, of_source in units.items()
        }
    return {name: of_source for name, of_source in changed.items() if of_source}


class _Judge:
    """Whether the state holds what a unit is now. `digesting` gives a connection for digests of content."""

    def __init__(
        self,
        environment: Environment,
        state: EvidenceState,
        catalogue: Catalogue,
        digesting: Callable[[], duckdb.DuckDBPyConnection],
    ) -> None:
        self.environment, self.state, self.catalogue, self.digesting = environment, state, catalogue, digesting

    @functools.cached_property
    def with_values(self) -> set[str]:
        """The tables of whose values something is known: a source that became schema-only is looked at again."""
        return {
            column.table_reference
            for column in ReadModel(self.state).columns.values()
            if column.distinct_values is not None or column.minimum is not None or column.examples
        }

    def is_known(self, name: str, unit: Unit, known: KnownTable | None) -> bool:
        source = self.catalogue.sources[name]
        if known is None or known.problem or known.shape != shape_of(unit.table):
            return False
        if source.settings.schema_only:
            return _place(name, unit) not in self.with_values
        if known.token is None or _is_sampled_otherwise(source, unit, known):
            return False
        try:
            token = token_of(source, unit)
            if token == known.token:
                return True
            if known.digest is None:
                return False
            readable = make_unit_readable(self.digesting(), source, unit, self.environment.state_folder, "digested")
            same = readable.sampled is None and content_digest(readable, unit.table) == known.digest
        except (CosetError, duckdb.Error):
            return False  # Looking at it will say why.
        if same:
            self.state.renew_token(_place(name, unit), token)
        return same


def _is_sampled_otherwise(source: Source, unit: Unit, known: KnownTable) -> bool:
    """Whether the limits of a source ask for more or fewer rows of a table than were looked at."""
    if unit.members:
        return False
    if not is_sampled(source, unit.table):
        return known.sampled is not None
    limit, rows = source.settings.limits.sample_rows, known.rows or 0
    looked_at = rows if known.sampled is None else known.sampled
    return looked_at > limit or looked_at < min(limit, 0.9 * rows)  # Rows are often an estimate of the source's.


def _place(name: str, unit: Unit) -> str:
    return str(reference_of(name, unit.table))


What = Literal["new", "gone", "other columns", "other content", "not readable last time", "unreachable"]


@dataclass(frozen=True)
class Difference:
    """A source or table that is not as it is known."""

    reference: str
    what: What
    detail: str = ""


def differences(environment: Environment, state: EvidenceState) -> tuple[Difference, ...]:
    """What a `coset comprehend` would look at, in the order of the sources. Lists every source."""
    known = state.known_tables()
    source_of = {table.reference: table.source for table in ReadModel(state).tables.values()}
    found: list[Difference] = []
    catalogue = Catalogue(environment).list_sources()
    try:
        for name, listing in catalogue.listings.items():
            if listing.problem:
                found.append(Difference(name, "unreachable", listing.problem))
                continue
            source, present = catalogue.sources[name], set()
            for unit in units_of(listing):
                reference = str(reference_of(name, unit.table))
                present.add(reference)
                then = known.get(reference)
                if then is None:
                    found.append(Difference(reference, "new"))
                elif then.problem:
                    found.append(Difference(reference, "not readable last time", then.problem))
                elif then.shape != shape_of(unit.table):
                    found.append(Difference(reference, "other columns"))
                elif not source.settings.schema_only:
                    try:
                        if then.token is None or token_of(source, unit) != then.token:
                            found.append(Difference(reference, "other content"))
                    except CosetError as error:
                        found.append(Difference(reference, "unreachable", str(error)))
            found += [
                Difference(reference, "gone")
                for reference, owner in source_of.items()
                if owner == name and reference not in present
            ]
    finally:
        catalogue.close()
    found += [Difference(ref, "gone") for ref, owner in source_of.items() if owner not in catalogue.listings]
    return tuple(found)
