"""What the agent is told first: the records, what their statement gave, as much evidence as that leaves open, and last
the question itself.

In: a view and the records over it. Out: text. Where the statement gave rows, its own words are evidence enough; where
it did not, what the records cite is shown again, with the tables it belongs to. The agent can recover the rest.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import sqlglot
from sqlglot.errors import SqlglotError

from coset.answering.draft import Draft
from coset.answering.prompts import DOUBTED, READY
from coset.answering.quoting import data_block
from coset.answering.records import Records, records_text
from coset.routing.view import EvidenceView, LeftOut


def cited_part(view: EvidenceView, cited: frozenset[str]) -> EvidenceView:
    """The view with only what is cited: tables, columns, joins, passages, and the values that were found."""
    if not cited:
        return view
    relations = tuple(relation for relation in view.relations if relation.reference in cited)
    keys = {reference for relation in relations for reference in (*relation.left, *relation.right)}
    tables = []
    for table in view.tables:
        columns = tuple(column for column in table.columns if column.reference in cited | keys)
        if columns or table.reference in cited:
            hidden = len(table.columns) - len(columns)
            tables.append(dataclasses.replace(table, columns=columns, left_out=table.left_out + hidden))
    shown = {table.reference for table in tables} | {column.reference for table in tables for column in table.columns}
    return dataclasses.replace(
        view,
        tables=tuple(tables),
        relations=relations,
        passages=tuple(passage for passage in view.passages if passage.reference in cited),
        anchors=tuple(anchor for anchor in view.anchors if anchor.reference in shown),
        left_out=LeftOut(),
    )


def read_by(sql: str, view: EvidenceView) -> frozenset[str]:
    """The references of the view's tables and columns that a statement names."""
    try:
        words = {token.text.lower() for token in sqlglot.tokenize(sql, dialect="duckdb")}
    except SqlglotError:
        return frozenset()
    found: set[str] = set()
    for table in view.tables:
        if table.sql_name.replace('"', "").rpartition(".")[2].lower() not in words:
            continue
        found.add(table.reference)
        for column in table.columns:
            inner = column.reference.removeprefix(table.reference).lstrip(".").lower()
            if {inner, f"{inner} clean", f"{inner} key", column.expression.strip('"').lower()} & words:
                found.add(column.reference)
    # A join between tables that are both read is what the statement joins by, or should have.
    found |= {relation.reference for relation in view.relations if {relation.left_table, relation.right_table} <= found}
    return frozenset(found)


def learned_opening(
    question: str,
    evidence: str,
    records: Records | None,
    draft: Draft | None = None,
    chosen: Sequence[str] = (),
    recovered: Sequence[tuple[str, str]] = (),
) -> str:
    """`evidence` may be empty; `chosen` is what the person said of open ambiguities; `recovered` is what the arbiter
    missed, and what was found when it was searched for."""
    parts = [data_block("evidence", evidence)] if evidence else []
    if records is not None:
        parts.append(f"Records:\n{data_block('records', records_text(records))}")
    if draft is not None:
        parts.append(f"Already run: {draft.text}")
    parts += [f"Searched for {what}:\n{data_block('evidence', found)}" for what, found in recovered]
    parts += [f"The person was asked, and means: {text}" for text in chosen]
    parts.append(f"The question:\n{question}")
    if draft is not None and draft.name and not chosen:
        parts.append((DOUBTED if draft.against else READY).format(name=draft.name))
    return "\n\n".join(parts)


def core_opening(question: str, schema: str) -> str:
    return f"{data_block('schema', schema)}\n\nThe question:\n{question}"
