"""Questions and documents in other languages than English: what their words mean, by the dictionary of business words.

In: a text. Out: the language that its small words are of, and its words in English where the dictionary has them,
whole, by their stem, or as a compound (`Mahnsperre`: dunning, blocked). So a German rule is found by an English
question and the other way round. Word by word, no grammar: names, codes and unknown words stay as they are.
"""

from __future__ import annotations

import re
from functools import lru_cache

from coset.readings.vocabulary import Language, content_words, folds, languages
from coset.routing.search.words import stems_of

SMALL_WORDS = {
    "en": "the of and is are was were in to for with that which on by from not how many what did our we have it be",
    "de": "der die das und ist sind nicht ein eine einen für mit von vom im den dem des wie viele welche wurden war "
    "auf aus bei zu zum zur sich werden unsere wir haben es am",
    "fr": "le la les des et est sont une un pour dans du de que qui ne pas sur avec par au aux combien quel quelle nos "
    "nous en ce cette",
    "es": "el la los las de del y es son una un para con en por que no se cuántos cuántas cuál nuestros nuestras al "
    "su hay fue",
    "it": "il lo la gli le di del della dei e è sono una un per con nel nella che non si quanti quante qual nostri da",
    "nl": "de het een en is zijn van voor met niet in op dat die hoeveel welke onze wij te door bij aan worden",
    "pt": "o a os as de do da dos e é são uma um para com no na que não se quantos quantas qual nossos por ao",
    "pl": "i w na z jest są nie do ile które jaka jaki nasze od po dla przez się oraz",
    "sv": "och är en ett för med inte av som den det hur många vilka våra vi på till från",
}
_SMALL = {code: frozenset(words.split()) for code, words in SMALL_WORDS.items()}
LEAST = 2
"""So many small words of a language there must be, and more than of English."""
_WORD = re.compile(r"[^\W\d_]+")


def language_of(text: str) -> str:
    """The language of a text by its small words; English where they do not say another."""
    words = [word.lower() for word in _WORD.findall(text)]
    hits = {code: sum(word in own for word in words) for code, own in _SMALL.items()}
    best = max(hits, key=lambda code: (hits[code], code == "en", code))
    return best if best != "en" and hits[best] >= LEAST and hits[best] > hits["en"] else "en"


@lru_cache(maxsize=50_000)
def in_english(word: str, code: str) -> str:
    """What a word of a language means; nothing where the dictionary does not have it."""
    language = languages()[code]
    for folded in folds(word):
        found = language.english(folded)
        if found:
            return found[0]
        if parts := _compound(folded, language):
            return " ".join(parts)
    return ""


def _compound(word: str, language: Language) -> tuple[str, ...]:
    """The known parts of a word written together; one known part at its end or beginning tells something, too."""
    if whole := language.compound(word):
        return whole
    if language.head_first or len(word) < 9:
        return ()
    for cut in range(4, len(word) - 4):
        if rest := language.english(word[cut:]):
            first = language.english(word[:cut])
            return (*first[:1], rest[0])
    for cut in range(len(word) - 4, 4, -1):
        if first := language.english(word[:cut]):
            return (first[0],)
    return ()


def gloss(text: str) -> str:
    """A text with the words that the dictionary has in English; itself where it is English."""
    code = language_of(text)
    if code == "en":
        return text

    def replaced(match: re.Match[str]) -> str:
        word = match[0]
        if word.lower() in _SMALL[code] or (word.isupper() and len(word) > 1):
            return word
        return in_english(word.lower(), code) or word

    return _WORD.sub(replaced, text)


def all_stems(text: str, code: str | None = None) -> tuple[str, ...]:
    """The stems of a text, with those of what its words mean in English."""
    own = stems_of(text)
    code = code or language_of(text)
    if code == "en":
        return own
    meant = " ".join(
        " ".join(content_words(in_english(word.lower(), code)))
        for word in _WORD.findall(text)
        if word.lower() not in _SMALL[code]
    )
    return tuple(dict.fromkeys((*own, *stems_of(meant))))
