"""Names spelled out: `acct_nm` is *account name*, `POLEFFDT` *policy effective date*, `date_debut` *start date*.

In: the pieces of a name and what is known around it (the words of its environment, its type and values, the language
of its source). Out: the likeliest words with their cost. Each piece may be a word, a listed short form, a word of
another language, the letters of a longer word in order, or several of these written together; the cheapest way through
all pieces wins, where words that the environment uses and words that often follow each other are cheap, and a last word
that the values contradict is dear.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Literal

from coset.readings.certainty import Signs, certainty
from coset.readings.observed import ObservedColumn
from coset.readings.value_patterns import pattern_shares, present
from coset.readings.vocabulary import LEAST_LETTERS, Language, Vocabulary, content_words, vocabulary
from coset.readings.words import singular

How = Literal["word", "explained", "short form", "language", "foreign form", "guess", "unknown"]
BEAM, KEPT, LONGEST_PIECE, LONGEST_PHRASE = 8, 5, 26, 3
COUNTED = (1, 2, 3, 5, 8, 13, 21, 34, 48)
"""How often a word stands around is told in these steps, so that one more document changes how sure few names are. What
stands there more often is as common as what stands there so often."""
TOGETHER = 0.9
"""What each further part of a piece that is written together costs."""
STEM = -0.3
"""A short form that what is known of the tables explains is cheaper than a common word."""
_LAST_LETTERS = {"d": ("date", 0.6), "n": ("number", 0.6), "c": ("code", 1.3), "i": ("indicator", 1.3),
                 "t": ("type", 1.5), "f": ("flag", 1.5), "y": ("year", 1.5)}  # fmt: skip
CLASS_ENDINGS = frozenset(
    {"nr", "no", "cd", "dt", "id", "nm", "ts", "tx", "tp", "ty", "qt", "amt", "qty", "num", "key"}
)
"""With these end names that are written together: number, code, date, id, name and so on."""
SURE_ENDINGS, UNLIKE = CLASS_ENDINGS | {"n", "d"}, 0.4
"""At the end of a name these hardly mean anything else, unless the values do."""
SPOKEN_OF = 1.0
"""Words that the environment uses twice or more (a logarithm)."""
_VOWELS = frozenset("aeiou")
_NEVER_SHORTENED = frozenset({
    "most", "must", "with", "have", "been", "were", "that", "this", "than", "then", "they", "them", "their", "there",
    "these", "those", "very", "much", "many", "more", "some", "such", "what", "when", "where", "which", "while",
    "whose", "your", "into", "upon", "also", "only", "just", "even", "does", "could", "would", "should", "shall",
})  # fmt: skip
"""Words that nobody writes in short."""

_POINTING = frozenset({"id", "number", "key", "code", "reference"})
DATES = frozenset({"date", "time", "timestamp", "day", "since"})
NUMBERS = frozenset({
    "amount", "price", "quantity", "rate", "count", "balance", "cost", "total", "percent", "weight", "limit",
    "sum", "premium", "fee", "tax", "value", "discount", "volume", "length", "width", "height", "duration",
    "share", "score", "margin", "salary",
})  # fmt: skip
EARNINGS = frozenset({"revenue", "income", "turnover", "profit", "expense", "earnings", "budget"})
TEXTS = frozenset({
    "name", "description", "text", "comment", "note", "remark", "title", "address", "street", "city", "email",
    "label", "subject",
})  # fmt: skip
KINDS = frozenset({
    "flag", "status", "type", "category", "indicator", "gender", "currency", "kind", "class",
})  # fmt: skip


@dataclass(frozen=True)
class Part:
    """One way to read one piece, or several pieces together."""

    words: tuple[str, ...]
    cost: float
    how: How
    turns: bool = False
    """It is of a language that has the head first."""
    written: str = ""
    meanings: int = 1
    """What it may stand for, this among it."""
    near: float = 0.0
    """How often the environment's own texts and readable names use the words (a logarithm)."""
    rival: float = 0.0
    """The same of the likeliest other meaning of the piece."""
    glued: bool = False
    """It is written together with others."""
    within: tuple[Part, ...] = ()
    """The parts of a piece that is several written together."""

    @property
    def atoms(self) -> tuple[Part, ...]:
        return self.within or (self,)


@dataclass(frozen=True)
class Expansion:
    """The words of a name, in English order."""

    words: tuple[str, ...]
    cost: float
    """Per piece: 0 where every piece is a common word."""
    how: tuple[How, ...]
    parts: tuple[tuple[str, str], ...]
    """Each piece as it stands, and what it was read as."""
    signs: tuple[tuple[str, Signs], ...] = ()
    """Each short form, with what speaks for and against it."""

    @property
    def certainty(self) -> float:
        """How sure the least sure of its short forms is."""
        return min((certainty(signs) for _, signs in self.signs), default=1.0)

    @property
    def text(self) -> str:
        return " ".join(self.words)


class Expander:
    """Spells out the names of one source."""

    def __init__(
        self,
        around: Mapping[str, int],
        language: Language | None = None,
        things: Collection[str] = (),
        foreign: Collection[str] = (),
        others: Sequence[Language] = (),
        stems: Mapping[str, str] | None = None,
    ) -> None:
        """`around`: how often the environment's own texts and readable names use each word; `things`: what its tables
        are about, which is what ids and numbers are of; `foreign`: words of the language that stand in its names;
        `others`: further languages of the environment, of which whole words may stand here; `stems`: short forms
        that what is known of the tables explains."""
        self.around, self.language, self.things = around, language, frozenset(things)
        self.others = tuple(each for each in others if each is not language)
        self.stems = stems or {}
        self.beside: dict[str, list[str]] = {}
        for word in sorted(foreign):
            self.beside.setdefault(word[:3], []).append(word)
        self.asked: set[str] = set()
        """The words whose count was looked up."""
        self._parts: dict[str, tuple[tuple[Part, ...], set[str]]] = {}
        self._single: dict[str, tuple[tuple[Part, ...], set[str]]] = {}

    @cached_property
    def words(self) -> Vocabulary:
        return vocabulary()

    def expand(self, pieces: Sequence[str], column: ObservedColumn | None = None) -> Expansion:
        """The cheapest way through all pieces."""
        if not pieces:
            return Expansion((), 9.0, (), ())
        paths: list[list[tuple[float, tuple[Part, ...]]]] = [[(0.0, ())], *([] for _ in pieces)]
        for end in range(1, len(pieces) + 1):
            found: dict[tuple[str, ...], tuple[float, tuple[Part, ...]]] = {}
            for begin in range(max(0, end - LONGEST_PHRASE), end):
                for part in self._spanning(pieces[begin:end]):
                    for cost, before in paths[begin]:
                        total = cost + part.cost - self._bonus(before, part)
                        key = (*(before[-1].words if before else ()), *part.words)
                        if key not in found or total < found[key][0]:
                            found[key] = (total, (*before, part))
            paths[end] = sorted(found.values(), key=lambda item: item[0])[:BEAM]
        ways = sorted(
            ((cost + self._fit(parts, column), cost, parts) for cost, parts in paths[-1]), key=lambda way: way[0]
        )
        weighed, cost, parts = ways[0]
        words = self._ordered(parts)
        other = next((way[0] for way in ways if _another_meaning(words, self._ordered(way[2]))), math.inf)
        atoms = tuple(atom for part in parts for atom in part.atoms)
        written = tuple((atom.written, " ".join(atom.words)) for atom in atoms)
        signs = self._signs(atoms, words, other - weighed, column)
        return Expansion(words, cost / len(parts), tuple(atom.how for atom in atoms), written, signs)

    def _signs(
        self, atoms: Sequence[Part], words: tuple[str, ...], lead: float, column: ObservedColumn | None
    ) -> tuple[tuple[str, Signs], ...]:
        """For each short form what speaks for and against it where it stands."""
        found = []
        for place, atom in enumerate(atoms):
            if atom.how not in ("short form", "foreign form", "guess"):
                continue
            last = column is not None and atom.words[-1] == words[-1]
            fit = value_fit(words[-1], column) if last and column is not None else 0.0
            if place and place + 1 == len(atoms) and atom.written in SURE_ENDINGS and fit <= UNLIKE:
                continue
            signs = Signs(
                guessed=atom.how == "guess",
                foreign=atom.how == "foreign form",
                glued=atom.glued,
                letters=len(atom.written),
                begins=atom.words[0].startswith(atom.written),
                several=len(atom.words) > 1,
                meanings=math.log(atom.meanings),
                cost=atom.cost,
                near=atom.near,
                rival=atom.rival,
                rarity=max(map(self.words.rarity, atom.words)),
                before=self._pairs(atoms[place - 1], atom) if place else 0.0,
                after=self._pairs(atom, atoms[place + 1]) if place + 1 < len(atoms) else 0.0,
                fit=fit,
                lead=min(lead, 4.0),
            )
            found.append((atom.written, signs))
        return tuple(found)

    def _pairs(self, before: Part, part: Part) -> float:
        return math.log1p(self.words.pairs.get((before.words[-1], part.words[0]), 0))

    # How pieces may be read

    def _spanning(self, pieces: Sequence[str]) -> Sequence[Part]:
        if len(pieces) == 1:
            return self.parts(pieces[0])
        found = []
        joined = " ".join(pieces)
        if self.language and (english := self.language.words.get(joined)):
            found.append(Part(tuple(english[0].split()), 0.0, "language", self.language.head_first, " ".join(pieces)))
        return found

    def parts(self, piece: str) -> tuple[Part, ...]:
        """The ways to read one piece, the cheapest first."""
        return self._remembered(self._parts, piece, self._ways)

    def _alone(self, piece: str) -> tuple[Part, ...]:
        """The ways to read a piece as one word or one listed short form."""
        return self._remembered(self._single, piece, self._ways_alone)

    def _remembered(
        self,
        memory: dict[str, tuple[tuple[Part, ...], set[str]]],
        piece: str,
        ways: Callable[[str], tuple[Part, ...]],
    ) -> tuple[Part, ...]:
        """The ways, found once; what was looked up for them was looked up wherever they are used."""
        if piece not in memory:
            asked, self.asked = self.asked, set()
            memory[piece] = ways(piece), self.asked
            self.asked = asked
        found, looked_up = memory[piece]
        self.asked |= looked_up
        return found

    def _ways(self, piece: str) -> tuple[Part, ...]:
        ways = list(self._alone(piece))
        certain = self.words.is_word(piece) and len(piece) > 3
        if len(piece) >= 4 and not certain and not any(part.how in ("language", "foreign form") for part in ways):
            ways += self._together(piece)
        ways.append(Part((piece,), 3.0 + 0.8 * len(piece) if piece.isalpha() else 0.3, "unknown"))
        return tuple(replace(way, written=piece) for way in _cheapest(ways))

    def _ways_alone(self, piece: str) -> tuple[Part, ...]:
        ways: list[Part] = []
        if stem := self.stems.get(piece):
            ways.append(Part((stem,), STEM, "explained"))
        if piece.isalpha():
            if self.words.is_word(piece) or self.words.is_word(singular(piece)):
                ways.append(Part((piece,), 0.25 * self._rarity(singular(piece)), "word"))
            # What the environment speaks of comes before what it never mentions.
            listed = self.words.short_forms.get(piece, ())
            meanings = sorted(listed, key=lambda meaning: self._nearness(meaning.split()) < SPOKEN_OF)
            for rank, meaning in enumerate(meanings):
                words = tuple(meaning.split())
                rarity = max(map(self._rarity, words))
                ways.append(Part(words, 0.4 + 0.55 * rank + 0.25 * rarity, "short form"))
            if self.language:
                ways += self._foreign(piece, self.language)
            if len(piece) >= LEAST_LETTERS and not ways:
                ways += self._of_others(piece)
            if len(piece) >= 3 and not any(part.how in ("word", "language", "foreign form") for part in ways):
                ways += self._guesses(piece)
        return self._weighed(piece, _cheapest(ways))

    def _weighed(self, piece: str, ways: tuple[Part, ...]) -> tuple[Part, ...]:
        """Each way with what the environment says of it and of the others."""
        near = [self._nearness(way.words) for way in ways]
        found = []
        for place, way in enumerate(ways):
            others = [n for each, n in zip(ways, near, strict=True) if _another_meaning(way.words, each.words)]
            found.append(
                replace(way, written=piece, meanings=1 + len(others), near=near[place], rival=max(others, default=0.0))
            )
        return tuple(found)

    def _foreign(self, piece: str, language: Language) -> list[Part]:
        ways, turns = list[Part](), language.head_first
        exact = piece in language.words
        if not exact:  # The source writes a word in full elsewhere: `app` of apporteur.
            begun = [word for word in self.beside.get(piece[:3], ()) if word.startswith(piece)]
            meanings = dict.fromkeys(language.english(word)[0] for word in begun if len(word) > len(piece) + 1)
            for meant in meanings:
                ways.append(Part(content_words(meant), 0.35, "foreign form", turns))
        for rank, meaning in enumerate(language.english(piece)[:3]):
            words = content_words(meaning)
            near = 0.2 * self._rarity(words[-1])
            ways.append(Part(words, (0.1 if exact else 0.45) + 0.25 * rank + near, "language", turns=turns))
        if listed := language.short_forms.get(piece):
            ways.append(Part(content_words(listed), 0.45, "foreign form", turns=turns))
        if not ways:
            begins = language.begun_by(piece)
            ways += [Part(content_words(each), 0.9, "foreign form", turns) for each in begins[:3]]
        if compound := language.compound(piece):
            ways.append(Part(tuple(word for part in compound for word in part.split()), 0.6, "language"))
        return ways

    def _of_others(self, piece: str) -> list[Part]:
        """A whole word of another language that the environment uses, where nothing else is known of a piece."""
        ways = []
        for language in self.others:
            meanings = language.words.get(piece) or (language.english(piece) if len(piece) >= 6 else ())
            if meanings or (len(piece) >= 7 and (meanings := (" ".join(language.compound(piece) or ()),)) != ("",)):
                ways.append(Part(content_words(meanings[0]), 0.5, "language", turns=language.head_first))
        return ways

    def _guesses(self, piece: str) -> list[Part]:
        """Words whose letters, in order, hold those of the piece: `sbscr` of subscriber."""
        found = []
        for word, form in _forms(piece):
            found.append(Part((word,), form + 0.4 * self._rarity(word), "guess"))
        return sorted(found, key=lambda part: (part.cost, part.words))[:KEPT]

    def _together(self, piece: str) -> list[Part]:
        """A piece as several parts written together."""
        if not piece.isalpha() or len(piece) > LONGEST_PIECE:
            return []
        paths: list[list[tuple[float, tuple[Part, ...]]]] = [[(0.0, ())], *([] for _ in piece)]
        for end in range(1, len(piece) + 1):
            found = []
            for begin in range(max(0, end - 14), end):
                text = piece[begin:end]
                for part in self._piece_within(text, begin > 0 and end == len(piece), len(piece)):
                    for cost, before in paths[begin]:
                        more = TOGETHER if before else 0.0
                        found.append((cost + part.cost + more - self._bonus(before, part), (*before, part)))
            paths[end] = sorted(found, key=lambda item: item[0])[:BEAM]
        ways = []
        for cost, parts in paths[-1][:KEPT]:
            if len(parts) > 1:
                how: How = "guess" if any(part.how == "guess" for part in parts) else parts[-1].how
                how = "short form" if how == "word" and any(p.how == "short form" for p in parts) else how
                within = tuple(_within(part) for part in parts)
                ways.append(Part(tuple(word for part in parts for word in part.words), cost, how, within=within))
        return ways

    def _piece_within(self, text: str, last: bool, whole: int) -> Sequence[Part]:
        if len(text) == whole:
            return ()
        if len(text) == 1:
            meaning, cost = _LAST_LETTERS.get(text, ("", 0.0)) if last else ("", 0.0)
            return (Part((meaning,), cost, "guess", written=text, near=self._nearness((meaning,))),) if meaning else ()
        ways = self._alone(text)
        if last and text in CLASS_ENDINGS:
            return [replace(p, cost=p.cost - 0.6) for p in ways if p.how != "guess" and len(p.words) == 1]
        if len(text) == 2:
            return [replace(p, cost=p.cost + 0.3 + 0.3 * len(p.words)) for p in ways if p.how != "guess"]
        # A guess within a longer piece is a guess twice over.
        return [replace(p, cost=p.cost + 0.6) if p.how == "guess" else p for p in ways]

    # What makes one way likelier

    def _rarity(self, word: str) -> float:
        one, several = self._counts(word)
        return max(-1.5, self.words.rarity(word) - min(3.5, 0.9 * math.log1p(one or several)))

    def _nearness(self, words: Sequence[str]) -> float:
        """How often the environment's own texts and readable names use the rarest of these words (a logarithm)."""
        return min([math.log1p(sum(self._counts(word))) for word in words])

    def _counts(self, word: str) -> tuple[int, int]:
        """How often a word and its plural stand around."""
        self.asked.add(word)
        return self.around.get(word, 0), self.around.get(word + "s", 0)

    def _bonus(self, before: tuple[Part, ...], part: Part) -> float:
        """What it saves that these words often follow each other."""
        if not before:
            return 0.0
        count = self.words.pairs.get((before[-1].words[-1], part.words[0]), 0)
        return min(1.6, 0.35 * math.log1p(count))

    def _fit(self, parts: tuple[Part, ...], column: ObservedColumn | None) -> float:
        """What it costs that the values contradict the last word, or saves that they fit."""
        words = self._ordered(parts)
        if column is None or not words:
            return 0.0
        of_a_thing = len(words) > 1 and words[-1] in _POINTING and words[-2] in self.things
        return value_fit(words[-1], column) - (0.9 if of_a_thing else 0.0)

    def _ordered(self, parts: Sequence[Part]) -> tuple[str, ...]:
        """The words in English order: *of* languages have the head first."""
        foreign = sum(part.turns for part in parts)
        chosen = list(parts)
        if foreign and foreign >= len(parts) / 2 and len(parts) > 1:
            numbers = [part for part in chosen if part.words[0].isdigit()]
            chosen = [part for part in reversed(chosen) if not part.words[0].isdigit()] + numbers
        words: list[str] = []
        for part in chosen:
            words += [word for word in part.words if not words or word != words[-1]]
        return tuple(words)


def value_fit(last: str, column: ObservedColumn) -> float:
    """Below 0 where values and type speak for a last word, above where they speak against it."""
    family = column.type
    dated = family in ("date", "time") or _dated(column)
    if last in DATES:
        return -1.0 if dated else 1.5 if family in ("flag", "number") or _wordy(column) else 0.4
    if dated:
        return 1.0 if family in ("date", "time") else 0.6
    if last in NUMBERS:
        return 1.5 if family in ("flag", "date", "time") or _wordy(column) else -0.3 if family == "number" else 0.0
    if last in EARNINGS:
        return 1.2 if family in ("flag", "date", "time") or _wordy(column) or _counting(column) else 0.0
    if last in TEXTS:
        return 1.2 if family in ("number", "whole", "flag", "date", "time") else -0.3
    if last in KINDS and column.distinct is not None and column.rows and column.rows >= 50:
        return -0.5 if column.distinct <= 30 else 1.0 if column.distinct > 0.5 * column.rows else 0.0
    return 0.0


def _dated(column: ObservedColumn) -> bool:
    values = present(column.samples)
    if not values:
        return False
    shares = pattern_shares(column.samples)
    if shares["date"] + shares["stamp"] >= 0.6:
        return True
    # Numbers of six to eight digits that are days: 20240131; 1240131, the century first; 124031, by day of the year.
    whole = [value for value in values if value.isdigit() and 6 <= len(value) <= 8]
    return len(whole) >= max(2, 0.6 * len(values)) and sum(map(_day_number, whole)) >= 0.7 * len(whole)


def _counting(column: ObservedColumn) -> bool:
    """Whether values are small whole numbers: versions, positions, levels; no money."""
    values = present(column.samples)
    return bool(values) and all(value.isdigit() and len(value) <= 2 for value in values)


def _day_number(value: str) -> bool:
    if len(value) == 6:
        return value[0] in "01" and 1 <= int(value[3:]) <= 366 and value[1:3] <= "40"
    month, day = int(value[-4:-2]), int(value[-2:])
    return (1 <= month <= 12 and 1 <= day <= 31 and (len(value) == 7 or value[:2] in ("19", "20"))) or set(value) == {
        "9"
    }


def _wordy(column: ObservedColumn) -> bool:
    values = present(column.samples)
    return bool(values) and sum(any(c.isalpha() for c in value) for value in values) >= 0.8 * len(values)


@lru_cache(maxsize=20_000)
def _forms(piece: str) -> tuple[tuple[str, float], ...]:
    """The words that a piece may stand for, each with how far it is from them."""
    letters = frozenset(piece)
    words = vocabulary().by_letter.get(piece[0], ())
    return tuple(
        (word, cost)
        for word, consonants, of_word in words
        if letters <= of_word
        and len(word) > len(piece)
        and word not in _NEVER_SHORTENED
        and (cost := _form_cost(piece, word, consonants)) is not None
    )


def _form_cost(piece: str, word: str, consonants: str) -> float | None:
    """How far a piece is from a word it may stand for; None where it may not."""
    place = 0
    for letter in piece:
        place = word.find(letter, place) + 1
        if not place:
            return None
    if word.startswith(piece):
        return 0.7 if len(piece) >= 4 else 1.1
    if piece == consonants or piece == _undoubled(consonants):
        return 0.5
    if len(piece) < 0.34 * len(word) or place - 1 < 0.4 * len(word):
        return None
    missed = sum(letter not in piece for letter in consonants)
    return 1.2 + 0.25 * missed + (0.4 if any(letter in _VOWELS for letter in piece[1:]) else 0.0)


def _another_meaning(words: Sequence[str], others: Sequence[str]) -> bool:
    """Whether two ways to spell a name out differ in more than the form of a word (*cancel*, *cancelled*)."""
    return len(words) != len(others) or any(
        mine != other and mine[:4] != other[:4] for mine, other in zip(words, others, strict=True)
    )


def _undoubled(text: str) -> str:
    return "".join(letter for number, letter in enumerate(text) if number == 0 or letter != text[number - 1])


def _cheapest(ways: Sequence[Part]) -> tuple[Part, ...]:
    best: dict[tuple[str, ...], Part] = {}
    for part in ways:
        if part.words and (part.words not in best or part.cost < best[part.words].cost):
            best[part.words] = part
    return tuple(sorted(best.values(), key=lambda part: (part.cost, part.words))[:BEAM])


def _within(part: Part) -> Part:
    """A part that is written together with others: a word of two or three letters may be there by chance."""
    chance = part.how in ("word", "language") and len(part.written) < 4
    return replace(part, glued=True, how="guess" if chance else part.how)
