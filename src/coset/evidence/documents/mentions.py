"""What a text names: tables, columns, sources and stored values of the environment.

In: paragraphs, and the names, readings and values there are. Out: `Mention`s. A word counts as a name only when it is
written as one: `ord_hdr`, `previousRef`, ORDMST in a text that is not all capitals, `fin.pay`, "quotes", the field
status, or a word that no dictionary has. What could be several things is taken for those that fit what else the text
names, and for none where more than a few remain.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Literal

How = Literal["name", "pattern", "reading", "value", "source"]
MOST_TARGETS = 4
"""A name that could be more things than this, after all that the text says, is no mention."""
MOST_BY_PATTERN = 60
SHOUTING = 0.6
"""The share of capitals from which on a text is written in them."""


@dataclass(frozen=True)
class Mention:
    """A place of a text (section, number of the paragraph) and what it names."""

    section: str
    paragraph: int
    target: str
    words: str
    how: How
    confidence: float


@dataclass(frozen=True)
class NamedTable:
    reference: str
    source: str
    schema: str | None
    name: str
    is_copy: bool = False
    columns: tuple[tuple[str, str], ...] = ()
    """Name and reference of each column, and of what lies nested in columns."""


@dataclass(frozen=True)
class Names:
    """All that can be named. `is_word` tells the common words of a language from names."""

    tables: Sequence[NamedTable]
    sources: dict[str, str]
    """Each source with its description."""
    readings: Sequence[tuple[str, str]] = ()
    """References with what they are in plain words."""
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
            for phrase in _noun_phrases(description):
                found[phrase].add(source)
                if len(phrase) > 1 and phrase[-1] not in _GENERAL_NOUNS:
                    found[phrase[-1:]].add(source)
        return {phrase: next(iter(owners)) for phrase, owners in found.items() if len(owners) == 1}

    @cached_property
    def spoken_readings(self) -> dict[tuple[str, ...], list[str]]:
        """References by how people say their readings, as stems: `event code`, `code of event`. Readings of one word,
        or of words that any text is full of, are left out."""
        found: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for reference, reading in self.readings:
            words = tuple(stem(word) for word in _WORD.findall(reading.lower()) if word not in _ARTICLES)
            telling = [word for word in words if word not in _FUNCTION_WORDS]
            if not 2 <= len(telling) <= 5 or set(telling) <= _GENERAL_WORDS:
                continue
            ways = {words, (words[-1], "of", *words[:-1])} if len(words) == len(telling) else {words}
            for way in ways:
                found[way].append(reference)
        return found

    @cached_property
    def held_values(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for value, reference in self.values:
            if 2 <= len(value) <= 60:
                found[" ".join(value.lower().split())].append(reference)
        return found


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORD = re.compile(r"[^\W\d_]+")
_TOKEN = re.compile(r"(?<![\w$])[^\W\d][\w$]*(?:\.[^\W\d][\w$]*)*(?![\w$])")
_PATTERN = re.compile(
    r"(?<!\w)(?:--+|\*|…|%)_?([A-Za-z][A-Za-z0-9_]{2,})(?!\w)|\b([A-Za-z][A-Za-z0-9_]{1,}?)_?\*(?!\w)"
)
_QUOTED = re.compile(r"[\"“”„«»`']([^\"“”„«»`'\n]{1,60})[\"“”«»`']")
_KIND = (
    r"tables?|columns?|fields?|objects?|sheets?|workbooks?|collections?|views?|files?|datasets?|lists?|attributes?|flags?|"
    r"tabellen?|spalten?|felder|feld|objekte?|champs?|colonnes?|feuilles?|fichiers?|objets?|tabell[ae]|colonn[ae]|campo|"
    r"campi|fogli?o?|tablas?|columnas?|campos?|tabel|kolom|veld"
)
_KIND_BEFORE = re.compile(
    rf"\b(?:{_KIND})\s+(?:named |called |namens |nommée? |appelée? |chiamat[ao] |of |des |du |de la |der |dei |delle )?"
    r"[\"“„«`']?$",
    re.IGNORECASE,
)
_KIND_AFTER = re.compile(
    r"^[\"”“»`']?\s+(?:tables?|columns?|fields?|collections?|sheets?|tabellen?|spalten?|felder|feld)\b", re.IGNORECASE
)
_CODED = re.compile(
    r"\b(?:status|type|code|state|domain|flag|level|group|category|class|kind|method|mark|contract|value|list|entries|rows|"
    r"lines|outcome|typ|schlüssel|kennzeichen|statut|sens|stato|tipo|codice|estado)\s+(?:is |are |of |with )?[\"“„«(]?$",
    re.IGNORECASE,
)
"""What stands before a code that is meant as one."""
_KINDS = re.compile(rf"\b(?:{_KIND})\b", re.IGNORECASE)
_SMALL_WORDS = _words("of the a an in on for and or to by with from per de du des la le les un une der die das")
_ENGLISH = _words("the of and is are to in that it not for with be as on by this an or which")
_OTHER_LANGUAGES = _words(
    "le la les des du est sont dans une pour pas que qui et der die das und ist sind nicht mit für von den dem ein eine il lo "
    "gli di del della che non per con sono una el los las de y es por para een het van niet met zijn"
)
_FUNCTION_WORDS = _SMALL_WORDS | _ENGLISH | _OTHER_LANGUAGES
_MONEY_AND_COUNTRIES = _words(
    "EUR USD CHF GBP PLN SEK NOK DKK CZK HUF JPY CNY INR CAD AUD BRL US USA UK EU DE FR IT ES NL BE PL AT CH UTC GMT CET ISO ID"
)
_ARTICLES = _words("the a an our its their this that each every all any der die das le la les il lo gli el los las")
_GENERAL_WORDS = _words(
    "business calendar fiscal year month day date time hour number code text valid from to id key name type kind status "
    "statu table list file record row value amount total count unit description comment note flag group level line item "
    "start end first last new old main other is has at by of created modified changed updated user"
)
_SHEET = re.compile(r"^[\"”“»`']?,?\s+(?:sheet|tab|blatt|feuille|foglio|hoja|blad)\s+[\"“„«]?(\w+)", re.IGNORECASE)
_DATA_FILE = re.compile(r"\.(?:csv|tsv|xlsx?|xlsm|ods|jsonl?|ndjson|parquet|db|sqlite|duckdb|txt)$", re.IGNORECASE)
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


def _noun_phrases(description: str) -> Iterator[tuple[str, ...]]:
    sentence = re.split(r"[.;:]\s", description or "", maxsplit=1)[0]
    for chunk in re.split(
        r"[,()/]|\b(?:and|that|where|which|with|in|on|for|as|runs?|is|are|under|from|by)\b", sentence
    ):
        match = re.search(r"\b(?:the|our)\s+((?:[\w-]+\s*){1,3})$", chunk.strip() + " ") or re.search(
            r"\b(?:the|our)\s+((?:[\w-]+\s*){1,3})", chunk
        )
        if match:
            words = tuple(stem(word) for word in _WORD.findall(match[1].lower()))
            if words and not set(words) <= _GENERAL_NOUNS:
                yield words


@dataclass
class _Place:
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
        if not any(each.target == target for each in self.found):
            self.found.append(Mention(self.section, self.number, target, words, how, round(confidence, 2)))


@dataclass(frozen=True)
class Paragraph:
    """A piece of a section, its title counting as one (number -1), and the source its document is about."""

    section: str
    number: int
    text: str
    document: str
    source: str | None = None


def find_mentions(paragraphs: Sequence[Paragraph], names: Names) -> list[Mention]:
    """Everything the paragraphs name. Tables and sources first: they decide what columns and values are meant."""
    places = [_Place(each.section, each.number, each.text, each.document) for each in paragraphs]
    _look(places)
    for place in places:
        _tables(place, names)
        _sources(place, names)
    for find in (_columns, _readings, _values):
        context = _Context(places, names)
        for place in places:
            find(place, names, context)
    return [mention for place in places for mention in place.found]


def _look(places: Sequence[_Place]) -> None:
    """Which places are written in capitals, and which documents in English."""
    letters: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for place in places:
        words = re.findall(r"[^\W\d_]+", place.text.lower())
        counts = letters[place.document]
        capitals, every = sum(map(str.isupper, place.text)), sum(map(str.isalpha, place.text))
        place.shouting = capitals > SHOUTING * every
        counts[0] += capitals
        counts[1] += every
        counts[2] += sum(word in _ENGLISH for word in words)
        counts[3] += sum(word in _OTHER_LANGUAGES for word in words)
    for place in places:
        capitals, every, english, other = letters[place.document]
        place.shouting, place.english = place.shouting or capitals > SHOUTING * every, english >= other


class _Context:
    """The tables and sources named in a paragraph, its section, its document."""

    def __init__(self, places: Sequence[_Place], names: Names) -> None:
        self.tables: dict[object, set[str]] = defaultdict(set)
        self.sources: dict[object, set[str]] = defaultdict(set)
        self.named_sources: dict[str, set[str]] = defaultdict(set)
        """Of each section, the sources of the tables and columns that stand there by name, and those it names."""
        for place in places:
            for mention in place.found:
                if mention.how in {"name", "pattern", "reading"}:
                    table = _table_of(mention.target, names)
                    owner = names.by_reference.get(table) if table else None
                    for key in ((place.section, place.number), place.section, place.document):
                        if owner and mention.how == "name":
                            self.named_sources[place.section].add(owner.source)
                        if owner:
                            self.tables[key].add(owner.reference)
                            self.sources[key].add(owner.source)
                elif mention.how == "source":
                    self.named_sources[place.section].add(mention.target)
                    for key in ((place.section, place.number), place.section, place.document):
                        self.sources[key].add(mention.target)

    def fitting(
        self, place: _Place, candidates: Sequence[tuple[NamedTable, str]], *, everywhere: bool = False
    ) -> list[str]:
        """Those of the candidates that the text can mean: originals, of tables it names, of sources it names."""
        left = [each for each in candidates if not each[0].is_copy] or list(candidates)
        for known, key in ((self.tables, "reference"), (self.sources, "source")):
            for scope in ((place.section, place.number), place.section, place.document):
                if len(left) > 1 and (narrowed := [each for each in left if getattr(each[0], key) in known[scope]]):
                    left = narrowed
                    break
        # A name that only one source uses means the same wherever it stands there.
        most = MOST_BY_PATTERN if everywhere and len({table.source for table, _ in left}) == 1 else MOST_TARGETS
        return [reference for _, reference in left] if len(left) <= most else []


def _table_of(reference: str, names: Names) -> str | None:
    while reference and reference not in names.by_reference:
        shorter = re.sub(r'(?:\.(?:"[^"]*"|[^."/]+)|\[\]|#[^#]*)$', "", reference)
        if shorter == reference:
            return None
        reference = shorter
    return reference or None


def _written_as_name(token: str, before: str, after: str, names: Names, shouting: bool, english: bool) -> float:
    """How sure it is that a word of a text, which is also the name of something, is meant as a name."""
    if len(token) < 3 or token.lower() in _FUNCTION_WORDS or token in _MONEY_AND_COUNTRIES:
        return 0.0
    if _KIND_BEFORE.search(before) or _KIND_AFTER.match(after):
        return 0.9
    if "_" in token or re.search(r"[a-z][A-Z]", token) or re.search(r"[A-Za-z]\d|\d[A-Za-z]", token):
        return 0.95
    if before.endswith("`") or (before.endswith(('"', "“", "„", "«")) and after.startswith(('"', "”", "“", "»"))):
        return 0.8
    if token.isupper() and not shouting:
        return 0.85 if not names.is_word(token) or len(token) > 4 else 0.7
    if not names.is_word(token) and len(token) >= 4 and not token[0].isupper() and english:
        return 0.8
    if shouting and not names.is_word(token) and len(token) >= 4:
        return 0.85
    return 0.0


def _tables(place: _Place, names: Names) -> None:
    text = place.text
    for match in _TOKEN.finditer(text):
        token, before, after = match[0], text[max(0, match.start() - 30) : match.start()], text[match.end() :][:30]
        token = _DATA_FILE.sub("", token)
        if "." in token:
            _qualified(place, names, token)
            continue
        same = names.table_names.get(token.lower(), [])
        sure = _written_as_name(token, before, after, names, place.shouting, place.english) if same else 0.0
        if same and not sure and token[0].isupper() and any(table.name == token for table in same):
            # "Account, Contact and Case are the objects": spelled as the table, in a sentence about tables.
            begins = not before.strip() or before.rstrip().endswith((".", "!", "?", ":"))
            sure = 0.75 if _KINDS.search(_sentence(text, match.start())) and not begins else 0.0
        if same and sure:
            originals = [table for table in same if not table.is_copy] or same
            exact = [table for table in originals if table.name == token] or originals
            for table in exact if len(exact) <= MOST_TARGETS else ():
                place.add(table.reference, token, "name", sure)
        elif not same and ("_" in token or _KIND_BEFORE.search(before)) and len(token) >= 4:
            # A workbook whose sheets are tables, or the common part of several names.
            start = f"{token.lower().rstrip('_')}_"
            some = [table for table in names.tables if table.name.lower().startswith(start) and not table.is_copy]
            if sheet := _SHEET.match(text[match.end() :]):
                some = [table for table in some if table.name.lower() == f"{start}{sheet[1].lower()}"] or some
            for table in some if len(some) <= 2 * MOST_TARGETS else ():
                place.add(table.reference, token, "pattern", 0.75)
        elif (
            not same
            and token.isupper()
            and len(token) >= 3
            and not place.shouting
            and token.lower() not in names.sources
        ):
            some = names.prefixes.get(token.lower(), []) if not names.column_names.get(token.lower()) else []
            if 1 <= len(some) <= MOST_BY_PATTERN:
                for table in some:
                    place.add(table.reference, token, "pattern", 0.7)
    for match in _PATTERN.finditer(text):
        end, start = match[1], match[2]
        for table in names.tables:
            name = table.name.lower()
            if (end and name.endswith(end.lower())) or (start and name.startswith(start.lower())):
                place.add(table.reference, match[0], "pattern", 0.7)


def _qualified(place: _Place, names: Names, token: str) -> None:
    """A name of several parts: `schema.table`, `source.table`, or `table.column`."""
    *_, owner, name = token.lower().split(".")
    tables = [
        table
        for table in names.table_names.get(name, [])
        if owner in {(table.schema or "").lower(), table.source.lower()}
    ]
    for table in tables[:MOST_TARGETS]:
        place.add(table.reference, token, "name", 0.98)
    for table in names.table_names.get(owner, []) if not tables else ():
        for column, reference in table.columns:
            if column.lower() == name:
                place.add(reference, token, "name", 0.95)


def _columns(place: _Place, names: Names, context: _Context) -> None:
    text = place.text
    for match in _TOKEN.finditer(text):
        token, before, after = match[0], text[max(0, match.start() - 30) : match.start()], text[match.end() :][:30]
        candidates = names.column_names.get(token.lower(), [])
        if not candidates or names.table_names.get(token.lower()):
            continue
        if not (sure := _written_as_name(token, before, after, names, place.shouting, place.english)):
            continue
        named = context.named_sources[place.section] if names.is_word(token) else set()
        candidates = [each for each in candidates if not named or each[0].source in named]
        fitting = context.fitting(place, candidates, everywhere=sure >= 0.8 and not names.is_word(token))
        for reference in fitting:
            place.add(reference, token, "name", sure * (1.0 if len(fitting) == 1 else 0.85))
    for match in _PATTERN.finditer(text):
        end, start = (match[1] or "").lower(), (match[2] or "").lower()
        matching = [
            reference
            for table in names.tables
            if not table.is_copy
            for name, reference in table.columns
            if (end and name.lower().endswith(end)) or (start and name.lower().startswith(start))
        ]
        for reference in matching if len(matching) <= MOST_BY_PATTERN else ():
            place.add(reference, match[0], "pattern", 0.6)


def _sources(place: _Place, names: Names) -> None:
    words = [stem(word) for word in re.findall(r"[^\W_]+", place.text.lower())]
    for start in range(len(words)):
        for length in (3, 2, 1):
            phrase = tuple(words[start : start + length])
            if source := names.spoken_sources.get(phrase):
                place.add(source, " ".join(phrase), "source", 0.7)
                break


def _values(place: _Place, names: Names, context: _Context) -> None:
    text = place.text
    spoken = {match[1].strip(): 0.85 for match in _QUOTED.finditer(text)}
    for match in re.finditer(r"(?<![\w./-])[A-Z][A-Z0-9_]{1,11}(?![\w./-])", text) if not place.shouting else ():
        code, coded = match[0], _CODED.search(text[max(0, match.start() - 30) : match.start()]) is not None
        common = len(code) <= 2 or names.is_word(code) or code in _MONEY_AND_COUNTRIES
        if coded or not common:
            spoken.setdefault(code, 0.85 if coded else 0.75)
    words = re.findall(r"[\w'’/&-]+", text)
    for start in range(len(words)):
        for length in (4, 3, 2):
            phrase = " ".join(words[start : start + length])
            if start + length <= len(words) and len(phrase) >= 9 and phrase.lower() in names.held_values:
                stems = tuple(stem(word) for word in _WORD.findall(phrase.lower()))
                if stems not in names.spoken_readings and not set(stems) <= _GENERAL_WORDS | _FUNCTION_WORDS:
                    spoken.setdefault(phrase, 0.7)
    for value, sure in spoken.items():
        called = value.lower()
        if called in names.table_names or called in names.column_names or called in names.sources:
            continue
        if called in _FUNCTION_WORDS or (called,) in names.spoken_sources:
            continue
        owners = names.held_values.get(called, [])
        tables = [(names.by_reference[table], owner) for owner in owners if (table := _table_of(owner, names))]
        for reference in context.fitting(place, tables):
            place.add(reference, value, "value", sure)


def _readings(place: _Place, names: Names, context: _Context) -> None:
    for clause in re.split(r"[.;:!?()|]", place.text.lower()):
        _readings_of(clause, place, names, context)


def _readings_of(clause: str, place: _Place, names: Names, context: _Context) -> None:
    words = [stem(word) for word in re.findall(r"[^\W_]+", clause) if word not in _ARTICLES]
    for start in range(len(words)):
        for length in range(min(7, len(words) - start), 1, -1):
            phrase = tuple(words[start : start + length])
            if (references := names.spoken_readings.get(phrase)) is None:
                continue
            tables = [(names.by_reference[table], each) for each in references if (table := _table_of(each, names))]
            named = context.named_sources[place.section]
            fitting = [each for each in tables if not named or each[0].source in named]
            for reference in context.fitting(place, fitting):
                place.add(reference, " ".join(phrase), "reading", 0.6)
            break


def _sentence(text: str, position: int) -> str:
    start = max(text.rfind(mark, 0, position) for mark in (". ", "! ", "? ", "; ")) + 1
    ends = [end for mark in (". ", "! ", "? ", "; ") if (end := text.find(mark, position)) >= 0]
    return text[start : min(ends, default=len(text))]
