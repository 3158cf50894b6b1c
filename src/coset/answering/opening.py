"""What the agent is told first: the evidence that the records cite, the records, what their statements gave, and last
the question itself.

In: a view and the records over it. Out: text. Only what a record cites is shown again, with the tables it belongs to:
the agent can recover the rest by its reference.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from coset.answering.prompts import READY
from coset.answering.quoting import data_block
from coset.answering.records import Records, records_text
from coset.routing.view import EvidenceView, LeftOut


def cited_part(view: EvidenceView, records: Records) -> EvidenceView:
    """The view with only what the records cite: tables, columns, joins, passages, and the values that were found."""
    cited = records.cited
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


def learned_opening(
    question: str,
    evidence: str,
    records: Records | None,
    ran: Sequence[str] = (),
    chosen: Sequence[str] = (),
    ready: str = "",
) -> str:
    """`ran` is what the records' statements gave, `chosen` what the person said of open ambiguities, `ready` the name
    of the result that should be the answer, when all of them ran and nothing speaks against them."""
    parts = [data_block("evidence", evidence)]
    if records is not None:
        parts.append(f"Records:\n{data_block('records', records_text(records))}")
    parts += [f"Already run:\n{text}" for text in ran]
    parts += [f"The person was asked, and means: {text}" for text in chosen]
    parts.append(f"The question:\n{question}")
    if ready:
        parts.append(READY.format(name=ready))
    return "\n\n".join(parts)


def core_opening(question: str, schema: str) -> str:
    return f"{data_block('schema', schema)}\n\nThe question:\n{question}"
