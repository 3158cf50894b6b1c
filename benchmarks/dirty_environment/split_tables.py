"""Step: tables are split, by rows into a family of tables named by a value, or by columns into two that share the key.

Where a family's value is a foreign key, the join goes through the name of the table.
"""

from __future__ import annotations

import random
import re

from .draft import Draft, DraftColumn, DraftTable, Reference
from .options import Options

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*")


def split_tables(draft: Draft, options: Options) -> None:
    _split_into_families(draft, options)
    _split_by_columns(draft, options)


def _split_into_families(draft: Draft, options: Options) -> None:
    rng = draft.chance("families")
    parents = {column.table for reference in draft.references for column in reference.parent}
    touched = {fact.column.table for fact in draft.facts} | {duplicate.column.table for duplicate in draft.duplicates}
    fitting = []
    for table in draft.tables:
        if table in parents or table in touched or table.rows < 20 or len(table.columns) < 3:
            continue
        columns = [column for column in table.columns if _names_tables(column, options.family_members)]
        # A reference in the name is the harder and more interesting case.
        referring = [column for column in columns if any(column in reference.child for reference in draft.references)]
        if columns:
            fitting.append((table, rng.choice(referring or columns), bool(referring)))
    fitting.sort(key=lambda item: not item[2])
    first = [item for item in fitting if item[2]] or fitting
    for table, column, _ in rng.sample(first, min(options.families, len(first))):
        table.family_column = column
        if not column.is_key:
            column.is_busy = True


def _names_tables(column: DraftColumn, most: int) -> bool:
    values = set(column.values)
    return (
        column.type == "text"
        and not column.is_busy
        and 2 <= len(values) <= most
        and all(isinstance(value, str) and len(value) <= 40 and _WORD.fullmatch(value) for value in values)
        and len({str(value).lower() for value in values}) == len(values)
    )


def _split_by_columns(draft: Draft, options: Options) -> None:
    rng = draft.chance("halves")
    referring = {column for reference in draft.references for column in reference.child}
    fitting = [
        table
        for table in draft.tables
        if table.primary_key
        and table.family_column is None
        and sum(column not in referring and column not in table.primary_key for column in table.columns) >= 4
    ]
    for table in rng.sample(fitting, min(options.vertical_splits, len(fitting))):
        _split_in_two(draft, table, referring, draft.chance("halves", table.canonical_name))


def _split_in_two(draft: Draft, table: DraftTable, referring: set[DraftColumn], rng: random.Random) -> None:
    plain = [column for column in table.columns if column not in referring and not column.is_key]
    moving = [column for column in plain if column in set(rng.sample(plain, len(plain) // 2))]
    other = DraftTable(f"{table.canonical_name}_details", synonyms=(), rows=table.rows, part_of=table)
    copies = tuple(
        DraftColumn(
            other, column.canonical_name, column.type, list(column.values), column.origin,
            synonyms=column.synonyms, is_key=True, copy_of=column,
        )
        for column in table.primary_key
    )  # fmt: skip
    for column in moving:
        table.columns.remove(column)
        column.table = other
    other.columns = [*copies, *moving]
    other.primary_key = copies
    order = list(range(other.rows))
    rng.shuffle(order)
    for column in other.columns:
        column.values = [column.values[row] for row in order]
    for fact in draft.facts:
        if fact.column in moving:
            fact.written[:] = [fact.written[row] for row in order]
    draft.tables.insert(draft.tables.index(table) + 1, other)
    draft.references.append(Reference(copies, table.primary_key, "split"))
