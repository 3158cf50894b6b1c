"""How a value is read before it is compared fuzzily: mended, folded, cut into words.

In goes a value, out come its folded text, its words (numbers told apart) and its character n-grams. Nothing here
knows of a second column.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

# A value longer than this is prose, not a key: what comes after says nothing about a join and costs time.
LONGEST = 300

WORD = re.compile(r"[^\W\d_]+|\d+")
ROMAN = {
    word: str(number)
    for number, word in enumerate(
        [
            "ii",
            "iii",
            "iv",
            "v",
            "vi",
            "vii",
            "viii",
            "ix",
            "x",
            "xi",
            "xii",
            "xiii",
            "xiv",
            "xv",
            "xvi",
            "xvii",
            "xviii",
            "xix",
            "xx",
            "xxi",
            "xxii",
            "xxiii",
            "xxiv",
            "xxv",
        ],
        start=2,
    )
    if len(word) > 1
}
# A lone capital I, V or X after a word counts (`Charles I`), unless a dot makes it an initial.
LONE_NUMERAL = re.compile(r"(?<=[^\W\d_] )([IVX])(?![\w.])")
LONE_NUMERALS = {"I": "1", "V": "5", "X": "10"}
ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b")


def mend(text: str) -> str:
    """Undo UTF-8 that was read as Latin-1 or Windows-1252 (`CÃ´te` is `Côte`); anything else comes back unchanged."""
    if text.isascii():
        return text
    for encoding in ("latin-1", "cp1252"):
        try:
            return text.encode(encoding).decode("utf-8")
        except UnicodeError:
            continue
    return text


def without_accents(text: str) -> str:
    if text.isascii():
        return text
    letters = (letter for letter in unicodedata.normalize("NFD", text) if unicodedata.category(letter)[0] != "M")
    return unicodedata.normalize("NFC", "".join(letters))


def fold(text: str) -> str:
    """Lower case, without accents, apostrophes or doubled blanks."""
    folded = without_accents(mend(text[:LONGEST]))
    folded = LONE_NUMERAL.sub(lambda match: LONE_NUMERALS[match[1]], folded).lower()
    folded = folded.replace("'", "").replace("’", "").replace("&", " and ")
    return " ".join(ORDINAL.sub("", folded).split())


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """A word without its plural; Roman numerals above one letter as numbers, numbers without leading zeros."""
    if word.isdigit():
        return word.lstrip("0") or "0"
    if word in ROMAN:
        return ROMAN[word]
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def words(folded: str) -> list[str]:
    """The words of a folded text in order; letters and digits are told apart (`ses7` is `ses`, `7`)."""
    return [stem(word) for word in WORD.findall(folded)]


def grams(folded: str, size: int = 3) -> list[str]:
    """Character n-grams within and across words, with word borders marked."""
    padded = " " + " ".join(WORD.findall(folded)) + " "
    return [padded[start : start + size] for start in range(max(1, len(padded) - size + 1))]


@dataclass(frozen=True)
class Value:
    """`core` is what stands outside brackets and before the first comma."""

    folded: str
    words: tuple[str, ...]
    bag: frozenset[str]
    squashed: str
    core: str
    ordered: str


def read_value(text: str) -> Value:
    folded = fold(text)
    parts = words(folded)
    core = folded
    for opening in ("(", "[", ",", ";"):
        cut = core.find(opening)
        if cut > 2:
            core = core[:cut]
    return Value(
        folded[:LONGEST], tuple(parts), frozenset(parts), "".join(parts), "".join(words(core)), " ".join(sorted(parts))
    )
