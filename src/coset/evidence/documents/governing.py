"""Which documents govern a set of tables: those whose rules hold for every figure, those that define words, and those that
name the tables, their columns, or their source.

In: an open state and references of tables. Out: documents with why. Superseded documents and drafts govern nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from coset.evidence.documents.rules import DEFINITION
from coset.state import EvidenceState

Why = Literal["general", "named", "terms", "source"]
ORDER: tuple[Why, ...] = ("general", "named", "terms", "source")
LEAST_TERMS = 3
"""Definitions that make a document a glossary, if they are at least half of its rules."""


@dataclass(frozen=True)
class Governing:
    """`general`: it has rules for every figure; `named`: it names a table or column; `terms`: it defines words, which may
    be those of any question; `source`: it names the source."""

    document: str
    why: Why


def governing_documents(state: EvidenceState, tables: Sequence[str]) -> list[Governing]:
    """The documents that hold for figures from these tables, the surest reasons first."""
    current = {row["document"] for row in state.rows("SELECT document FROM document_files WHERE status = 'current'")}
    found: dict[str, set[Why]] = defaultdict(set)
    for row in state.rows(
        "SELECT DISTINCT section_reference FROM rules WHERE scope = 'general' AND status = 'current'"
    ):
        if row["section_reference"]:
            found[_document(row["section_reference"])].add("general")
    rules: dict[str, list[bool]] = defaultdict(list)
    for row in state.rows("SELECT section_reference, text FROM rules WHERE section_reference IS NOT NULL"):
        rules[_document(row["section_reference"])].append(DEFINITION.match(row["text"]) is not None)
    for document, defines in rules.items():
        if sum(defines) >= max(LEAST_TERMS, len(defines) / 2):
            found[document].add("terms")
    sources = {table.split("/", 1)[0].strip('"') for table in tables}
    for row in state.rows("SELECT DISTINCT section_reference, target_reference, how FROM mentions"):
        target, document = row["target_reference"], _document(row["section_reference"])
        if row["how"] == "source":
            if target in sources:
                found[document].add("source")
        elif any(target == table or target.startswith((f"{table}.", f"{table}#")) for table in tables):
            found[document].add("named")
    return [
        Governing(document, why)
        for why in ORDER
        for document, reasons in sorted(found.items())
        if document in current and min(reasons, key=ORDER.index) == why
    ]


def _document(section: str) -> str:
    return section.rsplit("#", 1)[0]
