"""Finding the facets of a text column.

In: an open connection, a relation, a text column. Out: at most a dozen facets, the most useful first, each with an
expression that was run over the column (or over a stated sample of it). Candidates are made from a sample of distinct
values; those that read the same piece of text are one, and the reading that says more about it stays.
What a facet means, and whether its values join anything, is not known here.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
from duckdb import DuckDBPyConnection

from coset.evidence.facets.candidate import LONGEST_TEXT, Candidate, Copy, drop, holds_text, place_candidates, read
from coset.evidence.facets.codes import (
    code_candidates,
    contact_candidates,
    key_value_candidates,
    list_candidates,
    mark_candidates,
)
from coset.evidence.facets.measures import date_candidates, quantity_candidates
from coset.evidence.facets.templates import template_candidates
from coset.state.objects import Share, TextFacet

MOST_FACETS = 12
LEAST_COVERAGE = 0.02
LEAST_ROWS = 5
_COMPARED = 300
_SIGNS = re.compile(r"[\W_]+")


def find_facets(
    connection: DuckDBPyConnection,
    relation: str,
    column: str,
    type: str,
    *,
    rows: int,
    seed: int = 0,
    glance: Sequence[str] | None = None,
) -> list[TextFacet]:
    """The facets of `column`; `relation` is a quoted table or view of `rows` rows, `type` the column's DuckDB type.
    `glance`: the beginnings of some of its texts, where they are known already."""
    if type.upper() not in {"VARCHAR", "TEXT", "STRING"} or rows < LEAST_ROWS:
        return []
    if glance is not None and not holds_text(glance):
        return []
    copy = read(connection, relation, column, rows, seed)
    if copy is None:
        return []
    try:
        candidates = _candidates(copy)
        chosen = _chosen(connection, copy, candidates)
        return _measured(connection, copy, chosen, rows)
    finally:
        drop(connection, copy)


def _candidates(copy: Copy) -> list[Candidate]:
    floor = max(3, math.ceil(LEAST_COVERAGE * len(copy.values)))
    kinds = [date_candidates, quantity_candidates, place_candidates, code_candidates, contact_candidates]
    if not copy.structured:
        kinds += [key_value_candidates, mark_candidates]
    found = [candidate for kind in kinds for candidate in kind(copy.column, copy.values, floor)]
    if not copy.structured:
        # The words of a list stand together often, but not because they were filled into a sentence.
        lists = list_candidates(copy.column, copy.values, floor)
        found += lists or template_candidates(copy.column, copy.values, floor)
    return sorted(found, key=lambda candidate: (-candidate.weight, candidate.name, candidate.expression))


@dataclass(frozen=True)
class _Reading:
    """What a candidate reads from each sampled value."""

    candidate: Candidate
    values: tuple[str | None, ...]
    pieces: tuple[str | None, ...]

    @property
    def count(self) -> int:
        return sum(value is not None for value in self.values)


def _chosen(connection: DuckDBPyConnection, copy: Copy, candidates: list[Candidate]) -> list[_Reading]:
    chosen: list[_Reading] = []
    for candidate in candidates:
        reading = _reading(connection, copy, candidate)
        if reading and _says_something(reading, copy) and not any(_same(kept, reading) for kept in chosen):
            # Half of what another reads, under a better name, is still only half of it.
            chosen = [kept for kept in chosen if not (kept.count < 0.8 * reading.count and _same(reading, kept))]
            chosen.append(reading)
    chosen.sort(key=lambda one: (-_usefulness(one), one.candidate.name))
    return chosen[: MOST_FACETS + 4]


def _reading(connection: DuckDBPyConnection, copy: Copy, candidate: Candidate) -> _Reading | None:
    shown = candidate.expression
    if candidate.type.endswith("[]"):
        shown = f"CASE WHEN len({shown}) > 0 THEN {shown} END"
    try:
        rows = connection.execute(
            f"SELECT CAST({shown} AS VARCHAR), {candidate.raw} FROM {copy.sample} ORDER BY rowid"
        ).fetchall()
    except duckdb.Error:
        # An expression that the engine refuses is no reading; nothing else is lost by leaving it out.
        return None
    return _Reading(candidate, tuple(row[0] for row in rows), tuple(row[1] for row in rows))


def _says_something(reading: _Reading, copy: Copy) -> bool:
    counts = Counter(value for value in reading.values if value is not None)
    count = reading.count
    if count < min(3, len(copy.values)) or len(counts) < 2:
        return False
    whole = sum(
        piece is not None and len(piece.strip(" .")) >= 0.95 * len(text.strip(" ."))
        for piece, text in zip(reading.pieces, copy.values, strict=True)
    )
    if whole > 0.5 * count:
        return False
    return not (reading.candidate.varied and counts.most_common(1)[0][1] > 0.95 * count)


def _same(kept: _Reading, other: _Reading) -> bool:
    """Whether two readings read the same piece of nearly every text that the second reads."""
    pairs = [(a, b) for a, b in zip(kept.pieces, other.pieces, strict=True) if a is not None and b is not None]
    if not pairs or len(pairs) < 0.75 * other.count:
        return False
    compared = pairs[:_COMPARED]
    return sum(_overlap(a, b) for a, b in compared) >= 0.7 * len(compared)


def _overlap(one: str, two: str) -> bool:
    """Whether two pieces are one, or one is a good part of the other, whole words both."""
    shorter, longer = sorted((one.strip(), two.strip()), key=len)
    at = longer.find(shorter)
    if at >= 0 and (4 * len(shorter) >= len(longer) or len(longer.split()) < 3):
        before, after = longer[:at][-1:], longer[at + len(shorter) :][:1]
        if not (before.isalnum() and shorter[:1].isalnum()) and not (after.isalnum() and shorter[-1:].isalnum()):
            return True
    return len(longer) < 2 * len(shorter) and _bare(one) == _bare(two)


def _bare(text: str) -> str:
    return _SIGNS.sub("", text).lower()


def _usefulness(reading: _Reading) -> float:
    counts = Counter(value for value in reading.values if value is not None)
    share = reading.count / len(reading.values)
    evenness = 1 - counts.most_common(1)[0][1] / reading.count
    return reading.candidate.weight * math.sqrt(share) * (0.5 + 0.5 * evenness)


def _measured(connection: DuckDBPyConnection, copy: Copy, readings: list[_Reading], rows: int) -> list[TextFacet]:
    if not readings:
        return []
    columns, counts = [], []
    for number, reading in enumerate(readings):
        expression = reading.candidate.expression
        if reading.candidate.type.endswith("[]"):
            expression = f"CASE WHEN len({expression}) > 0 THEN {expression} END"
        columns.append(f"{expression} AS f{number}")
        counts.append(f"count(f{number}), count(DISTINCT f{number})")
    measured = connection.execute(
        f"SELECT {', '.join(counts)} FROM (SELECT {', '.join(columns)} FROM {copy.table})"
    ).fetchone()
    facets = []
    for number, reading in enumerate(readings):
        count, distinct = (measured or ())[2 * number : 2 * number + 2]
        share = count / max(copy.rows, 1)
        if count < LEAST_ROWS or share < LEAST_COVERAGE or distinct < 2:
            continue
        error = 0.0 if copy.complete else 1.96 * math.sqrt(share * (1 - share) / copy.rows)
        facets.append(_facet(reading, copy, Share(share, error), distinct, rows))
    return facets[:MOST_FACETS]


def _facet(reading: _Reading, copy: Copy, coverage: Share, distinct: int, rows: int) -> TextFacet:
    candidate = reading.candidate
    notes = [candidate.description]
    if not copy.complete:
        notes.append(f"measured on {copy.rows:,} of {rows:,} rows")
    if copy.cut:
        notes.append(f"only the first {LONGEST_TEXT:,} characters of a text were looked at")
    examples: dict[str, str] = {}
    for text, piece, value in zip(copy.values, reading.pieces, reading.values, strict=True):
        if value is not None and value not in examples.values() and len(examples) < 3:
            examples[_around(text, piece)] = value
    return TextFacet(
        name=candidate.name,
        kind=candidate.kind,
        expression=candidate.expression,
        type=candidate.type,
        coverage=coverage,
        distinct=distinct,
        description="; ".join(notes),
        examples=tuple(examples.items()),
    )


def _around(text: str, piece: str | None) -> str:
    """The piece of the text with what stands around it."""
    start = text.find(piece) if piece else 0
    begin = max(0, start - 30)
    end = start + len(piece or "") + 20
    cut = text[begin : max(end, begin + 60)].replace("\n", " ")
    return ("…" if begin else "") + cut + ("…" if begin + len(cut) < len(text) else "")
