"""Doubts about documents: rules that contradict each other, and documents that name nothing here.

In: a state whose documents were read. Out: pairs of a document and a sentence for people. Two rules in force are against
each other when they say the same but for one of two opposite things (left out and counted, net and gross, another
percentage). A document speaks of nothing here when it has names of tables or columns, and none of them is one. Nothing
is taken back for it: both rules are shown, with where they stand.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations

from coset.evidence.documents.nameable import stem
from coset.evidence.documents.rules import RULE_WORDS
from coset.state import EvidenceState
from coset.state.documents import RuleRow, document_files, mentions, rules, sections

ALIKE = 0.7
"""The share of their words that two sentences must have in common."""
LEAST_LETTERS = 9
"""Of the words that they have in common."""
MOST_PAIRS, MOST_TOLD = 200_000, 10
LEAST_NAMES, MOST_NAMES = 2, 5
_OPPOSITES = tuple(
    tuple(re.compile(r"\b(?:" + "|".join(side) + r")\b", re.IGNORECASE) for side in pair)
    for pair in RULE_WORDS["opposites"]
)
_FILLING = frozenset(RULE_WORDS["filling"])
_SHARE = re.compile(r"(\d+(?:[.,]\d+)?)\s*(?:%|per ?cent|prozent|pour cent|per cento|por ciento|procent)")
_WORD = re.compile(r"[^\W\d_]{2,}|\d+")
_NAME = re.compile(r"\b(?=\w*[_\d])[A-Za-z]\w*[A-Za-z]\w*\b|\b[a-z]+[A-Z]\w+\b")


def doubts(state: EvidenceState) -> list[tuple[str, str]]:
    return [*_contradictions(rules(state)), *_about_nothing(state)]


def _contradictions(known: Sequence[RuleRow]) -> Iterator[tuple[str, str]]:
    """Each two rules in force that cannot both hold."""
    said = [(rule, sentence) for rule in known if rule.status == "current" for sentence in _sentences(rule.text)]
    by_word: dict[str, list[int]] = defaultdict(list)
    words = [_words(sentence) for _, sentence in said]
    for place, found in enumerate(words):
        for word in found:
            by_word[word].append(place)
    pairs: set[tuple[int, int]] = set()
    for places in by_word.values():
        if len(pairs) > MOST_PAIRS:
            break
        pairs.update(combinations(places, 2))
    told = 0
    for one, other in sorted(pairs):
        first, second = said[one], said[other]
        if first[0].reference == second[0].reference or told >= MOST_TOLD:
            continue
        if are_opposite(first[1], second[1]):
            told += 1
            where = f"{second[0].section_reference.rsplit('#', 1)[0]}: '{_shown(second[1])}'"
            yield first[0].section_reference.rsplit("#", 1)[0], f"says '{_shown(first[1])}', against {where}"


def are_opposite(one: str, other: str) -> bool:
    """Whether two sentences say the same but for one of two opposite things."""
    first, second = _words(one), _words(other)
    common = first & second
    if len(common) < ALIKE * max(len(first), len(second)) or sum(map(len, common)) < LEAST_LETTERS:
        return False
    for left, right in _OPPOSITES:
        sides = [(bool(left.search(text)), bool(right.search(left.sub(" ", text)))) for text in (one, other)]
        if sorted(sides) == [(False, True), (True, False)]:
            return True
    shares = [_SHARE.findall(text) for text in (one, other)]
    return first == second and len(shares[0]) == len(shares[1]) == 1 and shares[0] != shares[1]


@lru_cache(maxsize=10_000)
def _words(sentence: str) -> frozenset[str]:
    """What a sentence speaks of: its words without those that fill, count out, or say how much."""
    text = _SHARE.sub(" ", sentence)
    for pair in _OPPOSITES:
        for side in pair:
            text = side.sub(" ", text)
    return frozenset(stem(word.lower()) for word in _WORD.findall(text) if word.lower() not in _FILLING)


def _sentences(text: str) -> list[str]:
    return [each.strip() for each in re.split(r"(?<=[.!?;])\s+|\n", text) if each.strip()]


def _shown(sentence: str) -> str:
    return sentence if len(sentence) <= 120 else sentence[:119] + "…"


def _about_nothing(state: EvidenceState) -> Iterator[tuple[str, str]]:
    """Documents that have names, of which none is one here."""
    named = {each.section_reference.rsplit("#", 1)[0] for each in mentions(state, 0.0) if each.how != "source"}
    texts: dict[str, list[str]] = defaultdict(list)
    for section in sections(state):
        texts[section.document].append(section.text)
    for file in document_files(state):
        if file.problem is not None or file.status != "current" or file.document in named:
            continue
        counts = Counter(name for text in texts[file.document] for name in _NAME.findall(text))
        if len(counts) >= LEAST_NAMES:
            names = ", ".join(name for name, _ in counts.most_common(MOST_NAMES))
            yield file.document, f"names {names}, and no table or column that is here"
