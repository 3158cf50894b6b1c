"""A question taken apart: every word is an operator, a name, a stored value, a number, a time, or says nothing.

In: a question, what is known of the environment, its anchor index. Out: `Chunk`s from left to right. A content word
that is none of these raises `NotSure`: a question that is understood in part is not understood.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from coset.answering.offline.known import Known, Named, key
from coset.answering.offline.lexicon import FILLERS, LONGEST, NUMBERS, OPERATORS, Operator
from coset.answering.offline.outcome import NotSure
from coset.identities.words import singular
from coset.routing.anchors.dates import DateRange
from coset.routing.anchors.index import AnchorIndex
from coset.routing.anchors.match_codes import code_sightings
from coset.routing.anchors.match_names import name_sightings
from coset.routing.anchors.match_values import value_sightings
from coset.routing.anchors.phrases import Phrase, ReadQuestion, Word, read_question
from coset.routing.anchors.settings import SearchSettings
from coset.routing.anchors.sightings import Lookup, Sighting
from coset.routing.anchors.source_search import search_sources
from coset.session.query_session import QuerySession

Kind = Literal["operator", "table", "column", "source", "value", "number", "date"]
LONGEST_NAME = 6
SURE = ("exact", "normalised", "searched", "dictionary")
_COMMA = re.compile(r"\s*,\s*|\s*;\s*")


@dataclass(frozen=True)
class StoredValue:
    """A value as it is stored, and the column that holds it."""

    column: str
    value: str


@dataclass(frozen=True)
class Chunk:
    """Some words of the question and what they may mean."""

    kind: Kind
    text: str
    operator: Operator | None = None
    named: tuple[Named, ...] = ()
    values: tuple[StoredValue, ...] = ()
    number: float | None = None
    dates: DateRange | None = None
    quoted: bool = False
    code: bool = False

    def is_operator(self, *operators: str) -> bool:
        return self.kind == "operator" and self.operator in operators


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


class _Reader:
    """Goes through the words once, always taking the longest piece that means something."""

    def __init__(self, asked: ReadQuestion, known: Known, values: dict[tuple[int, int], list[StoredValue]]) -> None:
        self.asked, self.known, self.values = asked, known, values
        self.words: tuple[Word, ...] = asked.words
        self.normal = tuple(word.normal for word in asked.words)
        self.phrases: dict[int, list[Phrase]] = {}
        for phrase in asked.phrases:
            self.phrases.setdefault(phrase.first, []).append(phrase)

    def chunks(self) -> tuple[Chunk, ...]:
        found: list[Chunk] = []
        place = 0
        while place < len(self.words):
            if place and found and _COMMA.fullmatch(self._gap(place)) and not found[-1].is_operator("and"):
                found.append(Chunk("operator", ",", operator="and"))
            if place and set(self._gap(place)) & set(".?!") and found:
                found.append(Chunk("operator", ".", operator="sentence"))
            length, chunk = self._longest(place)
            if chunk is not None:
                found.append(chunk)
            place += length
        return tuple(found)

    def _gap(self, place: int) -> str:
        return self.asked.text[self.words[place - 1].end : self.words[place].begin]

    def _longest(self, place: int) -> tuple[int, Chunk | None]:
        for phrase in self.phrases.get(place, ()):
            if phrase.kind == "quoted":
                held = tuple(self.values.get((phrase.first, phrase.last), ()))
                return phrase.last - place, Chunk("value", phrase.text, values=held, quoted=True)
        for phrase in self.phrases.get(place, ()):
            if phrase.dates is not None:
                return phrase.last - place, Chunk("date", phrase.text, dates=phrase.dates)
        for phrase in self.phrases.get(place, ()):
            if phrase.quantity is not None:
                held = tuple(self.values.get((phrase.first, phrase.last), ()))
                return phrase.last - place, Chunk("number", phrase.text, number=phrase.quantity.value, values=held)
        operator = next(
            (
                n
                for n in range(min(LONGEST, len(self.words) - place), 0, -1)
                if self.normal[place : place + n] in OPERATORS and self._closed(place, n)
            ),
            0,
        )
        for length in range(LONGEST_NAME, 0, -1):
            if length < operator or place + length > len(self.words) or not self._closed(place, length):
                continue
            chunk = self._meaning(place, length)
            if chunk is not None and (length > operator or chunk.kind == "column"):
                return length, chunk
        if operator:
            words = self.normal[place : place + operator]
            return operator, Chunk("operator", " ".join(words), operator=OPERATORS[words])
        word = self.words[place]
        if word.normal in NUMBERS:
            return 1, Chunk("number", word.text, number=float(NUMBERS[word.normal]))
        if word.normal in FILLERS and not (word.text.isupper() and len(word.text) > 1):
            return 1, None
        code = next((p for p in self.phrases.get(place, ()) if p.kind == "code"), None)
        if code is not None:
            return code.last - place, Chunk("value", code.text, code=True)
        if key((word.normal,)) in self.known.facet_words and self._before_code(place):
            return 1, None
        raise NotSure(f"'{word.text}' is not understood: it is no known name, value or word of asking")

    def _before_code(self, place: int) -> bool:
        """Whether a code follows that no column holds: it will be looked for in a text."""
        after = self.phrases.get(place + 1, ())
        return any(phrase.kind == "code" and (phrase.first, phrase.last) not in self.values for phrase in after)

    def _closed(self, place: int, length: int) -> bool:
        """Whether no comma or stop stands inside the words."""
        return all(not set(self._gap(inner)) & set(",;:.?!()") for inner in range(place + 1, place + length))

    def _meaning(self, place: int, length: int) -> Chunk | None:
        words = self.normal[place : place + length]
        text = self.asked.text[self.words[place].begin : self.words[place + length - 1].end]
        edges = {"of", "the", "a", "and", "in", "all", "each", "for", "by", "to", "or"}
        if length > 1 and (words[0] in edges or words[-1] in edges):
            return None
        held = tuple(self.values.get((place, place + length), ()))
        capital = place > 0 and any(word.is_capital for word in self.words[place : place + length])
        sources = self.known.named("source", words)
        if sources and capital:
            return Chunk("source", text, named=sources, values=held)
        if held and capital:
            return Chunk("value", text, values=held)
        if columns := self._columns(words):
            tables = tuple(each for each in self.known.named("table", words) if each.quality >= columns[0].quality)
            if not tables:
                return Chunk("column", text, named=columns, values=held)
        if tables := self.known.named("table", words):
            return Chunk("table", text, named=tables, values=held)
        if sources:
            return Chunk("source", text, named=sources, values=held)
        if held:
            return Chunk("value", text, values=held)
        one = (*words[:-1], singular(words[-1]))
        if one != words and length == 1 and (same := self._stored_as(one)):
            return Chunk("value", text, values=same)
        return None

    def _columns(self, words: tuple[str, ...]) -> tuple[Named, ...]:
        """Columns by name; `name of the customer` is `customer name` too."""
        found = self.known.named("column", words)
        if not found and "of" in words:
            cut = words.index("of")
            rest = tuple(word for word in words[cut + 1 :] if word not in ("the", "a", "all", "each"))
            if rest and not set(words) & {"each", "and", "all"}:
                found = tuple(
                    each for each in self.known.named("column", (*rest, *words[:cut])) if each.quality >= 0.95
                )
        return found

    def _stored_as(self, words: tuple[str, ...]) -> tuple[StoredValue, ...]:
        wanted = " ".join(words)
        return tuple(
            StoredValue(column.reference, value)
            for column in self.known.columns.values()
            if column.values is not None
            for value, _ in column.values.values
            if value is not None and value.lower() == wanted
        )
