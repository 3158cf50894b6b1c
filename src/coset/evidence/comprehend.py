"""Reads an environment once and builds its evidence state; later runs read again only what changed.

In: an environment. Out: its state, filled, and a summary of what was done. The order: list the sources, find families,
look at what is new or changed (spread over processes or a cluster), find relations, collect documents. Interrupted at
any moment, it has kept every table it was done with; a source that is down keeps what was known of it. What fails (a
table, a family, a join, a document) is named in the summary and passed over; the rest goes on.
"""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb

from coset.environment.catalogue import Catalogue, SourceListing
from coset.environment.configuration import Environment
from coset.environment.families import Family, find_families
from coset.environment.source import Source, Table
from coset.errors import CosetError
from coset.evidence.counters import counter_diagnostics
from coset.evidence.dictionaries import dictionary_documents
from coset.evidence.documents import file_documents, source_documents
from coset.evidence.examine import Examination, TableEvidence, Unit, batches, examine, make_unit_readable, with_problem
from coset.evidence.objects import Relation
from coset.evidence.reading import content_digest, forget_samples, open_connection, union_token
from coset.evidence.state import EvidenceState, KnownTable
from coset.evidence.state.evidence_state import RELATIONS_FOUND, family_row
from coset.evidence.state.rows import reference_of, shape_of, table_of
from coset.evidence.work import Spread, over_processes
from coset.relations.joins import JoinableTable, relate
from coset.sql_text import identifier

Progress = Callable[[int, int, str], None]
"""Called as work is done: units done, units in all, what was just finished."""


@dataclass(frozen=True)
class Summary:
    """What a run did."""

    units: int
    looked_at: int
    removed: int
    relations: int
    problems: tuple[tuple[str, str], ...]
    unreachable: tuple[tuple[str, str], ...]
    damaged: tuple[tuple[str, str], ...]
    """Files of sources that can be read otherwise, each with the reason why it cannot."""
    seconds: float


def comprehend(
    environment: Environment,
    *,
    spread: Spread | None = None,
    progress: Progress | None = None,
    everything: bool = False,
    mask_personal: bool = True,
    seed: int = 0,
) -> Summary:
    """Bring the evidence state up to date. `everything`: look at all tables again, changed or not."""
    started = time.monotonic()
    environment.prepare_state_folder()
    catalogue = Catalogue(environment).list_sources()
    try:
        with EvidenceState.open(environment.state_folder) as state:
            run = _Run(environment, catalogue, state, spread or over_processes(2), progress, mask_personal, seed)
            return run.finish(everything, started)
    finally:
        catalogue.close()
        forget_samples(environment.state_folder)


class _Run:
    def __init__(
        self,
        environment: Environment,
        catalogue: Catalogue,
        state: EvidenceState,
        spread: Spread,
        progress: Progress | None,
        mask_personal: bool,
        seed: int,
    ) -> None:
        self.environment, self.catalogue, self.state = environment, catalogue, state
        self.spread, self.progress, self.mask_personal, self.seed = spread, progress, mask_personal, seed
        self.units = {name: units_of(listing) for name, listing in catalogue.listings.items() if not listing.problem}

    def finish(self, everything: bool, started: float) -> Summary:
        self.state.store_sources(self.catalogue.listings.values())
        removed = self._remove_gone()
        pending = self._pending(everything)
        total = sum(len(units) for units in pending.values())
        problems = self._look_at(pending, total)
        if self.state.meta(RELATIONS_FOUND) is None:
            with self._passed_over("families", problems):
                self.state.store_families(list(self._family_rows()))
            problems += self._relate_and_document()
        unreachable = tuple((item.name, item.problem) for item in self.catalogue.listings.values() if item.problem)
        return Summary(
            units=sum(map(len, self.units.values())),
            looked_at=total,
            removed=removed,
            relations=self.state.count("relations"),
            problems=tuple(problems),
            unreachable=unreachable,
            damaged=tuple(item for listing in self.catalogue.listings.values() for item in listing.damaged),
            seconds=time.monotonic() - started,
        )

    def _remove_gone(self) -> int:
        present = {str(reference_of(name, unit.table)) for name, units in self.units.items() for unit in units}
        down = {name for name, listing in self.catalogue.listings.items() if listing.problem}
        rows = self.state.rows("SELECT reference, source, name FROM tables")
        missing = [row for row in rows if row["reference"] not in present and row["source"] not in down]
        gone: list[str] = []
        for row in missing:
            if problem := self._why_damaged(row["source"], row["name"]):
                self.state.store_problem(row["reference"], problem)
            else:
                gone.append(row["reference"])
        self.state.remove_tables(gone)
        return len(gone)

    def _why_damaged(self, source: str, table: str) -> str | None:
        """Of a table that is not listed any more: why its file cannot be read, when the file is still there."""
        listing = self.catalogue.listings.get(source)
        for file, reason in listing.damaged if listing else ():
            if Path(file).name.split(".")[0].lower() == table.lower():
                return f"{Path(file).name} {reason}"
        return None

    def _pending(self, everything: bool) -> dict[str, list[Unit]]:
        """The units that are new, changed, or had a problem the last time."""
        known = self.state.known_tables()
        pending: dict[str, list[Unit]] = {}
        with ExitStack() as stack:

            @functools.cache
            def digesting() -> duckdb.DuckDBPyConnection:
                return stack.enter_context(open_connection())

            for name, units in self.units.items():
                changed = [
                    unit
                    for unit in units
                    if everything or not self._is_known(name, unit, known.get(self._place(name, unit)), digesting)
                ]
                if changed:
                    pending[name] = changed
        return pending

    @functools.cached_property
    def _with_values(self) -> set[str]:
        """The tables of whose values something is known: a source that became schema-only is looked at again."""
        rows = self.state.rows(
            "SELECT DISTINCT table_reference FROM columns WHERE distinct_values IS NOT NULL OR minimum IS NOT NULL "
            "OR len(examples) > 0"
        )
        return {row["table_reference"] for row in rows}

    def _is_known(
        self, name: str, unit: Unit, known: KnownTable | None, digesting: Callable[[], duckdb.DuckDBPyConnection]
    ) -> bool:
        """Whether the state holds what the unit is now. `digesting` gives a connection for digests of content."""
        source = self.catalogue.sources[name]
        if known is None or known.problem or known.shape != shape_of(unit.table):
            return False
        if source.settings.schema_only:
            return self._place(name, unit) not in self._with_values
        if known.token is None:
            return False
        try:
            token = token_of(source, unit)
            if token == known.token:
                return True
            if known.digest is None:
                return False
            readable = make_unit_readable(digesting(), source, unit, self.environment.state_folder, "digested")
            same = readable.sampled is None and content_digest(readable, unit.table) == known.digest
        except CosetError:
            return False  # Looking at it will say why.
        if same:
            self.state.renew_token(self._place(name, unit), token)
        return same

    @staticmethod
    def _place(name: str, unit: Unit) -> str:
        return str(reference_of(name, unit.table))

    def _look_at(self, pending: dict[str, list[Unit]], total: int) -> list[tuple[str, str]]:
        tasks = [
            Examination(
                self.catalogue.sources[name].settings,
                batch,
                self.environment.state_folder,
                self.mask_personal,
                self.seed,
            )
            for name, units in pending.items()
            for batch in batches(units)
        ]
        problems: list[tuple[str, str]] = []
        done = 0
        for task, answer in self.spread(examine, tasks):
            for evidence in self._stored(task, _evidence_of(task, answer)):
                done += 1
                name = f"{evidence.source}.{evidence.table.qualified_name}"
                if evidence.problem:
                    problems.append((name, evidence.problem))
                if self.progress:
                    self.progress(done, total, name)
        return problems

    def _stored(self, task: Examination, evidences: list[TableEvidence]) -> list[TableEvidence]:
        """Store evidence, all together; one by one when that fails, so that a table that cannot be stored is alone."""
        try:
            self.state.store_tables(evidences)
        except duckdb.Error as error:
            if len(evidences) > 1:
                return [stored for each in evidences for stored in self._stored(task, [each])]
            unstored = with_problem(task, evidences[0].table, _told(error))
            with self._passed_over(unstored.table.name, []):
                self.state.store_tables([unstored])
            return [unstored]
        return evidences

    @contextmanager
    def _passed_over(self, name: str, problems: list[tuple[str, str]]) -> Iterator[None]:
        """Whatever goes wrong within is named, and the run goes on. What is known stays, and the next run tries again:
        a source may have gone away meanwhile."""
        try:
            yield
        except Exception as error:
            problems.append((name, _told(error)))

    def _family_rows(self) -> Iterable[dict[str, object]]:
        for name, units in self.units.items():
            for unit in units:
                if unit.members:
                    yield family_row(
                        name, str(reference_of(name, unit.table)), unit.table.name,
                        [member.name for member in unit.members], [column.name for column in unit.table.columns],
                        unit.rows,
                    )  # fmt: skip

    def _relate_and_document(self) -> list[tuple[str, str]]:
        """What needs more than one table: joins, counters that disagree with what they count, data dictionaries. Only
        tables that something new must be asked of are read. Answers with what could not be done."""
        units = self._joinable()
        tables = list(units)
        problems: list[tuple[str, str]] = []
        opened: set[JoinableTable] = set()
        unreadable: set[JoinableTable] = set()
        with open_connection() as connection:

            def open_table(table: JoinableTable) -> None:
                if table in opened:
                    return
                source, view = self.catalogue.sources[table.reference.source], table.relation.strip('"')
                try:
                    readable = make_unit_readable(connection, source, units[table], self.environment.state_folder, view)
                    if readable.relation != table.relation:
                        connection.execute(f"CREATE OR REPLACE VIEW {table.relation} AS FROM {readable.relation}")
                except Exception as error:
                    unreadable.add(table)
                    problems.append((str(table.reference), _told(error)))
                    raise
                opened.add(table)

            def without_unreadable(step: Callable[[], None]) -> None:
                """Take a step; when a table cannot be opened for it, again without that table."""
                while True:
                    known = len(unreadable)
                    try:
                        with self.state.transaction():
                            return step()
                    except Exception:
                        if len(unreadable) == known:
                            raise

            def relate_tables() -> None:
                readable = [table for table in tables if table not in unreadable]
                out_of_reach = [*self._out_of_reach(), *(str(table.reference) for table in unreadable)]
                changed = self.state.joins.changed()
                relations = self._without_personal(relate(self.state.joins, connection, readable, open_table))
                # Counters are compared again where they or the rows they count changed, or the join between the two.
                recounted = self.state.store_relations(relations, out_of_reach) | changed
                recounted |= {_right_table(each) for each in relations if str(table_of(each.left[0])) in changed}
                compared = [each for each in relations if _right_table(each) in recounted]
                counters = counter_diagnostics(connection, readable, compared, open_table)
                self.state.store_counters(counters, list(recounted))

            def collect_documents() -> None:
                named = self.state.holders_of_column_names()
                dictionaries = [each for each in tables if str(each.reference) in named and each not in unreadable]
                for table in dictionaries:
                    open_table(table)
                found = dictionary_documents(connection, tables, dictionaries)
                self.state.store_documents([*self._stated_documents(problems), *found])

            with self._passed_over("relations", problems):
                without_unreadable(relate_tables)
            with self._passed_over("documents", problems):
                without_unreadable(collect_documents)
            if not problems:
                self.state.set_meta(RELATIONS_FOUND, json.dumps({"tables": len(tables)}))
        return problems

    def _without_personal(self, relations: list[Relation]) -> list[Relation]:
        """The relations without examples of values that fail to match, where these are of personal columns."""
        if not self.mask_personal:
            return relations
        personal = {
            row["reference"] for row in self.state.rows("SELECT reference FROM columns WHERE personal IS NOT NULL")
        }
        return [
            replace(
                each,
                unmatched_left=() if personal & {str(side) for side in each.left} else each.unmatched_left,
                unmatched_right=() if personal & {str(side) for side in each.right} else each.unmatched_right,
            )
            for each in relations
        ]

    def _joinable(self) -> dict[JoinableTable, Unit]:
        """The tables that can be read and whose values may be looked at, as relation finding wants them."""
        known = {row["reference"]: row for row in self.state.rows("SELECT * FROM tables WHERE problem IS NULL")}
        tables: dict[JoinableTable, Unit] = {}
        for name, units in self.units.items():
            if self.catalogue.sources[name].settings.schema_only:
                continue
            for unit in units:
                place = reference_of(name, unit.table)
                row = known.get(str(place))
                if row is None:
                    continue
                table = JoinableTable(
                    reference=place, relation=identifier(f"table_{len(tables)}"), columns=unit.table.columns,
                    rows=row["rows"] if row["sampled_rows"] is None else row["sampled_rows"],
                    primary_key=unit.table.primary_key, foreign_keys=unit.table.foreign_keys,
                    members=tuple(member.name for member in unit.members),
                )  # fmt: skip
                tables[table] = unit
        return tables

    def _out_of_reach(self) -> list[str]:
        """The tables that could not be read, and those of sources that are down: what is known of them is kept."""
        down = [name for name, listing in self.catalogue.listings.items() if listing.problem]
        rows = self.state.rows(
            "SELECT reference FROM tables WHERE problem IS NOT NULL OR list_contains($1::VARCHAR[], source)", [down]
        )
        return [row["reference"] for row in rows]

    def _stated_documents(self, problems: list[tuple[str, str]]) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        for name, listing in self.catalogue.listings.items():
            if listing.problem:
                continue
            settings = self.catalogue.sources[name].settings
            rows += source_documents(settings)
            for path in settings.documents:
                with self._passed_over(str(path), problems):
                    rows += file_documents(name, Path(path), listing.tables)
        return rows


def _told(error: Exception) -> str:
    """An error in one line; of one that nobody foresaw also what it is."""
    text = next(iter(str(error).splitlines()), "")
    return text if isinstance(error, CosetError) else f"{type(error).__name__}: {text}"


def _right_table(relation: Relation) -> str:
    return str(table_of(relation.right[0]))


def units_of(listing: SourceListing) -> list[Unit]:
    """The tables of a source, those of one shape taken together."""
    families = find_families(listing.tables)
    by_place = {(table.schema, table.name): table for table in listing.tables}
    taken = {(member.schema, member.name) for family in families for member in family.members}
    units = [Unit(table) for table in listing.tables if (table.schema, table.name) not in taken]
    return units + [_family_unit(family, by_place) for family in families]


def _family_unit(family: Family, by_place: dict[tuple[str | None, str], Table]) -> Unit:
    members = tuple(by_place[member.schema, member.name] for member in family.members)
    shared = {name for name, _ in family.columns}
    columns = tuple(column for column in members[0].columns if column.name in shared)
    schemas = {member.schema for member in members}
    table = replace(
        members[0], name=family.pattern, native_name=family.pattern, columns=columns,
        schema=members[0].schema if len(schemas) == 1 else None, primary_key=(), foreign_keys=(), comment=None,
    )  # fmt: skip
    return Unit(table, members)


def token_of(source: Source, unit: Unit) -> str | None:
    if unit.members:
        return union_token([source.change_token(member) for member in unit.members])
    return source.change_token(unit.table)


def _evidence_of(task: Examination, answer: list[TableEvidence] | BaseException) -> list[TableEvidence]:
    """What a task gave; when it failed as a whole, every unit with that problem."""
    if not isinstance(answer, BaseException):
        return answer
    text = task.settings.redact(f"{type(answer).__name__}: {answer}")
    return [with_problem(task, unit.table, text) for unit in task.units]
