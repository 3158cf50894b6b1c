"""Brings what is known of the documents up to date: only those that are new or changed are read.

In: an environment and its open state. Out: rows of `document_files` and `sections`, the stated texts among `documents`,
and what could not be read, with why. A document that is gone is forgotten; one that cannot be read any more as well.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coset.environment.configuration import Environment
from coset.environment.source import SourceSettings, Table
from coset.errors import CosetError
from coset.evidence.documents.finding import DBT, DocumentFile, find_documents
from coset.evidence.documents.reader import Outcome, read_documents
from coset.evidence.documents.sections import Section, cut, title_of_file
from coset.evidence.documents.stated import dbt_documents, environment_documents, source_documents
from coset.evidence.documents.validity import Dated, judge
from coset.state import EvidenceState
from coset.state.documents import (
    DocumentFileRow,
    SectionRow,
    add_document,
    document_files,
    forget_documents,
    sections,
    set_validity,
)
from coset.state.rows import document, now

READ_BY = "1"
"""Changes when documents are read or cut otherwise than before: then all are read again."""


@dataclass(frozen=True)
class DocumentsRead:
    documents: int
    read: int
    sections: int
    problems: tuple[tuple[str, str], ...]


def comprehend_documents(
    environment: Environment, state: EvidenceState, tables: Mapping[str, Sequence[Table]], *, everything: bool = False
) -> DocumentsRead:
    """Read what is new or changed, judge what holds, and keep all of it. `tables` are those of each source that
    answers; a source that does not keeps what was said of it."""
    found = find_documents(environment)
    problems = list(found.problems)
    stated = [*environment_documents(environment), *_stated(environment, tables, found.documents, problems)]
    texts = [each for each in found.documents if each.path.suffix.lower() not in DBT]
    known = {row.document: row for row in document_files(state)}
    tokens = {each.reference: _token(each.path) for each in texts}
    changed = [
        each
        for each in texts
        if everything or (row := known.get(each.reference)) is None or row.token != tokens[each.reference]
    ]
    gone = [reference for reference in known if reference not in tokens]
    with state.transaction():
        if changed or gone:
            forget_documents(state, [*gone, *(each.reference for each in changed)])
            outcomes = dict(read_documents([each.path for each in changed]))
            for each in changed:
                _store(state, each, outcomes[each.path], tokens[each.reference])
            _judge(state)
        state.store_documents([*stated, *_as_documents(state)])
    problems += [(row.document, row.problem) for row in document_files(state) if row.problem is not None]
    return DocumentsRead(len(texts), len(changed), len(sections(state)), tuple(problems))


def _stated(
    environment: Environment, tables: Mapping[str, Sequence[Table]], documents: Iterable[DocumentFile],
    problems: list[tuple[str, str]],
) -> Iterable[dict[str, Any]]:  # fmt: skip
    """What `coset.yaml` and dbt's files say of each source."""
    for name in environment.names:
        settings = _settings(environment, name)
        if settings is not None:
            yield from source_documents(settings)
    for each in documents:
        if each.path.suffix.lower() in DBT:
            owners = [each.source] if each.source else list(environment.names)
            for owner in owners:
                try:
                    yield from dbt_documents(owner, each.path, tables.get(owner, ()))
                except CosetError as error:
                    problems.append((each.reference, str(error)))


def _settings(environment: Environment, name: str) -> SourceSettings | None:
    try:
        return environment.settings(name)
    except CosetError:
        return None  # The listing of sources says why.


def _token(path: Path) -> str:
    """Differs when the file's content may have changed."""
    try:
        status = path.stat()
        return f"{READ_BY} {status.st_size} {status.st_mtime_ns}"
    except OSError:
        return ""


def _store(state: EvidenceState, file: DocumentFile, outcome: Outcome, token: str) -> None:
    pieces = [] if isinstance(outcome, str) else cut(outcome, file.path.name)
    text = "\n\n".join(section.text for section in pieces)
    row = DocumentFileRow(
        file.reference, file.source, str(file.path), file.format,
        pieces[0].title_path[0] if pieces else title_of_file(file.path.name), token,
        hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16], "current",
        outcome if isinstance(outcome, str) else None, now(),
    )  # fmt: skip
    rows = [
        SectionRow(
            f"{file.reference}#{section.position + 1}", file.reference, file.source, section.title_path,
            section.position, section.text, section.paragraphs, "current", section.page,
        )
        for section in pieces
    ]  # fmt: skip
    add_document(state, row, rows)


def sections_of(state: EvidenceState, documents: Sequence[str] | None = None) -> dict[str, list[Section]]:
    """The sections of each document (of all, when none are named), in their order."""
    found: dict[str, list[Section]] = {}
    for row in sections(state, documents):
        section = Section(row.title_path, row.position, row.paragraphs, row.page)
        found.setdefault(row.document, []).append(section)
    return found


def _judge(state: EvidenceState) -> None:
    """Which documents hold; judged anew for all, because a new one may replace an old one."""
    found = sections_of(state)
    judged = judge(
        [
            Dated(row.document, Path(row.path).name, row.title, tuple(found.get(row.document, ())))
            for row in document_files(state)
            if row.problem is None
        ]
    )
    for reference, validity in judged.items():
        set_validity(
            state, reference, validity.status, validity.valid_from, validity.valid_to, validity.superseded_by
        )  # fmt: skip


def _as_documents(state: EvidenceState) -> list[dict[str, Any]]:
    """The sections of documents that hold, as texts about their source."""
    return [
        document(
            row.reference, None, row.source, "file",
            f"{row.document.rsplit('/', 1)[-1]}: {' / '.join(row.title_path)}", row.text, "stated",
        )
        for row in sections(state)
        if row.status == "current"
    ]  # fmt: skip
