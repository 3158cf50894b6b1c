"""Questions whose answers a person confirmed, where they are like the one that is asked.

In: a question, and those of the corrections file. Out: at most two of them with their statements, as text. Likeness is
the share of telling words (stems) that two questions have in common; a rare word tells more than a common one. Only
what a person confirmed is here: nothing is remembered by itself.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from coset.answering.quoting import data_block, one_line
from coset.environment.configuration import Environment
from coset.environment.corrections import Question, load_corrections
from coset.errors import CosetError
from coset.routing.anchors.spelling import stem

ALIKE = 0.5
MOST = 2
LONGEST_STATEMENT = 3_000
_FILLING = (
    "a an and are at by did do does for from had has have how in is it its many much of on or our that the their there "
    "this to was we were what when where which who whose with you us"
)
FILLING = frozenset(_FILLING.split())


def confirmed_text(question: str, environment: Environment) -> str:
    """What similar questions were answered with; empty where there is none, or the file cannot be read."""
    try:
        known = load_corrections(environment).questions
    except CosetError:
        return ""
    found = similar(question, [each for each in known if each.sql])
    if not found:
        return ""
    lines = [f"{one_line(each.question)}\n  {one_line(each.sql or '', LONGEST_STATEMENT)}" for each in found]
    return data_block("confirmed", "\n".join(["A person confirmed these answers to similar questions:", *lines]))


def similar(question: str, known: Sequence[Question]) -> list[Question]:
    """Those that are like it, the most alike first."""
    asked = _words(question)
    theirs = [_words(each.question) for each in known]
    held = Counter(word for words in theirs for word in words)

    def weight(words: frozenset[str]) -> float:
        return sum(1 / math.sqrt(1 + max(held[word], 1)) for word in words)

    scored = [
        (2 * weight(asked & words) / ((weight(asked) + weight(words)) or 1), each)
        for words, each in zip(theirs, known, strict=True)
    ]
    scored.sort(key=lambda each: (-each[0], each[1].question))
    return [each for score, each in scored if score >= ALIKE][:MOST]


def _words(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in re.findall(r"\w+", text.lower()) if word not in FILLING)
