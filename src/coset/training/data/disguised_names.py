"""Disguises: the same schema as another team would have named it.

In: names and a random generator. Out: names in another case, with abbreviations, prefixes or synonyms. Training hides
names behind disguises so that identities do not hang on spelling, and the renaming bar is measured with them. The
thesaurus (`annotation/thesaurus.tsv`: words and whole names of training databases with what other teams say for them,
written by language models) is for training alone.

How companies name things is here too: the habits of one database (a word has one short form there, tables may share a
prefix, names may be numbered or in another language), by several ways of shortening, none of them taken from the list
that the expander of abbreviations learned from.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal, get_args

from coset.readings.vocabulary import DATA, HEAD_FIRST, LANGUAGES, folds
from coset.readings.words import ABBREVIATIONS, singular, words_of
from coset.training.annotation import FOLDER, tab_separated

Names = Mapping[str, Sequence[str]]

_SHORT: dict[str, list[str]] = {}
for _short, _long in ABBREVIATIONS.items():
    if " " not in _long:
        _SHORT.setdefault(_long, []).append(_short)
STYLES = ("snake", "camel", "pascal", "upper", "joined", "kebab")
PREFIXES = ("t_", "tbl_", "dim_", "fact_", "stg_", "x_", "f_", "my_", "v_", "raw_")


@dataclass(frozen=True)
class Thesaurus:
    """What else a word or a whole name of a few words is called, in full and short."""

    synonyms: Names = field(default_factory=dict)
    shorts: Names = field(default_factory=dict)

    def reword(self, words: Sequence[str], generator: random.Random, chance: float) -> list[str]:
        """The words, or other words for all of them together or for some."""
        others = self.synonyms.get(" ".join(words)) if len(words) > 1 else None
        if others and generator.random() < chance:
            return generator.choice(others).split()
        found: list[str] = []
        for word in words:
            others = self.synonyms.get(word)
            found += generator.choice(others).split() if others and generator.random() < chance else [word]
        return found


NO_THESAURUS = Thesaurus()


@cache
def shipped_thesaurus() -> Thesaurus:
    return read_thesaurus(FOLDER / "thesaurus.tsv")


def read_thesaurus(path: Path) -> Thesaurus:
    """Lines of a name, its synonyms and its short forms, with `;` between them and `-` for none."""
    synonyms: dict[str, tuple[str, ...]] = {}
    shorts: dict[str, tuple[str, ...]] = {}
    for _, fields in tab_separated(path, 3):
        for home, told in ((synonyms, fields[1]), (shorts, fields[2])):
            if others := tuple(other for part in told.split(";") if (other := part.strip()) not in ("", "-")):
                home[fields[0]] = others
    return Thesaurus(synonyms, shorts)


def restyle(words: Sequence[str], style: str) -> str:
    """The words in one of the usual cases."""
    if style == "camel":
        return words[0] + "".join(word.capitalize() for word in words[1:])
    if style == "pascal":
        return "".join(word.capitalize() for word in words)
    joints = {"snake": "_", "upper": "_", "kebab": "-", "joined": ""}
    text = joints[style].join(words)
    return text.upper() if style == "upper" else text


def abbreviate(word: str, generator: random.Random, shorts: Names | None = None) -> str:
    """A shorter form: a common one, without vowels, or its first letters."""
    if shorts and word in shorts and generator.random() < 0.5:
        return generator.choice(shorts[word]).replace(" ", "")
    if word in _SHORT and generator.random() < 0.7:
        return generator.choice(_SHORT[word])
    if len(word) < 6:
        return word
    if generator.random() < 0.5:
        return word[0] + "".join(letter for letter in word[1:] if letter not in "aeiou")
    return word[: generator.randint(3, 5)]


def rename(
    name: str,
    generator: random.Random,
    *,
    style: str,
    abbreviations: float = 0.3,
    synonyms: Names | None = None,
    thesaurus: Thesaurus = NO_THESAURUS,
    rewording: float = 0.0,
    prefix: str = "",
) -> str:
    """One name in disguise. Synonyms replace the whole name; without one, the thesaurus rewords it with a chance of
    `rewording`; then each word is abbreviated with the given probability."""
    words = list(words_of(name))
    if others := (synonyms or {}).get(" ".join(words)):
        words = list(words_of(generator.choice(list(others))))
    elif rewording:
        words = thesaurus.reword(words, generator, rewording)
    if not words:
        return name
    words = [
        abbreviate(word, generator, thesaurus.shorts) if generator.random() < abbreviations else word for word in words
    ]
    return prefix + restyle(words, style)


Kind = Literal["readable", "abbreviated", "translated", "numbered"]
KINDS: tuple[Kind, ...] = get_args(Kind)
VOWELS = frozenset("aeiou")
USUAL = {
    "account": "acct", "address": "addr", "amount": "amt", "code": "cd", "count": "cnt", "customer": "cust",
    "date": "dt", "description": "desc", "identifier": "id", "name": "nm", "number": "no", "percent": "pct",
    "quantity": "qty", "status": "sts", "time": "tm", "type": "typ", "value": "val", "year": "yr", "flag": "flg",
    "department": "dept", "employee": "emp", "order": "ord", "product": "prd", "price": "prc", "category": "cat",
}  # fmt: skip
"""What nearly everybody writes; a team writes some of them so."""
TABLE_PREFIXES = ("", "", "", "t_", "tbl", "m_", "tb_", "x", "core_", "app_", "gl_", "dw_", "cfg_")
FIELD_FORMS = ("c{:03}", "field_{}", "f{}", "a{:02}", "col{}", "z{:03}", "attr{:02}", "u_{}")


def consonants(word: str, length: int) -> str:
    """The first letter and the consonants after it, none twice in a row: `customer` is `cstmr`."""
    found = word[0]
    for letter in word[1:]:
        if letter not in VOWELS and letter != found[-1]:
            found += letter
    return found[:length]


def beginning(word: str, length: int) -> str:
    """The first letters, not ending in a vowel where one more letter helps: `customer` is `cust`."""
    end = length + 1 if word[length - 1 : length] in VOWELS else length
    return word[:end]


def skeleton(word: str, length: int) -> str:
    """First letter, a consonant from its middle, and the last: `customer` is `ctr`."""
    inner = [letter for letter in word[1:-1] if letter not in VOWELS]
    last = word[-1] if word[-1] not in VOWELS else ""
    return word[0] + "".join(inner[: max(1, length - 2)]) + last


def ends(word: str, length: int) -> str:
    """Its first letters and its last: `customer` is `cusr`."""
    return word[: length - 1] + word[-1]


WAYS_TO_SHORTEN = (consonants, beginning, skeleton, ends)


class Habits:
    """How one database names. Deterministic under its seed; a word or name that came before is written the same."""

    def __init__(self, kind: Kind, seed: str) -> None:
        self.kind = kind
        self._random = random.Random(f"habits:{seed}")
        choose = self._random.choice
        self.language = choose(LANGUAGES)
        self.short_too = kind == "abbreviated" or (kind == "translated" and self._random.random() < 0.3)
        """Many teams shorten the words of their own language, too."""
        self._shorten, self._length = choose(WAYS_TO_SHORTEN), choose((3, 3, 4, 4, 5))
        self._usual = {word for word in USUAL if self._random.random() < 0.6}
        self._case = choose(("snake", "snake", "upper", "joined", "pascal", "camel"))
        self._glued = kind == "abbreviated" and self._random.random() < 0.25
        """As on a mainframe: capitals, no separator, a code of the table before each column, eight to ten letters."""
        self._prefix = choose(TABLE_PREFIXES) if self.kind != "readable" else ""
        self._coded = self._glued or (kind != "readable" and self._random.random() < 0.25)
        self._by_number = self._random.random() < 0.5
        self._form, self._first = choose(FIELD_FORMS), choose("fktzabx") if self._random.random() < 0.7 else "T"
        self._words: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._codes: dict[str, str] = {}
        self._taken_codes: set[str] = set()
        self._taken: dict[str, set[str]] = {}

    def table(self, name: str) -> str:
        """The name of a table."""
        if self.kind == "readable":
            return name
        key = f"table {name}"
        if key not in self._names:
            made = self._numbered_table() if self.kind == "numbered" else self._prefix + self._made(name)
            self._names[key] = self._alone("", made)
        return self._names[key]

    def column(self, table: str, name: str, place: int) -> str:
        """The name of a column, told where it stands in its table."""
        if self.kind == "readable":
            return name
        key = f"{table}\t{name}"
        if key not in self._names:
            if self.kind == "numbered" and self._by_number:
                made = self._form.format(place + 1)
            elif self.kind == "numbered":
                made = self._code_of(table) + self._item(name)
            else:
                made = self._made(name)
                if self._coded:
                    code = self._code_of(table)
                    made = (code + made).upper()[:10] if self._glued else f"{code}_{made}"
            self._names[key] = self._alone(table, made)
        return self._names[key]

    def _made(self, name: str) -> str:
        words = list(words_of(name))
        if not words:
            return name
        if self.kind == "translated":
            words = translated(words, self.language, self._random)
        if self.short_too:
            words = [self._short(word) for word in words]
        if self._glued:
            return "".join(words).upper()
        return restyle(words, self._case)

    def _short(self, word: str) -> str:
        if word not in self._words:
            if len(word) <= 3 or word.isdigit():
                short = word
            elif self.kind == "abbreviated" and word in self._usual:
                short = USUAL[word]
            elif len(word) == 4 and self._random.random() < 0.5:
                short = word
            else:
                short = self._shorten(word, 3 if self._glued else self._length)
            self._words[word] = short
        return self._words[word]

    def _numbered_table(self) -> str:
        digits = self._random.randint(1, 9) * 1000 + self._random.randrange(1000)
        if self._first == "T":
            return f"T{digits % 1000:03}"
        return f"{self._first}{digits}{self._random.choice(('', '', '', '1', '9'))}"

    def _item(self, name: str) -> str:
        """The data item of a name: four letters that the same name has in every table."""
        words = [word for word in words_of(name) if word.isalpha()] or ["x"]
        letters = "".join(consonants(word, 2) for word in words[:3]) if len(words) > 1 else consonants(words[0], 4)
        return letters[:4]

    def _code_of(self, table: str) -> str:
        if table not in self._codes:
            words = [word for word in words_of(table) if word.isalpha()] or ["x"]
            short = "".join(word[0] for word in words[:2]) if len(words) > 1 else consonants(words[0], 2)
            letters = "abcdefghijklmnopqrstuvwxyz"
            code = (short + self._random.choice(letters))[:2]
            for first in (code[0], *letters):
                free = [first + last for last in letters + "123456789" if first + last not in self._taken_codes]
                if code in self._taken_codes and free:
                    code = self._random.choice(free)
            self._taken_codes.add(code)
            self._codes[table] = code
        return self._codes[table]

    def _alone(self, table: str, made: str) -> str:
        """A name that nothing else of the table has."""
        taken = self._taken.setdefault(table, set())
        number, name = 2, made
        while name.lower() in taken:
            name, number = f"{made}{number}", number + 1
        taken.add(name.lower())
        return name


@cache
def _translations() -> dict[str, dict[str, tuple[str, ...]]]:
    """By language: what English words and phrases are called there, without accents."""
    found: dict[str, dict[str, tuple[str, ...]]] = {code: {} for code in LANGUAGES}
    with (DATA / "dictionary.tsv").open(encoding="utf-8") as lines:
        for line in lines:
            if line.startswith(("#", "en\t")):
                continue
            english, *cells = line.rstrip("\n").split("\t")
            for code, cell in zip(LANGUAGES, cells, strict=True):
                if words := tuple(next(folds(word)) for word in cell.split(",") if word):
                    found[code][english] = words
    return found


def translated(words: Sequence[str], language: str, generator: random.Random) -> list[str]:
    """The words in another language: phrases first, then word by word; what the dictionary lacks stays English."""
    known = _translations()[language]
    plain = [singular(word) for word in words]
    whole = known.get(" ".join(plain))
    if whole and len(words) > 1:
        return whole[0].replace("'", "").split()
    found = []
    for word in plain:
        others = known.get(word)
        told = (others[0] if generator.random() < 0.8 else generator.choice(others)) if others else word
        found.append(told.replace("'", "").split())
    if language in HEAD_FIRST:
        found.reverse()
    return [piece for pieces in found for piece in pieces]
