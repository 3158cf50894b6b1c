"""The tokens of a question: chunks of words, and forms in which several words mean something only together.

In: the words of a question. Out: `Chunk`s, each with what it may mean; full names, `first and last names`, adjectives
and sexes as conditions. Which table or column is meant is decided later.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from coset.answering.offline.catalogue import Known, Named
from coset.answering.offline.lexicon import ADJECTIVES, LESS, PAST, SEXES, SIZES, Operator
from coset.answering.offline.plan import NotSure
from coset.readings.words import singular
from coset.routing.anchors.dates import DateRange
from coset.routing.anchors.phrases import Phrase, ReadQuestion, Word
from coset.routing.anchors.spelling import normalised, plain_words

Kind = Literal["operator", "table", "column", "source", "value", "number", "date", "hint"]
"""A hint is a word of the same stem as a name (`opened`, of `opening_year`): it must fit what was understood."""


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
    unit: str = ""
    """The unit of a number, where the question says one."""
    dates: DateRange | None = None
    quoted: bool = False
    code: bool = False
    tables: tuple[Named, ...] = ()
    """Of a hint, the tables whose names it resembles; `named` are the columns."""
    optional: bool = False
    """A hint that may as well say nothing."""
    event: bool = False
    """A hint that something happened once: it speaks of the one date that there is."""
    respelt: bool = False
    """Whether a word of it was misspelt in the question."""

    def is_operator(self, *operators: str) -> bool:
        return self.kind == "operator" and self.operator in operators


class Words:
    """The words of a question, the stored values that some of them say, and the chunks that were found so far."""

    def __init__(self, asked: ReadQuestion, known: Known, values: dict[tuple[int, int], list[StoredValue]]) -> None:
        self.asked, self.known, self.values = asked, known, values
        self.words: tuple[Word, ...] = asked.words
        self.normal = tuple(word.normal for word in asked.words)
        self.phrases: dict[int, list[Phrase]] = {}
        self.found: list[Chunk] = []
        self.respelt: set[str] = set()
        """Words that were taken for misspelt ones already."""
        for phrase in asked.phrases:
            self.phrases.setdefault(phrase.first, []).append(phrase)

    def _gap(self, place: int) -> str:
        return self.asked.text[self.words[place - 1].end : self.words[place].begin]

    def _closed(self, place: int, length: int) -> bool:
        """Whether no comma or stop stands inside the words."""
        return all(not set(self._gap(inner)) & set(",;:.?!()") for inner in range(place + 1, place + length))

    def _full_name(self, place: int) -> tuple[int, list[Chunk]] | None:
        """`full names`, where first and last names are kept apart."""
        if self.normal[place : place + 2] not in (("full", "name"), ("full", "names")):
            return None
        parts = [self.known.named("column", (part, "name")) for part in ("first", "last")]
        if self.known.named("column", ("full", "name")) or not all(parts):
            return None
        told = [Chunk("column", f"{part} name", named=n) for part, n in zip(("first", "last"), parts, strict=True)]
        return 2, [told[0], Chunk("operator", "and", operator="and"), told[1]]

    def _coordinated(self, place: int) -> tuple[int, list[Chunk]] | None:
        """`first and last names`, `first, middle, and last names`: the noun at the end belongs to each word."""
        words, at = [self.normal[place]], place + 1
        while at + 1 < len(self.words) and (self._gap(at).strip() == "," or self.normal[at] == "and"):
            at += self.normal[at] == "and"
            words.append(self.normal[at])
            at += 1
        if len(words) < 2 or at >= len(self.words) or self._gap(at).strip():
            return None
        noun = self.normal[at]
        columns = [self.known.named("column", (word, noun)) for word in words]
        if not all(columns) or any(self.known.named("column", (word,)) for word in words):
            return None
        told: list[Chunk] = []
        for word, named in zip(words, columns, strict=True):
            told += [Chunk("operator", "and", operator="and")] if told else []
            told.append(Chunk("column", f"{word} {noun}", named=named))
        return at + 1 - place, told

    def _adjective(self, place: int) -> tuple[int, list[Chunk]] | None:
        """`the most expensive`, `oldest`, `taller than`: an order or comparison by the column that it speaks of."""
        word, after = self.normal[place], self.normal[place + 1] if place + 1 < len(self.words) else ""
        if word == "aged" and (age := self.known.named("column", ("age",))):
            return 1, [Chunk("operator", word, operator="clause"), Chunk("column", word, named=age)]
        length, adjective, much = 1, _adjective_of(word, "est"), True
        operator: Operator = "largest"
        if word in ("most", "least") and after in ADJECTIVES:
            length, adjective, much = 2, after, word == "most"
        elif after == "than" and (adjective := _adjective_of(word, "er")):
            length, operator = 2, ">"
        if not adjective or adjective not in ADJECTIVES:
            return None
        much = much != (adjective in LESS)
        text = " ".join(self.normal[place : place + length])
        asked = [(name,) for name in ADJECTIVES[adjective]]
        strict = next((n for name in asked if (n := self.known.named("column", name))), ())
        named = strict or next((n for name in asked if (n := self.known.named_loosely("column", name))), ())
        if operator == ">":
            measured = any(p.quantity is not None and self._unit(p) for p in self.phrases.get(place + 2, ()))
            named = () if measured else named  # `longer than 300 minutes`: the minutes are the column
            chunk = Chunk("operator", text, operator=">" if much else "<")
            before = [each for each in self.found[-2:] if not each.is_operator("=")]
            told = bool(before) and before[-1].kind == "column"
            return (2, [chunk]) if told or not named else (2, [Chunk("column", text, named=named), chunk])
        if not named:
            raise NotSure(f"no column is known to say what is '{text}'")
        return length, [Chunk("operator", text, operator="largest" if much else "smallest", named=named)]

    def _person(self, phrase: Phrase) -> list[Chunk]:
        """A quoted name whose words stand in two columns of one table: first and last name."""
        if phrase.last - phrase.first != 2:
            return []
        parts = [self.values.get((place, place + 1), []) for place in range(phrase.first, phrase.last)]
        tables = [{self.known.columns[value.column].table for value in part} for part in parts]
        if not tables[0] & tables[1]:
            return []
        texts = [self.words[place].text for place in range(phrase.first, phrase.last)]
        kept = [tuple(v for v in part if self.known.columns[v.column].table in tables[0] & tables[1]) for part in parts]
        return [Chunk("value", text, values=held, quoted=True) for text, held in zip(texts, kept, strict=True)]

    def _sex(self, word: str) -> tuple[StoredValue, ...]:
        """`female` where a column of the sexes holds F."""
        wanted = SEXES.get(singular(word), ())
        return tuple(
            StoredValue(column.reference, value)
            for column in self.known.columns.values()
            if column.values is not None and {"sex", "gender"} & set(plain_words(column.name))
            for value, _ in column.values.values
            if value is not None and value.lower() in wanted
        )

    def _as_written(self, held: tuple[StoredValue, ...], words: tuple[str, ...]) -> tuple[StoredValue, ...]:
        """Where a column holds the very words, the codes that stand for them elsewhere are not meant."""
        same = tuple(value for value in held if tuple(normalised(value.value).split()) == words)
        return same or held

    def _unit(self, phrase: Phrase) -> tuple[Named, ...]:
        """The columns that the unit of a number names: `300 minutes`, or `2 hours` where there are minutes."""
        if phrase.last - phrase.first < 2:
            return ()
        said = self.normal[phrase.last - 1]
        kind, _ = SIZES.get(said, ("", 0.0))
        like = (each for each in SIZES if len(each) > 3 and SIZES[each][0] == kind)
        for unit in (said, *like):
            if found := tuple(n for n in self.known.named("column", (unit,)) if n.quality >= 0.95):
                return found
        return ()

    def _labelled(self, words: tuple[str, ...]) -> tuple[StoredValue, ...]:
        """The codes that stand for these words."""
        return tuple(StoredValue(column, code) for column, code in self.known.standing_for(words))

    def _done(self, verb: str) -> tuple[StoredValue, ...]:
        """`did we win`: the state in which things are to which that was done."""
        forms = (PAST.get(verb, f"{verb}ed"), f"{verb}d", f"{verb}{verb[-1]}ed")
        return next((held for form in forms if (held := self._stored_as((form,)) or self._labelled((form,)))), ())

    def _stored_as(self, words: tuple[str, ...]) -> tuple[StoredValue, ...]:
        wanted = " ".join(words)
        return tuple(
            StoredValue(column.reference, value)
            for column in self.known.columns.values()
            if column.values is not None
            for value, _ in column.values.values
            if value is not None and value.lower() == wanted
        )


def _adjective_of(word: str, ending: str) -> str:
    """`heaviest` is of `heavy`, `oldest` of `old`, `bigger` of `big`; empty when it is none that is known."""
    if not word.endswith(ending):
        return ""
    base = word[: -len(ending)]
    forms = (base, base + "e", base[:-1] + "y", base[:-1])
    return next((form for form in forms if form in ADJECTIVES), "")
