"""Puts the kinds of diagnostics of one column together, so that one problem is told once.

In: a column as observed. Out: its diagnostics. What is a problem is decided in the module of each kind; columns that
say nothing (only NULL, one value alone, NaN for NULL) are told here.
"""

from __future__ import annotations

import duckdb

from coset.evidence.quality.dates import dates, number_dates
from coset.evidence.quality.null_words import reads_as_null
from coset.evidence.quality.nulls import (
    moment_sentinels,
    null_tokens,
    number_sentinels,
    read_moment_sentinels,
    read_number_sentinels,
)
from coset.evidence.quality.numbers import numbers
from coset.evidence.quality.observed import BLANKS, Observed, is_date, is_integer, is_number, is_text
from coset.evidence.quality.text import encoding, mixed_case, padding, stray_characters
from coset.evidence.quality.units import units
from coset.sql_text import identifier
from coset.state.objects import Diagnostic


def empty_or_constant(observed: Observed) -> Diagnostic | None:
    if observed.rows and not observed.present:
        return Diagnostic("empty", observed.exact(observed.rows), "Every row is NULL.")
    if observed.constant and observed.present >= 5:
        value = str(observed.values[0][0])[:80] if observed.values and not _is_moment(observed) else None
        shown = f" '{value}'" if value is not None else ""
        nulls = "" if observed.present == observed.rows else " where it is not NULL"
        return Diagnostic(
            "constant",
            observed.exact(observed.present),
            f"Every row holds the same value{shown}{nulls}.",
            examples=(value,) if value is not None else (),
        )
    return None


def _is_moment(observed: Observed) -> bool:
    return observed.type.upper().startswith(("DATE", "TIMESTAMP"))


def not_a_number(observed: Observed) -> Diagnostic | None:
    if not observed.not_a_number:
        return None
    name = identifier(observed.name)
    return Diagnostic(
        "null_tokens",
        observed.exact(observed.not_a_number),
        f"NaN ({observed.not_a_number:,}) stands where there is no value; it makes sums and averages NaN.",
        expression=f"CASE WHEN isnan({name}) THEN NULL ELSE {name} END",
        type=observed.type,
        examples=("NaN",),
    )


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
