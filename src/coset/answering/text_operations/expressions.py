"""Expressions that may read a field out of a text column, tried on texts whose field is known.

In: candidates (facets of the evidence state, patterns made from examples or proposed by a model) and labelled texts.
Out: for a field the expressions that agree with the labels, measured on labels that did not choose them. A pattern of a
model's is a text inside a function call, never a statement; everything runs through the guarded session.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from coset.errors import CosetError
from coset.evidence.state import EvidenceState
from coset.session.local_tables import literal, quoted
from coset.session.query_session import QuerySession

Origin = Literal["facet", "pattern"]
LONGEST_PATTERN = 500
LEAST_RIGHT = 4
LEAST_AGREEMENT = 0.9
MOST_TOGETHER = 3
TRIED = "texts_to_read"
"""The temporary table that holds the texts while expressions run over them."""
_FOLD = re.compile(r"[\s,]+")


@dataclass(frozen=True)
class Candidate:
    """A DuckDB expression over the quoted text column."""

    sql: str
    origin: Origin


@dataclass(frozen=True)
class KeptExpression:
    """Expressions that read one field, tried one after the other."""

    candidates: tuple[Candidate, ...]
    agreement: float
    """Of the held-out texts in which it read something, the share in which it read what the model did."""
    tested_on: int
    silence: float
    """Of the labelled texts in which it read nothing, the share in which there is nothing to read."""

    @property
    def sql(self) -> str:
        parts = [f"CAST({each.sql} AS VARCHAR)" for each in self.candidates]
        return parts[0] if len(parts) == 1 else f"coalesce({', '.join(parts)})"


def facet_candidates(state: EvidenceState, column_reference: str) -> tuple[Candidate, ...]:
    """What the state already knows how to read out of a column."""
    rows = state.rows(
        "SELECT expression FROM facets WHERE column_reference = $1 ORDER BY coverage DESC, reference",
        [column_reference],
    )
    return tuple(Candidate(row["expression"], "facet") for row in rows)


def pattern_candidate(pattern: Any, column: str) -> Candidate | None:
    """A pattern as an expression; None for what is no pattern. Without a group, all that it matches is read."""
    if not isinstance(pattern, str) or not pattern or len(pattern) > LONGEST_PATTERN or "\x00" in pattern:
        return None
    group = 1 if re.search(r"(?<!\\)\((?!\?)", pattern) else 0
    call = f"regexp_extract({quoted(column)}, {literal(pattern)}, {group})"
    return Candidate(f"nullif(trim({call}), '')", "pattern")


def read_with(
    session: QuerySession, texts: Sequence[str], column: str, expressions: Sequence[str]
) -> list[tuple[str | None, ...] | None]:
    """What each expression reads out of each text; None for an expression that cannot be run."""
    import pyarrow as pa

    table = pa.table({"number": pa.array(range(len(texts)), pa.int64()), column: pa.array(texts, pa.string())})
    name = session.add_table(TRIED, table)
    found: list[tuple[str | None, ...] | None] = []
    for expression in expressions:
        try:
            result = session.sql(
                f"SELECT CAST({expression} AS VARCHAR) FROM {name} ORDER BY number", max_rows=len(texts)
            )
        except CosetError:
            found.append(None)
            continue
        values = tuple(row[0] for row in result.rows())
        found.append(values if len(values) == len(texts) else None)
    return found


def choose(
    field: str,
    labels: Sequence[Mapping[str, Any]],
    readings: Mapping[Candidate, Sequence[str | None]],
) -> KeptExpression | None:
    """The expressions for a field that agree with its labels, the widest first; None when none does.

    They are chosen on two thirds of the labels and measured on the rest: of many guesses one fits by chance.
    """
    wanted = [folded(label.get(field)) for label in labels]
    choosing = [number for number in range(len(labels)) if number % 3]
    held_out = [number for number in range(len(labels)) if not number % 3]
    read = {candidate: [folded(value) for value in values] for candidate, values in readings.items()}
    taken: list[Candidate] = []
    open_ = list(choosing)
    while len(taken) < MOST_TOGETHER:
        best: tuple[int, Candidate] | None = None
        for candidate, values in read.items():
            spoke = [number for number in open_ if values[number] is not None]
            right = sum(values[number] == wanted[number] for number in spoke)
            if right >= LEAST_RIGHT and right >= LEAST_AGREEMENT * len(spoke) and (best is None or right > best[0]):
                best = (right, candidate)
        if best is None:
            break
        taken.append(best[1])
        open_ = [number for number in open_ if read[best[1]][number] is None]
    while taken:
        values = [
            next((read[each][n] for each in taken if read[each][n] is not None), None) for n in range(len(labels))
        ]
        spoke = [number for number in held_out if values[number] is not None]
        right = sum(values[number] == wanted[number] for number in spoke)
        if spoke and right >= (LEAST_AGREEMENT - 0.05) * len(spoke):
            silent = [number for number in range(len(labels)) if values[number] is None]
            nothing = sum(wanted[number] is None for number in silent)
            return KeptExpression(
                tuple(taken), right / len(spoke), len(spoke), nothing / len(silent) if silent else 1.0
            )
        taken.pop()
    return None


def folded(value: Any) -> str | None:
    """A value for comparison: without case, blanks and signs at its ends; numbers by what they are."""
    if value is None:
        return None
    text = _FOLD.sub(" ", str(value)).strip(" .;:'\"").casefold()
    bare = text.replace(" ", "").lstrip("$€£").rstrip("%")
    try:
        return f"{float(bare):.10g}" if bare and bare[0] in "0123456789-+." else text or None
    except ValueError:
        return text or None
