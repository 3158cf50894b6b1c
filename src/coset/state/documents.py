"""What people wrote, in the state: document files, their sections, what these name, and the rules they state.

In: rows of one document, or of what was found in it. Out: the same, as frozen rows. `documents`, the texts about one
thing that are shown with it, are of the read model. Knows how this is kept, not how documents are read.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from coset.state.evidence_state import EvidenceState
from coset.state.queries import add, execute, fetch, number, select
from coset.state.tables import DocumentRow

Texts = tuple[str, ...]


@dataclass(frozen=True)
class WrittenSqlRow:
    """A view, a statement of a file or log, a dbt model, with the tables it reads."""

    reference: str
    source: str
    origin: str
    name: str
    text: str
    tables: Texts
    problem: str | None


@dataclass(frozen=True)
class SqlUseRow:
    """join: columns equal others; filter: a condition; formula: what is computed; rename: what a column is called."""

    statement: str
    source: str
    kind: str
    columns: Texts
    others: Texts
    text: str
    name: str | None


def replace_written_sql(
    state: EvidenceState, source: str, statements: Sequence[WrittenSqlRow], uses: Sequence[SqlUseRow]
) -> None:
    """Store the statements of a source instead of those it had."""
    with state.transaction():
        for table in ("written_sql", "sql_uses"):
            execute(state, f"DELETE FROM {table} WHERE source = $1", [source])
        add(state, "written_sql", statements)
        add(state, "sql_uses", uses)


def written_sql(state: EvidenceState) -> list[WrittenSqlRow]:
    return select(state, WrittenSqlRow, "SELECT * FROM written_sql ORDER BY ALL")


def sql_uses(state: EvidenceState, kind: str | None = None) -> list[SqlUseRow]:
    """What the statements do, or what of it is of one kind."""
    return select(state, SqlUseRow, "SELECT * FROM sql_uses WHERE $1 IS NULL OR kind = $1 ORDER BY ALL", [kind])


SURELY_NAMED = 0.5
"""The confidence from which on a mention is shown: a weaker one could be of something else."""


@dataclass(frozen=True)
class DocumentFileRow:
    """One document; `problem` says why one could not be read, `found` what it was looked through with."""

    document: str
    source: str | None
    path: str
    format: str
    title: str
    token: str
    digest: str
    status: str
    problem: str | None
    read_at: datetime.datetime
    valid_from: datetime.date | None = None
    valid_to: datetime.date | None = None
    superseded_by: str | None = None
    found: str | None = None


@dataclass(frozen=True)
class SectionRow:
    """A piece of a document under one heading; `source` is None where all are meant."""

    TABLE: ClassVar[str] = "sections"
    ORDER: ClassVar[str] = "document, position"
    reference: str
    document: str
    source: str | None
    title_path: Texts
    position: int
    text: str
    paragraphs: Texts
    status: str
    page: int | None = None
    valid_from: datetime.date | None = None
    valid_to: datetime.date | None = None
    superseded_by: str | None = None


@dataclass(frozen=True)
class MentionRow:
    """Something that a section names."""

    section_reference: str
    target_reference: str
    words: str
    how: str
    confidence: float
    paragraph: int


@dataclass(frozen=True)
class RuleRow:
    """A sentence that changes figures; a general one holds for every question."""

    reference: str
    section_reference: str
    text: str
    scope: str
    about: Texts
    status: str


@dataclass(frozen=True)
class DocumentSummary:
    """A document, and how much is in it."""

    name: str
    source: str | None
    """None where it is about the whole environment."""
    sections: int
    rules: int
    mentions: int


# Documents and their sections


def document_files(state: EvidenceState) -> list[DocumentFileRow]:
    return select(state, DocumentFileRow, "SELECT * FROM document_files ORDER BY document")


def forget_documents(state: EvidenceState, documents: Sequence[str]) -> None:
    for table in ("document_files", "sections"):
        execute(state, f"DELETE FROM {table} WHERE list_contains($1::VARCHAR[], document)", [list(documents)])


def add_document(state: EvidenceState, file: DocumentFileRow, sections: Iterable[SectionRow]) -> None:
    add(state, "document_files", [file])
    add(state, "sections", sections)


def set_validity(
    state: EvidenceState, document: str, status: str, valid_from: datetime.date | None, valid_to: datetime.date | None,
    superseded_by: str | None,
) -> None:  # fmt: skip
    """Say of a document and its sections whether and when they hold."""
    for table in ("document_files", "sections"):
        execute(
            state,
            f"UPDATE {table} SET status = $2, valid_from = $3, valid_to = $4, superseded_by = $5 WHERE document = $1",
            [document, status, valid_from, valid_to, superseded_by],
        )


def sections(state: EvidenceState, documents: Sequence[str] | None = None) -> list[SectionRow]:
    """The sections of some documents (of all, when none are named), in their order."""
    return select(
        state,
        SectionRow,
        "SELECT * FROM sections WHERE $1 IS NULL OR list_contains($1::VARCHAR[], document) ORDER BY document, position",
        [None if documents is None else list(documents)],
    )


def document_counts(state: EvidenceState) -> list[DocumentSummary]:
    """The documents that have sections, with how much is in them."""
    return select(
        state,
        DocumentSummary,
        "SELECT document AS name, any_value(source) AS source, count(*) AS sections, "
        "(SELECT count(*) FROM rules r JOIN sections o ON o.reference = r.section_reference "
        "WHERE o.document = s.document) AS rules, "
        "(SELECT count(DISTINCT m.target_reference) FROM mentions m JOIN sections o "
        "ON o.reference = m.section_reference WHERE o.document = s.document "
        f"AND m.confidence >= {SURELY_NAMED}) AS mentions "
        "FROM sections s GROUP BY document ORDER BY document",
    )


# What is found in them


def set_found(state: EvidenceState, document: str, found: str) -> None:
    """Keep with what a document was looked through."""
    execute(state, "UPDATE document_files SET found = $2 WHERE document = $1", [document, found])


def add_findings(state: EvidenceState, mentions: Iterable[MentionRow], rules: Iterable[RuleRow]) -> None:
    add(state, "mentions", mentions)
    add(state, "rules", rules)


def forget_findings(state: EvidenceState, kept: Sequence[str]) -> None:
    """Forget what was found in all documents but these."""
    for table in ("mentions", "rules"):
        execute(
            state,
            f"DELETE FROM {table} WHERE section_reference IS NULL "
            "OR NOT list_contains($1::VARCHAR[], regexp_replace(section_reference, '#[0-9]+$', ''))",
            [list(kept)],
        )


def reject_rules(state: EvidenceState, texts: Sequence[str]) -> None:
    """Reject the rules of these texts, in lower case and with single blanks, and no others."""
    plain = "lower(regexp_replace(text, '\\s+', ' ', 'g'))"
    execute(
        state,
        f"UPDATE rules SET status = CASE WHEN list_contains($1::VARCHAR[], {plain}) THEN 'rejected' "
        "WHEN status = 'rejected' THEN 'current' ELSE status END",
        [list(texts)],
    )


def replace_said_rules(
    state: EvidenceState, document: str, section: SectionRow | None, rules: Sequence[RuleRow]
) -> None:
    """Store the rules that people wrote, in a section like any other, so that whoever shows documents shows it."""
    execute(state, "DELETE FROM sections WHERE document = $1", [document])
    add(state, "sections", [section] if section else [])
    add(state, "rules", rules)


def count_findings(state: EvidenceState) -> tuple[int, int]:
    """How many sure mentions and rules there are."""
    return number(state, f"SELECT count(*) FROM mentions WHERE confidence >= {SURELY_NAMED}"), number(
        state, "SELECT count(*) FROM rules"
    )


def rules(state: EvidenceState) -> list[RuleRow]:
    return select(state, RuleRow, "SELECT * FROM rules ORDER BY reference")


def rules_of(state: EvidenceState, document: str) -> list[RuleRow]:
    return select(
        state,
        RuleRow,
        "SELECT r.* FROM rules r JOIN sections s ON s.reference = r.section_reference WHERE s.document = $1 "
        "ORDER BY r.reference",
        [document],
    )


def mentioned(state: EvidenceState, document: str) -> list[tuple[str, str, str]]:
    """What a document surely names: section, reference of the thing, the words."""
    return [
        (section, target, words)
        for section, target, words in fetch(
            state,
            "SELECT m.section_reference, m.target_reference, any_value(m.words) FROM mentions m "
            "JOIN sections s ON s.reference = m.section_reference WHERE s.document = $1 "
            f"AND m.confidence >= {SURELY_NAMED} GROUP BY ALL ORDER BY ALL",
            [document],
        )
    ]


# Texts about one thing


def documents_of_sources(state: EvidenceState) -> list[DocumentRow]:
    """What is said of whole sources and of tables, or of nothing in particular, but for the rows of tables of texts."""
    return select(
        state,
        DocumentRow,
        "SELECT * FROM documents WHERE kind <> 'passage' AND (about IN (SELECT source FROM sources) "
        "OR about IN (SELECT reference FROM tables) OR about IS NULL) ORDER BY reference, kind, title",
    )


def descriptions_of_columns(state: EvidenceState, tables: Sequence[str]) -> dict[str, str]:
    """What dictionaries and people wrote of the columns of some tables; what was stated wins."""
    return {
        about: text or ""
        for about, text in fetch(
            state,
            "SELECT d.about, d.text FROM documents d JOIN columns c ON c.reference = d.about "
            "WHERE c.table_reference IN (SELECT unnest($1::VARCHAR[])) AND d.kind <> 'passage' "
            "ORDER BY d.provenance = 'stated', d.reference, d.kind DESC",
            [list(tables)],
        )
    }


def mentions(state: EvidenceState, least: float) -> list[MentionRow]:
    """What sections name, of at least this confidence."""
    return select(state, MentionRow, "SELECT * FROM mentions WHERE confidence >= $1 ORDER BY ALL", [least])
