"""A question taken apart: every word is an operator, a name, a stored value, a number, a time, or says nothing.

In: a question, what is known of the environment, its anchor index. Out: `Chunk`s from left to right. A content word
that is none of these raises `NotSure`: a question that is understood in part is not understood.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

from rapidfuzz.distance import OSA

from coset.answering.offline.catalogue import Known, Named, compact, is_number, key, name_words
from coset.answering.offline.lexicon import EVENTS, FILLERS, LONGEST, NAMING_WORDS, NUMBERS, OPERATORS
from coset.answering.offline.plan import NotSure
from coset.answering.offline.tokenize import Chunk, StoredValue, Words
from coset.readings.words import singular
from coset.routing.anchors.index import AnchorIndex
from coset.routing.anchors.indexed_columns import SearchSettings
from coset.routing.anchors.match_names import name_sightings
from coset.routing.anchors.match_texts import search_sources
from coset.routing.anchors.match_values import code_sightings, value_sightings
from coset.routing.anchors.phrases import ReadQuestion, Word, read_question
from coset.routing.anchors.sightings import Lookup, Sighting
from coset.session.query_session import QuerySession

LONGEST_NAME = 6
MEASURED = 0.9
"""How well a word must name a column to be what is computed."""
FUNCTIONS = ("avg", "sum", "max", "min")
SURE = ("exact", "normalised", "searched", "dictionary")
_EDGES = frozenset(("of", "the", "a", "and", "in", "all", "each", "for", "by", "to", "or"))
_BEFORE_VERBS = frozenset(("who", "that", "which", "to", "did", "do", "does", "not", "never", "can", "they", "ever"))
_NAMES = frozenset(("name", "names", "title", "titles", "type", "types"))
_MEMBERS = frozenset(("member", "members"))
ASKED = frozenset(word for phrase in OPERATORS for word in phrase if len(word) > 4)
LEAST_RESPELT = 5
"""Shorter words are too near to others for a slip to be told."""
_COMMA = re.compile(r"\s*,\s*|\s*;\s*")


def read(question: str, known: Known, index: AnchorIndex, session: QuerySession) -> tuple[Chunk, ...]:
    asked = read_question(question)
    if asked.note:
        raise NotSure(asked.note)
    return _Reader(asked, known, _values(asked, known, index, session)).chunks()


def _values(
    asked: ReadQuestion, known: Known, index: AnchorIndex, session: QuerySession
) -> dict[tuple[int, int], list[StoredValue]]:
    """Stored values by the words that say them; a loose match is none."""
    lookup = Lookup(asked, index)
    sightings = [*name_sightings(lookup), *value_sightings(lookup), *code_sightings(lookup)]
    searched, _ = search_sources(lookup, sightings, session, SearchSettings())
    found: dict[tuple[int, int], list[StoredValue]] = {}
    for sighting in (*sightings, *searched):
        if _is_sure(sighting) and sighting.value is not None and sighting.reference in known.columns:
            value = StoredValue(sighting.reference, sighting.value)
            held = found.setdefault((sighting.first, sighting.last), [])
            if value not in held:
                held.append(value)
    return found


def _is_sure(sighting: Sighting) -> bool:
    return sighting.kind in ("value", "code") and sighting.match in SURE


class _Reader(Words):
    """Goes through the words once, always taking the longest piece that means something."""

    def chunks(self) -> tuple[Chunk, ...]:
        found = self.found
        place = 0
        while place < len(self.words):
            if place and found and _COMMA.fullmatch(self._gap(place)) and not found[-1].is_operator("and"):
                found.append(Chunk("operator", ",", operator="and"))
            if place and set(self._gap(place)) & set(".?!") and found:
                found.append(Chunk("operator", ".", operator="sentence"))
            if self._is_naming_again(place):
                place += 1
                continue
            length, chunks = (
                self._full_name(place) or self._coordinated(place) or self._adjective(place) or self._longest(place)
            )
            found += chunks
            place += length
        return tuple(self._features(self._values_of_sources(self._columns_of_values(found))))

    def _features(self, found: list[Chunk]) -> list[Chunk]:
        """`Which country is X in`, where the row of X has a country: its own is asked for, not one of all countries."""
        nouns = [chunk for chunk in found if chunk.kind in ("table", "column")]
        values = [chunk for chunk in found if chunk.kind == "value"]
        asks = self.normal[:1] in (("which",), ("what",))
        if not asks or len(nouns) != 1 or nouns[0].kind != "table" or len(values) != 1 or not values[0].values:
            return found
        homes = {self.known.columns[value.column].table for value in values[0].values}
        tables = {named.reference for named in nouns[0].named}
        called = compact(tuple(nouns[0].text.lower().split()))
        own = [
            Named(column.reference, 1.0)
            for home in homes - tables
            for column in self.known.columns_of(home)
            if column.kind == "column" and not is_number(column) and compact(name_words(column.name)) == called
        ]
        if len(homes) != 1 or homes & tables or len(own) != 1:
            return found
        return [replace(each, kind="column", named=tuple(own)) if each is nouns[0] else each for each in found]

    def _columns_of_values(self, found: list[Chunk]) -> list[Chunk]:
        """`machine M7`, where a column called so holds M7: the word names the column, not the table of machines."""
        told = list(found)
        for place, (one, other) in enumerate(pairwise(found)):
            if one.kind != "table" or other.kind != "value":
                continue
            called = {compact(tuple(one.text.lower().split()))}
            own = [v.column for v in other.values if compact(name_words(self.known.columns[v.column].name)) in called]
            if own:
                told[place] = replace(one, kind="column", named=tuple(Named(each, 1.0) for each in dict.fromkeys(own)))
        return told

    def _values_of_sources(self, found: list[Chunk]) -> list[Chunk]:
        """`tickets about Beacon`, where nothing named is of the source Beacon, and a column of tickets says so."""
        homes = {
            self.known.tables[
                self.known.columns[named.reference].table if chunk.kind == "column" else named.reference
            ].source
            for chunk in found
            if chunk.kind in ("table", "column")
            for named in chunk.named
        }
        return [
            replace(chunk, kind="value", named=())
            if chunk.kind == "source" and chunk.values and not homes & {named.reference for named in chunk.named}
            else chunk
            for chunk in found
        ]

    def _is_naming_again(self, place: int) -> bool:
        """`pilot names`, where the pilot is a column: the names are its values; `the phone number of` is no count."""
        naming = self.normal[place] in ("name", "names") or self.normal[place : place + 2] == ("number", "of")
        if not naming or not place or self._gap(place).strip():
            return False
        before = self.found[-1] if self.found else None
        return before is not None and before.kind == "column" and before.text.endswith(self.words[place - 1].text)

    def _longest(self, place: int) -> tuple[int, list[Chunk]]:
        for phrase in self.phrases.get(place, ()):
            if phrase.kind == "quoted":
                held = tuple(self.values.get((phrase.first, phrase.last), ()))
                held = self._as_written(held, tuple(phrase.normal.split()))
                if not held and (parts := self._person(phrase)):
                    return phrase.last - place, parts
                return phrase.last - place, [Chunk("value", phrase.text, values=held, quoted=True)]
        for phrase in self.phrases.get(place, ()):
            if phrase.dates is not None:
                return phrase.last - place, [Chunk("date", phrase.text, dates=phrase.dates)]
        for phrase in self.phrases.get(place, ()):
            if phrase.quantity is not None:
                held = tuple(self.values.get((phrase.first, phrase.last), ()))
                told = [
                    Chunk("number", phrase.text, number=phrase.quantity.value, unit=phrase.quantity.unit, values=held)
                ]
                if unit := self._unit(phrase):
                    told.append(Chunk("column", self.words[phrase.last - 1].text, named=unit))
                return phrase.last - place, told
        operator = self._operator_length(place)
        if (
            operator
            and OPERATORS[self.normal[place : place + operator]] in FUNCTIONS
            and self._is_measured(place + operator)
        ):
            words = self.normal[place : place + operator]
            if all(self._meaning(place, length) is None for length in self._lengths(place) if length > operator):
                return operator, [Chunk("operator", " ".join(words), operator=OPERATORS[words])]
        for length in self._lengths(place):
            if length < operator:
                break
            chunk = self._meaning(place, length)
            if chunk is not None and (length > operator or chunk.kind == "column"):
                return length, [chunk]
        if operator:
            words = self.normal[place : place + operator]
            return operator, [Chunk("operator", " ".join(words), operator=OPERATORS[words])]
        return self._single(place)

    def _single(self, place: int) -> tuple[int, list[Chunk]]:
        """A word that is no operator and no name in full."""
        word = self.words[place]
        if word.normal in NUMBERS:
            return 1, [Chunk("number", word.text, number=float(NUMBERS[word.normal]))]
        if word.normal in FILLERS and not (word.text.isupper() and len(word.text) > 1):
            return 1, self._hint(word, optional=True)
        code = next((p for p in self.phrases.get(place, ()) if p.kind == "code"), None)
        if code is not None:
            return code.last - place, [Chunk("value", code.text, code=True)]
        if key((word.normal,)) in self.known.facet_words and self._before_code(place):
            return 1, []
        if word.normal in EVENTS and self._before_date(place):
            return 1, self._hint(word, optional=False) or [Chunk("hint", word.text, event=True)]
        if word.normal in ("amount", "amounts") and self.normal[place + 1 : place + 2] == ("of",):
            return 2, []
        before = self.found[-1] if self.found else None
        if before is not None and word.normal in {"column": NAMING_WORDS, "table": _MEMBERS}.get(before.kind, ()):
            return 1, []
        for length in self._lengths(place):
            if length == 1 and self._is_verb(place) and (hint := self._hint(word, optional=False)):
                return 1, hint
            if (chunk := self._loosely(place, length)) is not None:
                return length, [chunk]
        if place and self.normal[place - 1] in _BEFORE_VERBS | {"we", "they"} and (done := self._done(word.normal)):
            return 1, [Chunk("value", word.text, values=done)]
        if sexes := self._sex(word.normal):
            return 1, [Chunk("value", word.text, values=sexes)]
        if hint := self._hint(word, optional=False):
            return 1, hint
        if (meant := self._respelt(word)) is not None:
            self.normal = (*self.normal[:place], meant, *self.normal[place + 1 :])
            length, chunks = self._longest(place)
            return length, [replace(chunk, respelt=True) for chunk in chunks]
        raise NotSure(f"'{word.text}' is not understood: it is no known name, value or word of asking")

    def _respelt(self, word: Word) -> str | None:
        """The one word of a name, or of asking, that differs from an unknown word by a single slip."""
        if len(word.normal) < LEAST_RESPELT or word.is_capital or word.normal in self.respelt:
            return None
        self.respelt.add(word.normal)
        lexicon = self.known.names["table"].lexicon
        if any(lexicon.meaning(kind, (singular(word.normal),)) for kind in ("entity", "attribute")):
            return None  # A word that means something is no slip of another.
        known = {*self.known.names["table"].words, *self.known.names["column"].words, *FILLERS, *ASKED}
        near = [each for each in sorted(known) if OSA.distance(word.normal, each, score_cutoff=1) <= 1]
        near = [each for each in near if each[0] == word.normal[0] and singular(each) != singular(word.normal)]
        return near[0] if len({*map(singular, near)}) == 1 else None

    def _before_date(self, place: int) -> bool:
        """Whether a date stands among the next few words."""
        return any(
            phrase.dates is not None for at in range(place + 1, place + 5) for phrase in self.phrases.get(at, ())
        )

    def _is_verb(self, place: int) -> bool:
        """By its ending, or because of the word before it."""
        before = self.normal[place - 1] if place else ""
        return self.normal[place].endswith(("ed", "ing")) or before in _BEFORE_VERBS

    def _lengths(self, place: int) -> list[int]:
        longest = min(LONGEST_NAME, len(self.words) - place)
        return [length for length in range(longest, 0, -1) if self._closed(place, length)]

    def _operator_length(self, place: int) -> int:
        for length in range(min(LONGEST, len(self.words) - place), 0, -1):
            words = self.normal[place : place + length]
            if words in OPERATORS and self._closed(place, length) and (length > 1 or self._may_order(place)):
                if length > 1 and words[0] == "or" and not self._ends_comparison(place + length):
                    continue
                return length
        return 0

    def _ends_comparison(self, after: int) -> bool:
        """`18 or older`: the number stands before it, and what follows is no number of its own (`or older than 35`)."""
        before = self.found[-1] if self.found else None
        follows = any(phrase.dates or phrase.quantity for phrase in self.phrases.get(after, ()))
        than = self.normal[after : after + 1] == ("than",)
        return before is not None and before.kind in ("number", "date") and not follows and not than

    def _may_order(self, place: int) -> bool:
        """`sort` and `order` are operators where a sentence begins, `ordered` and `sorted` before how they are so."""
        word, after = self.normal[place], self.normal[place + 1] if place + 1 < len(self.words) else ""
        if word in ("order", "sort"):
            return place == 0 or bool(set(self._gap(place)) & set(".?!"))
        return word not in ("ordered", "sorted") or after in ("by", "in", "descending", "ascending", "alphabetically")

    def _hint(self, word: Word, *, optional: bool) -> list[Chunk]:
        columns, tables = (self.known.names[kind].having_stem(word.normal) for kind in ("column", "table"))
        found = bool(columns or tables) and len(word.normal) > 3
        return [Chunk("hint", word.text, named=columns, tables=tables, optional=optional)] if found else []

    def _is_measured(self, place: int) -> bool:
        """Whether a column is named here: then the word before it says what is computed (`total amount`), whatever is
        called so."""
        return any(named.quality >= MEASURED for named in self.known.named("column", self.normal[place : place + 1]))

    def _is_done_to_rows(self, place: int, length: int) -> bool:
        """`How many customers signed up in 2023`, by a column `signed_up`: it is not counted."""
        words = self.normal[place : place + length]
        if not any(each.is_operator("count") for each in self.found):
            return False
        if length > 1 and words[1].endswith("ed") and self.known.named("table", words[:1]):
            return True
        before = self.found[-1]
        return words[0].endswith("ed") and before.kind == "table" and self._before_date(place)

    def _before_code(self, place: int) -> bool:
        """Whether a code follows that no column holds: it will be looked for in a text."""
        after = self.phrases.get(place + 1, ())
        return any(phrase.kind == "code" and (phrase.first, phrase.last) not in self.values for phrase in after)

    def _meaning(self, place: int, length: int) -> Chunk | None:
        words = self.normal[place : place + length]
        text = self.asked.text[self.words[place].begin : self.words[place + length - 1].end]
        if length > 1 and (words[0] in _EDGES or words[-1] in _EDGES):
            return None
        held = self._as_written(tuple(self.values.get((place, place + length), ())), words)
        capital = place > 0 and any(word.is_capital for word in self.words[place : place + length])
        sources = self.known.named("source", words)
        if sources and capital:
            return Chunk("source", text, named=sources, values=held)
        if held and capital:
            return Chunk("value", text, values=held)
        columns, tables = self._columns(words), self.known.named("table", words)
        if columns and self._is_done_to_rows(place, length):
            return None if self.known.named("table", words[:1]) else Chunk("hint", text, named=columns)
        by_stem = length == 1 and (columns or tables) and all(each.how == "stem" for each in (*columns, *tables))
        if by_stem and self._is_verb(place):
            return Chunk("hint", text, named=columns, tables=tables, optional=words[0] in FILLERS)
        if columns and not any(each.quality >= columns[0].quality for each in tables):
            return Chunk("column", text, named=columns, values=held)
        if tables:
            return Chunk("table", text, named=tables, values=held)
        if sources:
            return Chunk("source", text, named=sources, values=held)
        if held:
            return Chunk("value", text, values=held)
        if labelled := self._labelled(words):
            return Chunk("value", text, values=labelled)
        one = (*words[:-1], singular(words[-1]))
        if one != words and length == 1 and (same := self._stored_as(one)):
            return Chunk("value", text, values=same)
        return None

    def _loosely(self, place: int, length: int) -> Chunk | None:
        """A part of a name, or a word for the role that an object plays."""
        words = self.normal[place : place + length]
        if set(words) & _EDGES or any(words[n : n + 1] in OPERATORS for n in range(length)):
            return None
        text = self.asked.text[self.words[place].begin : self.words[place + length - 1].end]
        columns = self.known.named_loosely("column", words)
        if not columns and length > 1 and words[-1] in NAMING_WORDS:
            columns = self.known.named("column", words[:-1]) or self.known.named_loosely("column", words[:-1])
        tables = self.known.named_loosely("table", words)
        if columns and (not tables or tables[0].quality < columns[0].quality):
            return Chunk("column", text, named=columns)
        return Chunk("table", text, named=tables) if tables else None

    def _columns(self, words: tuple[str, ...]) -> tuple[Named, ...]:
        """Columns by name; `date of birth` is `birth date` too."""
        found = self.known.named("column", words)
        if not found and "of" in words:
            cut = words.index("of")
            rest = tuple(word for word in words[cut + 1 :] if word not in ("the", "a", "all", "each"))
            kind = set(words[:cut]) <= {"type", "types", "kind", "kinds"}
            if rest and not set(words) & {"each", "and", "all"} and (kind or not self.known.named("table", rest)):
                words = ("type", *words[1:]) if kind else words
                found = tuple(n for n in self.known.named("column", (*rest, *words[:cut])) if n.quality >= 0.95)
                of_table = any(self.known.named("table", rest[:length]) for length in range(1, len(rest) + 1))
                if not found and set(words[:cut]) <= _NAMES and not of_table:
                    found = self.known.named("column", rest)  # `names of authors`, where the author is a column
        return found
