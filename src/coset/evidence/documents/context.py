"""Which of several things a text can mean, by what else it names.

In: the paragraphs of a document with the mentions found so far, and all that can be named. Out: `Context`, which takes
candidates (columns that are called alike, columns that hold a value) and leaves those that fit, saying whether
anything in the text decided. Weak mentions decide nothing.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from coset.evidence.documents.nameable import GENERAL_WORDS, NamedTable, Names, stem
from coset.state.documents import SURELY_NAMED

How = Literal["name", "pattern", "reading", "value", "source"]
_CLAUSE_ENDS = re.compile(r"[;:!?()|]|\.(?=\s|$)")
_LETTERS = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class Mention:
    """A place of a text (section, number of the paragraph) and what it names."""

    section: str
    paragraph: int
    target: str
    words: str
    how: How
    confidence: float

    @property
    def is_strong(self) -> bool:
        return self.confidence >= SURELY_NAMED


@dataclass
class Place:
    """A paragraph while its mentions are found."""

    section: str
    number: int
    text: str
    document: str
    found: list[Mention] = field(default_factory=list)
    shouting: bool = False
    """Written in capitals, so that capitals tell no names."""
    english: bool = True

    def add(self, target: str, words: str, how: How, confidence: float) -> None:
        """Take a mention, unless what it names was named here as surely."""
        confidence = round(confidence, 2)
        known = next((each for each in self.found if each.target == target), None)
        if known is not None and known.confidence >= min(confidence, SURELY_NAMED):
            return
        if known is not None:
            self.found.remove(known)
        self.found.append(Mention(self.section, self.number, target, words, how, confidence))


def clause_words(text: str, start: int, end: int) -> set[str]:
    """The stems of the words around a place of a text, up to the ends of its clause, without those of the place."""
    before = [match.end() for match in _CLAUSE_ENDS.finditer(text, 0, start)]
    after = _CLAUSE_ENDS.search(text, end)
    return stems(text[before[-1] if before else 0 : start]) | stems(text[end : after.start() if after else len(text)])


def stems(text: str) -> set[str]:
    return {stem(word) for word in _LETTERS.findall(text.lower())}


@dataclass(frozen=True)
class Meant:
    """What is left of candidates. `decided`: something in the text speaks for these, beyond what they are called;
    `of_table`: it speaks of their table, not just of its source."""

    references: tuple[str, ...]
    tables: int
    sources: int
    decided: bool
    of_table: bool = False


class Context:
    """The tables and sources named in a paragraph, its section and its document, and the words that stand there."""

    def __init__(self, places: Sequence[Place], names: Names) -> None:
        self.names = names
        self.named: dict[object, set[str]] = defaultdict(set)
        """Tables that stand somewhere by name, or a column of theirs."""
        self.sources: dict[object, set[str]] = defaultdict(set)
        self.words: dict[str, set[str]] = defaultdict(set)
        self.titles: dict[str, set[str]] = defaultdict(set)
        """Of each section, the words of the titles above it, and of its document's file."""
        for place in places:
            self.words[place.section] |= stems(place.text) | stems(place.document.rsplit("/", 1)[-1])
            if place.number < 0:
                self.titles[place.section] = stems(place.text) | stems(place.document.rsplit("/", 1)[-1])
            for mention in place.found:
                if mention.is_strong:
                    self._take(place, mention)

    def _take(self, place: Place, mention: Mention) -> None:
        owner = self.names.table_of(mention.target)
        for scope in _scopes(place):
            if mention.how == "source":
                self.sources[scope].add(mention.target)
            elif owner is not None:
                self.sources[scope].add(owner.source)
                if mention.how in {"name", "pattern"}:
                    self.named[scope].add(owner.reference)

    def meant(
        self, place: Place, references: Iterable[str], near: set[str], own: set[str], *, strict: bool = False
    ) -> Meant:
        """Those of the candidates that the text can mean: originals, of tables it names or speaks of, of sources it
        names. `near` are the words around the name, `own` the words of the name itself, which decide nothing.
        `strict`: the words are no name, so that a table must be named, or spoken of by several words; and a table that
        is named is not also meant by other words."""
        references = list(references)
        tables_only = strict and all(each in self.names.by_reference for each in references)
        here = [
            (table, each)
            for each in (() if tables_only else references)
            if (table := self.names.table_of(each)) and table.reference in self.named[place.section, place.number]
        ]
        left = here or self.names.originals(references)
        decided = bool(here)
        near, around = near - own, self.words[place.section] - own
        beside = (stems(place.text) | self.titles[place.section]) - own
        paragraph, section, document = _scopes(place)
        tests: tuple[tuple[bool, Callable[[NamedTable], bool]], ...] = (
            (True, lambda table: self._spoken_of(table, near, least=2 if strict else 1)),
            (True, lambda table: not tables_only and table.reference in self.named[paragraph]),
            (False, lambda table: table.source in self.sources[paragraph]),
            (True, lambda table: not tables_only and table.reference in self.named[section]),
            (not strict, lambda table: self._spoken_of(table, beside) or self._spoken_of(table, around, least=2)),
            (False, lambda table: table.source in self.sources[section]),
            (True, lambda table: not tables_only and table.reference in self.named[document]),
            (False, lambda table: table.source in self.sources[document]),
        )
        of_table = decided
        for is_of_table, fits in tests:
            if narrowed := [each for each in left if fits(each[0])]:
                left, decided, of_table = narrowed, True, of_table or is_of_table
        # "The partner category" is the category of a partner, where there is one table of them.
        if len(left) == 1 and self._spoken_of(left[0][0], own):
            decided = of_table = True
        return _meant(left, decided, of_table)

    def of_named_sources(self, place: Place, references: Iterable[str]) -> Meant:
        """Those of the candidates that belong to a source the text names."""
        left = self.names.originals(references)
        for scope in _scopes(place):
            if narrowed := [each for each in left if each[0].source in self.sources[scope]]:
                return _meant(narrowed, True)
        return _meant(left, False)

    def _spoken_of(self, table: NamedTable, words: set[str], least: int = 1) -> bool:
        """Whether words hold all that is telling in a name or reading of the table, which must be `least` words."""
        return any(
            telling <= words and len(telling) >= least
            for way in self.names.ways.get(table.reference, ())
            if (telling := way - GENERAL_WORDS or (way if len(way) > 1 else None))
        )


def _meant(left: Sequence[tuple[NamedTable, str]], decided: bool, of_table: bool = False) -> Meant:
    tables, sources = {table.reference for table, _ in left}, {table.source for table, _ in left}
    return Meant(tuple(each for _, each in left), len(tables), len(sources), decided, of_table)


def _scopes(place: Place) -> tuple[tuple[str, int], str, str]:
    return (place.section, place.number), place.section, f"document {place.document}"
