"""Documents in comprehension: read what is new or changed, then find what it names and which rules it states.

In: an environment and its open state. Out: rows of `document_files` and `sections`, the stated texts among `documents`,
and what could not be read, with why; once tables, readings and copies are known, rows of `mentions` and `rules`. A
document is looked at again when it changed, or when what can be named did. Rules of the corrections file stand beside
those that were found, and what people rejected is gone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coset.environment.configuration import Environment
from coset.environment.corrections import FILE_NAME, Corrections
from coset.environment.source import SourceSettings, Table
from coset.errors import CosetError
from coset.evidence.documents.files import DBT, DocumentFile, Outcome, find_documents, read_documents
from coset.evidence.documents.mentions import Paragraph, find_mentions
from coset.evidence.documents.nameable import Mention, NamedTable, Names, SpokenReading
from coset.evidence.documents.rules import Rule, find_rules
from coset.evidence.documents.sections import Section, cut, title_of_file
from coset.evidence.documents.stated import (
    dbt_documents,
    described_sources,
    environment_documents,
    source_documents,
)
from coset.evidence.documents.validity import Dated, judge
from coset.state import EvidenceState
from coset.state.documents import (
    DocumentFileRow,
    MentionRow,
    RuleRow,
    SectionRow,
    add_document,
    add_findings,
    count_findings,
    document_files,
    forget_documents,
    forget_findings,
    reject_rules,
    replace_said_rules,
    sections,
    set_found,
    set_validity,
)
from coset.state.read_model import ReadModel
from coset.state.readings import Reading, ReadingStore
from coset.state.rows import document, now
from coset.state.tables import columns_and_paths, short_values, times_of_tables

READ_BY = "2"
"""Changes when documents are read, cut or judged otherwise than before: then all are read again."""


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


FOUND_BY = "10"
"""Changes when mentions or rules are found otherwise than before: then all documents are looked at again."""
MOST_VALUES = 300_000
SURE_COPY, SURE_READING = 0.5, 0.6
SAID = FILE_NAME
"""The document that rules of the corrections file stand in."""


def comprehend_findings(
    state: EvidenceState,
    is_word: Callable[[str], bool],
    corrections: Corrections,
    is_business: Callable[[str], bool] = lambda word: False,
) -> tuple[int, int]:
    """How many mentions and rules there are. `is_word` tells common English words, `is_business` words of any language
    that data are called by."""
    files = [row for row in document_files(state) if row.problem is None]
    tokens = {row.document: f"{FOUND_BY} {row.digest} {row.status}" for row in files}
    named = _digest_of_names(state) if files else ""
    pending = [row for row in files if row.found != f"{tokens[row.document]} {named}"]
    with state.transaction():
        forget_findings(state, sorted(set(tokens) - {row.document for row in pending}))
        if pending:
            names = load_names(state, is_word)
            of_documents = sections_of(state, [row.document for row in pending])
            for row in pending:
                mentions, rules = _find(
                    row.document, row.source, of_documents.get(row.document, []), names, is_business
                )
                add_findings(state, _mention_rows(mentions), _rule_rows(rules, row.status))
                set_found(state, row.document, f"{tokens[row.document]} {named}")
        _apply(state, corrections)
    return count_findings(state)


def load_names(state: EvidenceState, is_word: Callable[[str], bool]) -> Names:
    """All that a text can name, as far as it is known by now."""
    columns: dict[str, list[tuple[str, str]]] = {}
    for table, name, reference in columns_and_paths(state):
        columns.setdefault(table, []).append((name, reference))
    copies = _sure_copies(state)
    tables = [
        NamedTable(
            row.reference, row.source, row.schema_name, row.name, row.reference in copies,
            _original(row.reference, copies), tuple(columns.get(row.reference, ())),
        )
        for row in ReadModel(state).tables.values()
    ]  # fmt: skip
    readings = [
        SpokenReading(reading.reference, spoken, reading.reader == "document")
        for reading in _readings(state)
        for spoken in (reading.name, *reading.synonyms)
        if spoken
    ]
    return Names(tables, _descriptions(state), readings, short_values(state, MOST_VALUES), is_word)


def _original(table: str, copies: Mapping[str, str | None]) -> str | None:
    """The table that a copy goes back to, over copies of copies."""
    seen = {table}
    original = copies.get(table)
    while original is not None and original in copies and original not in seen:
        seen.add(original)
        original = copies[original]
    return original


def _descriptions(state: EvidenceState) -> dict[str, str]:
    """Each source with what is said of it: in `coset.yaml`, or in a document that has a paragraph for each source."""
    found = {row.source: row.description or "" for row in ReadModel(state).sources.values()}
    return found | {source: said for source, (_, said) in described_sources(state).items()}


def _find(
    document: str, source: str | None, sections: Sequence[Section], names: Names, is_business: Callable[[str], bool]
) -> tuple[Sequence[Mention], Sequence[Rule]]:
    by_reference = {f"{document}#{section.position + 1}": section for section in sections}
    paragraphs = [
        Paragraph(reference, number, text, document, source)
        for reference, section in by_reference.items()
        for number, text in enumerate([" / ".join(section.title_path), *section.paragraphs], start=-1)
    ]
    mentions = find_mentions(paragraphs, names)
    surely = [mention for mention in mentions if mention.is_strong]
    about = tuple(dict.fromkeys(mention.target for mention in surely if mention.how != "source"))
    return mentions, find_rules(by_reference, surely, about, names.sources, is_business)


def _mention_rows(mentions: Iterable[Mention]) -> Iterable[MentionRow]:
    for each in mentions:
        yield MentionRow(each.section, each.target, each.words, each.how, each.confidence, each.paragraph)


def _rule_rows(rules: Sequence[Rule], status: str) -> Iterable[RuleRow]:
    seen: dict[str, int] = {}
    for rule in rules:
        seen[rule.section] = seen.get(rule.section, 0) + 1
        reference = f"{rule.section}.{seen[rule.section]}"
        yield RuleRow(reference, rule.section, rule.text, rule.scope, rule.about, status)


def _apply(state: EvidenceState, corrections: Corrections) -> None:
    """The rules of the corrections file: those that people wrote, and without those that they rejected."""
    reject_rules(state, [" ".join(rule.text.lower().split()) for rule in corrections.rules if rule.rejected])
    said = [rule for rule in corrections.rules if not rule.rejected]
    rows = [
        RuleRow(
            f"{SAID}#1.{number}", f"{SAID}#1", rule.text, "particular" if rule.about else "general", tuple(rule.about),
            "current",
        )
        for number, rule in enumerate(said, start=1)
    ]  # fmt: skip
    texts = tuple(rule.text for rule in said)
    section = SectionRow(f"{SAID}#1", SAID, None, ("Rules that people wrote",), 0, "\n".join(texts), texts, "current")
    replace_said_rules(state, SAID, section if said else None, rows)


def _sure_copies(state: EvidenceState) -> dict[str, str | None]:
    return {copy.table: copy.original for copy in state.copies() if copy.confidence >= SURE_COPY}


def _readings(state: EvidenceState) -> list[Reading]:
    """What things are in plain words, as far as that is sure."""
    return [each for each in ReadingStore(state).all(best=True) if each.confidence >= SURE_READING]


def _digest_of_names(state: EvidenceState) -> str:
    parts = [
        sorted(_descriptions(state).items()),
        times_of_tables(state),
        sorted(_sure_copies(state).items()),
        [[each.reference, each.name, each.synonyms, each.reader] for each in _readings(state)],
    ]
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()[:16]


def common_words(vocabulary: Path) -> Callable[[str], bool]:
    """Whether a word is one of a list, one a line; forms in -s, -ed and -ing of such words too."""
    known = frozenset(vocabulary.read_text(encoding="utf-8").split())

    def is_word(word: str) -> bool:
        word = word.lower()
        forms = (
            word,
            word.removesuffix("s"),
            word.removesuffix("es"),
            word.removesuffix("ed"),
            word.removesuffix("ing"),
        )
        return any(form in known for form in forms)

    return is_word
