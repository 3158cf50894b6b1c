"""What documents and descriptions say of tables: which are in use, and which are frozen, replaced, no longer loaded.

In: texts, and the names of tables. Out: the names that are spoken of, and for those that a sentence retires, that
sentence. A name is found as a whole word; a short everyday word is no name of a table in prose. Only plain statements
count (`orders_v1 is frozen`): what a sentence means beyond them is for readers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

_RETIRED = re.compile(
    r"\b(frozen|no longer|not (?:used|kept|maintained|loaded|updated|filled) any ?more|nobody (?:runs|uses|maintains)"
    r"|superseded by|replaced by|stopped|obsolete|deprecated|retired|abandoned|discontinued|out of date|outdated"
    r"|never rolled out|not to be used|must not be used|do not use"
    r"|nicht mehr|veraltet|abgelöst|eingestellt|eingefroren|stillgelegt"
    r"|n['’]est plus|ne sont plus|obsolètes?|remplacée?s? par|abandonnée?s?|figée?s?|gelée?s?|périmée?s?"
    r"|non è più|non sono più|non viene più|obsolet[oaie]|sostituit[oaie] da|dismess[oaie]|congelat[oaie]"
    r"|abbandonat[oaie]"
    r"|ya no|reemplazad[oa]s? por|en desuso|descontinuad[oa]|niet meer|vervangen door|verouderd)(?!\w)",
    re.IGNORECASE,
)
_NEVER_UPDATED = re.compile(
    r"\b(?:never|not been|was not|were not|is not|are not) (?:updated|maintained|kept up|refreshed)\b", re.IGNORECASE
)
"""Said of a list of codes, its labels are old; a table of anything else may still be the only one."""
_DENIED = re.compile(r"\b(not|never|nicht|jamais|non|nunca)\s+$", re.IGNORECASE)
SENTENCE = re.compile(r"(?<=[.!?;:])\s+|\n{2,}|\n(?=\s*(?:[-*•]|\d+[.)]))|\|")
_OTHER_SUBJECT = re.compile(r"[,;]\s*(?:\w+\s+){1,3}(?:is|are|was|were|ist|sind|est|sont|è|sono|es|son|wird)\b")
NEAR = 60
"""So many letters may stand between a table's name and what is said of it."""


@dataclass(frozen=True)
class Spoken:
    """`named`: tables that some text speaks of; `retired`: those that one retires, with the sentence."""

    named: frozenset[str]
    retired: Mapping[str, str]


def spoken_of(texts: Iterable[str], tables: Sequence[tuple[str, str]], *, lists: bool = False) -> Spoken:
    """`tables`: pairs of a reference and the name under which a text would speak of it; `lists`: they list codes, and
    one that was never updated is retired."""
    by_name: dict[str, list[str]] = {}
    for reference, name in tables:
        if is_telling(name):
            by_name.setdefault(name.lower(), []).append(reference)
    named: set[str] = set()
    retired: dict[str, str] = {}
    for text in texts:
        for sentence in SENTENCE.split(text):
            found = [
                (match.start(), match.end(), match[0].lower())
                for match in re.finditer(r"[A-Za-z_][\w$]*", sentence)
                if match[0].lower() in by_name and _is_written_as_name(match[0])
            ]
            if not found:
                continue
            named.update(reference for _, _, name in found for reference in by_name[name])
            for name in _retired_in(sentence, found, lists):
                for reference in by_name[name]:
                    retired.setdefault(reference, " ".join(sentence.split())[:200])
    return Spoken(frozenset(named), retired)


def is_telling(name: str) -> bool:
    return len(name) >= 4 or any(letter.isdigit() or letter == "_" for letter in name)


def _is_written_as_name(word: str) -> bool:
    """Whether a word in prose is a name: `task` and `note` are words, `ord_hdr`, `ORDMST` and `x1234` are names."""
    return "_" in word or any(letter.isdigit() for letter in word) or word.isupper() or not word[1:].islower()


def _retired_in(sentence: str, found: Sequence[tuple[int, int, str]], lists: bool) -> list[str]:
    """The names that stand right before a phrase of retirement, with no clause of another subject between."""
    names: list[str] = []
    phrases = [*_RETIRED.finditer(sentence), *(_NEVER_UPDATED.finditer(sentence) if lists else ())]
    for phrase in phrases:
        before = [each for each in found if each[1] <= phrase.start()]
        if not before or _DENIED.search(sentence[: phrase.start()]):
            continue
        between = sentence[before[-1][1] : phrase.start()]
        if len(between) <= NEAR and not _OTHER_SUBJECT.search(between):
            names.append(before[-1][2])
    return names
