"""The readers that need no model, put together: what people wrote, the lexicon of systems, the words of names.

In: the observed tables and the texts about them. Out: readings of every table, column and nested path, by every reader
that has something to say. Nothing is asked of a source.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from coset.readings.expansion import COUNTED, Expander, Expansion
from coset.readings.kept import KeptNames, digest_of
from coset.readings.names import Habits, column_pieces, habits_of, table_pieces
from coset.readings.observed import ObservedColumn, ObservedEnvironment, ObservedTable
from coset.readings.reading import Reading, best_readings
from coset.readings.stated import Text, stated_readings
from coset.readings.stems import stems_of
from coset.readings.systems import system_readings
from coset.readings.vocabulary import Language, folds, languages, shipped_words, vocabulary
from coset.readings.words import singular, words_of

READERS_ARE = 4
"""Raised when readers read otherwise: then all names are read anew."""
LEAST_FOREIGN, FOREIGN_SHARE, FOREIGN_LEAD = 4, 0.1, 1.3
SHOWN = 0.5
"""What is less sure is kept as a guess that views do not show."""
LONGEST_NAME = 120
"""Letters of a name that are read; what is longer is cut."""
GENERIC = frozenset({
    "id", "identifier", "number", "name", "code", "type", "status", "text", "description", "date", "key",
    "label", "title", "kind", "note", "comment", "sequence", "level", "category", "remark", "subtype",
    "reference", "sort", "position", "flag", "time", "user", "person", "place", "reason",
})  # fmt: skip
"""Words that say what a column is only together with what its table is about."""
STRUCTURE = frozenset({
    "master", "header", "head", "detail", "details", "table", "dimension", "fact", "facts", "history",
    "reference", "list", "cross", "line", "lines", "item", "items", "data", "record", "records", "log",
    "archive", "backup", "staging", "temporary", "temp", "copy", "old", "new", "view", "summary", "entry",
    "entries", "base", "main", "object", "objects", "tab", "file", "extract", "export", "import", "test",
})  # fmt: skip
_FIRST = {"dimension": "dimension", "fact": "facts", "reference": "reference list", "staging": "staging table",
          "temporary": "temporary table", "cross": "cross reference", "lookup": "lookup list"}  # fmt: skip


@dataclass(frozen=True)
class CopyOf:
    """What a table is a copy of."""

    original: str
    kind: str


@dataclass(frozen=True)
class SourceContext:
    """What the names of one source are read with."""

    habits: Habits
    expander: Expander
    titles: Mapping[str, str]
    """What tables are called by readers who know more than names."""


def read_offline(
    environment: ObservedEnvironment,
    texts: Sequence[Text] = (),
    copies: Mapping[str, CopyOf] | None = None,
    kept: KeptNames | None = None,
) -> list[Reading]:
    """All readings of all offline readers. A text without a name takes that of the best reading that has one; a copy
    is read as its original. Names are read again where something changed for them since `kept`."""
    kept = kept or KeptNames()
    by_source: dict[str, list[ObservedTable]] = defaultdict(list)
    for table in environment.tables:
        by_source[table.source].append(table)
    found = list(stated_readings(environment, texts))
    for tables in by_source.values():
        found += system_readings(tables)
    titles = {
        key: each.name
        for key, each in best_readings(each for each in found if each.name and each.is_table).items()
        if each.confidence >= SHOWN
    }
    around = words_around(environment, texts)
    as_originals = _wholly_as_originals(environment, copies or {})
    habits = {source: habits_of(tables) for source, tables in by_source.items()}
    pieces = {source: _Pieces.of(tables, habits[source]) for source, tables in by_source.items()}
    present = _languages_of(list(pieces.values()))
    for source, tables in by_source.items():
        near = Counter(around)
        for text in texts:
            if text.source == source:
                near.update({word: 2 * count for word, count in _counted(text.text).items()})
        own = [table for table in tables if table.reference not in as_originals]
        stems = stems_of(tables, titles, habits[source], STRUCTURE)
        names = _SourceNames(source, tables, habits[source], pieces[source], present, titles, stems, kept)
        first = list(names.read(own, near, (), 1))
        # Read again with what was surely read: a short form means in one place what it means in the others.
        near.update(_surely_read(first))
        things = {_entity(tuple(each.name.split()))[-1] for each in first if each.is_table and each.name}
        found += names.read(own, near, things, 2)
        found += [each for table in tables if table.reference in as_originals for each in _unread(table)]
    return _named(found if not copies else _as_originals(environment, found, copies))


@dataclass
class _SourceNames:
    """The names of one source, each table read in its language."""

    source: str
    tables: Sequence[ObservedTable]
    habits: Habits
    pieces: _Pieces
    present: tuple[Language, ...]
    titles: Mapping[str, str]
    stems: Mapping[str, str]
    kept: KeptNames

    def read(
        self, tables: Sequence[ObservedTable], near: Mapping[str, int], things: Collection[str], number: int
    ) -> Iterator[Reading]:
        usual = self.pieces.language()
        contexts: dict[str, SourceContext] = {}

        def read_names(table: ObservedTable) -> tuple[list[Reading], set[str]]:
            language = _Pieces.of([table], self.habits).language_among(self.present, usual)
            code = language.code if language else ""
            if code not in contexts:
                expander = Expander(around, language, things, self.pieces.words_of(language), self.present, self.stems)
                contexts[code] = SourceContext(self.habits, expander, self.titles)
            asked = contexts[code].expander.asked = set()
            return list(name_readings(table, contexts[code])), asked

        around = {word: COUNTED[bisect_right(COUNTED, count) - 1] for word, count in near.items() if count}
        read_with = (
            self.names_digest,
            [each.code for each in self.present],
            sorted(things),
            sorted(self.stems.items()),
        )
        this = self.kept.round(self.source, number, around, read_with)
        for table in tables:
            yield from this.readings(table, self.titles.get(table.reference, ""), partial(read_names, table))

    @cached_property
    def names_digest(self) -> str:
        names = [(table.reference, table.name, table.names) for table in self.tables]
        return digest_of((READERS_ARE, shipped_words(), names))


def _wholly_as_originals(environment: ObservedEnvironment, copies: Mapping[str, CopyOf]) -> set[str]:
    """Copies of which every column is one of the original: what their names say need not be found out twice."""
    tables = {table.reference: table for table in environment.tables}
    found = set()
    for reference, copy in copies.items():
        table, original = tables.get(reference), tables.get(copy.original)
        if table and original and copy.original not in copies:
            ends = {column.reference[len(original.reference) :] for column in original.columns}
            if all(column.reference[len(reference) :] in ends for column in table.columns):
                found.add(reference)
    return found


def _unread(table: ObservedTable) -> Iterator[Reading]:
    """Names as they stand, to be read as those of the original."""
    for reference, name in ((table.reference, table.name), *((each.reference, each.name) for each in table.columns)):
        yield Reading(reference, table.reference, name, "", (), "words", 0.1, name)


def _as_originals(
    environment: ObservedEnvironment, found: Sequence[Reading], copies: Mapping[str, CopyOf]
) -> list[Reading]:
    """Names of copies and of their columns give way to the readings of the originals."""
    best = best_readings(each for each in found if each.name)
    tables = {table.reference: table for table in environment.tables}
    kept = []
    for each in found:
        copy = copies.get(each.table_reference)
        if copy is None or each.reader not in ("words", "abbreviations"):
            kept.append(each)
            continue
        if each.is_table:
            original = best.get(copy.original)
            told = f"{original.name} ({copy.kind})" if original else each.name
        else:
            original = best.get(copy.original + each.reference[len(each.table_reference) :])
            told = original.name if original else each.name
        if original is None or copy.original not in tables:
            kept.append(each)
            continue
        kept.append(
            replace(
                each, name=told, meaning=original.meaning, synonyms=original.synonyms, reader=original.reader,
                confidence=max(0.1, round(original.confidence - 0.02, 3)), source=f"as in {copy.original}",
            )
        )  # fmt: skip
    return kept


def name_readings(table: ObservedTable, context: SourceContext) -> Iterator[Reading]:
    """What the names of a table and its columns say."""
    pieces = _cut(table_pieces(table.name[:LONGEST_NAME], context.habits))
    spelled = context.expander.expand(pieces)
    words = _turned(spelled.words)
    yield _reading(table.reference, table.reference, " ".join(words), spelled, table.name)
    known = context.titles.get(table.reference)
    about = _About(_entity(tuple(known.split()) if known else words), bool(known) or _sure(spelled))
    initials = "".join(piece[0] for piece in pieces) if len(pieces) > 1 else ""
    for column in table.columns:
        inner = _parent(table, column, context)
        yield _column_reading(table, column, inner or about, "" if inner else initials, context)


@dataclass(frozen=True)
class _About:
    """What a column is a fact of, and whether that is sure."""

    words: tuple[str, ...]
    sure: bool


def _parent(table: ObservedTable, column: ObservedColumn, context: SourceContext) -> _About | None:
    """The `agency` of `agency.code`: what is nested is a fact of what it stands in."""
    steps = column.reference[len(table.reference) + 1 :].replace("[]", "").replace('"', "").split(".")
    if len(steps) < 2 or "#" in column.reference:
        return None
    pieces = _cut(column_pieces(steps[-2][:LONGEST_NAME], table.reference, context.habits))
    spelled = context.expander.expand(pieces)
    return _About(_entity(spelled.words), _sure(spelled)) if spelled.words else None


def _sure(spelled: Expansion) -> bool:
    """Whether a name can hardly mean something else than what it was read as."""
    plain = all(how in ("word", "language") for how in spelled.how)
    return "unknown" not in spelled.how and (plain or spelled.certainty >= SHOWN)


def _entity(words: tuple[str, ...]) -> tuple[str, ...]:
    """What a table is about, in the singular: *policy* of *policies master*."""
    entity = tuple(word for word in words if word not in STRUCTURE and not word.isdigit()) or words[:1]
    return (*entity[:-1], singular(entity[-1])) if entity else ()


def _column_reading(
    table: ObservedTable, column: ObservedColumn, thing: _About, initials: str, context: SourceContext
) -> Reading:
    about = thing.words
    pieces = _cut(column_pieces(column.name[:LONGEST_NAME], table.reference, context.habits))
    if len(pieces) > 1 and pieces[0] == initials:  # The id of `cov_chk` is its `cc_id`.
        pieces = pieces[1:]
    pieces, ending = _without_ending(pieces, table, column)
    spelled = context.expander.expand(pieces, column)
    behind = bool(ending) and ending[0] in ("in", "flag")
    words = (*spelled.words, *ending) if behind else (*ending, *spelled.words)
    if len(pieces) == 1 and pieces[0] in _ASKED:
        words = (_ASKED[pieces[0]],)
    own = tuple(word for word in words if word not in about)
    if words and all(word in GENERIC or word.isdigit() for word in words) and 0 < len(about) <= 3 and own:
        words = (*about, *words) if words[0] != about[-1] else (*about[:-1], *words)
        # Where it is unsure what the thing is, the column by itself says less, and nothing wrong.
        if not thing.sure:
            words = spelled.words
    return _reading(column.reference, table.reference, " ".join(words), spelled, column.name)


_ASKED = {"at": "time", "when": "time", "on": "date", "by": "user", "who": "person", "where": "place", "why": "reason"}
"""What a column holds that is called by nothing but one of these: `visits.at`, `change.by`."""
_IN_LANGUAGES = {"de": "german", "fr": "french", "en": "english", "nl": "dutch", "it": "italian", "es": "spanish",
                 "pt": "portuguese", "pl": "polish", "sv": "swedish"}  # fmt: skip
_IN_UNITS = {
    "s": "seconds", "sec": "seconds", "secs": "seconds", "ms": "milliseconds", "min": "minutes", "mins": "minutes",
    "h": "hours", "hrs": "hours", "days": "days", "kg": "kilograms", "g": "grams", "mm": "millimetres",
    "cm": "centimetres", "m": "metres", "km": "kilometres", "m2": "square metres", "m3": "cubic metres",
    "ha": "hectares", "l": "litres", "kwh": "kilowatt hours", "mwh": "megawatt hours", "kw": "kilowatts",
    "mbps": "megabits per second", "kbps": "kilobits per second", "kb": "kilobytes", "mb": "megabytes",
    "gb": "gigabytes", "dbm": "decibel milliwatts", "hz": "hertz", "mhz": "megahertz", "bar": "bar", "eur": "euro",
    "usd": "us dollars", "chf": "swiss francs", "gbp": "pounds", "pln": "zlotys", "sek": "swedish kronor",
}  # fmt: skip


def _without_ending(
    pieces: tuple[str, ...], table: ObservedTable, column: ObservedColumn
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """A name without the language, unit or mark of a flag it ends with: `city_fr` beside `city_de`, a number in
    `wait_s`, `vip_yn`."""
    if len(pieces) < 2:
        return pieces, ()
    if (language := _IN_LANGUAGES.get(pieces[-1])) is not None:
        begin = column.name[: -len(pieces[-1])].lower()
        names = {name.lower() for name in table.names}
        if any(begin + code in names for code in _IN_LANGUAGES if code != pieces[-1]):
            return pieces[:-1], (language,)
    if pieces[-1] == "yn":
        return pieces[:-1], ("flag",)
    if column.type in ("whole", "number") and (unit := _IN_UNITS.get(pieces[-1])) is not None:
        return pieces[:-1], ("in", *unit.split())
    return pieces, ()


def _reading(reference: str, table: str, name: str, spelled: Expansion, written: str) -> Reading:
    plain = all(how in ("word", "language") for how in spelled.how)
    unknown = any(
        how == "unknown" and not piece.isdigit() for how, (piece, _) in zip(spelled.how, spelled.parts, strict=False)
    )
    confidence = max(0.1, 0.78 - 0.12 * max(0.0, spelled.cost - 0.4))
    if not plain:
        confidence = min(confidence, max(0.1, spelled.certainty))
    if unknown:
        confidence = min(confidence, 0.3)
    source = ", ".join(f"{piece} = {words}" for piece, words in spelled.parts if piece != words) or written
    return Reading(
        reference,
        table,
        name or written,
        "",
        (),
        "words" if plain else "abbreviations",
        round(confidence, 3),
        source,
    )


@dataclass(frozen=True)
class _Pieces:
    """The pieces of the names of some tables, without accents, those that are no English words apart."""

    long: frozenset[str]
    strange: frozenset[str]

    @classmethod
    def of(cls, tables: Sequence[ObservedTable], habits: Habits) -> _Pieces:
        found = {piece for table in tables for piece in table_pieces(table.name, habits)}
        for table in tables:
            for name in table.names:
                found.update(column_pieces(name[:LONGEST_NAME], table.reference, habits))
        long = frozenset(next(folds(piece)) for piece in found if len(piece) >= 4 and piece.isalpha())
        return cls(long, frozenset(piece for piece in long if not vocabulary().is_word(piece)))

    @cached_property
    def hits(self) -> dict[str, int]:
        """How many of the strange pieces each language knows."""
        return {
            code: sum(piece in language.words or language.compound(piece) is not None for piece in self.strange)
            for code, language in languages().items()
        }

    def language(self) -> Language | None:
        """The language other than English of which many words stand here."""
        hits = self.hits
        first, second, *_ = sorted(hits, key=lambda code: (-hits[code], code))
        enough = hits[first] >= max(LEAST_FOREIGN, FOREIGN_SHARE * len(self.long))
        return languages()[first] if enough and hits[first] >= FOREIGN_LEAD * hits[second] else None

    def language_among(self, present: Collection[Language], usual: Language | None) -> Language | None:
        """The language of one table: that of which two words and twice as many as of any other stand in it, else the
        usual one of its source."""
        hits = {each.code: sum(piece in each.words for piece in self.strange) for each in present}
        ranked = sorted(hits, key=lambda code: (-hits[code], code))
        if ranked and hits[ranked[0]] >= max([2, *(2 * hits[code] for code in ranked[1:])]):
            return languages()[ranked[0]]
        return usual

    def words_of(self, language: Language | None) -> set[str]:
        """The words of a language that names write in full."""
        return {piece for piece in self.long if len(piece) >= 5 and language and language.english(piece)}


def language_of(tables: Sequence[ObservedTable], habits: Habits) -> Language | None:
    """The language other than English of which many words stand in the names of a source."""
    return _Pieces.of(tables, habits).language()


def _languages_of(pieces: Sequence[_Pieces]) -> tuple[Language, ...]:
    """The languages of an environment: those of its sources, and those of which words stand in names that no other
    language has."""
    found = {language.code for each in pieces if (language := each.language()) is not None}
    strange = {piece for each in pieces for piece in each.strange if len(piece) >= 5}
    own: Counter[str] = Counter()
    for piece in strange:
        codes = [code for code, language in languages().items() if piece in language.words]
        own.update(codes if len(codes) == 1 else ())
    found |= {code for code, count in own.items() if count >= LEAST_FOREIGN}
    return tuple(languages()[code] for code in sorted(found))


def words_around(environment: ObservedEnvironment, texts: Sequence[Text]) -> Counter[str]:
    """How often the environment's texts and readable names use each English word."""
    found: Counter[str] = Counter()
    for text in texts:
        found.update(_counted(text.text))
    known = vocabulary()
    names: Counter[str] = Counter()
    for table in environment.tables:
        for name in (table.name, *table.names):
            names.update({word for word in words_of(name[:LONGEST_NAME]) if len(word) > 3 and known.is_word(word)})
    # What hundreds of columns are called says little more than what ten are called.
    found.update({word: min(count, 5) for word, count in names.items()})
    return found


def _surely_read(readings: Sequence[Reading]) -> Counter[str]:
    found = Counter(word for each in readings if each.confidence > 0.6 for word in set(each.name.split()))
    return Counter({word: min(count, 5) for word, count in found.items()})


def _counted(text: str) -> Counter[str]:
    known = vocabulary()
    return Counter(word for word in re.findall(r"[a-z]{4,}", text.lower()) if known.is_word(word))


def _cut(pieces: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(next(folds(piece)) for piece in pieces[:12])


def _turned(words: tuple[str, ...]) -> tuple[str, ...]:
    """*dimension broker* as *broker dimension*."""
    if len(words) > 1 and words[0] in _FIRST:
        rest = words[2:] if words[:2] == ("cross", "reference") else words[1:]
        return (*rest, *_FIRST[words[0]].split()) if rest else words
    return words


def _named(readings: Sequence[Reading]) -> list[Reading]:
    best = best_readings(reading for reading in readings if reading.name)
    found: dict[tuple[str, str, str], Reading] = {}
    for reading in readings:
        if not reading.name:
            other = best.get(reading.reference)
            if other is None:
                continue
            # A text that explains without naming is as sure as the name it is put beside, and a little more.
            reading = replace(reading, name=other.name, confidence=min(0.95, other.confidence + 0.02))
        key = (reading.reference, reading.reader, reading.source)
        if key not in found or reading.confidence > found[key].confidence:
            found[key] = reading
    return list(found.values())
