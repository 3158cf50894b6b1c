"""What comprehension learned beyond the data itself: readings, copies, code lists, documents with mentions and rules.

In: an open state; a state of a stage that did not run has none of a kind, and that is no error. Out: frozen facts, read
once when routing opens the state. Knows no question.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from coset.readings.words import words_of
from coset.state import EvidenceState, documents
from coset.state.documents import SURELY_NAMED
from coset.state.indexes import labels_of_codes
from coset.state.memberships import rules_by_entity
from coset.state.objects import CodeList as StoredCodeList
from coset.state.readings import ReadingStore
from coset.state.relations import CodeLabel, code_list_labels, linked_entities
from coset.state.tables import shapes_of_tables

CURRENT = ("", "current")
MOST_LABELS = 40
MOST_MEANT = 4
"""A label of a list that decodes more columns says nothing of any of them."""
MOST_LISTED = 30
"""A list of at most so many codes can be told whole."""
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
    language: str = ""


@dataclass(frozen=True)
class CodeSet:
    """A list of codes by itself, with the columns that hold them."""

    name: str
    codes: CodeList
    labels: tuple[tuple[str, str], ...]
    columns: tuple[str, ...]


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
    code_sets: tuple[CodeSet, ...] = ()
    """Short lists that are current and decode columns of originals, those first that decode most."""

    @cached_property
    def copies_of(self) -> Counter[str]:
        """How many copies each original has."""
        return Counter(original for copy in self.copies if (original := self.original(copy)) is not None)

    @cached_property
    def named_by_documents(self) -> frozenset[str]:
        """Tables and columns that documents in force name or that rules are about."""
        holding = {section.reference for section in self.sections if not section.status}
        named = {mention.target for each in holding for mention in self.mentions.get(each, ())}
        return frozenset(named.union(*(rule.about for rule in self.rules if not rule.status)))

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
    listed = _telling(code_list_labels(state))
    language = _language(listed, " ".join(section.text for section in sections if not section.status))
    copies = copies or look_alikes(state)
    lists = _code_lists(state.code_lists(), language)
    return Knowledge(
        readings,
        copies,
        lists,
        _labels(listed, labels_of_codes(state), language),
        tuple(sections),
        tuple(rules),
        _mentions(documents.mentions(state, SURELY_NAMED), lists),
        {each.entity: each.tables for each in linked_entities(state)},
        _code_sets(lists, listed, copies),
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


def _telling(labels: Sequence[CodeLabel]) -> list[CodeLabel]:
    """The labels but for those of lists that only number their entries: these say what nothing means."""
    of_list: dict[str, set[str]] = defaultdict(set)
    for each in labels:
        of_list[each.list_reference].add(each.label)
    numbered = {
        reference
        for reference, own in of_list.items()
        if len(own) > 2 and sum(bool(_NUMBERED.search(label)) for label in own) > 0.9 * len(own)
    }
    return [each for each in labels if each.list_reference not in numbered]


_NUMBERED = re.compile(r"\D\s#?\d+$")


def _language(labels: Iterable[CodeLabel], documents: str) -> str:
    """The language of labels that a reader is shown: English where lists have it, as everything around them is; else
    the one whose labels documents speak of most."""
    words: dict[str, set[str]] = defaultdict(set)
    for each in labels:
        if each.language:
            words[each.language.lower()] |= set(re.findall(r"[^\W\d_]{4,}", each.label.lower()))
    english = [language for language in words if language.startswith("en")]
    said = set(re.findall(r"[^\W\d_]{4,}", documents.lower()))
    return max(english or words, key=lambda each: (len(words[each] & said), len(words[each]), each), default="")


def _code_lists(lists: Iterable[StoredCodeList], language: str) -> dict[str, tuple[CodeList, ...]]:
    found: dict[str, list[CodeList]] = defaultdict(list)
    for each in lists:
        found[each.column].append(
            CodeList(
                each.list,
                each.code_column,
                each.label_column,
                each.condition or "",
                each.status,
                each.confidence,
                each.language or "",
            )
        )
    return {
        column: tuple(sorted(several, key=lambda each: _worth(each, language))) for column, several in found.items()
    }


def _code_sets(
    lists: Mapping[str, Sequence[CodeList]], listed: Sequence[CodeLabel], copies: Mapping[str, str | None]
) -> tuple[CodeSet, ...]:
    """The lists that decode columns, each once with the labels of its language."""
    copied = tuple(f"{table}." for table in copies)
    columns: dict[tuple[str, str, str, str], list[str]] = defaultdict(list)
    chosen: dict[tuple[str, str, str, str], CodeList] = {}
    for column, several in lists.items():
        best = several[0]
        if best.status != "outdated" and not column.startswith(copied):
            key = best.list_reference, best.code_column, best.label_column, best.condition
            columns[key].append(column)
            chosen.setdefault(key, best)
    labels: dict[tuple[str, str, str], dict[str, str]] = defaultdict(dict)
    for each in listed:
        labels[each.column_reference, each.list_reference, (each.language or "").lower()].setdefault(
            each.code, each.label
        )
    found: list[CodeSet] = []
    for key, own in columns.items():
        codes = chosen[key]
        held: dict[str, str] = {}
        for column in own:
            held |= labels[column, codes.list_reference, codes.language.lower()]
        if 0 < len(held) <= MOST_LISTED and not _LANGUAGES.intersection(words_of(codes.code_column)):
            found.append(CodeSet("", codes, tuple(sorted(held.items())), tuple(sorted(own))))
    found.sort(key=lambda each: (-len(each.columns), each.codes.list_reference, each.codes.condition))
    names: Counter[str] = Counter()
    named = []
    for codes_of in found:
        domain = DOMAIN_OF_LIST.match(codes_of.codes.condition)
        name = (domain[1] if domain else "") or re.split(r"[./]", codes_of.codes.list_reference)[-1]
        names[name] += 1
        named.append(replace(codes_of, name=name if names[name] == 1 else f"{name} {names[name]}"))
    return tuple(named)


_LANGUAGES = frozenset(["lang", "language", "langu", "langue", "spras", "sprache", "lingua", "idioma", "taal"])
"""What a column is called that says in which language a label is: no code of anything."""
DOMAIN_OF_LIST = re.compile(r"""(?:"(?:[^"]|"")+" = '([\w .-]{1,24})')""")
"""Which list is meant, in a condition on a table of several."""


def _worth(codes: CodeList, language: str) -> tuple[bool, float, bool]:
    return codes.status == "outdated", -codes.confidence, codes.language.lower() not in ("", language)


def _labels(
    listed: Sequence[CodeLabel], labels: Iterable[tuple[str, str, str]], language: str
) -> dict[str, tuple[tuple[str, str], ...]]:
    """By lists that are current first, in one language where they have several."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    ordered = sorted(listed, key=lambda each: (each.language or "").lower() not in ("", language))
    for column, code, label in (*((each.column_reference, each.code, each.label) for each in ordered), *labels):
        own = found[column]
        if len(own) < MOST_LABELS:
            own.setdefault(code, label)
    return {column: tuple(own.items()) for column, own in found.items()}


def _mentions(
    rows: Sequence[documents.MentionRow], lists: Mapping[str, Sequence[CodeList]]
) -> dict[str, tuple[Mention, ...]]:
    """Who names what a code stands for means the columns that hold the code, too."""
    decoded: dict[str, list[str]] = defaultdict(list)
    for column, several in lists.items():
        decoded[f"{several[0].list_reference}.{several[0].label_column}"].append(column)
    found: dict[str, list[Mention]] = defaultdict(list)
    for row in rows:
        own, sure = found[row.section_reference], row.confidence or 0.0
        how, words = row.how or "", row.words or ""
        own.append(Mention(row.target_reference, how, sure, row.paragraph, words))
        columns = decoded.get(row.target_reference, ()) if how == "value" else ()
        for column in columns if len(columns) <= MOST_MEANT else ():
            own.append(Mention(column, how, sure, row.paragraph, words))
    return {section: tuple(targets) for section, targets in found.items()}
