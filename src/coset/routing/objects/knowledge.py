"""What comprehension learned beyond the data itself: readings, copies, code lists, documents with mentions and rules.

In: an open state; a state of a stage that did not run has none of a kind, and that is no error. Out: frozen facts, read
once when routing opens the state. Knows no question.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from coset.state import EvidenceState
from coset.state.documents import SURELY_NAMED
from coset.state.profiles import rules_by_entity

CURRENT = ("", "current")
MOST_LABELS = 40
GUESS = 0.5
"""A reading of less confidence is no fact."""
_COPY_WORDS = frozenset(
    [
        "bak",
        "backup",
        "old",
        "copy",
        "cpy",
        "tmp",
        "temp",
        "stg",
        "staging",
        "stage",
        "archive",
        "arch",
        "hist",
        "test",
        "tst",
        "sav",
        "save",
        "orig",
        "dup",
        "snapshot",
        "snap",
        "deprecated",
        "unused",
        "delete",
        "del",
        "zz",
        "x",
    ]
)
_NUMBER = re.compile(r"v?\d+")


@dataclass(frozen=True)
class Reading:
    """What a table or column is in plain words."""

    name: str
    meaning: str = ""
    synonyms: tuple[str, ...] = ()
    reader: str = ""
    confidence: float = 0.0

    @property
    def text(self) -> str:
        return f"{self.name}: {self.meaning}" if self.name and self.meaning else self.name or self.meaning


@dataclass(frozen=True)
class CodeList:
    """Which table says what the codes of a column stand for."""

    list_reference: str
    code_column: str
    label_column: str
    condition: str
    status: str
    confidence: float


@dataclass(frozen=True)
class Section:
    """A part of a document, with the titles that it stands under."""

    reference: str
    document: str
    source: str
    titles: tuple[str, ...]
    text: str
    status: str
    paragraphs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Mention:
    """That a paragraph of a section names a table, a column, or a source; paragraph -1 is its titles."""

    target: str
    how: str
    confidence: float
    paragraph: int


@dataclass(frozen=True)
class Rule:
    reference: str
    section: str
    text: str
    is_general: bool
    about: tuple[str, ...]
    status: str
    entity: str = ""
    """The entity that it is surely about, though it may name no table of it."""


@dataclass(frozen=True)
class Knowledge:
    """By reference, what is known."""

    readings: Mapping[str, Reading] = field(default_factory=dict)
    copies: Mapping[str, str | None] = field(default_factory=dict)
    """Of a table that is a copy, the original; None for a leftover or a test without one."""
    code_lists: Mapping[str, tuple[CodeList, ...]] = field(default_factory=dict)
    """Of a column, the surest first; outdated lists last."""
    labels: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    """Of a column, (code, what it stands for)."""
    sections: tuple[Section, ...] = ()
    rules: tuple[Rule, ...] = ()
    mentions: Mapping[str, tuple[Mention, ...]] = field(default_factory=dict)
    """Of a section, what it names."""

    @cached_property
    def copies_of(self) -> Counter[str]:
        """How many copies each original has."""
        return Counter(original for copy in self.copies if (original := self.original(copy)) is not None)

    def original(self, table: str) -> str | None:
        """The table that a copy is a copy of, over several steps; itself where it is none; None for a leftover."""
        seen = {table}
        while table in self.copies:
            other = self.copies[table]
            if other is None or other in seen:
                return None
            seen.add(other)
            table = other
        return table


def knowledge_of(state: EvidenceState) -> Knowledge:
    """All that the state holds of it."""
    there = {row["name"] for row in state.rows("SELECT table_name AS name FROM information_schema.tables")}

    def rows(table: str, sql: str) -> list[dict[str, Any]]:
        return state.rows(sql) if table in there else []

    readings = {
        row["reference"]: Reading(
            row["name"] or "", row["meaning"] or "", tuple(row["synonyms"] or ()), row["reader"] or "",
            row["confidence"] or 0.0,
        )
        for row in rows("best_readings", "SELECT * FROM best_readings ORDER BY reference")
        if (row["confidence"] or 0.0) >= GUESS or row["reader"] == "person"
    }  # fmt: skip
    copies: dict[str, str | None] = {
        row["table_reference"]: row["original_reference"]
        for row in rows("copies", "SELECT table_reference, original_reference FROM copies ORDER BY ALL")
    }
    sections = [
        Section(
            row["reference"], row["document"] or "", row["source"] or "", tuple(row["title_path"] or ()),
            row["text"] or "", "" if row["status"] in (None, *CURRENT) else row["status"],
            tuple(row.get("paragraphs") or ()),
        )
        for row in rows("sections", "SELECT * FROM sections ORDER BY document, position, reference")
    ]  # fmt: skip
    entities = rules_by_entity(state) if "profiles" in there else {}
    rules = [
        Rule(
            row["reference"], row["section_reference"] or "", row["text"] or "", row["scope"] == "general",
            tuple(row["about"] or ()), "" if row["status"] in (None, *CURRENT) else row["status"],
            entities.get(row["reference"], ""),
        )
        for row in rows("rules", "SELECT * FROM rules ORDER BY reference")
    ]  # fmt: skip
    return Knowledge(
        readings,
        copies or look_alikes(state),
        _code_lists(rows("code_lists", "SELECT * FROM code_lists ORDER BY column_reference, confidence DESC")),
        _labels(rows("code_labels", "SELECT code_reference, code, label FROM code_labels ORDER BY ALL")),
        tuple(sections),
        tuple(rules),
        _mentions(rows("mentions", f"SELECT * FROM mentions WHERE confidence >= {SURELY_NAMED} ORDER BY ALL")),
    )


def look_alikes(state: EvidenceState) -> dict[str, str | None]:
    """Where copies were not looked for: tables that differ in words for copies (`_bak`, `stg_`, a number) from the name
    of a table with the same columns in the same source."""
    shapes: dict[tuple[str, tuple[str, ...]], list[tuple[str, str]]] = defaultdict(list)
    for row in state.rows(
        "SELECT t.reference, t.source, t.name, list(lower(c.name) ORDER BY lower(c.name)) AS columns "
        "FROM tables t JOIN columns c ON c.table_reference = t.reference WHERE t.family IS NULL GROUP BY ALL "
        "ORDER BY t.reference"
    ):
        shapes[row["source"], tuple(row["columns"])].append((row["reference"], row["name"]))
    found: dict[str, str | None] = {}
    for alike in shapes.values():
        by_words: dict[tuple[str, ...], list[tuple[int, str]]] = defaultdict(list)
        for reference, name in alike:
            words = re.findall(r"[a-z]+|\d+", name.lower())
            kept = tuple(word for word in words if word not in _COPY_WORDS and not _NUMBER.fullmatch(word))
            by_words[kept].append((len(words), reference))
        for several in by_words.values():
            shortest, *others = sorted(several)
            found |= {reference: shortest[1] for length, reference in others if length > shortest[0]}
    return found


def _code_lists(rows: Iterable[Mapping[str, Any]]) -> dict[str, tuple[CodeList, ...]]:
    found: dict[str, list[CodeList]] = defaultdict(list)
    for row in rows:
        found[row["column_reference"]].append(
            CodeList(
                row["list_reference"] or "", row["code_column"] or "", row["label_column"] or "",
                row["condition"] or "", row["status"] or "", row["confidence"] or 0.0,
            )
        )  # fmt: skip
    return {
        column: tuple(sorted(several, key=lambda each: (each.status == "outdated", -each.confidence)))
        for column, several in found.items()
    }


def _labels(rows: Iterable[Mapping[str, Any]]) -> dict[str, tuple[tuple[str, str], ...]]:
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for row in rows:
        own = found[row["code_reference"]]
        if len(own) < MOST_LABELS:
            own.setdefault(row["code"], row["label"])
    return {column: tuple(own.items()) for column, own in found.items()}


def _mentions(rows: Sequence[Mapping[str, Any]]) -> dict[str, tuple[Mention, ...]]:
    found: dict[str, list[Mention]] = defaultdict(list)
    for row in rows:
        found[row["section_reference"]].append(
            Mention(row["target_reference"], row["how"] or "", row["confidence"] or 0.0, row.get("paragraph", -1))
        )
    return {section: tuple(targets) for section, targets in found.items()}
