"""Comprehension: read an environment and bring all that is known of it up to date, stage by stage.

In: an environment. Out: its state, ready for questions, and a summary of what was done. `STAGES` is the way the data
takes; each stage is one function over the `Run`, and reads in the state what the stages before it wrote there. Whatever
cannot be read, be it a source, table, family, document or a whole stage, is named in the summary and passed over: the
rest goes on, and the next run tries again. Interrupted at any moment, it has kept every table it was done with.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb

from coset.engine_messages import in_words
from coset.environment.catalogue import Catalogue
from coset.environment.configuration import Environment
from coset.environment.corrections import parse_corrections
from coset.environment.families import Unit, units_of
from coset.environment.leftovers import make_private, sweep
from coset.environment.source import Table
from coset.errors import Cancelled, CosetError, UserError
from coset.evidence.changes import remove_gone, units_to_examine
from coset.evidence.documents.doubts import doubts
from coset.evidence.documents.stage import common_words, comprehend_documents, comprehend_findings
from coset.evidence.documents.stated import dictionary_documents
from coset.evidence.examine import Examination, Examined, batches, examine, with_problem
from coset.evidence.quality.diagnose import counter_diagnostics
from coset.evidence.reading import OpenTables, forget_samples, open_tables
from coset.evidence.work import Spread, over_processes
from coset.evidence.written_sql import comprehend_confirmed, comprehend_written_sql
from coset.identities.all_kinds import comprehend_all_kinds
from coset.identities.comprehension import RoleSummary, comprehend_identities
from coset.identities.inventory import load_inventory
from coset.identities.model import VOCABULARY_FILE, load_model
from coset.identities.teaching import mirror_corrections
from coset.readings.comprehension import ReadingSummary, comprehend_readings
from coset.readings.vocabulary import is_business_word
from coset.relations.code_lists import CODE_LISTS_FOUND, code_lists_digest, find_and_store_code_lists
from coset.relations.copies import COPIES_FOUND, copies_digest, copies_with_originals, find_and_store_copies
from coset.relations.joins import Background, JoinableTable, JoinMemory, believe, join_facts, relate
from coset.relations.joins.memory import holders_of_column_names
from coset.relations.links import LINKS_MADE, link_and_store, links_digest
from coset.routing.anchors import ValueIndexSummary, build_value_index
from coset.routing.ranking.index import store_vectors
from coset.routing.ranking.model import load_routing_model
from coset.session.query_session import QuerySession
from coset.state import EvidenceState
from coset.state.evidence_state import (
    LAST_READ,
    RELATIONS_FOUND,
    corrections_in_force,
    family_row,
    remember_corrections,
)
from coset.state.joins import JoinTables, background_digest, profiles, store_proposed, written_joins
from coset.state.joins import read_names as read_names_of
from coset.state.names import names_of
from coset.state.objects import Relation
from coset.state.read_model import ReadModel
from coset.state.readings import take_over_pages
from coset.state.relations import RelationRow
from coset.state.rows import reference_of, table_of
from coset.tracing import span
from coset.use_cases.readings import ModelReadingSummary, ReadWith, read_with_model

Progress = Callable[[int, int, str], None]
"""Called as work is done: tables done, tables in all, what was just finished. A stage that does not count its work says
its name with 0 of 0."""
JOINS_BELIEVED = "joins believed"
"""The key of `meta` under which stands what joins were judged by when they last were."""
JOINS_SAID = "joins said"
"""The key of `meta` under which stands what people had said of joins when these were last found."""
NO_ROLES = RoleSummary(0, 0, 0, 0, ())
Problem = tuple[str, str]
"""What could not be read, and why."""


@dataclass(frozen=True)
class Settings:
    """How to comprehend."""

    everything: bool = False
    """Look at all tables again, changed or not."""
    mask_personal: bool = True
    seed: int = 0
    spread: Spread = field(default_factory=lambda: over_processes(2))
    read_with: ReadWith | None = None
    """The user's own model, to read what tables and columns are."""
    link: bool = False
    """Link records. Once they are, they are kept up to date."""
    link_large: bool = False
    """Link also tables above the usual size."""


@dataclass(frozen=True)
class Summary:
    """What a run did. `problems` are what could not be read, with why; the rest is there all the same."""

    units: int = 0
    looked_at: int = 0
    removed: int = 0
    relations: int = 0
    problems: tuple[Problem, ...] = ()
    unreachable: tuple[Problem, ...] = ()
    damaged: tuple[Problem, ...] = ()
    """Files of sources that can be read otherwise, each with the reason why it cannot."""
    seconds: float = 0.0
    readings: ReadingSummary | None = None
    model_reading: ModelReadingSummary | None = None
    roles: RoleSummary = NO_ROLES
    values: ValueIndexSummary | None = None
    documents: int = 0
    documents_read: int = 0
    """Those that were new or changed."""
    mentions: int = 0
    rules: int = 0
    notes: tuple[Problem, ...] = ()
    """What is doubtful in documents that were read: rules against each other, names of nothing here."""
    encoded: int = 0
    """Tables and columns whose text is new to the routing encoder."""

    @property
    def all_problems(self) -> tuple[Problem, ...]:
        return (*self.unreachable, *self.problems, *self.damaged)

    def __str__(self) -> str:
        return (
            f"{self.looked_at:,} of {self.units:,} tables and families read, {self.relations:,} relations, "
            f"{self.roles.objects:,} objects have roles"
        )


@dataclass
class Run:
    """What the stages of one comprehension share."""

    environment: Environment
    catalogue: Catalogue
    state: EvidenceState
    settings: Settings
    progress: Progress
    closing: ExitStack
    """Closes at the end what stages have opened."""
    units: dict[str, list[Unit]] = field(default_factory=dict)
    """The tables and families of each source that answers."""
    problems: list[Problem] = field(default_factory=list)
    summary: Summary = field(default_factory=Summary)

    @cached_property
    def tables(self) -> OpenTables:
        """The tables that can be read, opened once for all stages after the one that examined them."""
        return self.closing.enter_context(
            open_tables(
                self.state,
                self.environment.state_folder,
                self.catalogue.sources,
                self.units,
                lambda reference, error: self.problems.append((reference, _told(error))),
            )
        )

    def report(self, **figures: Any) -> None:
        """Add to the summary."""
        self.summary = replace(self.summary, **figures)

    @contextmanager
    def passing_over(self, name: str) -> Iterator[None]:
        """A part of a stage that may fail by itself: its problem is kept under the name, and the stage goes on."""
        try:
            yield
        except Cancelled:
            raise
        except Exception as error:
            problem = name, _told(error)
            if problem not in self.problems:
                self.problems.append(problem)


@dataclass(frozen=True)
class Stage:
    """One step. `what` is said while it runs, and names it where it fails as a whole."""

    what: str
    run: Callable[[Run], None]


def comprehend(
    environment: Environment,
    settings: Settings | None = None,
    progress: Progress | None = None,
    stages: Sequence[Stage] | None = None,
) -> Summary:
    """Bring the evidence state of an environment up to date. Who reads it meanwhile reads the last one."""
    started = time.monotonic()
    environment.prepare_state_folder()
    environment.forget_sources_that_are_gone()
    catalogue = Catalogue(environment)
    try:
        with (
            span("comprehend", coset__sources=len(environment.sources)) as told,
            EvidenceState.comprehending(environment.state_folder) as state,
            ExitStack() as closing,
        ):
            run = Run(environment, catalogue, state, settings or Settings(), progress or _silent, closing)
            _run(run, STAGES if stages is None else stages)
            if stages is None:  # All that is known was looked at: nothing is left of values that were withdrawn.
                state.leave_out_withdrawn()
            _publish(run)
            run.report(problems=tuple(run.problems), seconds=time.monotonic() - started)
            told.add(
                coset__tables=run.summary.units, coset__tables_read=run.summary.looked_at,
                coset__relations=run.summary.relations, coset__problems=len(run.summary.all_problems),
            )  # fmt: skip
            return run.summary
    finally:
        catalogue.close()
        forget_samples(environment.state_folder)
        sweep(environment.state_folder)
        make_private(environment.state_folder, but=environment.secrets_file)


def _run(run: Run, stages: Sequence[Stage]) -> None:
    for stage in stages:
        run.progress(0, 0, stage.what)
        with span(f"comprehend: {stage.what}") as told:
            known = len(run.problems)
            try:
                stage.run(run)
            except Cancelled:
                raise
            except Exception as error:
                run.problems.append((stage.what, _told(error)))
                told.fails(type(error).__name__)
            told.add(coset__problems=len(run.problems) - known)


def _publish(run: Run) -> None:
    """Let others see the state, with all that was said meanwhile; the last time with those who speak waiting."""
    copy = run.state.copy
    for is_last in (False, False, True):
        with copy.publishing():
            if is_last and copy.is_behind():
                _catch_up(run)
            if not copy.is_behind():
                run.report(relations=ReadModel(run.state).count(RelationRow))
                run.closing.close()
                run.state.close()
                return
        _catch_up(run)


def _catch_up(run: Run) -> None:
    """Bring in what was said since the state was copied."""
    with run.state.copy.catching_up():
        known = corrections_in_force(run.environment, run.state)
        before = parse_corrections(run.state.meta(LAST_READ) or "")
        with EvidenceState.read(run.environment.state_folder) as published:
            read = take_over_pages(run.state, published)
        only_notes = not read and known.but_notes() == before.but_notes()
        _run(run, (CORRECTIONS,) if only_notes else SAID_MEANWHILE)


def list_sources(run: Run) -> None:
    """The tables of every source, those of one shape taken together as families."""
    listings = run.catalogue.list_sources().listings
    run.units = {}
    for name, listing in listings.items():
        if not listing.problem:
            with run.passing_over(name):
                run.units[name] = units_of(listing)
    run.state.note_withdrawal(listings.values())
    run.state.store_sources(listings.values())
    run.report(
        units=sum(map(len, run.units.values())),
        unreachable=tuple((item.name, item.problem) for item in listings.values() if item.problem),
        damaged=tuple(item for listing in listings.values() for item in listing.damaged),
        removed=remove_gone(run.state, run.catalogue, run.units),
    )


def examine_tables(run: Run) -> None:
    """What can be seen of each table by itself, of those that are new or changed; spread over processes."""
    pending = units_to_examine(run.environment, run.state, run.catalogue, run.units, run.settings.everything)
    total = sum(len(units) for units in pending.values())
    run.report(looked_at=total)
    tasks = [
        Examination(
            run.catalogue.sources[name].settings, batch, run.environment.state_folder, join_facts,
            run.settings.mask_personal, run.settings.seed,
        )
        for name, units in pending.items()
        for batch in batches(units)
    ]  # fmt: skip
    done = 0
    for task, answer in run.settings.spread(examine, tasks):
        for each in _stored(run, task, _examined(task, answer)):
            done += 1
            name = f"{each.evidence.source}.{each.evidence.table.qualified_name}"
            if each.evidence.problem:
                run.problems.append((name, each.evidence.problem))
            run.progress(done, total, name)
    if run.state.meta(RELATIONS_FOUND) is None:
        with run.passing_over("families"):
            run.state.store_families(list(_family_rows(run)))


def read_documents(run: Run) -> None:
    """What people wrote about the data: descriptions, hints, files, and the tables that are data dictionaries."""
    tables_of: dict[str, Sequence[Table]] = {
        name: listing.tables for name, listing in run.catalogue.listings.items() if not listing.problem
    }
    read = comprehend_documents(run.environment, run.state, tables_of, everything=run.settings.everything)
    run.problems += read.problems
    run.report(documents=read.documents, documents_read=read.read)
    if run.state.meta(RELATIONS_FOUND) is not None:
        return
    tables = run.tables

    def read_dictionaries() -> None:
        named = holders_of_column_names(JoinMemory(JoinTables.of(run.state)))
        dictionaries = [table for table in tables.readable if str(table.reference) in named]
        for table in dictionaries:
            tables.open(table)
        found = dictionary_documents(tables.connection, tables.all, dictionaries)
        run.state.store_documents(list(found), dictionaries=True)

    tables.without_unreadable(read_dictionaries)


def find_table_copies(run: Run) -> None:
    """Which tables are backups, loads, archives or trials of which."""
    fresh = copies_digest(run.environment, run.state)
    if run.state.meta(COPIES_FOUND) == fresh:
        return
    before, known_problems = copies_with_originals(run.state), len(run.problems)
    tables = run.tables
    tables.without_unreadable(
        lambda: find_and_store_copies(
            run.environment, run.state, tables.connection, tables.readable, tables.open, run.passing_over
        )
    )
    if len(run.problems) == known_problems:
        run.state.set_meta(COPIES_FOUND, fresh)
    if copies_with_originals(run.state) != before:
        run.state.remove_meta(RELATIONS_FOUND)


def read_names(run: Run) -> None:
    """What every table and column is, in plain words."""
    run.report(readings=comprehend_readings(run.state, run.environment))


def ask_the_model(run: Run) -> None:
    """What the user's own model reads in names, types, samples and documents, where one is to be asked."""
    if run.settings.read_with is not None:
        summary = read_with_model(run.state, run.environment, run.settings.read_with)
        run.report(model_reading=summary)
        run.problems += [("reading with a model", problem) for problem in summary.problems] if summary else []


def read_queries(run: Run) -> None:
    """SQL that people wrote: views, files named under `queries:`, semantic models, logs, confirmed answers."""
    tables_of = {name: listing.tables for name, listing in run.catalogue.listings.items() if not listing.problem}
    sources = {name: run.catalogue.sources[name] for name in tables_of}
    run.problems += comprehend_written_sql(run.state, sources, tables_of, run.environment.queries)
    said = corrections_in_force(run.environment, run.state).questions
    comprehend_confirmed(run.state, [(each.question, each.sql) for each in said if each.sql], tables_of)


def propose_joins(run: Run) -> None:
    """Joins that keys declare, values show or names propose. Only tables that something new must be asked of are read.
    Where roles are known from an earlier run, they are believed only after these are up to date."""
    joins = corrections_in_force(run.environment, run.state).joins
    said = repr(joins)
    if run.state.meta(RELATIONS_FOUND) is not None and (run.state.meta(JOINS_SAID) or "()") == said:
        return
    state, memory, known_problems = run.state, JoinMemory(JoinTables.of(run.state)), len(run.problems)
    tables = run.tables

    def relate_tables() -> None:
        changed = memory.changed()
        relations = relate(memory, tables.connection, _originals(run), tables.open, joins)
        state.remove_meta(JOINS_BELIEVED)
        store_proposed(state, relations, _out_of_reach(run))
        if not profiles(state, "attribute").by_reference:
            _keep_relations(run, relations, changed)

    tables.without_unreadable(relate_tables)
    if len(run.problems) == known_problems:
        state.set_meta(JOINS_SAID, said)
        state.set_meta(RELATIONS_FOUND, json.dumps({"tables": len(tables.all)}))


def judge_joins(run: Run) -> None:
    """Which of the proposed joins are believed, now that the roles and readings of columns are known."""
    state, known_problems = run.state, len(run.problems)
    attributes = profiles(state, "attribute")
    joins = corrections_in_force(run.environment, run.state).joins
    fresh = f"{background_digest(state)} {joins!r}"
    if not attributes.by_reference or state.meta(JOINS_BELIEVED) == fresh:
        return
    background = Background(attributes, profiles(state, "entity"), read_names_of(state), written_joins(state))
    tables = run.tables

    def believe_tables() -> None:
        memory = JoinMemory(JoinTables.of(state))
        relations = believe(memory, tables.connection, _originals(run), background, tables.open, joins)
        changed = () if state.meta(JOINS_BELIEVED) is not None else [str(table.reference) for table in tables.readable]
        _keep_relations(run, relations, changed)

    tables.without_unreadable(believe_tables)
    if len(run.problems) == known_problems:
        state.set_meta(JOINS_BELIEVED, fresh)


def _originals(run: Run) -> list[JoinableTable]:
    copies = copies_with_originals(run.state)
    return [table for table in run.tables.readable if str(table.reference) not in copies]


def _keep_relations(run: Run, relations: Sequence[Relation], changed: Collection[str]) -> None:
    """Store joins, and counters that disagree with the rows they count: these are compared again where they or the rows
    they count changed, or the join between the two."""
    state, tables = run.state, run.tables
    shown = _without_personal(run, list(relations))
    recounted = state.store_relations(shown, _out_of_reach(run)) | set(changed)
    recounted |= {_right_table(each) for each in shown if str(table_of(each.left[0])) in changed}
    compared = [each for each in shown if _right_table(each) in recounted]
    counters = counter_diagnostics(tables.connection, _originals(run), compared, tables.open)
    state.store_counters(counters, list(recounted))


def read_corrections(run: Run) -> None:
    """What people said: handed over to the corrections file by a state of an earlier release, and read from there."""
    try:
        wrong = [*remember_corrections(run.environment, run.state).problems]
    except UserError as error:
        told = f"{error}; until that is mended, what it last said holds"
        run.problems.append(("corrections", told))
        return
    wrong += mirror_corrections(run.state, run.environment, load_inventory(run.environment.identities_file))
    names = names_of(run.state)
    wrong += remember_corrections(run.environment, run.state).unknown(lambda reference: bool(names.find(reference)))
    run.problems += [("corrections", str(problem)) for problem in wrong]


def find_lists_of_codes(run: Run) -> None:
    """Which rows of which table say what the codes of a column stand for."""
    if run.state.meta(CODE_LISTS_FOUND) == code_lists_digest(run.environment, run.state):
        return
    tables, known_problems = run.tables, len(run.problems)
    tables.without_unreadable(
        lambda: find_and_store_code_lists(
            run.environment, run.state, tables.connection, tables.readable, tables.open, run.passing_over
        )
    )
    if len(run.problems) == known_problems:
        run.state.set_meta(CODE_LISTS_FOUND, code_lists_digest(run.environment, run.state))


def realise_identities(run: Run) -> None:
    """The role of every table and column."""
    run.report(roles=comprehend_identities(run.state, load_model(run.environment.identities_file)))


def find_mentions_and_rules(run: Run) -> None:
    """What the documents name, and which of their sentences are rules for figures."""
    corrections = corrections_in_force(run.environment, run.state)
    vocabulary = Path(str(files("coset.identities").joinpath("weights", VOCABULARY_FILE)))
    mentions, rules = comprehend_findings(run.state, common_words(vocabulary), corrections, is_business_word)
    run.report(mentions=mentions, rules=rules)
    with run.passing_over("what is doubtful in documents"):
        run.report(notes=tuple(doubts(run.state)))


def realise_all_kinds(run: Run) -> None:
    """What value groups, relations, sections and rules are about."""
    comprehend_all_kinds(run.state, load_model(run.environment.identities_file))


def link_records(run: Run) -> None:
    """Which records of which tables are one thing; where that was asked for, now or before, or a person linked some."""
    known = run.state.meta(LINKS_MADE)
    asked = run.settings.link or any(
        not each.rejected for each in corrections_in_force(run.environment, run.state).links
    )
    if known is None and not (asked or run.settings.link_large):
        return
    fresh = links_digest(run.environment, run.state)
    if known == fresh and not run.settings.link_large:
        return
    known_problems = len(run.problems)
    found = link_and_store(run.environment, run.state, run.tables, run.passing_over, large=run.settings.link_large)
    if len(run.problems) == known_problems:
        run.state.set_meta(LINKS_MADE, fresh)
    run.problems += [("linking records", problem) for problem in found.problems]


def build_routing_index(run: Run) -> None:
    """What questions are linked to the data by: values, codes with their labels, and vectors of tables and columns."""
    routing = load_routing_model(load_model(run.environment.identities_file))
    with QuerySession(run.environment) as session:
        run.report(values=build_value_index(run.state, session))
    run.report(encoded=store_vectors(run.state, routing.encoder, routing.name))


SOURCES = Stage("listing the sources", list_sources)
TABLES = Stage("reading tables", examine_tables)
CORRECTIONS = Stage("reading corrections", read_corrections)
DOCUMENTS = Stage("reading documents", read_documents)
QUERIES = Stage("reading queries", read_queries)
COPIES = Stage("finding copies", find_table_copies)
NAMES = Stage("reading names", read_names)
MODEL = Stage("reading with a model", ask_the_model)
RELATIONS = Stage("finding relations", propose_joins)
CODE_LISTS = Stage("finding code lists", find_lists_of_codes)
IDENTITIES = Stage("realising the identities", realise_identities)
JUDGED = Stage("judging relations", judge_joins)
RULES = Stage("reading rules", find_mentions_and_rules)
ALL_KINDS = Stage("realising what was written", realise_all_kinds)
LINKS = Stage("linking records", link_records)
INDEX = Stage("indexing values and words", build_routing_index)

STAGES = (
    SOURCES, TABLES, CORRECTIONS, DOCUMENTS, QUERIES, COPIES, NAMES, MODEL, RELATIONS, IDENTITIES, JUDGED, CODE_LISTS,
    RULES, ALL_KINDS, LINKS, INDEX,
)  # fmt: skip
EVIDENCE = (SOURCES, TABLES, CORRECTIONS, DOCUMENTS, QUERIES, COPIES, RELATIONS, CODE_LISTS)
"""What is seen in the data and written about it, without what is learned."""
JOINS = (SOURCES, RELATIONS, JUDGED)
"""What a statement on a join needs to take effect."""
LINKS_ALONE = (SOURCES, LINKS)
SAID_MEANWHILE = STAGES[STAGES.index(CORRECTIONS) :]
"""What brings in corrections that were made while the stages ran."""


def _examined(task: Examination, answer: list[Examined] | BaseException) -> list[Examined]:
    """What a task gave; when it failed as a whole, every unit with that problem."""
    if not isinstance(answer, BaseException):
        return answer
    text = task.settings.redact(f"{type(answer).__name__}: {in_words(answer)}")
    return [Examined(with_problem(task, unit.table, text)) for unit in task.units]


def _stored(run: Run, task: Examination, found: list[Examined]) -> list[Examined]:
    """Store evidence, all together; one by one when that fails, so that a table that cannot be stored is alone."""
    state = run.state
    places = [str(reference_of(each.evidence.source, each.evidence.table)) for each in found]
    try:
        with state.transaction():
            stored = state.store_tables([each.evidence for each in found])
            facts = [(place, each.join_facts) for place, each in zip(places, found, strict=True) if place in stored]
            JoinMemory(JoinTables.of(state)).store([(place, each) for place, each in facts if each is not None])
    except duckdb.Error as error:
        if len(found) > 1:
            return [stored for each in found for stored in _stored(run, task, [each])]
        unstored = with_problem(task, found[0].evidence.table, _told(error))
        with run.passing_over(places[0]):
            state.store_tables([unstored])
        return [Examined(unstored)]
    return found


def _family_rows(run: Run) -> Iterator[dict[str, object]]:
    for name, units in run.units.items():
        for unit in units:
            if unit.members:
                yield family_row(
                    name, str(reference_of(name, unit.table)), unit.table.name,
                    [member.name for member in unit.members], [column.name for column in unit.table.columns],
                    unit.rows,
                )  # fmt: skip


def _without_personal(run: Run, relations: list[Relation]) -> list[Relation]:
    """The relations without examples of values that fail to match, where these are of personal columns."""
    if not run.settings.mask_personal:
        return relations
    personal = ReadModel(run.state).personal
    return [
        replace(
            each,
            unmatched_left=() if personal & {str(side) for side in each.left} else each.unmatched_left,
            unmatched_right=() if personal & {str(side) for side in each.right} else each.unmatched_right,
        )
        for each in relations
    ]


def _out_of_reach(run: Run) -> list[str]:
    """The tables that could not be read, and those of sources that are down: what is known of them is kept."""
    unreadable = [str(table.reference) for table in run.tables.unreadable]
    down = {name for name, listing in run.catalogue.listings.items() if listing.problem}
    tables = ReadModel(run.state).tables.values()
    return unreadable + [table.reference for table in tables if table.problem or table.source in down]


def _right_table(relation: Relation) -> str:
    return str(table_of(relation.right[0]))


def _told(error: Exception) -> str:
    """An error as one line: a sentence of ours as it stands, any other with its kind and without values."""
    if isinstance(error, CosetError):
        return str(error).partition("\n")[0]
    return f"{type(error).__name__}: {in_words(error)}"


def _silent(done: int, total: int, name: str) -> None:
    return None
