"""Find the relations of an environment, from top to bottom.

In: the memory, which holds the facts of each table, and tables that can be read where a join must be tested. Out:
`Relation`s, surest first: declared keys, joins that the values show, and joins that only names propose (for columns
without values). What depends on changed tables alone is found anew; the answer is the same as without memory. `relate`
goes by values and names; `believe` judges the same candidates again when roles and readings are known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from coset.relations.joins.by_name import propose_by_name
from coset.relations.joins.column_values import ELEMENTS, NESTED, JoinableTable, JoinColumn
from coset.relations.joins.composite import composite_joins
from coset.relations.joins.declared import declared_joins, declared_pairs, with_what_people_said
from coset.relations.joins.expressions import Tested, test_join, tested_from
from coset.relations.joins.features import Candidate, likelihood_of
from coset.relations.joins.judging import LEAST_BELIEVED, SURE_BY_PREFIX, Background, Sides, judged
from coset.relations.joins.memory import JoinMemory, KnownColumns, Tests, join_facts
from coset.relations.joins.neighbours import (
    Kept,
    Neighbours,
    Right,
    kept_rights,
    likely_candidates,
    overlaps_of,
    store_compared,
    touched_lefts,
)
from coset.relations.joins.overlap import Opens, Overlap, TableReader, pair_key_sets
from coset.relations.joins.own_rows import with_own_rows
from coset.relations.joins.selection import LEAST_LIKELY, Scored, choose, likeliest
from coset.state.joins import JoinTables
from coset.state.objects import Reference, Relation

if TYPE_CHECKING:
    import duckdb

    from coset.environment.corrections import Join as SaidJoin

LEAST_PREFIX, LEAST_PREFIXED, LIKELY_BY_PREFIX = 3, 20, 0.7
_LETTERS_FIRST = re.compile(r"[a-z]{2,}(?=\W?\d|\W?$)", re.IGNORECASE)
TABLES_AT_ONCE = 20
FURTHER_PARENTS = 3
TESTED_AS = "join 4"
"""Under what tests of joins are kept: another word where they are made in another way."""
CONFIRMED = 0.3
"""The rows must bear out at least this part of what the distinct values promise."""


def find_relations(
    connection: duckdb.DuckDBPyConnection,
    tables: Sequence[JoinableTable],
    *,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> list[Relation]:
    """The joins among `tables`, found without any memory. The same tables give the same relations; `seed` is kept for a
    sampling to come."""
    memory = empty_memory()
    try:
        remember(memory, connection, tables, progress)
        return relate(memory, connection, tables)
    finally:
        memory.tables.close()


def empty_memory() -> JoinMemory:
    """A memory for one run."""
    return JoinMemory(JoinTables.in_memory())


def remember(
    memory: JoinMemory,
    connection: duckdb.DuckDBPyConnection,
    tables: Sequence[JoinableTable],
    progress: Callable[[str], None] | None = None,
) -> None:
    """Look at tables and keep their facts."""
    for start in range(0, len(tables), TABLES_AT_ONCE):
        some = tables[start : start + TABLES_AT_ONCE]
        for table in some:
            if progress:
                progress(str(table.reference))
        facts = join_facts(connection, some)
        memory.store([(str(table.reference), each) for table, each in zip(some, facts, strict=True)])


def relate(
    memory: JoinMemory,
    connection: duckdb.DuckDBPyConnection,
    tables: Sequence[JoinableTable],
    opens: Opens | None = None,
    said: Sequence[SaidJoin] = (),
) -> list[Relation]:
    """The joins among tables whose facts the memory has, as far as people did not say otherwise. Rows are read through
    `connection`, of those tables alone that a new test needs; `opens` makes one readable. All that is written to the
    memory belongs in one transaction."""
    ordered = sorted(tables, key=lambda table: str(table.reference))
    changed = memory.changed()
    reader = TableReader(connection, ordered, opens)
    try:
        present = {str(table.reference) for table in ordered}
        tests = Tests(memory, changed, present)
        known = memory.columns(ordered)
        _compare(memory, reader, known, changed)
        scored = likely_candidates(memory, known)
        relations = with_what_people_said(_relations(scored, reader, known, tests), said, reader, known)
        tests.store()
        memory.related(present)
        return relations
    finally:
        reader.close()


def believe(
    memory: JoinMemory,
    connection: duckdb.DuckDBPyConnection,
    tables: Sequence[JoinableTable],
    background: Background,
    opens: Opens | None = None,
    said: Sequence[SaidJoin] = (),
) -> list[Relation]:
    """The joins among tables that `relate` compared, as far as the background bears them out."""
    ordered = sorted(tables, key=lambda table: str(table.reference))
    reader = TableReader(connection, ordered, opens)
    try:
        tests = Tests(memory, (), {str(table.reference) for table in ordered})
        known = memory.columns(ordered)
        candidates, sides = judged_candidates(memory, ordered, known)
        scored = with_own_rows(judged(candidates, sides, background), candidates, sides, background, reader, tests)
        found = _relations(scored, reader, known, tests, LEAST_BELIEVED, FURTHER_PARENTS)
        relations = with_what_people_said(found, said, reader, known)
        tests.store(keep_others=True)
        return relations
    finally:
        reader.close()


def judged_candidates(
    memory: JoinMemory, tables: Sequence[JoinableTable], known: KnownColumns
) -> tuple[list[Candidate], list[Sides]]:
    """Every candidate that was compared, with what its two sides are called."""
    lefts = [column for column in known.columns if column.number in known.variants and not column.is_names]
    neighbours = Neighbours(tables, known, {})
    kept = kept_rights(memory, known, lefts, ())
    candidates = [each for left in lefts for each in neighbours.candidates(kept[left.number].rights)]
    prefixes = _prefixes(known)
    sides = []
    for each in candidates:
        left, right = (reference_of(tables, column) for column in (each.left, each.right))
        same_prefix = _by_prefix(each, prefixes)
        table = str(tables[each.right.table].reference)
        sides.append(Sides(str(left), str(right), table, same_prefix))
    return candidates, sides


def _compare(memory: JoinMemory, reader: TableReader, known: KnownColumns, changed: Collection[str]) -> None:
    """Bring the likely candidates of the memory up to date: anew for each column that changed, or of whose best right
    sides one changed, is gone, or came in."""
    variants = [variant for each in known.variants.values() for variant in each]
    everything = pair_key_sets(memory.tables, reader, variants)
    references = [str(table.reference) for table in reader.tables]
    lefts = [column for column in known.columns if column.number in known.variants and not column.is_names]
    kept: dict[int, Kept] = {}
    if not everything:
        lefts = touched_lefts(memory, reader.tables, known, lefts, changed)
        kept = kept_rights(memory, known, [left for left in lefts if references[left.table] not in changed], changed)
    neighbours = Neighbours(reader.tables, known, overlaps_of(memory, known, lefts))
    places = {place for place, reference in enumerate(references) if reference in changed}
    prefixes = _prefixes(known)
    compared: dict[int, list[Right]] = {}
    likely: list[Scored] = []
    for left in lefts:
        rights = neighbours.renewed(left, kept[left.number], places) if left.number in kept else None
        compared[left.number] = rights = neighbours.rights(left) if rights is None else rights
        scored = [
            Scored(candidate, max(likelihood_of(candidate), _by_prefix(candidate, prefixes)))
            for candidate in neighbours.candidates(rights)
        ]
        likely += likeliest(scored)
    store_compared(memory, references, lefts, compared, likely)


def _prefixes(known: KnownColumns) -> dict[int, str]:
    """By the number of a column what its values begin with; the last prefix is the one of both ends, if any."""
    variants = (variant for each in known.variants.values() for variant in each)
    return {variant.column.number: variant.prefix for variant in variants if variant.form == "affix"}


def _relations(
    candidates: Sequence[Scored],
    reader: TableReader,
    known: KnownColumns,
    tests: Tests,
    least: float = LEAST_LIKELY,
    further: int = 0,
) -> list[Relation]:
    tables = reader.tables
    relations = declared_joins(reader, tests)
    done = declared_pairs(tables)
    taken = {left for left, _ in done}
    scored = [
        each
        for each in candidates
        if _place(each.candidate.left) not in taken
        and (_place(each.candidate.right), _place(each.candidate.left)) not in done
    ]
    sources = [table.reference.source for table in tables]
    stated = [
        Scored(each.candidate, 1.0)
        for each in candidates
        if (_place(each.candidate.left), _place(each.candidate.right)) in done
    ]
    for each in choose(scored, least, further, sources, stated):
        tested = _tested(reader, tests, each.candidate.overlap)
        if tested.matched_rows and tested.apart_from_one >= _promised(each.candidate.overlap):
            relations.append(_relation(tables, each, tested))
    relations += composite_joins(reader, tests, known.columns, relations)
    relations += propose_by_name(tables, known.columns, relations)
    order = {"declared": 0, "measured": 1, "inferred": 2, "stated": 0}
    return sorted(relations, key=lambda each: (order[each.provenance], -each.confidence, each.left, each.right))


def _promised(overlap: Overlap) -> float:
    """The share of rows that must at least find a partner, by what the distinct values promise."""
    return CONFIRMED * overlap.containment * overlap.left.part_of_column


def _tested(reader: TableReader, tests: Tests, overlap: Overlap) -> Tested:
    left, right = overlap.left, overlap.right
    references = [str(reader.tables[side.column.table].reference) for side in (left, right)]
    key = [
        TESTED_AS,
        references[0],
        left.column.position,
        left.place,
        references[1],
        right.column.position,
        right.place,
    ]
    return tested_from(tests.recall(key, references, lambda: test_join(reader, overlap).as_json()))


def _by_prefix(candidate: Candidate, prefixes: Mapping[int, str]) -> float:
    """Two columns whose every value begins with the same word (CUST-0001 here and there) are of one kind, although the
    numbers behind it prove nothing and the names of the columns may differ."""
    overlap = candidate.overlap
    if overlap.left.form != "whole" or overlap.right.form != "whole":
        return 0.0
    prefix, other = (prefixes.get(each.number, "") for each in (candidate.left, candidate.right))
    letters = sum(letter.isalpha() for letter in prefix)
    if letters >= LEAST_PREFIX and prefix == other:
        return SURE_BY_PREFIX if overlap.containment >= 0.9 and overlap.right.uniqueness >= 0.95 else 0.0
    # Two letters before digits that are filled up with zeros.
    first, second = _LETTERS_FIRST.match(prefix), _LETTERS_FIRST.match(other)
    same = first is not None and second is not None and first[0] == second[0]
    contained = overlap.containment >= 0.97 and overlap.right.uniqueness >= 0.98 and overlap.found >= LEAST_PREFIXED
    return LIKELY_BY_PREFIX if same and contained and candidate.left.table != candidate.right.table else 0.0


def _place(column: JoinColumn) -> tuple[int, str]:
    return column.table, column.name


def reference_of(tables: Sequence[JoinableTable], column: JoinColumn) -> Reference:
    table = tables[column.table].reference
    if column.is_names:
        return table
    path = tuple(column.name.split(NESTED))
    if column.elements and ELEMENTS not in path:
        path = (*path, ELEMENTS)
    return Reference(table.source, table.schema, table.table, path)


def _relation(tables: Sequence[JoinableTable], scored: Scored, tested: Tested) -> Relation:
    candidate = scored.candidate
    return Relation(
        left=(reference_of(tables, candidate.left),),
        right=(reference_of(tables, candidate.right),),
        kind=tested.kind,
        left_expression=tested.left_expression,
        right_expression=tested.right_expression,
        left_match=tested.left_match,
        right_match=tested.right_match,
        cardinality=tested.cardinality,
        provenance="measured",
        confidence=round(scored.likelihood, 3),
        unmatched_left=tested.unmatched_left,
        unmatched_right=tested.unmatched_right,
        reasons=_reasons(candidate, tested),
    )


def _reasons(candidate: Candidate, tested: Tested) -> tuple[str, ...]:
    overlap = candidate.overlap
    found = [
        f"{tested.left_match.value:.0%} of the rows on the left find a partner "
        f"({overlap.found:,} of {overlap.looked_up:,} values looked up)",
        f"{overlap.right.uniqueness:.0%} of the values on the right are unique",
    ]
    if overlap.left.part_of_column < 0.9:
        found.append(f"only values that begin with {overlap.left.spelled[0]} are meant")
    if candidate.bits >= 30:
        found.append("so many equal values are very unlikely by chance")
    elif candidate.bits < 5:
        found.append("equal values could be chance: the names decide")
    if candidate.name >= 0.5:
        found.append(f"the names agree ({candidate.name:.2f} of 1)")
    return tuple(found)
