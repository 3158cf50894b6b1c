"""Forms of a text under which two ways of writing the same thing are equal.

In: a name, a value or words of a question. Out: its normalised form (small letters, no accents, words apart), its stem,
its initials. The same functions make the keys that are stored and the keys that are looked up. Knows English endings
only: a word of another language keeps its form.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from coset.readings.words import ABBREVIATIONS, singular, words_of

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
