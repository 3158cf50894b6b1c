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

from coset.state import EvidenceState, documents
from coset.state.documents import SURELY_NAMED
from coset.state.indexes import labels_of_codes
from coset.state.memberships import rules_by_entity
from coset.state.objects import CodeList as StoredCodeList
from coset.state.readings import ReadingStore
from coset.state.relations import linked_entities
from coset.state.tables import shapes_of_tables

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
    words: str = ""
    """As the paragraph has them."""


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
    linked: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Of an entity whose records were linked, the tables that they stand in."""

    @cached_property
    def copies_of(self) -> Counter[str]:
        """How many copies each original has."""
        return Counter(original for copy in self.copies if (original := self.original(copy)) is not None)

    @cached_property
    def outdated_lists(self) -> frozenset[str]:
        """Tables that say what codes stand for, and of which no part holds any more."""
        lists = [each for several in self.code_lists.values() for each in several]
        current = {each.list_reference for each in lists if each.status != "outdated"}
        return frozenset(each.list_reference for each in lists if each.list_reference not in current)

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
    readings = {
        each.reference: Reading(each.name or "", each.meaning or "", each.synonyms, each.reader, each.confidence)
        for each in ReadingStore(state).all(best=True)
        if each.confidence >= GUESS or each.reader == "person"
    }
    copies = {each.table: each.original for each in state.copies()}
    sections = [
        Section(
            row.reference, row.document or "", row.source or "", row.title_path, row.text or "",
            "" if row.status in (None, *CURRENT) else row.status, row.paragraphs,
        )
        for row in documents.sections(state)
    ]  # fmt: skip
    entities = rules_by_entity(state)
    rules = [
        Rule(
            row.reference, row.section_reference or "", row.text or "", row.scope == "general", row.about,
            "" if row.status in (None, *CURRENT) else row.status, entities.get(row.reference, ""),
        )
        for row in documents.rules(state)
    ]  # fmt: skip
    return Knowledge(
        readings,
        copies or look_alikes(state),
        _code_lists(state.code_lists()),
        _labels(labels_of_codes(state)),
        tuple(sections),
        tuple(rules),
        _mentions(documents.mentions(state, SURELY_NAMED)),
        {each.entity: each.tables for each in linked_entities(state)},
    )


def look_alikes(state: EvidenceState) -> dict[str, str | None]:
    """Where copies were not looked for: tables that differ in words for copies (`_bak`, `stg_`, a number) from the name
    of a table with the same columns in the same source."""
    shapes: dict[tuple[str, tuple[str, ...]], list[tuple[str, str]]] = defaultdict(list)
    for row in shapes_of_tables(state):
        shapes[row.source, row.columns].append((row.reference, row.name))
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


def _code_lists(lists: Iterable[StoredCodeList]) -> dict[str, tuple[CodeList, ...]]:
    found: dict[str, list[CodeList]] = defaultdict(list)
    for each in lists:
        found[each.column].append(
            CodeList(each.list, each.code_column, each.label_column, each.condition or "", each.status, each.confidence)
        )
    return {
        column: tuple(sorted(several, key=lambda each: (each.status == "outdated", -each.confidence)))
        for column, several in found.items()
    }


def _labels(labels: Iterable[tuple[str, str, str]]) -> dict[str, tuple[tuple[str, str], ...]]:
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for column, code, label in labels:
        own = found[column]
        if len(own) < MOST_LABELS:
            own.setdefault(code, label)
    return {column: tuple(own.items()) for column, own in found.items()}


def _mentions(rows: Sequence[documents.MentionRow]) -> dict[str, tuple[Mention, ...]]:
    found: dict[str, list[Mention]] = defaultdict(list)
    for row in rows:
        found[row.section_reference].append(
            Mention(row.target_reference, row.how or "", row.confidence or 0.0, row.paragraph, row.words or "")
        )
    return {section: tuple(targets) for section, targets in found.items()}
