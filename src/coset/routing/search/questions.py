"""Past questions: those that are like the one that is asked, and the tables and columns that they needed.

In: a question, and the entries of the corrections file. Out: the most alike entries, and anchors to the tables and
columns that people said such a question needs. Likeness is that of telling words, rare ones counting more.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from coset.environment.corrections import Question
from coset.routing.anchors.spelling import stem
from coset.routing.request import Anchor

ALIKE = 0.5
NEARLY_THE_SAME = 0.75
"""From this likeness on, what one question needs the other needs too."""
MOST = 2
_FILLING = (
    "a an and are at by did do does for from had has have how in is it its many much of on or our that the their there "
    "this to was we were what when where which who whose with you us"
)
FILLING = frozenset(_FILLING.split())


def similar_questions(question: str, known: Sequence[Question], least: float = ALIKE) -> list[Question]:
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
    return [each for score, each in scored if score >= least][:MOST]


def needed_anchors(question: str, known: Sequence[Question]) -> list[Anchor]:
    """What people said that such a question needs, as surely as if the question named it."""
    found = similar_questions(question, [each for each in known if each.needs], NEARLY_THE_SAME)
    return [
        Anchor(each.question, reference, "name", "exact", 1.0, note="a person said that this question needs it")
        for each in found
        for reference in each.needs
    ]


def _words(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in re.findall(r"\w+", text.lower()) if word not in FILLING)
