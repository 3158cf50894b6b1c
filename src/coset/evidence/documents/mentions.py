"""What a text names: tables, columns, sources and stored values of the environment.

In: paragraphs, and the names, readings and values there are. Out: `Mention`s. A word counts as a name only when it is
written as one: `ord_hdr`, `previousRef`, ORDMST in a text that is not all capitals, `fin.pay`, "quotes", the field
status, or a word that no dictionary has. What could be several things is taken for those that fit what else the text
names. Where nothing decides, the mention is weak: it is kept, below `SURELY_NAMED`, and shown to nobody.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from coset.evidence.documents.nameable import (
    ARTICLES,
    ENGLISH,
    FUNCTION_WORDS,
    GENERAL_WORDS,
    MONEY_AND_COUNTRIES,
    OTHER_LANGUAGES,
    WORD,
    Context,
    Mention,
    NamedTable,
    Names,
    Place,
    clause_words,
    stem,
    stems,
)
from coset.state.documents import SURELY_NAMED

MOST_TARGETS = 4
"""A name that could be more things than this, after all that the text says, is no mention."""
MOST_BY_PATTERN = 60
WEAK = 0.35
"""How sure a mention is that nothing in the text decides."""
OF_KIND = 0.9
"""How sure a word is that stands beside *table*, *field* and the like."""
PHRASE = 0.7
"""How sure a stored value of several words is that stands in a text like any words."""
SHOUTING = 0.6
"""The share of capitals from which on a text is written in them."""

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
_SHEET = re.compile(r"^[\"”“»`']?,?\s+(?:sheet|tab|blatt|feuille|foglio|hoja|blad)\s+[\"“„«]?(\w+)", re.IGNORECASE)
_SHEET_NAMED = re.compile(
    r"\b(?:sheet|tab|tabellenblatt|blatt|feuille|onglet|foglio|hoja|blad|tabblad)\s+[\"“„«»`']?\s*(\w{2,})",
    re.IGNORECASE,
)
_OF_COLUMN = re.compile(
    r"\b(?:columns?|fields?|attributes?|flags?|spalten?|felder|feld|champs?|colonnes?|colonn[ae]|campo|campi|columnas?|kolom|veld)\b",
    re.IGNORECASE,
)
_ATTENDANCE = re.compile(
    r"(?:present|attendees|participants|distribution|anwesend|présents?|presenti)\s*:", re.IGNORECASE
)
_DATA_FILE = re.compile(r"\.(?:csv|tsv|xlsx?|xlsm|ods|jsonl?|ndjson|parquet|db|sqlite|duckdb|txt)$", re.IGNORECASE)


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
    places = [Place(each.section, each.number, each.text, each.document) for each in paragraphs]
    _look(places)
    for place in places:
        _tables(place, names)
        _patterns(place, names)
        _sheets(place, names)
        _listed(place, names)
        _sources(place, names)
    for words in (False, True):
        context = Context(places, names)
        for place in places:
            _columns(place, names, context, words=words)
    context = Context(places, names)
    for place in places:
        _column_patterns(place, names, context)
    for find in (_readings, _values):
        context = Context(places, names)
        for place in places:
            find(place, names, context)
    return [mention for place in places for mention in place.found]


def _look(places: Sequence[Place]) -> None:
    """Which places are written in capitals, and which documents in English."""
    letters: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for place in places:
        words = re.findall(r"[^\W\d_]+", place.text.lower())
        counts = letters[place.document]
        capitals, every = sum(map(str.isupper, place.text)), sum(map(str.isalpha, place.text))
        place.shouting = capitals > SHOUTING * every
        counts[0] += capitals
        counts[1] += every
        counts[2] += sum(word in ENGLISH for word in words)
        counts[3] += sum(word in OTHER_LANGUAGES for word in words)
    for place in places:
        capitals, every, english, other = letters[place.document]
        place.shouting, place.english = place.shouting or capitals > SHOUTING * every, english >= other


def _written_as_name(token: str, before: str, after: str, names: Names, shouting: bool, english: bool) -> float:
    """How sure it is that a word of a text, which is also the name of something, is meant as a name."""
    if len(token) < 3 or token.lower() in FUNCTION_WORDS or token in MONEY_AND_COUNTRIES:
        return 0.0
    if _KIND_BEFORE.search(before) or _KIND_AFTER.match(after):
        return OF_KIND
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


def _tables(place: Place, names: Names) -> None:
    text = place.text
    for match in _TOKEN.finditer(text):
        token, before, after = match[0], text[max(0, match.start() - 30) : match.start()], text[match.end() :][:30]
        token = _DATA_FILE.sub("", token)
        if "." in token:
            _qualified(place, names, token)
            continue
        same = names.table_names.get(token.lower(), [])
        sure = _written_as_name(token, before, after, names, place.shouting, place.english) if same else 0.0
        if not sure:
            continue
        originals = [table for table in same if not table.is_copy] or same
        exact = [table for table in originals if table.name == token] or originals
        for table in exact if len(exact) <= MOST_TARGETS else ():
            place.add(table.reference, token, "name", sure if len(exact) == 1 else WEAK)


def _listed(place: Place, names: Names) -> None:
    """Plain words in a list with names, in a sentence about tables: "Account, Contact and Case are the objects"."""
    for match in _TOKEN.finditer(place.text):
        tables = [table for table in names.table_names.get(match[0].lower(), ()) if table.name == match[0]]
        if len(tables) != 1 or not (tables[0].name[0].isupper() or _in_list(place.text, match)):
            continue
        start, sentence = _sentence(place.text, match.start())
        if not _KINDS.search(sentence):
            continue
        others = {
            each.reference
            for other in _TOKEN.findall(sentence)
            for each in names.table_names.get(other.lower(), ())
            if each.name == other and each.source == tables[0].source
        } - {tables[0].reference}
        named = {each.target for each in place.found if each.how == "name"}
        if others and (others & named or (tables[0].name[0].isupper() and start != match.start()) or len(others) > 1):
            place.add(tables[0].reference, match[0], "name", 0.75)


def _in_list(text: str, match: re.Match[str]) -> bool:
    return text[: match.start()].rstrip().endswith(",") or text[match.end() :].lstrip().startswith(",")


def _patterns(place: Place, names: Names) -> None:
    """Names of which the common part stands for all: `XREF_`, the FCT tables, `*_hist`, a workbook with its sheets."""
    text = place.text
    for match in _TOKEN.finditer(text):
        token, before = match[0], text[max(0, match.start() - 30) : match.start()]
        called = token.lower()
        if "." in token or names.table_names.get(called) or len(token) < 3:
            continue
        if ("_" in token or _KIND_BEFORE.search(before)) and len(token) >= 4:
            start = f"{called.rstrip('_')}_"
            some = [table for table in names.tables if table.name.lower().startswith(start) and not table.is_copy]
            if sheet := _SHEET.match(text[match.end() :]):
                some = [table for table in some if table.name.lower() == f"{start}{sheet[1].lower()}"] or some
            if len(some) <= 2 * MOST_TARGETS:
                _add_pattern(place, names, match, some, 0.75)
        elif token.isupper() and not place.shouting and called not in names.sources:
            some = names.prefixes.get(called, []) if not names.column_names.get(called) else []
            if len(some) <= MOST_BY_PATTERN:
                _add_pattern(place, names, match, some, 0.7)
    for match in _PATTERN.finditer(text):
        end, start = (match[1] or "").lower(), (match[2] or "").lower()
        some = [table for table in names.tables if _fits_pattern(table.name, end, start)]
        originals = [table for table in some if not table.is_copy] or some
        if len(originals) <= MOST_BY_PATTERN:
            _add_pattern(place, names, match, originals, 0.7)


def _sheets(place: Place, names: Names) -> None:
    """Sheets by their own name, of the workbook that the paragraph names where several have one called so."""
    text = place.text.lower()
    for match in _SHEET_NAMED.finditer(place.text):
        end = f"_{match[1].lower()}"
        some = [
            (table, table.name.lower().removesuffix(end)) for table in names.tables if table.name.lower().endswith(end)
        ]
        kept = [each for each in some if re.search(rf"(?<!\w){re.escape(each[1])}(?!\w)", text)] or some
        meant = names.originals(table.reference for table, _ in kept)
        sure = 0.85 if len(meant) == 1 else SURELY_NAMED if len(meant) == 2 else WEAK
        for table, _ in meant[:MOST_TARGETS]:
            place.add(table.reference, match[1], "name", sure)


def _add_pattern(
    place: Place, names: Names, match: re.Match[str], tables: Sequence[NamedTable], confidence: float
) -> None:
    """All the tables; where words beside the pattern ("the FCT tables on premiums") fit some only, those surely."""
    near = clause_words(place.text, match.start(), match.end()) - GENERAL_WORDS - stems(match[0])
    meant = [table for table in tables if any(near & way for way in names.ways.get(table.reference, ()))]
    common = frozenset[str]().union(*(way for table in tables for way in names.ways.get(table.reference, ())))
    spoken = near & common if len(meant) < len(tables) else set[str]()
    for table in tables:
        place.add(table.reference, match[0], "pattern", confidence if not spoken or table in meant else WEAK)


def _fits_pattern(name: str, end: str, start: str) -> bool:
    return bool((end and name.lower().endswith(end)) or (start and name.lower().startswith(start)))


def _qualified(place: Place, names: Names, token: str) -> None:
    """A name of several parts: `schema.table`, `source.table`, or `table.column`."""
    *_, owner, name = token.lower().split(".")
    tables = [
        table
        for table in names.table_names.get(name, [])
        if owner in {(table.schema or "").lower(), table.source.lower()}
    ]
    for table in tables[:MOST_TARGETS]:
        place.add(table.reference, token, "name", 0.98 if len(tables) == 1 else WEAK)
    owners = names.table_names.get(owner, []) if not tables else []
    for table in [each for each in owners if not each.is_copy] or owners:
        for column, reference in table.columns:
            if column.lower() == name:
                place.add(reference, token, "name", 0.95)


def _columns(place: Place, names: Names, context: Context, *, words: bool) -> None:
    """Columns by name: names that no dictionary has, and then, with what those decide, `words` written as names."""
    text = place.text
    for match in _TOKEN.finditer(text):
        token, before, after = match[0], text[max(0, match.start() - 30) : match.start()], text[match.end() :][:30]
        candidates = names.column_names.get(token.lower(), [])
        if not candidates or names.table_names.get(token.lower()) or names.is_word(token) is not words:
            continue
        if not (sure := _written_as_name(token, before, after, names, place.shouting, place.english)):
            continue
        if words and sure == OF_KIND and not _OF_COLUMN.search(f"{before[-20:]} {after[:20]}"):
            continue  # "The part table" speaks of a table.
        near = clause_words(text, match.start(), match.end())
        meant = context.meant(place, [reference for _, reference in candidates], near, stems(token))
        # A name that only one source uses means the same wherever it stands there.
        everywhere = meant.sources == 1 and sure >= 0.8 and not words
        if meant.tables > (MOST_BY_PATTERN if everywhere else MOST_TARGETS):
            continue
        certain = (meant.tables == 1 and (meant.decided or not words)) or everywhere
        for reference in meant.references:
            place.add(reference, token, "name", sure * (1.0 if meant.tables == 1 else 0.85) if certain else WEAK)


def _column_patterns(place: Place, names: Names, context: Context) -> None:
    for match in _PATTERN.finditer(place.text):
        end, start = (match[1] or "").lower(), (match[2] or "").lower()
        matching = [
            reference
            for table in names.tables
            if not table.is_copy
            for name, reference in table.columns
            if _fits_pattern(name, end, start)
        ]
        meant = context.of_named_sources(place, matching)
        if len(meant.references) <= MOST_BY_PATTERN:
            for reference in meant.references:
                place.add(reference, match[0], "pattern", 0.6 if meant.sources == 1 else WEAK)


def _sources(place: Place, names: Names) -> None:
    if _ATTENDANCE.match(place.text):
        return
    words = list(re.finditer(r"(?<![\w])[^\W_]+(?![\w])", place.text))
    for start in range(len(words)):
        for some in (words[start : start + length] for length in (3, 2, 1)):
            if source := names.spoken_sources.get(tuple(stem(word[0]) for word in some)):
                place.add(source, place.text[some[0].start() : some[-1].end()], "source", 0.7)
                break
    first = re.match(r"(?:[-*•]\s*)?([\w-]+)\s*(?:\([^)]*\))?\s*:", place.text)
    if first and first[1] in names.sources:
        place.add(first[1], first[1], "source", 0.9)


def _values(place: Place, names: Names, context: Context) -> None:
    text = place.text
    spoken = {match[1].strip(): (0.85, match.start(1)) for match in _QUOTED.finditer(text)}
    for match in re.finditer(r"(?<![\w./-])[A-Z][A-Z0-9_]{1,11}(?![\w./-])", text) if not place.shouting else ():
        code, coded = match[0], _CODED.search(text[max(0, match.start() - 30) : match.start()]) is not None
        common = len(code) <= 2 or names.is_word(code) or code in MONEY_AND_COUNTRIES
        if coded or not common:
            spoken.setdefault(code, (0.85 if coded else 0.75, match.start()))
    words = list(re.finditer(r"[\w'’/&-]+", text))
    for start in range(len(words)):
        for length in (4, 3, 2):
            phrase = " ".join(word[0] for word in words[start : start + length])
            if start + length <= len(words) and len(phrase) >= 9 and phrase.lower() in names.held_values:
                told = tuple(stem(word) for word in WORD.findall(phrase.lower()))
                if told not in names.spoken_readings and not set(told) <= GENERAL_WORDS | FUNCTION_WORDS:
                    spoken.setdefault(phrase, (PHRASE, words[start].start()))
    for value, (sure, at) in spoken.items():
        called = value.lower()
        if called in names.table_names or called in names.column_names or called in names.sources:
            continue
        if called not in FUNCTION_WORDS and (called,) not in names.spoken_sources:
            _value(place, names, context, value, sure, at)


def _value(place: Place, names: Names, context: Context, value: str, sure: float, at: int) -> None:
    """The columns that hold a value. Surely meant is one whose words, or those of its table, stand beside the value."""
    near = clause_words(place.text, at, at + len(value))
    owners = names.originals(names.held_values.get(value.lower(), ()))
    by_table = [(table, each) for table, each in owners if names.is_beside(table.reference, near)]
    beside = by_table or [(table, each) for table, each in owners if names.is_beside(each, near)]
    meant = context.meant(place, [each for _, each in beside or owners], near, stems(value))
    if len(meant.references) <= MOST_TARGETS:
        certain = bool(beside) and meant.tables == 1 and (meant.decided or (len(owners) == 1 and sure > PHRASE))
        for reference in meant.references:
            place.add(reference, value, "value", sure if certain else WEAK)


def _readings(place: Place, names: Names, context: Context) -> None:
    words = re.finditer(r"[^\W_]+|[.;:!?()|]", place.text)
    kept = [word for word in words if word[0].lower() not in ARTICLES]
    for start in range(len(kept)):
        for length in range(min(7, len(kept) - start), 1, -1):
            some = kept[start : start + length]
            phrase = tuple(stem(word[0]) for word in some)
            if (references := names.spoken_readings.get(phrase)) is not None:
                at, end = some[0].start(), some[-1].end()
                meant = context.meant(place, references, clause_words(place.text, at, end), set(phrase), strict=True)
                if len(meant.references) <= MOST_TARGETS:
                    for reference in meant.references:
                        is_table = reference in names.by_reference
                        certain = (meant.decided if is_table else meant.of_table) and meant.tables == 1
                        place.add(reference, place.text[at:end], "reading", 0.6 if certain else WEAK)
                break


def _sentence(text: str, position: int) -> tuple[int, str]:
    """The sentence around a place of a text, and where it begins."""
    start = max(text.rfind(mark, 0, position) for mark in (". ", "! ", "? ", "; ")) + 1
    start += len(text[start:]) - len(text[start:].lstrip())
    ends = [end for mark in (". ", "! ", "? ", "; ") if (end := text.find(mark, position)) >= 0]
    return start, text[start : min(ends, default=len(text))]
