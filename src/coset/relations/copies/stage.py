"""The stage of comprehension that finds copies: gathers what is known, finds, lets people overrule, stores.

In: the environment, its state, and tables that can be read. Out: the state's `copies`.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from coset.environment.configuration import Environment
from coset.environment.copy_names import COPY_KINDS
from coset.evidence.reading import JoinableTable
from coset.relations.copies.find import Standing, find_copies
from coset.relations.copies.row_overlap import PassingOver
from coset.relations.copies.statements import spoken_of
from coset.state.documents import sections
from coset.state.objects import Copy
from coset.state.read_model import ReadModel
from coset.state.said import corrections_in_force
from coset.state.tables import SourceRow, versions_of_tables
from coset.state.written_sql import written_sql

if TYPE_CHECKING:
    import duckdb

    from coset.environment.corrections import Copy as SaidCopy
    from coset.state import EvidenceState


COPIES_FOUND = "copies"
"""The key of the state's `meta` under which `copies_digest` stands as it was when copies were last found."""


def copies_digest(environment: Environment, state: EvidenceState) -> str:
    """What copies depend on: when it is the same, they are."""
    digest = hashlib.sha256()
    spoken = spoken_of(texts_in_force(state), [(row.reference, row.name) for row in ReadModel(state).tables.values()])
    for known in (
        versions_of_tables(state),
        sorted(spoken.named),
        sorted(spoken.retired.items()),
        [(each.reference, each.name, each.tables) for each in written_sql(state)],
    ):
        digest.update(repr(known).encode())
    digest.update(repr(corrections_in_force(environment, state).copies).encode())
    return digest.hexdigest()


def copies_with_originals(state: EvidenceState) -> set[str]:
    """The tables that are copies of another one here. Joins are those of the originals."""
    return {copy.table for copy in state.copies() if copy.original is not None}


def find_and_store_copies(
    environment: Environment,
    state: EvidenceState,
    connection: duckdb.DuckDBPyConnection,
    tables: Sequence[JoinableTable],
    opens: Callable[[JoinableTable], None] | None = None,
    passing_over: PassingOver = nullcontext,
) -> None:
    found = find_copies(connection, tables, standing_of(state, tables), opens, passing_over)
    copies = overruled(
        found, corrections_in_force(environment, state).copies, {str(table.reference) for table in tables}
    )
    state.store_copies(copies)


def standing_of(state: EvidenceState, tables: Sequence[JoinableTable]) -> Standing:
    """Which tables are spoken of, retired, referred to, or views."""
    names = [(str(table.reference), table.reference.table or "") for table in tables if not table.members]
    spoken = spoken_of(texts_in_force(state), names)
    return Standing(spoken.named - set(spoken.retired), spoken.retired, _referred_to(state, tables), _views(state))


def texts_in_force(state: EvidenceState) -> list[str]:
    """What is in force of what people wrote."""
    current = [each for each in sections(state) if each.status == "current"]
    texts = [each.text for each in sorted(current, key=lambda each: each.reference)]
    return texts + [each.description for each in ReadModel(state).all(SourceRow) if each.description is not None]


def _referred_to(state: EvidenceState, tables: Iterable[JoinableTable]) -> Counter[str]:
    """How many other tables declare a key that refers to each, and how many statements that people wrote read it."""
    by_place = {(each.reference.source, each.reference.schema, each.reference.table): each for each in tables}
    counts: Counter[str] = Counter()
    for table in tables:
        for key in table.foreign_keys:
            place = table.reference.source, key.references_schema or table.reference.schema, key.references_table
            if (target := by_place.get(place)) is not None and target is not table:
                counts[str(target.reference)] += 1
    for read in {(read, each.reference) for each in written_sql(state) for read in each.tables}:
        counts[read[0]] += 1
    return counts


def _views(state: EvidenceState) -> dict[str, str | None]:
    """The views, each with the first table that it reads, where that is known."""
    known = ReadModel(state).tables
    read = {each.reference.rpartition("#")[0]: each.tables for each in written_sql(state) if each.origin == "view"}
    views = [reference for reference, row in known.items() if row.kind == "view"]
    return {
        view: next((table for table in read.get(view, ()) if table in known and table != view), None) for view in views
    }


def overruled(found: Sequence[Copy], said: Sequence[SaidCopy], known: set[str]) -> list[Copy]:
    """What people said wins: a table that they call a copy is one, and one that they call none is none. Of two
    statements on one table the later holds."""
    by_table = {each.table: each for each in found}
    for each in said:
        if each.table not in known:
            continue
        if each.rejected:
            by_table.pop(each.table, None)
        else:
            before = by_table.get(each.table)
            drift = before.drift if before and before.original == each.original else ""
            kind = next((kind for kind in COPY_KINDS if kind == each.kind), before.kind if before else "superseded")
            by_table[each.table] = Copy(each.table, each.original, kind, 1.0, drift, ("a person said so",))
    return [by_table[table] for table in sorted(by_table)]
