"""Self-references: columns that name other rows of their own table (the row that is reversed, replaced, repeated).

In: judged candidates, and rows. Out: the same, where a column only repeats the key of its own row without belief, and
with more where numbers that prove nothing by being contained behave as such a reference does: a few rows name another
row, nearly always an earlier one, from all over the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from coset.relations.joins.column_values import access
from coset.relations.joins.features import Candidate, Features, held_by_chance
from coset.relations.joins.judging import FORBIDDEN, KEY_ROLE, UNIQUE, Background, Sides
from coset.relations.joins.memory import Tests
from coset.relations.joins.overlap import TableReader
from coset.relations.joins.selection import Scored

LEAST_HELD, LEAST_ROWS, MOST_ROWS_SHARE = 0.97, 20, 0.3
REACH = 0.7
"""The numbers of a reference to the own table reach about as far as those of its key."""
ONE_SIDED, OWN_ROW = 0.98, 0.5
NAMES_EARLIER, READ_FROM = 0.6, 0.4


class _Rows(NamedTuple):
    both: int
    own: int
    earlier: int


def with_own_rows(
    scored: Sequence[Scored],
    candidates: Sequence[Candidate],
    sides: Sequence[Sides],
    background: Background,
    reader: TableReader,
    tests: Tests,
) -> list[Scored]:
    """Candidates within one table, believed as far as their rows bear them out; all others as they are."""
    places = {(each.left.number, each.right.number): side for each, side in zip(candidates, sides, strict=True)}
    found: list[Scored] = []
    for each in scored:
        candidate = each.candidate
        if candidate.left.table == candidate.right.table and not (candidate.left.elements or candidate.right.elements):
            side = places[candidate.left.number, candidate.right.number]
            may_name = _may_name_earlier(candidate, side, background)
            if may_name or each.likelihood >= READ_FROM:
                rows = _rows(candidate, reader, tests)
                if rows.own > OWN_ROW * rows.both:
                    each = Scored(candidate, min(each.likelihood, FORBIDDEN))
                elif may_name and not rows.own and max(rows.earlier, rows.both - rows.earlier) >= ONE_SIDED * rows.both:
                    each = Scored(candidate, max(each.likelihood, NAMES_EARLIER))
        found.append(each)
    return found


def _may_name_earlier(candidate: Candidate, side: Sides, background: Background) -> bool:
    overlap = candidate.overlap
    left, right = overlap.left, overlap.right
    return (
        held_by_chance(overlap)
        and left.is_number
        and right.is_number
        and left.form == right.form == "whole"
        and overlap.containment >= LEAST_HELD
        and right.uniqueness >= UNIQUE
        and bool(Features(*candidate.features).right_is_main)
        and LEAST_ROWS <= candidate.left.known <= MOST_ROWS_SHARE * candidate.left.rows
        and left.maximum >= REACH * right.maximum
        and min(background.roles(side.left).key, background.roles(side.right).key) >= KEY_ROLE
    )


def _rows(candidate: Candidate, reader: TableReader, tests: Tests) -> _Rows:
    """How many rows have both values, the same one twice, and the smaller one on the left."""
    left, right = candidate.left, candidate.right

    def count() -> list[int]:
        texts = [f"CAST({access(column.name)} AS VARCHAR)" for column in (left, right)]
        numbers = [f"TRY_CAST({text} AS BIGINT)" for text in texts]
        [row] = reader.connection.execute(
            f"SELECT count(*), count(*) FILTER ({texts[0]} = {texts[1]}), "
            f"count(*) FILTER ({numbers[0]} < {numbers[1]}) "
            f"FROM {reader.relation(left.table)} WHERE {texts[0]} IS NOT NULL AND {texts[1]} IS NOT NULL"
        ).fetchall()
        return list(row)

    reference = str(reader.tables[left.table].reference)
    return _Rows(*tests.recall(["own rows", reference, left.position, right.position], [reference], count))
