"""All that can be seen of a table by itself: profile, value groups, nested paths, facets, diagnostics, duplicates.

In: the settings of a source and some of its tables (plain data, so that it can run in another process or on another
machine). Out: a `TableEvidence` for each, with its own problem where it could not be read. Relations need more than one
table and are found later. Nothing is written here but local copies of the tables.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb

from coset.engine_messages import in_words
from coset.environment.families import Unit
from coset.environment.source import Column, Source, SourceSettings, Table
from coset.environment.sources import open_source
from coset.errors import CosetError, SourceUnreachable
from coset.evidence.column_expressions import column_kind
from coset.evidence.duplicates import find_duplicates
from coset.evidence.facets.finding import find_facets
from coset.evidence.nested import find_paths
from coset.evidence.personal import PersonalData, mask, personal_data
from coset.evidence.profiles import profile_table, with_counts_of_source
from coset.evidence.quality.diagnose import diagnose_table
from coset.evidence.reading import JoinableTable, Readable, content_digest, make_unit_readable, open_connection
from coset.evidence.sampled_rows import SampledRows, sampled_rows
from coset.evidence.value_groups import value_groups
from coset.sql_text import identifier
from coset.state.objects import (
    ColumnEvidence,
    Diagnostic,
    DiagnosticKind,
    MeasuredProfile,
    NestedPath,
    Reference,
    TableEvidence,
)

JoinFactsOf = Callable[[duckdb.DuckDBPyConnection, Sequence[JoinableTable]], Sequence[Any]]
"""Gives the facts of each table, all of them together: a later stage's function, that evidence does not know."""


@dataclass(frozen=True)
class Examination:
    """What to look at: some units of one source."""

    settings: SourceSettings
    units: tuple[Unit, ...]
    state_folder: Path
    join_facts: JoinFactsOf
    """What relations want to know of tables while they are open."""
    mask_personal: bool = True
    seed: int = 0


@dataclass(frozen=True)
class Examined:
    """What was seen of one unit."""

    evidence: TableEvidence
    join_facts: Any = None
    """As `Examination.join_facts` gave it; None where the table could not be read."""


def examine(task: Examination) -> list[Examined]:
    """Every unit of the task. One that cannot be read is handed back with its problem."""
    return list(examine_each(task))


def examine_each(task: Examination) -> Iterator[Examined]:
    source = open_source(task.settings)
    try:
        with open_connection([source], task.state_folder) as connection:
            evidences: list[TableEvidence] = []
            joinable: dict[int, JoinableTable] = {}
            down: str | None = None
            for number, unit in enumerate(task.units):
                table = unit.table
                started = time.perf_counter()
                try:
                    if task.settings.schema_only:
                        evidence = _names_alone(task, table)
                    elif down is not None:
                        evidence = with_problem(task, table, down)
                    else:
                        readable = make_unit_readable(
                            connection, source, unit, task.state_folder, f"examined_{number}", hold=True
                        )
                        evidence = _examine_table(task, source, unit, readable)
                        joinable[number] = _joinable(task, unit, readable)
                except CosetError as error:
                    evidence = with_problem(task, table, task.settings.redact(str(error)))
                    down = _why_down(task, source) if isinstance(error, SourceUnreachable) else None
                except Exception as error:
                    text = f"{type(error).__name__}: {in_words(error)}"
                    evidence = with_problem(task, table, task.settings.redact(text))
                evidences.append(_timed(evidence, time.perf_counter() - started))
            facts, problems = _join_facts(connection, task.join_facts, joinable)
            for number, evidence in enumerate(evidences):
                evidence = replace(evidence, problem=evidence.problem or problems.get(number))
                yield Examined(evidence, facts.get(number))
    finally:
        source.close()


def _why_down(task: Examination, source: Source) -> str | None:
    """Why the source does not answer at all any more, if it does not: its other tables are not tried one by one, each
    waiting for a server that is gone."""
    try:
        if source.fingerprint() is None:
            source.tables()
    except SourceUnreachable as error:
        return task.settings.redact(str(error))
    return None


def shares_token(source: Source, unit: Unit) -> bool:
    """Whether the unit's token is that of a file with other tables in it: a database, a dump, a workbook."""
    table = unit.members[0] if unit.members else unit.table
    if table.kind in ("file", "sheet"):
        return table.kind == "sheet"
    token = source.change_token(table)
    return token is not None and token == source.fingerprint()


def _examine_table(task: Examination, source: Source, unit: Unit, readable: Readable) -> TableEvidence:
    table, relation, rows = unit.table, readable.relation, readable.rows
    # Each step has a cursor of its own: DuckDB lets no new work begin on one that holds an unfinished result.
    cursor = readable.connection.cursor
    held = readable.sampled if readable.sampled is not None else rows
    shape = [(column.name, column.type) for column in table.columns]
    sample = sampled_rows(cursor(), relation, shape, rows=held, seed=task.seed)
    profiles = profile_table(cursor(), relation, shape, rows=rows, seed=task.seed, sample=sample)
    counted = {name: profile.counts for name, profile in profiles.items() if profile.counts}
    diagnostics = diagnose_table(cursor(), relation, shape, rows=held, counted=counted, sample=sample)
    duplicates = find_duplicates(cursor(), relation, shape, rows=held, seed=task.seed, sample=sample)
    if readable.sampled is not None and not readable.gathered:
        at_source, profiles = with_counts_of_source(source, table, profiles)
        rows = rows if at_source is None else at_source
    groups = value_groups(cursor(), relation, shape, profiles, rows=held, sample=sample)
    columns = []
    for column in table.columns:
        profile = profiles.get(column.name)
        examples = profile.examples if profile else ()
        personal = personal_data(column.name, column.type, examples, table=table.name)
        hidden = personal if task.mask_personal else None
        glance = _glance(sample, column, task.seed)
        facets = find_facets(cursor(), relation, column.name, column.type, rows=held, seed=task.seed, glance=glance)
        paths = tuple(find_paths(cursor(), relation, column.name, column.type, glance=glance)) if held else ()
        outlined = tuple(_masked_path(path, table.name) for path in paths) if task.mask_personal else paths
        if outlined != paths and profile is not None:  # What is personal inside it stands in its own values too.
            profile, groups = replace(profile, minimum=None, maximum=None, examples=(), top=()), dict(groups)
            groups.pop(column.name, None)
        columns.append(
            ColumnEvidence(
                column=column,
                profile=_masked(profile, hidden) if profile and hidden else profile,
                values=None if hidden else groups.get(column.name),
                personal=personal.kind if personal else None,
                paths=outlined,
                facets=tuple(replace(each, examples=()) if hidden else each for each in facets),
                diagnostics=tuple(_masked_diagnostic(each, hidden) for each in diagnostics.get(column.name, ())),
            )
        )
    named_by = {each.column.name for each in columns if each.personal and task.mask_personal}
    if duplicates and named_by & set(duplicates.columns):
        duplicates = replace(duplicates, near_pairs=(), examples=())
    return TableEvidence(
        source=source.settings.name,
        table=table,
        columns=tuple(columns),
        rows=rows,
        sampled=readable.sampled,
        token=readable.token,
        digest=content_digest(readable, table) if readable.sampled is None and shares_token(source, unit) else None,
        duplicates=duplicates,
        passages=_passages(readable, table, profiles),
    )


GLANCE = 1_000
"""So many texts of a column are glanced at to see whether there is anything to read in them."""
TOO_FEW = 50
MOST_DOCUMENTS, LEAST_LETTERS = 2_000, 300


def _glance(sample: SampledRows, column: Column, seed: int) -> list[str] | None:
    """Texts of a text column; None where the sample holds too few of those that there may be."""
    if column_kind(column.type) != "text":
        return None
    texts = [text for text in sample.some_texts(column.name, GLANCE, seed) if text]
    return texts if sample.complete or len(texts) >= TOO_FEW else None


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
    shown = identifier(named[0]) if named else "NULL"
    rows = (
        readable.connection.cursor()
        .execute(
            f"SELECT coalesce({shown}, '')::VARCHAR, left({identifier(text)}, 20000) FROM {readable.relation} "
            f"WHERE {identifier(text)} IS NOT NULL LIMIT {MOST_DOCUMENTS}"
        )
        .fetchall()
    )
    return tuple((str(name), str(content)) for name, content in rows)


def _joinable(task: Examination, unit: Unit, readable: Readable) -> JoinableTable:
    table = unit.table
    return JoinableTable(
        Reference(task.settings.name, table.schema, table.name), readable.relation, table.columns,
        readable.rows if readable.sampled is None else readable.sampled, table.primary_key, table.foreign_keys,
        tuple(member.name for member in unit.members),
    )  # fmt: skip


def _join_facts(
    connection: duckdb.DuckDBPyConnection, join_facts: JoinFactsOf, tables: dict[int, JoinableTable]
) -> tuple[dict[int, Any], dict[int, str]]:
    """The facts of each table, and the problem of each that has none. All together; one by one when that fails, so that
    a broken table is told by itself."""
    try:
        with connection.cursor() as cursor:
            return dict(zip(tables, join_facts(cursor, list(tables.values())), strict=True)), {}
    except duckdb.Error as error:
        if len(tables) == 1:
            return {}, dict.fromkeys(tables, in_words(error))
    facts: dict[int, Any] = {}
    problems: dict[int, str] = {}
    for number, table in tables.items():
        alone, problem = _join_facts(connection, join_facts, {number: table})
        facts |= alone
        problems |= problem
    return facts, problems


def _masked(profile: MeasuredProfile, personal: PersonalData) -> MeasuredProfile:
    """A profile of personal data, whose values are shown only in outline."""
    return replace(
        profile,
        minimum=None,
        maximum=None,
        examples=tuple(mask(value, personal.kind) for value in profile.examples),
        top=(),
    )


NO_VALUES: tuple[DiagnosticKind, ...] = ("null_tokens", "sentinel", "constant", "empty")
"""What these found are words that stand for nothing, no person's data."""


def _masked_diagnostic(diagnostic: Diagnostic, personal: PersonalData | None) -> Diagnostic:
    if personal is None or diagnostic.kind in NO_VALUES:
        return diagnostic
    return replace(diagnostic, examples=tuple(mask(value, personal.kind) for value in diagnostic.examples))


def _masked_path(path: NestedPath, table: str) -> NestedPath:
    """A path inside a column, its examples in outline where they are personal."""
    names = [step for step in path.path if step not in ("[]", "*")]
    if not names:
        return path
    personal = personal_data(names[-1], path.type.removesuffix("[]"), path.examples, table=table)
    return replace(path, examples=tuple(mask(value, personal.kind) for value in path.examples)) if personal else path


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
