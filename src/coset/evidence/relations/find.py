"""Find the relations of an environment, from top to bottom.

In: tables that a DuckDB connection can read. Out: `Relation`s, surest first: declared keys, joins that the values show,
and joins that only names propose (for columns without values). Nothing here knows what a table means.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from coset.evidence.objects import Reference, Relation
from coset.evidence.relations.by_name import propose_by_name
from coset.evidence.relations.column_values import VALUES, gather
from coset.evidence.relations.composite import composite_joins
from coset.evidence.relations.declared import declared_joins, declared_pairs
from coset.evidence.relations.expressions import Tested, test_join
from coset.evidence.relations.features import Candidate, candidates_of
from coset.evidence.relations.joinable import JoinableTable, JoinColumn
from coset.evidence.relations.model import likelihood_of
from coset.evidence.relations.overlap import LEFT_KEYS, RIGHT_KEYS, find_overlaps
from coset.evidence.relations.selection import Scored, choose
from coset.evidence.relations.variants import KEYS, variants_of

if TYPE_CHECKING:
    import duckdb

LEAST_PREFIX = 3
SURE_BY_PREFIX = 0.85


def find_relations(
    connection: duckdb.DuckDBPyConnection,
    tables: Sequence[JoinableTable],
    *,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> list[Relation]:
    """The joins among `tables`. The same tables give the same relations; `seed` is kept for a sampling to come."""
    try:
        return _find(connection, tables, progress)
    finally:
        for name in (VALUES, KEYS, LEFT_KEYS, RIGHT_KEYS):
            connection.execute(f"DROP TABLE IF EXISTS {name}").fetchall()


def _find(
    connection: duckdb.DuckDBPyConnection,
    tables: Sequence[JoinableTable],
    progress: Callable[[str], None] | None,
) -> list[Relation]:
    declared = declared_joins(connection, tables)
    columns = gather(connection, tables, progress)
    variants = variants_of(connection, columns)
    prefixes = {variant.column.number: variant.prefix for variant in variants if variant.form == "affix"}
    overlaps = find_overlaps(connection, tables, variants)
    candidates = candidates_of(tables, overlaps, columns)
    done = declared_pairs(tables)
    taken = {left for left, _ in done}
    scored = [
        Scored(candidate, max(likelihood_of(candidate), _by_prefix(candidate, prefixes)))
        for candidate in candidates
        if _place(candidate.left) not in taken and (_place(candidate.right), _place(candidate.left)) not in done
    ]
    relations = list(declared)
    chosen = choose(scored)
    for each in chosen:
        tested = test_join(connection, tables, each.candidate.overlap)
        if tested.matched_rows:
            relations.append(_relation(tables, each, tested))
    relations += composite_joins(connection, tables, columns, relations)
    relations += propose_by_name(connection, tables, columns, relations)
    order = {"declared": 0, "measured": 1, "inferred": 2, "stated": 0}
    return sorted(relations, key=lambda each: (order[each.provenance], -each.confidence, each.left, each.right))


def _by_prefix(candidate: Candidate, prefixes: Mapping[int, str]) -> float:
    """Two columns whose every value begins with the same word (CUST-0001 here and there) are of one kind, although the
    numbers behind it prove nothing and the names of the columns may differ."""
    overlap = candidate.overlap
    prefix = prefixes.get(candidate.left.number, "")
    letters = sum(letter.isalpha() for letter in prefix)
    same = letters >= LEAST_PREFIX and prefix == prefixes.get(candidate.right.number)
    contained = overlap.containment >= 0.9 and overlap.right.uniqueness >= 0.95
    return SURE_BY_PREFIX if same and contained and overlap.left.form == overlap.right.form == "whole" else 0.0


def _place(column: JoinColumn) -> tuple[int, str]:
    return column.table, column.name


def reference_of(tables: Sequence[JoinableTable], column: JoinColumn) -> Reference:
    table = tables[column.table].reference
    if column.is_names:
        return table
    path = (column.name, "[]") if column.elements else (column.name,)
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
    if candidate.bits >= 30:
        found.append("so many equal values are very unlikely by chance")
    elif candidate.bits < 5:
        found.append("equal values could be chance: the names decide")
    if candidate.name >= 0.5:
        found.append(f"the names agree ({candidate.name:.2f} of 1)")
    return tuple(found)
