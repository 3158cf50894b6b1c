"""The words that ship: English words with how common they are, pairs of words, short forms, other languages.

In: the files of `data/`. Out: look-ups, loaded once. Counts are numbers of databases of the training corpora; business
words are counted some more. Nothing here knows an environment.
"""

from __future__ import annotations

import hashlib
import math
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path

DATA = Path(__file__).parent / "data"
LANGUAGES = ("de", "fr", "es", "it", "nl", "pt", "pl", "sv")
LEAST_LETTERS = 5
"""Shorter words of one language are too often other words of another."""
HEAD_FIRST = frozenset({"fr", "es", "it", "pt", "pl"})
"""Languages that say *number of the order* where English says *order number*."""
_WITHOUT_VOWELS = str.maketrans("", "", "aeiou")
_LINKING = frozenset({"of", "the", "by", "and"})


@dataclass(frozen=True)
class Vocabulary:
    """English: how common words and pairs of words are, and what short forms stand for."""

    counts: dict[str, int]
    pairs: dict[tuple[str, str], int]
    short_forms: dict[str, tuple[str, ...]]

    def rarity(self, word: str) -> float:
        """0 for the commonest words, about 6 for the rarest that are known, more for unknown ones."""
        return 6.8 - math.log(self.counts.get(word, 0) + 1)

    def is_word(self, word: str) -> bool:
        return word in self.counts

    @cached_property
    def by_letter(self) -> dict[str, tuple[tuple[str, str, frozenset[str]], ...]]:
        """Words of four letters and more by their first letter, each with its first letter and consonants, and with
        its letters: what an unlisted short form may stand for."""
        found: dict[str, list[tuple[str, str, frozenset[str]]]] = defaultdict(list)
        for word, count in self.counts.items():
            if len(word) >= 4 and count >= 4:
                found[word[0]].append((word, word[0] + word[1:].translate(_WITHOUT_VOWELS), frozenset(word)))
        return {letter: tuple(words) for letter, words in found.items()}


@cache
def vocabulary() -> Vocabulary:
    counts = {word: int(count) for word, count in _rows("english.tsv")}
    pairs = {(pair[0], pair[1]): int(count) for text, count in _rows("pairs.tsv") if (pair := text.split())}
    forms = {form: tuple(meaning.split("; ")) for form, meaning in _rows("short_forms.tsv")}
    return Vocabulary(counts, pairs, forms)


@dataclass(frozen=True)
class Language:
    """Business words and short forms of one language, without accents, each with its English, the likeliest first."""

    code: str
    words: dict[str, tuple[str, ...]]
    stems: dict[str, tuple[str, ...]]
    short_forms: dict[str, str]

    @property
    def head_first(self) -> bool:
        return self.code in HEAD_FIRST

    def english(self, word: str) -> tuple[str, ...]:
        """What a word means, also where its ending is another (plural, case, gender)."""
        return self.words.get(word) or (self.stems.get(stem(word), ()) if len(word) >= 4 else ())

    def begun_by(self, piece: str) -> tuple[str, ...]:
        """What the words mean that begin with a piece of four letters and more, the shortest word first."""
        if len(piece) < 4:
            return ()
        words = sorted((word for word in self.words if word.startswith(piece) and " " not in word), key=len)
        return tuple(dict.fromkeys(self.words[word][0] for word in words))

    def compound(self, word: str) -> tuple[str, ...] | None:
        """The English of a word written together from known ones: Kundennummer, orderdatum."""
        if self.head_first or len(word) < 7:
            return None
        for cut in range(len(word) - 3, 2, -1):
            first = self.english(word[:cut]) or (self.english(word[: cut - 1]) if word[cut - 1] in "sn" else ())
            if not first:
                continue
            rest = self.english(word[cut:]) or tuple(filter(None, [self.short_forms.get(word[cut:])]))
            if rest:
                return first[0], rest[0]
        return None


@cache
def shipped_words() -> str:
    """What stands for the lexicon and the dictionaries that ship: with other words, names are read anew."""
    found = hashlib.blake2b(digest_size=16)
    for file in sorted(DATA.rglob("*")):
        if file.is_file():
            found.update(file.read_bytes())
    return found.hexdigest()


@cache
def languages() -> dict[str, Language]:
    # A word that stands in several rows means first what it is the first translation of.
    found: dict[str, dict[str, list[tuple[int, str]]]] = {code: defaultdict(list) for code in LANGUAGES}
    forms: dict[str, dict[str, str]] = {code: {} for code in LANGUAGES}
    for row in _rows("dictionary.tsv"):
        for code, cell in zip(LANGUAGES, row[1:], strict=True):
            for place, written in enumerate(filter(None, cell.split(","))):
                for folded in folds(written):
                    found[code][folded].append((place, row[0]))
    for code, form, english in _rows("foreign_short_forms.tsv"):
        for folded in folds(form):
            forms[code].setdefault(folded, english)
    words = {
        code: {word: tuple(english for _, english in sorted(meanings)) for word, meanings in each.items()}
        for code, each in found.items()
    }
    return {code: Language(code, words[code], _stems(words[code]), forms[code]) for code in LANGUAGES}


@lru_cache(maxsize=20_000)
def is_business_word(word: str) -> bool:
    """Whether a word of some language other than English is one that tables and columns are called by."""
    return len(word) >= LEAST_LETTERS and any(
        language.english(folded) or language.compound(folded)
        for folded in folds(word)
        for language in languages().values()
    )


def folds(word: str) -> Iterator[str]:
    """A word without accents, as people write it in names: `größe` is `groesse` and `grosse`."""
    if word.isascii():
        yield word.lower()
        return
    lower = word.lower().replace("ß", "ss").replace("ł", "l").replace("ø", "o").replace("æ", "ae")
    plain = "".join(letter for letter in unicodedata.normalize("NFD", lower) if not unicodedata.combining(letter))
    yield plain
    spelled = lower.replace("ä", "ae").replace("ö", "oe").replace("ü", "ue").replace("å", "aa")
    if spelled != lower:
        yield "".join(letter for letter in unicodedata.normalize("NFD", spelled) if not unicodedata.combining(letter))


def stem(word: str) -> str:
    """A word without the letters that plurals, cases and genders put at its end."""
    while len(word) > 4 and word[-1] in "seinoay":
        word = word[:-1]
    return word


def content_words(text: str) -> tuple[str, ...]:
    """The words of an English phrase that carry meaning."""
    return tuple(word for word in text.split() if word not in _LINKING)


def _stems(words: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for word, english in words.items():
        if len(word) >= 4 and " " not in word:
            found.setdefault(stem(word), english)
    return found


def _rows(name: str) -> Iterator[list[str]]:
    with (DATA / name).open(encoding="utf-8") as lines:
        for line in lines:
            if not line.startswith(("#", "en\t")):
                yield line.rstrip("\n").split("\t")
