"""Objects by the words that name them: in full, in short, by their key, in part, or by the role they play.

In: names of tables and columns as they are written, roles, the lexicon of identities. Out: `Named`, the best names
first, each with how it was found. A looser way is tried only where no stricter one finds anything. Knows no question.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Literal

from coset.answering.offline.lexicon import CODE_WORDS, COUNT_WORDS, UNIT_WORDS
from coset.identities.inventory import Coordinate
from coset.identities.lexicon import Lexicon
from coset.identities.words import singular
from coset.routing.anchors.text_forms import in_full, plain_words, shortened, stem

How = Literal["name", "short name", "key", "stem", "part", "role"]
Words = tuple[str, ...]
LITTLE = frozenset(("of", "the", "a", "in", "per", "by", "to", "for", "and", "or"))


@dataclass(frozen=True)
class Named:
    """An object that some words name; `quality` is 1 for its full name, less for a shorter or looser form."""

    reference: str
    quality: float
    how: How = "name"


def key(words: Words) -> str:
    return " ".join(stem("id" if word == "ids" else word) for word in words if word not in ("of", "the", "a"))


def compact(words: Words) -> str:
    return "".join("id" if word == "ids" else singular(word) for word in words if word not in ("of", "the", "a"))


INITIALS = {"f": "first", "l": "last", "m": "middle"}


def name_words(name: str) -> Words:
    """The words of a name in full; `LName` is a last name."""
    words = in_full(plain_words(name))
    return (INITIALS[words[0]], "name") if words[1:] == ("name",) and words[0] in INITIALS else words


class NameIndex:
    """The names of one kind of object."""

    def __init__(self, coordinate: Coordinate, lexicon: Lexicon) -> None:
        self.coordinate: Coordinate = coordinate
        self.lexicon = lexicon
        self._exact: dict[str, dict[str, Named]] = defaultdict(dict)
        self._stems: dict[str, dict[str, Named]] = defaultdict(dict)
        self._parts: dict[str, tuple[Words, frozenset[str]]] = {}
        self._roles: dict[int, list[str]] = defaultdict(list)
        self.words: set[str] = set()
        """Every longer word of a name, to tell what a misspelt one is."""

    def add(self, words: Words, reference: str, quality: float, how: How = "name") -> None:
        named = Named(reference, quality, how)
        for index, form in ((self._exact, compact(words)), (self._stems, key(words))):
            if form and (reference not in index[form] or index[form][reference].quality < quality):
                index[form][reference] = named

    def add_parts(self, words: Words, around: Words, reference: str) -> None:
        """The words of a name, and those of what it stands in, for what names only part of it."""
        self.words.update(word for word in words if len(word) > 4)
        own = tuple(stem(singular(word)) for word in words if word not in LITTLE)
        self._parts[reference] = (own, frozenset(stem(singular(word)) for word in around))

    def add_role(self, identity: int, reference: str) -> None:
        self._roles[identity].append(reference)

    def find(self, words: Words) -> tuple[Named, ...]:
        """By name, then by a word of the same stem."""
        found = self._exact.get(compact(words))
        if not found:
            found = self._stems.get(key(words)) or {}
            if found and len(words) == 1:
                found = {each.reference: Named(each.reference, each.quality, "stem") for each in found.values()}
        return _best_first(found.values())

    def find_loosely(self, words: Words) -> tuple[Named, ...]:
        """By part of the name, else by the role that the words mean."""
        asked = [singular(word) for word in words if word not in LITTLE]
        if not asked or any(len(word) < 3 for word in asked):
            return ()
        wanted = [{stem(word), *shortened(word)} for word in asked]
        found = []
        for reference, (own, around) in self._parts.items():
            heads = [word for word in own if word not in UNIT_WORDS and word not in CODE_WORDS] or list(own)
            if wanted[-1] & set(own) and all(forms & {*own, *around} for forms in wanted):
                found.append(Named(reference, 0.6 if heads[-1] in wanted[-1] else 0.5, "part"))
        return _best_first(found) or self._by_role(words)

    def _by_role(self, words: Words) -> tuple[Named, ...]:
        phrase = tuple(map(singular, words))
        if self.coordinate == "attribute" and self.lexicon.meaning("entity", phrase):
            return ()
        meanings = self.lexicon.meaning(self.coordinate, phrase)
        return _best_first(Named(ref, 0.45, "role") for number in meanings for ref in self._roles.get(number, ()))

    def having_stem(self, word: str) -> tuple[Named, ...]:
        """Objects with a word of the same stem in their name: what a verb such as `opened` may speak of."""
        wanted = stem(word)
        return tuple(
            Named(reference, 0.4, "stem")
            for reference, (own, _) in self._parts.items()
            if any(wanted == each or (len(wanted) > 4 and each.startswith(wanted)) for each in own)
        )


def _best_first(found: object) -> tuple[Named, ...]:
    return tuple(sorted(found, key=lambda each: (-each.quality, each.reference)))  # type: ignore[call-overload]


def add_column(names: NameIndex, name: str, table: Words, reference: str) -> None:
    """A column by its own words, with and without its table's, its unit, its code word and its count word."""
    words = name_words(name)
    _add_with_table(names, words, table, reference, 1.0)
    if len(words) > 1 and words[-1] in UNIT_WORDS:
        _add_with_table(names, words[:-1], table, reference, 0.95)
    if "in" in words[1:]:  # `price in dollars`
        _add_with_table(names, words[: words.index("in", 1)], table, reference, 0.95)
    if len(words) > 2 and words[-1] in CODE_WORDS:
        _add_with_table(names, words[:-1], table, reference, 0.8, "short name")
    if words[0] in COUNT_WORDS and len(words) > 1:  # `num_of_shops`: `number of shops`, `shops`
        rest = words[2:] if words[1] == "of" else words[1:]
        names.add(("number", *rest), reference, 0.9, "short name")
        names.add(rest, reference, 0.65, "short name")
        names.add((*table, *rest), reference, 0.65, "short name")
    if len(words) == 2 and words[1] == "by":  # `directed_by`: the director
        names.add((stem(words[0]) + "or",), reference, 0.7, "short name")
        names.add((stem(words[0]) + "er",), reference, 0.7, "short name")
    # `eid` of employees, `flno` of flights: the beginning of the table's name, and what numbers its rows.
    if len(words) == 1 and table and (numbered := _numbered(words[0], table[0])):
        _add_with_table(names, (numbered,), table, reference, 0.85, "short name")
    # `cName` of courses, `ResName` of restaurants: the beginning of the table's name, and a word.
    if len(words) > 1 and table and len(words[0]) < len(table[0]) and table[0].startswith(words[0]):
        _add_with_table(names, words[1:], table, reference, 0.9, "short name")
    names.add_parts(words, table, reference)


def _numbered(word: str, table: str) -> str:
    for ending, meaning in (("id", "id"), ("no", "number"), ("num", "number")):
        beginning = word.removesuffix(ending)
        if word.endswith(ending) and 0 < len(beginning) < 4 and table.startswith(beginning):
            return meaning
    return ""


def _add_with_table(
    names: NameIndex, words: Words, table: Words, reference: str, quality: float, how: How = "name"
) -> None:
    names.add(words, reference, quality, how)
    if key(words[: len(table)]) == key(table) and len(words) > len(table):
        names.add(words[len(table) :], reference, 0.95 * quality, how)
    else:
        names.add((*table, *words), reference, quality, how)
