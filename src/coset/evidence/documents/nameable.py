"""The names that a text can mention, and which of several things a name means.

In: tables with their columns, readings, values and what sources are called. Out: `Names`, which looks words up, and
`Context`, which takes candidates (columns that are called alike, columns that hold a value) and leaves those that fit
the rest of the text, saying whether anything decided. Copies stand for their originals; weak mentions decide nothing.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Literal

from coset.state.documents import SURELY_NAMED


@dataclass(frozen=True)
class NamedTable:
    reference: str
    source: str
    schema: str | None
    name: str
    is_copy: bool = False
    original: str | None = None
    """The reference of the table that a copy is one of."""
    columns: tuple[tuple[str, str], ...] = ()
    """Name and reference of each column, and of what lies nested in columns."""


@dataclass(frozen=True)
class SpokenReading:
    """What something is in plain words. One that was taken `from_documents` says what words fit it, and no more: a
    document that speaks of it was asked already."""

    reference: str
    words: str
    from_documents: bool = False


@dataclass(frozen=True)
class Names:
    """All that can be named. `is_word` tells the common words of a language from names."""

    tables: Sequence[NamedTable]
    sources: dict[str, str]
    """Each source with its description."""
    readings: Sequence[SpokenReading] = ()
    values: Iterable[tuple[str, str]] = ()
    """Stored values of columns with few of them: the value and the column's reference."""
    is_word: Callable[[str], bool] = lambda word: True

    @cached_property
    def by_reference(self) -> dict[str, NamedTable]:
        return {table.reference: table for table in self.tables}

    @cached_property
    def table_names(self) -> dict[str, list[NamedTable]]:
        found: dict[str, list[NamedTable]] = defaultdict(list)
        for table in self.tables:
            found[table.name.lower()].append(table)
        return found

    @cached_property
    def column_names(self) -> dict[str, list[tuple[NamedTable, str]]]:
        found: dict[str, list[tuple[NamedTable, str]]] = defaultdict(list)
        for table in self.tables:
            for name, reference in table.columns:
                found[name.lower()].append((table, reference))
        return found

    @cached_property
    def prefixes(self) -> dict[str, list[NamedTable]]:
        """Originals by the part of their name before the first `_`: XREF of XREF_ITEM."""
        found: dict[str, list[NamedTable]] = defaultdict(list)
        for table in self.tables:
            if "_" in table.name.strip("_") and not table.is_copy:
                found[table.name.lower().split("_")[0]].append(table)
        return found

    @cached_property
    def spoken_sources(self) -> dict[tuple[str, ...], str]:
        """What people call a source: its name, and the nouns of its description's first sentence."""
        found: dict[tuple[str, ...], set[str]] = defaultdict(set)
        for source, description in self.sources.items():
            if not self.is_word(source) or len(source) <= 3:
                found[(source.lower(),)].add(source)
            for kind in _SYSTEMS:
                found[(stem(source.lower()), kind)].add(source)
            for phrase, is_hyphened in _noun_phrases(description):
                found[phrase].add(source)
                if len(phrase) > 1 and not is_hyphened and phrase[-1] not in _GENERAL_NOUNS | _VERBS:
                    found[phrase[-1:]].add(source)
        return {phrase: next(iter(owners)) for phrase, owners in found.items() if len(owners) == 1}

    @cached_property
    def spoken_readings(self) -> dict[tuple[str, ...], list[str]]:
        """References by how people say their readings, as stems: `event code`, `code of event`. Readings of one word,
        or of words that any text is full of, are left out."""
        found: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for reading in self.readings:
            words = tuple(stem(word) for word in WORD.findall(reading.words.lower()) if word not in ARTICLES)
            telling = [word for word in words if word not in FUNCTION_WORDS]
            if reading.from_documents or not 2 <= len(telling) <= 5 or set(telling) <= GENERAL_WORDS:
                continue
            ways = {words, (words[-1], "of", *words[:-1])} if len(words) == len(telling) else {words}
            for way in ways:
                found[way].append(reading.reference)
        return found

    @cached_property
    def ways(self) -> dict[str, list[frozenset[str]]]:
        """Of each table and column, how it may be spoken of: the telling words of its name and of each reading."""
        found: dict[str, list[frozenset[str]]] = defaultdict(list)

        def say(reference: str, words: Iterable[str]) -> None:
            if telling := frozenset(words) - FUNCTION_WORDS:
                found[reference].append(telling)

        for table in self.tables:
            for name, reference in ((table.name, table.reference), *table.columns):
                pieces = [piece.lower() for piece in _PIECE.findall(name)]
                if all(len(piece) >= 3 and self.is_word(piece) for piece in pieces):
                    say(reference, map(stem, pieces))
        for reading in self.readings:
            say(reading.reference, [stem(word) for word in WORD.findall(reading.words.lower())])
        return found

    def is_beside(self, reference: str, words: set[str]) -> bool:
        """Whether a word for something is among words."""
        return any(words & way for way in self.ways.get(reference, ()))

    def table_of(self, reference: str) -> NamedTable | None:
        """The table that something is, or belongs to."""
        while reference and reference not in self.by_reference:
            shorter = re.sub(r'(?:\.(?:"[^"]*"|[^."/]+)|\[\]|#[^#]*)$', "", reference)
            if shorter == reference:
                return None
            reference = shorter
        return self.by_reference.get(reference)

    def originals(self, references: Iterable[str]) -> list[tuple[NamedTable, str]]:
        """Tables with what of them is referred to. Copies stand for their originals, and count only where there is
        nothing else."""
        found: dict[str, NamedTable] = {}
        for reference in references:
            table = self.table_of(reference)
            original = self.by_reference.get(table.original or "") if table else None
            if table is None:
                continue
            if original is not None and reference == table.reference:
                found[original.reference] = original
            elif original is not None and (same := _same_column(table, reference, original)):
                found[same] = original
            elif "#" not in reference:  # What stands within a text is meant by its column.
                found[reference] = table
        kept = {reference: table for reference, table in found.items() if not table.is_copy} or found
        return [(table, reference) for reference, table in kept.items()]

    @cached_property
    def held_values(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for value, reference in self.values:
            if 2 <= len(value) <= 60:
                found[" ".join(value.lower().split())].append(reference)
        return found


def _same_column(copy: NamedTable, reference: str, original: NamedTable) -> str | None:
    called = next((name.lower() for name, each in copy.columns if each == reference), None)
    return next((each for name, each in original.columns if name.lower() == called), None)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


WORD = re.compile(r"[^\W\d_]+")
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+")
SMALL_WORDS = _words("of the a an in on for and or to by with from per de du des la le les un une der die das")
ENGLISH = _words("the of and is are to in that it not for with be as on by this an or which")
OTHER_LANGUAGES = _words(
    "le la les des du est sont dans une pour pas que qui et der die das und ist sind nicht mit für von den dem ein eine il lo "
    "gli di del della che non per con sono una el los las de y es por para een het van niet met zijn"
)
FUNCTION_WORDS = SMALL_WORDS | ENGLISH | OTHER_LANGUAGES
MONEY_AND_COUNTRIES = _words(
    "EUR USD CHF GBP PLN SEK NOK DKK CZK HUF JPY CNY INR CAD AUD BRL US USA UK EU DE FR IT ES NL BE PL AT CH UTC GMT CET ISO ID"
)
ARTICLES = _words("the a an our its their this that each every all any der die das le la les il lo gli el los las")
GENERAL_WORDS = _words(
    "business calendar fiscal year month day date time hour number code text valid from to id key name type kind status "
    "statu table list file record row value amount total count unit description comment note flag group level line item "
    "start end first last new old main other is has at by of created modified changed updated user"
)
_PEOPLE = _words("office department team plant branch house unit staff technician user colleague division")
_VERBS = _words("use need run want keep have work see get make call")
_SYSTEMS = ("system", "database", "application", "module", "server")
_GENERAL_NOUNS = _words(
    "system systems database data copy copies export exports dump file files folder drive application app server "
    "table tables list lists source extract department departments company group nightly french german english italian name "
    "names date dates day days field fields record records number numbers program programs project projects thing things "
    "report reports object objects people time evening week month year main"
)


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    word = word.lower()
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("ses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word


def _noun_phrases(description: str) -> Iterator[tuple[tuple[str, ...], bool]]:
    """What the first sentence of a description calls its subject ("the claims handling system", "our ledger"), and
    whether its last word is part of one ("the front-end"). Several things ("of the meters") are what it holds."""
    sentence = re.split(r"[.;:]\s", description or "", maxsplit=1)[0]
    for chunk in re.split(
        r"[,()/]|\b(?:and|that|where|which|with|in|on|for|as|of|runs?|is|are|under|from|by|people|used)\b", sentence
    ):
        match = re.search(r"\b(?:the|our)\s+((?:[\w-]+\s*){1,3})$", chunk.strip() + " ") or re.search(
            r"\b(?:the|our)\s+((?:[\w-]+\s*){1,3})", chunk
        )
        written = match[1].split() if match else []
        words = tuple(stem(word) for word in WORD.findall(" ".join(written).lower()))
        if not words or stem(written[-1]) != written[-1].lower():
            continue
        if words[-1] not in _PEOPLE and not set(words) <= _GENERAL_NOUNS and not set(words) & FUNCTION_WORDS:
            yield words, "-" in written[-1]


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
