"""Brings mentions and rules up to date, after tables, readings and copies are known.

In: an open state. Out: rows of `mentions` and `rules`. A document is looked at again when it changed, or when what can
be named did; rules that people wrote into the corrections file stand beside those that were found, and what they reject
is gone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from coset.environment.corrections import FILE_NAME, Corrections
from coset.evidence.documents.mentions import Mention, NamedTable, Names, Paragraph, find_mentions
from coset.evidence.documents.rules import Rule, find_rules
from coset.evidence.documents.sections import Section
from coset.evidence.documents.stage import sections_of
from coset.state import EvidenceState
from coset.state.inserting import insert_rows

FOUND_BY = "5"
"""Changes when mentions or rules are found otherwise than before: then all documents are looked at again."""
MOST_VALUES = 300_000
READ = "confidence >= 0.6 AND reader <> 'document'"
"""The readings that a text may speak of: those that are not taken from texts themselves."""
SAID = FILE_NAME
"""The document that rules of the corrections file stand in."""


def comprehend_findings(
    state: EvidenceState, is_word: Callable[[str], bool], corrections: Corrections
) -> tuple[int, int]:
    """How many mentions and rules there are."""
    files = state.rows("SELECT document, source, digest, status, found FROM document_files WHERE problem IS NULL")
    tokens = {row["document"]: f"{FOUND_BY} {row['digest']} {row['status']}" for row in files}
    named = _digest_of_names(state) if files else ""
    pending = [row["document"] for row in files if row["found"] != f"{tokens[row['document']]} {named}"]
    with state.transaction():
        _forget_gone(state, tokens, pending)
        if pending:
            names = load_names(state, is_word)
            sections = sections_of(state, pending)
            owners = {row["document"]: row["source"] for row in files}
            for document in pending:
                _find(state, document, owners[document], sections.get(document, []), names)
                state.connection.execute(
                    "UPDATE document_files SET found = $2 WHERE document = $1",
                    [document, f"{tokens[document]} {named}"],
                )
        _apply(state, corrections)
    return state.count("mentions"), state.count("rules")


def load_names(state: EvidenceState, is_word: Callable[[str], bool]) -> Names:
    """All that a text can name, as far as it is known by now."""
    columns: dict[str, list[tuple[str, str]]] = {}
    for row in state.rows(
        "SELECT table_reference, name, reference FROM columns UNION ALL "
        "SELECT table_reference, path[-1], reference FROM paths WHERE path[-1] <> '[]' ORDER BY ALL"
    ):
        columns.setdefault(row["table_reference"], []).append((row["name"], row["reference"]))
    copies = {row["table_reference"] for row in _optional(state, "copies", "table_reference", "confidence >= 0.5")}
    tables = [
        NamedTable(
            row["reference"], row["source"], row["schema_name"], row["name"], row["reference"] in copies,
            tuple(columns.get(row["reference"], ())),
        )
        for row in state.rows("SELECT reference, source, schema_name, name FROM tables ORDER BY reference")
    ]  # fmt: skip
    readings = [
        (row["reference"], spoken)
        for row in _optional(state, "readings", "reference, name, synonyms", READ)
        for spoken in (row["name"], *(row["synonyms"] or ()))
        if spoken
    ]
    values = state.rows(
        "SELECT DISTINCT value, column_reference AS reference FROM group_values WHERE length(value) BETWEEN 2 AND 60 "
        f"ORDER BY ALL LIMIT {MOST_VALUES}"
    )
    sources = {row["source"]: row["description"] or "" for row in state.rows("SELECT source, description FROM sources")}
    return Names(tables, sources, readings, [(row["value"], row["reference"]) for row in values], is_word)


def _find(state: EvidenceState, document: str, source: str | None, sections: Sequence[Section], names: Names) -> None:
    by_reference = {f"{document}#{section.position + 1}": section for section in sections}
    paragraphs = [
        Paragraph(reference, number, text, document, source)
        for reference, section in by_reference.items()
        for number, text in enumerate([" / ".join(section.title_path), *section.paragraphs], start=-1)
    ]
    mentions = find_mentions(paragraphs, names)
    about = tuple(dict.fromkeys(mention.target for mention in mentions if mention.how != "source"))
    rules = find_rules(by_reference, mentions, about, names.sources)
    status = state.rows("SELECT status FROM document_files WHERE document = $1", [document])[0]["status"]
    insert_rows(state.connection, "mentions", list(_mention_rows(mentions)))
    insert_rows(state.connection, "rules", list(_rule_rows(rules, status)))


def _mention_rows(mentions: Iterable[Mention]) -> Iterable[dict[str, Any]]:
    for each in mentions:
        yield {
            "section_reference": each.section, "target_reference": each.target, "words": each.words, "how": each.how,
            "confidence": each.confidence, "paragraph": each.paragraph,
        }  # fmt: skip


def _rule_rows(rules: Sequence[Rule], status: str) -> Iterable[dict[str, Any]]:
    seen: dict[str, int] = {}
    for rule in rules:
        seen[rule.section] = seen.get(rule.section, 0) + 1
        yield {
            "reference": f"{rule.section}.{seen[rule.section]}", "section_reference": rule.section, "text": rule.text,
            "scope": rule.scope, "about": list(rule.about), "status": status,
        }  # fmt: skip


def _forget_gone(state: EvidenceState, documents: Iterable[str], pending: Sequence[str]) -> None:
    """Forget what was found in documents that are gone or looked at again."""
    kept = sorted(set(documents) - set(pending))
    for table in ("mentions", "rules"):
        state.connection.execute(
            f"DELETE FROM {table} WHERE section_reference IS NULL "
            "OR NOT list_contains($1::VARCHAR[], regexp_replace(section_reference, '#[0-9]+$', ''))",
            [kept],
        )


def _apply(state: EvidenceState, corrections: Corrections) -> None:
    """The rules of the corrections file: those that people wrote, and without those that they rejected."""
    plain = "lower(regexp_replace(text, '\\s+', ' ', 'g'))"
    rejected = [" ".join(rule.text.lower().split()) for rule in corrections.rules if rule.rejected]
    state.connection.execute(
        f"UPDATE rules SET status = CASE WHEN list_contains($1::VARCHAR[], {plain}) THEN 'rejected' "
        "WHEN status = 'rejected' THEN 'current' ELSE status END",
        [rejected],
    )
    said = [rule for rule in corrections.rules if not rule.rejected]
    rows = [
        {
            "reference": f"{SAID}#1.{number}", "section_reference": f"{SAID}#1", "text": rule.text,
            "scope": "particular" if rule.about else "general", "about": list(rule.about), "status": "current",
        }
        for number, rule in enumerate(said, start=1)
    ]  # fmt: skip
    # A section like any other, so that whoever shows documents shows it.
    section = {
        "reference": f"{SAID}#1", "document": SAID, "source": None, "title_path": ["Rules that people wrote"],
        "position": 0, "text": "\n".join(rule.text for rule in said), "paragraphs": [rule.text for rule in said],
        "status": "current",
    }  # fmt: skip
    state.connection.execute("DELETE FROM sections WHERE document = $1", [SAID])
    insert_rows(state.connection, "sections", [section] if said else [])
    insert_rows(state.connection, "rules", rows)


def _optional(state: EvidenceState, table: str, columns: str, condition: str) -> list[dict[str, Any]]:
    """Rows of a table that a later release of the state may bring."""
    if not state.rows("SELECT 1 FROM duckdb_tables() WHERE table_name = $1", [table]):
        return []
    return state.rows(f"SELECT {columns} FROM {table} WHERE {condition} ORDER BY ALL")


def _digest_of_names(state: EvidenceState) -> str:
    parts = [
        state.rows("SELECT source, md5(coalesce(description, '')) AS d FROM sources ORDER BY ALL"),
        state.rows("SELECT reference, comprehended_at::VARCHAR AS d FROM tables ORDER BY ALL"),
        _optional(state, "copies", "table_reference", "confidence >= 0.5"),
        _optional(state, "readings", "reference, name, synonyms", READ),
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
