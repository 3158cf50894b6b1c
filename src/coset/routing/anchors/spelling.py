"""Words as they are compared: plain forms, stems, and spellings that are near a known word.

In: texts of questions and names; the words that an environment knows. Out: forms that are equal where the writing
differs, and corrections of words that nothing is called. Knows no index.

Both are ours. Snowball's stems change nothing that was measured, at 45 against 3 microseconds a word, and anchors are
features of the trained ranker. symspellpy indexes 50,000 words in 0.45 s where this takes 0.33 s; of words with two
slips it finds 10 % (here 23 %), or 98 % with an index of 1.4 s, which every process would pay.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from rapidfuzz.distance import OSA

from coset.readings.words import ABBREVIATIONS, singular, words_of
from coset.routing.anchors.hashed_texts import POWERS, Bytes, Hashes, Postings, Rows, Words, hashes_of, mixed

_APART = str.maketrans({letter: " " for letter in map(chr, range(128)) if not letter.isalnum()} | {"&": " and "})
_WITHOUT_SPACES = re.compile(
    "([\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\u0e00-\u0e7f])"
)  # fmt: skip
"""Letters of scripts that put no space between words: each is a word of its own here, in questions and in values."""

STOP_WORDS = frozenset(
    """a about above across after all also am among an and any are as at be been before being below between both but by
    can could did do does doing down during each either else ever every few for from further get give given had has have
    having he her here hers him his how i if in into is it its itself just let like list many may me might more most
    much     must my near neither no nor not of off on once one only or other our out over own per please same shall she
    should show so some such than that the their theirs them then there these they this those through to too two under
    until up us very was we were what when where which while who whom whose why will with within without would you your
    """.split()  # noqa: SIM905 - a list of words is read best as words
)
ASKING_WORDS = frozenset(
    """average count difference different distinct find first greater greatest high higher highest id identify last
    least less lowest low lower maximum mean median minimum name names number percent percentage please rank ranked
    ratio return sort sum tell top total value values compare compute calculate respectively overall belong belongs
    contain contains including include exactly latest earliest oldest newest smallest largest biggest longest shortest
    """.split()  # noqa: SIM905
)
"""Words of asking. A column may be called so, but they are never taken for a misspelt or partial name."""


@lru_cache(maxsize=100_000)
def normalised(text: str) -> str:
    """Small letters without accents; everything that is no letter or digit is one space; `&` is `and`."""
    if not text.isascii():
        decomposed = unicodedata.normalize("NFKD", text.casefold())
        kept = (letter for letter in decomposed if not unicodedata.combining(letter))
        text = "".join(letter if letter.isalnum() or letter.isascii() else " " for letter in kept)
        text = _WITHOUT_SPACES.sub(r" \1 ", text)
    return " ".join(text.lower().translate(_APART).split())


def plain_words(name: str) -> tuple[str, ...]:
    """The words of a name as a database writes it, without accents, as they are."""
    return words_of(name) if name.isascii() else tuple(normalised(" ".join(words_of(name))).split())


def in_full(words: tuple[str, ...]) -> tuple[str, ...]:
    """Words with the common abbreviations written out: `cust qty` is `customer quantity`."""
    return tuple(part for word in words for part in ABBREVIATIONS.get(word, word).split())


_ENDINGS = (
    ("ization", "ize"), ("isation", "ize"), ("ations", "ate"), ("ation", "ate"), ("ements", ""), ("ement", ""),
    ("ments", ""), ("ment", ""), ("ings", ""), ("ing", ""), ("ers", ""), ("ied", "y"), ("ed", ""), ("er", ""),
    ("ly", ""), ("ions", ""), ("ion", ""), ("es", ""), ("e", ""),
)  # fmt: skip
LEAST_STEM = 4


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """A word without its ending, as far as English spelling tells: `shipped`, `shipping`, `shipments` are `ship`."""
    word = singular(word)
    if not word.isascii() or not word.isalpha():
        return word
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= LEAST_STEM:
            word = word[: -len(ending)] + instead
            break
    if word.endswith("e") and len(word) > LEAST_STEM:
        word = word[:-1]
    if len(word) > LEAST_STEM and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word


_VOWELS = re.compile("[aeiou]")
LEAST_SHORTENED = 6


@lru_cache(maxsize=50_000)
def shortened(word: str) -> tuple[str, ...]:
    """Ways in which a name may shorten a word that no list has: its beginning, or its consonants."""
    if len(word) < LEAST_SHORTENED or not word.isascii() or not word.isalpha():
        return ()
    beginnings = {word[:length] for length in (3, 4, 5) if word[length - 1] not in "aeiou"}
    bones = word[0] + _VOWELS.sub("", word[1:])
    consonants = {bones[:length] for length in (3, 4, len(bones)) if 3 <= length <= len(bones) < len(word)}
    return tuple(sorted(beginnings | consonants))


SHORTEST, LONGEST = 5, 20
"""A shorter word is too easily another word; a longer one is a code."""
ANY_SLIP = 6
"""In a shorter word no letter may be another one: `stage` is not a slip for `state`."""
TWO_SLIPS = 10
"""A word of so many letters may have two slips."""
MOST_COMPARED = 64
MOST_WORDS = 200_000
"""Of a larger vocabulary the first words are kept: what is kept does not depend on the question."""


@dataclass(frozen=True)
class Correction:
    word: str
    slips: int


class Spelling:
    """The known words of some length, by the hashes of their deletions."""

    def __init__(self, sources: tuple[Words, ...]) -> None:
        self._letters, self._lengths = _distinct_words(sources)
        self._postings = Postings(*_deletions(self._letters, self._lengths))

    def __len__(self) -> int:
        return len(self._lengths)

    def corrections(self, word: str, most: int = 4) -> tuple[Correction, ...]:
        """The nearest known words; those with the same first letter first among equals."""
        if not SHORTEST - 1 <= len(word) <= LONGEST or not word.isascii() or not word.isalpha():
            return ()
        deletions = [word[:place] + word[place + 1 :] for place in range(len(word))]
        places = self._postings.places(hashes_of([word, *deletions]))
        near: set[int] = set()
        for place in places[places >= 0].tolist():
            near.update(self._postings.rows(place, MOST_COMPARED).tolist())
        allowed = 2 if len(word) >= TWO_SLIPS else 1
        found = []
        for row in sorted(near)[:MOST_COMPARED]:
            known = self._letters[row, : self._lengths[row]].tobytes().decode("ascii")
            slips = OSA.distance(word, known, score_cutoff=allowed)
            replaced = len(known) == len(word) and sorted(known) != sorted(word)
            if 0 < slips <= allowed and not (replaced and len(word) < ANY_SLIP):
                found.append(Correction(known, slips))
        return tuple(sorted(found, key=lambda item: (item.slips, item.word[0] != word[0], item.word))[:most])


def _distinct_words(sources: tuple[Words, ...]) -> tuple[Bytes, Rows]:
    """The words of fitting length that are letters alone, each once, as rows of letters."""
    parts = [np.zeros((0, LONGEST), dtype=np.uint8)]
    for words in sources:
        places = words.first_places()
        begins, lengths = words.begins[places], (words.ends - words.begins)[places]
        fitting = (lengths >= SHORTEST) & (lengths <= LONGEST)
        begins, lengths = begins[fitting][:MOST_WORDS], lengths[fitting][:MOST_WORDS]
        content = words.texts.content
        if len(begins):
            columns = np.minimum(begins[:, None] + np.arange(LONGEST), len(content) - 1)
            letters = np.where(np.arange(LONGEST) < lengths[:, None], content[columns], 0).astype(np.uint8)
            spelled = ((letters >= ord("a")) & (letters <= ord("z"))).sum(axis=1) == lengths
            parts.append(letters[spelled])
    together = np.ascontiguousarray(np.concatenate(parts))
    _, once = np.unique(together.view(f"S{LONGEST}").ravel(), return_index=True)
    letters = together[np.sort(once)]
    return letters, (letters > 0).sum(axis=1)


def _deletions(letters: Bytes, lengths: Rows) -> tuple[Hashes, Rows]:
    """The hashes of each word as it is and with each of its letters taken out, and the rows of the words.

    With h the sum of letter_i * p^i, taking out letter j leaves the sum before j as it is and divides the sum after j
    by p: both sums are running sums, so all deletions of all words cost two of them.
    """
    if not len(letters):
        return np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64)
    values = letters.astype(np.uint64)
    powers = POWERS[:LONGEST]
    kept = np.cumsum(values * powers, axis=1, dtype=np.uint64)
    shifted = values
    shifted[:, 1:] *= powers[:-1]
    shifted[:, 0] = 0
    moved = np.cumsum(shifted, axis=1, dtype=np.uint64)
    without = moved[:, -1:] - moved
    without[:, 1:] += kept[:, :-1]
    present = np.arange(LONGEST) < lengths[:, None]
    numbers = np.arange(len(values))
    rows = np.repeat(numbers, lengths)
    return mixed(np.concatenate((kept[:, -1], without[present]))), np.concatenate((numbers, rows))
