"""All that can be seen of a table by itself: profile, value groups, nested paths, facets, diagnostics, duplicates.

In: the settings of a source and some of its tables (plain data, so that it can run in another process or on another
machine). Out: a `TableEvidence` for each, with its own problem where it could not be read. Relations need more than one
table and are found later. Nothing is written here but local copies of the tables.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import duckdb

from coset.environment.source import Column, Source, SourceSettings, Table
from coset.environment.sources import open_source
from coset.errors import CosetError
from coset.evidence.diagnostics import diagnose_table
from coset.evidence.duplicates import DuplicateSigns, find_duplicates
from coset.evidence.facets import find_facets
from coset.evidence.nested import NestedPath, find_paths
from coset.evidence.objects import Diagnostic, TextFacet, ValueGroup
from coset.evidence.personal import PersonalData, mask, personal_data
from coset.evidence.profiles import MeasuredProfile, profile_table
from coset.evidence.pushed_profile import with_counts_of_source
from coset.evidence.reading import Readable, content_digest, make_readable, make_union_readable, open_connection
from coset.evidence.value_groups import value_groups
from coset.session.local_tables import quoted


@dataclass(frozen=True)
class Unit:
    """One thing to look at: a table, or a family of tables of one shape that are looked at as one."""

    table: Table
    """The table itself; of a family its name pattern and the columns that all members have."""
    members: tuple[Table, ...] = ()

    @property
    def rows(self) -> int:
        return sum(member.rows or 0 for member in self.members) if self.members else self.table.rows or 0


@dataclass(frozen=True)
class Examination:
    """What to look at: some units of one source."""

    settings: SourceSettings
    units: tuple[Unit, ...]
    state_folder: Path
    mask_personal: bool = True
    seed: int = 0


@dataclass(frozen=True)
class ColumnEvidence:
    column: Column
    profile: MeasuredProfile | None = None
    values: ValueGroup | None = None
    personal: str | None = None
    paths: tuple[NestedPath, ...] = ()
    facets: tuple[TextFacet, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True)
class TableEvidence:
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


def examine(task: Examination) -> list[TableEvidence]:
    """Every table of the task. One that cannot be read is handed back with its problem."""
    return list(examine_each(task))


def examine_each(task: Examination) -> Iterator[TableEvidence]:
    source = open_source(task.settings)
    try:
        with open_connection() as connection:
            for number, unit in enumerate(task.units):
                table = unit.table
                started = time.perf_counter()
                try:
                    if task.settings.schema_only:
                        evidence = _names_alone(task, table)
                    else:
                        readable = make_unit_readable(connection, source, unit, task.state_folder, f"examined_{number}")
                        evidence = _examine_table(task, source, table, readable)
                except CosetError as error:
                    evidence = with_problem(task, table, task.settings.redact(str(error)))
                except Exception as error:
                    text = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
                    evidence = with_problem(task, table, task.settings.redact(text))
                yield _timed(evidence, time.perf_counter() - started)
    finally:
        source.close()


def shares_token(source: Source, table: Table) -> bool:
    """Whether the table's token is that of a file with other tables in it, which DuckDB can read where it lies."""
    place = source.in_place(table)
    return place is not None and place.attach is not None


def make_unit_readable(
    connection: duckdb.DuckDBPyConnection, source: Source, unit: Unit, state_folder: Path, view: str
) -> Readable:
    """A table as a view; a family as the union of its members."""
    if not unit.members:
        return make_readable(connection, source, unit.table, state_folder, view)
    return make_union_readable(connection, source, unit.table, unit.members, state_folder, view)


def _examine_table(task: Examination, source: Source, table: Table, readable: Readable) -> TableEvidence:
    relation, rows = readable.relation, readable.rows
    # Each step has a cursor of its own: DuckDB lets no new work begin on one that holds an unfinished result.
    cursor = readable.connection.cursor
    held = readable.sampled if readable.sampled is not None else rows
    shape = [(column.name, column.type) for column in table.columns]
    profiles = profile_table(cursor(), relation, shape, rows=rows, seed=task.seed)
    if readable.sampled is not None and not readable.gathered:
        counted, profiles = with_counts_of_source(source, table, profiles)
        rows = rows if counted is None else counted
    groups = value_groups(cursor(), relation, shape, profiles, rows=held, seed=task.seed)
    diagnostics = diagnose_table(cursor(), relation, shape, rows=held, seed=task.seed)
    columns = []
    for column in table.columns:
        profile = profiles.get(column.name)
        examples = profile.examples if profile else ()
        personal = personal_data(column.name, column.type, examples, table=table.name)
        hidden = personal if task.mask_personal else None
        facets = find_facets(cursor(), relation, column.name, column.type, rows=held, seed=task.seed) if held else []
        columns.append(
            ColumnEvidence(
                column=column,
                profile=_masked(profile, hidden) if profile and hidden else profile,
                values=None if hidden else groups.get(column.name),
                personal=personal.kind if personal else None,
                paths=tuple(find_paths(cursor(), relation, column.name, column.type)) if held else (),
                facets=tuple(facets),
                diagnostics=tuple(diagnostics.get(column.name, ())),
            )
        )
    duplicates = find_duplicates(cursor(), relation, shape, rows=held, seed=task.seed) if held else None
    return TableEvidence(
        source=source.settings.name,
        table=table,
        columns=tuple(columns),
        rows=rows,
        sampled=readable.sampled,
        token=readable.token,
        digest=content_digest(readable, table) if shares_token(source, table) else None,
        duplicates=duplicates,
        passages=_passages(readable, table, profiles),
    )


MOST_DOCUMENTS, LEAST_LETTERS = 2_000, 300


def _passages(readable: Readable, table: Table, profiles: dict[str, MeasuredProfile]) -> tuple[tuple[str, str], ...]:
    """The texts of a table that looks like a collection of documents: few rows, one long prose column."""
    lengths = {name: profile.mean_length or 0.0 for name, profile in profiles.items() if profile.type == "VARCHAR"}
    if not lengths or not 0 < readable.rows <= MOST_DOCUMENTS:
        return ()
    text = max(lengths, key=lambda name: lengths[name])
    if lengths[text] < LEAST_LETTERS:
        return ()
    titles = [name for name, length in lengths.items() if name != text and 3 <= length <= 200]
    unique = [name for name in titles if profiles[name].unique]
    named = unique or titles
    shown = quoted(named[0]) if named else "NULL"
    rows = (
        readable.connection.cursor()
        .execute(
            f"SELECT coalesce({shown}, '')::VARCHAR, left({quoted(text)}, 20000) FROM {readable.relation} "
            f"WHERE {quoted(text)} IS NOT NULL LIMIT {MOST_DOCUMENTS}"
        )
        .fetchall()
    )
    return tuple((str(name), str(content)) for name, content in rows)


def _masked(profile: MeasuredProfile, personal: PersonalData) -> MeasuredProfile:
    """A profile of personal data, whose values are shown only in outline."""
    return replace(
        profile,
        minimum=None,
        maximum=None,
        examples=tuple(mask(value, personal.kind) for value in profile.examples),
        top=(),
    )


def _names_alone(task: Examination, table: Table) -> TableEvidence:
    """What may be known of a source whose values stay with it: names, types, keys, comments, and how many rows."""
    columns = tuple(ColumnEvidence(column=column) for column in table.columns)
    return TableEvidence(source=task.settings.name, table=table, columns=columns, rows=table.rows)


def with_problem(task: Examination, table: Table, problem: str) -> TableEvidence:
    columns = tuple(ColumnEvidence(column=column) for column in table.columns)
    return TableEvidence(source=task.settings.name, table=table, columns=columns, rows=table.rows, problem=problem)


def _timed(evidence: TableEvidence, seconds: float) -> TableEvidence:
    return replace(evidence, seconds=seconds)


def batches(units: Sequence[Unit], most_units: int = 40, most_rows: int = 500_000) -> Iterator[tuple[Unit, ...]]:
    """Units in groups that are worth a process of their own; a large one stands alone."""
    group: list[Unit] = []
    rows = 0
    for unit in units:
        if group and (len(group) == most_units or rows + unit.rows > most_rows):
            yield tuple(group)
            group, rows = [], 0
        group.append(unit)
        rows += unit.rows
    if group:
        yield tuple(group)
