"""Puts the kinds of diagnostics of one column together, so that one piece of dirt is told once.

In: a column as observed. Out: its diagnostics. What is dirt is decided in the module of each kind.
"""

from __future__ import annotations

import duckdb

from coset.evidence.diagnostics.dates import dates, number_dates
from coset.evidence.diagnostics.empty_columns import empty_or_constant, not_a_number
from coset.evidence.diagnostics.encoding import encoding
from coset.evidence.diagnostics.mixed_case import mixed_case
from coset.evidence.diagnostics.null_tokens import null_tokens
from coset.evidence.diagnostics.null_words import reads_as_null
from coset.evidence.diagnostics.numbers import numbers
from coset.evidence.diagnostics.observed import Observed
from coset.evidence.diagnostics.quoting import BLANKS, is_date, is_integer, is_number, is_text
from coset.evidence.diagnostics.sentinels import (
    moment_sentinels,
    number_sentinels,
    read_moment_sentinels,
    read_number_sentinels,
)
from coset.evidence.diagnostics.stray_characters import padding, stray_characters
from coset.evidence.diagnostics.units import units
from coset.state.objects import Diagnostic


def diagnose_from(connection: duckdb.DuckDBPyConnection, relation: str, observed: Observed) -> list[Diagnostic]:
    """The diagnostics of a column from what was observed of it; `relation` is read again only for exact counts."""
    if not observed.rows:
        return []
    nothing = empty_or_constant(observed)
    if nothing is not None and nothing.kind == "empty":
        return [nothing]
    found: list[Diagnostic | None] = [nothing]
    if is_text(observed.type):
        found += _of_text(connection, relation, observed)
    elif nothing is None and is_number(observed.type):
        moments = number_dates(connection, observed) if is_integer(observed.type) else None
        found += [not_a_number(observed), moments]
        if moments is None:
            found.append(number_sentinels(connection, relation, observed))
    elif nothing is None and is_date(observed.type):
        found.append(moment_sentinels(connection, relation, observed))
    elif is_number(observed.type):
        found.append(not_a_number(observed))
    return [each for each in found if each is not None]


def _of_text(connection: duckdb.DuckDBPyConnection, relation: str, observed: Observed) -> list[Diagnostic | None]:
    found: list[Diagnostic | None] = [*null_tokens(connection, relation, observed), padding(observed)]
    stripped: dict[str, int] = {}
    for text, count in observed.texts():
        bare = text.strip(BLANKS)
        if bare and reads_as_null(bare) is None:
            stripped[bare] = stripped.get(bare, 0) + count
    texts = list(stripped.items())
    moments = dates(connection, observed, texts)
    if moments is not None:
        assert moments.expression is not None and moments.type is not None  # noqa: S101 - dates always carry one
        found += [moments, read_moment_sentinels(connection, observed, texts, moments.expression, moments.type)]
        return found
    measured = units(connection, observed, texts)
    if measured is not None:
        found.append(measured)
    if measured is None or measured.expression is None:
        for diagnostic, pairs in numbers(connection, observed, texts):
            assert diagnostic.expression is not None and diagnostic.type is not None  # noqa: S101
            found.append(diagnostic)
            found.append(
                read_number_sentinels(connection, relation, observed, pairs, diagnostic.expression, diagnostic.type)
            )
            return found
    if measured is not None:
        return found
    found += stray_characters(connection, observed)
    found += [mixed_case(observed), encoding(connection, observed)]
    return found
