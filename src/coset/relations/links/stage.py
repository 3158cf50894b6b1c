"""The stage that links records: gathers what is known, links where something changed, stores, writes files for SQL.

In: the environment, its state, and tables that can be read. Out: the state's links, and one Parquet file an entity
below
the state's folder, which the session offers as `linked.<entity>`.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from coset.environment.configuration import Environment
from coset.relations.copies import copies_with_originals
from coset.relations.links.find import EntityLinks, Given, Links, PassingOver, SaidLink, find_links
from coset.relations.links.records import KnownTables
from coset.session.own_tables import write_linked
from coset.state.evidence_state import corrections_in_force
from coset.state.read_model import ReadModel, grouped
from coset.state.readings import ReadingStore
from coset.state.relations import (
    LinkedEntity,
    LinkedRecord,
    LinkPair,
    all_roles,
    roles_in_brief,
    sections_in_force,
    store_links,
)
from coset.state.tables import PathRow, versions_of_tables

if TYPE_CHECKING:
    from coset.evidence.reading import OpenTables
    from coset.state import EvidenceState

LINKS_MADE = "links"
"""The key of the state's `meta` under which `links_digest` stands as it was when records were last linked."""
VERSION = "1"


def links_digest(environment: Environment, state: EvidenceState) -> str:
    """What links depend on: when it is the same, they are."""
    model = ReadModel(state)
    digest = hashlib.sha256(VERSION.encode())
    digest.update(repr(versions_of_tables(state)).encode())
    digest.update(repr(model.relations).encode())
    digest.update(repr(roles_in_brief(state)).encode())
    digest.update(repr(sorted(copies_with_originals(state))).encode())
    digest.update(repr(sections_in_force(state)).encode())
    digest.update(repr(corrections_in_force(environment, state).links).encode())
    return digest.hexdigest()


def find(
    environment: Environment,
    state: EvidenceState,
    tables: OpenTables,
    passing_over: PassingOver,
    *,
    large: bool = False,
) -> Links:
    model = ReadModel(state)
    copies = {copy.table for copy in state.copies()}
    originals = [table for table in tables.readable if str(table.reference) not in copies]
    known = KnownTables(
        model.columns_of,
        {(row.reference, row.coordinate): row for row in all_roles(state)},
        {each.reference: each.name for each in ReadingStore(state).all(best=True)},
        grouped(model.all(PathRow), "table_reference"),
    )
    given = Given(
        originals, known, model.relations, sections_in_force(state), said_of_records(environment, state), large
    )  # fmt: skip
    return find_links(tables.connection, given, tables.open, passing_over)


def link_and_store(
    environment: Environment,
    state: EvidenceState,
    tables: OpenTables,
    passing_over: PassingOver,
    *,
    large: bool = False,
) -> Links:
    found = find(environment, state, tables, passing_over, large=large)
    entities, records, pairs = [], [], []
    for each in found.entities:
        entities.append(_entity(each, found))
        records += list(_records(each))
        pairs += list(_pairs(each))
    store_links(state, entities, records, pairs)
    rows: dict[str, list[tuple[object, ...]]] = {}
    for record in records:
        source, _, table = record.table.partition("/")
        rows.setdefault(record.entity, []).append(
            (record.cluster, source, table.replace("/", "."), record.key, record.evidence, record.flags)
        )
    write_linked(environment.state_folder, rows)
    return found


def said_of_records(environment: Environment, state: EvidenceState) -> list[SaidLink]:
    """What the corrections file says, later entries over earlier ones on the same pair."""
    said: dict[frozenset[tuple[str, str]], SaidLink] = {}
    for link in corrections_in_force(environment, state).links:
        ends = [(record.table, record.key) for record in link.records]
        for place, one in enumerate(ends):
            for other in ends[place + 1 :]:
                said[frozenset((one, other))] = SaidLink(one, other, not link.rejected)
    return list(said.values())


def _entity(links: EntityLinks, found: Links) -> LinkedEntity:
    ways = Counter(words.split(":")[0] for _, _, _, words, _ in links.followed)
    problems = [*found.problems, *(f"{table}: {why}" for table, why in found.left_out)]
    return LinkedEntity(
        links.entity, links.tables, sum(map(len, links.clusters.values())), len(links.clusters),
        sum(len(records) > 1 for records in links.clusters.values()), len(links.refused),
        tuple(f"{words} ({count:,} pairs)" for words, count in ways.most_common()),
        "; ".join(problems) or None,
    )  # fmt: skip


def _records(links: EntityLinks) -> Iterable[LinkedRecord]:
    for number, (_, records) in enumerate(sorted(links.clusters.items()), start=1):
        for record in records:
            told = links.evidence.get((record.table, record.key), "")
            yield LinkedRecord(links.entity, number, record.table, record.key, told, record.flags)


def _pairs(links: EntityLinks) -> Iterable[LinkPair]:
    for one, other, kind, words, weight in links.followed:
        yield LinkPair(links.entity, one.table, one.key, other.table, other.key, kind, words, weight, True, None)
    for one, other, kind, words, weight, why in links.refused:
        yield LinkPair(links.entity, one.table, one.key, other.table, other.key, kind, words, weight, False, why)
