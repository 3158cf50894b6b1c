"""Stems: what the short forms in the names of tables stand for, where somebody said what the tables are.

A handbook calls `SHPHDR` the shipments: then `SHP` is *shipment* in `SHPLIN` and `SHPNO` as well. In: the tables of a
source and what they are called by readers who know more than names. Out: the word of each stem; a stem that would
stand for two words stands for none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from coset.readings.names import Habits, table_pieces
from coset.readings.observed import ObservedTable
from coset.readings.vocabulary import vocabulary
from coset.readings.words import singular

SHORTEST, LONGEST = 3, 6
_VOWELS = frozenset("aeiou")


def stems_of(
    tables: Sequence[ObservedTable], titles: Mapping[str, str], habits: Habits, structure: frozenset[str]
) -> dict[str, str]:
    """The word that each stem stands for. `structure`: words for kinds of tables, which are no subject of one."""
    found: dict[str, set[str]] = defaultdict(set)
    for table in tables:
        words = [singular(word) for word in titles.get(table.reference, "").lower().split()]
        subjects = [word for word in words if word.isalpha() and word not in structure]
        for stem, rest in _stems(table_pieces(table.name, habits)):
            meant = [word for word in subjects if _shortens(stem, word)]
            if len(meant) == 1 and _is_rest(rest, words, structure):
                found[stem].add(meant[0])
                break
    return {stem: next(iter(words)) for stem, words in found.items() if len(words) == 1}


def _stems(pieces: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Beginnings of a name that may be a short form, the longest first, with the letters after them."""
    for piece in pieces[:1]:
        for length in range(min(LONGEST, len(piece)), SHORTEST - 1, -1):
            if piece[:length].isalpha() and not vocabulary().is_word(piece[:length]):
                yield piece[:length], piece[length:]


def _is_rest(rest: str, words: Sequence[str], structure: frozenset[str]) -> bool:
    """Whether what follows a stem is a piece of its own: nothing, the kind of table, or another word of its title."""
    return (
        not rest
        or rest.isdigit()
        or any(word in structure for meaning in vocabulary().short_forms.get(rest, ()) for word in meaning.split())
        or any(_shortens(rest, word) for word in words)
    )


def _shortens(letters: str, word: str) -> bool:
    """Whether a word begins with the letters, or has them in order with nothing but consonants after the first."""
    if len(letters) >= len(word) or not word.startswith(letters[:1]):
        return False
    if word.startswith(letters):
        return True
    rest = iter(word[1:])
    return not _VOWELS & set(letters[1:]) and all(letter in rest for letter in letters[1:])
