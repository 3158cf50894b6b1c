"""Text operations over a SELECT: its rows with the new columns, as a temporary table that later SQL reads.

In: a SELECT of keys and a text column, a labeller, a name. Out: a temporary table with all columns of the SELECT and
the labels or fields beside them; and what the operation says of itself. A SELECT that gives more rows than may be read
is refused, never cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from coset.answering.text_operations.classify import Classified, Encode, classify
from coset.answering.text_operations.expressions import Candidate
from coset.answering.text_operations.extract import Extracted, Proposer, extract
from coset.answering.text_operations.labels import Budget, LabelCache, Labeller
from coset.environment.source import unique_names
from coset.errors import LimitReached, UserError
from coset.session.query_session import QuerySession
from coset.session.result import Result

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS = 100_000


@dataclass(frozen=True)
class ClassifiedColumn:
    """`name` is what SQL writes; the columns are those of the SELECT, then category, confidence, labelled_by."""

    name: str
    table: pa.Table
    found: Classified


@dataclass(frozen=True)
class ExtractedColumns:
    """`name` is what SQL writes; the columns are those of the SELECT, then each field, and `<field>_read_by`."""

    name: str
    table: pa.Table
    found: Extracted


async def classify_column(
    session: QuerySession,
    select: str,
    column: str,
    categories: Sequence[str],
    labeller: Labeller,
    encode: Encode,
    *,
    name: str = "classified",
    model: str = "",
    instruction: str = "",
    budget: Budget | None = None,
    cache: LabelCache | None = None,
) -> ClassifiedColumn:
    result, texts = _texts(session, select, column)
    found = await classify(
        texts, categories, labeller, encode, model=model, instruction=instruction, budget=budget, cache=cache
    )
    added = {
        "category": (list(found.labels), "VARCHAR"),
        "confidence": (found.confidence.tolist(), "DOUBLE"),
        "labelled_by": ([who or None for who in found.by], "VARCHAR"),
    }
    table, written = _kept(session, name, result, added)
    return ClassifiedColumn(written, table, found)


async def extract_columns(
    session: QuerySession,
    select: str,
    column: str,
    fields: Sequence[str],
    labeller: Labeller,
    *,
    name: str = "extracted",
    candidates: Sequence[Candidate] = (),
    proposer: Proposer | None = None,
    model: str = "",
    instruction: str = "",
    budget: Budget | None = None,
    cache: LabelCache | None = None,
) -> ExtractedColumns:
    """`candidates` are expressions over `column`, such as `facet_candidates` gives."""
    result, texts = _texts(session, select, column)
    found = await extract(
        texts, fields, labeller, session, column=column, candidates=candidates, proposer=proposer, model=model,
        instruction=instruction, budget=budget, cache=cache,
    )  # fmt: skip
    added: dict[str, tuple[list[Any], str]] = {}
    for field in found.fields:
        added[field] = (list(found.values[field]), "VARCHAR")
        added[f"{field}_read_by"] = ([who or None for who in found.by[field]], "VARCHAR")
    table, written = _kept(session, name, result, added)
    return ExtractedColumns(written, table, found)


def _texts(session: QuerySession, select: str, column: str) -> tuple[Result, list[str | None]]:
    result = session.sql(select, max_rows=MOST_ROWS)
    if result.truncated:
        raise LimitReached(
            f"the SELECT gives more than {MOST_ROWS:,} rows, or more than fit: filter it, or take the texts in parts"
        )
    lowered = [each.lower() for each in result.columns]
    if column.lower() not in lowered:
        raise UserError(f"the SELECT gives no column '{column}': it gives {', '.join(result.columns)}")
    place = lowered.index(column.lower())
    if result.types[place] != "VARCHAR" and not result.types[place].startswith("ENUM("):
        raise UserError(f"'{column}' is of type {result.types[place]}: name a text column, or cast it to VARCHAR")
    return result, result.table.column(place).cast("string").to_pylist()


def _kept(
    session: QuerySession, name: str, result: Result, added: dict[str, tuple[list[Any], str]]
) -> tuple[pa.Table, str]:
    import pyarrow as pa

    table = result.table
    for column, (values, kind) in added.items():
        table = table.append_column(column, pa.array(values, pa.float64() if kind == "DOUBLE" else pa.string()))
    table = table.rename_columns(unique_names(table.column_names))
    return table, session.add_table(name, table, (*result.types, *(kind for _, kind in added.values())))
